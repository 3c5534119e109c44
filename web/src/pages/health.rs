//! Health of the service: its store, its backups, its clock, and its version.

use hypertext::prelude::*;
use serde::Deserialize;

use super::{
    format::{grouped, instant},
    page,
    parts::{ColumnHead, badge, table},
    shell::{Shell, layout, title_bar},
};
use crate::page::Page;

/// The health of the service, as the API returns it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HealthReport {
    pub status: String,
    pub damaged: u64,
    pub checked: Option<Scrubbed>,
    pub clock: Option<ClockState>,
    pub backup: Option<BackupState>,
}

/// Last scrub of the stored data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Scrubbed {
    pub at: String,
    pub rows: u64,
    pub damaged: u64,
}

/// Difference of the clock from the stored times.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClockState {
    pub behind_seconds: i64,
    pub ahead_seconds: i64,
    pub held_seconds: i64,
}

/// The state of scheduled backups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct BackupState {
    pub at: Option<String>,
    pub failed: u32,
    pub ahead: u64,
    pub foreign: u64,
}

/// The page of health.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HealthView {
    pub health: HealthReport,
    pub version: &'static str,
    pub public_url: String,
    /// Whether the user may download a backup.
    pub may_back_up: bool,
    /// Current rates of requests, for users who may see all tenants.
    pub requests: Option<RequestRates>,
    /// Requests since the start by group of routes, for the same users.
    pub groups: Vec<RouteGroup>,
    pub sizes: Option<StoreSizes>,
    /// Tables of the store with the number of their rows, for the same users; none where they cannot be read.
    pub tables: Vec<(&'static str, u64)>,
}

/// Sizes of the store and of the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StoreSizes {
    pub file_bytes: u64,
    /// Free space on the disk of the store, where it is known.
    pub free_bytes: Option<u64>,
    pub memory_bytes: Option<u64>,
}

/// Requests of a group of routes since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RouteGroup {
    pub label: &'static str,
    pub requests: u64,
    /// Requests with a status of 500 and above.
    pub failed: u64,
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
}

/// Requests of the last seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestRates {
    /// Number of seconds that the rates are about.
    pub seconds: u64,
    pub requests: u64,
    /// Requests with a status of 500 and above.
    pub failed: u64,
    /// The time within which half of the responses began, and 99 of 100, in microseconds.
    pub p50_us: Option<u64>,
    pub p99_us: Option<u64>,
}

pub fn health_page(shell: &Shell, view: &HealthView) -> Page {
    let health = &view.health;
    let actions = maud! {
        @if view.may_back_up { a.button href="/app/backup" download { "Download a backup" } }
    };
    let main = maud! {
        (title_bar("Health", &actions))
        dl.properties {
            dt { "Store" }
            dd { (badge(&health.status)) " " (meaning(&health.status)) }
            @if let Some(requests) = &view.requests {
                dt { "Requests" }
                dd { (rates(requests)) }
                dt { "Response time" }
                dd { (times(requests)) }
            }
            @if let Some(sizes) = &view.sizes { (size_list(sizes)) }
            dt { "Corrupted data" }
            dd { (corruption(health)) }
            dt { "Last scrub" }
            dd { (scrub(health.checked.as_ref())) }
            dt { "Clock" }
            dd { (clock(health.clock.as_ref())) }
            dt { "Backups" }
            dd { (backups(health.backup.as_ref())) }
            dt { "Version" }
            dd { (view.version) }
            dt { "Address" }
            dd { code { (view.public_url) } }
        }
        @if !view.groups.is_empty() {
            h2 { "Requests since the start" }
            (groups(&view.groups))
        }
        @if !view.tables.is_empty() {
            h2 { "Rows of the store" }
            (tables(&view.tables))
            p.muted { "Of all tenants. " a href="/docs/storage" { "Storage" } " describes each table." }
        }
        p { a href="/docs/operations" { "Operations" } " says what to do when something fails." }
    };
    page(layout(shell, "Health", main))
}

fn size_list(sizes: &StoreSizes) -> impl Renderable {
    let known = [
        ("Store file", Some(sizes.file_bytes)),
        ("Free disk space", sizes.free_bytes),
        ("Memory", sizes.memory_bytes),
    ];
    maud! {
        @for (label, bytes) in known {
            @if let Some(bytes) = bytes {
                dt { (label) }
                dd { (size(bytes)) }
            }
        }
    }
}

/// Bytes in the unit that has three digits at most before the point.
fn size(bytes: u64) -> String {
    let units = ["kB", "MB", "GB", "TB"];
    let mut tenths = bytes / 100;
    for unit in units {
        if tenths < 10_000 || unit == "TB" {
            return format!("{} {unit}", tenth(tenths));
        }
        tenths /= 1_000;
    }
    String::new()
}

fn groups(groups: &[RouteGroup]) -> impl Renderable {
    let bound = |us: Option<u64>| us.map(ms).unwrap_or_default();
    let rows = maud! {
        tbody {
            @for group in groups {
                tr {
                    th scope="row" { (group.label) }
                    td.num { (grouped(&group.requests.to_string())) }
                    td.num { (grouped(&group.failed.to_string())) }
                    td.num { (bound(group.p50_us)) }
                    td.num { (bound(group.p99_us)) }
                }
            }
        }
    };
    let heads = ["Requests", "Failed", "p50 at most", "p99 at most"].map(ColumnHead::Number);
    table("Requests since the start", [ColumnHead::Text("Group")].into_iter().chain(heads), rows)
}

