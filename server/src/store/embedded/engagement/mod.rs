//! How active users and companies are (R37), and the latest of their activities: one row for each beside its
//! record. Those that changed last lie in a log ([`log`]), from which they go to the table.

mod log;
mod reading;
mod rows;
mod writing;

use redb::ReadableTable;
use serde::{Deserialize, Serialize};
use svctrack_core::{
    resources::end_user::{self, END_USER},
    schema::{Entry, Lookup as _, ResourceDef},
    value::{ObjectId, TenantId, engagement::Engagement},
};

pub use self::rows::LogLimits;
pub(super) use self::{
    log::is_aside,
    reading::{LogAt, LogRead, ReadEngagement},
    rows::{Changes, Rows},
    writing::WriteEngagement,
};
use super::{codec, keys, tables::WriteTables, view::View};
use crate::store::StoreError;

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
    /// How often it was written. It stands behind the row, where one of before there was a log has nothing: no member
    /// can be added but behind it.
    #[serde(skip)]
    changes: u64,
    /// An entry of the log: no later one has it.
    #[serde(skip)]
    entry: Option<u64>,
    /// Whether the table has an older one, or none.
    #[serde(skip)]
    is_logged: bool,
    /// Whether it was read from the log, and the table may have a later one.
    #[serde(skip)]
    is_unproven: bool,
    /// The number of the transaction that has touched it last.
    #[serde(skip)]
    touched_in: u64,
}

impl Row {
    /// The later one of two states of a row.
    fn later<'r>(logged: Option<&'r Self>, stored: Option<&'r Self>) -> Option<&'r Self> {
        match (logged, stored) {
            (Some(logged), Some(stored)) if stored.changes > logged.changes => Some(stored),
            (logged, stored) => logged.or(stored),
        }
    }
}

/// Who a row is of.
pub(super) type Owner = (TenantId, u8, ObjectId);

/// Rows in a snapshot or in a transaction.
pub(super) trait ReadRows {
    /// What `read` makes of the row of a user or a company.
    fn read<R>(&self, owner: Owner, read: impl FnOnce(&Row) -> R) -> Result<Option<R>, StoreError>;

    /// The engagement of a user or a company.
    fn engagement(
        &self,
        tenant: TenantId,
        def: &ResourceDef,
        id: ObjectId,
    ) -> Result<Option<Engagement>, StoreError> {
        self.read((tenant, def.code, id), |row| row.engagement.clone())
    }
}

/// Says when companies that a user has left were last active.
pub(super) fn settle(tables: &mut WriteTables<'_>) -> Result<(), StoreError> {
    let mut lost = std::mem::take(&mut tables.engagement.lost_the_last);
    // Once for all who leave in this transaction.
    lost.sort_unstable();
    lost.dedup();
    lost.into_iter().try_for_each(|owner| ask_users(tables, owner))
}

/// Asks the users of a company when they were last active; none was later than its row says, so that
/// the first few are asked first: in a company of many, several were active at the same time.
fn ask_users(tables: &mut WriteTables<'_>, owner: Owner) -> Result<(), StoreError> {
    let (tenant, _, company) = owner;
    let latest = tables.engagement.row(owner)?.engagement.last_active();
    let row = end_user::COMPANY_ID.name;
    let mut last_active = None;
    for limit in [ASKED_FIRST, usize::MAX] {
        let view = View::in_transaction(tenant, tables);
        let users = view.holders(&END_USER, row, &company.to_string(), limit)?;
        for user in &users {
            let of_user = tables.engagement.engagement(tenant, &END_USER, *user)?;
            last_active = last_active.max(of_user.and_then(|known| known.last_active()));
            if last_active == latest {
                return Ok(());
            }
        }
        if users.len() < limit {
            break;
        }
    }
    tables.engagement.row(owner)?.engagement.set_last_active(last_active);
    Ok(())
}

fn seal(key: &[u8], row: &Row) -> Result<Vec<u8>, StoreError> {
    codec::seal_row(key, &(row, row.changes))
}

fn company_in(entries: &[Entry]) -> Option<ObjectId> {
    let entry = entries.iter().find(|entry| entry.row == end_user::COMPANY_ID.name)?;
    ObjectId::parse(&entry.key)
}

fn load(
    table: &impl ReadableTable<&'static [u8], &'static [u8]>,
    owner: Owner,
) -> Result<Option<Row>, StoreError> {
    let key = key_of(owner);
    let Some(value) = table.get(key.as_slice())? else { return Ok(None) };
    let (row, changes) = codec::unseal_row_with_more::<Row, u64>(&key, value.value())?;
    Ok(Some(Row { changes, ..row }))
}

fn key_of((tenant, resource, id): Owner) -> Vec<u8> {
    keys::record(tenant, resource, id)
}
