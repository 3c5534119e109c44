//! Keys that occur twice in a file or body: the later row updates the record of the earlier one, which is rarely
//! intended.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher as _,
};

use svctrack_core::{
    schema::{BodyOrigin, ResourceDef},
    value::Document,
};

/// The rows that repeat a key of an earlier row.
pub(crate) struct RepeatedKeys {
    /// Line of each key, by its hash.
    lines: HashMap<u64, u64>,
    hashes: RandomState,
    /// Maximum number of keys that are noted: further ones are not compared.
    most: usize,
    /// Number of rows with a repeated key.
    pub(crate) rows: usize,
    /// Line of the first of them, and that of the row whose key it repeats.
    pub(crate) first: Option<(u64, u64)>,
}

impl RepeatedKeys {
    pub(crate) fn among(most: usize) -> Self {
        let (lines, hashes) = (HashMap::new(), RandomState::new());
        Self { lines, hashes, most, rows: 0, first: None }
    }

    /// Compares the keys of the row on this line with those of earlier ones.
    pub(crate) fn note(&mut self, def: &ResourceDef, sent: &Document, line: u64) {
        let mut earlier = None;
        for name in def.keys_of(BodyOrigin::Row).filter(|name| *name != "_id") {
            let Some(key) = sent.text(name) else { continue };
            let hash = self.hashes.hash_one((def.path, name, &key));
            match self.lines.get(&hash) {
                Some(known) => earlier = earlier.or(Some(*known)),
                None if self.lines.len() < self.most => drop(self.lines.insert(hash, line)),
                None => {}
            }
        }
        self.rows += usize::from(earlier.is_some());
        self.first = self.first.or(earlier.map(|earlier| (line, earlier)));
    }
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::company::COMPANY;

    use super::*;

    #[test]
    fn a_row_that_repeats_a_key_is_counted_once_with_the_line_of_the_earlier_one() {
        let mut keys = RepeatedKeys::among(3);
        for (line, text) in [
            (2, r#"{"name":"A","externalId":"a"}"#),
            (3, r#"{"name":"B","externalId":"b","sourceId":"a"}"#),
            (4, r#"{"name":"A"}"#),
            (5, r#"{"name":"A","externalId":"a","sourceId":"a"}"#),
            (6, r#"{"name":"C","externalId":"c"}"#),
            (7, r#"{"name":"C","externalId":"c"}"#),
            (8, r#"{"name":"B","externalId":"b"}"#),
        ] {
            keys.note(&COMPANY, &Document::parse(text.as_bytes()).unwrap(), line);
        }
        // `c` was beyond the keys that are noted.
        assert_eq!((keys.rows, keys.first), (2, Some((5, 3))));
    }
}
