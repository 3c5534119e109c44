//! The writer's view of engagement between transactions: the state after the last commit.
//!
//! Rows of the log are moved to the table bit by bit. When some thousands have gathered, their owners are sorted; from
//! then on each commit moves some of these rows to the table, and skips those that were logged again in the meantime.
//! When all are moved, their log entries are removed, and the next round begins with the later ones.
//!
//! Invariant: the owners of all rows in the log are known.

use std::{collections::HashMap, ops::Range};

use foldhash::fast::RandomState;

use super::log::EngagementLog;
use crate::{
    StoreError,
    embedded::tables::snapshot::RedbSnapshot,
    rows::engagement::{EngagementOwner, EngagementRow},
};

/// Limits at which rows go to the log, and leave it.
#[derive(Clone, Copy, Debug)]
pub struct LogLimits {
    /// Fewest rows of a transaction that are logged: fewer do not save pages.
    pub min_logged: usize,
    /// Number of logged rows from which on they are sorted and folded, so that as many as possible share a page: the
    /// log has up to twice as many, which take some 10 MB of memory, and which a start reads.
    pub fold_from: usize,
    /// Fewest rows that a transaction folds: more adjacent rows share a page.
    pub min_folded: usize,
    /// Maximum number of rows that the writer caches besides those of the log: some 10 MB, and 50 MB if all had events
    /// of many days.
    pub at_hand: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self { min_logged: 16, fold_from: 16_384, min_folded: 512, at_hand: 20_000 }
    }
}

/// State that committed transactions leave to the next one.
#[derive(Debug, Default)]
pub(crate) struct EngagementCache {
    pub(crate) known: HashMap<EngagementOwner, EngagementRow, RandomState>,
    pub(crate) log: LogState,
    /// Owners of the rows to fold, in the reverse order of their keys.
    pub(crate) folding: Vec<EngagementOwner>,
    pub(crate) limits: LogLimits,
    /// Number of cached rows from which on those that are not in the log are dropped.
    forgets_from: usize,
    /// Number of the running transaction.
    pub(crate) transaction: u64,
    /// Rows that the transaction has touched or erased, in their earlier state.
    pub(crate) undo: Vec<(EngagementOwner, Option<EngagementRow>)>,
    /// Whether the transaction has erased a person with a row in the log.
    pub(crate) is_log_erased: bool,
    /// Whether the log is corrupted, and begins again.
    pub(crate) is_log_corrupted: bool,
    /// Whether something was found corrupted, so that each row of the table is checked before a row is folded into it.
    pub(crate) is_wary: bool,
    /// Whether the log was read since the last commit.
    is_looked_at: bool,
}

/// State of the log and of the folding of its rows.
#[derive(Clone, Debug, Default)]
pub(crate) struct LogState {
    /// Entries in the log. Their numbers are never reused, since readers would take them for earlier ones.
    pub(crate) entries: Range<u64>,
    /// Number of rows that are left to fold.
    pub(crate) left: usize,
    /// The entries before this one are removed when no row is left to fold.
    pub(crate) folded_until: u64,
    /// Rows that were logged since the last sorting.
    pub(crate) since: usize,
    /// Rows to fold for those that were logged.
    pub(crate) owed: usize,
}

/// Further changes of a transaction, which count when it is committed.
pub(crate) struct UncommittedChanges {
    pub(crate) folded: Vec<EngagementOwner>,
    /// Owners whose row could not be folded, each with the number of its new entry.
    pub(crate) logged_again: Vec<(EngagementOwner, u64)>,
    /// The first entry of a log that was written again.
    pub(crate) anew_from: Option<u64>,
    /// The owners of the rows to fold from now on.
    pub(crate) folding: Option<Vec<EngagementOwner>>,
    pub(crate) log: LogState,
}

impl UncommittedChanges {
    /// Starts to fold the rows of some owners; once they are folded, the entries before `until` are removed.
    pub(crate) fn fold_from_now_on(&mut self, mut owners: Vec<EngagementOwner>, until: u64) {
        owners.sort_unstable_by(|one, other| other.cmp(one));
        (self.log.left, self.log.since, self.log.folded_until) = (owners.len(), 0, until);
        self.folding = Some(owners);
    }
}

