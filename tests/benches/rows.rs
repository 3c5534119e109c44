//! Route 4: rows a second on disk, how that and what else is asked of events holds when there are millions
//! of them, and what they take.

use std::{fmt::Write as _, path::Path, time::Instant};

use hyper::Method;
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    process::{Server, command},
};

use crate::{
    data::{self, COMPANIES, USERS},
    disk,
    events::{self, Ids},
    folder,
    load::Load,
    raw::Raw,
    report::{Case, Report, Target},
};

const ROUNDS: usize = 3;
/// Rows of a body.
const BODIES: [usize; 2] = [1_000, 50_000];
/// Rows a second that must go through, of each.
const MIN_ROWS: [f64; 2] = [60_000.0, 150_000.0];
const ROUND_ROWS: usize = 100_000;
const ROW_BYTES: usize = 200;
/// Rows that the store has in a commit, and bytes of one in its log.
const COMMIT_ROWS: usize = 2_000;
const STORED_BYTES: usize = 200;
/// Events among which rates are compared.
const FEW: usize = 100_000;
const MANY: usize = 5_000_000;
/// What of the rate is left then.
const MIN_LEFT: f64 = 0.6;
/// Bytes that an event may take, with all by which it is found.
const MAX_EVENT_BYTES: f64 = 500.0;
/// Milliseconds that the activities of a user may take.
const ACTIVITIES_MS: f64 = 5.0;

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    load_people(&server.client).await;
    let empty = compacted(server, folder.path()).await;
    let server = Server::start(folder.path(), &token).await;
    let client = server.client.clone();
    let mut sender = Sender::new(&client);
    rates(report, folder.path(), &mut sender).await;
    let bytes = compacted(server, folder.path()).await - empty;
    let shown = format!("{} events, compacted", sender.sent);
    let sync = disk::sync_times(folder.path());
    let case = case("stored bytes of an event", &shown, 1, &sync);
    let each = bytes / sender.sent as f64;
    report.note(&case, "B", Target::Below(MAX_EVENT_BYTES), vec![each]);
    growth(report).await;
}

pub(crate) async fn load_people(client: &Client) {
    data::load(client, "/companies", COMPANIES, data::company).await;
    data::load(client, "/endusers", USERS, data::user).await;
}

/// Sends rows, each with a message id of its own that ascends with time.
pub(crate) struct Sender<'c> {
    client: &'c Client,
    sent: usize,
    row_bytes: usize,
}

impl<'c> Sender<'c> {
    pub(crate) fn new(client: &'c Client) -> Self {
        Self::of_rows(client, ROW_BYTES, 0)
    }

    /// A sender of rows of `row_bytes` bytes, which has sent some already.
    pub(crate) fn of_rows(client: &'c Client, row_bytes: usize, sent: usize) -> Self {
        Self { client, sent, row_bytes }
    }

    /// How many rows there are in the bodies that were created.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    pub(crate) fn body(&mut self, rows: usize) -> String {
        let mut body = String::with_capacity(rows * (self.row_bytes + 1) + 2);
        for _ in 0..rows {
            body.push(if body.is_empty() { '[' } else { ',' });
            let begin = body.len();
            let (user, number) = (data::scattered(self.sent, USERS), self.sent);
            write!(
                body,
                r#"{{"euExtId":"u{user}","cId":"c{}","action":"Opened report","count":1,"messageId":"019aa000-{:04x}-7{:03x}-8000-{:012x}","info":{{"note":""#,
                user % COMPANIES, number >> 24 & 0xffff, number >> 12 & 0xfff, number
            ).unwrap();
            let missing = (self.row_bytes - 3).saturating_sub(body.len() - begin);
            body.extend(std::iter::repeat_n('x', missing));
            body.push_str("\"}}");
            self.sent += 1;
        }
        body.push(']');
        body
    }

    /// Sends rows in a body of their own.
    pub(crate) async fn send_rows(&mut self, rows: usize) {
        let body = self.body(rows);
        self.send(body).await;
    }

    pub(crate) async fn send(&self, body: String) {
        let path = format!("/analytics/bulk/{TENANT}");
        let response = self.client.send(Method::POST, &path, &[], body).await.unwrap();
        assert_eq!(response.text(), "OK");
        assert!(!response.headers.contains_key("svctrack-rejected-count"));
    }

    /// Rows a second, sent one body after another.
    async fn round(&mut self, rows: usize, body_rows: usize) -> f64 {
        let mut seconds = 0.0;
        for _ in 0..rows / body_rows {
            let body = self.body(body_rows);
            let started = Instant::now();
            self.send(body).await;
            seconds += started.elapsed().as_secs_f64();
        }
        rows as f64 / seconds
    }
}

