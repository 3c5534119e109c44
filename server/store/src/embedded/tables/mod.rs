//! The tables of the store in redb.

pub(crate) mod append_table;
pub(crate) mod redb_table;
pub(crate) mod snapshot;
pub(crate) mod transaction;
