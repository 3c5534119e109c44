//! Explanation of a figure of a report: its companies and licenses, or its users or active companies, with the formula
//! in numbers.

use hypertext::prelude::*;
use serde::Deserialize;

use super::{
    format::{cents, decimals_of, fixed, formula_text, grouped, label_of},
    page,
    parts::{ColumnHead, Paging, Problem, badge, empty, paging, past_end, problems, table},
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// Companies whose licenses are shown without a click.
const MOST_OPEN: usize = 5;

/// A figure and its explanation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExplanationView {
    pub title: String,
    /// Address of the page that has the figure, and its text.
    pub back: (String, &'static str),
    /// The address of all companies as CSV.
    pub csv: String,
    /// First and last day of the period.
    pub days: (String, String),
    /// Formula of the figure.
    pub formula: String,
    /// The ratios that the figure is a part of, in numbers.
    pub ratios: Vec<Ratio>,
    pub breakdown: Breakdown,
    pub paging: Paging,
    pub problems: Vec<Problem>,
}

/// A ratio in numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Ratio {
    pub name: &'static str,
    pub formula: RatioFormula,
    pub value: RatioValue,
}

/// A ratio, as the report rounds it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum RatioValue {
    /// A part of 1, which is shown in percent.
    Share(f64),
    Amount(f64),
}

/// What a ratio is computed from.
#[derive(Clone, Debug, PartialEq)]
pub enum RatioFormula {
    Quotient(f64, f64),
    /// A formula of the report over its figures, such as `(churn + contraction) / base`.
    Text(String),
}

impl Ratio {
    /// The formula: `GRR: 315,446.03 / 317,780.24 = 99.27 %`.
    fn text(&self) -> String {
        let Self { name, formula, value } = self;
        let formula = match formula {
            RatioFormula::Quotient(of, base) => format!("{} / {}", cents(*of), cents(*base)),
            RatioFormula::Text(text) => text.clone(),
        };
        match value {
            RatioValue::Share(share) => format!("{name}: {formula} = {:.2} %", share * 100.0),
            RatioValue::Amount(amount) => format!("{name}: {formula} = {}", cents(*amount)),
        }
    }
}

/// The parts of a figure.
#[derive(Clone, Debug, PartialEq)]
pub enum Breakdown {
    /// An amount in `currency`, by company.
    Companies { currency: String, amount: f64, companies: Vec<CompanyShare> },
    /// Users, the most activities first.
    Users { sums: ActivitySums, users: Vec<UserShare> },
    /// Companies with active users, the most activities first.
    ActiveCompanies { sums: ActivitySums, companies: Vec<ActiveCompany> },
}

impl Default for Breakdown {
    fn default() -> Self {
        Self::Users { sums: ActivitySums::default(), users: Vec::new() }
    }
}

/// What a figure of usage counts in all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ActivitySums {
    /// Number of users or companies.
    pub total: u64,
    pub activities: u64,
    pub occurrences: u64,
}

impl ActivitySums {
    /// The sums: `611 users · 815 activities`, and the occurrences where these are others.
    fn words(self, noun: (&str, &str)) -> String {
        let count = |number: u64, (one, many): (&str, &str)| {
            format!("{} {}", grouped(&number.to_string()), if number == 1 { one } else { many })
        };
        let mut words =
            vec![count(self.total, noun), count(self.activities, ("activity", "activities"))];
        if self.occurrences != self.activities {
            words.push(count(self.occurrences, ("occurrence", "occurrences")));
        }
        words.join(" · ")
    }
}

/// Share of a company in a figure, as the report returns it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct CompanyShare {
    pub company: String,
    #[serde(skip)]
    pub name: Option<String>,
    pub amount: f64,
    pub formula: String,
    pub licenses: Vec<LicenseShare>,
}

impl CompanyShare {
    /// Whether the formula says more than the amount.
    fn has_steps(&self) -> bool {
        self.formula.contains(" -> ") || self.formula.contains(" + ")
    }
}

/// Activities of a user in the days of a figure, as the report returns them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct UserShare {
    pub user: String,
    #[serde(skip)]
    pub name: Option<String>,
    pub company: Option<String>,
    #[serde(skip)]
    pub company_name: Option<String>,
    #[serde(flatten)]
    pub activity: ActivityShare,
}

/// Activities of a company's users in the days of a figure, as the report returns them.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct ActiveCompany {
    pub company: String,
    #[serde(skip)]
    pub name: Option<String>,
    pub users: u64,
    #[serde(flatten)]
    pub activity: ActivityShare,
}

/// Activities in the days of a figure.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ActivityShare {
    pub first_active: String,
    pub days: u64,
    pub activities: u64,
    pub occurrences: u64,
}

/// A license in the figure; each report has other properties of how it counts.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LicenseShare {
    pub license: String,
    pub product: String,
    pub currency: String,
    pub from: Option<String>,
    pub end: Option<String>,
    /// Last day of notice, of a license that renews automatically.
    pub notice: Option<String>,
    #[serde(alias = "monthly")]
    pub mrr: f64,
    pub at_start: Option<bool>,
    pub at_end: Option<bool>,
    pub is_confirmed: Option<bool>,
    pub source: Option<String>,
    pub outcome: Option<String>,
}

