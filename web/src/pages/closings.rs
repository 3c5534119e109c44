//! Closed months: the figures as finance reported them, and the changes in them since.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::{revenue, value::counted};

use super::{
    address::address,
    format::{cents, day, label_of, money},
    page,
    parts::{ColumnHead, Problem, empty, problems, table},
    report::{FiguresLeftOut, left_out},
    shell::{Shell, csrf, hidden, layout, title_bar},
};
use crate::page::Page;

/// The amounts of a month in words, in the order of [`MonthFigures::movements`].
const FIGURES: [&str; 7] =
    ["start", "new", "reactivation", "expansion", "contraction", "churn", "end"];

/// Figures of a month in one currency.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct MonthFigures {
    pub currency: String,
    /// Whether the line has all currencies, converted into this one.
    #[serde(skip)]
    pub is_converted: bool,
    /// Address of the explanation of a figure, up to the name of the figure; empty if it cannot be explained.
    #[serde(skip)]
    pub explained: String,
    pub start: f64,
    pub new: f64,
    pub reactivation: f64,
    pub expansion: f64,
    pub contraction: f64,
    pub churn: f64,
    pub end: f64,
    pub customers: i64,
}

impl MonthFigures {
    /// Whether there is nothing in the currency.
    pub fn is_zero(&self) -> bool {
        self.customers == 0 && self.movements().iter().all(|amount| *amount == 0.0)
    }

    fn movements(&self) -> [f64; 7] {
        [
            self.start,
            self.new,
            self.reactivation,
            self.expansion,
            self.contraction,
            self.churn,
            self.end,
        ]
    }
}

/// A reopening of a month.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Reopening {
    pub at: String,
    /// Id of the token that reopened the month, then its label.
    pub by: Option<String>,
    pub reason: String,
}

/// A month that is closed, was, or can be, and what has changed in it since.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosingLine {
    pub month: String,
    /// None of a month that is not closed.
    pub closed_at: Option<String>,
    /// Label of the token that closed it.
    pub closed_by: Option<String>,
    /// When and why it was reopened, the first time first.
    pub reopened: Vec<Reopening>,
    /// Day of the rates of the converted figures.
    pub rate_date: Option<String>,
    /// Figures of each currency, then the converted ones.
    pub lines: Vec<MonthFigures>,
    /// The figures of now less these; none where they are computed with other options.
    pub differences: Option<Differences>,
}

impl ClosingLine {
    /// Whether the month was reopened, and has no figures.
    fn is_open(&self) -> bool {
        self.closed_at.is_none() && !self.reopened.is_empty()
    }

    /// Whether the month was closed with amounts that could not be added up.
    fn has_no_total(&self) -> bool {
        let is_converted = self.lines.iter().any(|line| line.is_converted);
        self.closed_at.is_some() && !self.lines.is_empty() && !is_converted
    }
}

/// How current figures differ from those of a closed month, and why.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Differences {
    pub lines: Vec<FigureChange>,
    /// The companies that differ, those with the largest difference first.
    pub companies: Vec<CompanyDifference>,
    /// How many others differ.
    pub more_companies: usize,
    pub rates_changed: bool,
    pub time_zone_changed: bool,
}

/// Figures in one currency as they were closed, and those of now less these.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FigureChange {
    pub is_converted: bool,
    pub closed: MonthFigures,
    pub difference: MonthFigures,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub struct CompanyDifference {
    pub company: String,
    pub name: Option<String>,
    /// Ids and products of its changed licenses.
    pub licenses: Vec<(String, String)>,
    pub lines: Vec<FigureChange>,
}

impl FigureChange {
    /// The figures that differ: `EUR: start -50 (1,150 → 1,100), end -50 (1,150 → 1,100)`; none where none does.
    fn words(&self) -> Option<String> {
        let (closed, less) = (self.closed.movements(), self.difference.movements());
        let amounts = FIGURES.iter().zip(closed.into_iter().zip(less));
        let amounts = amounts.filter(|(_, (_, less))| *less != 0.0);
        let amounts = amounts.map(|(name, (closed, less))| {
            format!("{name} {} ({} → {})", signed(less), cents(closed), cents(closed + less))
        });
        let (closed, less) = (self.closed.customers, self.difference.customers);
        let customers = (less != 0)
            .then(|| format!("customers {less:+} ({closed} → {})", closed.saturating_add(less)));
        let words: Vec<String> = amounts.chain(customers).collect();
        let scope = if self.is_converted { "Total in " } else { "" };
        (!words.is_empty())
            .then(|| format!("{scope}{}: {}", self.difference.currency, words.join(", ")))
    }
}

