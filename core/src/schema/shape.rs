//! Checks what was sent against the rows of a resource, and brings each value to the form in which
//! it is stored. After it, no function checks shape again.

use super::{Kind, ResourceDef, Row};
use crate::value::{Document, Issue, Json, JsonRef, RecordRef, email, issue::quoted, key};

/// A body that fits the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shaped {
    /// What is to be stored; `null` clears a property.
    pub patch: Document,
    /// Names that the resource does not know, in the order sent (R6).
    pub ignored: Vec<String>,
}

/// Checks the body of a create: every value, and that nothing required is missing.
///
/// # Errors
/// Every problem found.
pub fn check_create(def: &ResourceDef, sent: &Document) -> Result<Shaped, Vec<Issue>> {
    let (shaped, mut issues) = check(def, sent);
    let missing = def
        .rows
        .iter()
        .filter(|row| row.required && is_blank(sent, row));
    issues.extend(
        missing.map(|row| {
            Issue::of_member(row.name, "required", format!("`{}` is required", row.name))
        }),
    );
    if issues.is_empty() {
        Ok(shaped)
    } else {
        Err(issues)
    }
}

/// Checks the body of an update: every value, and that nothing required is cleared.
///
/// # Errors
/// Every problem found.
pub fn check_update(def: &ResourceDef, sent: &Document) -> Result<Shaped, Vec<Issue>> {
    let (shaped, mut issues) = check(def, sent);
    let named = def
        .rows
        .iter()
        .filter(|row| row.required && sent.get(row.name).is_some());
    issues.extend(named.filter(|row| is_blank(sent, row)).map(|row| {
        Issue::of_member(
            row.name,
            "required",
            format!("`{}` cannot be cleared", row.name),
        )
    }));
    if issues.is_empty() {
        Ok(shaped)
    } else {
        Err(issues)
    }
}

/// Whether a row has no value that counts: absent, null, or a blank string.
fn is_blank(sent: &Document, row: &Row) -> bool {
    sent.value(row.name)
        .is_none_or(|value| value.as_str().is_some_and(|text| text.trim().is_empty()))
}

fn check(def: &ResourceDef, sent: &Document) -> (Shaped, Vec<Issue>) {
    let mut shaped = Shaped {
        patch: Document::default(),
        ignored: Vec::new(),
    };
    let mut issues = Vec::new();
    for (name, value) in sent.iter() {
        match def.row(name) {
            None => shaped.ignored.push(name.to_owned()),
            Some(row) if !row.is_sent() => {} // R3: what GET returned can be sent back.
            Some(row) => match read_value(row, value) {
                Ok(value) => shaped.patch.set(name, value),
                Err(issue) => issues.push(issue),
            },
        }
    }
    (shaped, issues)
}

/// The value in the form in which it is stored.
fn read_value(row: &Row, value: JsonRef<'_>) -> Result<Json, Issue> {
    if value.is_null() {
        return Ok(Json::null());
    }
    match row.kind {
        Kind::Text => read_text(row, value, |_| true, ""),
        Kind::Key => read_text(
            row,
            value,
            key::is_key,
            "1 to 512 bytes without control characters",
        ),
        Kind::Email => read_text(row, value, email::is_usable, "an e-mail address"),
        Kind::Reference => read_text(
            row,
            value,
            |text| RecordRef::parse(text).is_some(),
            "24 hex digits, `extid-...` or `srcid-...`",
        ),
        Kind::Texts => read_texts(row, value),
        Kind::Object if value.is_object() => Ok(value.to_json()),
        Kind::Object => Err(wrong_type(row, "an object", value)),
        // Set by the service only; never reached for a row that can be sent.
        Kind::Id | Kind::Date | Kind::Integer => Ok(value.to_json()),
    }
}

fn read_text(
    row: &Row,
    value: JsonRef<'_>,
    fits: fn(&str) -> bool,
    expected: &str,
) -> Result<Json, Issue> {
    let text = value
        .as_str()
        .ok_or_else(|| wrong_type(row, "a string", value))?;
    if fits(&text) {
        return Ok(value.to_json());
    }
    let message = format!("`{}` must be {expected}; found {}", row.name, quoted(&text));
    Err(Issue::of_member(row.name, "invalid_value", message))
}

fn read_texts(row: &Row, value: JsonRef<'_>) -> Result<Json, Issue> {
    let items = value
        .items()
        .ok_or_else(|| wrong_type(row, "an array of strings", value))?;
    match items.iter().find(|item| item.as_ref().as_str().is_none()) {
        Some(other) => Err(wrong_type(row, "an array of strings", other.as_ref())),
        None => Ok(value.to_json()),
    }
}

fn wrong_type(row: &Row, expected: &str, found: JsonRef<'_>) -> Issue {
    let message = format!(
        "`{}` must be {expected}; found {}",
        row.name,
        quoted(found.text())
    );
    Issue::of_member(row.name, "wrong_type", message)
}
