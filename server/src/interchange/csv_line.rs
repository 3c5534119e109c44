//! Lines of CSV responses, of lists and of reports.

use std::borrow::Cow;

use svctrack_core::schema::csv_cell::escaped;
use svctrack_store::StoreError;

/// Buffer of a line of CSV, in bytes: most fit.
const CSV_BUFFER_BYTES: usize = 512;

/// A line of CSV, with its line end.
///
/// # Errors
/// [`StoreError::Internal`], should the writer fail.
pub(crate) fn csv_line(
    cells: impl Iterator<Item = impl AsRef<[u8]>>,
) -> Result<String, StoreError> {
    let internal = |error: &dyn std::fmt::Display| StoreError::Internal(error.to_string());
    let mut out =
        csv::WriterBuilder::new().buffer_capacity(CSV_BUFFER_BYTES).from_writer(Vec::new());
    out.write_record(cells).map_err(|error| internal(&error))?;
    let bytes = out.into_inner().map_err(|error| internal(&error))?;
    String::from_utf8(bytes).map_err(|error| internal(&error))
}

/// Cell of a text of a report: a number stays a number, and an empty text stays empty.
pub(crate) fn cell_of_report(text: &str) -> Cow<'_, str> {
    let is_number = text.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    });
    match is_number {
        true => Cow::Borrowed(text),
        false => escaped(Cow::Borrowed(text)),
    }
}
