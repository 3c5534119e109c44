//! Checks a body against the fields of a resource, and converts each value to its stored form. No later code checks
//! shape again.

use super::{field::FieldDef, resource::ResourceDef};

pub(crate) use super::sent_value::read_value;
use crate::value::{Document, Json, ValidationError};

/// A body, checked against the fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedBody {
    /// Members to store; `null` clears a property. An invalid value is replaced by an empty object: it counts as
    /// present, and no field reads anything from it.
    pub patch: Document,
    /// Names that the resource does not know, in the order sent (R6).
    pub ignored: Vec<String>,
    /// Read-only members, as they were sent, and those that may not apply (R49).
    pub fixed: Document,
    /// Values of read-only members that the response has and the record has not, such as the name of the tenant.
    pub shown: Document,
    /// Handling of `ignored` and `fixed`.
    pub handling: UnknownMemberPolicy,
    /// Issues of the members. A body with issues is rejected when it is planned, with all that is found then (R11).
    pub issues: Vec<ValidationError>,
}

impl CheckedBody {
    /// A body that a program wrote itself, and that is stored as it is: nothing checks its members. What comes from outside
    /// is checked by [`check_create`] or [`check_update`].
    pub fn trusted(patch: Document) -> Self {
        Self {
            patch,
            ignored: Vec::new(),
            fixed: Document::default(),
            shown: Document::default(),
            handling: UnknownMemberPolicy::Lenient,
            issues: Vec::new(),
        }
    }

    /// The body, if all its members are valid.
    ///
    /// # Errors
    /// Every problem found.
    pub fn checked(self) -> Result<Self, Vec<ValidationError>> {
        if self.issues.is_empty() { Ok(self) } else { Err(self.issues) }
    }

    /// Adds further issues, but for members that already have one, since the new one may follow from it.
    pub(crate) fn add_issues(&mut self, further: Vec<ValidationError>) {
        let known = self.issues.len();
        for issue in further {
            if self.issues.iter().take(known).all(|other| other.pointer != issue.pointer) {
                self.issues.push(issue);
            }
        }
    }
}

/// Policy for members that are not stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownMemberPolicy {
    /// Unknown properties are left out, and named in the response.
    #[default]
    Lenient,
    /// The request is rejected.
    Strict,
}

/// Fields that identify the record and its version: a body that was read before may have others (R3).
const BOOKKEEPING: [&str; 3] = ["_id", "updatedAt", "__v"];

/// Checks the body of a create: every value, and that no required one is missing.
pub fn check_create(def: &ResourceDef, sent: &Document) -> CheckedBody {
    let mut shaped = check(def, sent);
    let missing = def.fields.iter().filter(|field| field.required && is_blank(sent, field));
    shaped.issues.extend(missing.map(|field| {
        ValidationError::of_member(field.name, "required", format!("`{}` is required", field.name))
    }));
    shaped
}

/// Checks the body of an update: every value, and that no required one is cleared.
pub fn check_update(def: &ResourceDef, sent: &Document) -> CheckedBody {
    let mut shaped = check(def, sent);
    let named = def.fields.iter().filter(|field| field.required && sent.get(field.name).is_some());
    shaped.issues.extend(named.filter(|field| is_blank(sent, field)).map(|field| {
        ValidationError::of_member(
            field.name,
            "required",
            format!("`{}` cannot be cleared", field.name),
        )
    }));
    shaped
}

/// Whether a field has no value that counts: absent, null, or a blank string.
fn is_blank(sent: &Document, field: &FieldDef) -> bool {
    sent.value(field.name)
        .is_none_or(|value| value.as_str().is_some_and(|text| text.trim().is_empty()))
}

fn check(def: &ResourceDef, sent: &Document) -> CheckedBody {
    let mut shaped = CheckedBody::trusted(Document::default());
    for (name, value) in sent.iter() {
        match def.field(name) {
            None => shaped.ignored.push(name.to_owned()),
            // The response of a GET can be sent back (R3).
            Some(field) if BOOKKEEPING.contains(&field.name) && !field.is_sent() => {}
            Some(field) if !field.is_sent() => shaped.fixed.set(name, value.to_json()),
            Some(field) => match read_value(field, value) {
                Ok(value) => shaped.patch.set(name, value),
                Err(issue) => {
                    shaped.issues.push(issue);
                    shaped.patch.set(name, Json::object(&Document::default()));
                }
            },
        }
    }
    shaped
}
