//! Printed output: texts, values and tables for people.

use std::{
    borrow::Cow,
    io::{self, Write as _},
};

use serde_json::Value;

/// Prints a result. A reader that has stopped reading, as `head` does, is no error.
pub(crate) fn print_out(text: &str) -> Result<(), String> {
    print_line(text).map(drop)
}

/// Prints a part of a result. Returns whether somebody still reads.
pub(crate) fn print_line(text: &str) -> Result<bool, String> {
    match writeln!(io::stdout(), "{}", printable(text)) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error.to_string()),
        written => Ok(written.is_ok()),
    }
}

/// Prints a message besides the result, if standard error is open.
pub(crate) fn print_err(text: &str) {
    let _ = writeln!(io::stderr(), "{}", printable(text));
}

/// A text with its control characters escaped as in JSON, but for line ends and tabs: it may repeat a file or a record,
/// and a terminal would obey them.
fn printable(text: &str) -> Cow<'_, str> {
    let is_obeyed = |char: char| char.is_control() && !matches!(char, '\n' | '\t');
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for char in text.chars() {
        match is_obeyed(char) {
            true => shown.push_str(&format!("\\u{:04x}", u32::from(char))),
            false => shown.push(char),
        }
    }
    Cow::Owned(shown)
}

/// Value at a JSON pointer, as text for a person.
pub(crate) fn text_at(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).map_or_else(String::new, text)
}

/// A value as text for a person.
fn text(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text).collect::<Vec<_>>().join(","),
        other => other.to_string(),
    }
}

/// Objects as lines below the names of their columns, each as wide as its longest value.
pub(crate) fn table(rows: &Value, columns: &[&str]) -> String {
    let rows = rows.as_array().into_iter().flatten();
    let mut lines = vec![columns.iter().map(|column| (*column).to_owned()).collect::<Vec<_>>()];
    lines.extend(
        rows.map(|row| columns.iter().map(|column| text_at(row, &format!("/{column}"))).collect()),
    );
    let width = |column: usize| {
        lines.iter().filter_map(|line| line.get(column)).map(|cell| cell.chars().count()).max()
    };
    let widths: Vec<usize> = (0..columns.len()).map(|column| width(column).unwrap_or(0)).collect();
    let padded = |line: &Vec<String>| {
        let cells = line.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}"));
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    lines.iter().map(padded).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_terminal_obeys_no_text_that_is_shown() {
        for (text, shown) in [
            ("a\tb\nc é", "a\tb\nc é"),
            ("\u{1b}]0;x\u{7}", "\\u001b]0;x\\u0007"),
            ("\r\0\u{9b}2J", "\\u000d\\u0000\\u009b2J"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
