//! Saved views of a list, from the settings of the tenant.

use svctrack_core::{
    resources::settings::VIEWS,
    schema::ResourceDef,
    value::{Document, JsonRef},
};
use svctrack_web::pages::{SavedView, SavedViews, address};

use super::visit::Visit;

/// A list whose views can be saved.
#[derive(Clone, Debug)]
pub(super) struct ViewedList {
    /// Name of the list in the settings.
    pub(super) name: &'static str,
    /// Address of the list.
    pub(super) path: String,
}

impl ViewedList {
    pub(super) fn of_records(def: &ResourceDef) -> Self {
        Self { name: def.path, path: address("/app/records/{}", &[def.path], &[]) }
    }

    pub(super) fn of_customers() -> Self {
        Self { name: "customers", path: "/app/customers".to_owned() }
    }

    pub(super) fn views(self, visit: &Visit) -> SavedViews {
        let views = VIEWS.get(&visit.settings);
        let named: Option<Document> = views.and_then(|views| views.value(self.name)?.to_document());
        let saved = |(name, query): (&str, JsonRef<'_>)| {
            let path = self.with(&pairs_of(&query.as_str()?));
            Some(SavedView { name: name.to_owned(), path })
        };
        let saved = named.iter().flat_map(Document::iter).filter_map(saved).collect();
        SavedViews { saved, may_save: visit.api.may("admin"), list: self.path }
    }

    /// The address of the list with the pairs of a query.
    pub(super) fn with(&self, pairs: &[(String, String)]) -> String {
        let pairs: Vec<_> =
            pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        address(&self.path, &[], &pairs)
    }
}

pub(super) fn pairs_of(query: &str) -> Vec<(String, String)> {
    url::form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}
