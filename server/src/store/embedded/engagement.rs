//! How active users and companies are, and which activities are theirs (R37, R38): one row for each beside
//! its record, read once and written once in a transaction, however many events touch it.
//!
//! The ids of the latest activities lie in the row itself; each time there are enough of them they move
//! to a chunk of their own. So an event costs no index row, and a user's activities are read without a scan.

use std::collections::{BTreeSet, HashMap, hash_map};

use redb::{ReadTransaction, ReadableTable};
use svctrack_core::{
    resources::{
        company::COMPANY,
        end_user::{self, END_USER},
    },
    schema::{Entry, Lookup as _, ResourceDef},
    value::{
        ObjectId, TenantId, Timestamp,
        engagement::{Engaged, Engagement},
    },
};

use super::{
    codec,
    keys::{self, ID_BYTES},
    tables::{ACTIVITY_CHUNKS, ENGAGEMENT, ReadTable, WriteTables},
    view::View,
};
use crate::store::StoreError;

/// How many activities are in a chunk: a row stays small, and a chunk is written for many events.
const CHUNK_IDS: usize = 24;
/// Most rows that are kept at hand for the transactions to come: some 10 MB, and 50 MB if all had events
/// of many days.
const MAX_KNOWN_ROWS: usize = 20_000;

/// How many users of a company are asked first when they were last active.
const ASKED_FIRST: usize = 16;

/// The row of a user or a company.
#[derive(Clone, Debug, Default)]
struct Row {
    engagement: Engagement,
    /// The activities since the last chunk, oldest first.
    latest: Vec<ObjectId>,
}

impl Row {
    /// The stored bytes: engagement and number of ids as postcard, then the ids.
    fn seal(&self, key: &[u8]) -> Result<Vec<u8>, StoreError> {
        let begin = postcard::to_stdvec(&(&self.engagement, self.latest.len()));
        let begin = begin.map_err(|error| StoreError::Internal(error.to_string()))?;
        Ok(codec::seal(key, &[begin, bytes_of(&self.latest)].concat()))
    }

    fn unseal(key: &[u8], bytes: &[u8]) -> Result<Self, StoreError> {
        let read = postcard::take_from_bytes::<(Engagement, usize)>(codec::unseal(key, bytes)?);
        let ((engagement, count), ids) = read.map_err(StoreError::corrupted)?;
        Ok(Self { engagement, latest: ids_in(ids).take(count).collect() })
    }
}

/// The ids of activities in a row.
pub(super) fn ids_in_row(key: &[u8], bytes: &[u8]) -> Result<Vec<ObjectId>, StoreError> {
    Ok(Row::unseal(key, bytes)?.latest)
}

/// The ids of activities in a chunk.
pub(super) fn ids_in_chunk(key: &[u8], bytes: &[u8]) -> Result<Vec<ObjectId>, StoreError> {
    Ok(ids_in(codec::unseal(key, bytes)?).collect())
}

fn bytes_of(ids: &[ObjectId]) -> Vec<u8> {
    ids.iter().flat_map(|id| *id.as_bytes()).collect()
}

fn ids_in(bytes: &[u8]) -> impl Iterator<Item = ObjectId> {
    let ids = bytes.chunks_exact(ID_BYTES).filter_map(|id| id.first_chunk());
    ids.map(|id| ObjectId::from_bytes(*id))
}

/// Who a row is of.
type Owner = (TenantId, u8, ObjectId);

/// The rows that a transaction has touched, beside those that earlier ones left.
#[derive(Default)]
pub(super) struct Rows {
    known: HashMap<Owner, Row>,
    /// In the order of their keys, in which they are written.
    touched: BTreeSet<Owner>,
}

impl Rows {
    fn row(&mut self, tables: &WriteTables<'_>, owner: Owner) -> Result<&mut Row, StoreError> {
        self.touched.insert(owner);
        match self.known.entry(owner) {
            hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            hash_map::Entry::Vacant(new) => {
                Ok(new.insert(load(&tables.engagement, owner)?.unwrap_or_default()))
            }
        }
    }

