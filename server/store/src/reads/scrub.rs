//! Slow scrub of a running server: a little at a time, each row compared with its checksum.

use std::ops::Bound;

use super::row_check::check_row;
use crate::{
    ScrubProgress, StoreError, corruption,
    rows::{self, Bytes as _, Rows as _, Snapshot},
};

/// Bytes that one step reads, in some milliseconds.
const STEP_BYTES: usize = 256 * 1024;

/// Checks the next rows. Corrupted ones are logged, counted and skipped; so is the rest of a table after a corrupted
/// block.
pub(crate) fn step(
    snapshot: &impl Snapshot,
    mut scrub: ScrubProgress,
) -> Result<ScrubProgress, StoreError> {
    let Some(definition) = rows::ALL.get(scrub.tables) else {
        scrub.is_over = true;
        return Ok(scrub);
    };
    match corruption::contained(|| look_at(snapshot, definition, &mut scrub)) {
        Ok(()) => Ok(scrub),
        Err(StoreError::Corrupted { id, cause }) => {
            report_corruption(&mut scrub, definition, StoreError::Corrupted { id, cause });
            (scrub.tables, scrub.after) = (scrub.tables + 1, None);
            Ok(scrub)
        }
        Err(error) => Err(error),
    }
}

fn look_at(
    snapshot: &impl Snapshot,
    definition: &rows::Table,
    scrub: &mut ScrubProgress,
) -> Result<(), StoreError> {
    let table = snapshot.open(*definition)?;
    let begin = scrub.after.take();
    let begin = begin.as_deref().map_or(Bound::Unbounded, Bound::Excluded);
    let mut bytes = 0;
    for row in table.range((begin, Bound::Unbounded))? {
        let (key, value) = row?;
        let (key, value) = (key.value(), value.value());
        scrub.rows += 1;
        match check_row(definition, key, value) {
            Err(error @ StoreError::Corrupted { .. }) => {
                report_corruption(scrub, definition, error)
            }
            done => done?,
        }
        bytes += key.len() + value.len();
        if bytes >= STEP_BYTES {
            scrub.after = Some(key.to_vec());
            return Ok(());
        }
    }
    scrub.tables += 1;
    Ok(())
}

fn report_corruption(scrub: &mut ScrubProgress, table: &rows::Table, error: StoreError) {
    scrub.damaged += 1;
    tracing::error!(table = table.name(), cause = %error, "stored data corrupted");
}
