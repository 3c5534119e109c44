//! Members of a body that are not stored: unknown ones, and read-only ones whose value differs from the record (R6,
//! R49). The response of a GET can be sent with PUT without being reported here.

use super::response::response_fields;
use crate::{
    schema::{
        CheckedBody, FieldDef, FieldKind, LookupError, ReadCtx, ResourceDef, UnknownMemberPolicy,
    },
    value::{Document, JsonRef, Timestamp, ValidationError, near_name, quoted::quoted},
};

/// Names of members that were sent and are not stored; each is an issue of the body instead, where the caller wants it
/// rejected. `before` is the stored record, none for a create, `after` the record to be stored.
///
/// # Errors
/// If the store cannot be read.
pub(super) fn ignored(
    def: &ResourceDef,
    body: &mut CheckedBody,
    before: Option<&Document>,
    after: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Vec<String>, LookupError> {
    let mut names = names_of(&body.fixed);
    for record in [Some(after), before].into_iter().flatten() {
        if !names.is_empty() {
            let wanted = |field: &FieldDef| names.iter().any(|name| name == field.name);
            let mut response = response_fields(def, record, &wanted, ctx)?;
            body.shown.iter().for_each(|(name, value)| response.set(name, value.to_json()));
            retain_other(def, &mut names, &body.fixed, &response);
        }
    }
    Ok(handle(def, body, names))
}

/// Names of the ignored properties of a body that changes no record; `responses` are those before and after the change.
pub fn ignored_in_responses(
    def: &ResourceDef,
    body: &mut CheckedBody,
    responses: &[Document],
) -> Vec<String> {
    let mut names = names_of(&body.fixed);
    responses.iter().for_each(|response| retain_other(def, &mut names, &body.fixed, response));
    handle(def, body, names)
}

/// Names unknown members and those in `fixed`, which are not written, or makes each an issue of the body.
fn handle(def: &ResourceDef, body: &mut CheckedBody, fixed: Vec<String>) -> Vec<String> {
    let mut ignored = std::mem::take(&mut body.ignored);
    if body.handling == UnknownMemberPolicy::Strict {
        let known = def.fields.iter().filter(|field| field.is_sent()).map(|field| field.name);
        body.issues.extend(unknown_properties(&ignored, &known.collect::<Vec<_>>()));
        body.issues.extend(fixed.iter().map(|name| not_written(def, name)));
        return Vec::new();
    }
    ignored.extend(fixed);
    ignored
}

/// Issues of properties that are not known, each with the known one that it may have been meant for.
pub fn unknown_properties(names: &[String], known: &[&str]) -> Vec<ValidationError> {
    let issue = |name: &String| {
        let near = near_name(name, known.iter().copied());
        let message = format!("{} is not a known property{near}", quoted(name));
        ValidationError::of_member(name, "unknown_property", message)
    };
    names.iter().map(issue).collect()
}

fn not_written(def: &ResourceDef, name: &str) -> ValidationError {
    if def.field(name).is_some_and(|field| field.conditional) {
        let message = format!("`{name}` does not apply to the record in its state");
        return ValidationError::of_member(name, "not_applicable", message);
    }
    let message = format!("`{name}` is set by the service and cannot be written");
    ValidationError::of_member(name, "read_only", message)
}

fn names_of(sent: &Document) -> Vec<String> {
    sent.iter().map(|(name, _)| name.to_owned()).collect()
}

/// Leaves the names of read-only members that were sent with another value than the response has.
fn retain_other(def: &ResourceDef, names: &mut Vec<String>, sent: &Document, response: &Document) {
    names.retain(|name| {
        def.field(name).is_some_and(|field| !is_same(field, sent.get(name), response.get(name)))
    });
}

/// Whether the sent value equals that of the record; null equals an absent value.
pub(super) fn is_same(
    field: &FieldDef,
    sent: Option<JsonRef<'_>>,
    found: Option<JsonRef<'_>>,
) -> bool {
    let something = |value: Option<JsonRef<'_>>| value.is_some_and(|value| !value.is_null());
    let (Some(sent), Some(found)) = (sent, found) else {
        return !something(sent) && !something(found);
    };
    let date = |value: JsonRef<'_>| value.as_str().and_then(|text| Timestamp::parse(&text));
    sent == found
        || match field.kind {
            FieldKind::Number | FieldKind::Integer => {
                sent.as_number().is_some() && sent.as_number() == found.as_number()
            }
            FieldKind::Date => date(sent).is_some() && date(sent) == date(found),
            _ => sent.as_str().is_some() && sent.as_str() == found.as_str(),
        }
}
