//! Forms: what was filled in, as the body of a call; and what the API rejects, as problems at their fields.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use poem::http::{HeaderName, header};
use serde_json::{Map, Value};
use svctrack_core::{
    schema::{FieldDef, Kind, ResourceDef},
    value::Issue,
};
use svctrack_web::pages::{Problem, filled, has_lines, label_of};

use crate::{error::Error, interchange::csv_columns::value_of};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// Random bytes of the key of a form: nobody meets one twice.
const KEY_BYTES: usize = 16;

/// What a form or an address has under a name; empty where it has nothing.
pub(super) fn sent<'p>(pairs: &'p [(String, String)], name: &str) -> &'p str {
    pairs.iter().find(|(known, _)| known == name).map_or("", |(_, text)| text.as_str())
}

/// The headers of a call that does what a form says: only while the record is in the version that the form shows, and
/// once.
pub(super) fn headers_of(pairs: &[(String, String)]) -> Vec<(HeaderName, &str)> {
    let headers = [(header::IF_MATCH, "version"), (IDEMPOTENCY_KEY, "once")];
    let headers = headers.map(|(header, name)| (header, sent(pairs, name)));
    headers.into_iter().filter(|(_, text)| !text.is_empty()).collect()
}

/// The key of a form that creates something, so that it does so once however often it is sent.
///
/// # Errors
/// When the machine gives no randomness.
pub(super) fn new_key() -> Result<String, Error> {
    let mut bytes = [0; KEY_BYTES];
    getrandom::fill(&mut bytes).map_err(|error| Error::Internal(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// What a form sends for a resource: the properties that differ from what it was filled with. An empty field clears its
/// property.
pub(super) fn body_of(
    def: &ResourceDef,
    pairs: &[(String, String)],
    record: &Map<String, Value>,
) -> Result<Map<String, Value>, Vec<Problem>> {
    let (mut body, mut problems) = (Map::new(), Vec::new());
    for field in def.fields.iter().filter(|field| field.is_sent()) {
        let Some((_, sent)) = pairs.iter().find(|(name, _)| name == field.name) else { continue };
        let filled = filled(record.get(field.name), field);
        let sent = as_browsers_send(field, sent);
        if sent == as_browsers_send(field, &filled) {
            continue;
        }
        match value(field, &sent) {
            Ok(value) => {
                drop(body.insert(field.name.to_owned(), whole(value, record.get(field.name))));
            }
            Err(message) => problems.push(problem(field.name, &message)),
        }
    }
    if problems.is_empty() { Ok(body) } else { Err(problems) }
}

/// A text as it comes back from the field of a form that was filled with it: one of a single line has no line ends, one
/// of several has one kind of them.
fn as_browsers_send(field: &FieldDef, text: &str) -> String {
    match has_lines(field) {
        true => text.replace("\r\n", "\n").replace('\r', "\n"),
        false => text.replace(['\r', '\n'], ""),
    }
}

/// An object as the API takes it, which merges it with the one that is stored: the members that differ, null where they
/// are gone.
fn whole(mut value: Value, stored: Option<&Value>) -> Value {
    if let (Value::Object(members), Some(Value::Object(stored))) = (&mut value, stored) {
        let gone: Vec<String> =
            stored.keys().filter(|name| !members.contains_key(*name)).cloned().collect();
        members.retain(|name, member| stored.get(name) != Some(member));
        members.extend(gone.into_iter().map(|name| (name, Value::Null)));
    }
    value
}

/// The value of a field; null where it is empty.
fn value(field: &FieldDef, sent: &str) -> Result<Value, String> {
    if field.kind == Kind::Texts && !sent.trim_start().starts_with('[') {
        let items = sent.split(',').map(str::trim).filter(|item| !item.is_empty());
        return Ok(items.map(Value::from).collect());
    }
    let is_text = matches!(field.kind, Kind::Text | Kind::Key | Kind::Email);
    if is_text && !sent.is_empty() {
        return Ok(sent.into());
    }
    let json = value_of(field, sent)?;
    Ok(json.and_then(|json| serde_json::from_str(json.as_ref().text()).ok()).unwrap_or(Value::Null))
}

/// What was done, where the address of a page names it among what it can say.
pub(super) fn notice_of(pairs: &[(String, String)], notices: &[(&str, &str)]) -> Option<String> {
    let (_, done) = pairs.iter().find(|(name, _)| name == "done")?;
    notices.iter().find(|(known, _)| known == done).map(|(_, notice)| (*notice).to_owned())
}

/// Whether something was rejected since the record has another version than the form shows.
pub(super) fn is_changed(issues: &[Issue]) -> bool {
    issues.iter().any(|issue| issue.code == "version_mismatch")
}

/// How the properties are now that a form would overwrite, which was filled in before the record was changed. None where
/// that is not why it was rejected.
pub(super) fn changed(
    issues: &[Issue],
    body: &Value,
    (def, record): (&ResourceDef, &Map<String, Value>),
) -> Option<Vec<Problem>> {
    if !is_changed(issues) {
        return None;
    }
    let fields = def.fields.iter().filter(|field| body.get(field.name).is_some());
    let now = fields.map(|field| {
        let now = filled(record.get(field.name), field);
        let now = if now.is_empty() { "empty" } else { &now };
        problem(field.name, &format!("{} is now: {now}", label_of(field.name)))
    });
    Some(now.collect())
}

/// Problems as a page shows them.
pub(super) fn problems_of(issues: Vec<Issue>) -> Vec<Problem> {
    let of_issue = |issue: Issue| {
        let field = issue.pointer.trim_start_matches('/').split('/').next().unwrap_or_default();
        problem(field, &issue.message)
    };
    issues.into_iter().map(of_issue).collect()
}

fn problem(field: &str, message: &str) -> Problem {
    Problem { field: field.to_owned(), message: message.replace('`', "") }
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
            "rateLimits": { "requestsPerSecond": 5, "kept": 1e30 },
        });
        let pairs = [
            ("timeZone", "UTC"),
            ("trackPages", "true"),
            ("rateLimits", "{\"trackingPerSecond\":9,\"kept\":1e30}"),
            ("tenantId", "another"),
        ];
        let pairs = pairs.map(|(name, sent)| (name.to_owned(), sent.to_owned()));
        let body = body_of(&SETTINGS, &pairs, stored.as_object().unwrap()).unwrap();
        let limits = json!({ "requestsPerSecond": null, "trackingPerSecond": 9 });
        assert_eq!(Value::Object(body), json!({ "trackPages": true, "rateLimits": limits }));
    }

    #[test]
    fn a_page_says_only_what_it_knows() {
        let of =
            |done: &str| notice_of(&[("done".to_owned(), done.to_owned())], &[("saved", "Saved.")]);
        assert_eq!(of("saved").as_deref(), Some("Saved."));
        assert_eq!(of("Your account is locked"), None);
    }
}
