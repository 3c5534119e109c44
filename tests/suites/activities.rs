//! Reading activities back by time, when many came late.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_tests::{TENANT, client::Client, in_process::InProcess, model::Random};

/// Events with rising dates; now and then one from long before.
const EVENTS: usize = 6_000;
const SECOND_MS: i64 = 1_000;
const FIRST_MS: i64 = 1_790_000_000_000;

fn date(second: i64) -> String {
    Timestamp::from_ms_clamped(FIRST_MS + second * SECOND_MS).to_string()
}

async fn server() -> InProcess {
    let server = InProcess::start().await;
    let mut random = Random::seeded(7);
    for company in ["a", "b"] {
        server.client.post("/companies", &json!({"name": company, "externalId": company})).await;
    }
    let row = |number: usize| {
        let late = if random.percent(1) { random.below(EVENTS) } else { 0 };
        let second = i64::try_from(number).unwrap() - i64::try_from(late).unwrap();
        let company = if number.is_multiple_of(5) { "a" } else { "b" };
        json!({
            "euExtId": format!("{company}{}", number % 3), "cId": company,
            "action": "x", "date": date(second)
        })
    };
    let rows: Vec<_> = (0..EVENTS).map(row).collect();
    let taken = server.anonymous.post(&format!("/analytics/bulk/{TENANT}"), &json!(rows)).await;
    assert_eq!(taken.text(), "OK");
    server
}

/// All pages of a list.
async fn all(client: &Client, query: &str) -> Vec<Value> {
    let mut found: Vec<Value> = Vec::new();
    loop {
        let last = found.last().map(|last| last["_id"].as_str().unwrap().to_owned());
        let after = last.map_or_else(String::new, |last| format!("&after={last}"));
        let page = client.get(&format!("/activities?limit=700{query}{after}")).await.json();
        let page = page.as_array().unwrap().clone();
        let is_last = page.len() < 700;
        found.extend(page);
        if is_last {
            return found;
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_list_of_a_time_holds_what_happened_then_whenever_it_came() {
    let server = server().await;
    let everything = all(&server.client, "").await;
    assert_eq!(everything.len(), EVENTS);
    let mut random = Random::seeded(9);
    for whose in ["", "&companyId=extid-a", "&endUserId=extid-b1", "&companyId=extid-a,extid-b"] {
        let theirs: BTreeSet<_> = all(&server.client, whose).await.iter().map(id).collect();
        for _ in 0..10 {
            let from = i64::try_from(random.below(2 * EVENTS)).unwrap() - 6_000;
            let (from, to) = (date(from), date(from + 500));
            let expected: Vec<_> = everything
                .iter()
                .filter(|one| theirs.contains(&id(one)))
                .filter(|one| (from.as_str()..to.as_str()).contains(&one["date"].as_str().unwrap()))
                .map(id)
                .collect();
            let time = format!("&from={from}&to={to}");
            let found: Vec<_> = all(&server.client, &(whose.to_owned() + &time)).await;
            assert_eq!(found.iter().map(id).collect::<Vec<_>>(), expected, "{whose}{time}");
            if whose.contains('=') && !whose.contains(',') {
                let sorted = all(&server.client, &format!("{whose}{time}&sort=-date")).await;
                let places: Vec<_> =
                    sorted.iter().map(|one| (one["date"].to_string(), id(one))).collect();
                assert!(places.is_sorted_by(|one, next| one > next), "{whose}{time}, by date");
                let sorted: BTreeSet<_> = sorted.iter().map(id).collect();
                assert_eq!(sorted, expected.into_iter().collect(), "{whose}{time}, by date");
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_that_would_be_too_large_is_rejected_and_a_stream_comes_in_pieces() {
    const LARGE: usize = 300;
    let server = InProcess::start().await;
    server.client.post("/companies", &json!({"name": "a", "externalId": "a"})).await;
    let note = "x".repeat(60_000);
    for number in 0..LARGE {
        let event = json!({
            "externalId": "7", "companyExternalId": "a", "action": number.to_string(),
            "info": {"note": note}
        });
        assert_eq!(server.client.track(&event).await.unwrap().text(), "OK");
    }
    let page = server.client.get("/activities?limit=2000").await;
    assert_eq!(
        (page.status.as_u16(), page.json()["errors"][0]["code"].as_str()),
        (422, Some("page_too_large"))
    );
    let by_date = server.client.get("/activities?limit=2000&companyId=extid-a&sort=-date").await;
    assert_eq!(by_date.status, 422);
    assert_eq!(all_of(&server.client, 100).await, LARGE);
    let first = [("last-event-id", "000000000000000000000000")];
    let mut events = server.client.listen("/activities/stream", &first).await;
    for number in 0..LARGE {
        assert_eq!(events.next().await.unwrap().1["action"], number.to_string());
    }
}

/// How many activities there are, read in pages of a limit.
async fn all_of(client: &Client, limit: usize) -> usize {
    let (mut count, mut after) = (0, String::new());
    loop {
        let page = client.get(&format!("/activities?limit={limit}{after}")).await.json();
        let page = page.as_array().unwrap().clone();
        count += page.len();
        let Some(last) = page.last() else { return count };
        after = format!("&after={}", id(last));
    }
}

fn id(activity: &Value) -> String {
    activity["_id"].as_str().unwrap().to_owned()
}