/// Tables that have rows, the largest first.
fn tables(tables: &[(&'static str, u64)]) -> impl Renderable {
    let mut tables: Vec<_> = tables.iter().filter(|(_, rows)| *rows > 0).collect();
    tables.sort_by_key(|(_, rows)| std::cmp::Reverse(*rows));
    let rows = maud! {
        tbody.of-store {
            @for (name, rows) in &tables {
                tr {
                    th scope="row" { code { (name) } }
                    td.num { (grouped(&rows.to_string())) }
                }
            }
        }
    };
    table("Rows of the store", [ColumnHead::Text("Table"), ColumnHead::Number("Rows")], rows)
}

fn rates(requests: &RequestRates) -> impl Renderable {
    let tenths = requests.requests.saturating_mul(10) / requests.seconds.max(1);
    let per_mille = (requests.failed.saturating_mul(1_000)).checked_div(requests.requests);
    let failed = tenth(per_mille.unwrap_or(0));
    maud! {
        (tenth(tenths)) " per second in the last " (requests.seconds) " s; "
        @if requests.failed == 0 { "none failed." } @else { strong.bad { (failed) " % failed." } }
    }
}

fn times(requests: &RequestRates) -> impl Renderable {
    maud! {
        @match (requests.p50_us, requests.p99_us) {
            (Some(p50), Some(p99)) => { "p50 at most " (ms(p50)) ", p99 at most " (ms(p99)) "." }
            _ => span.muted { "No requests." }
        }
    }
}

/// A number of tenths.
fn tenth(tenths: u64) -> String {
    format!("{}.{}", grouped(&(tenths / 10).to_string()), tenths % 10)
}

/// Milliseconds of microseconds, which are a bound of a range.
fn ms(us: u64) -> String {
    match us % 1_000 {
        0 => format!("{} ms", us / 1_000),
        rest => format!("{}.{} ms", us / 1_000, format!("{rest:03}").trim_end_matches('0')),
    }
}

fn meaning(status: &str) -> &'static str {
    match status {
        "ok" => "Reads and writes work.",
        "read_only" => "Reads work. Writes are rejected until the disk accepts them.",
        "recovering" => "The store reopens its file after an error.",
        "stalled" => "The disk does not respond, and a write is waiting for it.",
        "stopped" => "The store has stopped.",
        _ => "",
    }
}

fn corruption(health: &HealthReport) -> impl Renderable {
    let damaged = health.damaged;
    maud! {
        @if damaged == 0 {
            "None since the start."
        } @else {
            strong.bad { "Found " (damaged) " times since the start." } " Restore a backup."
        }
    }
}

fn scrub(checked: Option<&Scrubbed>) -> impl Renderable {
    maud! {
        @match checked {
            Some(scrub) => {
                (instant(&scrub.at)) ": "
                (grouped(&scrub.rows.to_string())) " rows read, "
                @if scrub.damaged == 0 { "none corrupted." } @else { strong.bad { (scrub.damaged) " corrupted." } }
            }
            None => span.muted { "None since the start." }
        }
    }
}

fn clock(clock: Option<&ClockState>) -> impl Renderable {
    maud! {
        @match clock {
            None => "The clock agrees with stored times."
            Some(clock) => {
                strong.bad {
                    @if clock.behind_seconds > 0 {
                        "The clock is " (clock.behind_seconds) " seconds behind the newest data."
                    } @else {
                        "The clock is " (clock.ahead_seconds) " seconds ahead; retention follows it in "
                        (clock.held_seconds) " seconds."
                    }
                }
                " Correct the machine's clock."
            }
        }
    }
}

fn backups(backup: Option<&BackupState>) -> impl Renderable {
    maud! {
        @match backup {
            None => span.muted { "Not scheduled: start the server with " code { "--backup-every 6h" } "." }
            Some(backup) => {
                @match &backup.at {
                    Some(at) => { "The newest one is from " (instant(at)) "." }
                    None => strong { "No backup yet." }
                }
                @if backup.failed > 0 { " " strong.bad { (backup.failed) " failed since." } }
                @if backup.ahead > 0 { " " strong.bad { (backup.ahead) " are dated later than the clock." } }
                @if backup.foreign > 0 { " " (backup.foreign) " in the directory belong to another store and are never deleted." }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_is_in_its_unit() {
        let sizes = [0, 999_999, 1_000_000, 12_345_678_901, 2_000_000_000_000_000].map(size);
        assert_eq!(sizes, ["0.0 kB", "999.9 kB", "1.0 MB", "12.3 GB", "2,000.0 TB"]);
    }

    #[test]
    fn rates_and_times_are_written_for_people() {
        let rates = |requests, failed| {
            let requests =
                RequestRates { seconds: 60, requests, failed, ..RequestRates::default() };
            self::rates(&requests).render().into_inner()
        };
        assert_eq!(rates(0, 0), "0.0 per second in the last 60 s; none failed.");
        assert_eq!(rates(90_000, 0), "1,500.0 per second in the last 60 s; none failed.");
        assert!(rates(1_000, 15).contains("16.6 per second") && rates(1_000, 15).contains("1.5 %"));
        assert_eq!(
            [100, 1_000, 2_500, 10_000_000].map(ms),
            ["0.1 ms", "1 ms", "2.5 ms", "10000 ms"]
        );
    }
}
