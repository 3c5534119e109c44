//! What a list asks for (R13, R14), read from the query of a request.

use super::ListLimits;
use crate::value::{Issue, ObjectId, issue::quoted};

/// What a list asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ListQuery {
    /// How many records at the most.
    pub limit: usize,
    /// How many records are passed over first.
    pub offset: usize,
    /// Only records with a higher id (R14).
    pub after: Option<ObjectId>,
}

/// What was read from a query, and the parameters that nothing was made of (R6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Read<T> {
    /// What is asked for.
    pub query: T,
    /// Names of the parameters that are not known.
    pub ignored: Vec<String>,
}

impl ListQuery {
    /// Reads `limit`, `offset` and `after`.
    ///
    /// # Errors
    /// Every parameter that cannot be read; a `limit` above the maximum is one of them (R13).
    pub fn parse(pairs: &[(String, String)], limits: ListLimits) -> Result<Read<Self>, Vec<Issue>> {
        let mut query = Self {
            limit: limits.default,
            offset: 0,
            after: None,
        };
        let mut reader = PairReader::default();
        for (name, value) in pairs {
            match name.as_str() {
                "limit" => reader.set(&mut query.limit, parse_limit(value, limits)),
                "offset" => reader.set(&mut query.offset, parse_offset(value)),
                "after" => reader.set(&mut query.after, parse_after(value).map(Some)),
                _ => reader.ignored.push(name.clone()),
            }
        }
        reader.finish(query)
    }
}

/// Collects what was read and what went wrong, one parameter after the other.
#[derive(Default)]
pub(crate) struct PairReader {
    pub(crate) ignored: Vec<String>,
    issues: Vec<Issue>,
}

impl PairReader {
    pub(crate) fn set<T>(&mut self, into: &mut T, read: Result<T, Issue>) {
        match read {
            Ok(value) => *into = value,
            Err(issue) => self.issues.push(issue),
        }
    }

    pub(crate) fn finish<T>(self, query: T) -> Result<Read<T>, Vec<Issue>> {
        if self.issues.is_empty() {
            Ok(Read {
                query,
                ignored: self.ignored,
            })
        } else {
            Err(self.issues)
        }
    }
}

/// A `limit` from 1 to the maximum. More is refused: a shorter page than asked for would end a
/// caller's paging loop early (R13).
pub(crate) fn parse_limit(value: &str, limits: ListLimits) -> Result<usize, Issue> {
    let limit = value
        .parse()
        .ok()
        .filter(|limit| (1..=limits.max).contains(limit));
    limit.ok_or_else(|| {
        unreadable(
            "limit",
            &format!("a whole number from 1 to {}", limits.max),
            value,
        )
    })
}

fn parse_offset(value: &str) -> Result<usize, Issue> {
    value
        .parse()
        .map_err(|_| unreadable("offset", "a whole number", value))
}

/// The id after which a page begins.
pub(crate) fn parse_after(value: &str) -> Result<ObjectId, Issue> {
    ObjectId::parse(value).ok_or_else(|| unreadable("after", "an `_id`", value))
}

/// A parameter that cannot be read.
pub(crate) fn unreadable(name: &str, expected: &str, found: &str) -> Issue {
    let message = format!("`{name}` must be {expected}; found {}", quoted(found));
    Issue::of_member(name, "invalid_parameter", message)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ListLimits = ListLimits {
        default: 100,
        max: 2_000,
    };

    fn check(pairs: &[(&str, &str)], expect: Result<(usize, usize), &str>) {
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(name, value)| ((*name).into(), (*value).into()))
            .collect();
        let found =
            ListQuery::parse(&pairs, LIMITS).map(|read| (read.query.limit, read.query.offset));
        assert_eq!(
            found,
            expect.map_err(|text| vec![Issue::of_member(
                text.split('`').nth(1).unwrap(),
                "invalid_parameter",
                text
            )])
        );
    }

    #[test]
    fn a_limit_is_named_when_it_is_broken() {
        check(&[], Ok((100, 0)));
        check(&[("limit", "2000"), ("offset", "7")], Ok((2_000, 7)));
        for bad in ["0", "2001", "-1", "ten", "1.5", ""] {
            let text = format!("`limit` must be a whole number from 1 to 2000; found `{bad}`");
            check(&[("limit", bad)], Err(&text));
        }
        check(
            &[("offset", "x")],
            Err("`offset` must be a whole number; found `x`"),
        );
        check(
            &[("after", "x")],
            Err("`after` must be an `_id`; found `x`"),
        );
    }
}
