//! Failed sign-ins, counted by address, so that no token is guessed.

use governor::{Quota, RateLimiter, clock::DefaultClock, state::keyed::HashMapStateStore};

use crate::{limits::MAX_SIGN_IN_FAILURES, sender_limits::SenderAddress};

/// Failed sign-ins of the last minute.
pub(crate) struct FailedSignIns(
    RateLimiter<Option<SenderAddress>, HashMapStateStore<Option<SenderAddress>>, DefaultClock>,
);

impl Default for FailedSignIns {
    fn default() -> Self {
        Self(RateLimiter::hashmap(Quota::per_minute(MAX_SIGN_IN_FAILURES)))
    }
}

impl FailedSignIns {
    /// Notes a failed sign-in; returns whether there were too many recently.
    pub(crate) fn note(&self, address: Option<SenderAddress>) -> SignInRate {
        self.0.retain_recent();
        match self.0.check_key(&address) {
            Ok(()) => SignInRate::Within,
            Err(_) => SignInRate::Exceeded,
        }
    }
}

/// Rate of failed sign-ins from an address, against its limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SignInRate {
    Within,
    Exceeded,
}
