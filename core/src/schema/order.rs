//! The order of values under `sort` (R13): absent and null, booleans, numbers, strings, arrays, objects.

use std::cmp::Ordering;

use crate::value::{JsonRef, Members, NumberSortKey, ObjectId, ValidationError};

/// Maximum of the sort keys of a page and of the records before it, in bytes. Sorting holds up to twice as much.
const MAX_KEY_BYTES: usize = 8 * 1024 * 1024;

/// A value in the form in which `sort` compares it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// Absent or null: no value.
    Nothing,
    /// A boolean; `false` comes first.
    Bool(bool),
    /// A number, by its place among all numbers.
    Number(NumberSortKey),
    /// A string, compared byte for byte.
    Text(String),
    /// An array, compared item by item.
    Array(Vec<SortKey>),
    /// An object, compared by its text.
    Object(String),
}

impl SortKey {
    /// Bytes of memory besides the key itself.
    fn bytes(&self) -> usize {
        match self {
            Self::Nothing | Self::Bool(_) => 0,
            Self::Number(place) => place.bytes(),
            Self::Text(text) | Self::Object(text) => text.len(),
            Self::Array(items) => {
                items.iter().map(|item| size_of::<Self>() + item.bytes()).sum::<usize>()
            }
        }
    }

    /// The key of a value.
    pub fn from_value(value: Option<JsonRef<'_>>) -> Self {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Self::Nothing;
        };
        if let Some(value) = value.as_bool() {
            return Self::Bool(value);
        }
        if let Some(text) = value.as_number_text() {
            return Self::Number(NumberSortKey::from_text(text));
        }
        if let Some(text) = value.as_str() {
            return Self::Text(text.into_owned());
        }
        match value.items() {
            Some(items) => Self::Array(
                items.iter().map(|item| Self::from_value(Some(item.as_ref()))).collect(),
            ),
            None => Self::Object(value.text().to_owned()),
        }
    }
}

/// Order of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// A property, or `custom.` and one of its keys.
    pub path: String,
    /// Whether the order is reversed.
    pub descending: bool,
}

impl Sort {
    /// The value that a record is ordered by: a property, or a member of `custom`.
    pub fn key(&self, record: &dyn Members) -> SortKey {
        match self.path.strip_prefix("custom.") {
            Some(key) => {
                SortKey::from_value(record.get("custom").and_then(|custom| custom.member(key)))
            }
            None => SortKey::from_value(record.get(&self.path)),
        }
    }

    /// Compares two records by their keys, and by their ids where the keys are equal.
    pub fn compare(&self, a: &(SortKey, ObjectId), b: &(SortKey, ObjectId)) -> Ordering {
        let order = a.cmp(b);
        if self.descending { order.reverse() } else { order }
    }
}

/// The first records in an order, among any number of them. At most twice as many as wanted are in memory.
#[derive(Debug)]
pub struct FirstRecords<'s> {
    sort: &'s Sort,
    wanted: usize,
    kept: Vec<(SortKey, ObjectId)>,
    bytes: usize,
}

impl<'s> FirstRecords<'s> {
    /// The first `wanted` records in the order of `sort`.
    pub fn new(sort: &'s Sort, wanted: usize) -> Self {
        Self { sort, wanted, kept: Vec::new(), bytes: 0 }
    }

    /// Visits a record.
    ///
    /// # Errors
    /// When the keys would take too much memory, `page_too_far`.
    pub fn add(&mut self, key: SortKey, id: ObjectId) -> Result<(), ValidationError> {
        self.bytes += size_of::<(SortKey, ObjectId)>() + key.bytes();
        self.kept.push((key, id));
        if self.kept.len() < self.wanted.saturating_mul(2) && self.bytes <= 2 * MAX_KEY_BYTES {
            return Ok(());
        }
        self.drop_others();
        if self.bytes <= MAX_KEY_BYTES {
            return Ok(());
        }
        let message = format!(
            "the sort keys before a page must be at most {MAX_KEY_BYTES} bytes; ask for a smaller `offset`"
        );
        Err(ValidationError::of_member("offset", "page_too_far", message))
    }

