//! A directory of backups that more than one store writes to: each retains its own.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::Value;
use svctrack_server::auth::Token;
use svctrack_tests::process::{PATIENCE, Server};

use crate::{backup::text, scheduled_backups::health_of_backups};

/// The backups in a folder, in the order of their names.
fn names_in(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap();
    let names = names.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|name| name.ends_with(".backup.gz")).collect();
    names.sort();
    names
}

/// A server on a store in `data`, which makes a backup each second and retains one.
async fn start(data: &Path, to: &Path, log: &Path) -> Server {
    fs::create_dir_all(data).unwrap();
    let flags = ["--backup-every", "1s", "--backup-keep", "1", "--backup-to", text(to)];
    let log = File::create(log).unwrap();
    Server::start_with_log(data, &Token::generate().unwrap(), &flags, log).await
}

/// Waits until a server has made two more backups than it found.
async fn makes_two(server: &Server) -> Value {
    let first = health_of_backups(server, |health| health["at"].is_string()).await;
    health_of_backups(server, |health| health["at"].is_string() && health["at"] != first["at"])
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn backups_of_a_new_store_push_none_of_another_one_out_of_their_directory() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { folder.path().join(name) };
    let (to, log) = (path("kept"), path("log"));
    let server = start(&path("good"), &to, &log).await;
    makes_two(&server).await;
    server.stop().await;
    let good = names_in(&to);
    assert!((1..=2).contains(&good.len()), "{good:?}");

    let server = start(&path("mistyped"), &to, &log).await;
    let health = makes_two(&server).await;
    assert_eq!(health["foreign"], good.len(), "{health}");
    server.stop().await;
    let left = names_in(&to);
    assert!(good.iter().all(|name| left.contains(name)), "{good:?} were there, {left:?} are left");
    assert!((1..=2).contains(&(left.len() - good.len())), "{left:?}");
    let said = fs::read_to_string(&log).unwrap();
    let said = said.lines().find(|line| line.contains("backups of another store"));
    assert!(said.is_some_and(|line| line.contains(text(&to))), "{said:?}");

    // The first store retains its own from where it was.
    let started = Instant::now();
    let server = start(&path("good"), &to, &log).await;
    while good.iter().any(|name| to.join(name).exists()) {
        assert!(started.elapsed() < PATIENCE, "{:?}", names_in(&to));
        tokio::time::sleep(std::time::Duration::from_millis(10)).await;
    }
    server.stop().await;
}