impl EngagementCache {
    /// Rows and log as the store has them.
    pub(crate) fn read(snapshot: &RedbSnapshot, limits: LogLimits) -> Result<Self, StoreError> {
        let mut rows = Self { limits, forgets_from: limits.at_hand, ..Self::default() };
        let Some(log) = EngagementLog::in_snapshot(snapshot)? else { return Ok(rows) };
        let numbers = match log.numbers() {
            Err(StoreError::Corrupted { cause, .. }) => {
                tracing::error!(cause, "engagement log corrupted");
                rows.is_log_corrupted = true;
                return Ok(rows);
            }
            numbers => numbers?,
        };
        let Some(numbers) = numbers else { return Ok(rows) };
        rows.log.entries = *numbers.start()..*numbers.end() + 1;
        rows.is_log_corrupted = !log.is_whole(rows.log.entries.clone());
        log.read(numbers, |number, owner, row| {
            let row =
                EngagementRow { entry: Some(number), is_logged: true, is_unproven: true, ..row };
            rows.known.insert(owner, row);
        })?;
        rows.log.since = rows.known.len();
        rows.forgets_from += rows.known.len();
        Ok(rows)
    }

    /// Checks whether the log is the reason for which the gathered changes could not be written.
    pub(crate) fn look_at_log(&mut self, snapshot: &RedbSnapshot) -> Result<(), StoreError> {
        self.is_wary = true;
        if std::mem::replace(&mut self.is_looked_at, true) {
            return Ok(());
        }
        let log = EngagementLog::in_snapshot(snapshot)?;
        self.is_log_corrupted = log.is_some_and(|log| !log.is_whole(self.log.entries.clone()));
        Ok(())
    }

    /// Begins a transaction. The changes of an earlier one that was not committed are undone.
    pub(crate) fn begin(&mut self) {
        for (owner, before) in self.undo.drain(..).rev() {
            match before {
                Some(row) => self.known.insert(owner, row),
                None => self.known.remove(&owner),
            };
        }
        self.is_log_erased = false;
        self.transaction += 1;
    }

    /// Applies the changes of a transaction that is committed.
    pub(crate) fn commit(&mut self, changes: UncommittedChanges) {
        let UncommittedChanges { folded, logged_again, anew_from, folding, log } = changes;
        self.undo.clear();
        self.is_looked_at = false;
        if let Some(first) = anew_from {
            for row in self.known.values_mut() {
                let is_older = row.entry.is_some_and(|entry| entry < first);
                row.entry = if is_older { row.is_logged.then_some(first) } else { row.entry };
            }
            self.is_log_corrupted = false;
        }
        for owner in folded {
            if let Some(row) = self.known.get_mut(&owner) {
                (row.is_logged, row.is_unproven) = (false, false);
            }
        }
        for (owner, number) in logged_again {
            if let Some(row) = self.known.get_mut(&owner) {
                row.entry = Some(number);
            }
        }
        self.folding = folding.unwrap_or_else(|| std::mem::take(&mut self.folding));
        self.folding.truncate(log.left);
        self.log = log;
        if self.known.len() >= self.forgets_from {
            let first = self.log.entries.start;
            self.known.retain(|_, row| row.entry.is_some_and(|entry| entry >= first));
            self.forgets_from = self.known.len() + self.limits.at_hand;
        }
    }

    /// Owners whose newest row is in the log alone, except those whom the transaction has touched.
    pub(crate) fn logged(&self) -> Vec<EngagementOwner> {
        let is_logged = |row: &EngagementRow| row.is_logged && row.touched_in != self.transaction;
        self.known.iter().filter(|(_, row)| is_logged(row)).map(|(owner, _)| *owner).collect()
    }

    /// Whether the log has a state of a row, even an older one.
    pub(crate) fn is_in_log(&self, row: &EngagementRow) -> bool {
        row.entry.is_some_and(|entry| entry >= self.log.entries.start)
    }
}
