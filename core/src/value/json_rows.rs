//! Reads a large array of objects row by row, so that no tree of the whole is ever in memory: the text is checked
//! first, then each row is read when it is requested.

use hifijson::SliceLexer;

use super::{
    document::Document,
    json::Json,
    json_reader::{copy_value, object, read, read_items, read_members, skip_value},
    malformed::{FaultPolicy, Malformed, TextFault},
};

/// Maximum number of unknown members of an envelope that are reported by name.
const MAX_OTHERS: usize = 100;
/// Depth of a row in the array, counting itself.
const DEPTH_OF_ROWS: usize = 2;

/// The rows of an array that has been checked.
#[derive(Clone, Debug)]
pub struct JsonRows<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
}

/// A row as it was sent.
#[derive(Clone, Debug)]
pub struct JsonRow {
    /// Members of the row, or the fault of this row alone.
    pub members: Result<Document, Malformed>,
    /// Length of the row's text, in bytes.
    pub bytes: usize,
}

/// An object around rows, `{"batch": [...], ...}`, or none.
#[derive(Clone, Debug, Default)]
pub struct Envelope {
    /// Members that were requested.
    pub members: Document,
    /// Other names, up to the number that is stored.
    pub others: Vec<String>,
    /// Beginning of the first row, in bytes of the text; none where there is no array.
    first: Option<usize>,
}

impl Envelope {
    /// Name of the member with the rows.
    pub const ROWS: &'static str = "batch";

    /// Checks that `text` as a whole is a JSON object, and its rows objects; returns only the members that are
    /// `wanted`.
    ///
    /// # Errors
    /// [`Malformed`], with `body_must_be_object` for another JSON value.
    pub fn check(text: &[u8], wanted: &[&str]) -> Result<Self, Malformed> {
        let mut envelope = Self::default();
        read(text, |next, lexer| {
            if next != b'{' {
                skip_value(next, lexer, 0)?;
                return Err(TextFault::NotAnObject);
            }
            object(lexer, 1, &mut FaultPolicy::strict(), |key, next, lexer, faults| {
                if key == Self::ROWS {
                    envelope.first = Some(text.len() - lexer.as_slice().len() + 1);
                    return read_batch(next, lexer);
                }
                if !wanted.contains(&&*key) {
                    if envelope.others.len() < MAX_OTHERS {
                        envelope.others.push(key.to_string());
                    }
                    return skip_value(next, lexer, 1);
                }
                let mut value = String::new();
                copy_value(next, lexer, 1, &mut value, faults)?;
                envelope.members.push(key, Json::of_text(value));
                Ok(())
            })
        })?;
        Ok(envelope)
    }

    /// Whether there are rows.
    pub fn has_rows(&self) -> bool {
        self.first.is_some()
    }

    /// The rows of `text`, which has been checked.
    pub fn rows<'a>(&self, text: &'a [u8]) -> JsonRows<'a> {
        let rest = self.first.and_then(|first| text.get(first..)).unwrap_or_default();
        JsonRows { whole: text, rest }
    }
}

fn read_batch(next: u8, lexer: &mut SliceLexer<'_>) -> Result<(), TextFault> {
    if next != b'[' {
        skip_value(next, lexer, 1)?;
        return Err(TextFault::NotABatch);
    }
    read_items(next, lexer, |next, lexer| {
        skip_value(next, lexer, DEPTH_OF_ROWS)?;
        if next == b'{' { Ok(()) } else { Err(TextFault::NotABatch) }
    })
}

impl<'a> JsonRows<'a> {
    /// Checks that `text` as a whole is a JSON array of objects; other faults belong to their rows (R9).
    ///
    /// # Errors
    /// [`Malformed`], with `body_must_be_array` for another JSON value or another kind of item.
    pub fn check(text: &'a [u8]) -> Result<Self, Malformed> {
        read(text, |next, lexer| {
            read_items(next, lexer, |next, lexer| {
                skip_value(next, lexer, DEPTH_OF_ROWS - 1)?;
                if next == b'{' { Ok(()) } else { Err(TextFault::NotAnArray) }
            })
        })?;
        let first = text.iter().position(|byte| *byte == b'[').map_or(text.len(), |at| at + 1);
        Ok(Self { whole: text, rest: text.get(first..).unwrap_or_default() })
    }

    fn read_row(&mut self) -> Option<JsonRow> {
        let start = self.rest.iter().position(|byte| matches!(byte, b'{' | b']'))?;
        let row = self.rest.get(start..).filter(|row| row.starts_with(b"{"))?;
        let mut lexer = SliceLexer::new(row);
        let (mut faults, mut members) = (FaultPolicy::lenient(), Document::default());
        let done = read_members(&mut lexer, DEPTH_OF_ROWS, &mut members, &mut faults);
        self.rest = lexer.as_slice();
        let offset = self.whole.len() - self.rest.len();
        let fault = done.err().or(faults.found);
        let members = fault.map_or(Ok(members), |fault| Err(fault.into_malformed(offset)));
        Some(JsonRow { members, bytes: row.len() - self.rest.len() })
    }
}

