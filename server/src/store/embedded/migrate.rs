//! Stores of earlier formats, brought up to that of today one format at a time. Each step writes a new
//! file, which takes the place of the old one once it is whole on disk.
//!
//! | format | what it brought |
//! |---|---|
//! | 1 | redb's own file; values with checksums but for those of a fixed length |
//! | 2 | blocks with sums ([`super::blocks`]); every value has a checksum |

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use redb::TableHandle as _;

use super::{
    codec, compact,
    open::{self, META_FORMAT, OpenError, STORE_FORMAT},
    storage::{FileMedium, Medium as _, Trial},
    tables::{
        COUNTERS, DUE, Definition, MESSAGES, META, ONCE_PLACES, REPORT_CAUSES, SUPPRESSED, UNIQUE,
    },
};

/// How a file of format 1 begins.
const REDB: &[u8] = b"redb";
/// Tables whose values have no checksum in format 1.
const UNSEALED: [Definition; 6] =
    [UNIQUE, MESSAGES, SUPPRESSED, REPORT_CAUSES, ONCE_PLACES, COUNTERS];

/// Brings a store up to the format of today.
///
/// # Errors
/// [`OpenError`]; then the store is as it was.
pub(super) fn bring_up_to_date(path: &Path, cache_bytes: usize) -> Result<(), OpenError> {
    if begins_with(path, REDB)? {
        from_1_to_2(path, cache_bytes)?;
        tracing::info!(
            from = 1,
            to = STORE_FORMAT,
            "the store was brought up to the format of today"
        );
    }
    Ok(())
}

/// Refuses a store that [`bring_up_to_date`] would change.
///
/// # Errors
/// [`OpenError::Format`].
pub(super) fn refuse_earlier(path: &Path) -> Result<(), OpenError> {
    if begins_with(path, REDB)? { Err(OpenError::format("1")) } else { Ok(()) }
}

fn begins_with(path: &Path, expected: &[u8]) -> io::Result<bool> {
    let mut bytes = Vec::new();
    File::open(path)?.take(expected.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes == expected)
}

fn from_1_to_2(path: &Path, cache_bytes: usize) -> Result<(), OpenError> {
    // A trial, so that the old file stays as it is; open until the end, so that no server can take it.
    let old = Trial::over(FileMedium(path.to_owned()).open()?)?;
    let old = open::open_over(old, cache_bytes, 1)?;
    compact::replace(path, &old, cache_bytes, &|table, key, value| {
        if table.name() == META.name() {
            let is_format = key == META_FORMAT;
            return Some(if is_format { b"2".to_vec() } else { codec::seal(key, value) });
        }
        if table.name() == DUE.name() {
            // It was sealed with no key.
            return codec::unseal(&[], value).ok().map(|due| codec::seal(key, due));
        }
        let is_unsealed = UNSEALED.iter().any(|unsealed| unsealed.name() == table.name());
        is_unsealed.then(|| codec::seal(key, value))
    })
}
