//! Metadata from which a start continues: the version of the rows, the latest id, the times.

use svctrack_core::value::{IdSequence, ObjectId, Timestamp};

use super::{derived_rows, ids::Ids};
use crate::{
    StoreError,
    rows::{
        Bytes as _, Rows, WriteRows,
        meta::{META_FORMAT, META_LAST_ID, META_TIMES, ROWS_FORMAT},
        stored_value,
    },
    times::{ClockReading, Times},
};

/// Writes the initial metadata of a store.
pub(crate) fn found(meta: &mut impl WriteRows, store_bytes: [u8; 5]) -> Result<(), StoreError> {
    let first = IdSequence::new(store_bytes).next(Timestamp::MIN)?;
    meta.insert(META_FORMAT, ROWS_FORMAT.to_string().as_bytes())?;
    meta.insert(META_LAST_ID, stored_value::seal(META_LAST_ID, first.as_bytes()).as_slice())?;
    derived_rows::note(meta)
}

/// The sequences of ids, from which the store continues.
pub(crate) fn load_ids(meta: &impl Rows) -> Result<Ids, StoreError> {
    let missing = || StoreError::corrupted("the latest id is missing");
    let last = meta.get(META_LAST_ID)?.ok_or_else(missing)?;
    let last = stored_value::unseal_exact(META_LAST_ID, last.value())?;
    Ok(Ids::after(ObjectId::from_bytes(last)))
}

/// Notes the progress of the sequences of ids.
pub(crate) fn store_ids(meta: &mut impl WriteRows, ids: &Ids) -> Result<(), StoreError> {
    let last = stored_value::seal(META_LAST_ID, ids.to_note().as_bytes());
    meta.insert(META_LAST_ID, last.as_slice()).map(drop)
}

/// Times from which the store continues. A store that was last written before they were stored has that of its latest
/// id.
pub(crate) fn load_times(
    meta: &impl Rows,
    ids: &Ids,
    reading: ClockReading,
) -> Result<Times, StoreError> {
    let Some(times) = meta.get(META_TIMES)? else {
        let last = ids.to_note().created_at();
        return Ok(Times::resume(last, last, reading));
    };
    let times = u128::from_be_bytes(stored_value::unseal_exact(META_TIMES, times.value())?);
    let (stored, settled) = ((times >> u64::BITS) as i64, times as u64 as i64);
    let time = Timestamp::from_ms_clamped;
    Ok(Times::resume(time(stored), time(settled), reading))
}

/// Notes the times of the store.
pub(crate) fn store_times(meta: &mut impl WriteRows, times: &Times) -> Result<(), StoreError> {
    let times = [times.stored(), times.settled()].map(|time| time.as_ms().to_be_bytes()).concat();
    meta.insert(META_TIMES, stored_value::seal(META_TIMES, &times).as_slice()).map(drop)
}
