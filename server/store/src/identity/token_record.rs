//! Record of an API token, from which the token itself cannot be derived (R43).

use std::{collections::BTreeSet, fmt};

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;
use svctrack_core::{
    access::{Issuer, NewToken, OPERATOR, Rotation, SESSION},
    value::{ObjectId, TenantId, Timestamp},
};

use super::{
    tenant::{KnownTenant, Tenant},
    token_digest::TokenDigest,
};

/// Record of a token: never the token itself.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenRecord {
    /// Public part of the token, which identifies it.
    pub id: String,
    /// Tenant to which the token grants access; for an operator's token, [`Tenant::OPERATOR`].
    pub tenant: TenantId,
    /// SHA-256 of the whole token, in base64.
    hash: String,
    /// Label of the token, in its owner's words.
    pub label: String,
    /// Scopes of the token.
    pub scopes: Vec<String>,
    /// User that the token acts as.
    pub user_id: Option<ObjectId>,
    /// Time at which the token was created, among those of all that is stored.
    pub created_at: Timestamp,
    /// Time of the clock then, which may have been behind stored times.
    #[serde(default)]
    issued_at: Option<Timestamp>,
    /// The expiry time, if any.
    pub expires_at: Option<Timestamp>,
    /// Time at which the token was last used, to the minute.
    #[serde(default)]
    pub last_used_at: Option<Timestamp>,
    /// Id of the token that was issued in the place of this one.
    #[serde(default)]
    pub replaced_by: Option<String>,
    /// Id of the token that issued this one; none where the command line or the operator did.
    #[serde(default)]
    pub created_by: Option<String>,
    /// Id of the first token of the line, which was rotated into this one; none where it is the first.
    #[serde(default)]
    line: Option<String>,
    /// Lines of the issuer, of its issuer, and so on: whichever of them is revoked, this token is known to come from
    /// all of them.
    #[serde(default)]
    issuers: BTreeSet<String>,
}

/// A token record shows only its id, in a log too.
impl fmt::Debug for TokenRecord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TokenRecord({})", self.id)
    }
}

impl TokenRecord {
    /// The record of a token with all scopes of a tenant.
    pub fn of_everything(
        token: TokenDigest<'_>,
        tenant: TenantId,
        label: &str,
        now: Timestamp,
    ) -> Self {
        Self {
            id: token.id.to_owned(),
            tenant,
            hash: token.hash(),
            label: label.to_owned(),
            scopes: vec!["*".to_owned()],
            user_id: None,
            created_at: now,
            issued_at: Some(now),
            expires_at: None,
            last_used_at: None,
            replaced_by: None,
            created_by: None,
            line: None,
            issuers: BTreeSet::new(),
        }
    }

    /// The record of an operator token, which creates tenants and other operator tokens (R44).
    pub fn of_operator(token: TokenDigest<'_>, label: &str, now: Timestamp) -> Self {
        let scopes = vec!["admin".to_owned(), OPERATOR.to_owned()];
        Self { scopes, ..Self::of_everything(token, Tenant::OPERATOR.id(), label, now) }
    }

    /// Record of a session of the pages, which acts as the token that it is opened with, and ends with it.
    pub fn of_session(
        token: TokenDigest<'_>,
        opened_with: &Self,
        label: &str,
        ends: Timestamp,
        now: Timestamp,
    ) -> Self {
        let record = Self {
            scopes: vec![SESSION.to_owned()],
            user_id: opened_with.user_id,
            expires_at: Some(opened_with.expires_at.map_or(ends, |end| end.min(ends))),
            ..Self::of_everything(token, opened_with.tenant, label, now)
        };
        record.issued_by(opened_with)
    }

    /// Whether the token is a session of the pages.
    pub fn is_session(&self) -> bool {
        self.scopes.len() == 1 && self.scopes.iter().all(|scope| scope == SESSION)
    }

    /// Whether the token is an operator's.
    pub(crate) fn is_of_operator(&self) -> bool {
        self.tenant == Tenant::OPERATOR.id()
    }

    /// The record of a token that was requested.
    pub fn of_new(token: TokenDigest<'_>, tenant: TenantId, new: NewToken, now: Timestamp) -> Self {
        Self {
            scopes: new.scopes,
            expires_at: new.expires_at,
            ..Self::of_everything(token, tenant, &new.label, now)
        }
    }

    /// Record of a token that is issued in the place of this one: it has the same scopes and user, and the same
    /// lifetime, unless the rotation sets an expiry (R57), but it ends no later than its issuer.
    pub fn successor(&self, token: TokenDigest<'_>, rotation: &Rotation, now: Timestamp) -> Self {
        let lived = |end: Timestamp| end.as_ms().saturating_sub(self.issued_at().as_ms());
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

    /// Time of the clock when the token was issued.
    pub fn issued_at(&self) -> Timestamp {
        self.issued_at.unwrap_or(self.created_at)
    }

    /// The token, issued by another one.
    pub fn issued_by(mut self, issuer: &Self) -> Self {
        self.created_by = Some(issuer.id.clone());
        self.issuers.extend(issuer.issuers.iter().cloned());
        self.issuers.insert(issuer.line().to_owned());
        self
    }

    /// Scopes and expiry that limit what the token may issue.
    pub fn issuer(&self) -> Issuer<'_> {
        Issuer { scopes: &self.scopes, expires_at: self.expires_at }
    }

    /// Id of the first token of its line.
    pub(crate) fn line(&self) -> &str {
        self.line.as_deref().unwrap_or(&self.id)
    }

    /// Number of lines that the token comes from.
    pub(crate) fn generations(&self) -> usize {
        self.issuers.len()
    }

    /// Whether the token is of a line, or issued by a token of it.
    pub(crate) fn comes_from(&self, line: &str) -> bool {
        self.line() == line || self.issuers.contains(line)
    }

    /// Whether this is the record of `token`; takes constant time.
    pub fn is_of(&self, token: TokenDigest<'_>) -> bool {
        self.hash.as_bytes().ct_eq(token.hash().as_bytes()).into()
    }
}

/// Facts of a token that requests need.
#[derive(Debug)]
pub struct KnownToken {
    /// Stored record of the token.
    pub record: TokenRecord,
    /// The tenant that the token belongs to.
    pub tenant: KnownTenant,
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;

    impl TokenRecord {
        /// A token with another id at each call.
        pub(crate) fn for_test(tenant: TenantId, label: &str, now: Timestamp) -> Self {
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let id = format!("{:08}", NEXT.fetch_add(1, Ordering::Relaxed));
            Self::of_everything(TokenDigest { id: &id, sha256: [0; 32] }, tenant, label, now)
        }
    }

    #[test]
    fn a_token_comes_from_the_lines_of_all_its_issuers() {
        let tenant = TenantId::from_bytes([0; 16]);
        let new = || TokenRecord::for_test(tenant, "", Timestamp::MIN);
        let rotated = |old: &TokenRecord, by: &TokenRecord| {
            let rotation = Rotation { keep_old_seconds: 0, expires_at: None, ends_by: None };
            let token = TokenDigest { id: &new().id, sha256: [0; 32] };
            old.successor(token, &rotation, Timestamp::MIN).issued_by(by)
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
}
