//! Whether a stored row is as it was written.

use svctrack_core::revenue::LicenseFacts;

use crate::{
    StoreError,
    rows::{
        ACTIVITIES, ACTIVITY_MARKS, INDEX, LICENSE_FACTS, META, RECORDS, REVENUE_VERSIONS,
        TOKENS_OF_TENANT, Table, WAITING, meta::META_FORMAT, revenue_version::VersionRow,
        stored_value,
    },
    rules::activity_history,
};

/// Tables whose rows have all data in their keys.
const WITHOUT_VALUES: [Table; 4] = [INDEX, ACTIVITY_MARKS, WAITING, TOKENS_OF_TENANT];

/// Compares a row with its checksum.
///
/// # Errors
/// [`StoreError::Corrupted`] when the row is not as it was written.
pub(crate) fn check_row(table: &Table, key: &[u8], value: &[u8]) -> Result<(), StoreError> {
    let is = |other: &Table| table == other;
    if WITHOUT_VALUES.iter().any(is) {
        let whole = value.is_empty();
        return whole.then_some(()).ok_or_else(|| StoreError::corrupted("malformed value"));
    }
    if is(&META) && key == META_FORMAT {
        return Ok(());
    }
    if is(&RECORDS) {
        return stored_value::unseal_record(key, value)?.document().map(drop);
    }
    if is(&ACTIVITIES) {
        return activity_history::unseal(key, value).map(drop);
    }
    if is(&REVENUE_VERSIONS) {
        return stored_value::unseal_row::<VersionRow>(key, value).map(drop);
    }
    if is(&LICENSE_FACTS) {
        return stored_value::unseal_row_with_id::<LicenseFacts<'_>>(key, value).map(drop);
    }
    stored_value::unseal(key, value).map(drop)
}
