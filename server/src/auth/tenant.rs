//! A tenant that a caller has shown to be theirs, and what is stored of one.

use std::fmt;

use serde::{Deserialize, Serialize};
use svctrack_core::{
    access::TenantChange,
    value::{Document, Json, TenantId, Timestamp},
};

use crate::rate_limit::RateLimits;

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
    /// Whether its calls are served.
    #[serde(default)]
    pub state: TenantState,
    /// How many rows of it were removed so far, while it is being deleted.
    #[serde(default)]
    pub rows_removed: u64,
}

/// Whether the calls and events of a tenant are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TenantState {
    /// They are.
    #[default]
    Active,
    /// They are rejected until it is resumed.
    Suspended,
    /// They are those of nobody: all that is stored of it is being removed.
    Deleting,
}

impl TenantState {
    /// All that there are.
    pub(crate) const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Deleting];

    /// Its name in responses.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deleting => "deleting",
        }
    }
}

/// A tenant as requests need it.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownTenant {
    /// Whether it is suspended.
    pub is_suspended: bool,
    /// The limits that it has set for itself.
    pub limits: RateLimits,
}

impl TenantRecord {
    /// What is stored of a new tenant.
    pub fn new(id: TenantId, name: String, created_at: Timestamp) -> Self {
        Self { id, name, created_at, state: TenantState::Active, rows_removed: 0 }
    }

    /// Takes over what an operator changes. One that is being deleted is not there to be changed.
    pub(crate) fn change(&mut self, change: TenantChange) {
        self.name = change.name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.state = match change.suspended {
            Some(true) => TenantState::Suspended,
            Some(false) => TenantState::Active,
            None => self.state,
        };
    }

    /// What an operator sees of it.
    pub(crate) fn answer(&self) -> Document {
        let mut answer = Document::default();
        answer.set("_id", Json::string(&self.id.to_string()));
        answer.set("name", Json::string(&self.name));
        answer.set("createdAt", Json::string(&self.created_at.to_string()));
        answer.set("state", Json::string(self.state.name()));
        answer.set("suspended", Json::bool(self.state == TenantState::Suspended));
        if self.state == TenantState::Deleting {
            let removed = i64::try_from(self.rows_removed).unwrap_or(i64::MAX);
            answer.set("rowsRemoved", Json::integer(removed));
        }
        answer
    }
}
