//! Explanations of the usage report: the query of each cell, and its users or companies.

use serde::Deserialize;
use serde_json::value::RawValue;
use svctrack_core::{revenue::UsageLine, value::Day};
use svctrack_web::pages::{ActiveCompany, ActivitySums, Breakdown, ExplanationView, UserShare};

use super::{
    by_ids::{by_ids, text},
    paging::{PageAddress, items_on_page, paging},
    visit::Visit,
};
use crate::error::Error;

/// Columns of companies begin with this, which is also how an explanation lists them.
const COMPANIES: &str = "companies";

/// Query that explains a cell of one of the tables of the report; none where it counts neither users nor companies, such
/// as a trend.
pub(super) fn query_of<'c>(
    header: &'c [String],
    row: &'c [String],
    at: usize,
) -> Option<Vec<(&'static str, &'c str)>> {
    let column = header.get(at)?.as_str();
    let cell = |name: &str| {
        let at = header.iter().position(|known| known == name)?;
        row.get(at).map(String::as_str)
    };
    if let Some(action) = cell("action") {
        let mut asked = vec![("explain", UsageLine::Active.name()), ("action", action)];
        if is_period(column) {
            asked.push(("period", column));
        } else if !matches!(column, "users" | "activities" | "occurrences") {
            return None;
        }
        return Some(asked);
    }
    let (line, period) = match (cell("cohort"), column) {
        (Some(cohort), "cohortUsers") => (UsageLine::Kept.name(), cohort),
        (Some(_), "users" | "share") => (UsageLine::Kept.name(), cell("period")?),
        (Some(_), _) => return None,
        (None, _) => (line_of(column)?, cell("period")?),
    };
    let cohort = cell("cohort").map(|cohort| ("cohort", cohort));
    let list = column.starts_with(COMPANIES).then_some(("list", COMPANIES));
    Some([("explain", line), ("period", period)].into_iter().chain(cohort).chain(list).collect())
}

/// Whether a column of actions is named after a period: the name begins with a year.
fn is_period(column: &str) -> bool {
    column.starts_with(|first: char| first.is_ascii_digit())
}

/// Line of a column such as `usersActive`: those of activities are of all active users, and stickiness is a part of the
/// monthly ones.
fn line_of(column: &str) -> Option<&'static str> {
    if matches!(column, "activities" | "occurrences") {
        return Some(UsageLine::Active.name());
    }
    let name = column.strip_prefix("users").or_else(|| column.strip_prefix(COMPANIES))?;
    if name == "Stickiness" {
        return Some(UsageLine::Monthly.name());
    }
    UsageLine::NAMES.iter().copied().find(|line| line.eq_ignore_ascii_case(name))
}

/// An explanation, as far as its page needs it: most users or companies are on other pages.
#[derive(Deserialize)]
struct Explained<'j> {
    from: Day,
    to: Day,
    formula: String,
    total: u64,
    activities: u64,
    occurrences: u64,
    #[serde(borrow, default)]
    users: Vec<&'j RawValue>,
    /// In place of users, where these are asked for.
    #[serde(borrow)]
    companies: Option<Vec<&'j RawValue>>,
}

/// Fills in the users or companies from an offset on, with their names.
pub(super) async fn fill(
    visit: &Visit,
    view: &mut ExplanationView,
    explained: &str,
    ((offset, size), page_at): ((usize, usize), PageAddress<'_>),
) -> Result<(), Error> {
    let found = serde_json::from_str(explained);
    let found: Explained<'_> = found.map_err(|error| Error::Internal(error.to_string()))?;
    let Explained { total, activities, occurrences, .. } = found;
    let sums = ActivitySums { total, activities, occurrences };
    let (listed, shown);
    view.breakdown = match &found.companies {
        Some(companies) => {
            let on_page = items_on_page::<ActiveCompany>(companies, (offset, size))?;
            (listed, shown) = (companies.len(), on_page.len());
            Breakdown::ActiveCompanies { sums, companies: named_companies(visit, on_page).await? }
        }
        None => {
            let on_page = items_on_page::<UserShare>(&found.users, (offset, size))?;
            (listed, shown) = (found.users.len(), on_page.len());
            Breakdown::Users { sums, users: named_users(visit, on_page).await? }
        }
    };
    view.paging = paging((offset, size), (shown, Some(listed as u64)), page_at);
    view.days = (found.from.to_string(), found.to.before().to_string());
    view.formula = found.formula;
    Ok(())
}

/// Users with their names and those of their companies.
async fn named_users(visit: &Visit, mut users: Vec<UserShare>) -> Result<Vec<UserShare>, Error> {
    let ids = users.iter().map(|user| user.user.as_str());
    let people = by_ids(visit, "endusers", ids, "name,email,externalId").await?;
    let ids = users.iter().filter_map(|user| user.company.as_deref());
    let companies = by_ids(visit, "companies", ids, "name").await?;
    for user in &mut users {
        user.name = people.get(&user.user).and_then(|person| {
            let names = ["name", "email", "externalId"].map(|name| text(person, name));
            names.into_iter().find(|name| !name.is_empty()).map(str::to_owned)
        });
        let company = user.company.as_ref().and_then(|company| companies.get(company));
        user.company_name = company.map(|company| text(company, "name").to_owned());
    }
    Ok(users)
}

/// Companies with their names.
async fn named_companies(
    visit: &Visit,
    mut companies: Vec<ActiveCompany>,
) -> Result<Vec<ActiveCompany>, Error> {
    let ids = companies.iter().map(|company| company.company.as_str());
    let names = by_ids(visit, "companies", ids, "name").await?;
    for company in &mut companies {
        company.name = names.get(&company.company).map(|it| text(it, "name").to_owned());
    }
    Ok(companies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_query_of_a_cell_names_the_users_that_it_counts() {
        let check = |table: [&str; 2], column: &str, expect: &str| {
            let [header, row] = table.map(|line| line.split(',').map(str::to_owned).collect());
            let (header, row): (Vec<String>, Vec<String>) = (header, row);
            let at = header.iter().position(|name| name == column).unwrap();
            let asked = query_of(&header, &row, at).unwrap_or_default();
            let asked: Vec<String> =
                asked.iter().map(|(name, value)| format!("{name}={value}")).collect();
            assert_eq!(asked.join(" "), expect, "{column}");
        };
        let figures =
            ["period,activities,usersNew,usersStickiness,companiesDormant", "2026-01,9,3,0.5,1"];
        check(figures, "usersNew", "explain=new period=2026-01");
        check(figures, "activities", "explain=active period=2026-01");
        check(figures, "usersStickiness", "explain=monthly period=2026-01");
        let companies = "explain=dormant period=2026-01 list=companies";
        check(figures, "companiesDormant", companies);
        check(figures, "period", "");
        let cohorts = ["cohort,cohortUsers,period,week,users,share", "2026-W01,4,2026-W03,2,1,25"];
        for column in ["users", "share"] {
            check(cohorts, column, "explain=kept period=2026-W03 cohort=2026-W01");
        }
        check(cohorts, "cohortUsers", "explain=kept period=2026-W01 cohort=2026-W01");
        check(cohorts, "week", "");
        let actions = ["action,activities,users,trend,2026-01", "users,9,3,0.5,4"];
        check(actions, "users", "explain=active action=users");
        check(actions, "2026-01", "explain=active action=users period=2026-01");
        check(actions, "trend", "");
    }
}
