//! Licenses that renew by themselves: once each, after their last day of notice, whatever the clock and the power do.

use std::{
    collections::HashMap,
    time::{Duration, Instant},
};

use hyper::Method;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_store::{Actor, AutoRenewal, Store, Tenant};
use svctrack_tests::{
    TENANT,
    client::Client,
    direct::Direct,
    disk::{Disk, Fault, UnsyncedChanges},
    model::Random,
    process::{PATIENCE, Server},
};

use crate::clocks::{DAY_MS, HOUR_MS, World};

/// Licenses that are due at once: more than one command renews.
const MANY: usize = 40;
/// The same, enough for a server to be killed in the midst of them.
const VERY_MANY: usize = 1_000;
/// Renewals after which it is killed.
const KILLED_AFTER: usize = 200;
/// Companies that have them.
const COMPANIES: usize = 100;
/// Renewals of a round after which it is over, unless a command begins with fewer.
const ROUND: usize = 5_000;
/// Operations of a disk from one power cut to the next that is tried.
const STRIDE: u64 = 9;

/// A world that renews licenses.
async fn renewing() -> World {
    let world = World::new().await;
    world.put(Method::PUT, "/settings", json!({"autoRenewal": true})).await;
    world
}

/// A license of the year 2026; its last day of notice is 1 December.
fn year(name: &str) -> Value {
    json!({
        "companyId": "extid-acme", "externalId": name, "_currency": "EUR", "product": name, "fixedPeriod": true,
        "fromDate": "2026-01-01", "toDate": "2026-12-31", "mrr": 100, "renewalMrr": 110, "autoRenews": true,
        "noticePeriod": 1, "noticeUnit": "month",
    })
}

async fn add(world: &World, name: &str, more: Value) -> String {
    let mut license = year(name);
    license.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let made = world.put(Method::POST, "/licenses", license).await;
    made["_id"].as_str().unwrap().to_owned()
}

async fn licenses(world: &World) -> Vec<Value> {
    world.server.get("/licenses?limit=2000").await.as_array().unwrap().clone()
}

async fn clean_up_after(world: &World, ms: i64) -> usize {
    world.clock.pass(ms);
    world.clean_up().await;
    licenses(world).await.len()
}

#[tokio::test]
async fn a_license_is_renewed_once_after_its_last_day_of_notice() {
    let world = renewing().await;
    let id = add(&world, "suite", json!({})).await;
    assert_eq!(clean_up_after(&world, 0).await, 1);
    // Noon of 1 December, then of the next day.
    assert_eq!(clean_up_after(&world, 11 * DAY_MS).await, 1);
    assert_eq!(clean_up_after(&world, DAY_MS).await, 2);
    assert_eq!(clean_up_after(&world, DAY_MS).await, 2);
    let found = licenses(&world).await;
    let (first, second) = (&found[0], &found[1]);
    assert_eq!(first["renewalStatus"], "renewed");
    let expected = json!({
        "parent": id, "fromDate": "2027-01-01T00:00:00.000Z", "toDate": "2028-01-01T00:00:00.000Z", "mrr": 110,
        "renewalStatus": "ongoing", "autoRenews": true, "noticePeriod": 1,
    });
    for (name, value) in expected.as_object().unwrap() {
        assert_eq!(&second[name], value, "{name}");
    }
    // A year later the successor is due.
    assert_eq!(clean_up_after(&world, 365 * DAY_MS).await, 3);
    assert_eq!(licenses(&world).await[2]["parent"], *id);
}

#[tokio::test]
async fn only_licenses_with_auto_renewal_are_renewed_and_only_where_the_tenant_has_set_it() {
    let world = World::new().await;
    add(&world, "auto", json!({})).await;
    add(&world, "manual", json!({"autoRenews": false})).await;
    add(&world, "lost", json!({"renewalStatus": "lost"})).await;
    add(&world, "old", json!({"fromDate": "2025-01-01", "toDate": "2025-12-31"})).await;
    add(&world, "open", json!({"fixedPeriod": false, "toDate": null})).await;
    assert_eq!(clean_up_after(&world, 12 * DAY_MS).await, 5);
    world.put(Method::PUT, "/settings", json!({"autoRenewal": true})).await;
    assert_eq!(clean_up_after(&world, 0).await, 6);
    assert_eq!(licenses(&world).await[5]["product"], "auto");
}

#[tokio::test]
async fn without_notice_a_license_is_renewed_at_its_end() {
    let world = renewing().await;
    add(&world, "suite", json!({"noticePeriod": 0})).await;
    // Noon of 31 December, then midnight.
    assert_eq!(clean_up_after(&world, 41 * DAY_MS).await, 1);
    assert_eq!(clean_up_after(&world, 12 * HOUR_MS).await, 2);
}

