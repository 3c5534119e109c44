//! What a token may do: scopes, and who may grant them (R43, R44).

use crate::{
    resources::REGISTRY,
    value::{Document, Issue, ObjectId, Timestamp, issue::quoted},
};

/// What may be done to the records of a resource.
pub const ACTIONS: &[&str] = &["read", "create", "update", "delete"];
/// Scopes that concern no resource.
pub const OTHER_SCOPES: &[&str] = &["activities:read", "reports:read", "admin", "*", OPERATOR];
/// What an operator's token may do: make and list tenants. No tenant's token has it, not even `*` (R44).
pub const OPERATOR: &str = "operator";
/// How long a label may be, in bytes; it is a name for people.
pub const MAX_LABEL_BYTES: usize = 200;
/// Most scopes that a token may name: more than there are.
pub const MAX_SCOPES: usize = 100;

/// Whether there is such a scope: `{resource}:{action}`, or one of [`OTHER_SCOPES`].
///
/// ```
/// use svctrack_core::access::is_scope;
/// assert!(is_scope("products:create") && is_scope("*"));
/// assert!(!is_scope("products:*") && !is_scope("colours:read"));
/// ```
pub fn is_scope(text: &str) -> bool {
    let of_resource = text.split_once(':').is_some_and(|(path, action)| {
        ACTIONS.contains(&action) && REGISTRY.iter().any(|def| def.path == path)
    });
    of_resource || OTHER_SCOPES.contains(&text)
}

/// Every scope that there is, for the API's description.
pub fn every_scope() -> Vec<String> {
    let of_resources = REGISTRY
        .iter()
        .flat_map(|def| ACTIONS.iter().map(|action| format!("{}:{action}", def.path)));
    of_resources.chain(OTHER_SCOPES.iter().map(|scope| (*scope).to_owned())).collect()
}

/// Whether these scopes allow what needs `wanted`. The scope `*` allows everything of its tenant.
pub fn allows(granted: &[String], wanted: &str) -> bool {
    granted.iter().any(|scope| scope == wanted || (scope == "*" && wanted != OPERATOR))
}

/// What is sent to make a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTenant {
    /// Whose it is, for people.
    pub name: String,
}

impl NewTenant {
    /// What its body can hold.
    pub const MEMBERS: &[&str] = &["name"];

    /// Reads `{name}`.
    ///
    /// # Errors
    /// Every problem found.
    pub fn read(sent: &Document) -> Result<Self, Vec<Issue>> {
        let mut issues = Vec::new();
        let name = read_label(sent, "name", &mut issues);
        if issues.is_empty() { Ok(Self { name }) } else { Err(issues) }
    }
}

/// The members of a body that are not among `known`, which are not read (R6).
pub fn unknown_members(sent: &Document, known: &[&str]) -> Vec<String> {
    sent.iter()
        .map(|(name, _)| name)
        .filter(|name| !known.contains(name))
        .map(str::to_owned)
        .collect()
}

/// What is sent to make a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewToken {
    /// What it is for, in its owner's words.
    pub label: String,
    /// What it may do.
    pub scopes: Vec<String>,
    /// From when on it counts no more.
    pub expires_at: Option<Timestamp>,
    /// The user that it acts as.
    pub user_id: Option<ObjectId>,
}

impl NewToken {
    /// What its body can hold.
    pub const MEMBERS: &[&str] = &["label", "scopes", "expiresAt", "userId"];

    /// Reads `{label, scopes, expiresAt?, userId?}`, sent at `now` by a caller who holds `held`.
    ///
    /// # Errors
    /// Every problem found; a scope that the caller does not hold is one (R44), an end that is past another.
    pub fn read(sent: &Document, held: &[String], now: Timestamp) -> Result<Self, Vec<Issue>> {
        let mut issues = Vec::new();
        let new = Self {
            label: read_label(sent, "label", &mut issues),
            scopes: read_scopes(sent, held, &mut issues),
            expires_at: read_member(
                sent,
                "expiresAt",
                "an ISO 8601 date",
                Timestamp::parse,
                &mut issues,
            ),
            user_id: read_member(
                sent,
                "userId",
                "an `_id` of a user",
                ObjectId::parse,
                &mut issues,
            ),
        };
        if new.expires_at.is_some_and(|end| end <= now) {
            let message = "`expiresAt` must be in the future";
            issues.push(Issue::of_member("expiresAt", "invalid_value", message));
        }
        if issues.is_empty() { Ok(new) } else { Err(issues) }
    }
}

