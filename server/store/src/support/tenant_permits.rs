//! Permits of work that may take long: a limited number at a time, of each tenant and in all, so that no tenant waits
//! for all the work of another one.

use std::{
    collections::BTreeMap,
    sync::{Arc, Weak},
};

use parking_lot::Mutex;
use svctrack_core::value::TenantId;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, SemaphorePermit};

/// Permits of one kind of work.
pub struct TenantPermits {
    /// Permits of all tenants, in the order of requests; a tenant requests no more than it may have.
    all: Arc<Semaphore>,
    of_each: usize,
    /// Permits of the tenants that have one or wait for one.
    of_tenant: Mutex<BTreeMap<TenantId, Weak<Semaphore>>>,
}

/// A permit, for as long as it is held.
pub struct TenantPermit {
    _of_all: OwnedSemaphorePermit,
    _of_tenant: OwnedSemaphorePermit,
}

impl TenantPermits {
    /// A number of permits in all, and a number of each tenant.
    pub fn new(all: usize, of_each: usize) -> Self {
        Self { all: Arc::new(Semaphore::new(all)), of_each, of_tenant: Mutex::default() }
    }

    /// Waits for a turn.
    ///
    /// # Errors
    /// Never: the permits are not closed.
    pub async fn take(&self, tenant: TenantId) -> Result<TenantPermit, AcquireError> {
        let of_tenant = self.for_tenant(tenant).acquire_owned().await?;
        let of_all = self.all.clone().acquire_owned().await?;
        Ok(TenantPermit { _of_all: of_all, _of_tenant: of_tenant })
    }

    /// Permits that nobody waits for.
    pub(crate) fn spare(&self) -> SparePermits {
        SparePermits(self.all.clone())
    }

    fn for_tenant(&self, tenant: TenantId) -> Arc<Semaphore> {
        let mut of_tenant = self.of_tenant.lock();
        if let Some(known) = of_tenant.get(&tenant).and_then(Weak::upgrade) {
            return known;
        }
        of_tenant.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Semaphore::new(self.of_each));
        of_tenant.insert(tenant, Arc::downgrade(&turns));
        turns
    }
}

/// Permits that may be taken besides one's own, where there are any.
pub(crate) struct SparePermits(Arc<Semaphore>);

impl SparePermits {
    /// A permit, for as long as it is held; none where all are.
    pub(crate) fn take(&self) -> Option<SemaphorePermit<'_>> {
        self.0.try_acquire().ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    fn tenant(number: u8) -> TenantId {
        TenantId::from_bytes([number; 16])
    }

    #[test]
    fn a_tenant_that_asks_for_many_leaves_turns_to_others() {
        let turns = TenantPermits::new(2, 1);
        let first = turns.take(tenant(1)).now_or_never().unwrap().unwrap();
        let mut second = Box::pin(turns.take(tenant(1)));
        assert!(second.as_mut().now_or_never().is_none());
        let other = turns.take(tenant(2)).now_or_never();
        assert!(other.is_some());
        drop(first);
        assert!(second.now_or_never().is_some());
    }

    #[test]
    fn tenants_that_wait_have_turns_one_after_the_other() {
        let turns = TenantPermits::new(1, 1);
        let busy = turns.take(tenant(1)).now_or_never().unwrap().unwrap();
        let mut again = Box::pin(turns.take(tenant(1)));
        let mut other = Box::pin(turns.take(tenant(2)));
        assert!(again.as_mut().now_or_never().is_none());
        assert!(other.as_mut().now_or_never().is_none());
        drop(busy);
        assert!(again.as_mut().now_or_never().is_none());
        assert!(other.now_or_never().is_some());
    }

    #[test]
    fn tenants_who_ask_for_nothing_are_forgotten() {
        let turns = TenantPermits::new(1, 1);
        for number in 0..9 {
            turns.take(tenant(number)).now_or_never().unwrap().unwrap();
        }
        assert_eq!(turns.of_tenant.lock().len(), 1);
    }

    #[test]
    fn a_turn_that_nobody_waits_for_can_be_had_besides() {
        let turns = TenantPermits::new(2, 1);
        let spare = turns.spare();
        let own = turns.take(tenant(1)).now_or_never().unwrap().unwrap();
        let besides = spare.take();
        assert!(besides.is_some() && spare.take().is_none());
        let mut waits = Box::pin(turns.take(tenant(2)));
        assert!((&mut waits).now_or_never().is_none());
        drop(own);
        assert!(spare.take().is_none());
        assert!(waits.now_or_never().is_some());
    }
}
