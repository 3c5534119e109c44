//! Reads of a snapshot, on any engine.

pub(crate) mod activities_by_date;
pub(crate) mod as_of;
pub(crate) mod audit;
pub(crate) mod backup_writer;
pub(crate) mod bidirectional_scan;
pub(crate) mod closing_changes;
mod customer_usage;
pub(crate) mod dry_run;
pub(crate) mod ledgers;
pub(crate) mod license_reader;
pub(crate) mod list;
pub(crate) mod logs;
pub(crate) mod pager;
pub(crate) mod read;
pub(crate) mod revenue;
pub(crate) mod row_check;
pub(crate) mod scrub;
pub(crate) mod shared_snapshot;
pub(crate) mod usage;
pub(crate) mod versions;
pub(crate) mod written_reports;
