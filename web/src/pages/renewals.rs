//! Renewals: licenses that are due, overdue, and were decided lately.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::value::counted;

use super::{
    address::address,
    excluded::{ExcludedTotal, endless, excluded_note, not_fixed},
    format::{grouped, money},
    page,
    parts::{ColumnHead, Paging, Problem, empty, paging, problems, table},
    renewal_decision::Decision,
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// A license that ends, as the report of renewals returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RenewalLine {
    pub license: String,
    pub company: String,
    pub company_name: Option<String>,
    pub product: String,
    pub currency: String,
    pub end: String,
    /// Days until the license ends; negative where it has ended.
    #[serde(skip)]
    pub days: i64,
    pub notice: Option<String>,
    pub mrr: f64,
    pub outcome: String,
    pub renewed_mrr: Option<f64>,
    pub renewed_currency: Option<String>,
    pub successor: Option<String>,
}

/// Groups of licenses by their outcomes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RenewalKind {
    #[default]
    Due,
    Overdue,
    Lost,
    Renewed,
}

impl RenewalKind {
    /// Name of the group in addresses.
    pub fn id(self) -> &'static str {
        match self {
            Self::Due => "due",
            Self::Overdue => "overdue",
            Self::Lost => "lost",
            Self::Renewed => "renewed",
        }
    }

    /// Outcome in the report.
    pub fn outcome(self) -> &'static str {
        match self {
            Self::Due => "open",
            Self::Lost => "churned",
            Self::Overdue | Self::Renewed => self.id(),
        }
    }

    fn title(self) -> &'static str {
        match self {
            Self::Due => "Due",
            Self::Overdue => "Overdue",
            Self::Lost => "Lost",
            Self::Renewed => "Renewed",
        }
    }
}

/// Licenses of one outcome.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenewalGroup {
    pub kind: RenewalKind,
    /// Licenses that are listed.
    pub lines: Vec<RenewalLine>,
    /// Number of the licenses.
    pub count: usize,
    /// MRR of all of them by currency, as text.
    pub mrr: String,
    /// Address of the group alone.
    pub all: String,
    /// Address of all its licenses as CSV.
    pub csv: String,
    /// Position in the group, where it is shown alone.
    pub paging: Option<Paging>,
    /// Ongoing licenses that end in the same days without a fixed period.
    pub not_fixed: Option<ExcludedTotal>,
    /// Ongoing licenses with a fixed period and no end.
    pub endless: Option<ExcludedTotal>,
    /// Licenses that count in no figure.
    pub excluded: Option<ExcludedTotal>,
}

/// The page of renewals.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RenewalsView {
    pub groups: Vec<RenewalGroup>,
    /// First day of the period that was chosen, and the day after its last; empty for what is due now.
    pub from: String,
    pub to: String,
    /// Owner of the companies; empty for all.
    pub owner: String,
    /// What is due now and the months that can be chosen, each with its address.
    pub months: Vec<(String, String)>,
    pub may_renew: bool,
    pub may_lose: bool,
    pub problems: Vec<Problem>,
}

