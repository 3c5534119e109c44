//! Forms: submitted fields as the body of a call, and rejections of the API as problems at their fields.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use poem::http::{HeaderName, header};
use serde_json::{Map, Value};
use svctrack_core::{
    schema::{
        ResourceDef,
        filter::split_operator,
        form::{self, FormBody},
    },
    value::ValidationError,
};
use svctrack_web::pages::{Problem, document_of, property_label};

use crate::error::Error;

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Random bytes of the key of a form: no key occurs twice.
const KEY_BYTES: usize = 16;

/// Value of a form or an address under a name; empty where it has none.
pub(super) fn sent<'p>(pairs: &'p [(String, String)], name: &str) -> &'p str {
    pairs.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text.as_str())
}

/// Headers of a call that submits a form: the call applies only to the version of the record that the form shows, and
/// once.
pub(super) fn headers_of(pairs: &[(String, String)]) -> Vec<(HeaderName, &str)> {
    let headers = [(header::IF_MATCH, "version"), (IDEMPOTENCY_KEY, "once")];
    let headers = headers.map(|(header, name)| (header, sent(pairs, name)));
    headers.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// Key of a form that creates a record, so that it creates one however often it is sent.
///
/// # Errors
/// When the machine gives no randomness.
pub(super) fn new_key() -> Result<String, Error> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Body that a form sends for a resource: the properties that differ from those that it was filled with.
pub(super) fn body_of(
    def: &ResourceDef,
    pairs: &[(String, String)],
    record: &Map<String, Value>,
) -> FormBody {
    form::read(def, pairs, &document_of(record))
}

/// Notice of an action that was done, where the address of a page names one of `notices`.
pub(super) fn notice_of(pairs: &[(String, String)], notices: &[(&str, &str)]) -> Option<String> {
    let (_, done) = pairs.iter().find(|(name, _)| name == "done")?;
    notices.iter().find(|(known, _)| known == done).map(|(_, notice)| (*notice).to_owned())
}

/// Whether a form was rejected since the record has another version than the form shows.
pub(super) fn is_changed(issues: &[ValidationError]) -> bool {
    issues.iter().any(|issue| issue.code == "version_mismatch")
}

/// Problems for a page.
pub(super) fn problems_of(issues: Vec<ValidationError>) -> Vec<Problem> {
    let problem = |issue: ValidationError| {
        let field = issue.member().to_owned();
        let message = in_words(&field, issue.plain_message());
        Problem { field, message }
    };
    issues.into_iter().map(problem).collect()
}

/// Problems of the parameters of a page's address, which have no field to lead to; each parameter by its label.
pub(super) fn problems_of_address(
    issues: Vec<ValidationError>,
    label: fn(&str) -> String,
) -> Vec<Problem> {
    let problem = |issue: ValidationError| {
        let message = labelled(issue.member(), issue.plain_message(), label);
        Problem { field: String::new(), message }
    };
    issues.into_iter().map(problem).collect()
}

/// Problems of parameters that a page does not have.
pub(super) fn unknown_parameters(
    pairs: &[(String, String)],
    is_known: impl Fn(&str) -> bool,
) -> Vec<Problem> {
    let unknown = pairs.iter().filter(|(name, value)| !value.is_empty() && !is_known(name));
    let problem = |(name, _): &(String, String)| Problem {
        field: String::new(),
        message: format!("{} is not a parameter of this page", property_label(name)),
    };
    unknown.map(problem).collect()
}

/// A message that begins with the name of a property begins with its label instead.
fn in_words(name: &str, message: String) -> String {
    labelled(name, message, property_label)
}

/// A message that begins with a name, or with the name and an operator such as `[gte]`, begins with its label instead.
fn labelled(name: &str, message: String, label: fn(&str) -> String) -> String {
    let rest = message.strip_prefix(name.trim_start_matches('_')).filter(|_| !name.is_empty());
    match rest.filter(|rest| rest.starts_with(' ')) {
        Some(rest) => [label(split_operator(name).0).as_str(), rest].concat(),
        None => message,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use svctrack_core::resources::settings::SETTINGS;

    use super::*;

    #[test]
    fn a_form_sends_what_was_changed_alone() {
        let stored = json!({
            "timeZone": "UTC\n", "trackPages": false,
            "rateLimits": { "requestsPerSecond": 5, "kept": 1.5 },
        });
        let pairs = [
            ("timeZone", "UTC"),
            ("trackPages", "true"),
            ("rateLimits", "{\"trackingPerSecond\":9,\"kept\":1.5}"),
            ("tenantId", "another"),
        ];
        let pairs = pairs.map(|(name, sent)| (name.to_owned(), sent.to_owned()));
        let body = body_of(&SETTINGS, &pairs, stored.as_object().unwrap()).document;
        let limits = r#"{"trackingPerSecond":9,"requestsPerSecond":null}"#;
        assert_eq!(body.to_text(), format!(r#"{{"trackPages":true,"rateLimits":{limits}}}"#));
    }

    #[test]
    fn a_page_shows_only_messages_that_it_knows() {
        let message =
            |done: &str| notice_of(&[("done".to_owned(), done.to_owned())], &[("saved", "Saved.")]);
        assert_eq!(message("saved").as_deref(), Some("Saved."));
        assert_eq!(message("Your account is locked"), None);
    }
}
