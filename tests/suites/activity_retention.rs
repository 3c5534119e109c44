//! Activities of a tenant that keeps them for some days: older ones go, and nothing else does.

use std::sync::Arc;

use hyper::{Method, StatusCode};
use serde_json::{Value, json};
use svctrack_core::value::Timestamp;
use svctrack_store::{Store as _, embedded::verify_file};
use svctrack_tests::{TENANT, direct::Direct, disk::Disk, in_process::StillClock, tokens::Tokens};

const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
/// Cache of a store that is verified, in bytes.
const CACHE_BYTES: usize = 4 * 1024 * 1024;
/// Days of retention of activities.
const KEPT_DAYS: i64 = 3;
/// Events of a day: more than one command removes, and than there are from one mark to the next.
const EVENTS: usize = 2_500;
/// Number of users; each has this number of events.
const USERS: usize = 5;
/// Where the store's activities and figures of them can be read.
const LISTS: [&str; 4] = [
    "/activities?limit=2000",
    "/activities?limit=2000&companyId=extid-acme",
    "/activities?limit=2000&endUserId=extid-u0",
    "/activities?limit=2000&endUserId=extid-u0&sort=-date",
];

struct World {
    disk: Disk,
    clock: Arc<StillClock>,
    now: Timestamp,
    tokens: Tokens,
    server: Direct,
}

impl World {
    async fn new() -> Self {
        let now = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
        let (disk, clock) = (Disk::with_store(), Arc::new(StillClock::at(now)));
        let tokens = Direct::found(Box::new(disk.clone()), clock.clone()).await;
        let server = Direct::open(Box::new(disk.clone()), clock.clone(), tokens.clone()).unwrap();
        let world = Self { disk, clock, now, tokens, server };
        world.put(Method::POST, "/companies", json!({"name": "Acme", "externalId": "acme"})).await;
        world
    }

    async fn put(&self, method: Method, path: &str, body: Value) {
        let (status, response) = self.server.send(method, path, None, &body).await;
        assert_eq!(status, StatusCode::OK, "{response}");
    }

    async fn keep_for(&self, days: impl Into<Value>) {
        let settings = json!({"activityRetentionDays": days.into()});
        self.put(Method::PUT, "/settings", settings).await;
    }

    /// The events of a day, whose number each has as its action.
    async fn track(&self, day: i64) {
        let event = |n| json!({"euExtId": format!("u{}", n % USERS), "cId": "acme", "action": day.to_string()});
        let events: Vec<_> = (0..EVENTS).map(event).collect();
        self.put(Method::POST, &format!("/analytics/bulk/{TENANT}"), json!(events)).await;
    }

    async fn pass(&mut self, ms: i64) {
        self.now = Timestamp::from_ms_clamped(self.now.as_ms() + ms);
        self.clock.set(self.now);
        self.server.clean_up().await.unwrap();
    }

    /// How many activities of each day a list has, over all of its pages.
    async fn listed(&self, path: &str) -> Vec<(String, usize)> {
        let mut days: Vec<(String, usize)> = Vec::new();
        let mut after = String::new();
        loop {
            let page = self.server.get(&format!("{path}{after}")).await;
            let page = page.as_array().unwrap();
            for activity in page {
                let day = activity["action"].as_str().unwrap();
                match days.last_mut().filter(|(last, _)| last == day) {
                    Some((_, count)) => *count += 1,
                    None => days.push((day.to_owned(), 1)),
                }
            }
            let Some(last) = page.last() else { return days };
            after = format!("&after={}", last["_id"].as_str().unwrap());
        }
    }

    /// Every list must have these days, newest first, and all that is stored must fit together.
    async fn check(&mut self, days: &[i64]) {
        for path in LISTS {
            let events = if path.contains("endUserId") { EVENTS / USERS } else { EVENTS };
            let expected: Vec<_> = days.iter().map(|day| (day.to_string(), events)).collect();
            assert_eq!(self.listed(path).await, expected, "{path}");
        }
        self.server.store.close();
        let found = verify_file(&self.disk, CACHE_BYTES).unwrap();
        assert!(found.is_sound(), "{found:?}");
        let (store_file, clock) = (Box::new(self.disk.clone()), self.clock.clone());
        self.server = Direct::open(store_file, clock, self.tokens.clone()).unwrap();
    }

    async fn beats(&self, path: &str) -> Value {
        self.server.get(path).await["beatsTotal"].clone()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn activities_older_than_the_retention_of_the_tenant_are_deleted_and_what_is_counted_stays() {
    let mut world = World::new().await;
    world.keep_for(KEPT_DAYS).await;
    for day in 0..=KEPT_DAYS {
        world.track(day).await;
        world.pass(DAY_MS).await;
    }
    // Those of day 0 are a day too old; those of day 1 are just as old as they may be.
    world.check(&[3, 2, 1]).await;
    world.pass(1_000).await;
    world.check(&[3, 2]).await;
    let all = json!(EVENTS * (KEPT_DAYS as usize + 1));
    assert_eq!(world.beats("/companies/extid-acme").await, all);
    assert_eq!(world.beats("/endusers/extid-u0").await, json!(all.as_u64().unwrap() / 5));

    world.track(9).await;
    world.check(&[9, 3, 2]).await;
    world.pass(100 * DAY_MS).await;
    world.check(&[]).await;
    world.track(10).await;
    world.check(&[10]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn activities_of_a_tenant_that_sets_nothing_are_retained_indefinitely() {
    let mut world = World::new().await;
    world.track(0).await;
    world.pass(10_000 * DAY_MS).await;
    world.check(&[0]).await;
    world.keep_for(1).await;
    world.keep_for(Value::Null).await;
    world.pass(10 * DAY_MS).await;
    world.check(&[0]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_person_can_be_erased_when_some_of_what_they_did_has_gone() {
    let mut world = World::new().await;
    world.keep_for(KEPT_DAYS).await;
    for day in 0..=KEPT_DAYS {
        world.track(day).await;
        world.pass(DAY_MS).await;
    }
    for user in 1..USERS {
        let path = format!("/endusers/extid-u{user}?erase=true");
        world.put(Method::DELETE, &path, Value::Null).await;
    }
    let of_one = EVENTS / USERS;
    let left: Vec<_> = [3, 2, 1].map(|day| (day.to_string(), of_one)).into();
    for path in LISTS {
        assert_eq!(world.listed(path).await, left, "{path}");
    }
    // The places that all of them leave go as well.
    world.put(Method::DELETE, "/endusers/extid-u0?erase=true", Value::Null).await;
    world.pass(100 * DAY_MS).await;
    world.check(&[]).await;
}
