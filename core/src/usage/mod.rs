//! Usage: who was active on which days, and what they did, counted from activities.
//!
//! Activities are gathered in a [`Tally`], by end user, quarter of an hour and action, and written as blocks of bytes
//! ([`Block`]), which a store holds and joins. A report reads blocks and what was not tallied yet into a [`Counting`],
//! which alone knows of days: those of any time zone, since no clock has differed from UTC by anything but whole
//! quarters of an hour since 1980. Passive activities count nowhere, as in the engagement of users (R37).

mod block;
mod calendar;
mod counting;
mod names;
mod presence;
mod report_days;
mod tally;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use self::{
    block::{Block, Entry, Malformed, UserPart},
    calendar::Calendar,
    counting::{ActionCounts, Counting, Counts, MAX_ACTIONS, Person},
    presence::{Cohort, Lifecycle, Presence, cohorts, lifecycles, trailing},
    report_days::Windows,
    tally::{Counted, Tally, quarter_begin},
};
