//! Problems of a form, shown in the browser while a user fills it in: glue between the page and the rules of
//! `svctrack_core`, in the words of the API.

#[cfg(target_arch = "wasm32")]
#[path = "../../src/allocator.rs"]
mod allocator;

use svctrack_core::{
    plan::check_form,
    resources::{REGISTRY, settings::SETTINGS},
    value::JsonRef,
};
use wasm_bindgen::prelude::*;

/// Checks the form of a resource, which is named as in paths. `sent` has the fields of the form: a name, its text, and
/// so on; `record` is the record that the form changes, as compact JSON, and none for a new one. Returns in the same
/// way names of properties, each with its problem; the name is empty for the whole.
#[wasm_bindgen]
pub fn check(resource: &str, record: Option<String>, sent: Vec<String>) -> Vec<String> {
    let mut all = REGISTRY.iter().copied().chain([&SETTINGS]);
    let Some(def) = all.find(|def| def.path == resource) else { return Vec::new() };
    let record = record.and_then(|record| JsonRef::of_stored(&record).to_document());
    let mut pairs = Vec::with_capacity(sent.len() / 2);
    let mut texts = sent.into_iter();
    while let (Some(name), Some(text)) = (texts.next(), texts.next()) {
        pairs.push((name, text));
    }
    let issues = check_form(def, &pairs, record.as_ref());
    issues.iter().flat_map(|issue| [issue.member().to_owned(), issue.plain_message()]).collect()
}
