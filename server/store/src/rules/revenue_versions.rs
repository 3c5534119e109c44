//! Stores what reports read of a license, or of settings, when a change replaces it: a report can then be computed as
//! of any point in time since. A change of anything else stores nothing.

use svctrack_core::{
    resources::{
        license::LICENSE,
        settings::{CURRENCIES, SETTINGS, TIME_ZONE},
    },
    revenue::LicenseFacts,
    schema::ResourceDef,
    value::{Document, Members, ObjectId},
};

use super::open_tables::{Tables, Transaction};
use crate::{
    StoreError,
    rows::{ReadRow as _, codec, revenue_version::Replaced},
};

/// What a change of the record under a key replaces, if reports read it; `after` is the record then, unless it is deleted.
pub(crate) fn replaced(
    tables: &Tables<impl Transaction>,
    key: &[u8],
    def: &ResourceDef,
    id: ObjectId,
    after: Option<&Document>,
) -> Result<Option<Replaced>, StoreError> {
    if *def != LICENSE && *def != SETTINGS {
        return Ok(None);
    }
    let stored = |bytes: &[u8]| -> Result<_, StoreError> {
        let stored = codec::unseal_record(key, bytes)?;
        Ok(match *def == LICENSE {
            true => LicenseFacts::as_stored(stored.text()).map(Replaced::of_license),
            false => Some(Replaced::Settings(settings_text(&stored))),
        })
    };
    let before = tables.records.read(key, stored)?.transpose()?.flatten();
    let after = after.and_then(|after| match *def == LICENSE {
        true => LicenseFacts::as_written(after).map(Replaced::of_license),
        false => Some(Replaced::Settings(settings_text(after))),
    });
    if before == after {
        return Ok(None);
    }
    let absent = || match *def == LICENSE {
        true => Replaced::NoLicense(id),
        false => Replaced::Settings(settings_text(&Document::default())),
    };
    Ok(Some(before.unwrap_or_else(absent)))
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
