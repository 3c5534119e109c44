//! The form of a record on a page: the text of each field, and the body of a call from the texts that are submitted.
//! The server and the browser share it.

use super::{
    csv_cell::value_of,
    field::{FieldDef, FieldKind},
    resource::ResourceDef,
};
use crate::value::{Document, Json, JsonRef, ValidationError};

/// Text of a form field for a value.
pub fn filled(field: &FieldDef, value: Option<JsonRef<'_>>) -> String {
    let Some(value) = value.filter(|value| !value.is_null()) else { return String::new() };
    if let Some(text) = value.as_str() {
        return match field.kind {
            FieldKind::Date => text.strip_suffix("T00:00:00.000Z").unwrap_or(&text).to_owned(),
            _ => text.into_owned(),
        };
    }
    match value.items() {
        Some(items) if field.kind == FieldKind::Texts => joined(&items),
        _ => value.text().to_owned(),
    }
}

/// Joins texts with commas; as JSON where the commas would be ambiguous.
fn joined(items: &[Json]) -> String {
    let texts = items.iter().filter_map(|item| item.as_ref().as_str());
    let texts: Vec<_> = texts.collect();
    let is_plain =
        |item: &str| !item.contains(',') && !item.starts_with('[') && item.trim() == item;
    if texts.iter().all(|text| is_plain(text)) {
        texts.join(", ")
    } else {
        Json::strings(texts.iter().map(|text| &**text)).as_ref().text().to_owned()
    }
}

/// Whether a property has a field of several lines.
pub fn has_lines(field: &FieldDef) -> bool {
    field.long_text
        || matches!(field.kind, FieldKind::Object | FieldKind::Values | FieldKind::References)
}

/// Body of the call that a form sends, and the problems of its texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FormBody {
    /// The body. A property whose text has no valid value has a value of the wrong type: the call is rejected, with all
    /// other problems of the form.
    pub document: Document,
    /// Issues of the texts that have no valid value.
    pub issues: Vec<ValidationError>,
}

impl FormBody {
    /// Gives a property a value of the wrong type.
    pub fn invalidate(&mut self, field: &FieldDef) {
        let empty = match field.kind {
            FieldKind::Object => Json::strings([]),
            _ => Json::object(&Document::default()),
        };
        self.document.set(field.name, empty);
    }

    /// All issues of the form: those of its texts, and those with which its body was rejected, but for the same
    /// properties.
    pub fn all_issues(self, of_body: Vec<ValidationError>) -> Vec<ValidationError> {
        let mut all = self.issues;
        let texts = all.len();
        for issue in of_body {
            if all.iter().take(texts).all(|known| known.pointer != issue.pointer) {
                all.push(issue);
            }
        }
        all
    }
}

/// Body that a form sends for a resource: the properties that differ from the texts that `record` filled it with. An
/// empty field clears its property.
///
/// ```
/// use svctrack_core::{resources::company::COMPANY, schema::form, value::Document};
/// let record = Document::parse(br#"{"name":"Acme","csmScore":4,"tags":["a"]}"#).unwrap();
/// let sent = [("name", "Acme"), ("csmScore", "5"), ("tags", "")].map(|(name, text)| (name.to_owned(), text.to_owned()));
/// let body = form::read(&COMPANY, &sent, &record);
/// assert_eq!(body.document.to_text(), r#"{"csmScore":5,"tags":[]}"#);
/// assert!(body.issues.is_empty());
/// ```
pub fn read(def: &ResourceDef, sent: &[(String, String)], record: &Document) -> FormBody {
    let mut body = FormBody::default();
    for field in def.fields.iter().filter(|field| field.is_sent()) {
        let Some((_, text)) = sent.iter().find(|(name, _)| name == field.name) else { continue };
        let stored = record.get(field.name);
        if !differs(field, text, stored) {
            continue;
        }
        match value(field, &as_browsers_send(field, text)) {
            Ok(value) => body.document.set(field.name, changes(value, stored)),
            Err(message) => {
                body.issues.push(ValidationError::of_member(field.name, "invalid_value", message));
                body.invalidate(field);
            }
        }
    }
    body
}

/// Whether a text that was sent is not the one that the field was filled with for this value.
pub fn differs(field: &FieldDef, text: &str, value: Option<JsonRef<'_>>) -> bool {
    as_browsers_send(field, text) != as_browsers_send(field, &filled(field, value))
}

