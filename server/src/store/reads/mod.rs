//! What is read of a snapshot, on any engine.

pub(crate) mod both_ends;
pub(crate) mod by_date;
pub(crate) mod list;
pub(crate) mod pager;
pub(crate) mod read;
pub(crate) mod rehearse;
pub(crate) mod spare;
