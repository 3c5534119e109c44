//! Checks one sent value against its field, and converts it to its stored form.

use rust_decimal::Decimal;

use super::field::{FieldDef, FieldKind, OnMissing};
use crate::value::{
    Json, JsonRef, Number, RecordRef, Timestamp, ValidationError, email, key,
    malformed::{MAX_MEMBER_BYTES, MAX_STRING_BYTES},
    number::{LEAST_AMOUNT, MAX_AMOUNT},
    quoted::{quoted, quoted_list},
    validation_error::DATE_FORM,
};

/// Maximum number of items in an array of texts or ids; each may become an entry of an index.
const MAX_ARRAY_ITEMS: usize = 1_000;

/// Converts a value to its stored form; `null` stays `null`.
pub(crate) fn read_value(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    if value.is_null() {
        return Ok(Json::null());
    }
    match field.kind {
        FieldKind::Text => read_text(field, value),
        FieldKind::Key => {
            read_fitting(field, value, key::is_key, "1 to 512 bytes without control characters")
        }
        FieldKind::Email => read_fitting(field, value, email::is_usable, "an e-mail address"),
        FieldKind::Reference => {
            read_fitting(field, value, |text| is_reference(field, text), RecordRef::FORMS)
        }
        FieldKind::References => read_references(field, value),
        FieldKind::Texts => read_texts(field, value),
        FieldKind::Values => value
            .items()
            .map(|_| value.to_json())
            .ok_or_else(|| wrong_type(field, "an array", value)),
        FieldKind::Object if value.is_object() => Ok(value.to_json()),
        FieldKind::Object => Err(wrong_type(field, "an object", value)),
        FieldKind::Date => read_date(field, value),
        FieldKind::Integer => read_integer(field, value),
        FieldKind::Number => read_number(field, value),
        FieldKind::Bool if value.as_bool().is_some() => Ok(value.to_json()),
        FieldKind::Bool => Err(wrong_type(field, "true or false", value)),
        // Only the service sets an id; a field that can be sent never gets here.
        FieldKind::Id => Ok(value.to_json()),
    }
}

fn read_text(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    let text = value.as_str().ok_or_else(|| wrong_type(field, "a string", value))?;
    if let Some((_, meant)) = field.aliases.iter().find(|(alias, _)| *alias == text) {
        return Ok(Json::string(meant));
    }
    if !field.values.is_empty() && !field.values.contains(&&*text) {
        let expected = format!("one of {}", quoted_list(field.values));
        return Err(invalid(field, &expected, &text));
    }
    let most = if field.long_text { MAX_MEMBER_BYTES } else { MAX_STRING_BYTES };
    if text.len() > most {
        return Err(invalid(field, &format!("at most {most} bytes long"), &text));
    }
    Ok(value.to_json())
}

fn read_fitting(
    field: &FieldDef,
    value: JsonRef<'_>,
    fits: impl Fn(&str) -> bool,
    expected: &str,
) -> Result<Json, ValidationError> {
    let text = value.as_str().ok_or_else(|| wrong_type(field, "a string", value))?;
    if fits(&text) { Ok(value.to_json()) } else { Err(invalid(field, expected, &text)) }
}

/// Whether a text can name a record in this field: a plain text need not be an id where the record need not exist (R2).
fn is_reference(field: &FieldDef, text: &str) -> bool {
    let firm = field.refers.is_none_or(|refers| refers.on_missing == OnMissing::Reject);
    RecordRef::parse(text).is_some()
        || (!firm && !RecordRef::is_prefixed(text) && key::is_key(text))
}

/// The items of an array that is not too long.
fn read_array(
    field: &FieldDef,
    value: JsonRef<'_>,
    expected: &str,
) -> Result<Vec<Json>, ValidationError> {
    let items = value.items().ok_or_else(|| wrong_type(field, expected, value))?;
    if items.len() <= MAX_ARRAY_ITEMS {
        return Ok(items);
    }
    let message = format!(
        "`{}` must have at most {MAX_ARRAY_ITEMS} items; found {}",
        field.name,
        items.len()
    );
    Err(ValidationError::of_member(field.name, "invalid_value", message))
}

/// Reads ids, or objects with an `_id`; stored as ids.
fn read_references(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    let items = read_array(field, value, "an array of ids")?;
    let mut ids = Vec::with_capacity(items.len());
    for item in &items {
        let inner =
            item.as_ref().to_document().and_then(|object| object.get("_id").map(|id| id.to_json()));
        let id = inner.as_ref().unwrap_or(item).as_ref();
        let text =
            id.as_str().ok_or_else(|| wrong_type(field, "an array of ids", item.as_ref()))?;
        if !is_reference(field, &text) {
            return Err(invalid(field, RecordRef::FORMS, &text));
        }
        ids.push(text.into_owned());
    }
    Ok(Json::strings(ids.iter().map(String::as_str)))
}

fn read_texts(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    let items = read_array(field, value, "an array of strings")?;
    match items.iter().find(|item| item.as_ref().as_str().is_none()) {
        Some(other) => Err(wrong_type(field, "an array of strings", other.as_ref())),
        None => Ok(value.to_json()),
    }
}

fn read_date(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    let text = value.as_str().ok_or_else(|| wrong_type(field, "an ISO 8601 date", value))?;
    match Timestamp::parse(&text) {
        Some(time) => Ok(Json::string(&time.to_string())),
        None => Err(invalid(field, DATE_FORM, &text)),
    }
}

fn read_number(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    let text = value.as_number_text().ok_or_else(|| wrong_type(field, "a number", value))?;
    let expected =
        || format!("from -{MAX_AMOUNT} to {MAX_AMOUNT}, and not closer to 0 than {LEAST_AMOUNT}");
    let number = Number::parse(text).ok_or_else(|| invalid(field, &expected(), text))?;
    check_range(field, number, text)?;
    Ok(Json::number(number))
}

fn read_integer(field: &FieldDef, value: JsonRef<'_>) -> Result<Json, ValidationError> {
    let text = value.as_number_text().ok_or_else(|| wrong_type(field, "a whole number", value))?;
    let number = Number::parse(text).filter(|number| number.is_whole());
    let number = number.ok_or_else(|| invalid(field, "a whole number", text))?;
    check_range(field, number, text)?;
    Ok(Json::number(number))
}

fn check_range(field: &FieldDef, number: Number, text: &str) -> Result<(), ValidationError> {
    let Some((least, greatest)) = field.range else { return Ok(()) };
    let tenths = Decimal::new(field.least_tenths.into(), 1);
    let is_least = field.least_tenths == 0 || number.as_decimal() >= tenths;
    if is_least && number.is_within(least, greatest) {
        return Ok(());
    }
    let expected = match (field.above_least, field.least_tenths) {
        (true, _) => format!("more than {least} and at most {greatest}"),
        (false, 0) => format!("from {least} to {greatest}"),
        (false, _) => format!("from {tenths} to {greatest}"),
    };
    Err(invalid(field, &expected, text))
}

fn invalid(field: &FieldDef, expected: &str, found: &str) -> ValidationError {
    let message = format!("`{}` must be {expected}; found {}", field.name, quoted(found));
    ValidationError::of_member(field.name, "invalid_value", message)
}

fn wrong_type(field: &FieldDef, expected: &str, found: JsonRef<'_>) -> ValidationError {
    let message = format!("`{}` must be {expected}; found {}", field.name, quoted(found.text()));
    ValidationError::of_member(field.name, "wrong_type", message)
}
