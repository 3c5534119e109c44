//! Import of a table: a form for the table, the mapping of its columns, and the result of a dry run for its rows. The
//! table stays in the form until it is imported.

use hypertext::prelude::*;
use serde::Deserialize;
use svctrack_core::{
    resources::company::COMPANY,
    schema::{FieldDef, FieldKind, ResourceDef},
    value::counted,
};

use super::{
    address::address,
    format::{grouped, label_of, property_label},
    page,
    parts::{ColumnHead, Problem, table},
    shell::{Shell, csrf, hidden, layout, title_bar},
};
use crate::page::Page;

/// The outcome of an import, or of its dry run.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImportSummary {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
    pub refused: usize,
    /// Created records that no key finds again.
    pub without_key: usize,
    /// Rows with a key of an earlier row.
    pub repeated_keys: usize,
    pub refusals: Vec<RejectedRow>,
    /// Properties that the service sets itself.
    pub ignored_columns: Vec<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct RejectedRow {
    pub line: u64,
    pub message: String,
}

/// A rejected row on the page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedRow {
    pub line: u64,
    pub message: String,
    /// Beginning of the row's text.
    pub excerpt: String,
}

/// A column of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportColumn {
    pub head: String,
    /// The property that has the name of the head.
    pub own: Option<String>,
    /// Property of the column; empty where the column is left out.
    pub property: String,
}

impl ImportColumn {
    /// Mapping in the form of the API.
    pub fn mapping(&self) -> String {
        [&self.head, "=", &self.property].concat()
    }
}

/// The page of an import.
#[derive(Clone, Debug)]
pub struct ImportView {
    pub def: &'static ResourceDef,
    /// The properties that a column can be.
    pub properties: Vec<&'static FieldDef>,
    /// The longest table, in bytes.
    pub max_bytes: usize,
    /// Table that was uploaded or pasted.
    pub table: String,
    pub columns: Vec<ImportColumn>,
    /// Result; none before there is one.
    pub summary: Option<ImportSummary>,
    /// Whether the table was imported; else it was a dry run.
    pub is_done: bool,
    /// Digest of the table and the mapping of the result, which the form sends back.
    pub checked: String,
    /// Whether an import became a dry run, since the table or the mapping was changed after the last one.
    pub is_changed: bool,
    pub rows: Vec<ImportedRow>,
    pub problems: Vec<Problem>,
}

impl ImportView {
    /// The page before a table is chosen.
    pub fn new(def: &'static ResourceDef) -> Self {
        Self {
            def,
            properties: Vec::new(),
            max_bytes: 0,
            table: String::new(),
            columns: Vec::new(),
            summary: None,
            is_done: false,
            checked: String::new(),
            is_changed: false,
            rows: Vec::new(),
            problems: Vec::new(),
        }
    }
}

impl Default for ImportView {
    fn default() -> Self {
        Self::new(&COMPANY)
    }
}

pub fn import_page(shell: &Shell, view: &ImportView) -> Page {
    let named = label_of(view.def.path);
    let title = format!("Import {}", named.to_lowercase());
    let title = title.as_str();
    let list = address("/app/records/{}", &[view.def.path], &[]);
    let action = address("/app/import/{}", &[view.def.path], &[]);
    let main = maud! {
        p.crumbs { a href=(&list) { (&named) } }
        (title_bar(title, ""))
        (unreadable(&view.problems))
        @if view.is_done { p { a.button href=(&list) { "Show " (named.to_lowercase()) } } }
        form.import method="post" action=(action) enctype="multipart/form-data" {
            (csrf(shell))
            (hidden("checked", &view.checked))
            @match &view.summary {
                Some(summary) => {
                    (outcome(view, summary))
                    (rejected_rows(view, summary))
                    (mapping(view))
                    (buttons(view, summary))
                    (source(view))
                }
                None => {
                    p.muted { "Check first: nothing is written until you confirm." }
                    (source(view))
                    (mapping(view))
                    div.actions { button.main type="submit" name="step" value="check" { "Check" } }
                    (properties(view))
                }
            }
        }
        script type="module" src="/import.js" {}
    };
    page(layout(shell, title, main))
}

/// Why the table cannot be read.
fn unreadable(found: &[Problem]) -> impl Renderable {
    maud! {
        @if !found.is_empty() {
            div.problems role="alert" tabindex="-1" {
                p { strong { "The file cannot be read." } }
                ul { @for problem in found { li { (problem.message) } } }
            }
        }
    }
}

/// Fields of the form for a table.
fn source(view: &ImportView) -> impl Renderable {
    let label = if view.table.is_empty() { "Or paste it" } else { "The table" };
    let file = if view.table.is_empty() { "A file of CSV or NDJSON" } else { "Another file" };
    maud! {
        div.field {
            label for="f-file" { (file) }
            input #f-file type="file" name="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv" aria-describedby="h-file";
            p #h-file .help {
                "The first line of a CSV file has the column names. Maximum " (view.max_bytes / (1024 * 1024)) " MB; the "
                a href="/docs/import-export" { "command line and the API" } " import larger files."
            }
        }
        div.field {
            label for="f-table" { (label) }
            // A line end after the start tag is dropped by browsers.
            textarea #f-table name="table" rows="10" spellcheck="false" wrap="off" autocomplete="off" { "\n" (view.table) }
        }
    }
}

