//! Records as CSV and NDJSON: in files of an export and an import, in the body of an import, and in lists.

pub(crate) mod csv_columns;
mod format;
mod import_columns;
mod rows;

pub use self::{
    format::Format,
    rows::{Options, Rows, Separator, Source, parse_mapping},
};
pub(crate) use self::{
    import_columns::is_set,
    rows::{SWITCH, heads_of},
};
