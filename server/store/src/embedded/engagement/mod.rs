//! Engagement in redb. Recently changed rows are in a log ([`log`]), from which they are moved to the table.

mod log;
mod reading;
mod rows;
mod writing;

pub use self::rows::LogLimits;
pub(crate) use self::{
    log::is_aside,
    reading::{LogRead, SnapshotEngagement, SnapshotLog},
    rows::{EngagementCache, UncommittedChanges},
    writing::TransactionEngagement,
};
