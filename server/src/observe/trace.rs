//! Facts of a request that its log line has: its id, and what handlers learn: the tenant, the token, and the received
//! bytes. They belong to the task that serves the request, so that they need not be passed on.

use std::{cell::RefCell, sync::Arc};

use svctrack_core::value::TenantId;
use svctrack_store::KnownToken;

use crate::request_id::RequestId;

tokio::task_local! {
    static TRACE: RefCell<RequestTrace>;
}

/// Facts of the request of a task.
#[derive(Clone, Default)]
pub(crate) struct RequestTrace {
    /// Id of the request; none outside a request.
    pub(crate) request_id: Option<RequestId>,
    /// Tenant of the request, once it is known to exist.
    pub(crate) tenant: Option<TenantId>,
    /// Token of the caller, once it is known.
    pub(crate) token: Option<Arc<KnownToken>>,
    /// Scope that the token lacks, where the request was rejected for it.
    pub(crate) missing_scope: Option<String>,
    /// Bytes of the body that arrived.
    pub(crate) received: u64,
}

/// Serves a request; `served` can read the notes of its handler.
pub(crate) fn scope<T>(
    request_id: RequestId,
    served: impl Future<Output = T>,
) -> impl Future<Output = T> {
    let trace = RequestTrace { request_id: Some(request_id), ..RequestTrace::default() };
    TRACE.scope(trace.into(), served)
}

/// Facts of the request of this task so far.
pub(crate) fn current() -> RequestTrace {
    TRACE.try_with(|trace| trace.borrow().clone()).unwrap_or_default()
}

/// Id of the request of this task; none outside a request.
pub(crate) fn request_id() -> Option<RequestId> {
    TRACE.try_with(|trace| trace.borrow().request_id.clone()).ok().flatten()
}

/// Notes for which tenant the request is.
pub(crate) fn note_tenant(tenant: TenantId) {
    note(|trace| trace.tenant = Some(tenant));
}

/// Notes the token that the request carries, and its tenant.
pub(crate) fn note_token(token: &Arc<KnownToken>) {
    note_tenant(token.record.tenant);
    note(|trace| trace.token = Some(token.clone()));
}

/// Notes the scope for whose lack the request is rejected.
pub(crate) fn note_missing_scope(scope: &str) {
    note(|trace| trace.missing_scope = Some(scope.to_owned()));
}

/// Notes bytes of the body that arrived.
pub(crate) fn note_received(bytes: u64) {
    note(|trace| trace.received = trace.received.saturating_add(bytes));
}

/// Outside a request there is nothing to note.
fn note(noted: impl FnOnce(&mut RequestTrace)) {
    let _ = TRACE.try_with(|trace| noted(&mut trace.borrow_mut()));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request_id::RequestIds;

    #[tokio::test]
    async fn what_is_noted_stays_with_its_request() {
        let (one, other) = (TenantId::from_bytes([1; 16]), TenantId::from_bytes([2; 16]));
        let request = |tenant, bytes| {
            scope(RequestIds::default().next(), async move {
                note_tenant(tenant);
                tokio::task::yield_now().await;
                note_received(bytes);
                note_received(bytes);
                (current().tenant, current().received)
            })
        };
        let noted = tokio::join!(request(one, 3), request(other, 5));
        assert_eq!(noted, ((Some(one), 6), (Some(other), 10)));
        note_tenant(one);
        assert_eq!(current().tenant, None, "outside a request nothing is noted");
    }
}