fn words_of(lines: &[FigureChange]) -> String {
    lines.iter().filter_map(FigureChange::words).collect::<Vec<_>>().join("; ")
}

fn signed(amount: f64) -> String {
    let sign = if amount > 0.0 { "+" } else { "" };
    format!("{sign}{}", cents(amount))
}

impl Differences {
    /// The figures in all that differ, and changes that are of no company; none where no figure differs.
    fn summary(&self) -> Option<String> {
        let words = words_of(&self.lines);
        let differs = !words.is_empty() || !self.companies.is_empty();
        let rates = self.rates_changed.then_some("other exchange rates");
        let zone = (self.time_zone_changed && differs).then_some("another time zone");
        let parts = Some(words.as_str()).filter(|words| !words.is_empty()).into_iter();
        let parts: Vec<&str> = parts.chain(rates).chain(zone).collect();
        match parts.as_slice() {
            [] if differs => Some("Changed since closing, not in total:".to_owned()),
            [] => None,
            parts => Some(format!("Changed since closing: {}", parts.join("; "))),
        }
    }
}

/// A month that can be closed, with its figures of now.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NextMonth {
    /// The month, with the figures that closing it stores.
    pub figures: ClosingLine,
    /// Whether it has ended.
    pub has_ended: bool,
    pub left_out: FiguresLeftOut,
}

impl NextMonth {
    /// The figures as text: closing the month stores them only if they are still the same.
    pub fn shown(&self) -> String {
        let text = |line: &MonthFigures| {
            let amounts = line.movements().map(|amount| amount.to_string()).join(" ");
            format!("{} {amounts} {}", line.currency, line.customers)
        };
        self.figures.lines.iter().map(text).collect::<Vec<_>>().join("; ")
    }
}

/// The page of closed months.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClosingsView {
    /// Closed months, the last one first.
    pub lines: Vec<ClosingLine>,
    /// Month to close next; none where any can be the first, and none is chosen.
    pub next: Option<NextMonth>,
    pub may_close: bool,
    pub problems: Vec<Problem>,
}

/// The page of closed months.
pub fn closings_page(shell: &Shell, view: &ClosingsView) -> Page {
    let actions = maud! {
        @if !view.lines.is_empty() {
            a.button href="/app/files/reports/closings?form=csv" download { "CSV" }
        }
    };
    let main = maud! {
        (title_bar("Closed months", &actions))
        p.muted {
            "Closing a month stores its MRR figures. Later changes of these figures are listed here. "
            "Totals are converted at the rates of the last day of each month; the MRR report uses the rates of one day for all periods. "
            "Changes have a converted total for the last closed month only. "
            a href="/docs/closing" { "Closing a month" }
        }
        (problems(&view.problems))
        @if view.may_close { (next(shell, view)) }
        @if view.lines.is_empty() {
            (empty("No month is closed.", "Close the first month that you reported. Months are closed in order."))
        } @else {
            (months(shell, &view.lines))
            @if let Some(last) = last_closed(view).filter(|_| view.may_close) { (last_one(shell, last)) }
        }
    };
    page(layout(shell, "Closed months", main))
}

/// The last month that is closed.
fn last_closed(view: &ClosingsView) -> Option<&ClosingLine> {
    view.lines.iter().find(|line| line.closed_at.is_some())
}

