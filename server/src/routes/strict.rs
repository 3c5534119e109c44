//! `Prefer: handling=strict` and `handling=lenient` (RFC 7240): whether unknown members and parameters are rejected, or
//! named in a header (R6, R49).

use poem::Request;
use svctrack_core::{
    plan::{Route, unknown_properties},
    schema::{CheckedBody, ReadQuery, UnknownMemberPolicy, UnknownParameter},
    tracking::unknown_members,
    value::ValidationError,
};

use crate::error::Error;

/// Handling of unknown names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    /// An unknown name is listed in a header.
    Lenient,
    /// A property is named in a header, a parameter of a list is rejected.
    Usual,
    Strict,
}

impl Strictness {
    /// Strictness that a request prefers.
    pub(super) fn from_request(request: &Request) -> Self {
        let values =
            request.headers().get_all("prefer").iter().filter_map(|value| value.to_str().ok());
        let mut handling = values.flat_map(|value| value.split([',', ';'])).filter_map(|one| {
            let one = one.replace([' ', '"'], "").to_ascii_lowercase();
            match one.strip_prefix("handling=")? {
                "strict" => Some(Self::Strict),
                "lenient" => Some(Self::Lenient),
                _ => None,
            }
        });
        // Of a preference that occurs twice, the first counts (RFC 7240).
        handling.next().unwrap_or(Self::Usual)
    }

    /// Rejects unknown parameters: an ignored filter would return everything (R49). Returns the names for the header.
    pub(super) fn check_list<T>(self, read: &ReadQuery<T>) -> Result<Vec<String>, Error> {
        let selected = |name: &String| UnknownParameter { name: name.clone(), nearest: None };
        let rejected: Vec<UnknownParameter> = match self {
            Self::Lenient => Vec::new(),
            Self::Usual => read.unknown.clone(),
            Self::Strict => {
                read.unknown.iter().cloned().chain(read.ignored.iter().map(selected)).collect()
            }
        };
        if !rejected.is_empty() {
            return Err(Error::BadRequest(rejected.iter().map(UnknownParameter::issue).collect()));
        }
        let unknown = read.unknown.iter().map(|unknown| unknown.name.clone());
        Ok(unknown.chain(read.ignored.iter().cloned()).collect())
    }

    /// Policy for properties that are not stored.
    pub(super) fn handling(self) -> UnknownMemberPolicy {
        if self == Self::Strict {
            UnknownMemberPolicy::Strict
        } else {
            UnknownMemberPolicy::Lenient
        }
    }

    /// A body with this handling.
    pub(super) fn handle(self, shaped: CheckedBody) -> CheckedBody {
        CheckedBody { handling: self.handling(), ..shaped }
    }

    /// Rejects unknown properties, where the request is strict.
    pub(super) fn check_properties(self, ignored: &[String], known: &[&str]) -> Result<(), Error> {
        self.reject(ignored, |names| unknown_properties(names, known)).map_err(Error::Invalid)
    }

    /// Rejects unknown members of an event, where the request is strict.
    pub(super) fn check_members(
        self,
        route: Route,
        unread: &[String],
    ) -> Result<(), Vec<ValidationError>> {
        self.reject(unread, |names| unknown_members::rejected(route, names))
    }

    fn reject(
        self,
        names: &[String],
        issues: impl FnOnce(&[String]) -> Vec<ValidationError>,
    ) -> Result<(), Vec<ValidationError>> {
        match self == Self::Strict && !names.is_empty() {
            true => Err(issues(names)),
            false => Ok(()),
        }
    }
}