pub(crate) fn case<'c>(
    what: &'c str,
    baseline: &'c str,
    connections: usize,
    sync: &'c str,
) -> Case<'c> {
    let body = format!("{ROW_BYTES} B, {USERS} users, {COMPANIES} companies");
    Case { what, baseline, connections, body, durable: Some(sync) }
}

async fn rates(report: &mut Report, folder: &Path, sender: &mut Sender<'_>) {
    let mut raw = Raw::create(folder);
    for (body_rows, least) in BODIES.into_iter().zip(MIN_ROWS) {
        let sync = disk::sync_times(folder);
        let per_commit = body_rows.min(COMMIT_ROWS);
        let (mut rounds, mut raw_rounds) = (Vec::new(), Vec::new());
        for _ in 0..ROUNDS {
            rounds.push(sender.round(ROUND_ROWS, body_rows).await);
            raw_rounds.push(raw.round(ROUND_ROWS, per_commit, STORED_BYTES));
        }
        let what = format!("events, route 4, bodies of {body_rows} rows");
        let of_one = case(&what, "one sender, one body after another", 1, &sync);
        report.note(&of_one, "rows/s", Target::Above(least), rounds.clone());
        let alone = format!("redb alone, {per_commit} rows a commit");
        report.compare(&case(&what, &alone, 1, &sync), "rows/s", Target::None, rounds, raw_rounds);
    }
}

/// Rates among few and among many events, what the activities of a user take among many, and the bytes
/// of an event.
async fn growth(report: &mut Report) {
    let folder = folder();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    load_people(&server.client).await;
    let mut sender = Sender::new(&server.client);
    let script = events::write_script(folder.path());
    let url = format!("{}/analytics/{TENANT}", server.base);
    let sync = disk::sync_times(folder.path());
    let mut rates = Vec::new();
    for (seed, events) in [(8_000, FEW), (8_100, MANY)] {
        let missing = events - sender.sent.min(events);
        sender.round(missing, 50_000).await;
        let (mut rows, mut single) = (Vec::new(), Vec::new());
        for round in 0..ROUNDS {
            rows.push(sender.round(ROUND_ROWS, 50_000).await);
            let arguments = events::arguments(seed + round, Ids::Ascending, None, 512);
            let load = Load { connections: 512, token: None, script: Some((&script, &arguments)) };
            single.push(load.round(&url).await);
        }
        rates.push((rows, single));
    }
    let (many, few) = (rates.pop().unwrap(), rates.pop().unwrap());
    let few_name = format!("among {FEW}");
    let what = format!("events, route 4, among {MANY}");
    report.compare(
        &case(&what, &few_name, 1, &sync),
        "rows/s",
        Target::AtLeast(MIN_LEFT),
        many.0,
        few.0,
    );
    let what = format!("events, route 1, among {MANY}");
    report.compare(
        &case(&what, &few_name, 512, &sync),
        "events/s",
        Target::AtLeast(MIN_LEFT),
        many.1,
        few.1,
    );

    let mut times = Vec::new();
    for user in 0..100 {
        let started = Instant::now();
        let path = format!("/activities?endUserId=extid-u{}", user * 97);
        let response = server.client.get(&path).await;
        times.push(started.elapsed().as_secs_f64() * 1e3);
        assert_eq!(response.json().as_array().unwrap().len(), 100);
    }
    let what = format!("/activities of a user among {MANY}, 100 of them");
    report.note(&case(&what, "", 1, &sync), "ms", Target::Below(ACTIVITIES_MS), times);
    server.kill().await;
}

/// Stops a server, and rewrites its store; returns the bytes that it takes on disk.
async fn compacted(server: Server, folder: &Path) -> f64 {
    server.stop().await;
    let output = command(folder).args(["compact", "--data"]).arg(folder).output().await.unwrap();
    assert!(output.status.success(), "{output:?}");
    disk::used_bytes(&folder.join("svctrack.redb")) as f64
}
