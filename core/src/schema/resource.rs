//! The definition of a resource: its rows and the few functions that a table cannot say.

use super::{Lookup, LookupError, Row};
use crate::value::{Document, Issue};

/// How many records a list returns (R13).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListLimits {
    /// Without a `limit`.
    pub default: usize,
    /// At most.
    pub max: usize,
}

/// A resource: data and plain functions.
#[derive(Debug)]
pub struct ResourceDef {
    /// Its name in the singular, as references and scopes use it.
    pub name: &'static str,
    /// Its name in paths and scopes, in the plural.
    pub path: &'static str,
    /// Its byte in the keys of a store; never changed, never given to another resource.
    pub code: u8,
    /// What it is, in a sentence.
    pub doc: &'static str,
    /// Its rows, in the order of the contract.
    pub rows: &'static [Row],
    /// How many records a list returns.
    pub list: ListLimits,
    /// Rewrites what was sent before it is merged, for properties that set others.
    pub prepare: fn(&mut Document),
    /// Completes a merged record from other records; what is wrong goes to the issues.
    pub complete: fn(&mut Document, &dyn Lookup, &mut Vec<Issue>) -> Result<(), LookupError>,
}

/// For a resource that rewrites nothing.
pub fn prepare_nothing(_: &mut Document) {}

/// For a resource that other records do not complete.
///
/// # Errors
/// None.
pub fn complete_nothing(
    _: &mut Document,
    _: &dyn Lookup,
    _: &mut Vec<Issue>,
) -> Result<(), LookupError> {
    Ok(())
}

impl ResourceDef {
    /// The row called `name`.
    pub fn row(&self, name: &str) -> Option<&'static Row> {
        self.rows.iter().find(|row| row.name == name)
    }
}

impl PartialEq for ResourceDef {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}
