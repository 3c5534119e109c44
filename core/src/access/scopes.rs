//! Scopes: what a token may do (R43, R57). Each route names the scope that it needs.

use crate::resources::REGISTRY;

/// Actions on the records of a resource that a scope can grant.
pub const ACTIONS: &[&str] = &["read", "create", "update", "delete"];
/// Scopes that concern no resource.
pub const OTHER_SCOPES: &[&str] =
    &["activities:read", "reports:read", "admin", READ_ALL, "*", OPERATOR];
/// Scope for all data that can be read with a scope that ends in `:read` (R57).
pub const READ_ALL: &str = "*:read";
/// Ends a scope for every action on a resource (R57).
const EVERY_ACTION: &str = ":*";
/// Scope of an operator's token: create and list tenants. No tenant's token has it, not even with `*` (R44).
pub const OPERATOR: &str = "operator";
/// Scope of the session of a user who has signed in to the pages: it acts as the token that it was opened with. No
/// token can be granted it, and it grants nothing to an API call.
pub const SESSION: &str = "session";

/// Whether a text is a scope: `{resource}:{action}`, `{resource}:*`, or one of [`OTHER_SCOPES`].
///
/// ```
/// use svctrack_core::access::is_scope;
/// assert!(is_scope("products:create") && is_scope("products:*") && is_scope("*:read"));
/// assert!(!is_scope("*:create") && !is_scope("colours:read"));
/// ```
pub fn is_scope(text: &str) -> bool {
    let of_resource = text.split_once(':').is_some_and(|(path, action)| {
        (action == "*" || ACTIONS.contains(&action)) && REGISTRY.iter().any(|def| def.path == path)
    });
    of_resource || OTHER_SCOPES.contains(&text)
}

/// Every scope, for the OpenAPI description.
pub fn every_scope() -> Vec<String> {
    let of_resources = REGISTRY.iter().flat_map(|def| {
        ACTIONS.iter().chain(&["*"]).map(|action| format!("{}:{action}", def.path))
    });
    of_resources.chain(OTHER_SCOPES.iter().map(|scope| (*scope).to_owned())).collect()
}

/// Whether the granted scopes allow an action that needs `wanted`. The scope `*` allows everything of its tenant,
/// `*:read` to read all data that has a scope for reading, `<resource>:*` every action on the resource (R57).
///
/// ```
/// use svctrack_core::access::allows;
/// let granted = ["*:read".to_owned(), "products:*".to_owned()];
/// assert!(allows(&granted, "reports:read") && allows(&granted, "products:delete"));
/// assert!(!allows(&granted, "companies:update") && !allows(&granted, "admin"));
/// ```
pub fn allows(granted: &[String], wanted: &str) -> bool {
    granted.iter().any(|scope| scope == wanted || covers(scope, wanted))
}

/// Whether a scope includes `wanted`.
fn covers(scope: &str, wanted: &str) -> bool {
    match scope {
        "*" => wanted != OPERATOR,
        READ_ALL => wanted.ends_with(":read"),
        _ => scope.strip_suffix(EVERY_ACTION).is_some_and(|resource| {
            wanted.strip_prefix(resource).is_some_and(|rest| rest.starts_with(':'))
        }),
    }
}

/// First scope of a token that a caller does not hold, and so cannot issue.
pub fn first_missing_scope<'s>(held: &[String], scopes: &'s [String]) -> Option<&'s str> {
    scopes.iter().map(String::as_str).find(|scope| !allows(held, scope))
}
