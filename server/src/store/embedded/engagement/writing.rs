//! Engagement in a transaction: each row that it touches is read once and written once, however many events touch it.
//!
//! Rows go to the log ([`super::log`]), unless they are few, or bulk, which has as many as fill the pages of the table.
//! Those of the log go to the table bit by bit. When some thousands have gathered, they are put in order; from then on
//! each commit folds some of them into the table, and leaves out those that were logged again meanwhile. When all are
//! there, the entries that they lay in are removed, and it begins anew with those that came since.
//!
//! Invariant: who has a row in the log that is newer than that of the table is known.

use std::{
    collections::{HashMap, hash_map},
    ops::Range,
};

use foldhash::fast::RandomState;
use redb::{TableError, WriteTransaction};
use svctrack_core::{
    resources::{company::COMPANY, end_user::END_USER},
    schema::{Entry, ResourceDef},
    value::{
        ObjectId, TenantId,
        engagement::{Engaged, Engagement},
    },
};

use super::{Owner, Row, company_in, key_of, load, log::Log, seal};
use crate::store::{
    StoreError,
    embedded::{
        damage,
        snapshot::Snapshot,
        tables::{ENGAGEMENT, WriteTable},
    },
};

/// Most rows that are kept at hand for the transactions to come, beside those of the log: some 10 MB, and 50 MB if
/// all had events of many days.
const MAX_AT_HAND: usize = 20_000;
/// Rows that are folded for each that is logged, so that the last ones are folded long before there are as many again.
const FOLDED_FOR_EACH: usize = 2;

/// What goes to the log, and when it leaves it.
#[derive(Clone, Copy, Debug)]
pub struct LogLimits {
    /// Fewest rows of a transaction that are logged: for fewer, a page of the log is no less than those of the table.
    pub min_logged: usize,
    /// How many rows of the log are put in order at a time, so that there are as many to a page as can be: the log has
    /// up to twice as many, which take some 10 MB of memory, and which a start reads.
    pub ordered: usize,
    /// Fewest rows that a transaction folds: they lie side by side, and one alone would take a page.
    pub min_folded: usize,
}

impl Default for LogLimits {
    fn default() -> Self {
        Self { min_logged: 16, ordered: 16_384, min_folded: 64 }
    }
}

/// What transactions that were committed leave to the next one.
#[derive(Default)]
pub(in super::super) struct Rows {
    known: HashMap<Owner, Row, RandomState>,
    touched: Vec<Owner>,
    /// The entries of the log.
    entries: Range<u64>,
    /// Of how many who are known the log has the newest row.
    logged: usize,
    /// Whose rows are still to be folded, the last of them first.
    folding: Vec<Owner>,
    /// The entries before this one are removed when they are.
    folding_until: u64,
    /// Rows that were logged since these were put in order.
    since: usize,
    /// Rows that are to be folded in return.
    owed: usize,
    /// Whether something here was found damaged, so that each place is looked at before it is written.
    is_wary: bool,
    /// Whether both copies of the log are damaged where it begins or ends, so that nothing comes to it.
    is_log_lost: bool,
    limits: LogLimits,
}

impl Rows {
    /// As a store has them.
    pub(in super::super) fn of(snapshot: &Snapshot, limits: LogLimits) -> Result<Self, StoreError> {
        let mut rows = Self { limits, ..Self::default() };
        let Some(log) = Log::of(snapshot)? else { return Ok(rows) };
        let numbers = match log.numbers() {
            Err(StoreError::Corrupted { cause, .. }) => {
                tracing::error!(cause, "the log of engagement is damaged");
                rows.is_log_lost = true;
                return Ok(rows);
            }
            numbers => numbers?,
        };
        let Some(numbers) = numbers else { return Ok(rows) };
        rows.entries = *numbers.start()..*numbers.end() + 1;
        rows.folding_until = rows.entries.start;
        log.read(numbers, |number, owner, row| {
            rows.known.insert(owner, Row { logged: Some(number), is_unproven: true, ..row });
        })?;
        (rows.logged, rows.since) = (rows.known.len(), rows.known.len());
        Ok(rows)
    }
}

/// Engagement in a transaction.
pub(in super::super) struct WriteEngagement<'t> {
    table: WriteTable<'t>,
    log: Log<WriteTable<'t>>,
    rows: Rows,
    is_careful: bool,
}

impl<'t> WriteEngagement<'t> {
    pub(in super::super) fn open(
        transaction: &'t WriteTransaction,
        rows: Rows,
    ) -> Result<Self, TableError> {
        let (table, log) = (transaction.open_table(ENGAGEMENT)?, Log::open(transaction)?);
        Ok(Self { table, log, rows, is_careful: false })
    }

    /// Has nothing written but where rows belong, since something else was found damaged.
    pub(in super::super) fn be_careful(&mut self) {
        self.is_careful = true;
        self.rows.is_wary = true;
    }

