//! Usage: active users by day and their actions, counted from activities.
//!
//! Count activities with [`UsageTally`], store its [`Block`]s, and read them into a [`UsageCounting`]; a
//! [`UsageDays`](crate::revenue::UsageDays) makes a report of what it counts.
//!
//! Activities are counted in a [`UsageTally`] by end user, quarter of an hour and action, and written as [`Block`]s, which a
//! store keeps. A report reads blocks, and the activities after the last block, into a [`UsageCounting`]. Only a `UsageCounting`
//! knows days, of any time zone: since 1980 every zone's offset from UTC is a multiple of a quarter of an hour. Passive
//! activities do not count, as in the engagement of users (R37).

mod action_names;
mod active_users;
mod block;
mod calendar;
mod cohorts;
mod daily_counts;
mod presence;
mod report_days;
mod tally;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use self::{
    active_users::{Lifecycle, lifecycles, trailing},
    block::{Block, MalformedBlock, UsageEntry, UserPart},
    calendar::Calendar,
    cohorts::{Cohort, cohorts},
    daily_counts::{ActionCounts, MAX_ACTIONS, UsageCounting, UsageCounts, UserUsage},
    presence::Presence,
    report_days::Windows,
    tally::{CountedActivity, UsageTally, quarter_begin},
};
