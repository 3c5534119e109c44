//! The store's file: bytes on a disk that may fail, blocks with checksums over them, and a database of redb over these.

pub(crate) mod blocks;
pub(crate) mod corruption;
pub(crate) mod database_handle;
pub mod disk_file;
pub(crate) mod nonblocking_read;
pub(crate) mod open;
pub(crate) mod overlay;
pub(crate) mod progress;
mod redb_errors;
pub mod storage;
pub(crate) mod transaction;
