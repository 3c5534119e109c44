//! What is removed when it has been kept for its time: ids of events, events that wait in vain, old
//! entries of the report. A round at a time, each tenant's in its turn among other writes.

use std::{panic::AssertUnwindSafe, sync::Arc, time::Duration};

use futures_util::FutureExt as _;
use tokio::task::spawn_blocking;

use crate::{
    auth::tenant_by_operator,
    observe::panic_message,
    store::{Actor, Command, Reply, Store, StoreError},
};

/// Pause between two rounds: what is kept for days may stay some minutes longer.
const PAUSE: Duration = Duration::from_secs(10 * 60);

/// Removes what is old, round by round, for as long as the server runs.
pub(crate) async fn run(store: Arc<dyn Store>) {
    loop {
        match AssertUnwindSafe(round(&store)).catch_unwind().await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(cause = %error, "a round of removing was cut short"),
            Err(panic) => {
                tracing::error!(cause = panic_message(&*panic), "a round of removing panicked");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Sweeps a tenant to the end.
async fn sweep(store: &Arc<dyn Store>, actor: Actor) -> Result<(), StoreError> {
    while let Reply::Swept(true) = store.write(actor.clone(), Command::Sweep).await? {}
    Ok(())
}

/// Sweeps every tenant; one that cannot be swept now keeps no other from it.
async fn round(store: &Arc<dyn Store>) -> Result<(), StoreError> {
    let of_tenants = store.clone();
    let tenants = spawn_blocking(move || of_tenants.tenants(usize::MAX)).await;
    let tenants = tenants.map_err(|error| StoreError::Internal(error.to_string()))??;
    for tenant in tenants {
        let actor = Actor { tenant: tenant_by_operator(tenant.id), token: None, user: None };
        if let Err(error) = sweep(store, actor).await {
            tracing::warn!(tenant = %tenant.id, cause = %error, "a tenant was not swept to the end");
        }
    }
    Ok(())
}
