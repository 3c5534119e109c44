//! Records as CSV and NDJSON: in files of an export and an import, in the body of an import, and in lists.

pub(crate) mod csv_columns;
mod format;
mod import_columns;
mod line_ends;
mod repeated_keys;
mod rows;

pub use self::{
    format::Format,
    rows::{ByteSource, ReadOptions, RecordRows, Separator, parse_mapping},
};
pub(crate) use self::{
    format::NDJSON,
    repeated_keys::RepeatedKeys,
    rows::{SWITCH, heads_of},
};