    /// Adds an event to its user and their company.
    pub(super) fn add(
        &mut self,
        tables: &mut WriteTables<'_>,
        tenant: TenantId,
        engaged: &Engaged,
    ) -> Result<(), StoreError> {
        let user = (tenant, END_USER.code, engaged.end_user_id);
        let company = engaged.company_id.map(|id| (tenant, COMPANY.code, id));
        for owner in [Some(user), company].into_iter().flatten() {
            let row = self.row(tables, owner)?;
            row.engagement.add(engaged);
            row.latest.extend(engaged.activity);
            if row.latest.len() >= CHUNK_IDS {
                put_chunk(tables, owner, &std::mem::take(&mut row.latest))?;
            }
        }
        Ok(())
    }

    /// Moves the engagement of a user along when they change their company, or are deleted.
    pub(super) fn follow(
        &mut self,
        tables: &WriteTables<'_>,
        tenant: TenantId,
        user: ObjectId,
        removed: &[Entry],
        added: &[Entry],
    ) -> Result<(), StoreError> {
        let (left, joined) = (company_in(removed), company_in(added));
        if left.is_none() && joined.is_none() {
            return Ok(());
        }
        let of_user = self.row(tables, (tenant, END_USER.code, user))?.engagement.clone();
        if of_user == Engagement::default() {
            return Ok(());
        }
        if let Some(company) = left {
            let owner = (tenant, COMPANY.code, company);
            let mut last_active = self.row(tables, owner)?.engagement.last_active();
            // Only who was active last, or at the same time, can take that along.
            if of_user.last_active() >= last_active {
                last_active =
                    self.last_active_of_others(tables, tenant, company, user, last_active)?;
            }
            self.row(tables, owner)?.engagement.leave(&of_user, last_active);
        }
        if let Some(company) = joined {
            self.row(tables, (tenant, COMPANY.code, company))?.engagement.join(&of_user);
        }
        Ok(())
    }

    /// When the users of a company but for one were last active; nobody was later than `latest`, so that
    /// the first few are asked first: in a company of many, several were active at the same time.
    fn last_active_of_others(
        &mut self,
        tables: &WriteTables<'_>,
        tenant: TenantId,
        company: ObjectId,
        user: ObjectId,
        latest: Option<Timestamp>,
    ) -> Result<Option<Timestamp>, StoreError> {
        let row = end_user::COMPANY_ID.name;
        let view = View::in_transaction(tenant, tables);
        let mut last_active = None;
        for limit in [ASKED_FIRST, usize::MAX] {
            let users = view.holders(&END_USER, row, &company.to_string(), limit)?;
            for other in users.iter().filter(|other| **other != user) {
                let owner = (tenant, END_USER.code, *other);
                let known = match self.known.get(&owner) {
                    Some(row) => row.engagement.last_active(),
                    None => load(&tables.engagement, owner)?
                        .and_then(|row| row.engagement.last_active()),
                };
                last_active = last_active.max(known);
                if last_active == latest {
                    return Ok(latest);
                }
            }
            if users.len() < limit {
                break;
            }
        }
        Ok(last_active)
    }

    /// Takes the ids of activities of a user who is erased away, at most about so many; says whether these
    /// were the last, with which the row goes.
    pub(super) fn take_activities(
        &mut self,
        tables: &mut WriteTables<'_>,
        tenant: TenantId,
        user: ObjectId,
        limit: usize,
    ) -> Result<(Vec<ObjectId>, bool), StoreError> {
        let owner = (tenant, END_USER.code, user);
        let bound = |last| keys::chunk(tenant, END_USER.code, user, last);
        let (first, last) = (bound(ObjectId::MIN), bound(ObjectId::MAX));
        let (mut chunks, mut ids) = (Vec::new(), Vec::new());
        for row in tables.activity_chunks.range(first.as_slice()..=last.as_slice())? {
            if ids.len() >= limit {
                break;
            }
            let (key, value) = row?;
            ids.extend(ids_in(codec::unseal(key.value(), value.value())?));
            chunks.push(key.value().to_vec());
        }
        for key in chunks {
            tables.activity_chunks.remove(key.as_slice())?;
        }
        if ids.len() >= limit {
            return Ok((ids, false));
        }
        self.touched.remove(&owner);
        let row = match self.known.remove(&owner) {
            Some(row) => row,
            None => load(&tables.engagement, owner)?.unwrap_or_default(),
        };
        tables.engagement.remove(keys::record(tenant, END_USER.code, user).as_slice())?;
        ids.extend(row.latest);
        Ok((ids, true))
    }

