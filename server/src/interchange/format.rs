//! CSV and NDJSON as formats of files: their names, endings and media types.

use clap::ValueEnum;
use svctrack_core::schema::ResourceDef;

/// Media type of NDJSON.
pub(crate) const NDJSON: &str = "application/x-ndjson";

/// The format of records in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// One JSON object per line.
    #[default]
    Ndjson,
    /// One line of cells per record, below the names of their columns.
    Csv,
}

impl Format {
    /// The format of a file that begins like this: a line of NDJSON is an object.
    pub(super) fn from_start(start: &[u8]) -> Self {
        if start.trim_ascii_start().starts_with(b"{") { Self::Ndjson } else { Self::Csv }
    }

    /// The name of a file with the records of a resource.
    pub(crate) fn file_name(self, def: &ResourceDef) -> String {
        let ending = match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        };
        format!("{}.{ending}", def.path)
    }
}
