//! Handlers, one file per group of routes. Each parses its request, calls the store, and responds; no rule is here.

pub(crate) mod activities;
pub(crate) mod activity_stream;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod closings;
mod conditions;
pub(crate) mod cors;
pub(crate) mod docs;
pub(crate) mod files;
pub(crate) mod health;
mod idempotency;
pub(crate) mod import;
pub(crate) mod integration_issues;
pub(crate) mod lean_companies;
pub(crate) mod licenses;
mod lists;
pub(crate) mod pages;
pub(crate) mod people;
pub(crate) mod records;
pub(crate) mod reports;
mod request;
pub(crate) mod respond;
mod rows;
pub(crate) mod sdk_calls;
pub(crate) mod settings;
mod strict;
pub(crate) mod tenants;
pub(crate) mod tokens;
pub(crate) mod tracking;

pub(crate) use self::{
    lists::WholeList,
    request::{query_pairs, unread_names},
};