/// A text as a browser returns it from a field that was filled with it: a field of a single line has no line ends, one
/// of several lines has one kind of them.
fn as_browsers_send(field: &FieldDef, text: &str) -> String {
    match has_lines(field) {
        true => text.replace("\r\n", "\n").replace('\r', "\n"),
        false => text.replace(['\r', '\n'], ""),
    }
}

/// An object for the API, which merges it with the stored one: the members that differ, null where they are gone.
fn changes(value: Json, stored: Option<JsonRef<'_>>) -> Json {
    let stored = stored.and_then(JsonRef::to_document);
    let (Some(sent), Some(stored)) = (value.as_ref().to_document(), stored) else { return value };
    let mut changed = Document::default();
    for (name, member) in sent.iter().filter(|(name, member)| stored.get(name) != Some(*member)) {
        changed.set(name, member.to_json());
    }
    for (name, _) in stored.iter().filter(|(name, _)| sent.get(name).is_none()) {
        changed.set(name, Json::null());
    }
    Json::object(&changed)
}

/// Value of a field; null where the field is empty.
fn value(field: &FieldDef, text: &str) -> Result<Json, String> {
    if field.kind == FieldKind::Texts && !text.trim_start().starts_with('[') {
        let items = text.split(',').map(str::trim).filter(|item| !item.is_empty());
        return Ok(Json::strings(items));
    }
    let is_text = matches!(field.kind, FieldKind::Text | FieldKind::Key | FieldKind::Email);
    if is_text && !text.is_empty() {
        return Ok(Json::string(text));
    }
    Ok(value_of(field, text)?.unwrap_or_else(Json::null))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        resources::{REGISTRY, company::COMPANY, settings::SETTINGS},
        schema::checked_body::check_update,
    };

    fn check(def: &ResourceDef, record: &str, name: &str, text: &str, expect: Result<&str, &str>) {
        let record = Document::parse(record.as_bytes()).unwrap();
        let FormBody { document, issues } =
            read(def, &[(name.to_owned(), text.to_owned())], &record);
        let text = document.to_text();
        let found = issues.first().map_or(Ok(&*text), |issue| Err(&*issue.message));
        assert_eq!(found, expect);
    }

    #[test]
    fn a_field_comes_back_as_it_was_filled() {
        let stored = r#"{"name":"a\r\nb","tags":["a,b"," c"],"custom":{"n":1.50},"csmScore":3}"#;
        let record = Document::parse(stored.as_bytes()).unwrap();
        for (name, value) in record.iter() {
            let field = COMPANY.field(name).unwrap();
            check(&COMPANY, stored, name, &filled(field, Some(value)), Ok("{}"));
        }
    }

    #[test]
    fn an_object_is_sent_as_what_differs() {
        let limits = r#"{"rateLimits":{"requestsPerSecond":5,"kept":1e30}}"#;
        let sent = r#"{"trackingPerSecond":9,"kept":1e30}"#;
        let body = r#"{"rateLimits":{"trackingPerSecond":9,"requestsPerSecond":null}}"#;
        check(&SETTINGS, limits, "rateLimits", sent, Ok(body));
        check(&SETTINGS, limits, "rateLimits", "", Ok(r#"{"rateLimits":null}"#));
    }

    #[test]
    fn a_text_that_is_no_value_is_named() {
        let number = "`csmScore` must be a whole number without thousands separators, such as 1234; \
            found `many`";
        check(&COMPANY, "{}", "csmScore", "many", Err(number));
        let object = "`custom` must be a JSON object; found `{`";
        check(&COMPANY, "{}", "custom", "{", Err(object));
        check(&COMPANY, "{}", "mrr", "many", Ok("{}"));
    }

    #[test]
    fn a_body_with_a_text_that_is_no_value_is_rejected_for_every_property() {
        for def in REGISTRY.iter().copied().chain([&SETTINGS]) {
            for field in def.fields.iter().filter(|field| field.is_sent()) {
                let mut body = FormBody::default();
                body.invalidate(field);
                let found = check_update(def, &body.document).checked().unwrap_err();
                assert_eq!(found[0].member(), field.name, "{}", def.path);
            }
        }
    }
}
