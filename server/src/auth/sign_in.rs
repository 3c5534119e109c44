//! Sign-in besides tokens: the link that the first start prints, and a count of failed attempts.

use std::{collections::BTreeMap, time::Duration};

use governor::{Quota, RateLimiter, clock::DefaultClock, state::keyed::HashMapStateStore};
use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use svctrack_core::value::Timestamp;
use svctrack_web::pages::address;
use tokio::time::Instant;

use super::token_format::Token;
use crate::{
    limits::{MAX_SIGN_IN_FAILURES, ONE_TIME_LINK_SECONDS, SESSION_IDLE_MS},
    sender_limits::SenderAddress,
};

/// Number of sessions with noted uses from which on old ones are dropped.
const MAX_USES: usize = 10_000;

/// A link that signs in once, which the first start prints. Its secret is not stored.
struct SignInLink {
    sha256: [u8; 32],
    until: Instant,
    /// Id of the token that it signs in with.
    token: String,
}

/// State of signing in: the link that is open, and the failed attempts of each address.
pub(crate) struct SignIn {
    link: Mutex<Option<SignInLink>>,
    /// Time of the last use of each session, by id.
    used: Mutex<BTreeMap<String, Timestamp>>,
    failures:
        RateLimiter<Option<SenderAddress>, HashMapStateStore<Option<SenderAddress>>, DefaultClock>,
}

impl Default for SignIn {
    fn default() -> Self {
        let failures = RateLimiter::hashmap(Quota::per_minute(MAX_SIGN_IN_FAILURES));
        Self { link: Mutex::new(None), used: Mutex::default(), failures }
    }
}

impl SignIn {
    /// Notes that a session was used.
    pub(crate) fn note_use(&self, session: &str, now: Timestamp) {
        let mut used = self.used.lock();
        if used.len() >= MAX_USES {
            let is_recent =
                |at: &Timestamp| now.as_ms().saturating_sub(at.as_ms()) < SESSION_IDLE_MS;
            used.retain(|_, at| is_recent(at));
        }
        used.insert(session.to_owned(), now);
    }

    /// Time of the last use of a session since this process began.
    pub(crate) fn last_use(&self, session: &str) -> Option<Timestamp> {
        self.used.lock().get(session).copied()
    }

    /// Opens a link for the token with this id; returns its path.
    ///
    /// # Errors
    /// When the machine gives no randomness.
    pub(crate) fn open(&self, token: &str) -> Result<String, getrandom::Error> {
        let secret = Token::generate()?;
        let until = Instant::now() + Duration::from_secs(ONE_TIME_LINK_SECONDS);
        let sha256 = Sha256::digest(secret.reveal()).into();
        *self.link.lock() = Some(SignInLink { sha256, until, token: token.to_owned() });
        Ok(address("/sign-in", &[], &[("once", secret.reveal())]))
    }

    /// Uses a link up; returns the id of its token.
    pub(crate) fn take(&self, secret: &str) -> Option<String> {
        let mut link = self.link.lock();
        let sent: [u8; 32] = Sha256::digest(secret).into();
        let is_it = link.as_ref().is_some_and(|link| {
            link.until > Instant::now() && bool::from(link.sha256.ct_eq(&sent))
        });
        if is_it { link.take().map(|link| link.token) } else { None }
    }

    /// Notes a failed sign-in; returns whether there were too many recently.
    pub(crate) fn note_failure(&self, address: Option<SenderAddress>) -> SignInRate {
        self.failures.retain_recent();
        match self.failures.check_key(&address) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_signs_in_once() {
        let links = SignIn::default();
        let path = links.open("abcdefgh").unwrap();
        let secret = path.strip_prefix("/sign-in?once=").unwrap();
        assert_eq!(links.take("another"), None);
        assert_eq!(links.take(secret).as_deref(), Some("abcdefgh"));
        assert_eq!(links.take(secret), None);
    }
}
