//! Stores the facts of a license, or of settings, that reports read, when a change replaces them: a report can then be
//! computed as of any point in time since. A change of other data stores nothing.

use svctrack_core::{
    resources::{
        license::LICENSE,
        settings::{CURRENCIES, SETTINGS, TIME_ZONE},
    },
    schema::ResourceDef,
    value::{Document, Members, ObjectId, TenantId},
};

use super::license_facts;
use crate::{
    StoreError,
    rows::{AppendRows, revenue_version::ReplacedValue},
};

/// Value that a change of a record replaces, if reports read it; `before` is the record until then, unless it is new,
/// and `after` the record then, unless it is deleted. Writes the `facts` of a license as they are then.
pub(crate) fn replaced(
    facts: &mut impl AppendRows,
    tenant: TenantId,
    (def, id): (&ResourceDef, ObjectId),
    (before, after): (Option<&Document>, Option<&Document>),
) -> Result<Option<ReplacedValue>, StoreError> {
    if *def == LICENSE {
        return license_facts::follow(facts, tenant, id, (before, after));
    }
    if *def == SETTINGS {
        let then = before.map_or_else(|| settings_text(&Document::default()), settings_text);
        let is_changed = after.map(settings_text).as_ref() != Some(&then);
        return Ok(is_changed.then_some(ReplacedValue::Settings(then)));
    }
    Ok(None)
}

/// The settings that reports read.
fn settings_text(settings: &impl Members) -> String {
    let mut read = Document::default();
    for name in [TIME_ZONE.name, CURRENCIES.name] {
        if let Some(value) = settings.get(name) {
            read.set(name, value.to_json());
        }
    }
    read.to_text()
}
