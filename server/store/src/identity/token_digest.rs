//! The hash of an API token, by which a store recognizes it (R43).

use base64::{Engine as _, engine::general_purpose::STANDARD};

/// Facts of a token that a store knows.
#[derive(Clone, Copy)]
pub struct TokenDigest<'t> {
    /// Public part of the token, by which it is looked up.
    pub id: &'t str,
    /// SHA-256 of the whole token.
    pub sha256: [u8; 32],
}

impl TokenDigest<'_> {
    /// The hash in base64.
    pub(super) fn hash(&self) -> String {
        STANDARD.encode(self.sha256)
    }
}
