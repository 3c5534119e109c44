//! The records that are measured with, and that a build is trained with. They are the same in every run.

use serde_json::{Value, json};

use crate::client::Client;

/// Records of one bulk upsert: the maximum number.
pub const BULK: usize = 5_000;
/// Bytes of a product as it is sent.
pub const PRODUCT_BYTES: usize = 600;
pub const USERS: usize = 10_000;
pub const COMPANIES: usize = 500;

/// A number between 0 and `below` that looks random and is the same each time for the same seed.
pub fn scattered(seed: usize, below: usize) -> usize {
    let mixed = (seed as u64).wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    ((mixed ^ (mixed >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 33) as usize % below
}

/// A product of [`PRODUCT_BYTES`] bytes.
pub fn product(number: usize, mrr: usize) -> Value {
    let mut product = json!({
        "name": format!("Plan {number}"), "externalId": format!("ext-{number}"),
        "sourceId": format!("src-{}", scattered(number, 1_000_000_000)),
        "type": "subscription", "mrr": mrr, "currency": "EUR", "fixedPeriod": true,
        "autoRenews": true, "length": 12, "renewalMrr": mrr, "renewalPeriod": 12,
        "noticePeriod": 3, "noticeUnit": "month", "packages": ["base", "support"], "color": "#336699",
        "custom": {"seats": scattered(number, 500), "region": "north", "note": ""},
    });
    let missing = PRODUCT_BYTES - product.to_string().len();
    product["custom"]["note"] = "x".repeat(missing).into();
    product
}

/// A bulk body of products with consecutive numbers.
pub fn products(first: usize, mrr: usize) -> Value {
    (first..first + BULK).map(|number| product(number, mrr)).collect()
}

pub fn company(number: usize) -> Value {
    json!({"name": format!("Company {number}"), "externalId": format!("c{number}"),
           "domains": [format!("c{number}.example")]})
}

/// An end user of a company.
pub fn user(number: usize) -> Value {
    json!({"externalId": format!("u{number}"), "email": format!("u{number}@c{}.example", number % COMPANIES),
           "name": format!("Ada {number}"), "companyId": format!("extid-c{}", number % COMPANIES)})
}

/// A license; its `value` is not indexed.
pub fn license(number: usize) -> Value {
    json!({"companyId": format!("extid-c{}", number % COMPANIES), "externalId": format!("l{number}"),
           "product": "Plan 1", "_currency": "EUR", "fromDate": "2026-01-01",
           "value": 100 + scattered(number, 1_000_000), "length": 12, "fixedPeriod": true,
           "custom": {"region": "north", "x": scattered(number, 1_000_000)}})
}

/// A ticket; one in a thousand has the word `zebra` in its snippet.
pub fn ticket(number: usize) -> Value {
    let animal = if number.is_multiple_of(1_000) { "Zebra" } else { "horse" };
    json!({"sourceId": format!("t{number}"), "email": format!("u{}@c{}.example", number % USERS, number % COMPANIES),
           "companyId": format!("extid-c{}", number % COMPANIES), "title": format!("Report {number} is late"),
           "description": format!("{} The {animal} waits. {}", "The report did not come. ".repeat(9), "Please look. ".repeat(9)),
           "status": "open", "severity": "high", "product": "Plan 1", "url": "https://tickets.example/1", "tags": ["late", "report"]})
}

/// Upserts `count` records that `make` creates.
pub async fn load(client: &Client, path: &str, count: usize, make: fn(usize) -> Value) {
    for first in (0..count).step_by(BULK) {
        let last = count.min(first + BULK);
        upsert(client, path, &(first..last).map(make).collect()).await;
    }
}

/// Upserts records and checks that none was rejected.
pub async fn upsert(client: &Client, path: &str, records: &Value) {
    let json = [("content-type", "application/json")];
    let response = client.send(hyper::Method::PUT, path, &json, records.to_string()).await.unwrap();
    assert_eq!(response.headers["svctrack-bulk-errors"], "0", "{:.300}", response.text());
}
