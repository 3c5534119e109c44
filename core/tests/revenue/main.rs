//! Revenue reports against figures worked out by hand, and against a model that is slow and obvious.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    unreachable_pub,
    reason = "tests may panic: that is how they fail"
)]

mod support;
mod worked;
