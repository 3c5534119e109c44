//! Stores the facts of a license, or of settings, that reports read, when a change replaces them: a report can then be
//! computed as of any point in time since. A change of other data stores nothing.

use svctrack_core::{
    resources::{
        license::LICENSE,
        settings::{CURRENCIES, SETTINGS, TIME_ZONE},
    },
    revenue::LicenseFacts,
    schema::ResourceDef,
    value::{Document, Members, ObjectId},
};

use crate::rows::revenue_version::ReplacedValue;

/// Value that a change of a record replaces, if reports read it; `before` is the record until then, unless it is new,
/// and `after` the record then, unless it is deleted.
pub(crate) fn replaced(
    (def, id): (&ResourceDef, ObjectId),
    before: Option<&Document>,
    after: Option<&Document>,
) -> Option<ReplacedValue> {
    if *def != LICENSE && *def != SETTINGS {
        return None;
    }
    let read = |record: &Document| match *def == LICENSE {
        true => LicenseFacts::as_written(record).map(ReplacedValue::of_license),
        false => Some(ReplacedValue::Settings(settings_text(record))),
    };
    let (before, after) = (before.and_then(read), after.and_then(read));
    if before == after {
        return None;
    }
    let absent = || match *def == LICENSE {
        true => ReplacedValue::NoLicense(id),
        false => ReplacedValue::Settings(settings_text(&Document::default())),
    };
    Some(before.unwrap_or_else(absent))
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
