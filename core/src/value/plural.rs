//! Numbers in messages, with what they count in the singular or the plural.

use std::fmt::Display;

/// A number with its noun, whose plural ends in `s`.
///
/// ```
/// use svctrack_core::value::counted;
/// assert_eq!(["0 rows", "1 row", "2 rows"], [0, 1, 2].map(|count| counted(count, "row")));
/// ```
pub fn counted(count: impl Display, noun: &str) -> String {
    let count = count.to_string();
    let end = if count == "1" { "" } else { "s" };
    format!("{count} {noun}{end}")
}
