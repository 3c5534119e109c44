//! Engagement in a snapshot: its table, and the log beside it.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use foldhash::fast::RandomState;
use svctrack_core::{
    schema::ResourceDef,
    value::{ObjectId, TenantId, engagement::Engagement},
};

use super::{Owner, Row, load, log::Log};
use crate::store::{
    StoreError,
    embedded::{
        snapshot::Snapshot,
        tables::{ENGAGEMENT, ReadTable},
    },
};

/// The rows of a log, each with the number of its entry.
type Rows = HashMap<Owner, (u64, Arc<Row>), RandomState>;

/// What was read of the log of a database, up to its newest entry: who reads at a later moment only reads on.
#[derive(Debug, Default)]
pub(in super::super) struct LogRead(Mutex<ReadTo>);

#[derive(Debug, Default)]
struct ReadTo {
    /// The first entry that was there then, and the first that was not read.
    first: u64,
    end: u64,
    rows: Arc<Rows>,
}

/// What a log holds.
#[derive(Debug, Default)]
struct Logged {
    /// Its first entry; there may be rows of some before it.
    first: u64,
    rows: Arc<Rows>,
}

impl LogRead {
    fn at(&self, log: &Log<ReadTable>) -> Result<Logged, StoreError> {
        let numbers = match log.numbers() {
            // The writer has told it.
            Err(StoreError::Corrupted { .. }) => None,
            numbers => numbers?,
        };
        let Some(numbers) = numbers else { return Ok(Logged::default()) };
        let (first, last) = (*numbers.start(), *numbers.end());
        // Nothing that is done under the lock can panic.
        let mut read = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if read.end > last + 1 {
            // A snapshot of before.
            drop(read);
            let mut rows = Rows::default();
            log.read(numbers, |number, owner, row| {
                drop(rows.insert(owner, (number, Arc::new(row))))
            })?;
            return Ok(Logged { first, rows: Arc::new(rows) });
        }
        let (begin, is_pruned) = (first.max(read.end), read.first == first);
        let rows = Arc::make_mut(&mut read.rows);
        if !is_pruned {
            rows.retain(|_, (number, _)| *number >= first);
        }
        log.read(begin..=last, |number, owner, row| {
            drop(rows.insert(owner, (number, Arc::new(row))))
        })?;
        (read.first, read.end) = (first, last + 1);
        Ok(Logged { first, rows: read.rows.clone() })
    }
}

/// Engagement in a snapshot.
pub(in super::super) struct ReadEngagement {
    table: ReadTable,
    log: Option<Log<ReadTable>>,
    read: Arc<LogRead>,
    /// Read when it is first asked for.
    logged: OnceLock<Logged>,
}

impl ReadEngagement {
    pub(in super::super) fn open(snapshot: &Snapshot) -> Result<Self, StoreError> {
        Ok(Self {
            table: snapshot.open_table(ENGAGEMENT)?,
            log: Log::of(snapshot)?,
            read: snapshot.log_read.clone(),
            logged: OnceLock::new(),
        })
    }

    fn logged(&self) -> Result<&Logged, StoreError> {
        if let Some(logged) = self.logged.get() {
            return Ok(logged);
        }
        let logged = self.log.as_ref().map(|log| self.read.at(log)).transpose()?;
        Ok(self.logged.get_or_init(|| logged.unwrap_or_default()))
    }

    /// What `read` makes of the row of a user or a company.
    fn read<R>(&self, owner: Owner, read: impl FnOnce(&Row) -> R) -> Result<Option<R>, StoreError> {
        let Logged { first, rows } = self.logged()?;
        let logged = rows.get(&owner).filter(|(number, _)| number >= first).map(|(_, row)| &**row);
        let stored = load(&self.table, owner)?;
        Ok(Row::later(logged, stored.as_ref()).map(read))
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

    /// The latest activity of a user or a company.
    pub(in super::super) fn latest_activity(
        &self,
        owner: Owner,
    ) -> Result<Option<ObjectId>, StoreError> {
        Ok(self.read(owner, |row| row.latest)?.flatten())
    }

    /// Those who have a row in the log alone.
    pub(in super::super) fn logged_alone(&self) -> Result<Vec<Owner>, StoreError> {
        let mut alone = Vec::new();
        for (owner, (number, _)) in &*self.logged()?.rows {
            if *number >= self.logged()?.first && load(&self.table, *owner)?.is_none() {
                alone.push(*owner);
            }
        }
        Ok(alone)
    }
}
