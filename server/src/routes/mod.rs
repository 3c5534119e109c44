//! Handlers, one file per group of routes. Each parses its request, calls the store, and responds; no rule is
//! here. [`route_table`] has all routes.

mod accept_header;
pub(crate) mod activities;
pub(crate) mod activity_stream;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod closings;
mod conditional_headers;
pub(crate) mod cors;
pub(crate) mod docs;
mod etag;
pub(crate) mod health;
mod idempotency_key;
pub(crate) mod import;
pub(crate) mod integration_issues;
pub(crate) mod lean_companies;
pub(crate) mod licenses;
mod list_response;
mod page_cursor;
pub(crate) mod pages;
pub(crate) mod privacy_requests;
mod query_parameters;
pub(crate) mod records;
pub(crate) mod reports;
mod request;
pub(crate) mod respond;
pub(crate) mod route_table;
pub(crate) mod sdk_calls;
pub(crate) mod settings;
pub(crate) mod static_files;
mod strict;
pub(crate) mod tenants;
pub(crate) mod tokens;
pub(crate) mod tracking;
mod tracking_rows;

pub(crate) use self::accept_header::prefers;
pub(crate) use self::{
    list_response::WholeList,
    query_parameters::{query_pairs, unread_names},
};
