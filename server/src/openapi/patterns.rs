//! Regular expressions of texts in the API description.

/// A string without NUL, which no text may have.
pub(super) const TEXT: &str = "^[^\\x00]*$";
/// Reference to a record (R2).
pub(super) const RECORD_REF: &str =
    "^([0-9a-f]{24}|(extid|srcid)-[^\\x00-\\x1f\\x7f-\\x9f]{1,512})$";
/// The `_id` of a record.
pub(super) const OBJECT_ID: &str = "^[0-9a-f]{24}$";
/// A date of a year that is accepted (R8).
pub(super) const YEAR: &str = "^(19[7-9][0-9]|[2-9][0-9]{3})-";
/// An id from the caller.
pub(super) const KEY: &str = "^[^\\x00-\\x1f\\x7f-\\x9f]+$";
/// A month such as `2026-01`.
pub(super) const MONTH: &str = "^[0-9]{4}-(0[1-9]|1[0-2])$";
