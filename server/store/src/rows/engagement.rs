//! Engagement of users and companies (R37), and the latest of their activities: one row for each, apart from its
//! record.

use std::ops::{ControlFlow, RangeInclusive};

use serde::{Deserialize, Serialize};
use svctrack_core::{
    schema::ResourceDef,
    value::{ObjectId, TenantId, Timestamp, engagement::Engagement},
};

use super::{Bytes as _, Rows, WriteRows, keys, stored_value};
use crate::StoreError;

/// The row of a user or a company.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct EngagementRow {
    pub(crate) engagement: Engagement,
    /// Latest activity, from which the history goes back.
    pub(crate) latest: Option<ObjectId>,
    /// Number of activities since the last one that is marked.
    pub(crate) since_mark: u8,
    /// Number of writes of the row. It follows the row, where one from before the log has nothing: a new member must
    /// come after it.
    #[serde(skip)]
    pub(crate) changes: u64,
    /// Entry of the log with this state; no later entry has it.
    #[serde(skip)]
    pub(crate) entry: Option<u64>,
    /// Whether the table has an older state, or none.
    #[serde(skip)]
    pub(crate) is_logged: bool,
    /// Whether the row was read from the log, and the table may have a later one.
    #[serde(skip)]
    pub(crate) is_unproven: bool,
    /// Number of the transaction that has touched the row last.
    #[serde(skip)]
    pub(crate) touched_in: u64,
}

impl EngagementRow {
    /// The later of two states of a row.
    pub(crate) fn later<'r>(
        logged: Option<&'r Self>,
        stored: Option<&'r Self>,
    ) -> Option<&'r Self> {
        match (logged, stored) {
            (Some(logged), Some(stored)) if stored.changes > logged.changes => Some(stored),
            (logged, stored) => logged.or(stored),
        }
    }
}

/// Owner of a row.
pub(crate) type EngagementOwner = (TenantId, u8, ObjectId);

/// Rows in a snapshot or in a transaction.
pub(crate) trait ReadRows {
    /// The result of `read` for the row of a user or a company.
    fn read<R>(
        &self,
        owner: EngagementOwner,
        read: impl FnOnce(&EngagementRow) -> R,
    ) -> Result<Option<R>, StoreError>;

    /// The engagement of a user or a company.
    fn engagement(
        &self,
        tenant: TenantId,
        def: &ResourceDef,
        id: ObjectId,
    ) -> Result<Option<Engagement>, StoreError> {
        self.read((tenant, def.code, id), |row| row.engagement.clone())
    }

    /// The latest activity of a user or a company.
    fn latest_activity(&self, owner: EngagementOwner) -> Result<Option<ObjectId>, StoreError> {
        Ok(self.read(owner, |row| row.latest)?.flatten())
    }
}

/// Rows in a snapshot.
pub(crate) trait ReadEngagement: ReadRows {
    /// Visits the rows of a resource, in no order, until `visit` breaks.
    fn each(
        &self,
        of: (TenantId, u8),
        visit: impl FnMut(ObjectId, &EngagementRow) -> ControlFlow<()>,
    ) -> Result<(), StoreError>;

    /// Owners of a resource who were last active between two times, both included; none where they are more than `max`.
    fn active_between(
        &self,
        of: (TenantId, u8),
        times: &RangeInclusive<Timestamp>,
        max: usize,
    ) -> Result<Option<Vec<ObjectId>>, StoreError> {
        let mut found = Vec::new();
        self.each(of, |id, row| {
            let is_in = row.engagement.last_active().is_some_and(|at| times.contains(&at));
            found.extend(is_in.then_some(id));
            if found.len() > max { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        Ok((found.len() <= max).then_some(found))
    }
}

/// Rows in a transaction: each row is read once and written once, however many events change it.
pub(crate) trait WriteEngagement: ReadRows {
    type Table: WriteRows;

    /// Row of a user or a company, which is written with the others.
    fn row(&mut self, owner: EngagementOwner) -> Result<&mut EngagementRow, StoreError>;

    /// Removes the row of an erased owner.
    fn remove(&mut self, owner: EngagementOwner) -> Result<(), StoreError>;

    /// Removes the rows of a tenant that are not only in the table.
    fn forget_tenant(&mut self, tenant: TenantId);

    /// The table; newer rows may be in memory or in the log.
    fn table(&mut self) -> &mut Self::Table;
}

/// The stored bytes of a row.
pub(crate) fn seal(key: &[u8], row: &EngagementRow) -> Result<Vec<u8>, StoreError> {
    stored_value::seal_row(key, &(row, row.changes))
}

pub(crate) fn load(
    table: &impl Rows,
    owner: EngagementOwner,
) -> Result<Option<EngagementRow>, StoreError> {
    let key = key_of(owner);
    let Some(value) = table.get(key.as_slice())? else { return Ok(None) };
    let (row, changes) =
        stored_value::unseal_row_with_more::<EngagementRow, u64>(&key, value.value())?;
    Ok(Some(EngagementRow { changes, ..row }))
}

/// Key of an owner in the table.
pub(crate) fn key_of((tenant, resource, id): EngagementOwner) -> Vec<u8> {
    keys::record(tenant, resource, id)
}
