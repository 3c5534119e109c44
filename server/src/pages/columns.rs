//! Columns of a list of records.

use serde_json::{Map, Value};
use svctrack_core::schema::{FieldDef, FieldKind, Fill, ResourceDef};
use svctrack_web::pages::{is_offered, target_of};

/// Columns of a list where none are chosen.
const COLUMNS: usize = 8;

/// Fields of a resource with these names, separated by commas.
pub(super) fn named_columns(def: &'static ResourceDef, names: &str) -> Vec<&'static FieldDef> {
    let is_asked = |field: &FieldDef| names.split(',').any(|name| name == field.name);
    let is_named = |field: &&FieldDef| is_asked(field) && !matches!(field.fill, Fill::Derived);
    def.fields.iter().filter(is_named).collect()
}

/// Fields of a resource in a list: the most telling ones first, then in the order of the contract.
pub(super) fn columns(def: &'static ResourceDef) -> Vec<&'static FieldDef> {
    // The name of a referenced record says more than its reference.
    let has_name = |field: &FieldDef| {
        let is_it = |it: &FieldDef| matches!(it.fill, Fill::NameOf(row) if row == field.name);
        def.fields.iter().any(is_it)
    };
    let is_plain = |field: &&FieldDef| {
        is_offered(field) && field.kind != FieldKind::Id && !field.long_text && !has_name(field)
    };
    let mut plain: Vec<_> = def.fields.iter().filter(is_plain).collect();
    plain.sort_by_key(|field| match field.name {
        "title" => 0,
        "name" | "email" => 1,
        "companyName" => 2,
        "product" | "userId" | "assignedId" | "dateFrom" => 3,
        "status" | "state" | "severity" | "date" | "mrr" | "fromDate" | "renewalStatus"
        | "renewalDate" | "lastActive" | "activityState" | "issues" => 4,
        // `subject` is the same as the title, and amounts have their currency.
        "subject" | "_currency" | "toDateDerived" => 6,
        _ => 5,
    });
    // The first column leads to the record itself, so it names no other one.
    let is_own =
        |field: &&FieldDef| target_of(field).is_none() && !matches!(field.fill, Fill::NameOf(_));
    if let Some(at) = plain.iter().position(is_own) {
        let own = plain.remove(at);
        plain.insert(0, own);
    }
    plain
}

/// Columns in which at least one record has a value.
pub(super) fn filled_columns(
    columns: Vec<&'static FieldDef>,
    records: &[Map<String, Value>],
) -> Vec<&'static FieldDef> {
    let has = |field: &&FieldDef| {
        records.is_empty()
            || records.iter().any(|record| record.get(field.name).is_some_and(|it| !it.is_null()))
    };
    columns.into_iter().filter(has).take(COLUMNS).collect()
}
