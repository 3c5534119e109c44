//! How many requests are served in a second: of a token, and of a tenant's tracking routes. The
//! operator's limit holds for everybody, a tenant's own where it is lower (R41).

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

impl RateLimits {
    /// The lower of both, each.
    fn with(self, other: Self) -> Self {
        let lower = |a: Option<NonZeroU32>, b| a.into_iter().chain(b).min();
        Self {
            requests: lower(self.requests, other.requests),
            tracking: lower(self.tracking, other.tracking),
        }
    }
}

/// A request that is one too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooMany {
    /// Requests a second.
    pub(crate) limit: NonZeroU32,
    /// How long to wait.
    pub(crate) wait: Duration,
}

type Limiter = DefaultKeyedRateLimiter<Vec<u8>>;

/// Counts requests: one limiter for each rate that is in force, which knows who came when.
#[derive(Default)]
pub(crate) struct RateLimiting {
    /// What holds for everybody.
    operator: RateLimits,
    limiters: Mutex<BTreeMap<NonZeroU32, Arc<Limiter>>>,
}

impl RateLimiting {
    pub(crate) fn new(operator: RateLimits) -> Self {
        Self { operator, ..Self::default() }
    }

    /// Counts a request of a token.
    pub(crate) fn count_request(&self, token: &str, of_tenant: RateLimits) -> Result<(), Error> {
        self.count(self.operator.with(of_tenant).requests, token.as_bytes())
    }

    /// Counts a request to a tracking route of a tenant.
    pub(crate) fn count_tracking(&self, tenant: &[u8], of_tenant: RateLimits) -> Result<(), Error> {
        self.count(self.operator.with(of_tenant).tracking, tenant)
    }

    fn count(&self, limit: Option<NonZeroU32>, key: &[u8]) -> Result<(), Error> {
        let Some(limit) = limit else { return Ok(()) };
        let limiter = self.limiter(limit);
        if limiter.len() > MAX_REMEMBERED {
            limiter.retain_recent();
        }
        limiter.check_key(&key.to_vec()).map_err(|until| {
            let wait = until.wait_time_from(DefaultClock::default().now());
            Error::TooMany(TooMany { limit, wait })
        })
    }

    fn limiter(&self, limit: NonZeroU32) -> Arc<Limiter> {
        let mut limiters = self.limiters.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || {
            let burst = limit.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_SECONDS - 1));
            Arc::new(RateLimiter::keyed(Quota::per_second(limit).allow_burst(burst)))
        };
        limiters.entry(limit).or_insert_with(made).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_limit_holds_and_each_key_has_its_own() {
        let of = |requests| RateLimits { requests: NonZeroU32::new(requests), tracking: None };
        let limiting = RateLimiting::new(of(100));
        let served = |key: &str, limits| {
            (0..1_000).filter(|_| limiting.count_request(key, limits).is_ok()).count()
        };
        // A thousand calls take a moment, in which a few more are allowed.
        assert!((200..250).contains(&served("a", RateLimits::default())));
        assert!((2..10).contains(&served("a", of(1))));
        assert!((200..250).contains(&served("b", of(5_000))));
        assert!(limiting.count_tracking(b"t", RateLimits::default()).is_ok());
    }
}
