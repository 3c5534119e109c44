//! What is invalid in a body or a query: a stable code, the place, and a message for a person (R11, R12).

use std::fmt;

/// One problem of a body or a query.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "records", derive(serde::Serialize))]
pub struct ValidationError {
    /// Place of the problem: a JSON pointer (RFC 6901) into the body, empty for the whole.
    pub pointer: String,
    /// Code of the issue, stable, in snake_case.
    pub code: &'static str,
    /// Message: what was expected, then what was found; lower case, without a final period.
    pub message: String,
}

impl fmt::Display for ValidationError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ValidationError {}

/// Writes the messages of several issues.
pub(crate) fn write_all(issues: &[ValidationError], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    for (at, issue) in issues.iter().enumerate() {
        f.write_str(if at == 0 { "" } else { "; " })?;
        f.write_str(&issue.message)?;
    }
    Ok(())
}

impl ValidationError {
    /// A problem with the member `name` of the body.
    pub fn of_member(name: &str, code: &'static str, message: impl Into<String>) -> Self {
        Self { pointer: pointer(name), code, message: message.into() }
    }

    /// A problem with the body as a whole.
    pub fn of_body(code: &'static str, message: impl Into<String>) -> Self {
        Self { pointer: String::new(), code, message: message.into() }
    }

    /// Name of the member of the body with the problem; empty for the whole.
    pub fn member(&self) -> &str {
        self.pointer.trim_start_matches('/').split('/').next().unwrap_or_default()
    }

    /// The message for a page: without backticks around names, and without the `_` that the names of some members begin
    /// with, as their labels have none. Days and missing values are as the fields of forms have them.
    pub fn plain_message(&self) -> String {
        let member = self.member();
        let quoted = format!("`{member}`");
        let message = self.message.replace(&quoted, member.trim_start_matches('_'));
        let message = message.replace(DATE_FORM, "a day such as 2026-01-31").replace('`', "");
        message.replace("T00:00:00.000Z", "").replace("must not be null", "must not be empty")
    }
}

/// Form of a date, as messages of the API have it.
pub(crate) const DATE_FORM: &str = "an ISO 8601 date from 1970 to 9999";

/// The JSON pointer of a member of the body: `/` and `~` in its name are escaped.
fn pointer(name: &str) -> String {
    format!("/{}", name.replace('~', "~0").replace('/', "~1"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_names_as_its_labels_do() {
        let issue = |name, message| ValidationError::of_member(name, "x", message);
        let required = issue("_currency", "`_currency` is required, with `mrr`");
        assert_eq!(required.plain_message(), "currency is required, with mrr");
        let found = issue("name", "`name` must be short; found `__x`");
        assert_eq!(found.plain_message(), "name must be short; found __x");
        let date = ValidationError::of_member(
            "fromDate",
            "wrong_type",
            format!("`fromDate` must be {DATE_FORM}"),
        );
        assert_eq!(date.plain_message(), "fromDate must be a day such as 2026-01-31");
        let of_body = ValidationError::of_body("x", "`name` or `email` is required");
        assert_eq!(of_body.plain_message(), "name or email is required");
        let message =
            "`toDate` must be after `fromDate`, 2026-01-31T00:00:00.000Z; it must not be null";
        let day = ValidationError::of_member("toDate", "too_early", message);
        let shown = "toDate must be after fromDate, 2026-01-31; it must not be empty";
        assert_eq!(day.plain_message(), shown);
    }

    #[test]
    fn a_pointer_escapes_what_it_uses_itself() {
        assert_eq!(ValidationError::of_member("a/b~c", "x", "").pointer, "/a~1b~0c");
    }
}
