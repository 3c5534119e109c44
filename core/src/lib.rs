//! Checks customer records and events, plans their changes, and computes MRR, retention and renewals, without I/O.
#![cfg_attr(feature = "records", doc = "")]
#![cfg_attr(feature = "records", doc = include_str!("../README.md"))]
//!
//! # Modules
//!
//! Each module builds on those before it. The feature `records`, which is on by default, adds all of them. Without it
//! there are [`value`] and [`tracking`], which the tracker in the browser needs; `forms` adds the resources and their
//! checks.
//!
//! | Module | For |
//! |---|---|
//! | [`value`] | one value: ids, dates, decimals, e-mails, JSON, engagement |
#![cfg_attr(
    feature = "records",
    doc = "\
| [`schema`] | what a resource is: its fields, checks of a body, filters, order |
| [`resources`] | the resources of the contract, and their registry |
| [`access`] | scopes, tokens and tenants as they are sent |
| [`audit`] | who wrote what, and what it changed of a record |
| [`plan`] | create, update, delete, upsert, renew, lose: from a body to changes |"
)]
//! | [`tracking`] | events: reading them, finding their user and company, storing and reporting |
#![cfg_attr(
    feature = "records",
    doc = "\
| [`usage`] | who was active on which days, and what they did, counted from activities |
| [`revenue`] | the reports: MRR, retention, renewals, forecast and customers, from licenses; usage, from its counts |"
)]
//!
//! `R23` and the like refer to the decisions, and `rule 5` to the specification: both are in the package, in
//! `docs/decisions.md` and `docs/specification.md`.

#![warn(missing_docs)]
#![cfg_attr(
    not(feature = "records"),
    allow(
        dead_code,
        unreachable_pub,
        reason = "what forms do not need falls away when they are linked"
    )
)]

pub mod value;

#[cfg(feature = "forms")]
pub mod schema;

#[cfg(feature = "forms")]
pub mod resources;

#[cfg(feature = "records")]
pub mod access;

#[cfg(feature = "records")]
pub mod audit;

#[cfg(feature = "forms")]
pub mod plan;

pub mod tracking;

#[cfg(feature = "records")]
pub mod usage;

#[cfg(feature = "records")]
pub mod revenue;
