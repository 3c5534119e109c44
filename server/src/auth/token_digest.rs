//! Hashing of tokens: a store has the SHA-256 of a token, never the token itself (R43).

use sha2::{Digest as _, Sha256};
use svctrack_store::TokenDigest;

use super::token_format::Token;

impl Token {
    /// Public part and hash of the token, which a store has.
    pub fn digest(&self) -> TokenDigest<'_> {
        TokenDigest { id: self.id(), sha256: Sha256::digest(self.reveal().as_bytes()).into() }
    }
}
