//! Tenants: their fields, and the bodies that create and change them (R44, R57).

use super::{LIST, read_label};
use crate::{
    schema::{FieldDef, FieldKind, ResourceDef},
    value::{Document, ValidationError, quoted::quoted},
};

/// Fields of a tenant in lists.
pub static TENANT: ResourceDef = ResourceDef {
    name: "tenant",
    path: "tenants",
    doc: "A tenant.",
    fields: &[
        FieldDef::new("_id", FieldKind::Key, "UUID of the tenant.").service(),
        FieldDef::new("name", FieldKind::Text, "Tenant name."),
        FieldDef::new("createdAt", FieldKind::Date, "When the tenant was created.").service(),
        FieldDef::new(
            "state",
            FieldKind::Text,
            "Whether it is active, suspended or being deleted.",
        )
        .one_of(&["active", "suspended", "deleting"])
        .service(),
        FieldDef::new("suspended", FieldKind::Bool, "Whether its calls and events are rejected."),
        FieldDef::new(
            "rowsRemoved",
            FieldKind::Integer,
            "Rows already removed, if the tenant is being deleted.",
        )
        .service(),
    ],
    list: LIST,
    ..ResourceDef::PLAIN
};

/// The body that creates a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewTenant {
    /// Name of the tenant's owner, for people.
    pub name: String,
}

impl NewTenant {
    /// Members that the body of a new tenant can have.
    pub const MEMBERS: &[&str] = &["name"];

    /// Reads `{name}`.
    ///
    /// # Errors
    /// Every problem found.
    pub fn read(sent: &Document) -> Result<Self, Vec<ValidationError>> {
        let mut issues = Vec::new();
        let name = read_label(sent, "name", &mut issues);
        if issues.is_empty() { Ok(Self { name }) } else { Err(issues) }
    }
}

/// Body of a tenant update: absent members do not change.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantChange {
    /// New name; none leaves the name as it is.
    pub name: Option<String>,
    /// Whether calls and events of the tenant are rejected from now on.
    pub suspended: Option<bool>,
}

impl TenantChange {
    /// Reads `{name?, suspended?}`.
    ///
    /// # Errors
    /// Every problem found.
    pub fn read(sent: &Document) -> Result<Self, Vec<ValidationError>> {
        let mut issues = Vec::new();
        let name = sent.get("name").map(|_| read_label(sent, "name", &mut issues));
        let suspended = sent.value("suspended").and_then(|value| {
            let read = match value.text() {
                "true" => Some(true),
                "false" => Some(false),
                _ => None,
            };
            if read.is_none() {
                let found = quoted(value.text());
                let message = format!("`suspended` must be `true` or `false`; found {found}");
                issues.push(ValidationError::of_member("suspended", "invalid_value", message));
            }
            read
        });
        if issues.is_empty() { Ok(Self { name, suspended }) } else { Err(issues) }
    }
}
