//! Last rejected single event of each tenant. It is not stored; the setup page shows it to a developer who waits there
//! for the first event. A restart forgets it.

use std::collections::HashMap;

use parking_lot::Mutex;
use svctrack_core::{plan::Finding, value::TenantId};

/// Rejected event by tenant, so that there are no more of them than tenants.
#[derive(Default)]
pub(crate) struct RejectedEvents(Mutex<HashMap<TenantId, Finding>>);

impl RejectedEvents {
    /// Notes the problem of an event; a repeated one is counted.
    pub(crate) fn note(&self, tenant: TenantId, mut finding: Finding) {
        let mut last = self.0.lock();
        if let Some(before) = last.get(&tenant).filter(|before| before.message == finding.message) {
            finding.count += before.count;
        }
        last.insert(tenant, finding);
    }

    /// Last rejected event of a tenant.
    pub(crate) fn last_of(&self, tenant: TenantId) -> Option<Finding> {
        self.0.lock().get(&tenant).cloned()
    }
}
