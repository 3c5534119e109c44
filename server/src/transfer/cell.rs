//! A value as a cell of CSV. A text stands as it is, any other value as JSON; an empty cell is no value.
//!
//! A spreadsheet takes what begins with certain signs for a formula. Such a cell gets a `'` in front, and so do
//! one that begins with `'` itself and the empty text, so that taking it off gives back what was there.

use std::borrow::Cow;

use svctrack_core::{
    schema::{Kind, Row},
    value::{Json, JsonRef},
};

/// What no cell begins with.
const SIGNS: [char; 7] = ['=', '+', '-', '@', '\t', '\r', '\''];

/// Whether the values of a row are texts.
fn is_text(row: &Row) -> bool {
    !matches!(
        row.kind,
        Kind::References
            | Kind::Texts
            | Kind::Values
            | Kind::Object
            | Kind::Integer
            | Kind::Number
            | Kind::Bool
    )
}

/// The cell of a value.
pub(super) fn cell_of(row: &Row, value: Option<JsonRef<'_>>) -> String {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return String::new();
    };
    let text = match value.as_str() {
        Some(text) if is_text(row) => text,
        _ => Cow::Borrowed(value.text()),
    };
    if text.is_empty() || text.starts_with(SIGNS) { format!("'{text}") } else { text.into_owned() }
}

/// The value of a cell.
///
/// # Errors
/// In words, when it is not JSON where it must be.
pub(super) fn value_of(row: &Row, cell: &str) -> Result<Option<Json>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    let text = cell.strip_prefix('\'').unwrap_or(cell);
    if is_text(row) {
        return Ok(Some(Json::string(text)));
    }
    let read = Json::parse(text.as_bytes());
    read.map(Some).map_err(|error| format!("`{}` must be JSON: {}", row.name, error.message))
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: &str) {
        let row = COMPANY.row(name).unwrap();
        let value = Json::parse(value.as_bytes()).unwrap();
        let cell = cell_of(row, Some(value.as_ref()));
        assert_eq!(cell, expect);
        assert!(!cell.starts_with(['=', '+', '-', '@', '\t', '\r']), "{cell}");
        assert_eq!(value_of(row, &cell), Ok(Some(value)));
    }

    #[test]
    fn a_cell_is_no_formula_and_gives_back_its_value() {
        for text in ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "'", "'=1", ""] {
            check("name", Json::string(text).as_ref().text(), &format!("'{text}"));
        }
        for text in ["Acme", "a,b", "say \"hi\"", "two\nlines", " =1"] {
            check("name", Json::string(text).as_ref().text(), text);
        }
        check("mrr", "-5.50", "'-5.50");
        check("domains", r#"["a.example"]"#, r#"["a.example"]"#);
        check("custom", r#"{"a":{"b":[1.10]}}"#, r#"{"a":{"b":[1.10]}}"#);
        assert_eq!(cell_of(COMPANY.row("name").unwrap(), None), "");
        assert!(value_of(COMPANY.row("custom").unwrap(), "{").is_err());
    }
}