impl LicenseShare {
    /// Text of how the license counts.
    fn how(&self) -> String {
        if let Some(outcome) = &self.outcome {
            return outcome.clone();
        }
        match (self.is_confirmed, self.at_start, self.at_end) {
            (Some(true), ..) => "signed".to_owned(),
            (Some(false), ..) => {
                format!("expected, by {}", label_of(self.source.as_deref().unwrap_or_default()))
            }
            (_, Some(true), Some(true)) => "at both ends".to_owned(),
            (_, Some(true), _) => "at the start".to_owned(),
            (_, _, Some(true)) => "at the end".to_owned(),
            _ => "at neither end".to_owned(),
        }
    }
}

/// Page with the explanation of a figure.
pub fn explanation_page(shell: &Shell, view: &ExplanationView) -> Page {
    let actions = maud! { a.button href=(view.csv) download { "CSV" } };
    let main = maud! {
        p.crumbs { a href=(view.back.0) { (view.back.1) } }
        (title_bar(&view.title, &actions))
        (problems(&view.problems))
        @if view.problems.is_empty() {
            @match &view.breakdown {
                Breakdown::Companies { currency, amount: sum, companies } => {
                    (figure(view, &format!("{currency} {}", cents(*sum)), companies.len() > 1))
                    @if let Some(last) = view.paging.last_page() {
                        (past_end(last))
                    } @else if companies.is_empty() {
                        (empty("No companies contribute to this figure.", "It is zero in this period."))
                    } @else {
                        (company_table(shell, currency, companies))
                    }
                }
                Breakdown::Users { sums, users } => {
                    (figure(view, &sums.words(("user", "users")), true))
                    (usage_rows(view, *sums, "users", user_table(shell, users)))
                }
                Breakdown::ActiveCompanies { sums, companies } => {
                    (figure(view, &sums.words(("company", "companies")), true))
                    (usage_rows(view, *sums, "companies", active_company_table(shell, companies)))
                }
            }
            @if view.paging.shown > 0 { (paging(&view.paging)) }
        }
    };
    page(layout(shell, &view.title, main))
}

fn figure<'v>(
    view: &'v ExplanationView,
    figure: &'v str,
    has_formula: bool,
) -> impl Renderable + 'v {
    let (from, to) = &view.days;
    let formula = match view.breakdown {
        Breakdown::Companies { .. } => formula_text(&view.formula),
        // It may have numbers that are no amounts, in the name of an action.
        _ => view.formula.clone(),
    };
    maud! {
        div.figures {
            div.figure {
                span.figure-label { (from) " to " (to) }
                strong { (figure) }
                @if has_formula { span.muted.formula { (formula) } }
                @for ratio in &view.ratios {
                    span.muted.formula { (ratio.text()) }
                }
            }
        }
    }
}

fn company_table<'v>(
    shell: &'v Shell,
    currency: &'v str,
    companies: &'v [CompanyShare],
) -> impl Renderable + 'v {
    let is_short = companies.len() <= MOST_OPEN;
    let has_steps = companies.iter().any(CompanyShare::has_steps);
    let decimals = decimals_of(companies.iter().map(|company| company.amount));
    let rows = maud! {
        @for company in companies {
            (rows(shell, (currency, decimals), company, is_short, has_steps))
        }
    };
    let heads = [ColumnHead::Text("Company"), ColumnHead::Number("Amount")];
    let steps = has_steps.then_some(ColumnHead::Text("In numbers"));
    table("Companies", heads.into_iter().chain(steps), rows)
}

/// The table of users or companies, or the reason for which it is empty.
fn usage_rows<'v>(
    view: &'v ExplanationView,
    sums: ActivitySums,
    what: &'v str,
    rows: impl Renderable + 'v,
) -> impl Renderable + 'v {
    maud! {
        @if let Some(last) = view.paging.last_page() {
            (past_end(last))
        } @else if view.paging.shown == 0 {
            (empty(&format!("This figure counts no {what}."), "It is zero in this period."))
        } @else {
            @if let Some(listed) = view.paging.total.filter(|listed| *listed < sums.total) {
                p.muted { "The " (grouped(&listed.to_string())) " with the most activities are listed." }
            }
            (rows)
        }
    }
}

fn user_table<'v>(shell: &'v Shell, users: &'v [UserShare]) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked {
            @for user in users {
                tr {
                    th scope="row" {
                        (shell.record_link("endusers", &user.user, named(&user.name, &user.user)))
                    }
                    td data-label="Company" {
                        @if let Some(company) = &user.company {
                            (shell.record_link("companies", company, named(&user.company_name, company)))
                        }
                    }
                    (activity_cells(&user.activity))
                }
            }
        }
    };
    usage_table("Users", [ColumnHead::Text("User"), ColumnHead::Text("Company")], rows)
}

