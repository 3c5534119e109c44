//! The tables of the store in redb.

pub(crate) mod append_table;
pub(crate) mod snapshot;
pub(crate) mod table;
pub(crate) mod transaction;
