//! Explanations of the usage report: the query of each cell, and its users.

use serde::Deserialize;
use svctrack_core::{revenue::UsageLine, value::Day};
use svctrack_web::pages::{Breakdown, ExplanationView, UserShare};

use super::{
    by_ids::{by_ids, text},
    paging::{PageAddress, paging},
    visit::Visit,
};
use crate::error::Error;

/// Query that explains a cell of one of the tables of the report; none where it counts no users.
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
    Some([("explain", line), ("period", period)].into_iter().chain(cohort).collect())
}

/// Whether a column of actions is named after a period: the name begins with a year.
fn is_period(column: &str) -> bool {
    column.starts_with(|first: char| first.is_ascii_digit())
}

/// Line of a column such as `usersActive`.
fn line_of(column: &str) -> Option<&'static str> {
    let name = column.strip_prefix("users")?;
    UsageLine::NAMES.iter().copied().find(|line| line.eq_ignore_ascii_case(name))
}

/// An explanation, as far as its page needs it.
#[derive(Deserialize)]
struct Explained {
    from: Day,
    to: Day,
    total: usize,
    formula: String,
    users: Vec<UserShare>,
}

/// Fills in the users from an offset on, with their names and those of their companies.
pub(super) async fn fill(
    visit: &Visit,
    view: &mut ExplanationView,
    explained: &str,
    ((offset, size), page_at): ((usize, usize), PageAddress<'_>),
) -> Result<(), Error> {
    let found = serde_json::from_str(explained);
    let found: Explained = found.map_err(|error| Error::Internal(error.to_string()))?;
    let listed = found.users.len() as u64;
    let mut users: Vec<_> = found.users.into_iter().skip(offset).take(size).collect();
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
    view.paging = paging((offset, size), (users.len(), Some(listed)), page_at);
    view.days = (found.from.to_string(), found.to.before().to_string());
    view.formula = found.formula;
    view.breakdown = Breakdown::Users { total: found.total, users };
    Ok(())
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
            ["period,activities,usersActive,usersStickiness,companiesActive", "2026-01,9,3,0.5,1"];
        check(figures, "usersActive", "explain=active period=2026-01");
        for column in ["period", "activities", "usersStickiness", "companiesActive"] {
            check(figures, column, "");
        }
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
