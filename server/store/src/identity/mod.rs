//! Tenants and tokens as a store knows them. The store trusts its caller to have checked a token.

mod actor;
mod tenant;
mod token_digest;
mod token_record;

pub use self::{
    actor::{Actor, CommandOrigin},
    tenant::{KnownTenant, RateLimits, Tenant, TenantRecord, TenantState},
    token_digest::TokenDigest,
    token_record::{KnownToken, TokenRecord},
};