    /// The row of a user or a company, which is written with the others.
    pub(in super::super) fn row(&mut self, owner: Owner) -> Result<&mut Row, StoreError> {
        self.prove(owner)?;
        let row = match self.rows.known.entry(owner) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => {
                new.insert(load(&self.table, owner)?.unwrap_or_default())
            }
        };
        if !std::mem::replace(&mut row.touched, true) {
            self.rows.touched.push(owner);
        }
        Ok(row)
    }

    /// Holds a row that was read from the log at the start against that of the table, which may be a later one.
    fn prove(&mut self, owner: Owner) -> Result<(), StoreError> {
        let Some(row) = self.rows.known.get_mut(&owner).filter(|row| row.is_unproven) else {
            return Ok(());
        };
        let stored = load(&self.table, owner)?;
        row.is_unproven = false;
        if let Some(stored) = stored.filter(|stored| stored.changes > row.changes) {
            *row = stored;
            self.rows.logged -= 1;
        }
        Ok(())
    }

    /// What `read` makes of the row of a user or a company.
    pub(super) fn read<R>(
        &self,
        owner: Owner,
        read: impl FnOnce(&Row) -> R,
    ) -> Result<Option<R>, StoreError> {
        match self.rows.known.get(&owner) {
            Some(row) if !row.is_unproven => Ok(Some(read(row))),
            known => Ok(Row::later(known, load(&self.table, owner)?.as_ref()).map(read)),
        }
    }

    /// Whether a user or a company has a row.
    pub(in super::super) fn has(&self, owner: Owner) -> Result<bool, StoreError> {
        Ok(self.read(owner, |_| ())?.is_some())
    }

    /// The engagement of a user or a company.
    pub(in super::super) fn engagement(
        &self,
        tenant: TenantId,
        def: &ResourceDef,
        id: ObjectId,
    ) -> Result<Option<Engagement>, StoreError> {
        self.read((tenant, def.code, id), |row| row.engagement.clone())
    }

    /// Adds an event to its user and their company.
    pub(in super::super) fn add(
        &mut self,
        tenant: TenantId,
        engaged: &Engaged,
    ) -> Result<(), StoreError> {
        let user = (tenant, END_USER.code, engaged.end_user_id);
        let company = engaged.company_id.map(|id| (tenant, COMPANY.code, id));
        for owner in [Some(user), company].into_iter().flatten() {
            self.row(owner)?.engagement.add(engaged);
        }
        Ok(())
    }

    /// Moves the engagement of a user along when they change their company, or are deleted.
    pub(in super::super) fn follow(
        &mut self,
        tenant: TenantId,
        user: ObjectId,
        removed: &[Entry],
        added: &[Entry],
    ) -> Result<(), StoreError> {
        let (left, joined) = (company_in(removed), company_in(added));
        if left.is_none() && joined.is_none() {
            return Ok(());
        }
        let of_user = self.row((tenant, END_USER.code, user))?.engagement.clone();
        if of_user == Engagement::default() {
            return Ok(());
        }
        if let Some(company) = left {
            let row = self.row((tenant, COMPANY.code, company))?;
            // Only who was active last, or at the same time, can take that along.
            row.lost_the_last |= of_user.last_active() >= row.engagement.last_active();
            row.engagement.leave(&of_user);
        }
        if let Some(company) = joined {
            self.row((tenant, COMPANY.code, company))?.engagement.join(&of_user);
        }
        Ok(())
    }

    /// The companies that a user has left who was the last to be active.
    pub(super) fn who_lost_the_last(&self) -> Vec<Owner> {
        let lost = |owner: &&Owner| self.rows.known.get(owner).is_some_and(|row| row.lost_the_last);
        self.rows.touched.iter().filter(lost).copied().collect()
    }

    /// Removes the row of one who is erased, of whom the log keeps no trace.
    pub(in super::super) fn remove(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.fold_all()?;
        self.rows.known.remove(&owner);
        self.table.remove(key_of(owner).as_slice())?;
        Ok(())
    }

    /// How many rows there are to write.
    pub(in super::super) fn touched(&self) -> usize {
        self.rows.touched.len()
    }

    /// Writes the rows that were touched. Returns what is left to the next transaction.
    pub(in super::super) fn write(mut self) -> Result<Rows, StoreError> {
        if self.touched() < self.rows.limits.min_logged || self.is_careful || self.is_log_damaged()
        {
            return self.write_in_place();
        }
        let touched = self.take_touched();
        self.log(&touched)?;
        self.fold(touched.len() * FOLDED_FOR_EACH)?;
        Ok(self.into_rows())
    }

    /// The same, where there are so many that the log would be no gain.
    pub(in super::super) fn write_in_place(mut self) -> Result<Rows, StoreError> {
        for owner in self.take_touched() {
            self.put(owner)?;
        }
        Ok(self.into_rows())
    }

    /// Those who were touched and are still there, in the order of their keys, in which they are written faster.
    fn take_touched(&mut self) -> Vec<Owner> {
        let Rows { touched, known, .. } = &mut self.rows;
        let mut touched = std::mem::take(touched);
        touched.retain(|owner| match known.get_mut(owner) {
            Some(row) => {
                (row.touched, row.lost_the_last) = (false, false);
                row.changes += 1;
                true
            }
            None => false,
        });
        touched.sort_unstable();
        touched
    }

    fn into_rows(mut self) -> Rows {
        let rows = &mut self.rows;
        if rows.known.len() - rows.logged > MAX_AT_HAND {
            rows.known.retain(|_, row| row.logged.is_some());
        }
        self.rows
    }

    /// Puts a row into the table, unless that has a later one.
    fn put(&mut self, owner: Owner) -> Result<(), StoreError> {
        self.prove(owner)?;
        let Some(row) = self.rows.known.get_mut(&owner) else { return Ok(()) };
        let key = key_of(owner);
        self.table.insert(key.as_slice(), seal(&key, row)?.as_slice())?;
        self.rows.logged -= usize::from(row.logged.take().is_some());
        Ok(())
    }

    /// Adds rows to the log.
    fn log(&mut self, owners: &[Owner]) -> Result<(), StoreError> {
        let Rows { known, entries, logged, since, .. } = &mut self.rows;
        let number = entries.end;
        for owner in owners {
            if let Some(row) = known.get_mut(owner) {
                *logged += usize::from(row.logged.replace(number).is_none());
            }
        }
        let rows = owners.iter().filter_map(|owner| Some((*owner, known.get(owner)?)));
        entries.end = self.log.add(number, rows)?;
        *since += owners.len();
        Ok(())
    }

    /// Folds so many rows of the log into the table, or notes that they are to be.
    fn fold(&mut self, rows: usize) -> Result<(), StoreError> {
        self.rows.owed += rows;
        if self.rows.owed < self.rows.limits.min_folded || !self.has_some_to_fold() {
            return Ok(());
        }
        let owed = std::mem::take(&mut self.rows.owed);
        let mut damaged = Vec::new();
        for _ in 0..owed {
            let Some(owner) = self.rows.folding.pop() else { break };
            let logged = self.rows.known.get(&owner).and_then(|row| row.logged);
            if logged.is_none_or(|number| number >= self.rows.folding_until) {
                continue;
            }
            if self.is_damaged(owner) {
                damaged.push(owner);
            } else {
                self.put(owner)?;
            }
        }
        if !damaged.is_empty() {
            self.log(&damaged)?;
        }
        if self.rows.folding.is_empty() {
            self.remove_entries(self.rows.folding_until)?;
        }
        Ok(())
    }

    /// Puts those of the log in order, if none are left, and enough have come.
    fn has_some_to_fold(&mut self) -> bool {
        let rows = &mut self.rows;
        if rows.folding.is_empty() && rows.since >= rows.limits.ordered {
            let logged = rows.known.iter().filter(|(_, row)| row.logged.is_some());
            rows.folding = logged.map(|(owner, _)| *owner).collect();
            rows.folding.sort_unstable_by(|one, other| other.cmp(one));
            (rows.folding_until, rows.since) = (rows.entries.end, 0);
        }
        !rows.folding.is_empty()
    }

    /// Folds all rows into the table, and leaves an empty log: one entry, from which its numbers go on.
    fn fold_all(&mut self) -> Result<(), StoreError> {
        if self.rows.logged == 0 && self.rows.entries.end - self.rows.entries.start <= 1 {
            return Ok(());
        }
        let logged = self.rows.known.iter().filter(|(_, row)| row.logged.is_some());
        let mut logged: Vec<_> = logged.map(|(owner, _)| *owner).collect();
        logged.sort_unstable();
        for owner in logged {
            self.put(owner)?;
        }
        let until = self.rows.entries.end;
        self.rows.entries.end = self.log.add(until, std::iter::empty())?;
        (self.rows.folding, self.rows.since) = (Vec::new(), 0);
        self.remove_entries(until)
    }

    /// Removes the entries before one.
    fn remove_entries(&mut self, until: u64) -> Result<(), StoreError> {
        for number in self.rows.entries.start..until {
            if !(self.rows.is_wary && self.log.is_damaged_at(number)) {
                self.log.remove(number)?;
            }
        }
        self.rows.entries.start = until;
        Ok(())
    }

    fn is_damaged(&self, owner: Owner) -> bool {
        self.rows.is_wary && damage::contained(|| load(&self.table, owner).map(drop)).is_err()
    }

    fn is_log_damaged(&self) -> bool {
        let Rows { is_log_lost, is_wary, entries, .. } = &self.rows;
        *is_log_lost || *is_wary && self.log.is_damaged_at(entries.end)
    }
}
