//! Records as lines of CSV, for lists and exports. A text is in its cell unchanged, any other value as JSON. An empty
//! cell has no value, so the empty text gets a leading `'`, and so does a text that a spreadsheet would read as a
//! formula; a number is one, also where it is negative.

use std::borrow::Cow;

use svctrack_core::{
    schema::{
        FieldDef, ResourceDef,
        csv_cell::{escaped, is_text},
    },
    value::{Document, JsonRef},
};

/// Columns of a list: all properties, or the requested ones.
pub(crate) struct CsvColumns(Vec<CsvColumn>);

struct CsvColumn {
    name: String,
    field: &'static FieldDef,
    /// Key below `custom`, if the column is one.
    key: Option<String>,
}

impl CsvColumns {
    /// A column a property, in the order of the fields, with those that have to be selected.
    pub(crate) fn of_export(def: &ResourceDef) -> Self {
        Self::of_fields(def.fields.iter())
    }

    fn of_fields(fields: impl Iterator<Item = &'static FieldDef>) -> Self {
        Self(
            fields
                .map(|field| CsvColumn { name: field.name.to_owned(), field, key: None })
                .collect(),
        )
    }

    /// Requested columns, in that order; `_id` is always among them (R13).
    pub(crate) fn selected(def: &ResourceDef, select: Option<&[String]>) -> Self {
        let Some(select) = select else {
            return Self::of_fields(def.fields.iter().filter(|field| !field.is_on_request()));
        };
        let id = (!select.iter().any(|name| name == "_id")).then_some("_id");
        let names = id.into_iter().chain(select.iter().map(String::as_str));
        Self(names.filter_map(|name| CsvColumn::named(def, name)).collect())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|column| column.name.as_str())
    }

    /// The line of a record.
    pub(crate) fn cells(&self, record: &Document) -> impl Iterator<Item = String> {
        self.0.iter().map(|column| column.cell(record))
    }
}

impl CsvColumn {
    fn named(def: &ResourceDef, name: &str) -> Option<Self> {
        let (field, key) = match name.strip_prefix("custom.") {
            Some(key) => ("custom", Some(key.to_owned())),
            None => (name, None),
        };
        Some(Self { name: name.to_owned(), field: def.field(field)?, key })
    }

    fn cell(&self, record: &Document) -> String {
        let value = record.get(self.field.name);
        match &self.key {
            Some(key) => cell_where(true, value.and_then(|object| object.member(key))),
            None => cell_of(self.field, value),
        }
    }
}

fn cell_of(field: &FieldDef, value: Option<JsonRef<'_>>) -> String {
    cell_where(is_text(field), value)
}

/// A cell of a value, where a string is a text or JSON.
fn cell_where(is_text: bool, value: Option<JsonRef<'_>>) -> String {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return String::new();
    };
    let text = match value.as_str() {
        Some(text) if is_text => text,
        _ => Cow::Borrowed(value.text()),
    };
    let text = match value.as_number_text() {
        Some(_) => text,
        None if text.is_empty() => Cow::Borrowed("'"),
        None => escaped(text),
    };
    text.into_owned()
}

#[cfg(test)]
mod tests {
    use svctrack_core::{
        resources::company::COMPANY,
        schema::csv_cell::{is_formula, value_of},
        value::Json,
    };

    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: &str) {
        let field = COMPANY.field(name).unwrap();
        let value = Json::parse(value.as_bytes()).unwrap();
        let cell = cell_of(field, Some(value.as_ref()));
        assert_eq!(cell, expect);
        let is_number = value.as_ref().as_number_text().is_some();
        assert!(is_number || cell.starts_with('\'') || !is_formula(&cell), "{cell}");
        assert_eq!(value_of(field, &cell), Ok(Some(value)));
    }

    #[test]
    fn a_cell_is_no_formula_and_gives_back_its_value() {
        let full_width = ["＝1+1", "＋1", "－1", "＠x"];
        let formulas = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "'", "'=1", ""];
        let after_blanks = [" =1", "\u{a0}\t+1", "\u{feff}-1", "\u{1}@x", " '", "\u{3000}＝1"];
        for text in formulas.into_iter().chain(full_width).chain(after_blanks) {
            check("name", Json::string(text).as_ref().text(), &format!("'{text}"));
        }
        for text in ["Acme", "a,b", "say \"hi\"", "two\nlines", " a = 1"] {
            check("name", Json::string(text).as_ref().text(), text);
        }
        check("mrr", "-5.50", "-5.50");
        check("name", "\"-5.50\"", "'-5.50");
        check("domains", r#"["a.example"]"#, r#"["a.example"]"#);
        check("custom", r#"{"a":{"b":[1.10]}}"#, r#"{"a":{"b":[1.10]}}"#);
        assert_eq!(cell_of(COMPANY.field("name").unwrap(), None), "");
        assert!(value_of(COMPANY.field("custom").unwrap(), "{").is_err());
        let name = value_of(COMPANY.field("name").unwrap(), "'s-Hertogenbosch").unwrap().unwrap();
        assert_eq!(name.as_ref().as_str().as_deref(), Some("'s-Hertogenbosch"));
    }
}
