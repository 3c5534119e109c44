//! Reads the licenses of a tenant into a ledger. Two threads read them from both ends until they meet.

use std::{
    collections::{BTreeMap, BTreeSet},
    panic::resume_unwind,
    sync::{Arc, mpsc},
    thread,
};

use parking_lot::Mutex;
use svctrack_core::{
    resources::{license::LICENSE, settings},
    revenue::{Ledger, LicenseFacts},
    value::{Document, ObjectId, TenantId, Zone},
};

use super::bidirectional_scan::Direction;
use crate::{
    StoreError,
    rows::{Bytes as _, RECORDS, Rows as _, Snapshot, keys, stored_value},
    rules::{open_tables::RecordTables, tenant_view::TenantView},
};

/// Licenses that are passed on together, and number of such runs in advance: few runs, since each wakes a thread.
const ROWS_OF_A_RUN: usize = 512;
const RUNS_AHEAD: usize = 4;

/// Reads licenses of a tenant.
pub(crate) struct LicenseReader<'s, S: Snapshot> {
    tenant: TenantId,
    tables: RecordTables<S>,
    snapshot: &'s S,
}

impl<'s, S: Snapshot> LicenseReader<'s, S> {
    pub(crate) fn open(snapshot: &'s S, tenant: TenantId) -> Result<Self, StoreError> {
        Ok(Self { tenant, tables: RecordTables::open(snapshot)?, snapshot })
    }

    fn view(&self) -> TenantView<'_, RecordTables<S>> {
        TenantView::of_snapshot(self.tenant, &self.tables)
    }

    pub(crate) fn settings(&self) -> Result<Document, StoreError> {
        Ok(settings::of_tenant(&self.view())?)
    }

    /// All licenses, on days of a zone. Two threads read them, since finding the facts in their text takes long.
    pub(crate) fn ledger(&self, zone: Zone) -> Result<Ledger, StoreError> {
        let (send, runs) = mpsc::sync_channel(RUNS_AHEAD);
        // Both ends of the channel move into the closure, so that no reader waits for one that has ended.
        thread::scope(move |scope| {
            let unread = Arc::new(UnreadLicenses::default());
            let mut readers = Vec::new();
            for direction in [Direction::Ascending, Direction::Descending] {
                let (send, unread) = (send.clone(), Arc::clone(&unread));
                let read =
                    move || self.each_run(zone, direction, &unread, |run| send.send(run).is_ok());
                let reader = thread::Builder::new().name("licenses".to_owned());
                let reader = reader.spawn_scoped(scope, read);
                readers.push(reader.map_err(|error| StoreError::Unavailable(error.to_string()))?);
            }
            drop(send);
            let ledger = Ledger::in_zone(zone, runs.iter().flatten());
            for reader in readers {
                reader.join().unwrap_or_else(|thrown| resume_unwind(thrown))?;
            }
            Ok(ledger?)
        })
    }

    /// Passes the facts of the licenses that the other end has not read to `take`, a run of rows at a time, as long as it
    /// takes them.
    fn each_run(
        &self,
        zone: Zone,
        direction: Direction,
        unread: &UnreadLicenses,
        mut take: impl FnMut(Vec<LicenseFacts<'static>>) -> bool,
    ) -> Result<(), StoreError> {
        let (first, last) = (
            keys::record(self.tenant, LICENSE.code, ObjectId::MIN),
            keys::record(self.tenant, LICENSE.code, ObjectId::MAX),
        );
        let table = self.snapshot.open(RECORDS)?;
        let mut rows = table.range(first.as_slice()..=last.as_slice())?;
        let mut run = Vec::with_capacity(ROWS_OF_A_RUN);
        while let Some(row) = direction.next_of(&mut rows) {
            let (key, value) = row?;
            let id = keys::id_at_end(key.value());
            let id = id.ok_or_else(|| StoreError::corrupted("a key without an id"))?;
            if !unread.claim(direction, id) {
                break;
            }
            let stored = stored_value::unseal_record(key.value(), value.value())?;
            run.extend(LicenseFacts::of_stored(stored.members(), zone));
            if run.len() >= ROWS_OF_A_RUN {
                let next = Vec::with_capacity(ROWS_OF_A_RUN);
                if !take(std::mem::replace(&mut run, next)) {
                    return Ok(());
                }
            }
        }
        take(run);
        Ok(())
    }

    /// The ledger with licenses that have changed.
    pub(crate) fn changed(
        &self,
        ledger: &Ledger,
        licenses: &BTreeSet<ObjectId>,
        zone: Zone,
    ) -> Result<Ledger, StoreError> {
        let view = self.view();
        let mut changes = BTreeMap::new();
        for id in licenses {
            let facts = view.read(&LICENSE, *id, |stored| {
                Ok(LicenseFacts::of_stored(stored.members(), zone))
            })?;
            changes.insert(*id, facts.flatten());
        }
        Ok(ledger.changed(&changes)?)
    }
}

/// Licenses that neither end of the scan has read: the range between the last claims of both.
#[derive(Debug, Default)]
struct UnreadLicenses(Mutex<LastClaims>);

#[derive(Debug, Default)]
struct LastClaims {
    ascending: Option<ObjectId>,
    descending: Option<ObjectId>,
}

impl UnreadLicenses {
    /// Whether an end reads a license, which is its next one: unless the other end has.
    fn claim(&self, direction: Direction, id: ObjectId) -> bool {
        let mut last = self.0.lock();
        let LastClaims { ascending, descending } = &mut *last;
        let (own, other) = match direction {
            Direction::Ascending => (ascending, descending),
            Direction::Descending => (descending, ascending),
        };
        let is_unread = other.is_none_or(|other| direction.is_before(id, other));
        if is_unread {
            *own = Some(id);
        }
        is_unread
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_license_is_read_by_one_of_two_ends() {
        for count in [0_u32, 1, 2, 3, 1_000, 50_000] {
            let id = |number: u32| {
                let mut bytes = [0; 12];
                bytes[8..].copy_from_slice(&number.to_be_bytes());
                ObjectId::from_bytes(bytes)
            };
            let unread = UnreadLicenses::default();
            let claims = |direction, number| unread.claim(direction, id(number));
            let (mut all, down): (Vec<u32>, Vec<u32>) = thread::scope(|scope| {
                let down = scope.spawn(|| {
                    let rows = (0..count).rev();
                    rows.take_while(|n| claims(Direction::Descending, *n)).collect()
                });
                let up = (0..count).take_while(|n| claims(Direction::Ascending, *n));
                (up.collect(), down.join().unwrap())
            });
            all.extend(down.iter().rev());
            assert_eq!(all, (0..count).collect::<Vec<_>>());
        }
    }
}
