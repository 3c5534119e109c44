//! Measures the server next to baselines in the same run: nginx for what is read, PostgreSQL and redb alone for what
//! is written, PostgreSQL for reports, and a bare page for the script. A figure alone says more about the machine than about the program, so
//! rounds of both take turns, and what counts is the ratio of their medians.
//!
//! Arguments are names of parts to measure; without one, all of them are.

mod activity_retention;
mod bulk;
mod crowd;
mod disk;
mod events;
mod fairness;
mod growth;
mod load;
mod memory;
mod nginx;
mod pages;
mod postgres;
mod process;
mod raw;
mod reads;
mod report;
mod reports;
mod reports_in_sql;
mod rows;
mod scans;
mod script;
mod slow;
mod store_sizes;
mod usage;

use std::{fs, path::PathBuf};

use report::Report;
use svctrack_tests::{data, project};
use tempfile::TempDir;

/// The allocator of the server, some of whose functions are measured alone.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Folder of the data: on a disk on Debian, unlike `/tmp`, which may be in memory.
const DEFAULT_FOLDER: &str = "/var/tmp";

/// The parts, in the order of their tables.
const PARTS: [&str; 15] = [
    "bulk",
    "reads",
    "scans",
    "reports",
    "growth",
    "usage",
    "pages",
    "events",
    "rows",
    "fairness",
    "crowd",
    "retention",
    "memory",
    "sizes",
    "script",
];

#[tokio::main]
async fn main() {
    let wanted: Vec<String> = std::env::args().skip(1).filter(|name| name != "--bench").collect();
    for part in PARTS {
        if wanted.is_empty() || wanted.iter().any(|name| name == part) {
            let mut report = Report::default();
            measure(part, &mut report).await;
            keep(part, &report.to_markdown());
        }
    }
    println!("{}", fs::read_to_string(project().join(TABLES)).unwrap());
}

async fn measure(part: &str, report: &mut Report) {
    match part {
        "bulk" => bulk::measure(report).await,
        "reads" => reads::measure(report).await,
        "scans" => scans::measure(report).await,
        "reports" => reports::measure(report).await,
        "growth" => growth::measure(report),
        "usage" => usage::measure(report).await,
        "pages" => pages::measure(report).await,
        "events" => events::measure(report).await,
        "rows" => rows::measure(report).await,
        "fairness" => fairness::measure(report).await,
        "crowd" => crowd::measure(report).await,
        "retention" => activity_retention::measure(report).await,
        "memory" => memory::measure(report).await,
        "sizes" => store_sizes::measure(report).await,
        "script" => script::measure(report).await,
        _ => unreachable!("{part} is not one of the parts"),
    }
}

/// The file with the tables.
const TABLES: &str = "tests/bench.md";

/// Keeps the table of a part, and those of the others as they were.
fn keep(part: &str, table: &str) {
    let path = project().join(TABLES);
    let known = fs::read_to_string(&path).unwrap_or_default();
    let table_of = |name: &str| match name == part {
        true => Some(table),
        false => known.split("\n## ").find_map(|section| section.strip_prefix(name)),
    };
    let sections = PARTS.iter().filter_map(|name| {
        let table = table_of(name)?.trim();
        Some(format!("\n## {name}\n\n{table}\n"))
    });
    fs::write(path, format!("# Benchmarks\n{}", sections.collect::<String>())).unwrap();
}

/// A new folder on the disk that is measured; PostgreSQL, which runs as another user, can enter it.
fn folder() -> TempDir {
    let parent = std::env::var_os("BENCH_DIR").map_or_else(|| DEFAULT_FOLDER.into(), PathBuf::from);
    let folder = tempfile::Builder::new().prefix("svctrack-bench-").tempdir_in(parent).unwrap();
    disk::allow_entry(folder.path());
    assert_ne!(disk::file_system(folder.path()), "tmpfs", "set BENCH_DIR to a folder on a disk");
    folder
}
