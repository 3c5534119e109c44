//! Parameters that a call does not have: unknown ones with the nearest known name (R49), repeated ones, and those of a
//! call without parameters (R6).

use super::checked_body::UnknownMemberPolicy;
use crate::value::{ValidationError, nearest, quoted::quoted};

/// Code of an unknown parameter.
const UNKNOWN_PARAMETER: &str = "unknown_parameter";
/// Parameter that requests that nothing be stored, where a call has it.
const DRY_RUN: &str = "dryRun";

/// A parameter that is no parameter and no property.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownParameter {
    /// Name as it was sent.
    pub name: String,
    /// The nearest known name, if there is one.
    pub nearest: Option<String>,
}

impl UnknownParameter {
    /// Finds the known name nearest to `name`.
    pub fn among<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Self {
        let nearest = nearest(name, known);
        Self { name: name.to_owned(), nearest: nearest.map(str::to_owned) }
    }

    /// Issue that names the parameter.
    pub fn issue(&self) -> ValidationError {
        let mut message = format!("{} is not a known parameter or property", quoted(&self.name));
        if let Some(nearest) = &self.nearest {
            message.push_str(&format!("; did you mean `{nearest}`?"));
        }
        ValidationError::of_member(&self.name, UNKNOWN_PARAMETER, message)
    }
}

/// The issue of a single-valued parameter that is repeated, which is ambiguous.
pub fn sent_twice(name: &str) -> ValidationError {
    ValidationError::of_member(name, "sent_twice", format!("`{name}` must be sent once"))
}

/// The names in the query of a call that has no parameters, for the header (R6).
///
/// ```
/// use svctrack_core::schema::{UnknownMemberPolicy, unread_query};
/// let query = |name: &str, value: &str| [(name.to_owned(), value.to_owned())];
/// let read = unread_query(&query("colour", "red"), true, UnknownMemberPolicy::Lenient);
/// assert_eq!(read.unwrap(), ["colour"]);
/// assert!(unread_query(&query("colour", "red"), true, UnknownMemberPolicy::Strict).is_err());
/// assert!(unread_query(&query("dry_run", "1"), true, UnknownMemberPolicy::Lenient).is_err());
/// ```
///
/// # Errors
/// Each parameter where the caller wants them rejected. A write always rejects a misspelled `dryRun`: the sender
/// expects that nothing is stored.
pub fn unread_query(
    pairs: &[(String, String)],
    is_write: bool,
    handling: UnknownMemberPolicy,
) -> Result<Vec<String>, Vec<ValidationError>> {
    let is_dry_run = |(name, value): &(String, String)| {
        is_write && value != "false" && nearest(name, [DRY_RUN]).is_some()
    };
    let issue = |pair: &(String, String)| match is_dry_run(pair) {
        true => Some(no_dry_run(&pair.0)),
        false if handling == UnknownMemberPolicy::Strict => {
            Some(UnknownParameter::among(&pair.0, []).issue())
        }
        false => None,
    };
    let issues: Vec<ValidationError> = pairs.iter().filter_map(issue).collect();
    if issues.is_empty() {
        Ok(pairs.iter().map(|(name, _)| name.clone()).collect())
    } else {
        Err(issues)
    }
}

fn no_dry_run(name: &str) -> ValidationError {
    let message = format!("{} is not supported here; nothing was stored", quoted(name));
    ValidationError::of_member(name, UNKNOWN_PARAMETER, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_write_that_is_meant_as_a_dry_run_is_rejected() {
        for (name, value, is_write, is_read) in [
            ("dryRun", "true", true, false),
            ("dry_run", "1", true, false),
            ("dryrun", "", true, false),
            ("dryRun", "false", true, true),
            ("dryRun", "true", false, true),
            ("colour", "true", true, true),
        ] {
            let query = [(name.to_owned(), value.to_owned())];
            let read = unread_query(&query, is_write, UnknownMemberPolicy::Lenient);
            assert_eq!(read.is_ok(), is_read, "{name}={value}");
            assert!(
                unread_query(&query, is_write, UnknownMemberPolicy::Strict).is_err(),
                "{name}={value}"
            );
        }
    }
}
