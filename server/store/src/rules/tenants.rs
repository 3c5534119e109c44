//! Tenants, whose rows are found without a tenant.

use svctrack_core::{
    access::TenantChange,
    plan::{self, Ctx},
    value::{TenantId, ValidationError, quoted::quoted},
};

use super::{
    apply::apply,
    open_tables::{Tables, Transaction},
    pending::Pending,
    tenant_view::TenantView,
    tokens::{add_token, rejected, too_many},
};
use crate::{
    Actor, Precondition, Reply, StoreError, Tenant, TenantRecord, TenantState, TokenRecord,
    rows::{
        Bytes as _, Rows, Snapshot, TENANTS, WriteRows as _,
        stored_value::{seal_json, unseal_json},
    },
};

/// Maximum number of tenants of a store: a list of them is returned as a whole.
const MAX_TENANTS: u64 = 10_000;

pub(crate) fn list(
    snapshot: &impl Snapshot,
    limit: usize,
) -> Result<Vec<TenantRecord>, StoreError> {
    let table = snapshot.open(TENANTS)?;
    let mut tenants = Vec::new();
    for row in table.iter()?.take(limit) {
        let (key, value) = row?;
        tenants.push(unseal_json(key.value(), value.value())?);
    }
    Ok(tenants)
}

/// A tenant, also one that is being deleted.
pub(crate) fn load(table: &impl Rows, id: TenantId) -> Result<Option<TenantRecord>, StoreError> {
    let key = id.as_bytes().as_slice();
    table.get(key)?.map(|row| unseal_json(key, row.value())).transpose()
}

/// Whether commands of a tenant are carried out: nothing may be added to one that is being deleted, or was deleted.
pub(crate) fn is_served(table: &impl Rows, id: TenantId) -> Result<bool, StoreError> {
    Ok(load(table, id)?.is_some_and(|tenant| tenant.state != TenantState::Deleting))
}

/// Whether there is another tenant that is not being deleted.
pub(crate) fn is_another_served(table: &impl Rows, id: TenantId) -> Result<bool, StoreError> {
    for row in table.iter()? {
        let (key, value) = row?;
        let tenant: TenantRecord = unseal_json(key.value(), value.value())?;
        if tenant.id != id && tenant.state != TenantState::Deleting {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Writes the row of a tenant.
pub(crate) fn put(
    tables: &mut Tables<impl Transaction>,
    tenant: &TenantRecord,
) -> Result<(), StoreError> {
    let key = tenant.id.as_bytes().as_slice();
    tables.tenants.insert(key, seal_json(key, tenant)?.as_slice())?;
    Ok(())
}

/// Changes a tenant; one that is being deleted does not exist.
pub(crate) fn change(
    tables: &mut Tables<impl Transaction>,
    id: TenantId,
    change: &TenantChange,
    precondition: &Precondition,
) -> Result<Result<Reply, StoreError>, StoreError> {
    let known = load(&tables.tenants, id)?;
    let Some(mut tenant) = known.filter(|tenant| tenant.state != TenantState::Deleting) else {
        return Ok(Err(StoreError::TenantNotFound));
    };
    if !precondition.allows(id, tenant.version()) {
        return Ok(Err(StoreError::Changed));
    }
    tenant.change(change.clone());
    put(tables, &tenant)?;
    Ok(Ok(Reply::Tenant(Box::new(tenant))))
}

/// Creates a tenant: its row, its settings, and its first token. An existing tenant stays as it is, and gets the token.
/// A command is rejected before anything is written.
pub(crate) fn add_tenant(
    actor: &Actor,
    tenant: &TenantRecord,
    token: &TokenRecord,
    tables: &mut Tables<impl Transaction>,
    pending: &mut Pending,
    ctx: &mut Ctx,
) -> Result<Result<Reply, StoreError>, StoreError> {
    if tables.tenants.len()? >= MAX_TENANTS {
        return Ok(Err(too_many("too_many_tenants", "tenants", MAX_TENANTS)));
    }
    let own = Actor { user: None, ..actor.in_tenant(Tenant::assume_authorized(token.tenant)) };
    match load(&tables.tenants, tenant.id)?.map(|known| known.state) {
        None => {}
        Some(TenantState::Deleting) => return Ok(Err(being_deleted(tenant.id))),
        Some(_) => return add_token(&own, token, None, tables, pending, ctx),
    }
    let settings = plan::settings(&TenantView::in_transaction(tenant.id, tables), ctx);
    let changes = match settings.map_err(StoreError::from) {
        Ok(changes) => changes,
        Err(error) => return rejected(error),
    };
    apply(tables, pending, &own, ctx.now, &changes)?;
    put(tables, tenant)?;
    add_token(&own, token, None, tables, pending, ctx)
}

fn being_deleted(tenant: TenantId) -> StoreError {
    let message = format!("the tenant {} is being deleted", quoted(&tenant.to_string()));
    StoreError::Conflict(vec![ValidationError::of_body("tenant_being_deleted", message)])
}
