//! Stores of earlier formats, brought up to that of today one format at a time. A step writes a new file, which
//! takes the place of the old one once it is whole on disk; behind 2 there is none, since a file of a later format is read
//! as it is, and its next headers are of today's.
//!
//! | format | what it brought |
//! |---|---|
//! | 1 | redb's own file; values of a fixed length have no checksum; lists of the ids of activities |
//! | 2 | blocks with sums ([`super::blocks`]); every value has a checksum; histories by links |
//! | 3 | headers that name the blocks which come with them ([`super::blocks`]) |
//! | 4 | a log of engagement, of which rows say how often they were written ([`super::engagement`]) |
//! | 5 | entries of ordered rows in the index, added when the store is opened ([`super::ordered`]) |

use std::{
    fs::File,
    io::{self, Read as _},
    path::Path,
};

use redb::{TableHandle as _, WriteTransaction};
use svctrack_core::value::{ObjectId, engagement::Engagement};

use super::{
    codec,
    compact::{self, Conversion},
    damage, engagement,
    history::Rewriting,
    keys,
    open::{self, META_FORMAT, OpenError, STORE_FORMAT},
    storage::{FileMedium, Medium as _, Trial},
    tables::{
        ACTIVITIES, ACTIVITY_MARKS, COUNTERS, DUE, Definition, ENGAGEMENT, MESSAGES, META,
        ONCE_PLACES, REPORT_CAUSES, SUPPRESSED, UNIQUE,
    },
};

use crate::{regular_file, store::StoreError};

/// How a file of format 1 begins.
const REDB: &[u8] = b"redb";
/// Tables whose values have no checksum in format 1.
const UNSEALED: [Definition; 7] =
    [META, UNIQUE, MESSAGES, SUPPRESSED, REPORT_CAUSES, ONCE_PLACES, COUNTERS];
/// The table in which format 1 has the ids of activities of users and companies.
const CHUNKS: &str = "activity_chunks";

/// Brings a store up to the format of today.
///
/// # Errors
/// [`OpenError`]; then the store is as it was.
pub(super) fn bring_up_to_date(medium: &FileMedium, cache_bytes: usize) -> Result<(), OpenError> {
    if begins_with(medium.path(), REDB)? {
        from_1_to_2(medium, cache_bytes)?;
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
    regular_file::check(path)?;
    let mut bytes = Vec::new();
    File::open(path)?.take(expected.len() as u64).read_to_end(&mut bytes)?;
    Ok(bytes == expected)
}

fn from_1_to_2(medium: &FileMedium, cache_bytes: usize) -> Result<(), OpenError> {
    // A trial, so that the old file stays as it is; open until the end, so that no server can take it.
    let old = open::open_over(Trial::over(medium.open()?)?, cache_bytes, 1)?;
    let replaced = compact::replace(medium, &old, cache_bytes, &mut From1::default());
    damage::drop_quietly(old);
    replaced
}

/// What becomes of rows of format 1. The log comes before engagement, which says where its histories end.
#[derive(Default)]
struct From1(Rewriting);

impl Conversion for From1 {
    fn value(
        &mut self,
        table: &Definition,
        key: &[u8],
        value: &[u8],
    ) -> Result<Option<Vec<u8>>, StoreError> {
        let is = |other: &Definition| table.name() == other.name();
        if is(&META) && key == META_FORMAT {
            return Ok(Some(b"2".to_vec()));
        }
        if is(&ACTIVITIES) {
            let tenant = keys::tenant_of(key).ok_or_else(no_key)?;
            let row = self.0.row(key, tenant, codec::unseal_row_with_id(key, value)?)?;
            return Ok(Some(row));
        }
        if is(&ENGAGEMENT) {
            return self.engagement(key, value).map(Some);
        }
        if is(&DUE) {
            // It was sealed with no key.
            return Ok(Some(codec::seal(key, codec::unseal(&[], value)?)));
        }
        Ok(UNSEALED.iter().any(is).then(|| codec::seal(key, value)))
    }

    fn leaves(&self, table: &str) -> bool {
        table == CHUNKS
    }

    fn add(&mut self, transaction: &WriteTransaction) -> Result<(), StoreError> {
        let mut marks = transaction.open_table(ACTIVITY_MARKS)?;
        for key in &self.0.marks {
            marks.insert(key.as_slice(), [].as_slice())?;
        }
        Ok(())
    }
}

impl From1 {
    fn engagement(&self, key: &[u8], value: &[u8]) -> Result<Vec<u8>, StoreError> {
        let owner = key.split_last_chunk().and_then(|(owner, id)| {
            let (tenant, resource) = (keys::tenant_of(owner)?, *owner.last()?);
            Some((tenant, resource, ObjectId::from_bytes(*id)))
        });
        let read = postcard::take_from_bytes::<Engagement>(codec::unseal(key, value)?);
        let (engagement, _) = read.map_err(StoreError::corrupted)?;
        engagement::rewritten(key, engagement, self.0.latest(owner.ok_or_else(no_key)?))
    }
}

fn no_key() -> StoreError {
    StoreError::corrupted("a key that is none")
}
