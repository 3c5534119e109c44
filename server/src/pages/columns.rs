//! Columns of a list of records.

use serde_json::{Map, Value};
use svctrack_core::schema::{FieldDef, FieldKind, ResourceDef};

/// Columns of a list where none are chosen.
const COLUMNS: usize = 8;

/// Fields of a resource with these names, separated by commas.
pub(super) fn named_columns(def: &'static ResourceDef, names: &str) -> Vec<&'static FieldDef> {
    let is_named = |field: &&FieldDef| names.split(',').any(|name| name == field.name);
    def.fields.iter().filter(is_named).collect()
}

/// Fields of a resource in a list: the most telling ones first, then in the order of the contract.
pub(super) fn columns(def: &'static ResourceDef) -> Vec<&'static FieldDef> {
    let is_plain = |field: &&FieldDef| {
        !matches!(
            field.kind,
            FieldKind::Id
                | FieldKind::Object
                | FieldKind::Values
                | FieldKind::References
                | FieldKind::Reference
        ) && !field.long_text
            && !field.name.starts_with("__")
    };
    let mut plain: Vec<_> = def.fields.iter().filter(is_plain).collect();
    // The name of a record leads to it; names of the records that it refers to say more than ids.
    plain.sort_by_key(|field| match field.name {
        "title" => 0,
        "name" | "email" => 1,
        "companyName" => 2,
        "product" | "userName" => 3,
        "status" | "state" | "severity" | "date" | "mrr" | "fromDate" | "renewalStatus"
        | "renewalDate" | "lastActive" | "activityState" => 4,
        // `subject` is the same as the title, and amounts have their currency.
        "subject" | "_currency" | "toDateDerived" => 6,
        _ => 5,
    });
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