pub fn renewals_page(shell: &Shell, view: &RenewalsView) -> Page {
    let is_empty = view.groups.iter().all(|group| group.count == 0);
    let is_now = view.from.is_empty();
    let due = view.groups.iter().find(|group| group.kind == RenewalKind::Due);
    let actions = maud! { a.button href="/app/reports/renewals" { "Rates" } };
    let main = maud! {
        (title_bar("Renewals", &actions))
        @if view.problems.is_empty() {
            p.muted {
                @if is_now {
                    "Fixed-period licenses that end in the next 90 days, are overdue, or were renewed or lost in the last 90 days."
                } @else {
                    "Fixed-period licenses with a renewal date from " (view.from) " until before " (view.to) "."
                }
            }
        }
        (period(view))
        (problems(&view.problems))
        @if let Some(licenses) = due.and_then(|due| due.not_fixed.as_ref()) { (not_fixed(shell, licenses)) }
        @if let Some(licenses) = due.and_then(|due| due.endless.as_ref()) { (endless(shell, licenses)) }
        @if let Some(licenses) = due.and_then(|due| due.excluded.as_ref()) { (excluded_note(shell, licenses)) }
        @if is_empty && view.problems.is_empty() {
            @if is_now && view.owner.is_empty() {
                (empty("No licenses are due for renewal.", maud! {
                    "Add licenses with " code { "fixedPeriod" } " and an end date: they are listed here 90 days before it."
                }))
            } @else {
                (empty("No licenses match.", maud! {
                    "Choose another period or owner, or " a href="/app/renewals" { "show all that are due" } "."
                }))
            }
        } @else if !is_empty {
            div.figures { @for group in &view.groups { (figure(group, is_now)) } }
            @for group in &view.groups { (section(shell, view, group)) }
        }
    };
    page(layout(shell, "Renewals", main))
}

/// Choice of a month, or of any days.
fn period(view: &RenewalsView) -> impl Renderable {
    let shown = [("from", &view.from), ("to", &view.to), ("owner", &view.owner)];
    let shown = shown.into_iter().filter(|(_, text)| !text.is_empty());
    let shown: Vec<_> = shown.map(|(name, text)| (name, text.as_str())).collect();
    let shown = address("/app/renewals", &[], &shown);
    let months = view.months.iter();
    let months: Vec<_> = months.map(|(name, path)| (name, path, *path == shown)).collect();
    maud! {
        nav.views aria-label="Months" {
            @for (name, path, is_shown) in &months {
                a href=(path) aria-current=[is_shown.then_some("page")] { (name) }
            }
        }
        form.choices method="get" {
            div {
                label for="c-from" { "Renewal from" }
                input #c-from type="date" name="from" value=(view.from);
            }
            div {
                label for="c-to" { "Ends before" }
                input #c-to type="date" name="to" value=(view.to);
            }
            div {
                label for="c-owner" { "Owner" }
                input #c-owner type="text" name="owner" value=(view.owner);
            }
            button type="submit" { "Show" }
        }
    }
}

fn figure(group: &RenewalGroup, is_now: bool) -> impl Renderable {
    let is_dated = is_now && group.kind != RenewalKind::Overdue;
    maud! {
        a.figure href=(group.all) {
            span.figure-label { (group.kind.title()) @if is_dated { " in 90 days" } }
            strong { (group.count) }
            span.muted { @if group.mrr.is_empty() { "no MRR" } @else { "MRR " (group.mrr) } }
        }
    }
}

fn section<'v>(
    shell: &'v Shell,
    view: &'v RenewalsView,
    group: &'v RenewalGroup,
) -> impl Renderable + 'v {
    let (title, id) = (group.kind.title(), group.kind.id());
    let table = licenses(shell, view, title, group);
    maud! {
        @if !group.lines.is_empty() {
            section aria-labelledby={ "h-" (id) } id=(id) {
                div.title-bar {
                    h2 id={ "h-" (id) } { (title) }
                    a.button href=(group.csv) download { "CSV" span.hidden-label { " of " (title) } }
                }
                (&table)
                @if let Some(place) = &group.paging {
                    (paging(place))
                    (unlisted(group, place))
                } @else if group.lines.len() < group.count {
                    p.muted { "The first " (group.lines.len()) ". " a href=(group.all) { "Show all " (group.count) } }
                }
            }
        }
    }
}

/// How many licenses of a group are on none of its pages.
fn unlisted<'v>(group: &'v RenewalGroup, place: &Paging) -> impl Renderable + 'v {
    let listed = place.total.and_then(|total| usize::try_from(total).ok()).unwrap_or_default();
    let rest = group.count.saturating_sub(listed);
    maud! {
        @if rest > 0 {
            p.muted {
                (counted(rest, "more license")) @if rest == 1 { " is" } @else { " are" }
                " not listed: choose fewer days, or download "
                a href=(group.csv) download { "all " (grouped(&group.count.to_string())) " as CSV" } "."
            }
        }
    }
}

