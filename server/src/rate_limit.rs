//! How many requests are served in a second: of a token, and of a tenant's tracking routes. The
//! operator's limit holds for everybody, a tenant's own beside it (R41).

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use governor::{
    DefaultKeyedRateLimiter, Quota, RateLimiter,
    clock::{Clock as _, DefaultClock},
};
use svctrack_core::value::TenantId;

use crate::error::Error;

/// A burst may have as many requests as this many seconds allow.
pub(crate) const BURST_SECONDS: u32 = 2;
/// Keys that one limiter remembers before it forgets those who have been quiet.
const MAX_REMEMBERED: usize = 10_000;

/// Limits in requests a second; none where nothing limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Of each token.
    pub requests: Option<NonZeroU32>,
    /// Of each tenant's tracking routes.
    pub tracking: Option<NonZeroU32>,
}

/// A request that is one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// Requests a second.
    pub(crate) limit: NonZeroU32,
    /// How long to wait.
    pub(crate) wait: Duration,
}

/// Counts requests by key, under one limit.
struct Limiter {
    limit: NonZeroU32,
    keys: DefaultKeyedRateLimiter<Vec<u8>>,
}

impl Limiter {
    fn new(limit: NonZeroU32) -> Self {
        let burst = limit.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_SECONDS - 1));
        Self { limit, keys: RateLimiter::keyed(Quota::per_second(limit).allow_burst(burst)) }
    }

    fn count(&self, key: &[u8]) -> Result<(), Error> {
        if self.keys.len() > MAX_REMEMBERED {
            self.keys.retain_recent();
        }
        self.keys.check_key(&key.to_vec()).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Error::TooMany(TooMany { limit: self.limit, wait })
        })
    }
}

/// The limiters of the operator, or of a tenant.
struct Limiters {
    limits: RateLimits,
    requests: Option<Limiter>,
    tracking: Option<Limiter>,
}

impl Limiters {
    fn new(limits: RateLimits) -> Self {
        let requests = limits.requests.map(Limiter::new);
        Self { limits, requests, tracking: limits.tracking.map(Limiter::new) }
    }
}

/// Counts requests.
pub(crate) struct RateLimiting {
    operator: Limiters,
    /// Those of tenants that limit themselves: one entry each, made anew when their limits change.
    tenants: Mutex<BTreeMap<TenantId, Arc<Limiters>>>,
}

impl RateLimiting {
    pub(crate) fn new(operator: RateLimits) -> Self {
        Self { operator: Limiters::new(operator), tenants: Mutex::default() }
    }

    /// Counts a request of a token.
    pub(crate) fn count_request(
        &self,
        tenant: TenantId,
        token: &str,
        limits: RateLimits,
    ) -> Result<(), Error> {
        let own = self.of_tenant(tenant, limits);
        let own = own.as_ref().and_then(|own| own.requests.as_ref());
        let limiters = self.operator.requests.iter().chain(own);
        limiters.into_iter().try_for_each(|limiter| limiter.count(token.as_bytes()))
    }

    /// Counts a request to a tracking route of a tenant.
    pub(crate) fn count_tracking(&self, tenant: TenantId, limits: RateLimits) -> Result<(), Error> {
        let own = self.of_tenant(tenant, limits);
        let own = own.as_ref().and_then(|own| own.tracking.as_ref());
        let limiters = self.operator.tracking.iter().chain(own);
        limiters.into_iter().try_for_each(|limiter| limiter.count(tenant.as_bytes()))
    }

    /// The limiters of a tenant that has `limits` now.
    fn of_tenant(&self, tenant: TenantId, limits: RateLimits) -> Option<Arc<Limiters>> {
        if limits == RateLimits::default() {
            return None;
        }
        let mut tenants = self.tenants.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tenants.get(&tenant).filter(|known| known.limits == limits).cloned();
        Some(known.unwrap_or_else(|| {
            let made = Arc::new(Limiters::new(limits));
            tenants.insert(tenant, made.clone());
            made
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TENANT: TenantId = TenantId::from_bytes([1; 16]);

    fn of(requests: u32) -> RateLimits {
        RateLimits { requests: NonZeroU32::new(requests), tracking: None }
    }

    /// How many of a thousand requests are served; they take a moment, in which a few more are allowed.
    fn served(limiting: &RateLimiting, key: &str, limits: RateLimits) -> usize {
        (0..1_000).filter(|_| limiting.count_request(TENANT, key, limits).is_ok()).count()
    }

    #[test]
    fn the_lower_limit_holds_and_each_key_has_its_own() {
        let limiting = RateLimiting::new(of(100));
        assert!((200..250).contains(&served(&limiting, "a", RateLimits::default())));
        assert!((2..10).contains(&served(&limiting, "b", of(1))));
        assert!((200..250).contains(&served(&limiting, "c", of(5_000))));
        assert!(limiting.count_tracking(TENANT, RateLimits::default()).is_ok());
    }

    #[test]
    fn a_tenant_that_changes_its_limits_gets_no_more_than_the_operator_allows() {
        let limiting = RateLimiting::new(of(10));
        let served: usize = (2..20).map(|limit| served(&limiting, "a", of(limit))).sum();
        assert!(served < 40, "{served}");
    }
}
