//! Six stories that a newcomer should find: four companies, a sender and a timesheet.

use chrono::{Days, Months, NaiveDate};

use super::{
    customer::{Company, Product, Size, Term, TermOutcome, Usage},
    names,
};

/// A story, and where the demo shows it.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct Story {
    /// Customer or sender of the story.
    pub who: &'static str,
    /// Finding that the story shows.
    pub what: &'static str,
    /// Route that shows the story.
    pub path: &'static str,
}

pub(super) const AT_RISK: &str = "Halcyon Freight";
const EXPANDED: &str = "Northlight Robotics";
const RETURNED: &str = "Tidewater Foods";
const OVERDUE: &str = "Cobalt Dental Group";
/// Name that the sender of the fifth story takes for a company.
pub(super) const UNKNOWN_COMPANY: &str = "lumen-staging";

pub const STORIES: [Story; 6] = [
    Story {
        who: AT_RISK,
        what: "large, renews in 20 days, and is used less each day",
        path: "/reports/customers",
    },
    Story { who: EXPANDED, what: "expanded twice", path: "/companies/extid-c-001" },
    Story { who: RETURNED, what: "was lost and came back", path: "/companies/extid-c-002" },
    Story {
        who: OVERDUE,
        what: "ended 12 days ago, and nobody renewed it",
        path: "/reports/renewals",
    },
    Story {
        who: UNKNOWN_COMPANY,
        what: "a sender names a company that does not exist",
        path: "/integrationissues",
    },
    Story {
        who: "Dario Ostwell",
        what: "submitted a day of 23 hours: a timesheet to return",
        path: "/timesheets?status=submitted",
    },
];

/// The companies of the first four, as the first of the demo.
pub(super) fn companies(today: NaiveDate) -> Vec<Company> {
    let before = |days: u64| today.checked_sub_days(Days::new(days)).unwrap_or(today);
    let months =
        |day: NaiveDate, back: u32| day.checked_sub_months(Months::new(back)).unwrap_or(day);
    let renewal = today.checked_add_days(Days::new(20)).unwrap_or(today);
    let at_risk = vec![Term::new(Product::Enterprise, months(renewal, 24), 24, 96)];

    let (first, second) = (months(before(40), 18), before(150));
    let mut expanded = company(1, EXPANDED, Size::Middle, Usage::Growing);
    expanded.terms = vec![Term::new(Product::Enterprise, first, 12, 14)];
    let renewed = months(first, 0).checked_add_months(Months::new(12)).unwrap_or(first);
    expanded.follow(0, Term::new(Product::Enterprise, renewed, 12, 22));
    let added = Term { from: second, months: 12, ..Term::new(Product::Insights, renewed, 12, 22) };
    expanded.terms.push(added);

    let lost = Term {
        outcome: TermOutcome::Lost("went to a competitor"),
        ..Term::new(Product::Enterprise, months(before(310), 12), 12, 18)
    };
    let again = Term { discount: 10, ..Term::new(Product::Enterprise, before(75), 12, 20) };

    let over = vec![Term::new(Product::Enterprise, months(before(12), 12), 12, 16)];

    vec![
        Company { terms: at_risk, ..company(0, AT_RISK, Size::Large, Usage::Falling) },
        expanded,
        Company { terms: vec![lost, again], ..company(2, RETURNED, Size::Middle, Usage::Steady) },
        Company { terms: over, ..company(3, OVERDUE, Size::Middle, Usage::Steady) },
    ]
}

fn company(number: usize, name: &'static str, size: Size, usage: Usage) -> Company {
    Company {
        number,
        name: name.to_owned(),
        size,
        place: names::EUROPE.get(number).copied().unwrap_or(("Hamburg", "Germany", 1)),
        currency: "EUR",
        owner: number,
        terms: Vec::new(),
        usage,
        returns: None,
        story: STORIES.get(number).map(|story| story.what),
    }
}
