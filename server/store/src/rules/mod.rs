//! What a command does to the tables, on any engine.

pub(crate) mod apply;
pub(crate) mod closings;
pub(crate) mod command;
pub(crate) mod counters;
pub(crate) mod date_ranges;
pub(crate) mod engagement;
pub(crate) mod erasure;
pub(crate) mod history;
pub(crate) mod idempotency;
pub(crate) mod ids;
pub(crate) mod lookup_cache;
pub(crate) mod messages;
pub(crate) mod meta;
pub(crate) mod new_users;
pub(crate) mod ordered;
pub(crate) mod parked;
pub(crate) mod pending;
pub(crate) mod person;
pub(crate) mod report;
pub(crate) mod retention;
pub(crate) mod revenue_versions;
pub(crate) mod suppressed;
pub(crate) mod tables;
pub(crate) mod tenant_deletion;
pub(crate) mod tenants;
pub(crate) mod view;
