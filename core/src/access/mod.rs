//! Scopes, tokens and tenants: what a token may do, who may grant it (R43, R44, R57), and the bodies that issue tokens
//! and change tenants.
//!
//! Invariant: a token grants only what its issuer holds, and no longer than the issuer is valid.

mod scopes;
mod tenants;
mod tokens;

#[doc(inline)]
pub use self::{
    scopes::{
        ACTIONS, OPERATOR, OTHER_SCOPES, READ_ALL, SESSION, allows, every_scope,
        first_missing_scope, is_scope,
    },
    tenants::{NewTenant, TENANT, TenantChange},
    tokens::{Issuer, MAX_SCOPES, NewToken, Rotation, TOKEN},
};
use crate::{
    schema::ListLimits,
    value::{Document, ValidationError},
};

/// Longest label, in bytes; it is a name for people.
pub const MAX_LABEL_BYTES: usize = 200;
/// Tokens or tenants in a list: all that there are in practice.
const LIST: ListLimits = ListLimits { default: 10_000, max: 10_000 };

/// Members of a body that are not among `known`; they are ignored (R6).
pub fn unknown_members(sent: &Document, known: &[&str]) -> Vec<String> {
    sent.iter()
        .map(|(name, _)| name)
        .filter(|name| !known.contains(name))
        .map(str::to_owned)
        .collect()
}

/// Reads the name of a token or tenant.
fn read_label(sent: &Document, name: &str, issues: &mut Vec<ValidationError>) -> String {
    let label = sent.text(name).map(|label| label.trim().to_owned()).unwrap_or_default();
    if label.is_empty() || label.len() > MAX_LABEL_BYTES {
        let message = format!("`{name}` must be a string of 1 to {MAX_LABEL_BYTES} bytes");
        issues.push(ValidationError::of_member(name, "required", message));
    }
    label
}
