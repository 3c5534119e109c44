//! Page of a record: its properties, and the records that refer to it. The fields of the resource define it, so that a
//! new field is shown without a line here. The form of a record is in `record_form`.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::BaseCurrency,
    schema::{FieldDef, FieldKind, Fill, ResourceDef},
};

use super::{
    address::address,
    format::{grouped, instant, label_of, property_label},
    page,
    parts::{Problem, problems, scroll},
    record_cells::{RecordCells, cell, is_number},
    record_sections::{self, RecordSection},
    references::{References, ids_of, listed_target, target_of},
    shell::{Shell, csrf, hidden, layout, record_address, title_bar},
};
use crate::page::Page;

/// Property that counts the changes of a record; pages do not show it.
const VERSION: &str = "__v";

/// Number of sections from which a page begins with links to them.
const MANY_SECTIONS: usize = 4;

/// A record for its page.
#[derive(Clone, Debug)]
pub struct RecordView {
    pub def: &'static ResourceDef,
    pub record: Map<String, Value>,
    pub base: BaseCurrency,
    /// Version that the form was filled from, as its `ETag`.
    pub version: String,
    /// Idempotency key of the form that creates a record, so that it creates one however often it is sent.
    pub once: String,
    /// Values of the form, by property, where they differ from the record.
    pub sent: Vec<(String, String)>,
    pub references: References,
    pub may_update: bool,
    pub may_delete: bool,
    pub related: Vec<RelatedList>,
    /// Further sections of the page.
    pub extra: Vec<RecordSection>,
    /// Further actions on the record: a label and an address.
    pub actions: Vec<(&'static str, String)>,
    pub problems: Vec<Problem>,
}

/// Records that refer to a record.
#[derive(Clone, Debug)]
pub struct RelatedList {
    pub def: &'static ResourceDef,
    pub columns: Vec<&'static FieldDef>,
    pub records: Vec<Map<String, Value>>,
    /// Number of all of them.
    pub total: u64,
    /// Number of the open ones, which come first, and their address; none where records are neither open nor closed.
    pub open: Option<(u64, String)>,
    /// Address of all of them.
    pub all: String,
    /// Names of the records that columns refer to.
    pub references: References,
}

pub(super) fn text<'r>(record: &'r Map<String, Value>, name: &str) -> &'r str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn title_of(def: &ResourceDef, record: &Map<String, Value>) -> String {
    let names =
        ["title", "subject", "name", "product", "email", "description", "externalId", "_id"];
    // A long text is no name.
    let is_short = |name: &&str| def.field(name).is_some_and(|field| !field.long_text);
    let found = names.into_iter().filter(is_short).map(|name| text(record, name));
    let found = found.into_iter().find(|text| !text.is_empty());
    found.map_or_else(|| def.name.to_owned(), str::to_owned)
}

pub fn record_page(shell: &Shell, view: &RecordView) -> Page {
    let (def, record) = (view.def, &view.record);
    let (named, id) = (title_of(def, record), text(record, "_id"));
    let title = named.as_str();
    let edit = address("/app/records/{}/{}/edit", &[def.path, id], &[]);
    let delete = address("/app/records/{}/{}/delete", &[def.path, id], &[]);
    let actions = maud! {
        @for (label, path) in &view.actions { a.button href=(path) { (*label) } }
        @if view.may_update { a.button.main href=(edit) { "Edit" } }
    };
    let main = maud! {
        p.crumbs { a href=(address("/app/records/{}", &[def.path], &[])) { (label_of(def.path)) } }
        (title_bar(title, &actions))
        (changes(record))
        (problems(&view.problems))
        (links(view))
        (record_sections::first(shell, &view.extra))
        @if view.has_properties_first() {
            (properties(shell, view))
            @for list in &view.related { (related(shell, list, &view.base)) }
        } @else {
            @for list in &view.related { (related(shell, list, &view.base)) }
            section #properties {
                h2 { "Properties" }
                (properties(shell, view))
            }
        }
        (record_sections::last(shell, &view.extra))
        @if view.may_delete {
            details.danger {
                summary { "Delete this " (label_of(def.name).to_lowercase()) }
                form method="post" action=(delete) {
                    (csrf(shell))
                    (hidden("version", &view.version))
                    p { "The record is deleted immediately. This cannot be undone." }
                    button.bad type="submit" { "Delete" }
                }
            }
        }
    };
    page(layout(shell, title, main))
}

impl RecordView {
    /// Whether the page has nothing more important than the properties.
    fn has_properties_first(&self) -> bool {
        self.extra.iter().all(RecordSection::is_last)
    }

    /// The sections of the page: the id of each, its name, and how many records it has.
    fn sections(&self) -> Vec<(&'static str, String, Option<u64>)> {
        let of = |is_last: bool| {
            let extra = self.extra.iter().filter(move |extra| extra.is_last() == is_last);
            extra.filter_map(RecordSection::link).map(|(id, name)| (id, name.to_owned(), None))
        };
        let lists = self.related.iter();
        let lists = lists.map(|list| (list.def.path, label_of(list.def.path), Some(list.total)));
        let properties =
            (!self.has_properties_first()).then(|| ("properties", "Properties".to_owned(), None));
        of(false).chain(lists).chain(properties).chain(of(true)).collect()
    }
}