    /// The ids of the first records, in order.
    pub fn into_ids(mut self) -> Vec<ObjectId> {
        self.drop_others();
        self.kept.sort_unstable_by(|a, b| self.sort.compare(a, b));
        self.kept.into_iter().map(|(_, id)| id).collect()
    }

    fn drop_others(&mut self) {
        if self.kept.len() > self.wanted {
            self.kept.select_nth_unstable_by(self.wanted, |a, b| self.sort.compare(a, b));
            self.kept.truncate(self.wanted);
            let bytes =
                |(key, _): &(SortKey, ObjectId)| size_of::<(SortKey, ObjectId)>() + key.bytes();
            self.bytes = self.kept.iter().map(bytes).sum();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::value::Json;

    #[test]
    fn values_of_all_kinds_have_one_order() {
        let ordered = [
            "null",
            "false",
            "true",
            "-2e400",
            "-1e400",
            "-2",
            "1.5",
            "10",
            "1e29",
            "2e29",
            r#""""#,
            r#""B""#,
            r#""a""#,
            "[]",
            "[1]",
            "[1,2]",
            r#"["a"]"#,
            r#"{"a":1}"#,
            "{}",
        ];
        let keys: Vec<_> = ordered
            .iter()
            .map(|text| SortKey::from_value(Some(Json::parse(text.as_bytes()).unwrap().as_ref())))
            .collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
        assert_eq!(SortKey::from_value(None), SortKey::Nothing);
    }

    fn ids(count: usize) -> Vec<ObjectId> {
        let mut ids = crate::value::IdSequence::new([0; 5]);
        (0..count).map(|_| ids.next(crate::value::Timestamp::MIN).unwrap()).collect()
    }

    #[test]
    fn a_key_within_custom_is_found_in_a_text_as_in_a_document() {
        let text = r#"{"_id":"1","custom":{"a":{"x":1},"x":2}}"#;
        let sort = Sort { path: "custom.x".to_owned(), descending: false };
        let document = crate::value::Document::parse(text.as_bytes()).unwrap();
        assert_eq!(sort.key(&document), SortKey::Number(NumberSortKey::from_text("2")));
        assert_eq!(
            sort.key(&JsonRef::of_stored(text)),
            SortKey::Number(NumberSortKey::from_text("2"))
        );
    }

    #[test]
    fn keys_that_would_take_too_much_memory_are_rejected() {
        let sort = Sort { path: "name".to_owned(), descending: false };
        let key = || SortKey::Text("x".repeat(MAX_KEY_BYTES / 8 - 100));
        let fill = |wanted, descending| {
            let sort = Sort { descending, ..sort.clone() };
            let mut first = FirstRecords::new(&sort, wanted);
            ids(100).into_iter().try_for_each(|id| first.add(key(), id)).map_err(|issue| issue.code)
        };
        assert_eq!((fill(8, false), fill(8, true)), (Ok(()), Ok(())));
        assert_eq!(fill(9, false), Err("page_too_far"));
    }

    proptest! {
        #[test]
        fn the_first_are_those_of_the_whole_order(values in proptest::collection::vec(0..20_u8, 0..60), wanted in 1..20_usize, descending: bool) {
            let sort = Sort { path: String::new(), descending };
            let number = |value: &u8| SortKey::Number(NumberSortKey::from_text(&value.to_string()));
            let mut all: Vec<_> = values.iter().map(number).zip(ids(values.len())).collect();
            let mut first = FirstRecords::new(&sort, wanted);
            for (key, id) in all.clone() {
                first.add(key, id).unwrap();
            }
            all.sort();
            if descending {
                all.reverse();
            }
            let expect: Vec<_> = all.into_iter().map(|(_, id)| id).take(wanted).collect();
            prop_assert_eq!(first.into_ids(), expect);
        }
    }
}
