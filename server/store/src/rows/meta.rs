//! Metadata of a store: the version of its rows, and the keys of the table `meta`.

/// Version of the rows, in the table `meta` and in backups. The next one is 3.
pub(crate) const ROWS_FORMAT: u32 = 1;
/// Versions of rows that are read; 2 was the name of 1 before the first release.
pub(crate) const READABLE_ROWS: [u32; 2] = [ROWS_FORMAT, 2];
/// Names in the table `meta`.
pub(crate) const META_FORMAT: &[u8] = b"format";
pub(crate) const META_LAST_ID: &[u8] = b"last_id";
/// Which derived rows exist; named when these were the index entries of ordered fields alone.
pub(crate) const META_DERIVED: &[u8] = b"ordered";
pub(crate) const META_TIMES: &[u8] = b"times";
