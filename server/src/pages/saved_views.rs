//! Saved views of a list, from the settings of the tenant.

use svctrack_core::{
    resources::settings::VIEWS,
    schema::ResourceDef,
    value::{Document, JsonRef},
};
use svctrack_web::pages::{SavedView, address};

use super::visit::Visit;

pub(super) fn for_resource(visit: &Visit, def: &ResourceDef) -> Vec<SavedView> {
    let views = VIEWS.get(&visit.settings);
    let named: Option<Document> = views.and_then(|views| views.value(def.path)?.to_document());
    let saved = |(name, query): (&str, JsonRef<'_>)| {
        let path = path_of(def, &pairs_of(&query.as_str()?));
        Some(SavedView { name: name.to_owned(), path })
    };
    named.iter().flat_map(Document::iter).filter_map(saved).collect()
}

pub(super) fn pairs_of(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

/// The address of a list with the pairs of a query.
pub(super) fn path_of(def: &ResourceDef, pairs: &[(String, String)]) -> String {
    let pairs: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
    address("/app/records/{}", &[def.path], &pairs)
}
