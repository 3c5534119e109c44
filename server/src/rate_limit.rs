//! Rate limits: requests per second of a token, and of a tenant's tracking routes. The operator's limit applies to all
//! tenants, and a tenant's own in addition (R41).

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use governor::{
    Quota, RateLimiter,
    clock::{Clock, DefaultClock},
    middleware::NoOpMiddleware,
    nanos::Nanos,
    state::{
        StateStore,
        keyed::{HashMapStateStore, ShrinkableKeyedStateStore},
    },
};
use parking_lot::Mutex;
use svctrack_core::value::TenantId;
use svctrack_store::RateLimits;

use crate::sender_limits::Sender;

/// Seconds whose requests a burst may have at once.
pub(crate) const BURST_SECONDS: u32 = 2;
/// Maximum number of keys of one limiter before it drops idle ones, which it looks for once in this many requests.
const MAX_REMEMBERED: usize = 10_000;
const FORGETS_EVERY: u32 = 1_000;

/// A request beyond the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LimitExceeded {
    /// Requests a second that are served.
    pub(crate) limit: NonZeroU32,
    /// Time until the next request is served.
    pub(crate) wait: Duration,
}

/// State of each key, shared with its limiter, which has no way to give back what it has counted.
#[derive(Clone, Default)]
struct KeyStates(Arc<HashMapStateStore<Vec<u8>>>);

impl StateStore for KeyStates {
    type Key = Vec<u8>;

    fn measure_and_replace<T, F, E>(&self, key: &Vec<u8>, measure: F) -> Result<T, E>
    where
        F: Fn(Option<Nanos>) -> Result<(T, Nanos), E>,
    {
        self.0.measure_and_replace(key, measure)
    }
}

