//! Records as lines of CSV, for lists and exports. A text is in its cell as it is, any other value as JSON; an empty
//! cell is no value.
//!
//! A spreadsheet takes what begins with certain signs for a formula, in some languages also their full-width forms, and
//! may pass over a break before them. Such a cell gets a `'` in front, and so do
//! one that begins with `'` itself and the empty text, so that taking it off gives back what was there.

use std::borrow::Cow;

use svctrack_core::{
    schema::{FieldDef, Kind, ResourceDef},
    value::{Document, Json, JsonRef, issue::quoted},
};

/// What no cell begins with.
const SIGNS: [char; 12] = ['=', '+', '-', '@', '＝', '＋', '－', '＠', '\t', '\r', '\n', '\''];

/// Whether the values of a field are texts.
fn is_text(field: &FieldDef) -> bool {
    !matches!(
        field.kind,
        Kind::References
            | Kind::Texts
            | Kind::Values
            | Kind::Object
            | Kind::Integer
            | Kind::Number
            | Kind::Bool
    )
}

/// The columns of a list: all properties, or those that are asked for.
pub(crate) struct Columns(Vec<Column>);

struct Column {
    name: String,
    field: &'static FieldDef,
    /// The key below `custom`, if it is that of one.
    key: Option<String>,
}

impl Columns {
    /// A column a property, in the order of the fields.
    pub(crate) fn of(def: &ResourceDef) -> Self {
        let column =
            |field: &'static FieldDef| Column { name: field.name.to_owned(), field, key: None };
        Self(def.fields.iter().map(column).collect())
    }

    /// The columns that are asked for, in that order; `_id` is always among them (R13).
    pub(crate) fn selected(def: &ResourceDef, select: Option<&[String]>) -> Self {
        let Some(select) = select else { return Self::of(def) };
        let id = (!select.iter().any(|name| name == "_id")).then_some("_id");
        let names = id.into_iter().chain(select.iter().map(String::as_str));
        Self(names.filter_map(|name| Column::named(def, name)).collect())
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|column| column.name.as_str())
    }

    /// The line of a record.
    pub(crate) fn cells(&self, record: &Document) -> impl Iterator<Item = String> {
        self.0.iter().map(|column| column.cell(record))
    }
}

impl Column {
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

/// The cell of a value.
fn cell_of(field: &FieldDef, value: Option<JsonRef<'_>>) -> String {
    cell_where(is_text(field), value)
}

/// The same, where a string is a text or JSON.
fn cell_where(is_text: bool, value: Option<JsonRef<'_>>) -> String {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return String::new();
    };
    let text = match value.as_str() {
        Some(text) if is_text => text,
        _ => Cow::Borrowed(value.text()),
    };
    if text.is_empty() || text.starts_with(SIGNS) { format!("'{text}") } else { text.into_owned() }
}

/// The cell of a text of a report: a number stays one, and nothing stays empty.
pub(crate) fn cell_of_report(text: &str) -> Cow<'_, str> {
    let is_number = text.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    });
    if !is_number && text.starts_with(SIGNS) {
        return Cow::Owned(format!("'{text}"));
    }
    Cow::Borrowed(text)
}

/// What separates the items of a list in a cell that is not JSON.
const ITEM_SEPARATOR: char = '|';

/// The value of a cell. A list may be JSON, or its items with `|` between.
///
/// # Errors
/// In words, when it is not JSON where it must be.
pub(crate) fn value_of(field: &FieldDef, cell: &str) -> Result<Option<Json>, String> {
    if cell.is_empty() {
        return Ok(None);
    }
    let text = unquoted(cell).unwrap_or(cell);
    if is_text(field) {
        return Ok(Some(Json::string(text)));
    }
    let text = text.trim();
    if is_list(field) && !text.starts_with('[') {
        let items = text.split(ITEM_SEPARATOR).map(str::trim).filter(|item| !item.is_empty());
        return Ok(Some(Json::strings(items)));
    }
    match (field.kind, word(text)) {
        (Kind::Bool, Some(is_true)) => Ok(Some(Json::bool(is_true))),
        _ => Json::parse(text.as_bytes()).map(Some).map_err(|_| expected(field, text)),
    }
}

