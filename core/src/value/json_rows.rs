//! Reads a large array of objects row by row, so that no tree of the whole ever stands in memory: the
//! text is checked first, then each row is read when it is asked for.

use hifijson::SliceLexer;

use super::{
    Document, Malformed,
    json_reader::{Fault, Faults, read, read_items, read_members, skip_value},
};

/// How deep a row lies in the array, counting itself.
const DEPTH_OF_ROWS: usize = 2;

/// The rows of an array that has been checked.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    whole: &'a [u8],
    rest: &'a [u8],
}

/// A row as it was sent.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its members, or what is wrong with it alone.
    pub members: Result<Document, Malformed>,
    /// How long its text is, in bytes.
    pub bytes: usize,
}

impl<'a> Rows<'a> {
    /// Checks that `text` is a JSON array of objects as a whole; other faults belong to their rows (R9).
    ///
    /// # Errors
    /// [`Malformed`], with `body_must_be_array` for another JSON value or another kind of item.
    pub fn check(text: &'a [u8]) -> Result<Self, Malformed> {
        read(text, |next, lexer| {
            read_items(next, lexer, |next, lexer| {
                skip_value(next, lexer, DEPTH_OF_ROWS - 1)?;
                if next == b'{' { Ok(()) } else { Err(Fault::NotAnArray) }
            })
        })?;
        let first = text.iter().position(|byte| *byte == b'[').map_or(text.len(), |at| at + 1);
        Ok(Self { whole: text, rest: text.get(first..).unwrap_or_default() })
    }

    fn read_row(&mut self) -> Option<Row> {
        let start = self.rest.iter().position(|byte| matches!(byte, b'{' | b']'))?;
        let row = self.rest.get(start..).filter(|row| row.starts_with(b"{"))?;
        let mut lexer = SliceLexer::new(row);
        let (mut faults, mut members) = (Faults::lenient(), Document::default());
        let done = read_members(&mut lexer, DEPTH_OF_ROWS, &mut members, &mut faults);
        self.rest = lexer.as_slice();
        let offset = self.whole.len() - self.rest.len();
        let fault = done.err().or(faults.found);
        let members = fault.map_or(Ok(members), |fault| Err(fault.into_malformed(offset)));
        Some(Row { members, bytes: row.len() - self.rest.len() })
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
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

    /// Each row as its text, or the code of what is wrong with it; or what is wrong with the whole.
    fn rows(text: &str) -> Result<Vec<Result<String, &'static str>>, &'static str> {
        let rows = Rows::check(text.as_bytes()).map_err(|fault| fault.code)?;
        let text = |row: Row| row.members.map(|row| row.to_text()).map_err(|fault| fault.code);
        Ok(rows.map(text).collect())
    }

    /// The same, read all at once.
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
        let sizes: Vec<_> = Rows::check(text.as_bytes()).unwrap().map(|row| row.bytes).collect();
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

    proptest! {
        #[test]
        fn rows_one_by_one_are_rows_at_once(text in r#"\[?(\{("a":[\[0-9"\]]{0,3},?){0,3}\},?| ){0,4}\]?"#) {
            prop_assert_eq!(rows(&text), at_once(&text));
        }
    }
}
