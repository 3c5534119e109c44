//! The rules of svctrack, and nothing else: no I/O, no clock, no randomness, no HTTP, no store.
//!
//! Modules stand in the order in which they build on each other: [`value`], `schema`,
//! `resources`, `access`, `plan`, [`tracking`], `revenue`. Without the feature `records` only what a browser needs is
//! left: the checks of an event and the rules of the tracking script.

#![warn(missing_docs)]

pub mod value;

#[cfg(feature = "records")]
pub mod schema;

#[cfg(feature = "records")]
pub mod resources;

#[cfg(feature = "records")]
pub mod access;

#[cfg(feature = "records")]
pub mod plan;

pub mod tracking;

#[cfg(feature = "records")]
pub mod revenue;

/// The README's example, run as a test.
#[cfg(all(doctest, feature = "records"))]
#[doc = include_str!("../README.md")]
pub struct Readme;