/// The value of a cell in a column of a free-form property: a number, true or false, else a text. What begins with a
/// needless 0 is a text.
pub(crate) fn member_of(cell: &str) -> Option<Json> {
    if cell.trim().is_empty() {
        return None;
    }
    if let Some(text) = unquoted(cell) {
        return Some(Json::string(text));
    }
    let text = cell.trim();
    if let Some(is_true) = word(text) {
        return Some(Json::bool(is_true));
    }
    let number = Json::parse(text.as_bytes()).ok();
    let number = number.filter(|json| json.as_ref().as_number_text().is_some());
    Some(number.unwrap_or_else(|| Json::string(cell)))
}

/// The text after the `'` in front of a cell. In front of anything else it is a part of the text: `'s-Hertogenbosch`.
fn unquoted(cell: &str) -> Option<&str> {
    let text = cell.strip_prefix('\'')?;
    (text.is_empty() || text.starts_with(SIGNS)).then_some(text)
}

/// True and false as spreadsheets write them.
fn word(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn is_list(field: &FieldDef) -> bool {
    matches!(field.kind, Kind::References | Kind::Texts | Kind::Values)
}

fn expected(field: &FieldDef, found: &str) -> String {
    let expected = match field.kind {
        Kind::Integer | Kind::Number => {
            "a number without separators of thousands and with a decimal point, such as 1234.5"
        }
        Kind::Bool => "true or false",
        Kind::References | Kind::Texts | Kind::Values => {
            "items with `|` between, or an array of JSON"
        }
        _ => "an object of JSON",
    };
    format!("`{}` must be {expected}; found {}", field.name, quoted(found))
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    #[track_caller]
    fn check(name: &str, value: &str, expect: &str) {
        let field = COMPANY.field(name).unwrap();
        let value = Json::parse(value.as_bytes()).unwrap();
        let cell = cell_of(field, Some(value.as_ref()));
        assert_eq!(cell, expect);
        assert!(cell.starts_with('\'') || !cell.starts_with(SIGNS), "{cell}");
        assert_eq!(value_of(field, &cell), Ok(Some(value)));
    }

    #[test]
    fn cells_of_lists_numbers_and_words_are_read_as_people_write_them() {
        let read = |name: &str, cell: &str| {
            let value = value_of(COMPANY.field(name).unwrap(), cell);
            value.map(|value| value.unwrap().as_ref().text().to_owned())
        };
        assert_eq!(
            read("domains", "a.example| b.example|").as_deref(),
            Ok(r#"["a.example","b.example"]"#)
        );
        assert_eq!(read("domains", r#"["a|b"]"#).as_deref(), Ok(r#"["a|b"]"#));
        assert!(read("domains", "[a").unwrap_err().contains("items with `|` between"));
        for cell in ["1.234,50", "5 EUR"] {
            let said = read("mrr", cell).unwrap_err();
            assert!(
                said.contains(&format!("decimal point, such as 1234.5; found `{cell}`")),
                "{said}"
            );
        }
        let member = |cell: &str| member_of(cell).map(|value| value.as_ref().text().to_owned());
        for (cell, expect) in [
            ("5", "5"),
            ("-1.50", "-1.50"),
            ("TRUE", "true"),
            ("05", "\"05\""),
            ("'-5", "\"-5\""),
            ("'s", "\"'s\""),
            ("{}", "\"{}\""),
            ("Plan", "\"Plan\""),
        ] {
            assert_eq!(member(cell).as_deref(), Some(expect));
        }
        assert_eq!(member(" "), None);
    }

    #[test]
    fn a_cell_is_no_formula_and_gives_back_its_value() {
        let full_width = ["＝1+1", "＋1", "－1", "＠x"];
        let formulas = ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "'", "'=1", ""];
        for text in formulas.into_iter().chain(full_width) {
            check("name", Json::string(text).as_ref().text(), &format!("'{text}"));
        }
        for text in ["Acme", "a,b", "say \"hi\"", "two\nlines", " =1"] {
            check("name", Json::string(text).as_ref().text(), text);
        }
        check("mrr", "-5.50", "'-5.50");
        check("domains", r#"["a.example"]"#, r#"["a.example"]"#);
        check("custom", r#"{"a":{"b":[1.10]}}"#, r#"{"a":{"b":[1.10]}}"#);
        assert_eq!(cell_of(COMPANY.field("name").unwrap(), None), "");
        assert!(value_of(COMPANY.field("custom").unwrap(), "{").is_err());
        let name = value_of(COMPANY.field("name").unwrap(), "'s-Hertogenbosch").unwrap().unwrap();
        assert_eq!(name.as_ref().as_str().as_deref(), Some("'s-Hertogenbosch"));
    }
}
