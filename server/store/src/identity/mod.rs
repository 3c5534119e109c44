//! Who may: tenants and tokens as a store knows them. It takes on trust that whoever calls it has asked for a token.

mod actor;
mod tenant;
mod token_record;

pub use self::{
    actor::{Actor, Origin},
    tenant::{KnownTenant, RateLimits, Tenant, TenantRecord, TenantState},
    token_record::{KnownToken, TokenDigest, TokenRecord},
};