fn licenses<'v>(
    shell: &'v Shell,
    view: &'v RenewalsView,
    title: &'v str,
    group: &'v RenewalGroup,
) -> impl Renderable + 'v {
    let is_renewed = group.lines.iter().any(|line| line.outcome == "renewed");
    let is_undecided = group.lines.iter().any(RenewalLine::is_undecided);
    let rows = maud! {
        tbody.stacked { @for line in &group.lines { (row(shell, view, line)) } }
    };
    table(
        title,
        [
            Some(ColumnHead::Text("Company")),
            Some(ColumnHead::Text("Product")),
            Some(ColumnHead::Number("MRR")),
            Some(ColumnHead::Number("Renewal date")),
            is_renewed.then_some(ColumnHead::Number("Renewed MRR")),
            is_undecided.then_some(ColumnHead::Number("Last day of notice")),
            is_undecided.then_some(ColumnHead::Hidden("Decide")),
        ]
        .into_iter()
        .flatten(),
        rows,
    )
}

impl RenewalLine {
    fn is_undecided(&self) -> bool {
        matches!(self.outcome.as_str(), "open" | "overdue")
    }
}

fn row<'v>(
    shell: &'v Shell,
    view: &'v RenewalsView,
    line: &'v RenewalLine,
) -> impl Renderable + 'v {
    let name =
        line.company_name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&line.company);
    let product = if line.product.is_empty() { "License" } else { &line.product };
    maud! {
        tr {
            th scope="row" { (shell.record_link("companies", &line.company, name)) }
            td data-label="Product" { (shell.record_link("licenses", &line.license, product)) }
            td.num data-label="MRR" { (money(line.mrr, &line.currency)) }
            td.num data-label="Renewal date" { span { (line.end) br; small.muted { (distance(line.days)) } } }
            @if line.is_undecided() {
                td.num data-label="Last day of notice" { @if let Some(notice) = &line.notice {
                        span { (notice) br; small.muted { "renews automatically" } }
                    } @else { "–" }
                }
                td { (buttons(view, line, name)) }
            }
            @if line.outcome == "renewed" {
                @let currency = line.renewed_currency.as_deref().unwrap_or(&line.currency);
                td.num data-label="Renewed MRR" {
                    @match (&line.successor, line.renewed_mrr) {
                        (Some(successor), Some(mrr)) => {
                            (shell.record_link("licenses", successor, money(mrr, currency)))
                        }
                        (None, Some(mrr)) => (money(mrr, currency)),
                        _ => "–",
                    }
                }
            }
        }
    }
}

fn buttons<'v>(
    view: &'v RenewalsView,
    line: &'v RenewalLine,
    name: &'v str,
) -> impl Renderable + 'v {
    let at =
        |decision: Decision| address("/app/licenses/{}/{}", &[&line.license, decision.path()], &[]);
    let (renew, lose) = (at(Decision::Renew), at(Decision::Lose));
    maud! {
        div.actions.decide {
            @if view.may_renew {
                a.button href=(renew) { "Renew" span.hidden-label { " the license of " (name) } }
            }
            @if view.may_lose {
                a.button href=(lose) { "Lost" span.hidden-label { ": the license of " (name) } }
            }
        }
    }
}

/// Text of days from today.
pub fn distance(days: i64) -> String {
    match days {
        0 => "today".to_owned(),
        1 => "tomorrow".to_owned(),
        -1 => "yesterday".to_owned(),
        days if days < 0 => format!("{} days ago", -days),
        days => format!("in {days} days"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_in_words() {
        for (days, words) in [
            (0, "today"),
            (1, "tomorrow"),
            (-1, "yesterday"),
            (12, "in 12 days"),
            (-12, "12 days ago"),
        ] {
            assert_eq!(distance(days), words);
        }
    }
}
