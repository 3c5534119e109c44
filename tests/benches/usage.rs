//! Reports of usage over the activities of a year: the first one after a start, those that were not requested before,
//! and those that were.

use std::{
    fmt::Write as _,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use hyper::Method;
use svctrack_core::value::{Timestamp, time::DAY_MS};
use svctrack_server::auth::Token;
use svctrack_tests::{
    TENANT,
    client::Client,
    data::{COMPANIES, USERS, scattered},
    process::Server,
};

use crate::{
    folder,
    report::{Case, Report, Target},
    rows::load_people,
};

const ACTIVITIES: usize = 5_000_000;
const ACTIONS: usize = 12;
/// Rows of a bulk body.
const BODY_ROWS: usize = 50_000;
/// Days over which the activities are spread, the last of them today.
const DAYS: usize = 364;
const ROUNDS: usize = 12;
const INTERVALS: [&str; 3] = ["month", "week", "day"];
/// Milliseconds that a report may take after a start, one that is new, and one that nothing has changed.
const FIRST_MS: f64 = 150.0;
const NEW_MS: f64 = 50.0;
const UNCHANGED_MS: f64 = 20.0;

pub(crate) async fn measure(report: &mut Report) {
    let folder = folder();
    let token = Token::generate().unwrap();
    let server = Server::start(folder.path(), &token).await;
    load_people(&server.client).await;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis();
    let end = Timestamp::from_ms(i64::try_from(now).unwrap()).unwrap();
    for begin in (0..ACTIVITIES).step_by(BODY_ROWS) {
        send(&server.client, body(begin, end)).await;
    }
    server.stop().await;
    for interval in INTERVALS {
        let server = Server::start(folder.path(), &token).await;
        let ask = async |round: usize| {
            let from = Timestamp::from_ms(end.as_ms() - days_ms(DAYS - round)).unwrap().to_string();
            let to = Timestamp::from_ms(end.as_ms() + DAY_MS).unwrap().to_string();
            let path =
                format!("/reports/usage?from={}&to={}&interval={interval}", &from[..10], &to[..10]);
            let started = Instant::now();
            let response = server.client.get(&path).await;
            let ms = started.elapsed().as_secs_f64() * 1e3;
            assert_eq!(response.status, 200, "{}", response.text());
            ms
        };
        let first = vec![ask(0).await];
        let (mut new, mut unchanged) = (Vec::new(), Vec::new());
        for round in 1..=ROUNDS {
            new.push(ask(round).await);
            unchanged.push(ask(round).await);
        }
        let mut note = |what: &str, limit, times| {
            report.note(&case(&format!("usage by {interval}, {what}")), "ms", limit, times);
        };
        note("the first report after a start", Target::Below(FIRST_MS), first);
        note("a new report", Target::Below(NEW_MS), new);
        note("the same report again", Target::Below(UNCHANGED_MS), unchanged);
        server.kill().await;
    }
}

fn days_ms(days: usize) -> i64 {
    i64::try_from(days).unwrap() * DAY_MS
}

fn case(what: &str) -> Case<'_> {
    let body = format!("{ACTIVITIES} activities of {DAYS} days, {USERS} users");
    Case { what, baseline: "", connections: 1, body, durable: None }
}

/// Rows of a body, from a number on: their times ascend.
fn body(begin: usize, end: Timestamp) -> String {
    let mut body = String::from("[");
    for number in begin..begin + BODY_ROWS {
        let (user, action) = (scattered(number, USERS), scattered(number + 1, ACTIONS));
        let ago = days_ms(DAYS) / i64::try_from(ACTIVITIES).unwrap();
        let ago = ago * i64::try_from(ACTIVITIES - number).unwrap();
        let date = Timestamp::from_ms(end.as_ms() - ago).unwrap();
        let comma = if number == begin { "" } else { "," };
        write!(
            body,
            r#"{comma}{{"euExtId":"u{user}","cId":"c{}","action":"Action {action}","date":"{date}"}}"#,
            user % COMPANIES
        )
        .unwrap();
    }
    body.push(']');
    body
}

async fn send(client: &Client, body: String) {
    let path = format!("/analytics/bulk/{TENANT}");
    let response = client.send(Method::POST, &path, &[], body).await.unwrap();
    assert_eq!(response.text(), "OK");
    assert!(!response.headers.contains_key("svctrack-rejected-count"));
}