/// Links to the sections of a page that is long.
fn links(view: &RecordView) -> impl Renderable {
    let sections = view.sections();
    maud! {
        @if sections.len() >= MANY_SECTIONS {
            nav.sections aria-label="On this page" {
                @for (id, name, count) in &sections {
                    a href={ "#" (*id) } {
                        (name)
                        @if let Some(count) = count { " " small { (grouped(&count.to_string())) } }
                    }
                }
            }
        }
    }
}

/// Times at which the record was created and last changed.
fn changes(record: &Map<String, Value>) -> impl Renderable {
    let [created, updated] = ["createdAt", "updatedAt"].map(|name| text(record, name));
    let version = record.get("__v").and_then(Value::as_i64).unwrap_or_default();
    maud! {
        @if !created.is_empty() {
            p.muted {
                "Created " (instant(created))
                @if updated != created && !updated.is_empty() { ", changed " (instant(updated)) }
                ", version " (version)
            }
        }
    }
}

/// All properties of a record; the name of a referenced record replaces the reference.
fn properties<'v>(shell: &'v Shell, view: &'v RecordView) -> impl Renderable + 'v {
    let (def, record) = (view.def, &view.record);
    let has = |field: &FieldDef| {
        field.name != VERSION && record.get(field.name).is_some_and(|value| !value.is_null())
    };
    let is_shown = move |field: &&FieldDef| has(field) && !matches!(field.fill, Fill::NameOf(_));
    maud! {
        dl.properties {
            @for field in def.fields.iter().filter(is_shown) {
                dt title=(field.doc) { (named(field)) }
                dd { (value(shell, view, field)) }
            }
        }
    }
}

/// Label of a property; a reference has that of its target.
pub(super) fn named(field: &FieldDef) -> String {
    match field.kind {
        FieldKind::Reference => property_label(field.name),
        _ => label_of(field.name),
    }
}

/// A value of a record; a reference links to its target, by the name where the record has it.
fn value<'v>(
    shell: &'v Shell,
    view: &'v RecordView,
    field: &'static FieldDef,
) -> impl Renderable + 'v {
    let (def, record) = (view.def, &view.record);
    let target = target_of(field);
    let id = text(record, field.name);
    let listed = listed_target(field);
    let ids: Vec<&str> = ids_of(record, field).collect();
    let is_name = |other: &&FieldDef| matches!(other.fill, Fill::NameOf(row) if row == field.name);
    let named = def.fields.iter().find(is_name).map(|name| text(record, name.name));
    let named = named.filter(|name| !name.is_empty());
    let named = named.unwrap_or_else(|| view.references.named(id));
    maud! {
        @if let Some(target) = target && !id.is_empty() {
            (shell.record_link(target.path, id, named))
        } @else if let Some(target) = listed && !ids.is_empty() {
            ul.plain {
                @for id in &ids {
                    li { (shell.record_link(target.path, id, view.references.named(id))) }
                }
            }
        } @else {
            (cell(field, record, &view.base))
        }
    }
}

fn related<'v>(
    shell: &'v Shell,
    list: &'v RelatedList,
    base: &'v BaseCurrency,
) -> impl Renderable + 'v {
    let title = label_of(list.def.path);
    let cells = RecordCells { shell, def: list.def, base, references: &list.references };
    let decimals = |column: &&FieldDef| cells.decimals(column, &list.records);
    let columns = list.columns.iter().copied();
    let columns: Vec<_> = columns.map(|column| (column, decimals(&column))).collect();
    let table = maud! {
        table {
            thead { tr { @for (column, _) in &columns {
                th scope="col" class=[is_number(column).then_some("num")] { (named(column)) }
            } } }
            tbody.stacked {
                @for record in &list.records {
                    tr {
                        @for (at, (column, decimals)) in columns.iter().enumerate() {
                            @if at == 0 {
                                th scope="row" {
                                    a href=(record_address(list.def.path, text(record, "_id"))) {
                                        (title_or(cells.text(column, record), record))
                                    }
                                }
                            } @else {
                                td class=[is_number(column).then_some("num")] data-label=(named(column)) { (cells.cell(column, record, *decimals)) }
                            }
                        }
                    }
                }
            }
        }
    };
    let label = title.clone();
    maud! {
        section id=(list.def.path) {
            h2 { a href=(list.all) { (title) } " " small.muted { (count(list)) } }
            @if list.records.is_empty() {
                p.muted { "None." }
            } @else {
                (scroll(&label, &table))
                @if (list.records.len() as u64) < list.total {
                    p.muted {
                        @if list.open.is_some() { "Open ones first, then the newest. " } @else { "The newest " (list.records.len()) ". " }
                        a href=(list.all) { "Show all " (grouped(&list.total.to_string())) " " (label.to_lowercase()) }
                    }
                }
            }
        }
    }
}

/// How many there are, and how many of them are open.
fn count(list: &RelatedList) -> impl Renderable {
    let total = grouped(&list.total.to_string());
    maud! {
        @match &list.open {
            Some((open, path)) => { a href=(path) { (grouped(&open.to_string())) " open" } ", " (total) " in all" }
            None => (total),
        }
    }
}

fn title_or(shown: String, record: &Map<String, Value>) -> String {
    if shown.is_empty() { text(record, "_id").to_owned() } else { shown }
}
