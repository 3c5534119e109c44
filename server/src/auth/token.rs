//! API tokens: `svt_` + 8 base62 characters of id + `_` + 43 of secret + 6 of checksum (R43).

use std::{collections::BTreeSet, fmt};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;
use svctrack_core::{
    access::{Issuer, NewToken, OPERATOR, Rotation},
    value::{Document, Json, ObjectId, TenantId, Timestamp},
};

use super::{KnownTenant, Tenant};

const PREFIX: &str = "svt_";
const ID_CHARS: usize = 8;
const SECRET_CHARS: usize = 43;
const CHECKSUM_CHARS: usize = 6;
const ALPHABET: &[u8; 62] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
/// Random bytes at or above this are drawn again, so that all 62 characters are equally likely.
const FAIR_BYTES: u8 = 248;

/// A token that is well formed. Its text is a secret, shown once and never logged.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Draws a new token.
    ///
    /// # Errors
    /// When the machine gives no randomness.
    pub fn generate() -> Result<Self, getrandom::Error> {
        let mut text = format!("{PREFIX}{}_{}", random_text(ID_CHARS)?, random_text(SECRET_CHARS)?);
        text.extend(checksum(&text).map(char::from));
        Ok(Self(text))
    }

    /// Reads a token; garbage is refused by its checksum, without a look-up.
    pub fn parse(text: &str) -> Option<Self> {
        let rest = text.strip_prefix(PREFIX)?;
        let (id, secret) = rest.split_once('_')?;
        let base62 = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let sized = id.len() == ID_CHARS && secret.len() == SECRET_CHARS + CHECKSUM_CHARS;
        if !sized || !base62(id) || !base62(secret) {
            return None;
        }
        let (body, sum) = text.split_at_checked(text.len() - CHECKSUM_CHARS)?;
        (checksum(body) == sum.as_bytes()).then(|| Self(text.to_owned()))
    }

    /// Its public part, by which it is looked up.
    pub fn id(&self) -> &str {
        self.0.get(PREFIX.len()..PREFIX.len() + ID_CHARS).unwrap_or_default()
    }

    /// The whole token, to be shown once.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn hash(&self) -> String {
        STANDARD.encode(Sha256::digest(self.0.as_bytes()))
    }
}

/// A token in a log shows its id alone.
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

/// The CRC-32 of `text` in six base62 digits, padded with zeros in front.
fn checksum(text: &str) -> [u8; CHECKSUM_CHARS] {
    let mut rest = crc32fast::hash(text.as_bytes());
    let mut digits = [b'0'; CHECKSUM_CHARS];
    for digit in digits.iter_mut().rev() {
        *digit = ALPHABET.get((rest % 62) as usize).copied().unwrap_or(b'0');
        rest /= 62;
    }
    digits
}

/// The stored record of a token: never the token itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// Its public part.
    pub id: String,
    /// Its tenant; for an operator's token, [`super::Tenant::OPERATOR`].
    pub tenant: TenantId,
    /// SHA-256 of the whole token, in base64.
    hash: String,
    /// What it is for, in its owner's words.
    pub label: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// The user that it acts as.
    pub user_id: Option<ObjectId>,
    /// When it was created.
    pub created_at: Timestamp,
    /// Expiry date; none when it does not expire.
    pub expires_at: Option<Timestamp>,
    /// When it was last used, to the minute.
    #[serde(default)]
    pub last_used_at: Option<Timestamp>,
    /// Id of the token that was issued in its place.
    #[serde(default)]
    pub replaced_by: Option<String>,
    /// Id of the token that issued it; none where the command line or the operator did.
    #[serde(default)]
    pub created_by: Option<String>,
    /// Id of the first token of its line, which was rotated into it; none where it is that one.
    #[serde(default)]
    line: Option<String>,
    /// The lines of its issuer, of the issuer's issuer, and so on, also of those that are revoked meanwhile.
    #[serde(default)]
    issuers: BTreeSet<String>,
}

/// A token's record shows its id alone in a log, too.
impl fmt::Debug for TokenRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenRecord({})", self.id)
    }
}

impl TokenRecord {
    /// The record of a token with all scopes of a tenant.
    pub fn of_everything(token: &Token, tenant: TenantId, label: &str, now: Timestamp) -> Self {
        Self {
            id: token.id().to_owned(),
            tenant,
            hash: token.hash(),
            label: label.to_owned(),
            scopes: vec!["*".to_owned()],
            user_id: None,
            created_at: now,
            expires_at: None,
            last_used_at: None,
            replaced_by: None,
            created_by: None,
            line: None,
            issuers: BTreeSet::new(),
        }
    }

    /// The record of an operator's token, which creates tenants and other operator's tokens (R44).
    pub fn of_operator(token: &Token, label: &str, now: Timestamp) -> Self {
        let scopes = vec!["admin".to_owned(), OPERATOR.to_owned()];
        Self { scopes, ..Self::of_everything(token, Tenant::OPERATOR.id(), label, now) }
    }

    /// Whether it is an operator's token.
    pub(crate) fn is_of_operator(&self) -> bool {
        self.tenant == Tenant::OPERATOR.id()
    }

    /// The record of a token as a request describes it.
    pub fn of_new(token: &Token, tenant: TenantId, new: NewToken, now: Timestamp) -> Self {
        Self {
            scopes: new.scopes,
            expires_at: new.expires_at,
            ..Self::of_everything(token, tenant, &new.label, now)
        }
    }

