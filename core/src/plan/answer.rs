//! The form in which a stored record is answered: with the rows that are computed when it is read.

use super::merge::STAND_INS;
use crate::{
    schema::{Fill, LookupError, ReadCtx, ResourceDef},
    value::Document,
};

/// The record as an answer shows it: the stored rows, then those computed at read.
///
/// # Errors
/// When the store cannot say what another record holds.
pub fn answer(
    def: &ResourceDef,
    stored: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Document, LookupError> {
    let mut answer = stored.clone();
    answer.remove(STAND_INS);
    for row in def.rows {
        if let Fill::OnRead(compute) = row.fill
            && let Some(value) = compute(stored, ctx)?
        {
            answer.set(row.name, value);
        }
    }
    Ok(answer)
}