/// Choice of the first month, and the month to close.
fn next<'v>(shell: &'v Shell, view: &'v ClosingsView) -> impl Renderable + 'v {
    maud! {
        @if last_closed(view).is_none() {
            form.choices method="get" action="/app/closings" {
                div {
                    label for="f-month" { "First month, such as 2026-01" }
                    input #f-month type="month" name="month" required pattern="[0-9]{4}-[0-9]{2}" placeholder="2026-01"
                        value=[view.next.as_ref().map(|next| &next.figures.month)];
                }
                button type="submit" { "Show figures" }
            }
        }
        @match &view.next {
            Some(next) if next.has_ended => { (closable(shell, next)) }
            Some(next) => { p.muted { (next.figures.month) " can be closed after it has ended." } }
            None => {}
        }
    }
}

/// The figures that closing a month stores, and the form that closes it.
fn closable<'v>(shell: &'v Shell, next: &'v NextMonth) -> impl Renderable + 'v {
    let month = &next.figures.month;
    let heading = format!("Next: {month}");
    let rows = maud! { tbody.stacked.paired { (figures(&next.figures)) } };
    maud! {
        h2 { (heading) }
        p.muted { "Closing the month stores these figures." }
        (left_out(shell, &next.left_out))
        (figure_table(&heading, ColumnHead::Hidden("Scope"), rows))
        form.choices method="post" action="/app/closings" {
            (csrf(shell))
            (hidden("month", month))
            input type="hidden" name="shown" value=(next.shown()) autocomplete="off";
            button.main type="submit" { "Close " (month) }
        }
    }
}

fn last_one<'v>(shell: &'v Shell, last: &'v ClosingLine) -> impl Renderable + 'v {
    maud! {
        details.danger {
            summary { "Open " (last.month) " again" }
            form method="post" action=(address("/app/closings/{}/reopen", &[&last.month], &[])) {
                (csrf(shell))
                @if let Some(closed_at) = &last.closed_at { (hidden("closedAt", closed_at)) }
                p { "Reopening deletes the stored figures and lists the reason here. The month can be closed again later, with the figures at that time." }
                label for="f-reason" { "Reason" }
                input #f-reason name="reason" required maxlength=(revenue::Reopening::MAX_REASON_CHARS);
                button.bad type="submit" { "Open " (last.month) " again" }
            }
        }
    }
}

fn months<'c>(shell: &'c Shell, closings: &'c [ClosingLine]) -> impl Renderable + 'c {
    let rows = maud! { @for closing in closings { (month(shell, closing)) } };
    maud! {
        h2 { "Closed and reopened" }
        (figure_table("Closed months", ColumnHead::Text("Closed"), &rows))
    }
}

/// A table of months and their figures.
fn figure_table<'c>(
    title: &'c str,
    second: ColumnHead,
    rows: impl Renderable + 'c,
) -> impl Renderable + 'c {
    table(
        title,
        [
            ColumnHead::Text("Month"),
            second,
            ColumnHead::Number("Start"),
            ColumnHead::Number("New"),
            ColumnHead::Number("Reactivation"),
            ColumnHead::Number("Expansion"),
            ColumnHead::Number("Contraction"),
            ColumnHead::Number("Churn"),
            ColumnHead::Number("End"),
            ColumnHead::Number("Customers"),
        ],
        rows,
    )
}

/// A month: its figures, and below them what has changed, and when it was reopened.
fn month<'c>(shell: &'c Shell, closing: &'c ClosingLine) -> impl Renderable + 'c {
    maud! {
        tbody.stacked.paired {
            (figures(closing))
            @if closing.has_no_total() {
                (note(&closing.month, "No total: not all currencies could be converted."))
            }
            @match &closing.differences {
                Some(differences) => { (changes(shell, &closing.month, differences)) }
                None if closing.closed_at.is_some() => {
                    (note(&closing.month, "Not comparable: the month was closed with other options or rates."))
                }
                None => {}
            }
            @for reopening in closing.reopened.iter().rev() {
                (note(&closing.month, maud! {
                    "Reopened " (day(&reopening.at))
                    @if let Some(by) = &reopening.by { " by " (by) }
                    ": " (reopening.reason)
                }))
            }
        }
    }
}

/// Head of the converted figures.
fn total(closing: &ClosingLine) -> impl Renderable {
    maud! {
        span.muted {
            "Total"
            @if let Some(day) = &closing.rate_date { ", rates of " span.nowrap { (day) } }
        }
    }
}

