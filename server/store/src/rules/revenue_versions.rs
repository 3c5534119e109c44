//! Stores the settings that reports read when a change replaces them: a report can then be computed as of any point in
//! time since. A change of other settings stores nothing.

use svctrack_core::{
    resources::settings::{CURRENCIES, TIME_ZONE},
    value::{Document, Members},
};

use crate::rows::revenue_version::ReplacedValue;

/// Settings that a change replaces, if reports read them; `before` are the settings until then, unless they are new.
pub(crate) fn replaced_settings(
    before: Option<&Document>,
    after: Option<&Document>,
) -> Option<ReplacedValue> {
    let then = before.map_or_else(|| settings_text(&Document::default()), settings_text);
    let is_changed = after.map(settings_text).as_ref() != Some(&then);
    is_changed.then_some(ReplacedValue::Settings(then))
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
