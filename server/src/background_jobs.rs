//! Background work. Data is removed after its retention period: ids of events, events that stayed parked, old entries
//! of the report; a cleanup at a time, each tenant's in its turn among other writes. The remaining data of deleted
//! tenants is removed too. Licenses with automatic renewal are renewed. And a slow scrub checks all data for
//! corruption.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use svctrack_core::value::TenantId;
use svctrack_store::{
    Actor, AutoRenewal, ScrubProgress, Store, StoreError, Tenant, TenantState,
    support::panics::panic_message,
};

use crate::{
    app::App,
    observe::{Observability, recent_totals::NOTED_EVERY},
};

/// Pause between two cleanups: data retained for days may stay some minutes longer.
const PAUSE: Duration = Duration::from_secs(10 * 60);

/// Pause between two cleanup commands, of a few milliseconds each: most of the writer's time is left to others, and
/// some 15,000 rows are removed in a second.
const SWEEP_PAUSE: Duration = Duration::from_millis(10);

/// Pause before access that was denied is written down: attempts are counted by the minute.
const DENIALS_EVERY: Duration = Duration::from_secs(60);

/// Pause between two steps of a scrub: some 5 MB a second, 10 GB in an hour.
const SCRUB_PAUSE: Duration = Duration::from_millis(50);
/// Pause before each scrub, but for the first.
const SCRUB_EVERY: Duration = Duration::from_secs(24 * 60 * 60);
/// Pause before the first scrub, so that a start has the disk for itself.
const FIRST_SCRUB_AFTER: Duration = Duration::from_secs(60 * 60);

/// Scrubs the store, again and again, for as long as the server runs.
pub(crate) async fn scrub(store: Arc<dyn Store>) {
    tokio::time::sleep(FIRST_SCRUB_AFTER).await;
    loop {
        match scrub_once(&store).await {
            Ok(ScrubProgress { rows, damaged: 0, .. }) => {
                tracing::info!(rows, "scrub finished")
            }
            Ok(ScrubProgress { rows, damaged, .. }) => {
                tracing::error!(
                    rows,
                    corrupted_rows = damaged,
                    "scrub found corrupted data: run `svctrack verify`"
                );
            }
            Err(error) => {
                tracing::warn!(cause = %error, "scrub aborted")
            }
        }
        tokio::time::sleep(SCRUB_EVERY).await;
    }
}

async fn scrub_once(store: &Arc<dyn Store>) -> Result<ScrubProgress, StoreError> {
    let mut scrub = ScrubProgress::default();
    while !scrub.is_over {
        scrub = store.scrub(scrub).await?;
        tokio::time::sleep(SCRUB_PAUSE).await;
    }
    Ok(scrub)
}

/// Writes down access that was denied, each minute, for as long as the server runs.
pub(crate) async fn audit_denials(app: Arc<App>) {
    loop {
        tokio::time::sleep(DENIALS_EVERY).await;
        app.write_denials(false).await;
    }
}

/// Notes the number of requests, for the rates of the last minute, for as long as the server runs.
pub(crate) async fn note_totals(observe: Arc<Observability>) {
    loop {
        tokio::time::sleep(NOTED_EVERY).await;
        observe.recent.note(observe.requests.totals());
    }
}

/// Runs cleanups, round by round, for as long as the server runs.
pub(crate) async fn run(store: Arc<dyn Store>) {
    loop {
        match AssertUnwindSafe(round(&store)).catch_unwind().await {
            Ok(Ok(())) => tracing::debug!("cleanup finished"),
            Ok(Err(error)) => tracing::warn!(cause = %error, "cleanup failed"),
            Err(panic) => {
                tracing::error!(cause = panic_message(&*panic), "cleanup panicked");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sweeps a tenant to the end.
async fn sweep(store: &Arc<dyn Store>, actor: Actor) -> Result<(), StoreError> {
    while store.sweep(actor.clone()).await? {
        tokio::time::sleep(SWEEP_PAUSE).await;
    }
    Ok(())
}

/// Renews the due licenses of a tenant that renew automatically, up to a number of them.
async fn renew(store: &Arc<dyn Store>, actor: Actor) -> Result<(), StoreError> {
    let mut round = AutoRenewal::default();
    loop {
        round = store.auto_renew(actor.clone(), round).await?;
        if round.is_over {
            break;
        }
        tokio::time::sleep(SWEEP_PAUSE).await;
    }
    if round.renewed + round.failed > 0 {
        let (renewed, failed) = (round.renewed, round.failed);
        tracing::info!(tenant = %actor.tenant.id(), renewed, failed, "licenses renewed");
    }
    Ok(())
}

/// Cleans up every tenant and renews its licenses; a failure for one does not affect the others.
///
/// # Errors
/// When the tenants cannot be read.
pub async fn round(store: &Arc<dyn Store>) -> Result<(), StoreError> {
    let tenants = store.tenants(usize::MAX).await?;
    let (deleted, served): (Vec<_>, Vec<_>) =
        tenants.into_iter().partition(|tenant| tenant.state == TenantState::Deleting);
    if let Err(error) = sweep(store, Actor::operator()).await {
        tracing::warn!(cause = %error, "cleanup of the operator's audit log failed");
    }
    for tenant in served {
        let actor = Actor::service(Tenant::assume_authorized(tenant.id));
        if let Err(error) = sweep(store, actor.clone()).await {
            tracing::warn!(tenant = %tenant.id, cause = %error, "cleanup of a tenant failed");
        }
        if let Err(error) = renew(store, actor).await {
            tracing::warn!(tenant = %tenant.id, cause = %error, "renewal of licenses failed");
        }
    }
    // The caller of a deletion may have been stopped.
    for tenant in deleted {
        delete_tenant(store.clone(), tenant.id).await;
    }
    Ok(())
}

/// Removes all data of a deleted tenant (R57). Where it cannot, the next cleanup continues.
pub(crate) async fn delete_tenant(store: Arc<dyn Store>, tenant: TenantId) {
    let actor = Actor::service(Tenant::assume_authorized(tenant));
    loop {
        match store.continue_deletion(actor.clone()).await {
            Ok(true) => tokio::time::sleep(SWEEP_PAUSE).await,
            Ok(false) => return tracing::info!(%tenant, "tenant deleted"),
            Err(error) => {
                return tracing::warn!(%tenant, cause = %error, "tenant deletion interrupted");
            }
        }
    }
}
