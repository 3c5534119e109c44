//! Records as CSV and NDJSON: in files of an export and an import, in the body of an import, and in lists.

pub(crate) mod csv_columns;
pub(crate) mod csv_line;
mod format;
mod import_columns;
mod line_ends;
mod quotes;
mod record_reader;
mod repeated_keys;
mod separator;

pub use self::{
    format::Format,
    import_columns::unknown_head,
    record_reader::{ByteSource, ReadOptions, RecordRows, parse_mapping},
    separator::Separator,
};
pub(crate) use self::{
    format::NDJSON,
    record_reader::{SWITCH, heads_of},
    repeated_keys::RepeatedKeys,
};
