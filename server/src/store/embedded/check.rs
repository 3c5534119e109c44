//! Whether a stored row is as it was written.

use redb::TableHandle as _;

use super::{
    codec, history,
    open::META_FORMAT,
    tables::{
        ACTIVITIES, ACTIVITY_MARKS, Definition, INDEX, META, RECORDS, TOKENS_OF_TENANT, WAITING,
    },
};
use crate::store::StoreError;

/// Tables whose rows say all with their keys.
const WITHOUT_VALUES: [Definition; 4] = [INDEX, ACTIVITY_MARKS, WAITING, TOKENS_OF_TENANT];

/// Holds a row against its checksum.
///
/// # Errors
/// [`StoreError::Corrupted`] when it is not as it was written.
pub(super) fn check_row(table: &Definition, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let is = |other: &Definition| table.name() == other.name();
    if WITHOUT_VALUES.iter().any(is) {
        let whole = value.is_empty();
        return whole.then_some(()).ok_or_else(|| StoreError::corrupted("a value that is none"));
    }
    if is(&META) && key == META_FORMAT {
        return Ok(());
    }
    if is(&RECORDS) {
        return codec::unseal_record(key, value)?.document().map(drop);
    }
    if is(&ACTIVITIES) {
        return history::unseal(key, value).map(drop);
    }
    codec::unseal(key, value).map(drop)
}
