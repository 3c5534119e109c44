//! Backups on a schedule: how many are retained, in which order, and what `/health` says of them.

use std::{
    fs::{self, File},
    process::Stdio,
    time::{Duration, Instant},
};

use hyper::StatusCode;
use serde_json::{Value, json};
use svctrack_server::auth::Token;
use svctrack_tests::process::{FakeClock, PATIENCE, Server};

use crate::backup::{backups_in, data_folder, names_in, restore, text};

#[tokio::test(flavor = "multi_thread")]
async fn scheduled_backups_are_limited_to_their_number_and_health_names_the_newest() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let to = folder.path().join("kept");
    fs::create_dir(&to).unwrap();
    fs::write(to.join("notes.txt"), "mine").unwrap();
    fs::write(to.join("svctrack-x.unfinished"), "left").unwrap();
    let token = Token::generate().unwrap();
    let flags = ["--backup-every", "1s", "--backup-keep", "2", "--backup-to", text(&to)];
    let server = Server::start_with(&data, &token, &flags).await;
    server.client.post("/companies", &json!({"name": "Acme", "externalId": "acme"})).await;
    let mut seen = Vec::new();
    let started = Instant::now();
    while seen.len() < 4 {
        assert!(started.elapsed() < PATIENCE, "{seen:?}");
        let there = backups_in(&to);
        assert!(there.len() <= 3, "{there:?}");
        seen.extend(there.into_iter().filter(|name| !seen.contains(name)).collect::<Vec<_>>());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let health = server.client.get("/health").await.json();
    let newest = health["backup"]["at"].as_str().unwrap().replace(':', "-");
    assert!(seen.iter().any(|name| name.contains(&newest)), "{newest} is none of {seen:?}");
    assert_eq!(health["backup"]["failed"], 0);
    server.stop().await;
    let left = backups_in(&to);
    assert!((2..=3).contains(&left.len()) && left.last() >= seen.last(), "{left:?} of {seen:?}");
    assert!(names_in(&to).contains(&"notes.txt".to_owned()));
    assert!(!names_in(&to).contains(&"svctrack-x.unfinished".to_owned()));
    let elsewhere = folder.path().join("elsewhere");
    assert_eq!(restore(&to.join(left.last().unwrap()), &elsewhere).await.0, Some(0));
    let server = Server::start(&elsewhere, &token).await;
    assert_eq!(server.client.get("/companies/extid-acme").await.status, StatusCode::OK);
    assert_eq!(server.client.get("/health").await.json()["backup"], Value::Null);
    server.kill().await;
}

/// A time far ahead, as names of backups have it.
const AHEAD: &str = "svctrack-2120-01-01T00-00-00.000Z.backup.gz";

/// What `/health` says of backups, once it is as it is to be.
pub(crate) async fn health_of_backups(server: &Server, is_so: impl Fn(&Value) -> bool) -> Value {
    let started = Instant::now();
    loop {
        let health = server.client.get("/health").await.json()["backup"].take();
        if is_so(&health) {
            return health;
        }
        assert!(started.elapsed() < PATIENCE, "{health}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

fn name_in(health: &Value) -> String {
    format!("svctrack-{}.backup.gz", health["at"].as_str().unwrap_or_default().replace(':', "-"))
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_outlive_one_that_was_made_while_the_clock_was_ahead() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let to = folder.path().join("kept");
    let token = Token::generate().unwrap();
    let start = async |every: &str, keep: &str| {
        let flags = ["--backup-every", every, "--backup-keep", keep, "--backup-to", text(&to)];
        Server::start_with(&data, &token, &flags).await
    };
    let server = start("1h", "1").await;
    let made = health_of_backups(&server, |health| health["at"].is_string()).await;
    server.stop().await;
    fs::rename(to.join(name_in(&made)), to.join(AHEAD)).unwrap();

    let is_of_another = |health: &Value| health["at"].is_string() && name_in(health) != AHEAD;
    // One is created at once, since the time of the other is unknown, and is not removed as the older of both.
    let server = start("1h", "2").await;
    let made = health_of_backups(&server, is_of_another).await;
    assert!(to.join(name_in(&made)).exists(), "{made}");
    assert_eq!((&made["ahead"], &made["failed"]), (&json!(1), &json!(0)));
    server.stop().await;
    let mut expected = vec![name_in(&made), AHEAD.to_owned()];
    expected.sort();
    assert_eq!(backups_in(&to), expected);

    // The next replaces the one that was created first, whatever its name.
    let server = start("1s", "2").await;
    let next = health_of_backups(&server, |health| health["ahead"] == 0).await;
    server.stop().await;
    let left = backups_in(&to);
    assert!((2..=3).contains(&left.len()) && left.last() >= Some(&name_in(&next)), "{left:?}");
    assert!(!left.contains(&AHEAD.to_owned()), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_outlive_those_of_a_clock_that_was_a_year_ahead_when_they_were_made() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let to = folder.path().join("kept");
    let token = Token::generate().unwrap();
    let clock = FakeClock::in_file(folder.path().join("clock"), "+1y");
    let flags = ["--backup-every", "1s", "--backup-keep", "2", "--backup-to", text(&to)];
    let server = Server::start_with_clock(&data, &token, Stdio::inherit(), &clock, &flags).await;
    let ahead = health_of_backups(&server, |health| health["at"].is_string()).await;
    clock.set("+0");
    let at = |health: &Value| health["at"].as_str().map(str::to_owned);
    let mut before = at(&ahead);
    for _ in 0..4 {
        let made = health_of_backups(&server, |health| {
            at(health) < at(&ahead) && at(health) != before && health["failed"] == 0
        })
        .await;
        assert!(to.join(name_in(&made)).exists(), "{made}");
        before = at(&made);
    }
    let health = health_of_backups(&server, |health| health["ahead"] == 0).await;
    server.stop().await;
    let left = backups_in(&to);
    assert!((2..=3).contains(&left.len()) && left.last() >= Some(&name_in(&health)), "{left:?}");
    assert!(!left.contains(&name_in(&ahead)), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_cannot_be_written_leaves_the_store_alone_and_health_counts_it() {
    let folder = tempfile::tempdir().unwrap();
    let data = data_folder(&folder.path().join("data"));
    let (to, log) = (folder.path().join("kept"), folder.path().join("log"));
    let token = Token::generate().unwrap();
    let flags = ["--backup-every", "1s", "--backup-to", text(&to)];
    let log_file = File::create(&log).unwrap();
    let server = Server::start_with_log(&data, &token, &flags, log_file).await;
    let started = Instant::now();
    // A backup that is under way may write a file meanwhile.
    while fs::remove_dir_all(&to).is_err() {
        assert!(started.elapsed() < PATIENCE);
    }
    let fail_at_least =
        |health: &Value, count| health["failed"].as_u64().unwrap_or_default() >= count;
    let failed = health_of_backups(&server, |health| fail_at_least(health, 2)).await;
    assert!(!to.exists(), "a directory that is gone was created: its disk may not be mounted");
    fs::write(&to, "no folder").unwrap();
    let failed = failed["failed"].as_u64().unwrap();
    health_of_backups(&server, |health| fail_at_least(health, failed + 2)).await;
    assert_eq!(server.client.get("/health").await.json()["status"], "ok");
    server.kill().await;
    let log = fs::read_to_string(log).unwrap();
    let failed: Vec<&str> = log.lines().filter(|line| line.contains("backup failed")).collect();
    assert!(failed.iter().all(|line| line.contains(text(&to))), "{log}");
    // The first one may have been under way when its directory went.
    assert!(failed.iter().any(|line| line.contains("the directory is gone")), "{log}");
}
