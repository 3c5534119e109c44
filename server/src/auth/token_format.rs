//! API tokens: `svt_` + 8 base62 characters of id + `_` + 43 of secret + 6 of checksum (R43).

use std::fmt;

use svctrack_core::audit::TOKEN_ID_CHARS;

const PREFIX: &str = "svt_";
const SECRET_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Random bytes from this value on are drawn again, so that all 62 characters are equally likely.
const FAIR_BYTES: u8 = 248;

/// A well-formed token. Its text is a secret, shown once and never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Draws a new token.
    ///
    /// # Errors
    /// When the machine gives no randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut text =
            format!("{PREFIX}{}_{}", random_text(TOKEN_ID_CHARS)?, random_text(SECRET_CHARS)?);
        text.extend(checksum(&text).map(char::from));
        Ok(Self(text))
    }

    /// Reads a token; its checksum rejects garbage without a look-up.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (id, secret) = rest.split_once('_')?;
        let base62 = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let sized = id.len() == TOKEN_ID_CHARS && secret.len() == SECRET_CHARS + CHECKSUM_CHARS;
        if !sized || !base62(id) || !base62(secret) {
            return None;
        }
        let (body, sum) = text.split_at_checked(text.len() - CHECKSUM_CHARS)?;
        (checksum(body) == sum.as_bytes()).then(|| Self(text.to_owned()))
    }

    /// Public part of the token, by which it is looked up.
    pub fn id(&self) -> &str {
        self.0.get(PREFIX.len()..PREFIX.len() + TOKEN_ID_CHARS).unwrap_or_default()
    }

    /// The whole token, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

/// A token in a log shows only its id.
impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Token({})", self.id())
    }
}

fn random_text(chars: usize) -> Result<String, getrandom::Error> {
    let mut text = String::with_capacity(chars);
    let mut bytes = [0; 64];
    while text.len() < chars {
        getrandom::fill(&mut bytes)?;
        let fair = bytes.iter().filter(|byte| **byte < FAIR_BYTES);
        let digits = fair.filter_map(|byte| ALPHABET.get(usize::from(byte % 62)));
        text.extend(digits.take(chars - text.len()).map(|digit| char::from(*digit)));
    }
    Ok(text)
}

/// The CRC-32 of `text` in six base62 digits, padded with leading zeros.
fn checksum(text: &str) -> [u8; CHECKSUM_CHARS] {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET.get((rest % 62) as usize).copied().unwrap_or(b'0');
        rest /= 62;
    }
    digits
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use svctrack_core::value::{TenantId, Timestamp};

    use super::*;
    use svctrack_store::TokenRecord;

    #[test]
    fn a_drawn_token_is_read_back() {
        let token = Token::generate().unwrap();
        assert_eq!(token.reveal().len(), 4 + 8 + 1 + 43 + 6);
        assert_eq!(Token::parse(token.reveal()), Some(token.clone()));
        assert_ne!(Token::generate().unwrap(), token);
    }

    #[test]
    fn a_known_checksum_is_that_of_the_contract() {
        // The CRC-32 of "123456789" is 3421780262, the published check value.
        assert_eq!(checksum("123456789"), *b"3jZRME");
        assert_eq!(checksum(""), *b"000000");
    }

    #[test]
    fn a_slip_of_the_pen_is_seen() {
        let text = Token::generate().unwrap().reveal().to_owned();
        for at in 4..text.len() {
            let mut other = text.clone().into_bytes();
            other[at] = if other[at] == b'a' { b'b' } else { b'a' };
            assert_eq!(Token::parse(std::str::from_utf8(&other).unwrap()), None, "{at}");
        }
        for other in ["", "svt_", "svt__", &text[..text.len() - 1], &text.replace("svt", "svx")] {
            assert_eq!(Token::parse(other), None, "{other}");
        }
    }

    #[test]
    fn a_token_never_shows_in_a_log() {
        let token = Token::generate().unwrap();
        let (digest, tenant) = (token.digest(), TenantId::from_bytes([0; 16]));
        let record = TokenRecord::of_everything(digest, tenant, "", Timestamp::MIN);
        assert!(record.is_of(digest) && !record.is_of(Token::generate().unwrap().digest()));
        let secret = &token.reveal()[13..];
        let shown = format!("{token:?}{record:?}");
        assert!(!shown.contains(secret) && !shown.contains(&STANDARD.encode(digest.sha256)));
    }
}
