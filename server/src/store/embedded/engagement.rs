//! How active users and companies are (R37), and the latest of their activities: one row for each beside its
//! record, read once and written once in a transaction, however many events touch it.

use std::collections::{HashMap, hash_map};

use foldhash::fast::RandomState;
use redb::ReadableTable;
use serde::{Deserialize, Serialize};
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
    codec, keys,
    tables::{WriteTable, WriteTables, get_row, put_row},
    view::View,
};
use crate::store::StoreError;

/// Most rows that are kept at hand for the transactions to come: some 10 MB, and 50 MB if all had events
/// of many days.
const MAX_KNOWN_ROWS: usize = 20_000;

/// How many users of a company are asked first when they were last active.
const ASKED_FIRST: usize = 16;

/// The row of a user or a company.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Row {
    engagement: Engagement,
    /// The latest of their activities, from which [`super::history`] goes back.
    pub(super) latest: Option<ObjectId>,
    /// How many of them there are since the last that is marked.
    pub(super) since_mark: u8,
    /// Whether this transaction has touched it.
    #[serde(skip)]
    touched: bool,
    /// Whether a user has left it who was the last to be active, so that the others are asked: once for all
    /// who leave in this transaction.
    #[serde(skip)]
    lost_the_last: bool,
}

/// Who a row is of.
pub(super) type Owner = (TenantId, u8, ObjectId);

/// The rows that a transaction has touched, beside those that earlier ones left.
#[derive(Default)]
pub(super) struct Rows {
    known: HashMap<Owner, Row, RandomState>,
    touched: Vec<Owner>,
}

impl Rows {
    /// The row of a user or a company, which is written with the others.
    pub(super) fn row(
        &mut self,
        tables: &WriteTables<'_>,
        owner: Owner,
    ) -> Result<&mut Row, StoreError> {
        let row = match self.known.entry(owner) {
            hash_map::Entry::Occupied(known) => known.into_mut(),
            hash_map::Entry::Vacant(new) => {
                new.insert(load(&tables.engagement, owner)?.unwrap_or_default())
            }
        };
        if !std::mem::replace(&mut row.touched, true) {
            self.touched.push(owner);
        }
        Ok(row)
    }

    /// Adds an event to its user and their company.
    pub(super) fn add(
        &mut self,
        tables: &WriteTables<'_>,
        tenant: TenantId,
        engaged: &Engaged,
    ) -> Result<(), StoreError> {
        let user = (tenant, END_USER.code, engaged.end_user_id);
        let company = engaged.company_id.map(|id| (tenant, COMPANY.code, id));
        for owner in [Some(user), company].into_iter().flatten() {
            self.row(tables, owner)?.engagement.add(engaged);
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
            let row = self.row(tables, (tenant, COMPANY.code, company))?;
            // Only who was active last, or at the same time, can take that along.
            row.lost_the_last |= of_user.last_active() >= row.engagement.last_active();
            row.engagement.leave(&of_user);
        }
        if let Some(company) = joined {
            self.row(tables, (tenant, COMPANY.code, company))?.engagement.join(&of_user);
        }
        Ok(())
    }

    /// Asks the users of a company when they were last active; none was later than its row says, so that
    /// the first few are asked first: in a company of many, several were active at the same time.
    fn ask_users(&mut self, tables: &WriteTables<'_>, owner: Owner) -> Result<(), StoreError> {
        let (tenant, _, company) = owner;
        let latest = self.row(tables, owner)?.engagement.last_active();
        let row = end_user::COMPANY_ID.name;
        let view = View::in_transaction(tenant, tables);
        let mut last_active = None;
        for limit in [ASKED_FIRST, usize::MAX] {
            let users = view.holders(&END_USER, row, &company.to_string(), limit)?;
            for user in &users {
                let known = self.last_active(tables, (tenant, END_USER.code, *user))?;
                last_active = last_active.max(known);
                if last_active == latest {
                    return Ok(());
                }
            }
            if users.len() < limit {
                break;
            }
        }
        self.row(tables, owner)?.engagement.set_last_active(last_active);
        Ok(())
    }

    fn last_active(
        &self,
        tables: &WriteTables<'_>,
        owner: Owner,
    ) -> Result<Option<Timestamp>, StoreError> {
        Ok(match self.known.get(&owner) {
            Some(row) => row.engagement.last_active(),
            None => load(&tables.engagement, owner)?.and_then(|row| row.engagement.last_active()),
        })
    }

    /// Removes the row of one who is erased.
    pub(super) fn remove(
        &mut self,
        tables: &mut WriteTables<'_>,
        owner: Owner,
    ) -> Result<(), StoreError> {
        self.known.remove(&owner);
        tables.engagement.remove(key_of(owner).as_slice())?;
        Ok(())
    }

    /// Says when companies that a user has left were last active.
    pub(super) fn settle(&mut self, tables: &WriteTables<'_>) -> Result<(), StoreError> {
        let lost = |owner: &&Owner| self.known.get(owner).is_some_and(|row| row.lost_the_last);
        let lost: Vec<_> = self.touched.iter().filter(lost).copied().collect();
        lost.into_iter().try_for_each(|owner| self.ask_users(tables, owner))
    }

    /// How many rows there are to write.
    pub(super) fn touched(&self) -> usize {
        self.touched.len()
    }

    /// Writes the rows that were touched; what is left is as the table has it.
    pub(super) fn write(mut self, table: &mut WriteTable<'_>) -> Result<Self, StoreError> {
        let mut touched = std::mem::take(&mut self.touched);
        // Rows are written faster in the order of their keys.
        touched.sort_unstable();
        for owner in touched {
            let Some(row) = self.known.get_mut(&owner) else { continue };
            (row.touched, row.lost_the_last) = (false, false);
            put_row(table, &key_of(owner), row)?;
        }
        if self.known.len() > MAX_KNOWN_ROWS {
            self.known.clear();
        }
        Ok(self)
    }
}

/// The stored bytes of a row that is written anew.
pub(super) fn rewritten(
    key: &[u8],
    engagement: Engagement,
    (latest, since_mark): (Option<ObjectId>, u8),
) -> Result<Vec<u8>, StoreError> {
    codec::seal_row(key, &Row { engagement, latest, since_mark, ..Row::default() })
}

fn company_in(entries: &[Entry]) -> Option<ObjectId> {
    let entry = entries.iter().find(|entry| entry.row == end_user::COMPANY_ID.name)?;
    ObjectId::parse(&entry.key)
}

fn load(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    owner: Owner,
) -> Result<Option<Row>, StoreError> {
    get_row(table, &key_of(owner))
}

fn key_of((tenant, resource, id): Owner) -> Vec<u8> {
    keys::record(tenant, resource, id)
}

/// The latest activity of a user or a company.
pub(super) fn latest_activity(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    owner: Owner,
) -> Result<Option<ObjectId>, StoreError> {
    Ok(load(table, owner)?.and_then(|row| row.latest))
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
