//! A tenant of an authorized caller, and its record.

use std::{fmt, num::NonZeroU32};

use serde::{Deserialize, Serialize};
use svctrack_core::{
    access::TenantChange,
    value::{TenantId, Timestamp},
};

/// A tenant of an authorized caller. Every call of the store takes one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tenant(TenantId);

impl Tenant {
    /// The operator, whose tokens are stored as a tenant's are: under the nil UUID, which no tenant has.
    pub const OPERATOR: Self = Self(TenantId::from_bytes([0; 16]));

    /// The tenant with this id. The caller of this function knows that it may act for the tenant: because of a token,
    /// because events need none, or because the program itself acts. This is the only way to create one.
    pub fn assume_authorized(id: TenantId) -> Self {
        Self(id)
    }

    /// UUID of the tenant.
    pub fn id(&self) -> TenantId {
        self.0
    }
}

impl fmt::Debug for Tenant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tenant({})", self.0)
    }
}

/// Record of a tenant, besides its data.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TenantRecord {
    /// UUID of the tenant, the public write key of its events.
    pub id: TenantId,
    /// The name of the tenant, for people.
    pub name: String,
    /// Time at which the tenant was created.
    pub created_at: Timestamp,
    /// Whether calls of the tenant are served.
    #[serde(default)]
    pub state: TenantState,
    /// Number of rows that were removed so far, while the tenant is being deleted.
    #[serde(default)]
    pub rows_removed: u64,
}

/// Whether the calls and events of a tenant are served.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TenantState {
    /// Calls and events are served.
    #[default]
    Active,
    /// Calls are rejected until the tenant is resumed.
    Suspended,
    /// No token is valid: all data of the tenant is being removed.
    Deleting,
}

impl TenantState {
    /// All states of a tenant.
    pub const ALL: [Self; 3] = [Self::Active, Self::Suspended, Self::Deleting];

    /// Name of the state in responses.
    pub fn name(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Suspended => "suspended",
            Self::Deleting => "deleting",
        }
    }
}

/// Limits in requests a second; none where there is no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RateLimits {
    /// Requests a second of each token.
    pub requests: Option<NonZeroU32>,
    /// Of each tenant's tracking routes.
    pub tracking: Option<NonZeroU32>,
}

/// Facts of a tenant that requests need.
#[derive(Clone, Copy, Debug, Default)]
pub struct KnownTenant {
    /// Whether the tenant is suspended.
    pub is_suspended: bool,
    /// Limits that the tenant has set for itself.
    pub limits: RateLimits,
}

impl TenantRecord {
    /// Record of a new tenant.
    pub fn new(id: TenantId, name: String, created_at: Timestamp) -> Self {
        Self { id, name, created_at, state: TenantState::Active, rows_removed: 0 }
    }

    /// Version of what an operator changes: a hash of it. A tenant that is changed back has the version of before.
    pub fn version(&self) -> i64 {
        crc32fast::hash(format!("{} {}", self.state.name(), self.name).as_bytes()).into()
    }

    /// Applies an operator's change. A tenant that is being deleted cannot be changed.
    pub fn change(&mut self, change: TenantChange) {
        self.name = change.name.unwrap_or_else(|| std::mem::take(&mut self.name));
        self.state = match change.suspended {
            Some(true) => TenantState::Suspended,
            Some(false) => TenantState::Active,
            None => self.state,
        };
    }
}
