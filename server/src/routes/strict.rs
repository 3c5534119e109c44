//! `Prefer: handling=strict` (RFC 7240): what is not known is refused instead of named (R6).

use poem::Request;
use svctrack_core::value::{Issue, issue::quoted};

use crate::error::Error;

/// What becomes of what is not known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// It is named in a header.
    Lenient,
    /// It is refused.
    Strict,
}

impl Strictness {
    /// What a request prefers.
    pub(super) fn of(request: &Request) -> Self {
        let values =
            request.headers().get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let mut preferences = values.flat_map(|value| value.split([',', ';']));
        let strict = preferences
            .any(|one| one.replace([' ', '"'], "").eq_ignore_ascii_case("handling=strict"));
        if strict { Self::Strict } else { Self::Lenient }
    }

    /// Refuses properties that the resource does not know.
    pub(super) fn check_properties(self, ignored: &[String]) -> Result<(), Error> {
        self.find_properties(ignored).map_err(Error::Invalid)
    }

    /// What is wrong with properties that are not known, for a row of many.
    pub(super) fn find_properties(self, ignored: &[String]) -> Result<(), Vec<Issue>> {
        self.check(ignored, "unknown_property", "property")
    }

    /// Refuses query parameters, and properties in `select`, that are not known.
    pub(super) fn check_parameters(self, ignored: &[String]) -> Result<(), Error> {
        self.check(ignored, "unknown_parameter", "parameter or property").map_err(Error::BadRequest)
    }

    fn check(self, ignored: &[String], code: &'static str, what: &str) -> Result<(), Vec<Issue>> {
        if self == Self::Lenient || ignored.is_empty() {
            return Ok(());
        }
        let issue = |name: &String| {
            Issue::of_member(name, code, format!("{} is no known {what}", quoted(name)))
        };
        Err(ignored.iter().map(issue).collect())
    }
}
