//! The tenants' rate limits, which every request asks for: read once, and forgotten when a tenant's
//! settings change.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use svctrack_core::value::TenantId;

use crate::{rate_limit::RateLimits, store::StoreError};

/// Limits that have been read, and how often all have been forgotten.
#[derive(Debug, Default)]
struct Known {
    generation: u64,
    limits: BTreeMap<TenantId, RateLimits>,
}

/// The limits of tenants: at most one entry a tenant.
#[derive(Debug, Default)]
pub(super) struct KnownLimits(Mutex<Known>);

impl KnownLimits {
    fn lock(&self) -> MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The limits of a tenant; `read` finds them when they are not known.
    pub(super) fn of(
        &self,
        tenant: TenantId,
        read: impl FnOnce() -> Result<RateLimits, StoreError>,
    ) -> Result<RateLimits, StoreError> {
        let generation = {
            let known = self.lock();
            if let Some(limits) = known.limits.get(&tenant) {
                return Ok(*limits);
            }
            known.generation
        };
        let limits = read()?;
        let mut known = self.lock();
        // What was read before a change must not stay behind it.
        if known.generation == generation {
            known.limits.insert(tenant, limits);
        }
        Ok(limits)
    }

    /// Forgets all of them, after a commit that changed settings.
    pub(super) fn forget(&self) {
        let mut known = self.lock();
        known.generation += 1;
        known.limits.clear();
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;

    use super::*;

    #[test]
    fn limits_read_before_a_change_do_not_stay_behind_it() {
        let (known, tenant) = (KnownLimits::default(), TenantId::from_bytes([1; 16]));
        let limited = |limit| RateLimits { requests: NonZeroU32::new(limit), tracking: None };
        let old = known.of(tenant, || {
            known.forget();
            Ok(limited(1))
        });
        assert_eq!(old.unwrap(), limited(1));
        assert_eq!(known.of(tenant, || Ok(limited(2))).unwrap(), limited(2));
        assert_eq!(known.of(tenant, || Ok(limited(3))).unwrap(), limited(2));
        known.forget();
        assert_eq!(known.of(tenant, || Ok(limited(3))).unwrap(), limited(3));
    }
}
