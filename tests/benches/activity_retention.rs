//! Activities that are older than their tenant keeps them: how fast they go, and what another tenant waits
//! for its events meanwhile.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Instant,
};

use hyper::StatusCode;
use serde_json::json;
use svctrack_core::value::{TenantId, Timestamp};
use svctrack_server::background_jobs;
use svctrack_store::{Clock, SystemClock};
use svctrack_tests::in_process::InProcess;

use crate::{
    disk,
    events::{self, Ids},
    fairness::{MAX_SLOWER, OTHER_CONNECTIONS, OTHER_RATE},
    folder,
    load::Load,
    report::{Report, Target},
    rows::{Sender, case, load_people},
};

/// Activities to remove: for some 20 s, longer than a round of concurrent load.
const EVENTS: usize = 300_000;
const DAY_MS: i64 = 24 * 60 * 60 * 1_000;
const ROUNDS: usize = 2;

/// A clock that can be put forward.
#[derive(Default)]
struct Forward(AtomicI64);

impl Clock for Forward {
    fn now(&self) -> Timestamp {
        let ms = SystemClock.now().as_ms() + self.0.load(Ordering::Relaxed);
        Timestamp::from_ms_clamped(ms)
    }
}

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let clock = Arc::new(Forward::default());
    let server = InProcess::in_folder(folder.path(), clock.clone()).await;
    load_people(&server.client).await;
    let settings = json!({"activityRetentionDays": 1});
    let json = [("content-type", "application/json")];
    let set = server.client.send(hyper::Method::PUT, "/settings", &json, settings.to_string());
    assert_eq!(set.await.unwrap().status, StatusCode::OK);
    let made = server.operator.post("/tenants", &json!({"name": "other"})).await.json();
    let other = TenantId::parse(made["_id"].as_str().unwrap()).unwrap();
    load_people(&server.client.with_token(made["token"]["token"].as_str().unwrap())).await;
    let script = events::write_script(folder.path());
    let url = format!("{}/analytics/{other}", server.base);
    let sync = disk::sync_times(folder.path());
    let mut sender = Sender::new(&server.client);
    let (mut rates, mut alone, mut beside) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..2 * ROUNDS {
        for _ in 0..EVENTS / 50_000 {
            sender.send_rows(50_000).await;
        }
        clock.0.fetch_add(2 * DAY_MS, Ordering::Relaxed);
        // Every second round goes alone, which says how fast it can be.
        if round % 2 == 0 {
            rates.push(EVENTS as f64 / sweep(&server).await);
            continue;
        }
        let arguments =
            events::arguments(9_000 + round, Ids::Ascending, Some(OTHER_RATE), OTHER_CONNECTIONS);
        let script = Some((script.as_path(), arguments.as_slice()));
        let load = Load { connections: OTHER_CONNECTIONS, token: None, script };
        alone.push(load.latencies(&url).await.p99_ms);
        let (found, _) = tokio::join!(load.latencies(&url), sweep(&server));
        beside.push(found.p99_ms);
    }
    let what = "activities that are kept no longer go";
    report.note(&case(what, "", 1, &sync), "rows/s", Target::None, rates);
    let what = "p99 of another tenant's events while 300,000 go";
    let case = case(what, "alone", OTHER_CONNECTIONS, &sync);
    report.compare(&case, "ms", Target::AtMost(MAX_SLOWER), beside, alone);
}

/// Seconds of a cleanup.
async fn sweep(server: &InProcess) -> f64 {
    let started = Instant::now();
    background_jobs::round(&server.store).await.unwrap();
    let seconds = started.elapsed().as_secs_f64();
    let left = server.client.get("/activities?limit=1").await;
    assert_eq!(left.json(), json!([]));
    seconds
}
