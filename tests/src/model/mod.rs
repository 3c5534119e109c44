//! A plain model of how events are processed, to compare the server with: random events ([`generator`]), how they are
//! sent ([`request`]), and their outcomes in the server's order of commits ([`plain`], [`compare`]). It shares no code
//! with `svctrack-core`: what both get wrong alike, it cannot find.
//!
//! The order is learned from the ids of activities, which ascend in the order of commits. What leaves no
//! activity has no place in it; the generator sends such events only where their place does not matter.

pub mod compare;
pub mod generator;
pub mod plain;
mod random;
pub mod request;
mod time;

pub use self::random::Random;
