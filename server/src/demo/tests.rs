//! The demo is the same on the same day, and of the expected size on any.

use std::collections::BTreeSet;

use chrono::{Days, NaiveDate};
use poem::IntoResponse as _;

use super::customer::TermOutcome;
use super::*;

const TENANT: &str = "8a8e1c2c-6c0c-4f0e-9f6e-5d0f1f3c7a11";

fn demo(now: &str) -> Demo {
    let now = Timestamp::parse(now).unwrap();
    Demo { tenant: TenantId::parse(TENANT).unwrap(), now, customers: 20 }
}

/// The response of a server to which all is well.
fn all_is_well(call: &ApiCall) -> Response {
    let ids: Vec<String> = (0..call.count).map(|number| format!("{number:024x}")).collect();
    json!({ "upsertedIds": ids }).to_string().into_response()
}

async fn calls(demo: Demo) -> Vec<ApiCall> {
    let mut calls = Vec::new();
    let filled = demo.fill(async |call| {
        let response = all_is_well(&call);
        calls.push(call);
        Ok(response)
    });
    filled.await.unwrap();
    calls
}

#[tokio::test]
async fn the_same_time_gives_the_same_calls_and_another_day_others() {
    let first = calls(demo("2026-11-24T15:00:00Z")).await;
    assert!(first == calls(demo("2026-11-24T15:00:00Z")).await);
    let next = calls(demo("2026-11-25T15:00:00Z")).await;
    assert_ne!(first.len().max(next.len()), 0);
    assert!(first.iter().zip(&next).all(|(a, b)| a.path == b.path && a.method == b.method));
    assert!(first != next);
}

#[tokio::test]
async fn during_a_day_events_are_added_and_nothing_else_changes() {
    let events = |calls: &[ApiCall]| -> Vec<Value> {
        let bulk = calls.iter().filter(|call| call.path.contains("bulk") && !call.is_parked);
        bulk.flat_map(|call| serde_json::from_slice::<Vec<Value>>(&call.body).unwrap()).collect()
    };
    let [morning, evening] = ["2026-11-24T08:00:00Z", "2026-11-24T20:00:00Z"].map(demo);
    let (morning, evening) = (calls(morning).await, calls(evening).await);
    let (early, late) = (events(&morning), events(&evening));
    assert!(early.len() < late.len() && early == late[..early.len()]);
    let licenses = |calls: &[ApiCall]| {
        calls.iter().find(|call| call.path == "/licenses").map(|call| call.body.clone())
    };
    assert_eq!(licenses(&morning), licenses(&evening));
    let night = calls(demo("2026-11-23T23:30:00Z")).await;
    assert!(licenses(&night) == licenses(&morning), "the day begins in the tenant's zone");

    let dates: Vec<&str> = late.iter().map(|event| event["date"].as_str().unwrap()).collect();
    assert!(dates.is_sorted() && dates.last() <= Some(&"2026-11-24T20:00:00.000Z"));
    // Earlier activities are added up, by day: each workday has some.
    let events_of = |first: &str, next: &str| -> Vec<(&str, &Value)> {
        let dated = dates.iter().copied().zip(&late);
        dated.filter(|(date, _)| (first..next).contains(date)).collect()
    };
    assert!(events_of("2024", "2026-09-28").iter().all(|(_, event)| event["count"].is_u64()));
    assert!(events_of("2026-10-02", "2027").iter().all(|(_, event)| event["count"].is_null()));
    let week = events_of("2026-09-07", "2026-09-14");
    let week = week.iter().map(|(date, _)| &date[..10]);
    assert!(week.collect::<BTreeSet<_>>().len() >= 5);
}

#[tokio::test]
async fn what_is_not_stored_is_an_error() {
    for header in
        ["svctrack-bulk-errors", "svctrack-rejected-count", "svctrack-parked", "svctrack-ignored"]
    {
        let filled = demo("2026-11-24")
            .fill(async |call| Ok(all_is_well(&call).with_header(header, "1").into_response()));
        let cause = filled.await.unwrap_err();
        assert!(cause.starts_with("PUT /settings") && cause.contains(header), "{cause}");
    }
    let rejected = demo("2026-11-24").fill(async |call: ApiCall| {
        let is_event = call.path.starts_with("/analytics");
        let status = if is_event { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        Ok(all_is_well(&call).with_status(status).into_response())
    });
    assert!(rejected.await.unwrap_err().starts_with("POST /analytics/bulk/"));
}

#[test]
fn the_company_is_plausible_on_any_day() {
    let first = NaiveDate::from_ymd_opt(2027, 12, 30).unwrap();
    for day in (0..366).step_by(13).chain([60]) {
        let today = first.checked_add_days(Days::new(day)).unwrap();
        let market = customer_history::companies(CUSTOMERS, today);
        let customers = market.iter().filter(|company| company.is_customer(today)).count();
        assert!(customers.abs_diff(CUSTOMERS) <= 3, "{customers} customers on {today}");
        let begin = today.checked_sub_days(Days::new(720)).unwrap();
        let growth = mrr(&market, today) / mrr(&market, begin);
        assert!((1.7..2.6).contains(&growth), "MRR has grown by {growth} on {today}");
        let users = people::people(&market, today).len();
        assert!((2_500..3_700).contains(&users), "{users} users on {today}");
        let names: BTreeSet<&str> = market.iter().map(|company| company.name.as_str()).collect();
        assert_eq!(names.len(), market.len(), "{today}");
    }
}

#[test]
fn no_term_ends_undecided_long_ago_or_before_it_begins() {
    let today = NaiveDate::from_ymd_opt(2028, 2, 29).unwrap();
    for company in customer_history::companies(CUSTOMERS, today) {
        for term in &company.terms {
            let end = term.to.unwrap_or(NaiveDate::MAX);
            assert!(term.from < end && term.from <= today, "{company:?}");
            let is_whole = term.to.is_some_and(|to| customer_history::seems_whole(term.from, to));
            assert!(!is_whole, "it overlaps with the next: {company:?}");
            let is_open = term.outcome == TermOutcome::Ongoing;
            assert!(!is_open || (today - end).num_days() <= 12, "{company:?}");
        }
    }
}

/// MRR of customers on a day, whatever the currency.
fn mrr(market: &[Company], day: NaiveDate) -> f64 {
    let terms = market.iter().flat_map(|company| &company.terms);
    terms.filter(|term| term.covers(day)).map(customer::Term::mrr).sum()
}

#[tokio::test]
async fn nobody_is_real() {
    for call in calls(demo("2026-11-24")).await {
        let body = String::from_utf8(call.body.to_vec()).unwrap();
        let domains = body.split('@').skip(1).map(|rest| rest.split('"').next().unwrap());
        assert!(domains.into_iter().all(|domain| domain.ends_with(".example")), "{}", call.path);
    }
}

#[tokio::test]
async fn a_task_of_its_own_can_fill_a_tenant() {
    let demo = demo("2026-11-24T15:00:00Z");
    let filled = tokio::spawn(async move { demo.fill(async |call| Ok(all_is_well(&call))).await });
    filled.await.unwrap().unwrap();
}
