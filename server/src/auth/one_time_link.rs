//! The link that the first start prints, with which an operator signs in once without a token.

use std::time::Duration;

use parking_lot::Mutex;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use svctrack_web::pages::address;
use tokio::time::Instant;

use super::token_format::Token;
use crate::limits::ONE_TIME_LINK_SECONDS;

/// A link that was not used yet. Its secret is not stored.
struct OpenLink {
    sha256: [u8; 32],
    until: Instant,
    /// Id of the token that it signs in with.
    token: String,
}

/// The link that is open, if there is one.
#[derive(Default)]
pub(crate) struct OneTimeLink(Mutex<Option<OpenLink>>);

impl OneTimeLink {
    /// Opens a link for the token with this id; returns its path.
    ///
    /// # Errors
    /// When the machine gives no randomness.
    pub(crate) fn open(&self, token: &str) -> Result<String, getrandom::Error> {
        let secret = Token::generate()?;
        let until = Instant::now() + Duration::from_secs(ONE_TIME_LINK_SECONDS);
        let sha256 = Sha256::digest(secret.reveal()).into();
        *self.0.lock() = Some(OpenLink { sha256, until, token: token.to_owned() });
        Ok(address("/sign-in", &[], &[("once", secret.reveal())]))
    }

    /// Uses a link up; returns the id of its token.
    pub(crate) fn take(&self, secret: &str) -> Option<String> {
        let mut link = self.0.lock();
        let sent: [u8; 32] = Sha256::digest(secret).into();
        let is_it = link.as_ref().is_some_and(|link| {
            link.until > Instant::now() && bool::from(link.sha256.ct_eq(&sent))
        });
        if is_it { link.take().map(|link| link.token) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_signs_in_once() {
        let links = OneTimeLink::default();
        let path = links.open("abcdefgh").unwrap();
        let secret = path.strip_prefix("/sign-in?once=").unwrap();
        assert_eq!(links.take("another"), None);
        assert_eq!(links.take(secret).as_deref(), Some("abcdefgh"));
        assert_eq!(links.take(secret), None);
    }
}
