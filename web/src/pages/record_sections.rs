//! Sections of the page of a record besides its properties, which the server composes for the resources that have
//! more to show.

use hypertext::prelude::*;

use super::{
    activity::{ActivityColumns, ActivityLine, DayCount, activity_table, day_bars},
    audit::{AuditLine, audit_table},
    customers::{CustomerLine, MrrAtStake},
    excluded::{ExcludedTotal, excluded_note},
    format::{cents, decimals_of, fixed, rounded},
    home::Figure,
    parts::{ColumnHead, chart, table},
    shell::{Shell, csrf},
    timeline::{Timeline, timeline},
};

/// A section of the page of a record.
#[derive(Clone, Debug)]
pub enum RecordSection {
    /// Who looks after the company and how it is, in a line under its name: labels and values.
    Facts(Vec<(&'static str, String)>),
    /// Figures at the top, each with its meaning.
    Figures(Vec<Figure>),
    /// Licenses that the figures of the company leave out.
    Excluded(ExcludedTotal),
    /// Amount at stake with a company; none where it pays for nothing.
    Stake(Option<Box<CustomerLine>>),
    /// Licenses of the company along time.
    Timeline(Timeline),
    /// Chart of a report: its title, its address, and the address of the report.
    Picture { title: &'static str, picture: String, report: String },
    /// Activities by day; whether there were too many to count them all.
    Days { days: Vec<DayCount>, is_partial: bool },
    /// Newest activities, and the address of the live page.
    Activities { of: ActivityColumns, lines: Vec<ActivityLine>, live: String },
    /// Changes of the record, and the address of all of them.
    Changes { lines: Vec<AuditLine>, all: String },
    /// Form that erases a person, with the text that must be typed, and whether another one was.
    Erase { action: String, confirmation: String, is_rejected: bool },
}

impl RecordSection {
    /// Id of the section and its name in the list of sections; none for what needs no link.
    pub(super) fn link(&self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Stake(_) => Some(("stake", "At stake")),
            Self::Timeline(_) => Some(("timeline", "Timeline")),
            Self::Picture { .. } => Some(("mrr", "MRR")),
            Self::Days { .. } => Some(("activity", "Activity")),
            Self::Changes { .. } => Some(("changes", "Changes")),
            Self::Facts(_)
            | Self::Figures(_)
            | Self::Excluded(_)
            | Self::Activities { .. }
            | Self::Erase { .. } => None,
        }
    }

    /// Whether the section belongs to the end of the page, with what cannot be undone.
    pub(super) fn is_last(&self) -> bool {
        matches!(self, Self::Changes { .. } | Self::Erase { .. })
    }
}

/// The sections before the properties.
pub(super) fn first<'a>(shell: &'a Shell, extra: &'a [RecordSection]) -> impl Renderable + 'a {
    maud! { @for extra in extra.iter().filter(|extra| !extra.is_last()) { (section(shell, extra)) } }
}

/// The sections at the end.
pub(super) fn last<'a>(shell: &'a Shell, extra: &'a [RecordSection]) -> impl Renderable + 'a {
    maud! { @for extra in extra.iter().filter(|extra| extra.is_last()) { (section(shell, extra)) } }
}

fn section<'a>(shell: &'a Shell, extra: &'a RecordSection) -> impl Renderable + 'a {
    maud! {
        @match extra {
            RecordSection::Facts(each) => {
                p {
                    @for (at, (label, value)) in each.iter().enumerate() {
                        @if at > 0 { ", " }
                        (*label) " " strong { (value) }
                    }
                }
            }
            RecordSection::Figures(each) => { (figures(each)) }
            RecordSection::Excluded(licenses) => { (excluded_note(shell, licenses)) }
            RecordSection::Stake(line) => { (stake(shell, line.as_deref())) }
            RecordSection::Timeline(view) => {
                section #timeline aria-labelledby="h-timeline" {
                    h2 #h-timeline { "License timeline" }
                    @if view.licenses.is_empty() { p.muted { "No licenses yet." } } @else { (timeline(view)) }
                }
            }
            RecordSection::Picture { title, picture, report } => {
                section #mrr {
                    h2 { a href=(report) { (*title) } }
                    (chart(picture, title))
                }
            }
            RecordSection::Days { days, is_partial } => {
                section #activity aria-labelledby="h-days" {
                    h2 #h-days { "Activity by day" }
                    (day_bars(days))
                    @if *is_partial { p.muted { "Only the newest activities are counted here." } }
                }
            }
            RecordSection::Activities { of, lines, live } => {
                section aria-labelledby="h-activities" {
                    h2 #h-activities { a href=(live) { "Last received activities" } }
                    @if lines.is_empty() {
                        p.muted { "None." }
                    } @else {
                        (activity_table(shell, "Last received activities", *of, lines))
                    }
                }
            }
            RecordSection::Changes { lines, all } => {
                section #changes aria-labelledby="h-changes" {
                    h2 #h-changes { a href=(all) { "Changes" } }
                    @if lines.is_empty() {
                        p.muted { "None: the record was created by an event, or before the audit log." }
                    } @else {
                        (audit_table(shell, "Changes", lines, false))
                    }
                }
            }
            RecordSection::Erase { action, confirmation, is_rejected } => {
                (erase(shell, action, confirmation, is_rejected.then_some("true")))
            }
        }
    }
}