    /// The record of a token that replaces this one: it has the same scopes and user, and the same lifetime unless the
    /// rotation names an expiry date (R57). It expires no later than its issuer.
    pub(crate) fn successor(&self, token: &Token, rotation: &Rotation, now: Timestamp) -> Self {
        let lived = |end: Timestamp| end.as_ms().saturating_sub(self.created_at.as_ms());
        let later = |ms: i64| Timestamp::from_ms_clamped(now.as_ms().saturating_add(ms));
        let end = rotation.expires_at.or(self.expires_at.map(|end| later(lived(end))));
        Self {
            scopes: self.scopes.clone(),
            user_id: self.user_id,
            expires_at: [end, rotation.ends_by].into_iter().flatten().min(),
            line: Some(self.line().to_owned()),
            issuers: self.issuers.clone(),
            ..Self::of_everything(token, self.tenant, &self.label, now)
        }
    }

    /// This record, issued by another token.
    pub(crate) fn issued_by(mut self, issuer: &Self) -> Self {
        self.created_by = Some(issuer.id.clone());
        self.issuers.extend(issuer.issuers.iter().cloned());
        self.issuers.insert(issuer.line().to_owned());
        self
    }

    /// The limits of what it can grant.
    pub(crate) fn issuer(&self) -> Issuer<'_> {
        Issuer { scopes: &self.scopes, expires_at: self.expires_at }
    }

    /// Id of the first token of its line.
    pub(crate) fn line(&self) -> &str {
        self.line.as_deref().unwrap_or(&self.id)
    }

    /// The number of lines that it comes from.
    pub(crate) fn generations(&self) -> usize {
        self.issuers.len()
    }

    /// Whether it is of a line, or comes from it.
    pub(crate) fn comes_from(&self, line: &str) -> bool {
        self.line() == line || self.issuers.contains(line)
    }

    /// Its properties as a response shows them.
    pub(crate) fn answer(&self) -> Document {
        let time = |time: Timestamp| Json::string(&time.to_string());
        let mut answer = Document::default();
        answer.set("_id", Json::string(&self.id));
        answer.set("label", Json::string(&self.label));
        answer.set("scopes", Json::strings(self.scopes.iter().map(String::as_str)));
        answer.set(
            "userId",
            self.user_id.map_or_else(Json::null, |id| Json::string(&id.to_string())),
        );
        answer.set("createdAt", time(self.created_at));
        let issuer = self.created_by.as_deref();
        answer.set("createdBy", issuer.map_or_else(Json::null, Json::string));
        answer.set("expiresAt", self.expires_at.map_or_else(Json::null, time));
        answer.set("lastUsedAt", self.last_used_at.map_or_else(Json::null, time));
        let successor = self.replaced_by.as_deref();
        answer.set("replacedBy", successor.map_or_else(Json::null, Json::string));
        answer
    }

    /// Whether this is the record of `token`; takes the same time wherever they differ.
    pub fn is_of(&self, token: &Token) -> bool {
        self.hash.as_bytes().ct_eq(token.hash().as_bytes()).into()
    }
}

/// A token as requests need it.
#[derive(Debug)]
pub struct KnownToken {
    /// Its record.
    pub record: TokenRecord,
    pub tenant: KnownTenant,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_token_is_read_back() {
        let token = Token::generate().unwrap();
        assert_eq!(token.reveal().len(), 4 + 8 + 1 + 43 + 6);
        assert_eq!(Token::parse(token.reveal()), Some(token.clone()));
        assert_ne!(Token::generate().unwrap(), token);
    }

    #[test]
    fn a_known_checksum_is_as_the_contract_says() {
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
    fn a_token_comes_from_the_lines_of_all_its_issuers() {
        let tenant = TenantId::from_bytes([0; 16]);
        let new =
            || TokenRecord::of_everything(&Token::generate().unwrap(), tenant, "", Timestamp::MIN);
        let rotated = |old: &TokenRecord, by: &TokenRecord| {
            let rotation = Rotation { keep_old_seconds: 0, expires_at: None, ends_by: None };
            let token = Token::generate().unwrap();
            old.successor(&token, &rotation, Timestamp::MIN).issued_by(by)
        };
        let (first, other) = (new(), new());
        let child = new().issued_by(&first);
        let second = rotated(&first, &first);
        let grandchild = rotated(&new().issued_by(&child), &other);
        for token in [&first, &child, &second, &grandchild] {
            assert!(token.comes_from(first.line()), "{token:?}");
        }
        assert_eq!(second.line(), first.line());
        assert!(grandchild.comes_from(child.line()) && grandchild.comes_from(other.line()));
        assert!(!child.comes_from(other.line()) && !first.comes_from(child.line()));
        assert_eq!(grandchild.created_by.as_deref(), Some(other.id.as_str()));
    }

    #[test]
    fn a_token_never_shows_in_a_log() {
        let token = Token::generate().unwrap();
        let record =
            TokenRecord::of_everything(&token, TenantId::from_bytes([0; 16]), "", Timestamp::MIN);
        assert!(record.is_of(&token) && !record.is_of(&Token::generate().unwrap()));
        let secret = &token.reveal()[13..];
        let shown = format!("{token:?}{record:?}");
        assert!(!shown.contains(secret) && !shown.contains(&token.hash()));
    }
}
