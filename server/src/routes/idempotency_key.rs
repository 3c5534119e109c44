//! `Idempotency-Key` (R16): a retry has no further effect and returns the same response.
//!
//! The store keeps the outcomes that retries get: `idempotency` in its `rules`.

use poem::{
    Request, Response,
    http::{HeaderName, HeaderValue},
};
use sha2::{Digest as _, Sha256};
use svctrack_core::value::{Timestamp, ValidationError};
use svctrack_store::IdempotencyKey;

use crate::{
    app::App, auth::Caller, error::Error, limits::MAX_IDEMPOTENCY_KEY_BYTES, sender_limits::Sender,
};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Whether a request has a key, so that its body is worth hashing.
pub(super) fn is_asked(request: &Request) -> bool {
    request.headers().contains_key(KEY)
}

/// Hash that identifies a body.
pub(super) fn hash_of(body: &[u8]) -> [u8; 32] {
    Sha256::digest(body).into()
}

/// Reason for which a key is rejected where the response has a secret.
pub(super) const HOLDS_SECRET: &str = "the response contains a secret and is not stored";

pub(super) fn reject(request: &Request, why: &str) -> Result<(), Error> {
    if !is_asked(request) {
        return Ok(());
    }
    let message = format!("`Idempotency-Key` is not supported here: {why}");
    Err(Error::Invalid(vec![ValidationError::of_body("idempotency_key_refused", message)]))
}

/// A running call; meanwhile no other with its key is carried out.
pub(super) struct IdempotentCall<'a> {
    app: &'a App,
    key: Option<IdempotencyKey>,
    /// Sender of events for whom the key is counted, and when that was.
    counted: Option<(Sender, Timestamp)>,
}

impl<'a> IdempotentCall<'a> {
    /// The call of `caller`; `body` hashes its body.
    ///
    /// # Errors
    /// [`Error::BadRequest`] for a key that cannot be used, [`Error::StillRunning`].
    pub(super) fn begin(
        app: &'a App,
        request: &Request,
        caller: &Caller,
        body: impl FnOnce() -> [u8; 32],
    ) -> Result<Self, Error> {
        let Some(key) = request.headers().get(KEY) else {
            return Ok(Self { app, key: None, counted: None });
        };
        if key.is_empty() || key.len() > MAX_IDEMPOTENCY_KEY_BYTES {
            let message = format!(
                "`Idempotency-Key` must have 1 to {MAX_IDEMPOTENCY_KEY_BYTES} bytes; found {}",
                key.len()
            );
            return Err(Error::BadRequest(vec![ValidationError::of_body(
                "invalid_idempotency_key",
                message,
            )]));
        }
        let mut hasher = Sha256::new();
        hasher.update(caller.tenant.id().as_bytes());
        for part in [
            caller.token().unwrap_or_default().as_bytes(),
            request.method().as_str().as_bytes(),
            request.uri().path().as_bytes(),
            key.as_bytes(),
        ] {
            hasher.update(part.len().to_be_bytes());
            hasher.update(part);
        }
        let key = IdempotencyKey { key: hasher.finalize().into(), body: body(), part: None };
        if app.running.begin(key.key) {
            Ok(Self { app, key: Some(key), counted: None })
        } else {
            Err(Error::StillRunning)
        }
    }

    /// The call of a sender of events, who may use a number of keys in a day.
    ///
    /// # Errors
    /// Errors of [`Self::begin`], and [`Error::ExceededAllowance`].
    pub(super) fn of_sender(
        app: &'a App,
        request: &Request,
        sender: &Sender,
        body: impl FnOnce() -> [u8; 32],
    ) -> Result<Self, Error> {
        if !is_asked(request) {
            return Ok(Self { app, key: None, counted: None });
        }
        let now = app.clock.now();
        app.senders.take_key(sender, now)?;
        let begun = Self::begin(app, request, &Caller::of_events(sender.tenant), body);
        let mut begun = begun.inspect_err(|_| app.senders.give_back_key(sender, now))?;
        begun.counted = Some((*sender, now));
        Ok(begun)
    }

    /// Gives back the key of a call that stores none: it was rejected, or the key was stored before.
    pub(super) fn give_back_key(&self) {
        if let Some((sender, at)) = &self.counted {
            self.app.senders.give_back_key(sender, *at);
        }
    }

    /// Key of the call, where it has one.
    pub(super) fn key(&self) -> Option<IdempotencyKey> {
        self.key
    }

    /// Key of one of several commands of the call, in their order.
    pub(super) fn key_of_part(&self, part: u32) -> Option<IdempotencyKey> {
        self.key.map(|whole| IdempotencyKey { part: Some(part), ..whole })
    }
}

impl Drop for IdempotentCall<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.app.running.end(&key.key);
        }
    }
}

/// Whether a reply is an earlier one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replayed(pub(super) bool);

impl Replayed {
    /// Whether a call of several commands is replayed: whether each of them is.
    pub(super) fn all(parts: &[Self]) -> Self {
        Self(!parts.is_empty() && parts.iter().all(|part| part.0))
    }

    /// Adds this to the response.
    pub(super) fn mark(self, response: &mut Response) {
        if self.0 {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
    }
}
