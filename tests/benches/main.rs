//! Measures the server beside yardsticks in the same run: nginx for what is read, PostgreSQL and redb alone for
//! what is written, and a bare page for the script. A figure alone says more about the machine than about the
//! program, so rounds of both take turns, and what counts is the ratio of their medians.
//!
//! Arguments are names of parts to measure; without one, all of them are.

mod bulk;
mod data;
mod disk;
mod events;
mod fairness;
mod load;
mod memory;
mod nginx;
mod postgres;
mod process;
mod raw;
mod reads;
mod report;
mod retention;
mod rows;
mod scans;
mod script;
mod sizes;

use std::{fs, path::PathBuf};

use report::Report;
use svctrack_tests::project;
use tempfile::TempDir;

/// Where the data goes: on a disk on Debian, unlike `/tmp`, which may be in memory.
const DEFAULT_FOLDER: &str = "/var/tmp";

#[tokio::main]
async fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    let wants = |part: &str| wanted.is_empty() || wanted.iter().any(|name| name == part);
    let mut report = Report::default();
    if wants("bulk") {
        bulk::measure(&mut report).await;
    }
    if wants("reads") {
        reads::measure(&mut report).await;
    }
    if wants("scans") {
        scans::measure(&mut report).await;
    }
    if wants("events") {
        events::measure(&mut report).await;
    }
    if wants("rows") {
        rows::measure(&mut report).await;
    }
    if wants("fairness") {
        fairness::measure(&mut report).await;
    }
    if wants("retention") {
        retention::measure(&mut report).await;
    }
    if wants("memory") {
        memory::measure(&mut report).await;
    }
    if wants("sizes") {
        sizes::measure(&mut report).await;
    }
    if wants("script") {
        script::measure(&mut report).await;
    }
    let table = report.to_markdown();
    println!("{table}");
    fs::write(project().join("tests/bench.md"), table).unwrap();
}

/// A new folder on the disk that is measured; PostgreSQL, which runs as another user, can enter it.
fn folder() -> TempDir {
    let parent = std::env::var_os("BENCH_DIR").map_or_else(|| DEFAULT_FOLDER.into(), PathBuf::from);
    let folder = tempfile::Builder::new().prefix("svctrack-bench-").tempdir_in(parent).unwrap();
    disk::allow_entry(folder.path());
    assert_ne!(disk::file_system(folder.path()), "tmpfs", "set BENCH_DIR to a folder on a disk");
    folder
}
