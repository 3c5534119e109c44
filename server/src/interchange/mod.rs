//! Records as CSV and NDJSON: in files of an export and an import, in the body of an import, and in lists.

pub(crate) mod cells;
mod columns;
mod format;
mod rows;

pub(crate) use self::{columns::is_set, rows::SWITCH};
pub use self::{
    format::Format,
    rows::{Options, Rows, Separator, Source, parse_mapping},
};