impl ShrinkableKeyedStateStore<Vec<u8>> for KeyStates {
    fn retain_recent(&self, drop_below: Nanos) {
        self.0.retain_recent(drop_below);
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// Limiter by keys, under a clock.
type KeyedLimiter<C> = RateLimiter<Vec<u8>, KeyStates, C, NoOpMiddleware<<C as Clock>::Instant>>;

/// Counts requests by key, under one limit.
pub(crate) struct Limiter<C: Clock> {
    limit: NonZeroU32,
    keys: KeyedLimiter<C>,
    states: KeyStates,
    /// Time in which one more request is served.
    interval: Nanos,
    counted: AtomicU32,
}

impl<C: Clock + Clone> Limiter<C> {
    pub(crate) fn new(limit: NonZeroU32, clock: &C) -> Self {
        let burst = limit.saturating_mul(NonZeroU32::MIN.saturating_add(BURST_SECONDS - 1));
        let quota = Quota::per_second(limit).allow_burst(burst);
        let states = KeyStates::default();
        let keys = RateLimiter::new(quota, states.clone(), clock.clone());
        let interval = quota.replenish_interval().into();
        Self { limit, keys, states, interval, counted: AtomicU32::new(0) }
    }

    pub(crate) fn count(&self, key: &[u8]) -> Result<(), LimitExceeded> {
        let counted = self.counted.fetch_add(1, Ordering::Relaxed);
        if counted.is_multiple_of(FORGETS_EVERY) && self.keys.len() > MAX_REMEMBERED {
            self.keys.retain_recent();
        }
        self.keys.check_key(&key.to_vec()).map_err(|until| {
            let wait = until.wait_time_from(self.keys.clock().now());
            LimitExceeded { limit: self.limit, wait }
        })
    }

    /// Gives back a request that was counted.
    fn give_back(&self, key: &[u8]) {
        // Of a key that is forgotten, nothing is counted.
        let earlier = |until: Option<Nanos>| {
            until.map(|until| ((), until.saturating_sub(self.interval))).ok_or(())
        };
        let _ = self.states.measure_and_replace(&key.to_vec(), earlier);
    }
}

/// The limiters of the operator, or of a tenant.
struct Limiters<C: Clock> {
    limits: RateLimits,
    requests: Option<Limiter<C>>,
    tracking: Option<Limiter<C>>,
    /// Limiter of each address of a tenant's senders: half of the above, so that one address leaves something to the
    /// others.
    tracking_of_address: Option<Limiter<C>>,
}

impl<C: Clock + Clone> Limiters<C> {
    fn new(limits: RateLimits, clock: &C) -> Self {
        let half = |limit: NonZeroU32| NonZeroU32::new(limit.get() / 2).unwrap_or(NonZeroU32::MIN);
        let limiter = |limit| Limiter::new(limit, clock);
        Self {
            limits,
            requests: limits.requests.map(limiter),
            tracking: limits.tracking.map(limiter),
            tracking_of_address: limits.tracking.map(half).map(limiter),
        }
    }

    /// Counts a call to tracking routes, for its address first: a call beyond one limit counts against neither.
    fn count_tracking(&self, sender: &Sender) -> Result<(), LimitExceeded> {
        let of_address = self.of_address(sender);
        if let Some((limiter, key)) = &of_address {
            limiter.count(key)?;
        }
        let counted = self.tracking.as_ref().map(|limiter| limiter.count(&of_tenant(sender)));
        counted.unwrap_or(Ok(())).inspect_err(|_| {
            if let Some((limiter, key)) = of_address {
                limiter.give_back(&key);
            }
        })
    }

    fn give_back_tracking(&self, sender: &Sender) {
        if let Some((limiter, key)) = self.of_address(sender) {
            limiter.give_back(&key);
        }
        if let Some(limiter) = &self.tracking {
            limiter.give_back(&of_tenant(sender));
        }
    }

    /// Limiter of a sender's address, with its key.
    fn of_address(&self, sender: &Sender) -> Option<(&Limiter<C>, Vec<u8>)> {
        let limiter = self.tracking_of_address.as_ref()?;
        let key = [sender.tenant.id().as_bytes(), sender.address.as_ref()?.as_bytes()].concat();
        Some((limiter, key))
    }
}

/// Key of all senders of a tenant.
fn of_tenant(sender: &Sender) -> [u8; 16] {
    *sender.tenant.id().as_bytes()
}

pub(crate) struct RateLimiting<C: Clock = DefaultClock> {
    operator: Limiters<C>,
    /// Limiters of tenants that limit themselves: one entry each, replaced when their limits change.
    tenants: Mutex<BTreeMap<TenantId, Arc<Limiters<C>>>>,
    clock: C,
}

impl RateLimiting {
    pub(crate) fn new(operator: RateLimits) -> Self {
        Self::with_clock(operator, DefaultClock::default())
    }
}

impl<C: Clock + Clone> RateLimiting<C> {
    fn with_clock(operator: RateLimits, clock: C) -> Self {
        Self { operator: Limiters::new(operator, &clock), tenants: Mutex::default(), clock }
    }

    /// Counts a request of a token.
    pub(crate) fn count_request(
        &self,
        tenant: TenantId,
        token: &str,
        limits: RateLimits,
    ) -> Result<(), LimitExceeded> {
        let own = self.of_tenant(tenant, limits);
        let own = own.as_ref().and_then(|own| own.requests.as_ref());
        let limiters = self.operator.requests.iter().chain(own);
        limiters.into_iter().try_for_each(|limiter| limiter.count(token.as_bytes()))
    }

    /// Counts a call to a tracking route that is to be stored; if it is rejected after all, it must be given back.
    pub(crate) fn count_tracking(&self, sender: &Sender) -> Result<(), LimitExceeded> {
        self.operator.count_tracking(sender)?;
        let own = self.of_tenant(sender.tenant.id(), sender.limits);
        let counted = own.map_or(Ok(()), |own| own.count_tracking(sender));
        counted.inspect_err(|_| self.operator.give_back_tracking(sender))
    }

    /// Gives back a call that was counted and is rejected: it uses up nothing.
    pub(crate) fn give_back_tracking(&self, sender: &Sender) {
        self.operator.give_back_tracking(sender);
        if let Some(own) = self.of_tenant(sender.tenant.id(), sender.limits) {
            own.give_back_tracking(sender);
        }
    }

    /// The limiters of a tenant that has `limits` now.
    fn of_tenant(&self, tenant: TenantId, limits: RateLimits) -> Option<Arc<Limiters<C>>> {
        if limits == RateLimits::default() {
            return None;
        }
        let mut tenants = self.tenants.lock();
        let known = tenants.get(&tenant).filter(|known| known.limits == limits).cloned();
        Some(known.unwrap_or_else(|| {
            let made = Arc::new(Limiters::new(limits, &self.clock));
            tenants.insert(tenant, made.clone());
            made
        }))
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use governor::clock::FakeRelativeClock;

    use super::*;
    use svctrack_store::Tenant;

    const TENANT: TenantId = TenantId::from_bytes([1; 16]);
    const SECOND: Duration = Duration::from_secs(1);

    fn limit_of(requests: u32) -> RateLimits {
        RateLimits { requests: NonZeroU32::new(requests), tracking: None }
    }

    /// Limiters with a clock that only the test moves.
    fn limiting(operator: RateLimits) -> (RateLimiting<FakeRelativeClock>, FakeRelativeClock) {
        let clock = FakeRelativeClock::default();
        (RateLimiting::with_clock(operator, clock.clone()), clock)
    }

    /// Number of a thousand simultaneous requests that are served, with a token of a tenant of its own.
    fn served<C: Clock + Clone>(
        limiting: &RateLimiting<C>,
        key: &str,
        limits: RateLimits,
    ) -> usize {
        let tenant = TenantId::from_bytes([key.as_bytes()[0]; 16]);
        (0..1_000).filter(|_| limiting.count_request(tenant, key, limits).is_ok()).count()
    }

    #[test]
    fn the_lower_limit_holds_and_each_key_has_its_own() {
        let (limiting, clock) = limiting(limit_of(100));
        let served = || {
            [("a", 0), ("b", 1), ("c", 5_000)]
                .map(|(key, own)| served(&limiting, key, limit_of(own)))
        };
        assert_eq!(served(), [200, 2, 200]);
        assert_eq!(served(), [0, 0, 0]);
        clock.advance(SECOND);
        assert_eq!(served(), [100, 1, 100]);
        clock.advance(60 * SECOND);
        assert_eq!(served(), [200, 2, 200]);
    }

    #[test]
    fn a_rejection_has_the_time_to_wait() {
        let (limiting, clock) = limiting(limit_of(10));
        assert_eq!(served(&limiting, "a", limit_of(0)), 20);
        clock.advance(SECOND / 40);
        let Err(rejected) = limiting.count_request(TENANT, "a", limit_of(0)) else {
            panic!("it is served");
        };
        assert_eq!((rejected.limit.get(), rejected.wait), (10, SECOND * 3 / 40));
    }

    #[test]
    fn a_tenant_that_changes_its_limits_gets_no_more_than_the_operator_allows() {
        let (limiting, _) = limiting(limit_of(10));
        let twice = |limit| [limit_of(limit); 2];
        let served = (2..20)
            .flat_map(twice)
            .filter(|limits| limiting.count_request(TENANT, "a", *limits).is_ok());
        assert_eq!(served.count(), 20);
    }

    #[test]
    fn an_address_leaves_half_of_a_tenants_rate_to_others() {
        let tracking = NonZeroU32::new(100);
        let (limiting, _) = limiting(RateLimits { tracking, ..RateLimits::default() });
        let sent = |address: &str| {
            let address = address.parse().ok().map(IpAddr::into);
            let tenant = Tenant::assume_authorized(TENANT);
            let sender = Sender { tenant, limits: RateLimits::default(), address };
            (0..1_000).filter(|_| limiting.count_tracking(&sender).is_ok()).count()
        };
        assert_eq!(["192.0.2.1", "192.0.2.2", ""].map(sent), [100, 100, 0]);
    }

    #[test]
    fn what_is_given_back_can_be_used_once_more() {
        let operator = RateLimits { tracking: NonZeroU32::new(100), ..RateLimits::default() };
        let (limiting, clock) = limiting(operator);
        let tenant = Tenant::assume_authorized(TENANT);
        let address = "192.0.2.1".parse().ok().map(IpAddr::into);
        let limits = RateLimits { tracking: NonZeroU32::new(80), ..RateLimits::default() };
        let sender = Sender { tenant, limits, address };
        let sent = || (0..1_000).filter(|_| limiting.count_tracking(&sender).is_ok()).count();
        limiting.give_back_tracking(&sender);
        assert_eq!(sent(), 80);
        (0..7).for_each(|_| limiting.give_back_tracking(&sender));
        assert_eq!(sent(), 7);
        clock.advance(60 * SECOND);
        limiting.give_back_tracking(&sender);
        assert_eq!(sent(), 80);
    }

    #[test]
    fn keys_that_are_quiet_are_forgotten() {
        let (limiting, clock) = limiting(limit_of(1));
        for key in 0..=MAX_REMEMBERED {
            assert!(limiting.count_request(TENANT, &key.to_string(), limit_of(0)).is_ok());
        }
        clock.advance(60 * SECOND);
        let keys = &limiting.operator.requests.as_ref().unwrap().keys;
        assert!(keys.len() > MAX_REMEMBERED);
        served(&limiting, "a", limit_of(0));
        assert_eq!(keys.len(), 1);
    }
}