fn active_company_table<'v>(
    shell: &'v Shell,
    companies: &'v [ActiveCompany],
) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked {
            @for company in companies {
                tr {
                    th scope="row" {
                        @let name = named(&company.name, &company.company);
                        (shell.record_link("companies", &company.company, name))
                    }
                    td.num data-label="Users" { (grouped(&company.users.to_string())) }
                    (activity_cells(&company.activity))
                }
            }
        }
    };
    usage_table("Companies", [ColumnHead::Text("Company"), ColumnHead::Number("Users")], rows)
}

fn activity_cells(activity: &ActivityShare) -> impl Renderable {
    maud! {
        td.num data-label="First active" { (activity.first_active) }
        td.num data-label="Active days" { (activity.days) }
        td.num data-label="Activities" { (grouped(&activity.activities.to_string())) }
        td.num data-label="Occurrences" { (grouped(&activity.occurrences.to_string())) }
    }
}

fn usage_table<'v>(
    title: &'v str,
    first: [ColumnHead; 2],
    rows: impl Renderable + 'v,
) -> impl Renderable + 'v {
    let rest = ["First active", "Active days", "Activities", "Occurrences"];
    table(title, first.into_iter().chain(rest.map(ColumnHead::Number)), rows)
}

/// Name, or the id where it is not known.
fn named<'n>(name: &'n Option<String>, id: &'n str) -> &'n str {
    name.as_deref().filter(|name| !name.is_empty()).unwrap_or(id)
}

/// A company, and its licenses below it.
fn rows<'v>(
    shell: &'v Shell,
    (currency, decimals): (&'v str, usize),
    company: &'v CompanyShare,
    is_open: bool,
    has_steps: bool,
) -> impl Renderable + 'v {
    let name = named(&company.name, &company.company);
    let count = company.licenses.len();
    maud! {
        tbody.stacked {
            tr {
                th scope="row" { (shell.record_link("companies", &company.company, name)) }
                td.num data-label="Amount" { (currency) " " (fixed(company.amount, decimals)) }
                @if has_steps {
                    td.formula.lines data-label="In numbers" { @if company.has_steps() { (formula_text(&company.formula)) } }
                }
            }
            tr.below {
                td colspan=(if has_steps { "3" } else { "2" }) {
                    details open=[is_open.then_some("")] {
                        summary {
                            (count) @if count == 1 { " license" } @else { " licenses" }
                            span.hidden-label { " of " (name) }
                        }
                        (licenses(shell, &company.licenses))
                    }
                }
            }
        }
    }
}

fn licenses<'v>(shell: &'v Shell, licenses: &'v [LicenseShare]) -> impl Renderable + 'v {
    let dash = "–";
    let has_begin = licenses.iter().any(|license| license.from.is_some());
    let has_notice = licenses.iter().any(|license| license.notice.is_some());
    let decimals = decimals_of(licenses.iter().map(|license| license.mrr));
    maud! {
        table.inner {
            caption.hidden-label { "Licenses" }
            thead {
                tr {
                    th scope="col" { "License" }
                    th.num scope="col" { "MRR" }
                    @if has_begin { th.num scope="col" { "From" } }
                    th.num scope="col" { "End" }
                    @if has_notice { th.num scope="col" { "Notice" } }
                    th scope="col" { "How it counts" }
                }
            }
            tbody {
                @for license in licenses {
                    tr {
                        th scope="row" {
                            @let product = if license.product.is_empty() { "License" } else { &license.product };
                            (shell.record_link("licenses", &license.license, product))
                        }
                        td.num data-label="MRR" { (license.currency) " " (fixed(license.mrr, decimals)) }
                        @if has_begin {
                            td.num data-label="From" { (license.from.as_deref().unwrap_or(dash)) }
                        }
                        td.num data-label="End" { (license.end.as_deref().unwrap_or(dash)) }
                        @if has_notice {
                            td.num data-label="Notice" { (license.notice.as_deref().unwrap_or(dash)) }
                        }
                        td data-label="How it counts" {
                            @if license.outcome.is_some() { (badge(&license.how())) } @else { (license.how()) }
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_shows_how_it_counts_in_each_report() {
        let check = |json: &str, how: &str| {
            let share: LicenseShare = serde_json::from_str(json).unwrap();
            assert_eq!(share.how(), how, "{json}");
        };
        check(r#"{"mrr": 1, "atStart": true, "atEnd": true}"#, "at both ends");
        check(r#"{"mrr": 1, "atStart": false, "atEnd": true}"#, "at the end");
        check(r#"{"mrr": 1, "atStart": false, "atEnd": false}"#, "at neither end");
        check(r#"{"monthly": 1, "isConfirmed": true, "source": "mrr"}"#, "signed");
        let expected = r#"{"monthly": 1, "isConfirmed": false, "source": "renewalMrr"}"#;
        check(expected, "expected, by Renewal MRR");
        check(r#"{"mrr": 1, "outcome": "churned"}"#, "churned");
    }
}
