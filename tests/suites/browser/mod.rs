//! The tracker in real browsers: the whole way of an event, what may befall it on the way, and what is sent.

mod pages;
mod queue;
mod scenario;
mod scenarios;
pub(crate) mod whole_way;
mod wire;