fn read_label(sent: &Document, name: &str, issues: &mut Vec<Issue>) -> String {
    let label = sent.text(name).map(|label| label.trim().to_owned()).unwrap_or_default();
    if label.is_empty() || label.len() > MAX_LABEL_BYTES {
        let message = format!("`{name}` must be a string of 1 to {MAX_LABEL_BYTES} bytes");
        issues.push(Issue::of_member(name, "required", message));
    }
    label
}

fn read_scopes(sent: &Document, held: &[String], issues: &mut Vec<Issue>) -> Vec<String> {
    let items = sent.value("scopes").and_then(|scopes| scopes.items()).unwrap_or_default();
    let texts: Option<Vec<String>> =
        items.iter().map(|item| Some(item.as_ref().as_str()?.into_owned())).collect();
    let Some(mut scopes) = texts.filter(|scopes| (1..=MAX_SCOPES).contains(&scopes.len())) else {
        let message = format!("`scopes` must be an array of 1 to {MAX_SCOPES} scopes");
        issues.push(Issue::of_member("scopes", "required", message));
        return Vec::new();
    };
    for scope in &scopes {
        if !is_scope(scope) {
            let message = format!(
                "a scope must be `<resource>:<action>` or a known one; found {}",
                quoted(scope)
            );
            issues.push(Issue::of_member("scopes", "unknown_scope", message));
        } else if !allows(held, scope) {
            let message = format!("a token grants only what it holds; found {}", quoted(scope));
            issues.push(Issue::of_member("scopes", "scope_not_held", message));
        }
    }
    scopes.sort();
    scopes.dedup();
    scopes
}

fn read_member<T>(
    sent: &Document,
    name: &str,
    expected: &str,
    parse: fn(&str) -> Option<T>,
    issues: &mut Vec<Issue>,
) -> Option<T> {
    let value = sent.value(name)?;
    let read = value.as_str().and_then(|text| parse(&text));
    if read.is_none() {
        let message = format!("`{name}` must be {expected}; found {}", quoted(value.text()));
        issues.push(Issue::of_member(name, "invalid_value", message));
    }
    read
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sent: &str, held: &[&str]) -> Result<NewToken, Vec<&'static str>> {
        let held: Vec<_> = held.iter().map(|scope| (*scope).to_owned()).collect();
        let sent = Document::parse(sent.as_bytes()).unwrap();
        NewToken::read(&sent, &held, Timestamp::parse("2026-11-20").unwrap())
            .map_err(|issues| issues.iter().map(|issue| issue.code).collect())
    }

    #[test]
    fn a_token_grants_only_what_it_holds() {
        let sent = r#"{"label":"x","scopes":["products:read"]}"#;
        assert_eq!(read(sent, &["products:read"]).unwrap().scopes, ["products:read"]);
        assert_eq!(read(sent, &["*"]).unwrap().scopes, ["products:read"]);
        assert_eq!(read(sent, &["admin", "products:create"]), Err(vec!["scope_not_held"]));
        assert_eq!(
            read(r#"{"label":"x","scopes":["*"]}"#, &["admin"]),
            Err(vec!["scope_not_held"])
        );
        let operator = r#"{"label":"x","scopes":["operator"]}"#;
        assert_eq!(read(operator, &["*", "admin"]), Err(vec!["scope_not_held"]));
        assert!(read(operator, &["operator", "admin"]).is_ok());
    }

    #[test]
    fn every_problem_is_found() {
        let sent = r#"{"label":" ","scopes":["fly"],"expiresAt":"soon","userId":"x"}"#;
        assert_eq!(
            read(sent, &["*"]),
            Err(vec!["required", "unknown_scope", "invalid_value", "invalid_value"])
        );
        assert_eq!(read("{}", &["*"]), Err(vec!["required", "required"]));
    }

    #[test]
    fn a_token_ends_in_the_future() {
        let ending = |at| {
            let sent = format!(r#"{{"label":"x","scopes":["*"],"expiresAt":"{at}"}}"#);
            read(&sent, &["*"]).map(|new| new.expires_at.is_some())
        };
        assert_eq!(ending("2026-11-20T00:00:00.001Z"), Ok(true));
        assert_eq!(ending("2026-11-20"), Err(vec!["invalid_value"]));
    }
}
