//! The order of values under `sort` (R13): absent and null, booleans, numbers, strings, arrays, objects.

use std::cmp::Ordering;

use rust_decimal::Decimal;

use crate::value::JsonRef;

/// A value as `sort` compares it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SortKey {
    /// Absent or null.
    Nothing,
    /// A boolean.
    Bool(bool),
    /// A number; one beyond the range of decimals counts by its sign as the least or the greatest.
    Number(Decimal),
    /// A string, compared byte for byte.
    Text(String),
    /// An array, compared item by item.
    Array(Vec<SortKey>),
    /// An object, compared by its text.
    Object(String),
}

impl SortKey {
    /// The key of a value.
    pub fn of(value: Option<JsonRef<'_>>) -> Self {
        let Some(value) = value.filter(|value| !value.is_null()) else {
            return Self::Nothing;
        };
        if let Some(value) = value.as_bool() {
            return Self::Bool(value);
        }
        if let Some(text) = value.as_number_text() {
            let beyond = if text.starts_with('-') { Decimal::MIN } else { Decimal::MAX };
            return Self::Number(value.as_number().map_or(beyond, |number| number.as_decimal()));
        }
        if let Some(text) = value.as_str() {
            return Self::Text(text.into_owned());
        }
        match value.items() {
            Some(items) => {
                Self::Array(items.iter().map(|item| Self::of(Some(item.as_ref()))).collect())
            }
            None => Self::Object(value.text().to_owned()),
        }
    }
}

/// By what a list is ordered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sort {
    /// A property, or `custom.` and one of its keys.
    pub path: String,
    /// Whether the order is reversed.
    pub descending: bool,
}

impl Sort {
    /// Compares two records by their keys, and by their ids where these are equal.
    pub fn compare<I: Ord>(&self, a: &(SortKey, I), b: &(SortKey, I)) -> Ordering {
        let order = a.cmp(b);
        if self.descending { order.reverse() } else { order }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::Json;

    #[test]
    fn values_of_all_kinds_have_one_order() {
        let ordered = [
            "null",
            "false",
            "true",
            "-1e400",
            "-2",
            "1.5",
            "10",
            "1e400",
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
            .map(|text| SortKey::of(Some(Json::parse(text.as_bytes()).unwrap().as_ref())))
            .collect();
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]), "{keys:?}");
        assert_eq!(SortKey::of(None), SortKey::Nothing);
    }
}