    /// Writes the rows that were touched; what is left is as the table has it.
    pub(super) fn flush(mut self, tables: &mut WriteTables<'_>) -> Result<Self, StoreError> {
        for owner in std::mem::take(&mut self.touched) {
            let Some(row) = self.known.get(&owner) else { continue };
            let (tenant, resource, id) = owner;
            let key = keys::record(tenant, resource, id);
            tables.engagement.insert(key.as_slice(), row.seal(&key)?.as_slice())?;
        }
        if self.known.len() > MAX_KNOWN_ROWS {
            self.known.clear();
        }
        Ok(self)
    }
}

fn company_in(entries: &[Entry]) -> Option<ObjectId> {
    let entry = entries.iter().find(|entry| entry.row == end_user::COMPANY_ID.name)?;
    ObjectId::parse(&entry.key)
}

fn load(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    (tenant, resource, id): Owner,
) -> Result<Option<Row>, StoreError> {
    let key = keys::record(tenant, resource, id);
    let row = table.get(key.as_slice())?;
    row.map(|row| Row::unseal(&key, row.value())).transpose()
}

/// The engagement of a user or a company.
pub(super) fn engagement(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    tenant: TenantId,
    def: &ResourceDef,
    id: ObjectId,
) -> Result<Option<Engagement>, StoreError> {
    Ok(load(table, (tenant, def.code, id))?.map(|row| row.engagement))
}

fn put_chunk(
    tables: &mut WriteTables<'_>,
    (tenant, resource, id): Owner,
    activities: &[ObjectId],
) -> Result<(), StoreError> {
    let Some(last) = activities.last() else { return Ok(()) };
    let key = keys::chunk(tenant, resource, id, *last);
    let value = codec::seal(&key, &bytes_of(activities));
    tables.activity_chunks.insert(key.as_slice(), value.as_slice())?;
    Ok(())
}

/// The ids of the activities of a user or a company before a given one, newest first; chunks are read
/// as they are asked for.
pub(super) struct Activities {
    chunks: ReadTable,
    owner: Owner,
    /// Those at hand, newest last.
    at_hand: Vec<ObjectId>,
    before: ObjectId,
}

impl Activities {
    pub(super) fn of(
        snapshot: &ReadTransaction,
        tenant: TenantId,
        def: &ResourceDef,
        id: ObjectId,
        before: ObjectId,
    ) -> Result<Self, StoreError> {
        let owner = (tenant, def.code, id);
        let row = load(&snapshot.open_table(ENGAGEMENT)?, owner)?;
        let mut latest = row.map(|row| row.latest).unwrap_or_default();
        latest.retain(|id| *id < before);
        Ok(Self { chunks: snapshot.open_table(ACTIVITY_CHUNKS)?, owner, at_hand: latest, before })
    }

    /// The next one, which stays the next one.
    pub(super) fn peek(&mut self) -> Result<Option<ObjectId>, StoreError> {
        if self.at_hand.is_empty() {
            self.at_hand = self.chunk_before()?;
        }
        Ok(self.at_hand.last().copied())
    }

    /// Passes over the next one.
    pub(super) fn pass(&mut self) {
        self.before = self.at_hand.pop().unwrap_or(ObjectId::MIN);
    }

    /// The latest chunk that has activities before the last one taken. A chunk lies under its last
    /// activity, so that of which only a part is before it is the first one at or behind it.
    fn chunk_before(&self) -> Result<Vec<ObjectId>, StoreError> {
        let (tenant, resource, id) = self.owner;
        let bound = |activity| keys::chunk(tenant, resource, id, activity);
        let (first, at, last) = (bound(ObjectId::MIN), bound(self.before), bound(ObjectId::MAX));
        let behind = self.chunks.range(at.as_slice()..=last.as_slice())?.next().transpose()?;
        if let Some((key, value)) = behind {
            let ids = self.ids_before(key.value(), value.value())?;
            if !ids.is_empty() {
                return Ok(ids);
            }
        }
        let before = self.chunks.range(first.as_slice()..at.as_slice())?.next_back().transpose()?;
        match before {
            Some((key, value)) => self.ids_before(key.value(), value.value()),
            None => Ok(Vec::new()),
        }
    }

    fn ids_before(&self, key: &[u8], value: &[u8]) -> Result<Vec<ObjectId>, StoreError> {
        Ok(ids_in(codec::unseal(key, value)?).filter(|id| *id < self.before).collect())
    }
}
