//! Records out of a server and into one, a file a resource: through the calls of the API alone, so that no
//! rule stands here a second time.
//!
//! A file is NDJSON (each line a record as the API answers it) or CSV (a column a property). What it holds is
//! records and settings; activities, tokens and reports are in a backup.

mod columns;
mod dry_run;
mod export;
mod import;
mod rows;

use clap::ValueEnum;
use svctrack_core::{
    resources::{REGISTRY, settings::SETTINGS},
    schema::{Fill, ResourceDef, Row},
};

pub use self::{
    export::{Earlier, check_folder, export},
    import::{Imported, Reading, RecordFile, Refused, files_at, import, others_in, try_out},
    rows::{Options, Rows, Separator, Source, parse_mapping},
};

/// How records stand in a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A line of JSON a record.
    #[default]
    Ndjson,
    /// A line of cells a record, below the names of their columns.
    Csv,
}

impl Format {
    fn file_name(self, def: &ResourceDef) -> String {
        let ending = match self {
            Self::Ndjson => "ndjson",
            Self::Csv => "csv",
        };
        format!("{}.{ending}", def.path)
    }
}

/// All that can be carried over: settings, and each resource behind those that it refers to.
pub fn everything() -> Vec<&'static ResourceDef> {
    let mut waiting: Vec<_> = REGISTRY.to_vec();
    let mut ordered = vec![&SETTINGS];
    while !waiting.is_empty() {
        let waits = |def: &ResourceDef| {
            referred(def)
                .any(|name| name != def.name && waiting.iter().any(|other| other.name == name))
        };
        let ready = waiting.iter().position(|def| !waits(def)).unwrap_or(0);
        ordered.push(waiting.remove(ready));
    }
    ordered
}

/// The resource with this name, settings among them.
///
/// # Errors
/// In words, with the names that there are.
pub fn resource_named(name: &str) -> Result<&'static ResourceDef, String> {
    let all = everything();
    let found = all.iter().copied().find(|def| def.path == name);
    found.ok_or_else(|| {
        let names: Vec<_> = all.iter().map(|def| def.path).collect();
        format!("there is no resource `{name}`; there are {}", names.join(", "))
    })
}

/// The resources that a resource refers to.
fn referred(def: &ResourceDef) -> impl Iterator<Item = &'static str> {
    def.rows.iter().filter_map(|row| row.refers).map(|refers| refers.resource)
}

/// Whether a caller sets a row; others are the service's own and come about again.
fn is_set(row: &Row) -> bool {
    matches!(row.fill, Fill::Sent | Fill::IfAbsent(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_resource_comes_behind_those_that_it_refers_to() {
        let all = everything();
        assert_eq!(all.len(), REGISTRY.len() + 1);
        for (at, def) in all.iter().enumerate() {
            for name in referred(def).filter(|name| *name != def.name) {
                assert!(all[..at].iter().any(|other| other.name == name), "{} {name}", def.name);
            }
        }
    }
}
