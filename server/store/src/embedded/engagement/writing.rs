//! Engagement in a transaction: each row is read once and written once, however many events change it.
//!
//! Rows are written to the log ([`super::log`]), unless they are few, or from a bulk call, which has enough rows to
//! fill pages of the table. Changes of the writer's view ([`super::rows`]) apply only after the commit.

use std::collections::hash_map;

use redb::{TableError, WriteTransaction};
use svctrack_core::value::TenantId;

use super::{
    log::EngagementLog,
    rows::{EngagementCache, LogState, UncommittedChanges},
};
use crate::{
    StoreError,
    embedded::{file::corruption, tables::redb_table::WriteTable},
    rows::{
        ENGAGEMENT, WriteRows as _,
        engagement::{
            EngagementOwner, EngagementRow, ReadRows, WriteEngagement, key_of, load, seal,
        },
    },
};

/// Rows that are folded for each logged row, so that folding ends long before there are as many rows again.
const FOLDED_FOR_EACH: usize = 2;

pub(crate) struct TransactionEngagement<'t> {
    table: WriteTable<'t>,
    log: EngagementLog<WriteTable<'t>>,
    rows: &'t mut EngagementCache,
}

impl<'t> TransactionEngagement<'t> {
    pub(crate) fn open(
        transaction: &'t WriteTransaction,
        rows: &'t mut EngagementCache,
    ) -> Result<Self, TableError> {
        rows.begin();
        let log = match rows.is_log_corrupted {
            true => EngagementLog::recreate(transaction)?,
            false => EngagementLog::on_first_use(transaction),
        };
        let table = WriteTable::on_first_use(transaction, ENGAGEMENT);
        Ok(Self { table, log, rows })
    }

    /// Drops the row of an owner who is removed; the log is rewritten without it.
    fn forget(&mut self, owner: EngagementOwner) {
        if let Some(row) = self.rows.known.remove(&owner) {
            self.rows.is_log_erased |= self.rows.is_in_log(&row);
            // A row that this transaction has touched is in `undo` already, as it was before.
            if row.touched_in != self.rows.transaction {
                self.rows.undo.push((owner, Some(row)));
            }
        }
    }

    /// Number of rows to write.
    pub(crate) fn touched(&self) -> usize {
        self.rows.undo.len()
    }

    /// Writes the rows that were touched.
    pub(crate) fn write(mut self) -> Result<UncommittedChanges, StoreError> {
        if self.touched() < self.rows.limits.min_logged {
            return self.write_in_place();
        }
        let mut changes = self.begin()?;
        let own = changes.log.entries.end;
        let mut adding = self.log.begin(own);
        let EngagementCache { known, undo, .. } = &mut *self.rows;
        for (owner, _) in undo {
            if let Some(row) = known.get_mut(owner) {
                row.changes += 1;
                row.is_logged = true;
                row.entry = Some(adding.add(*owner, row)?);
            }
        }
        changes.log.entries.end = adding.end()?;
        changes.log.since += self.touched();
        self.fold(&mut changes, own)?;
        Ok(changes)
    }

    /// Writes the rows that were touched into the table: for so few, the log saves nothing.
    pub(crate) fn write_in_place(mut self) -> Result<UncommittedChanges, StoreError> {
        let changes = self.begin()?;
        let EngagementCache { known, undo, .. } = &mut *self.rows;
        let mut touched: Vec<_> = undo.iter().map(|(owner, _)| *owner).collect();
        // Rows are written faster in the order of their keys.
        touched.sort_unstable();
        for owner in touched {
            if let Some(row) = known.get_mut(&owner) {
                row.changes += 1;
                row.is_logged = false;
                put(&mut self.table, owner, row)?;
            }
        }
        Ok(changes)
    }

    /// Rewrites the log where it is corrupted, or has rows of erased owners. Rows that this transaction has touched are
    /// still to be written.
    fn begin(&mut self) -> Result<UncommittedChanges, StoreError> {
        let rows = &*self.rows;
        let mut changes = UncommittedChanges {
            folded: Vec::new(),
            logged_again: Vec::new(),
            anew_from: None,
            folding: None,
            log: rows.log.clone(),
        };
        if !rows.is_log_corrupted && !rows.is_log_erased {
            return Ok(changes);
        }
        let logged = rows.logged();
        let first = rows.log.entries.end;
        let mut adding = self.log.begin(first);
        for owner in &logged {
            if let Some(row) = rows.known.get(owner) {
                adding.add(*owner, row)?;
            }
        }
        let entries = first..adding.end()?;
        if !rows.is_log_corrupted {
            self.log.remove(rows.log.entries.clone())?;
        }
        changes.anew_from = Some(first);
        changes.log =
            LogState { entries, since: logged.len(), owed: rows.log.owed, ..LogState::default() };
        // Repeated erasures must not keep other rows from being folded.
        if rows.log.left > 0 {
            let until = changes.log.entries.end;
            changes.fold_from_now_on(logged, until);
        }
        Ok(changes)
    }

    /// Folds rows of the log into the table, if there are enough of them. The entries of this transaction begin with
    /// `own`.
    fn fold(&mut self, changes: &mut UncommittedChanges, own: u64) -> Result<(), StoreError> {
        let touched = self.touched();
        if changes.log.left == 0 {
            if changes.log.since < self.rows.limits.fold_from {
                return Ok(());
            }
            // Rows of this transaction are folded with the next ones.
            changes.fold_from_now_on(self.rows.logged(), own);
            changes.log.since = touched;
        } else {
            changes.log.owed += touched * FOLDED_FOR_EACH;
            if changes.log.owed < self.rows.limits.min_folded {
                return Ok(());
            }
            self.fold_some(changes)?;
        }
        if changes.log.left == 0 {
            let until = changes.log.folded_until;
            self.log.remove(changes.log.entries.start..until)?;
            changes.log.entries.start = until;
        }
        Ok(())
    }

