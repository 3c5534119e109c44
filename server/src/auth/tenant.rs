//! A tenant that a caller has shown to be theirs, and what is kept of one.

use std::fmt;

use serde::{Deserialize, Serialize};
use svctrack_core::value::{Document, Json, TenantId, Timestamp};

/// A tenant that a caller has shown to be theirs. Every call of the store takes one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tenant(TenantId);

impl Tenant {
    /// The operator, whose tokens are kept as a tenant's are: under the nil UUID, which no tenant has.
    pub const OPERATOR: Self = Self(TenantId::from_bytes([0; 16]));

    /// Only `auth` can say whose a tenant is.
    pub(super) fn shown(id: TenantId) -> Self {
        Self(id)
    }

    /// Its id.
    pub fn id(&self) -> TenantId {
        self.0
    }

    #[cfg(test)]
    pub(crate) fn for_test(id: TenantId) -> Self {
        Self(id)
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({})", self.0)
    }
}

/// What is kept of a tenant beside its records.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantRecord {
    /// Its UUID, the public write key of its events.
    pub id: TenantId,
    /// Whose it is, for people.
    pub name: String,
    /// When it was made.
    pub created_at: Timestamp,
}

impl TenantRecord {
    /// What an operator sees of it.
    pub(crate) fn answer(&self) -> Document {
        let mut answer = Document::default();
        answer.set("_id", Json::string(&self.id.to_string()));
        answer.set("name", Json::string(&self.name));
        answer.set("createdAt", Json::string(&self.created_at.to_string()));
        answer
    }
}