#[tokio::test]
async fn a_clock_that_is_set_forward_renews_nothing_until_it_has_stood_for_an_hour() {
    for is_right in [false, true] {
        let world = renewing().await;
        add(&world, "suite", json!({})).await;
        world.clock.set_by(30 * DAY_MS);
        assert_eq!(clean_up_after(&world, 0).await, 1);
        assert_eq!(clean_up_after(&world, HOUR_MS - 1_000).await, 1);
        if !is_right {
            world.clock.set_by(-30 * DAY_MS);
        }
        assert_eq!(clean_up_after(&world, HOUR_MS).await, 1 + usize::from(is_right));
    }
}

/// Entries of the report about renewals.
async fn failures(world: &World) -> Vec<Value> {
    let report = world.server.get("/integrationissues?route=renewals").await;
    report.as_array().unwrap().clone()
}

#[tokio::test]
async fn a_license_that_cannot_be_renewed_is_reported_until_it_can() {
    let world = renewing().await;
    let priceless = add(&world, "suite", json!({"mrr": null, "renewalMrr": null})).await;
    add(&world, "other", json!({})).await;
    world.clock.pass(12 * DAY_MS);
    world.clean_up().await;
    world.clean_up().await;
    let found = failures(&world).await;
    assert_eq!(found.len(), 1, "{found:?}");
    let (code, count) = (&found[0]["code"], &found[0]["count"]);
    assert_eq!((code, count), (&json!("auto_renewal_failed"), &json!(2)));
    assert_eq!(found[0]["sample"], json!({"licenseId": priceless, "code": "required"}));
    let message = found[0]["message"].as_str().unwrap();
    assert!(message.contains(&priceless) && message.contains("`mrr` is required"), "{message}");
    assert_eq!(licenses(&world).await.len(), 3);
    let path = format!("/licenses/{priceless}");
    world.put(Method::PUT, &path, json!({"mrr": 5})).await;
    assert_eq!(clean_up_after(&world, 0).await, 4);
    assert_eq!(failures(&world).await, Vec::<Value>::new());
}

#[tokio::test]
async fn a_license_that_was_decided_leaves_the_report() {
    for decision in ["renew", "lose", "autoRenews", "delete"] {
        let world = renewing().await;
        let priceless = add(&world, "suite", json!({"mrr": null, "renewalMrr": null})).await;
        add(&world, "other", json!({"mrr": null, "renewalMrr": null})).await;
        clean_up_after(&world, 12 * DAY_MS).await;
        assert_eq!(failures(&world).await.len(), 2, "{decision}");
        let path = format!("/licenses/{priceless}");
        match decision {
            "renew" => world.put(Method::POST, &format!("{path}/renew"), json!({"mrr": 5})).await,
            "lose" => {
                let reason = json!({"lostReason": "price"});
                world.put(Method::POST, &format!("{path}/lose"), reason).await
            }
            "delete" => world.put(Method::DELETE, &path, Value::Null).await,
            _ => world.put(Method::PUT, &path, json!({"autoRenews": false})).await,
        };
        let left = failures(&world).await;
        assert!(left.len() == 1 && left[0]["sample"]["licenseId"] != *priceless, "{decision}");
    }
}

#[tokio::test]
async fn a_license_that_may_have_a_successor_is_left_to_its_tenant() {
    let world = renewing().await;
    let first = add(&world, "first", json!({"product": "Suite"})).await;
    let next = json!({"product": "Suite", "fromDate": "2027-01-01", "toDate": "2027-12-31"});
    let second = add(&world, "second", next).await;
    assert_eq!(clean_up_after(&world, 12 * DAY_MS).await, 2);
    let found = failures(&world).await;
    assert_eq!(found[0]["sample"], json!({"licenseId": first, "code": "successor_unclear"}));
    // With its parent it is the successor, and nothing is left to do.
    world.put(Method::PUT, &format!("/licenses/{second}"), json!({"parent": first})).await;
    assert_eq!(clean_up_after(&world, 0).await, 2);
    assert_eq!(failures(&world).await, Vec::<Value>::new());
}

#[tokio::test]
async fn two_licenses_of_a_product_are_both_renewed() {
    let world = renewing().await;
    for name in ["first", "second"] {
        add(&world, name, json!({"product": "Suite"})).await;
    }
    assert_eq!(clean_up_after(&world, 12 * DAY_MS).await, 4);
}

/// Checks that each license has one successor.
fn check_each_renewed_once(licenses: &[Value], count: usize) {
    let mut successors: HashMap<&str, usize> = HashMap::new();
    for parent in licenses.iter().filter_map(|license| license["parent"].as_str()) {
        *successors.entry(parent).or_default() += 1;
    }
    let firsts: Vec<_> = licenses.iter().filter(|license| license["parent"].is_null()).collect();
    assert_eq!((firsts.len(), successors.len()), (count, count));
    for license in firsts {
        assert_eq!(license["renewalStatus"], "renewed", "{license}");
        assert_eq!(successors[license["_id"].as_str().unwrap()], 1, "{license}");
    }
}