/// Who closed a month.
fn by(closing: &ClosingLine) -> impl Renderable + '_ {
    maud! { @if let Some(by) = &closing.closed_by { br; small.muted { "by " (by) } } }
}

fn figures(closing: &ClosingLine) -> impl Renderable {
    let closed_at = closing.closed_at.as_deref().map(day);
    maud! {
        @for (at, line) in closing.lines.iter().enumerate() {
            tr {
                th.nowrap scope="row" {
                    @if at == 0 { (closing.month) } @else { span.hidden-label { (closing.month) } }
                }
                td data-label=[(at == 0 && closed_at.is_some()).then_some("Closed")] {
                    @if at == 0 { div { (closed_at) (by(closing)) } } @else if line.is_converted { (total(closing)) }
                }
                (amounts(line))
            }
        }
        @if closing.lines.is_empty() {
            tr {
                th.nowrap scope="row" { (closing.month) }
                td data-label=[closed_at.as_ref().map(|_| "Closed")] { div { (closed_at) (by(closing)) } }
                td.num colspan="8" { @if closing.is_open() { "Open" } @else { "No MRR" } }
            }
        }
    }
}

/// What has changed in a month since it was closed: in all, and by company.
fn changes<'c>(
    shell: &'c Shell,
    month: &'c str,
    differences: &'c Differences,
) -> impl Renderable + 'c {
    let companies = maud! {
        @if !differences.companies.is_empty() {
            ul {
                @for company in &differences.companies { li { (of_company(shell, company)) } }
                @if differences.more_companies > 0 {
                    li { "and " (counted(differences.more_companies, "other")) }
                }
            }
        }
    };
    maud! {
        @if let Some(summary) = differences.summary() {
            (note(month, maud! { (summary) (companies) }))
        }
    }
}

/// A company that differs: its figures, and its changed licenses.
fn of_company<'c>(shell: &'c Shell, company: &'c CompanyDifference) -> impl Renderable + 'c {
    let because = match company.licenses.len() {
        0 => "",
        1 => "; changed license: ",
        _ => "; changed licenses: ",
    };
    maud! {
        (shell.record_link("companies", &company.company, name_of(company)))
        ", " (words_of(&company.lines)) (because)
        @for (at, (id, product)) in company.licenses.iter().enumerate() {
            @if at > 0 { ", " }
            (shell.record_link("licenses", id, if product.is_empty() { id } else { product }))
        }
    }
}

fn name_of(company: &CompanyDifference) -> &str {
    company.name.as_deref().unwrap_or(&company.company)
}

/// A row of text.
fn note<'n>(month: &'n str, text: impl Renderable + 'n) -> impl Renderable + 'n {
    maud! {
        tr.difference {
            th scope="row" { span.hidden-label { (month) } }
            td colspan="9" { (text) }
        }
    }
}

/// The cells of the figures.
fn amounts(line: &MonthFigures) -> impl Renderable {
    let cells = FIGURES.iter().zip(line.movements());
    let explained = |name: &str, is_zero: bool| {
        let has_parts = !is_zero && !line.explained.is_empty();
        has_parts.then(|| [&line.explained, name].concat())
    };
    let cell = |(name, amount): (&&str, f64)| {
        (label_of(name), money(amount, ""), explained(name, amount == 0.0))
    };
    let cells: Vec<_> = cells.map(cell).collect();
    let customers = (line.customers.to_string(), explained("end", line.customers == 0));
    let currency = line.currency.clone();
    maud! {
        @for (at, (label, amount, path)) in cells.iter().enumerate() {
            td.num data-label=(label) {
                span {
                    @if at == 0 && !currency.is_empty() { span.muted { (currency) } " " }
                    (linked(amount, path.as_deref()))
                }
            }
        }
        td.num data-label="Customers" { (linked(&customers.0, customers.1.as_deref())) }
    }
}

/// A figure, which leads to its explanation.
fn linked<'f>(figure: &'f str, path: Option<&'f str>) -> impl Renderable + 'f {
    maud! { @if let Some(path) = path { a href=(path) { (figure) } } @else { (figure) } }
}