/// Figures; those with an address are links.
fn figures(figures: &[Figure]) -> impl Renderable {
    maud! {
        div.figures.small {
            @for figure in figures {
                @if figure.path.is_empty() {
                    div.figure { (inside(figure)) }
                } @else {
                    a.figure href=(figure.path) { (inside(figure)) }
                }
            }
        }
    }
}

fn inside(figure: &Figure) -> impl Renderable {
    maud! {
        span.figure-label { (figure.label) }
        strong { (figure.value) }
        span.muted { (figure.note) }
    }
}

fn stake<'l>(shell: &'l Shell, line: Option<&'l CustomerLine>) -> impl Renderable + 'l {
    let stake = line.and_then(|line| Some((line, line.at_stake.as_ref()?)));
    let paid = line.into_iter().flat_map(|line| &line.currencies);
    let paid = paid.map(|paid| paid.currency.as_str()).collect::<Vec<_>>().join(", ");
    let lacks_rates = line.is_some_and(|line| line.mrr.is_none());
    maud! {
        section #stake aria-labelledby="h-stake" {
            h2 #h-stake { a href="/app/customers" { "At stake" } }
            @if let Some((line, stake)) = stake {
                (stake_formula(line, stake))
            } @else if lacks_rates {
                p.muted {
                    "Not available: " (paid) " cannot be converted to one currency. "
                    @if shell.has("/app/settings") {
                        a href="/app/settings/rates" { "Add exchange rates" }
                    } @else {
                        "Ask an administrator for exchange rates."
                    }
                }
            } @else {
                p.muted { "None: the company has no active or overdue license with MRR." }
            }
        }
    }
}

/// The amount at stake as the product that it is, and the sum of its points.
fn stake_formula<'l>(line: &'l CustomerLine, stake: &'l MrrAtStake) -> impl Renderable + 'l {
    let overdue = line.overdue.filter(|overdue| *overdue > 0.0);
    let terms = [
        ("Every customer", stake.base_points),
        ("Days without activity", stake.idle_points),
        ("Fewer active users", stake.users_points),
        ("Fewer activities", stake.beats_points),
        ("Open tickets", stake.ticket_points),
    ];
    let decimals = decimals_of(terms.map(|(_, points)| points));
    let rows = maud! {
        tbody {
            @for (reason, points) in terms {
                tr { th scope="row" { (reason) } td.num { (fixed(points, decimals)) } }
            }
            tr { th scope="row" { "All points" } td.num { strong { (fixed(stake.points, decimals)) } } }
        }
    };
    let table = table("Points", [ColumnHead::Text("Reason"), ColumnHead::Number("Points")], rows);
    maud! {
        p {
            strong { (line.base) " " (cents(stake.amount)) } " = MRR " (cents(stake.mrr))
            " × nearness of the renewal " (rounded(stake.nearness, 4)) " × " (rounded(stake.points, 2)) " points / 100"
        }
        @if let Some(overdue) = overdue {
            p { "This MRR includes " (line.base) " " (cents(overdue)) " of overdue licenses, which the MRR of the company leaves out." }
        }
        p { (stake.why()) }
        (&table)
        p.muted { a href="/docs/revenue" { "The formula" } }
    }
}

fn erase<'a>(
    shell: &'a Shell,
    action: &'a str,
    confirmation: &'a str,
    invalid: Option<&'static str>,
) -> impl Renderable + 'a {
    maud! {
        details.danger open=[invalid.map(|_| "")] {
            summary { "Erase this person" }
            form.stack method="post" action=(action) {
                (csrf(shell))
                p {
                    "Removes the record, its activities, and personal data in tickets and reports. "
                    "Later events of this person are not stored. This cannot be undone. "
                    a href="/docs/privacy" { "What is erased" }
                }
                label for="f-confirmation" { "Type " strong { (confirmation) } " to confirm" }
                input #f-confirmation name="confirmation" required autocomplete="off" spellcheck="false"
                    aria-invalid=[invalid];
                button.bad type="submit" { "Erase" }
            }
        }
    }
}