impl Iterator for JsonRows<'_> {
    type Item = JsonRow;

    fn next(&mut self) -> Option<JsonRow> {
        let row = self.read_row();
        if row.is_none() {
            self.rest = &[];
        }
        row
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::json_reader::parse_documents;

    /// Text of each row, or the code of its fault; or the fault of the whole.
    fn rows(text: &str) -> Result<Vec<Result<String, &'static str>>, &'static str> {
        let rows = JsonRows::check(text.as_bytes()).map_err(|fault| fault.code)?;
        let text = |row: JsonRow| row.members.map(|row| row.to_text()).map_err(|fault| fault.code);
        Ok(rows.map(text).collect())
    }

    /// Reads all rows at once.
    fn at_once(text: &str) -> Result<Vec<Result<String, &'static str>>, &'static str> {
        let rows = parse_documents(text.as_bytes()).map_err(|fault| fault.code)?;
        let text = |row: Result<Document, Malformed>| {
            row.map(|row| row.to_text()).map_err(|fault| fault.code)
        };
        Ok(rows.into_iter().map(text).collect())
    }

    #[test]
    fn rows_are_read_one_by_one() {
        let text = r#" [ {"a":"]},{"} , {"b" : [1, {"c":2}]},{"a":1,"a":2},{} ] "#;
        let found = rows(text).unwrap();
        assert_eq!(found[0], Ok(r#"{"a":"]},{"}"#.to_owned()));
        assert_eq!(found[1], Ok(r#"{"b":[1,{"c":2}]}"#.to_owned()));
        assert_eq!(found[2], Err("json_duplicate_key"));
        assert_eq!(found[3], Ok("{}".to_owned()));
        assert_eq!(found.len(), 4);
        let sizes: Vec<_> =
            JsonRows::check(text.as_bytes()).unwrap().map(|row| row.bytes).collect();
        assert_eq!(sizes, [12, 20, 13, 2]);
    }

    #[test]
    fn a_fault_of_the_whole_is_found_before_any_row_is_read() {
        let deep = format!("[{{}},{{\"a\":{}{}}}]", "[".repeat(63), "]".repeat(63));
        for text in
            ["", "{}", "[1]", "[{}", "[{},]", "[{}] x", "[{\"a\":\"\\ud800\"}]", "nul", &deep]
        {
            assert!(rows(text).is_err(), "{text}");
            assert_eq!(rows(text), at_once(text), "{text}");
        }
        assert_eq!(rows("[]"), Ok(vec![]));
    }

    #[test]
    fn rows_in_an_envelope_are_those_of_its_array() {
        let text = r#" {"a":{"batch":[{"x":0}]},"batch" : [ {"x":1},{"x":[{}]}, {"x":1,"x":2} ],"context":{"b":1}} "#;
        let envelope = Envelope::check(text.as_bytes(), &["context"]).unwrap();
        assert_eq!(envelope.members.to_text(), r#"{"context":{"b":1}}"#);
        let rows: Vec<_> = envelope.rows(text.as_bytes()).collect();
        let texts: Vec<_> =
            rows.iter().map(|row| row.members.as_ref().map(Document::to_text)).collect();
        assert_eq!(texts[0], Ok(r#"{"x":1}"#.to_owned()));
        assert_eq!(texts[1], Ok(r#"{"x":[{}]}"#.to_owned()));
        assert_eq!((rows.len(), rows[2].members.is_err()), (3, true));
        let empty = Envelope::check(br#"{"batch":[]}"#, &[]).unwrap();
        assert!(empty.has_rows() && empty.rows(br#"{"batch":[]}"#).next().is_none());
        assert!(!Envelope::check(br#"{"a":[]}"#, &[]).unwrap().has_rows());
    }

    #[test]
    fn an_envelope_is_an_object_with_an_array_of_objects() {
        let code = |text: &str| Envelope::check(text.as_bytes(), &["a"]).unwrap_err().code;
        assert_eq!(code("[]"), "body_must_be_object");
        assert_eq!(code("7"), "body_must_be_object");
        assert_eq!(code(r#"{"batch":{}}"#), "batch_must_be_array");
        assert_eq!(code(r#"{"batch":[{},1]}"#), "batch_must_be_array");
        assert_eq!(code(r#"{"batch":[{}],"batch":[]}"#), "json_duplicate_key");
        assert_eq!(code(r#"{"a":{"b":1,"b":2}}"#), "json_duplicate_key");
        assert_eq!(code(r#"{"batch":[{]}"#), "json_malformed");
        assert_eq!(code(r#"{"batch":[]} x"#), "json_malformed");
        let deep = format!("{{\"batch\":[{{\"a\":{}{}}}]}}", "[".repeat(62), "]".repeat(62));
        assert_eq!(code(&deep), "json_too_deep");
        let last = format!("{{\"batch\":[{{\"a\":{}{}}}]}}", "[".repeat(61), "]".repeat(61));
        let rows = Envelope::check(last.as_bytes(), &[]).unwrap();
        assert!(rows.rows(last.as_bytes()).all(|row| row.members.is_ok()));
    }

    proptest! {
        #[test]
        fn rows_one_by_one_are_rows_at_once(text in r#"\[?(\{("a":[\[0-9"\]]{0,3},?){0,3}\},?| ){0,4}\]?"#) {
            prop_assert_eq!(rows(&text), at_once(&text));
        }
    }
}