async fn many_due() -> World {
    let world = World::new().await;
    let items: Vec<_> = (0..MANY).map(|number| year(&format!("l{number}"))).collect();
    world.put(Method::PUT, "/licenses", json!(items)).await;
    world.clock.pass(12 * DAY_MS);
    // With it the time is stored, so that a server that starts later does not hold the clock for wrong.
    world.put(Method::PUT, "/settings", json!({"autoRenewal": true})).await;
    world
}

#[tokio::test]
async fn a_round_renews_a_limited_number_and_the_next_one_the_others() {
    let world = many_due().await;
    let tenant = svctrack_core::value::TenantId::parse(TENANT).unwrap();
    let actor = Actor::service(Tenant::assume_authorized(tenant));
    let store: &dyn Store = &*world.server.store;
    let mut round = AutoRenewal::default();
    round.renewed = ROUND - 1;
    let round = store.auto_renew(actor, round).await.unwrap();
    assert!(round.is_over && round.renewed < ROUND - 1 + MANY, "{round:?}");
    assert!(licenses(&world).await.len() < 2 * MANY);
    world.clean_up().await;
    check_each_renewed_once(&licenses(&world).await, MANY);
}

#[tokio::test]
async fn each_license_is_renewed_once_wherever_the_power_goes() {
    let world = many_due().await;
    world.server.store.close();
    let bytes = world.disk.bytes();
    let mut random = Random::seeded(1);
    let (mut cut_at, mut cuts) = (0, 0);
    loop {
        let disk = Disk::with_bytes(bytes.clone());
        let open = |disk: &Disk| {
            Direct::open(Box::new(disk.clone()), world.clock.clone(), world.tokens.clone())
        };
        let server = open(&disk).unwrap();
        disk.fail(Fault::Power(disk.operations() + cut_at));
        // It fails where the power goes.
        let _ = server.clean_up().await;
        let is_off = disk.is_off();
        server.store.close();
        drop(server);
        let left = *random.one_of(&UnsyncedChanges::ALL);
        let server = open(&disk.after_power_cut(left, &mut random)).unwrap();
        server.clean_up().await.unwrap();
        let found = server.get("/licenses?limit=2000").await;
        check_each_renewed_once(found.as_array().unwrap(), MANY);
        server.store.close();
        if !is_off {
            break;
        }
        (cut_at, cuts) = (cut_at + STRIDE, cuts + 1);
    }
    assert!(cuts > 5, "{cuts} power cuts");
}

/// How many successors there are.
async fn renewed(client: &Client) -> usize {
    let response = client.get("/licenses?parent[exists]=true&limit=2000&select=_id").await;
    response.json().as_array().map_or(0, Vec::len)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_while_it_renews_renews_each_license_once() {
    let folder = tempfile::tempdir().unwrap();
    let token = Token::generate().unwrap();
    let server = Server::start_with_acme(folder.path(), &token).await;
    let client = &server.client;
    client.send(Method::PUT, "/settings", JSON, r#"{"autoRenewal":true}"#).await.unwrap();
    let company = |number: usize| format!("c{}", number % COMPANIES);
    let companies: Vec<_> =
        (0..COMPANIES).map(|number| json!({"name": "C", "externalId": company(number)})).collect();
    let put = async |path: &str, items: Vec<Value>| {
        let made = client.send(Method::PUT, path, JSON, json!(items).to_string()).await.unwrap();
        assert_eq!(made.headers["svctrack-bulk-errors"], "0", "{}", made.text());
    };
    put("/companies", companies).await;
    // They ended a few days ago, whenever the test runs.
    let now = svctrack_store::Clock::now(&svctrack_store::SystemClock).as_ms();
    let at = |days: i64| {
        svctrack_core::value::Timestamp::from_ms_clamped(now - days * DAY_MS).to_string()
    };
    let (from, to) = (at(75), at(15));
    let items: Vec<_> = (0..VERY_MANY)
        .map(|number| {
            let mut license = year(&format!("l{number}"));
            license["companyId"] = json!(format!("extid-{}", company(number)));
            (license["fromDate"], license["toDate"]) = (json!(from), json!(to));
            license
        })
        .collect();
    put("/licenses", items).await;
    server.kill().await;

    let mut kills = 0;
    loop {
        let server = Server::start(folder.path(), &token).await;
        let started = Instant::now();
        let enough = (renewed(&server.client).await + KILLED_AFTER).min(VERY_MANY);
        let mut found = 0;
        while found < enough {
            assert!(started.elapsed() < PATIENCE, "{found} of {VERY_MANY} renewed");
            tokio::time::sleep(Duration::from_millis(5)).await;
            found = renewed(&server.client).await;
        }
        if found >= VERY_MANY {
            let found = server.client.get("/licenses?limit=2000").await.json();
            check_each_renewed_once(found.as_array().unwrap(), VERY_MANY);
            server.kill().await;
            break;
        }
        server.kill().await;
        kills += 1;
    }
    assert!(kills > 0, "the server was never killed while it renewed");
}

const JSON: &[(&str, &str)] = &[("content-type", "application/json")];
