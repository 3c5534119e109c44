//! Pages of customers in each order, against all customers sorted by what their rows say.

use std::cmp::Ordering;

use svctrack_core::revenue::{
    CompanyStatus, Customer, CustomerPage, CustomerUsage, Customers, Ledger, Report, ReportKind,
    ReportOptions, ReportQuery, ReportSources, report,
};

use super::{
    random::Random,
    support::{at, id, ledger, name, options, rates},
};

const COMPANIES: u64 = 60;

/// Companies with licenses in three currencies, one of them without a rate: past, ongoing, and to come.
fn companies() -> Ledger {
    let mut random = Random::new(7);
    let mut lines = String::new();
    for number in 0..3 * COMPANIES {
        let company = random.below(COMPANIES);
        let currency = ["EUR", "EUR", "USD", "GBP"][usize::try_from(random.below(4)).unwrap()];
        let (year, month) = (2022 + random.below(3), 1 + random.below(9));
        let end = match random.below(4) {
            0 => "-".to_owned(),
            _ => format!("{}-0{month}-15", year + 1),
        };
        let mrr = 100 * random.below(5);
        let status = ["ongoing", "ongoing", "renewed", "lost"];
        let status = status[usize::try_from(random.below(4)).unwrap()];
        lines += &format!(
            "L{number} C{company} {currency} {year}-0{month}-15 {end} {mrr} Suite {status}\n"
        );
    }
    ledger(&lines)
}

/// Usage that differs from company to company, and none of some.
fn usage(company: &str) -> CustomerUsage {
    let seed = company.bytes().map(u64::from).fold(0, |sum, byte| 31 * sum + byte);
    let mut random = Random::new(seed);
    let mut count = |limit| random.below(limit);
    CustomerUsage {
        last_active: (count(3) > 0).then(|| at(&format!("2024-0{}-01", 1 + count(6)))),
        activity_state: Some(["never", "growing", "declining"][usize::try_from(count(3)).unwrap()]),
        users_active: [count(5), count(5)],
        beats: [count(50), count(50)],
        open_tickets: [count(3), count(3)],
    }
}

fn ask(ledger: &Ledger, pairs: &[(&str, &str)]) -> Customers {
    let pairs = pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    let query = ReportQuery::parse(ReportKind::Customers, &pairs.collect::<Vec<_>>()).unwrap();
    let sources = ReportSources {
        ledger,
        later: None,
        attributes_of: &|_| Vec::new(),
        company_filter: &|_| true,
        name_of: &|company| (company != id("C3")).then(|| name(company)),
        usage_of: &|company| usage(&name(company)),
        has_usage: true,
        closings_of: &|_| Vec::new(),
    };
    let options = ReportOptions {
        rates: Some(rates(&[("USD", "2020-01-01", "0.9")])),
        ..options("2024-06-01", "2024-07-01", "2024-06-20")
    };
    let Report::Customers(found) = report(&query, &options, sources).unwrap() else { panic!() };
    *found
}

/// The value that a customer is sorted by, as its row has it: a text and a number, one of them empty.
fn value(row: &Customer, property: &str) -> Option<(String, f64)> {
    let number =
        |number: Option<svctrack_core::value::Number>| Some(number?.to_string().parse().unwrap());
    let count = |count: u64| Some(f64::from(u32::try_from(count).unwrap()));
    let day = |day: Option<svctrack_core::revenue::Day>| Some(day?.to_string());
    let text = |text: Option<String>| Some((text?, 0.0));
    let found: Option<f64> = match property {
        "atStake" => number(row.at_stake.as_ref().map(|stake| stake.amount)),
        "name" => return text(row.name.clone()),
        "nextRenewal" => return text(day(row.next_renewal)),
        "lastActive" => return text(day(row.last_active)),
        "mrr" => number(row.mrr),
        "arr" => number(row.arr),
        "overdue" => number(row.overdue),
        "days" => row.days.map(|days| f64::from(i32::try_from(days).unwrap())),
        "usersActive" => count(row.users_active),
        "usersTrend" => number(Some(row.users_trend)),
        "beats" => count(row.beats),
        "beatTrend" => number(Some(row.beat_trend)),
        "openTickets" => count(row.open_tickets),
        other => panic!("{other} is new: say how a row has it"),
    };
    Some((String::new(), found?))
}

fn expected_order(a: &Customer, b: &Customer, sort: &str) -> Ordering {
    let (property, descending) =
        sort.strip_prefix('-').map_or((sort, false), |property| (property, true));
    let by_value = match (value(a, property), value(b, property)) {
        (Some(a), Some(b)) if descending => b.partial_cmp(&a).unwrap(),
        (Some(a), Some(b)) => a.partial_cmp(&b).unwrap(),
        (a, b) => a.is_none().cmp(&b.is_none()),
    };
    by_value.then(a.company.cmp(&b.company))
}

#[test]
fn pages_in_each_order_are_parts_of_one_list() {
    const PAGE: usize = 7;
    let ledger = companies();
    let all = ask(&ledger, &[("limit", "5000")]);
    assert!(all.total > 40 && all.rows.len() == all.total, "{} customers", all.total);
    for sort in CustomerPage::SORTS {
        let mut expected = all.rows.clone();
        expected.sort_by(|a, b| expected_order(a, b, sort));
        let mut paged = Vec::new();
        for offset in (0..all.total).step_by(PAGE) {
            let (limit, offset) = (PAGE.to_string(), offset.to_string());
            let page = ask(&ledger, &[("sort", sort), ("limit", &limit), ("offset", &offset)]);
            assert_eq!(page.total, all.total);
            paged.extend(page.rows);
        }
        let ids = |rows: &[Customer]| rows.iter().map(|row| name(row.company)).collect::<Vec<_>>();
        assert_eq!(ids(&paged), ids(&expected), "sorted by {sort}");
        assert_eq!(paged, expected, "sorted by {sort}");
    }
}

#[test]
fn filters_count_the_customers_that_pass() {
    let ledger = companies();
    let all = ask(&ledger, &[("limit", "5000")]).rows;
    for status in CustomerPage::STATUSES {
        let expected = all.iter().filter(|row| row.status.name() == *status).count();
        let found = ask(&ledger, &[("status", status), ("limit", "2")]);
        assert_eq!((found.total, found.rows.len()), (expected, expected.min(2)), "{status}");
        assert!(found.rows.iter().all(|row| row.status.name() == *status));
    }
    let is_declining = |row: &&Customer| row.activity_state.as_deref() == Some("declining");
    let of_both = |row: &&Customer| is_declining(row) && row.status == CompanyStatus::Customer;
    let found = ask(&ledger, &[("activityState", "declining"), ("status", "customer")]);
    assert_eq!(found.total, all.iter().filter(of_both).count());
    assert!(found.total > 0);
}
