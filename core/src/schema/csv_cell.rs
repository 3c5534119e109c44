//! Values as people write them: in the cell of a table, and in the field of a form. A text is written as it is, any
//! other value as JSON or in words; an empty cell has no value.
//!
//! A spreadsheet evaluates a cell that begins with certain signs as a formula (CSV injection), in some languages also
//! with their full-width and small forms, and after blanks, line breaks and characters that cannot be seen. Such a text
//! gets a leading `'`, and so does one that begins with `'` itself, so that removing one `'` restores the text.

use std::borrow::Cow;

use super::field::{FieldDef, FieldKind};
use crate::value::{Json, quoted::quoted};

/// Signs that no cell begins with, after blanks: each as it is, in full width, and small.
const SIGNS: [char; 13] =
    ['=', '+', '-', '@', '＝', '＋', '－', '＠', '﹦', '﹢', '﹣', '﹫', '\''];
/// Whitespace that no cell begins with, whatever comes after it.
const BREAKS: [char; 3] = ['\t', '\r', '\n'];

/// Whether a text has a `'` before it in a cell.
pub fn is_formula(text: &str) -> bool {
    let is_blank = |sign: char| sign.is_whitespace() || sign.is_control() || is_invisible(sign);
    text.starts_with(BREAKS) || text.trim_start_matches(is_blank).starts_with(SIGNS)
}

/// Whether a character has no glyph: those with the property `Default_Ignorable_Code_Point` of Unicode, and the marks of
/// interlinear annotations.
fn is_invisible(sign: char) -> bool {
    matches!(
        sign,
        '\u{ad}'
            | '\u{34f}'
            | '\u{61c}'
            | '\u{115f}'..='\u{1160}'
            | '\u{17b4}'..='\u{17b5}'
            | '\u{180b}'..='\u{180f}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}'
            | '\u{3164}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
            | '\u{ffa0}'
            | '\u{fff0}'..='\u{fffb}'
            | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}'
            | '\u{e0000}'..='\u{e0fff}'
    )
}

/// The text of a cell: with a `'` before it where a spreadsheet would evaluate it.
pub fn escaped(text: Cow<'_, str>) -> Cow<'_, str> {
    match is_formula(&text) {
        true => Cow::Owned(format!("'{text}")),
        false => text,
    }
}

/// Whether the values of a field are texts.
pub fn is_text(field: &FieldDef) -> bool {
    !matches!(
        field.kind,
        FieldKind::References
            | FieldKind::Texts
            | FieldKind::Values
            | FieldKind::Object
            | FieldKind::Integer
            | FieldKind::Number
            | FieldKind::Bool
    )
}

/// Separator of the items of a list in a cell that is not JSON.
const ITEM_SEPARATOR: char = '|';

/// Value of a cell. A list may be JSON, or its items with `|` between.
///
/// # Errors
/// A message, when the cell is not JSON where it must be.
pub fn value_of(field: &FieldDef, cell: &str) -> Result<Option<Json>, String> {
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
        (FieldKind::Bool, Some(is_true)) => Ok(Some(Json::bool(is_true))),
        _ => Json::parse(text.as_bytes()).map(Some).map_err(|error| match error.is_syntax() {
            true => expected(field, text),
            false => format!("`{}`: {error}", field.name),
        }),
    }
}

/// Value of a cell in a column of a free-form property: a number, true or false, else a text. A number with a needless
/// leading 0 is a text.
pub fn member_of(cell: &str) -> Option<Json> {
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

/// Text after the `'` at the beginning of a cell. Before anything else the `'` is a part of the text:
/// `'s-Hertogenbosch`.
fn unquoted(cell: &str) -> Option<&str> {
    let text = cell.strip_prefix('\'')?;
    (text.is_empty() || is_formula(text)).then_some(text)
}

/// Reads true and false as spreadsheets write them.
fn word(text: &str) -> Option<bool> {
    match text {
        _ if text.eq_ignore_ascii_case("true") => Some(true),
        _ if text.eq_ignore_ascii_case("false") => Some(false),
        _ => None,
    }
}

fn is_list(field: &FieldDef) -> bool {
    matches!(field.kind, FieldKind::References | FieldKind::Texts | FieldKind::Values)
}

fn expected(field: &FieldDef, found: &str) -> String {
    let expected = match field.kind {
        FieldKind::Integer => "a whole number without thousands separators, such as 1234",
        FieldKind::Number => {
            "a number with a decimal point and without thousands separators, such as 1234.5"
        }
        FieldKind::Bool => "true or false",
        FieldKind::References | FieldKind::Texts | FieldKind::Values => {
            "items separated by `|`, or a JSON array"
        }
        _ => "a JSON object",
    };
    format!("`{}` must be {expected}; found {}", field.name, quoted(found))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::company::COMPANY;

    #[test]
    fn a_text_is_a_formula_after_blanks_and_signs_that_cannot_be_seen() {
        for text in
            ["=1", "＋1", "  -1", "\u{1}=1", "\u{feff}@a", "\tAcme", "\rAcme", "\nAcme", "'"]
        {
            assert!(is_formula(text), "{text:?}");
        }
        for blank in ["\u{200b}", "\u{180e}", "\u{202e}", "\u{2028}", "\u{2066}\u{ad}", "\u{e0020}"]
        {
            for sign in ["=", "＝", "﹢", "﹣", "﹦", "﹫", "'"] {
                let text = format!("{blank}{sign}1");
                assert!(is_formula(&text), "{text:?}");
            }
        }
        for text in ["", " ", "Acme", " Acme", "1=1", "\u{1}Acme", "\u{200b}Acme", "\u{200b}"] {
            assert!(!is_formula(text), "{text:?}");
        }
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
        assert!(read("domains", "[a").unwrap_err().contains("items separated by `|`"));
        for (cell, limit) in [("{\"a\":\"\\u0000\"}", "U+0000"), ("{\"a\":1,\"a\":2}", "unique")] {
            let message = read("custom", cell).unwrap_err();
            assert!(message.starts_with("`custom`: ") && message.contains(limit), "{message}");
        }
        for cell in ["1.234,50", "5 EUR"] {
            let said = read("mrr", cell).unwrap_err();
            assert!(
                said.contains(&format!("separators, such as 1234.5; found `{cell}`")),
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
}