    fn fold_some(&mut self, changes: &mut UncommittedChanges) -> Result<(), StoreError> {
        let ordered = changes.folding.take();
        let left = &mut changes.log.left;
        let some = *left - std::mem::take(&mut changes.log.owed).min(*left)..*left;
        *left = some.start;
        for number in some.rev() {
            let folding = ordered.as_ref().unwrap_or(&self.rows.folding);
            if let Some(owner) = folding.get(number) {
                self.fold_one(*owner, changes)?;
            }
        }
        changes.folding = ordered;
        self.log_again(changes)
    }

    /// Writes the row of an owner into the table, unless it was logged again since.
    fn fold_one(
        &mut self,
        owner: EngagementOwner,
        changes: &mut UncommittedChanges,
    ) -> Result<(), StoreError> {
        let Some(row) = self.rows.known.get(&owner) else { return Ok(()) };
        let is_before = row.entry.is_some_and(|entry| entry < changes.log.folded_until);
        if !row.is_logged || !is_before || row.touched_in == self.rows.transaction {
            return Ok(());
        }
        if self.rows.is_wary || row.is_unproven {
            match corruption::contained(|| load(&self.table, owner)) {
                // Where the stored row is corrupted, the new one stays in the log.
                Err(StoreError::Corrupted { .. }) => {
                    changes.logged_again.push((owner, 0));
                    return Ok(());
                }
                stored => {
                    if stored?.is_some_and(|stored| stored.changes > row.changes) {
                        // The stored row is newer: it is read again.
                        self.row(owner)?;
                        return Ok(());
                    }
                }
            }
        }
        put(&mut self.table, owner, row)?;
        changes.folded.push(owner);
        Ok(())
    }

    /// Adds rows to the log again that could not be folded.
    fn log_again(&mut self, changes: &mut UncommittedChanges) -> Result<(), StoreError> {
        let mut adding = self.log.begin(changes.log.entries.end);
        for (owner, number) in &mut changes.logged_again {
            if let Some(row) = self.rows.known.get(owner) {
                *number = adding.add(*owner, row)?;
            }
        }
        changes.log.entries.end = adding.end()?;
        changes.log.since += changes.logged_again.len();
        Ok(())
    }
}

impl<'t> WriteEngagement for TransactionEngagement<'t> {
    type Table = WriteTable<'t>;

    fn row(&mut self, owner: EngagementOwner) -> Result<&mut EngagementRow, StoreError> {
        let EngagementCache { known, undo, transaction, .. } = &mut *self.rows;
        let row = match known.entry(owner) {
            hash_map::Entry::Occupied(known) => {
                let row = known.into_mut();
                if row.touched_in == *transaction {
                    return Ok(row);
                }
                let later = later_of_table(row, owner, &self.table)?;
                undo.push((owner, Some(row.clone())));
                if let Some(later) = later {
                    *row = later;
                }
                row
            }
            hash_map::Entry::Vacant(new) => {
                let row = load(&self.table, owner)?.unwrap_or_default();
                undo.push((owner, None));
                new.insert(row)
            }
        };
        (row.touched_in, row.is_unproven) = (*transaction, false);
        Ok(row)
    }

    fn remove(&mut self, owner: EngagementOwner) -> Result<(), StoreError> {
        self.forget(owner);
        self.table.remove(key_of(owner).as_slice())?;
        Ok(())
    }

    fn forget_tenant(&mut self, tenant: TenantId) {
        let owners = self.rows.known.keys().filter(|(of, _, _)| *of == tenant);
        let owners: Vec<EngagementOwner> = owners.copied().collect();
        owners.into_iter().for_each(|owner| self.forget(owner));
    }

    fn table(&mut self) -> &mut WriteTable<'t> {
        &mut self.table
    }
}

impl ReadRows for TransactionEngagement<'_> {
    fn read<R>(
        &self,
        owner: EngagementOwner,
        read: impl FnOnce(&EngagementRow) -> R,
    ) -> Result<Option<R>, StoreError> {
        match self.rows.known.get(&owner) {
            Some(known) if !known.is_unproven => Ok(Some(read(known))),
            known => Ok(EngagementRow::later(known, load(&self.table, owner)?.as_ref()).map(read)),
        }
    }
}

fn put(
    table: &mut WriteTable<'_>,
    owner: EngagementOwner,
    row: &EngagementRow,
) -> Result<(), StoreError> {
    let key = key_of(owner);
    table.insert(key.as_slice(), seal(&key, row)?.as_slice())?;
    Ok(())
}

/// Row of the table, where it is later than the known one of the log.
fn later_of_table(
    known: &EngagementRow,
    owner: EngagementOwner,
    table: &WriteTable<'_>,
) -> Result<Option<EngagementRow>, StoreError> {
    let stored = if known.is_unproven { load(table, owner)? } else { None };
    let later = stored.filter(|stored| stored.changes > known.changes);
    // The older row stays in the log.
    Ok(later.map(|stored| EngagementRow { entry: known.entry, ..stored }))
}
