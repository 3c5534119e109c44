//! Revenue reports against figures worked out by hand, and against a model that is slow and obvious.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    dead_code,
    unreachable_pub,
    reason = "tests may panic: that is how they fail; the calendar has more than is used here"
)]

#[path = "../license_model/calendar.rs"]
mod calendar;
mod charts;
mod compared;
mod customer_pages;
mod explained;
#[path = "../license_model/fraction.rs"]
mod fraction;
mod input;
mod model;
#[path = "../../examples/mrr_of_csv.rs"]
mod mrr_of_csv;
mod needless_rates;
mod random;
mod sheet;
mod support;
mod switched;
mod twelve;
mod usage_explained;
mod worked;
