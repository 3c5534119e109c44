//! Settings of the tenant: a form generated from their fields, as those of records are.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::resources::settings::{CURRENCIES, SETTINGS, TENANT_ID, UPDATED_AT};

use super::{
    format::instant,
    page_with_form,
    parts::{Problem, problems},
    record_form::{FormValues, checks, inputs, shown},
    setup::copied,
    shell::{Shell, csrf, hidden, layout, title_bar},
};
use crate::page::Page;

/// Settings for their page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SettingsView {
    pub settings: Map<String, Value>,
    /// Version that the form was filled from, as its `ETag`.
    pub version: String,
    /// Values that were sent and not saved, by property.
    pub sent: Vec<(String, String)>,
    pub problems: Vec<Problem>,
}

pub fn settings_page(shell: &Shell, view: &SettingsView) -> Page {
    let text = |name: &str| view.settings.get(name).and_then(Value::as_str).unwrap_or_default();
    let (tenant, changed) = (text(TENANT_ID.name), text(UPDATED_AT.name));
    let filled = FormValues {
        record: &view.settings,
        sent: &view.sent,
        problems: &view.problems,
        references: None,
        required: &[],
        left_out: &[CURRENCIES.name],
    };
    let actions = maud! { a.button href="/app/settings/rates" { "Exchange rates" } };
    let main = maud! {
        (title_bar("Settings", &actions))
        p.muted { (SETTINGS.doc) " An empty field has the default value." }
        (problems(&view.problems))
        dl.properties.narrow {
            dt { "Tenant" }
            dd { (shell.tenant) }
            dt { "Tenant UUID" }
            dd { (copied("tenant", tenant)) }
            @if !changed.is_empty() {
                dt { "Last changed" }
                dd { (instant(changed)) }
            }
        }
        form.record method="post" action="/app/settings" data-check=(SETTINGS.path) {
            (csrf(shell))
            (hidden("shown", &shown(&SETTINGS, &view.settings)))
            (hidden("version", &view.version))
            (inputs(&SETTINGS, &filled))
            div.actions { button.main type="submit" { "Save" } }
        }
        script type="module" src="/setup.js" {}
        (checks())
    };
    page_with_form(layout(shell, "Settings", main))
}