/// Result of an import or a dry run.
fn outcome<'v>(view: &'v ImportView, summary: &'v ImportSummary) -> impl Renderable + 'v {
    let title = match (view.is_done, summary.refused) {
        (false, 0) => "Every row can be imported. Nothing is written yet.",
        (false, _) => "Some rows cannot be imported. Nothing is written yet.",
        (true, _) => "Imported, except for the rejected rows.",
    };
    let left_out = view.columns.iter().filter(|column| column.property.is_empty());
    let left_out: Vec<&str> = left_out.map(|column| column.head.as_str()).collect();
    maud! {
        @if view.is_changed {
            p.notice role="status" {
                "Nothing was imported: the table or its columns were changed after the check. This is the result of a new check."
            }
        }
        section.outcome aria-labelledby="h-outcome" {
            h2 #h-outcome { (title) }
            ul.counts {
                (count(summary.created, if view.is_done { "created" } else { "new" }))
                (count(summary.updated, if view.is_done { "updated" } else { "to update" }))
                (count(summary.unchanged, "unchanged"))
                (count(summary.refused, "rejected"))
            }
            @if summary.without_key > 0 {
                p.muted {
                    (counted(summary.without_key, "new record")) " without a key ("
                    (view.def.keys.join(", ")) "): another import creates new records again."
                }
            }
            @if summary.repeated_keys > 0 {
                p.muted {
                    (counted(summary.repeated_keys, "row"))
                    " with the key of an earlier row, whose record is updated."
                }
            }
            @if !left_out.is_empty() { p.muted { "Skipped columns: " (left_out.join(", ")) "." } }
            @if !summary.ignored_columns.is_empty() {
                p.muted { "Skipped read-only columns: " (summary.ignored_columns.join(", ")) "." }
            }
        }
    }
}

fn count(count: usize, label: &str) -> impl Renderable {
    maud! { li { strong { (grouped(&count.to_string())) } " " (label) } }
}

fn rejected_rows<'v>(view: &'v ImportView, summary: &'v ImportSummary) -> impl Renderable + 'v {
    let rows = maud! {
        tbody.stacked {
            @for row in &view.rows {
                tr {
                    th.num scope="row" data-label="Line" { (row.line) }
                    td.bad.lines data-label="Problem" { (row.message) }
                    td.lines data-label="Row" { code { (row.excerpt) } }
                }
            }
        }
    };
    let table = table(
        "Rejected rows",
        [ColumnHead::Number("Line"), ColumnHead::Text("Problem"), ColumnHead::Text("Row")],
        rows,
    );
    maud! {
        @if !view.rows.is_empty() {
            h2 { "Rejected rows" }
            (&table)
            @if view.rows.len() < summary.refused {
                p.muted { "The first " (view.rows.len()) " of " (summary.refused) "." }
            }
        }
    }
}

/// Columns of the table, each with its property.
fn mapping(view: &ImportView) -> impl Renderable {
    maud! {
        @if !view.columns.is_empty() {
            fieldset.mapping {
                legend { "Columns" }
                @for (at, column) in view.columns.iter().enumerate() { (choice(view, at, column)) }
            }
        }
    }
}

fn choice<'v>(view: &'v ImportView, at: usize, column: &'v ImportColumn) -> impl Renderable + 'v {
    let property = column.property.as_str();
    let listed = view.properties.iter().map(|field| field.name);
    let mut names: Vec<String> = listed.map(str::to_owned).collect();
    names.extend(member(view, column));
    if !property.is_empty() && !names.iter().any(|name| name == property) {
        names.push(property.to_owned());
    }
    maud! {
        div {
            label for={ "m-" (at) } { (column.head) }
            select id={ "m-" (at) } name="map" {
                option value={ (column.head) "=" } { "(skip)" }
                @for name in &names {
                    option value={ (column.head) "=" (name) } selected=[(name == property).then_some("")] { (shown_name(name)) }
                }
            }
        }
    }
}

/// Label of a property; a key of custom data as it is, which may be like a property.
fn shown_name(name: &str) -> String {
    if name.starts_with("custom.") { name.to_owned() } else { property_label(name) }
}

/// The key of custom data that a column can be.
fn member(view: &ImportView, column: &ImportColumn) -> Option<String> {
    let own = view.properties.iter().find(|field| field.name == "custom")?;
    let is_free = own.kind == FieldKind::Object && !column.head.contains(['=', '.']);
    (is_free && !column.head.is_empty()).then(|| format!("custom.{}", column.head))
}

fn buttons<'v>(view: &'v ImportView, summary: &'v ImportSummary) -> impl Renderable + 'v {
    let rows = summary.created + summary.updated;
    maud! {
        div.actions {
            button type="submit" name="step" value="check" { "Check again" }
            @if !view.is_done && rows > 0 {
                button.main type="submit" name="step" value="import" {
                    "Import " (grouped(&rows.to_string())) @if rows == 1 { " row" } @else { " rows" }
                    @if summary.refused > 0 { ", skip " (grouped(&summary.refused.to_string())) }
                }
            }
        }
    }
}

/// Names that columns can have.
fn properties(view: &ImportView) -> impl Renderable {
    maud! {
        details {
            summary { "Column names" }
            dl.properties {
                @for field in &view.properties {
                    dt { code { (field.name) } @if field.required { " *" } }
                    dd { (field.doc) }
                }
            }
        }
    }
}
