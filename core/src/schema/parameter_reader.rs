//! Reads the query parameters of a list one after the other, and collects their problems (R13, R49).

use super::{
    field::FieldDef,
    filter::{Filter, split_operator},
    unknown_parameters::{UnknownParameter, sent_twice},
};
use crate::value::ValidationError;

/// Query that was read, and the parameters that were ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadQuery<T> {
    /// The query, as it was parsed.
    pub query: T,
    /// Parameters that are not known (R49).
    pub unknown: Vec<UnknownParameter>,
    /// Names in `select` that are not known (R13).
    pub ignored: Vec<String>,
}

/// Collects parameters, and their problems, one after the other.
#[derive(Default)]
pub(crate) struct ParameterReader {
    /// Parameters that were set.
    set: Vec<String>,
    unknown: Vec<UnknownParameter>,
    ignored: Vec<String>,
    pub(crate) issues: Vec<ValidationError>,
}

impl ParameterReader {
    /// Reads a parameter with a single value.
    pub(crate) fn set<T>(&mut self, name: &str, into: &mut T, read: Result<T, ValidationError>) {
        if self.set.iter().any(|known| known == name) {
            return self.issues.push(sent_twice(name));
        }
        self.set.push(name.to_owned());
        match read {
            Ok(value) => *into = value,
            Err(issue) => self.issues.push(issue),
        }
    }

    /// Reads property names, separated by commas; empty or `ALL` selects everything (R13).
    pub(crate) fn select(
        &mut self,
        fields: &[FieldDef],
        into: &mut Option<Vec<String>>,
        value: &str,
    ) {
        let is_all = value.trim().is_empty() || value.trim() == "ALL";
        let names = value.split(',').map(str::trim).filter(|name| !name.is_empty());
        let (known, unknown): (Vec<&str>, Vec<&str>) =
            names.filter(|_| !is_all).partition(|name| is_property(fields, name));
        self.ignored.extend(unknown.into_iter().map(str::to_owned));
        let known = known.into_iter().map(str::to_owned).collect();
        self.set("select", into, Ok((!is_all).then_some(known)));
    }

    /// Reads a filter by a property; a repeated filter accepts any of its values. Returns whether there is such a
    /// property.
    pub(crate) fn filter(
        &mut self,
        fields: &'static [FieldDef],
        filters: &mut Vec<Filter>,
        name: &str,
        value: &str,
    ) -> bool {
        match Filter::parse(fields, name, value) {
            None => return false,
            Some(Err(issue)) => self.issues.push(issue),
            Some(Ok(filter)) => filter.join(filters),
        }
        true
    }

    /// Adds an unknown parameter.
    pub(crate) fn unknown<'k>(
        &mut self,
        name: &str,
        parameters: impl IntoIterator<Item = &'k str>,
        fields: &'static [FieldDef],
    ) {
        let path = split_operator(name).0;
        let known = parameters.into_iter().chain(fields.iter().map(|field| field.name));
        let UnknownParameter { nearest, .. } = UnknownParameter::among(path, known);
        self.unknown.push(UnknownParameter { name: name.to_owned(), nearest });
    }

    pub(crate) fn finish<T>(self, query: T) -> Result<ReadQuery<T>, Vec<ValidationError>> {
        if self.issues.is_empty() {
            Ok(ReadQuery { query, unknown: self.unknown, ignored: self.ignored })
        } else {
            Err(self.issues)
        }
    }
}

pub(super) fn is_property(fields: &[FieldDef], path: &str) -> bool {
    let is_row = |name: &str| fields.iter().any(|field| field.name == name);
    let custom = path.strip_prefix("custom.").is_some_and(|key| !key.is_empty());
    is_row(path) || (custom && is_row("custom"))
}
