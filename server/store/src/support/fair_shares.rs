//! A limited quantity that is shared fairly: a holder takes no more than what is left to others then. So one alone has
//! at most half, two have a third each, and there is always some left for the next one.

use std::{collections::HashMap, hash::Hash, sync::Arc};

use parking_lot::{Mutex, MutexGuard};

/// A shared total, in units of its owner.
pub struct Shares<K>(Mutex<ShareState<K>>);

struct ShareState<K> {
    free: usize,
    held: HashMap<K, usize>,
}

impl<K: Copy + Eq + Hash> Shares<K> {
    /// A total that is free as a whole.
    pub fn new(total: usize) -> Arc<Self> {
        Arc::new(Self(Mutex::new(ShareState { free: total, held: HashMap::new() })))
    }

    /// Takes an amount, for as long as it is held; none where too little would be left.
    pub fn take(self: &Arc<Self>, holder: K, amount: usize) -> Option<Share<K>> {
        let mut share = Share { shares: self.clone(), holder, amount: 0 };
        share.grow(amount).then_some(share)
    }

    /// Amount that is held by all together.
    pub fn taken(&self) -> usize {
        self.lock().held.values().sum()
    }

    fn lock(&self) -> MutexGuard<'_, ShareState<K>> {
        self.0.lock()
    }
}

/// Amount that a holder has of a shared limit, released when it is dropped.
pub struct Share<K: Copy + Eq + Hash> {
    shares: Arc<Shares<K>>,
    holder: K,
    amount: usize,
}

impl<K: Copy + Eq + Hash> Share<K> {
    /// Amount of the share.
    pub fn amount(&self) -> usize {
        self.amount
    }

    /// Takes more; returns whether there was enough.
    pub fn grow(&mut self, by: usize) -> bool {
        let mut state = self.shares.lock();
        let held = state.held.get(&self.holder).copied().unwrap_or(0).saturating_add(by);
        let left = state.free.checked_sub(by).filter(|left| held <= *left);
        let Some(left) = left else { return false };
        state.free = left;
        state.held.insert(self.holder, held);
        self.amount += by;
        true
    }

    /// Releases a part of the amount.
    pub fn shrink(&mut self, by: usize) {
        let by = by.min(self.amount);
        let mut state = self.shares.lock();
        self.amount -= by;
        state.free += by;
        let held = state.held.get(&self.holder).map_or(0, |held| held.saturating_sub(by));
        match held {
            0 => state.held.remove(&self.holder),
            held => state.held.insert(self.holder, held),
        };
    }
}

impl<K: Copy + Eq + Hash> Drop for Share<K> {
    fn drop(&mut self) {
        self.shrink(self.amount);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_takes_leaves_as_much_to_others() {
        let shares = Shares::new(12);
        let mut first = shares.take('a', 6).unwrap();
        assert!(!first.grow(1) && shares.take('a', 1).is_none());
        let second = shares.take('b', 3).unwrap();
        assert!(shares.take('b', 1).is_none() && shares.take('c', 2).is_none());
        let third = shares.take('c', 1).unwrap();
        first.shrink(4);
        assert_eq!((first.amount(), shares.take('c', 2).is_some()), (2, true));
        drop((first, second, third));
        let state = shares.lock();
        assert_eq!((state.free, state.held.len()), (12, 0));
    }
}
