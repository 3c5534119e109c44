//! Tenants, for an operator: create, rename, suspend, resume, delete.

use hypertext::prelude::*;
use serde::Deserialize;

use super::{
    address::address,
    format::{grouped, instant},
    page,
    parts::{ColumnHead, Problem, badge, empty, problems, table},
    setup::copied,
    shell::{Shell, csrf, hidden, layout, title_bar},
    tokens::input_field,
};
use crate::page::Page;

/// A tenant as the API lists it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TenantLine {
    #[serde(rename = "_id")]
    pub id: String,
    pub name: String,
    pub created_at: String,
    pub state: String,
    pub suspended: bool,
    pub rows_removed: Option<u64>,
}

impl TenantLine {
    fn is_being_deleted(&self) -> bool {
        self.rows_removed.is_some()
    }
}

/// The page of tenants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantsView {
    pub lines: Vec<TenantLine>,
    /// Key of the form, by which it is carried out once.
    pub once: String,
    /// Name of a new tenant that was sent.
    pub name: String,
    pub problems: Vec<Problem>,
}

/// The page of a tenant.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TenantView {
    pub line: TenantLine,
    /// New name that was sent.
    pub name: String,
    /// Text that was typed to confirm the deletion.
    pub confirm: String,
    pub problems: Vec<Problem>,
}

pub fn tenants_page(shell: &Shell, view: &TenantsView) -> Page {
    let actions = maud! { a.button href="/app/demo" { "Demo" } };
    let main = maud! {
        (title_bar("Tenants", &actions))
        p.muted { "Tenants share the server, but no data." }
        (problems(&view.problems))
        @if view.lines.is_empty() {
            (empty("No tenants yet.", "Create one: its first token is shown once."))
        } @else {
            (tenants(&view.lines))
        }
        section aria-labelledby="h-new" {
            h2 #h-new { "Create a tenant" }
            form method="post" action="/app/tenants" {
                (csrf(shell))
                (hidden("once", &view.once))
                div.record {
                    (input_field("text", ("name", "Name *"), &view.name, "For example the company or product whose customers it has.", &view.problems))
                }
                div.actions { button.main type="submit" { "Create" } }
            }
        }
    };
    page(layout(shell, "Tenants", main))
}

fn tenants(lines: &[TenantLine]) -> impl Renderable {
    let rows = maud! {
        tbody.stacked {
            @for line in lines {
                tr {
                    th scope="row" { a href=(address("/app/tenants/{}", &[&line.id], &[])) { (line.name) } }
                    td data-label="UUID" { code { (line.id) } }
                    td data-label="State" { (badge(&line.state)) }
                    td.num data-label="Created" { (instant(&line.created_at)) }
                }
            }
        }
    };
    table(
        "Tenants",
        [
            ColumnHead::Text("Name"),
            ColumnHead::Text("UUID"),
            ColumnHead::Text("State"),
            ColumnHead::Number("Created"),
        ],
        rows,
    )
}

pub fn tenant_page(shell: &Shell, view: &TenantView) -> Page {
    let line = &view.line;
    let title = line.name.as_str();
    let path = |what: &str| address(&format!("/app/tenants/{{}}/{what}"), &[&line.id], &[]);
    let (rename, suspend, delete) = (path("rename"), path("suspend"), path("delete"));
    let main = maud! {
        p.crumbs { a href="/app/tenants" { "Tenants" } }
        h1 { (title) " " (badge(&line.state)) }
        (problems(&view.problems))
        dl.properties.narrow {
            dt { "Tenant UUID" }
            dd { (copied("tenant", &line.id)) }
            dt { "Created" }
            dd { (instant(&line.created_at)) }
            @if let Some(removed) = line.rows_removed {
                dt { "Being deleted" }
                dd { (grouped(&removed.to_string())) " rows removed so far" }
            }
        }
        @if !line.is_being_deleted() {
            section aria-labelledby="h-rename" {
                h2 #h-rename { "Rename" }
                form method="post" action=(rename) {
                    (csrf(shell))
                    div.record { (input_field("text", ("name", "Name"), &view.name, "Display name only.", &view.problems)) }
                    div.actions { button type="submit" { "Rename" } }
                }
            }
            section aria-labelledby="h-suspend" {
                h2 #h-suspend { (if line.suspended { "Resume" } else { "Suspend" }) }
                p {
                    @if line.suspended {
                        "Its calls and events are rejected. Its data is retained."
                    } @else {
                        "Its calls and events are rejected until it is resumed. Senders that retry lose no events."
                    }
                }
                form method="post" action=(suspend) {
                    (csrf(shell))
                    input type="hidden" name="suspended" value=(if line.suspended { "false" } else { "true" });
                    button type="submit" { (if line.suspended { "Resume" } else { "Suspend" }) }
                }
            }
            (deletion(shell, view, &delete))
        }
        script type="module" src="/setup.js" {}
    };
    page(layout(shell, title, main))
}

fn deletion<'v>(shell: &'v Shell, view: &'v TenantView, action: &str) -> impl Renderable + 'v {
    let is_open = view.problems.iter().any(|problem| problem.field == "confirm").then_some("");
    let action = action.to_owned();
    maud! {
        details.danger open=[is_open] {
            summary { "Delete this tenant" }
            form method="post" action=(action) {
                (csrf(shell))
                p { "Deletes all data and tokens of the tenant. Only a backup can restore them." }
                div.record {
                    (input_field("text", ("confirm", "Type the name of the tenant"), &view.confirm, &view.line.name, &view.problems))
                }
                button.bad type="submit" { "Delete" }
            }
        }
    }
}
