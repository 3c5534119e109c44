//! Page of a record: its properties, the records that refer to it, and the form that creates or changes one. The fields
//! of the resource define both, so that a new field of a resource is shown and edited without a line here.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::BaseCurrency,
    schema::{FieldDef, FieldKind, Fill, ResourceDef, form},
    value::{Document, JsonRef},
};

use super::{
    address::address,
    format::{grouped, instant, label_of, property_label},
    page, page_with_form,
    parts::{Problem, problems, prose, scroll},
    record_sections::{self, RecordSection},
    records::{cell, currency_of, is_number, text_in},
    references::{References, list_id, lists, target_of},
    shell::{Shell, csrf, hidden, layout, record_address, title_bar},
};
use crate::page::Page;

/// Amounts in the base currency are computed, and have no input.
const NO_BASE: BaseCurrency = BaseCurrency { code: String::new(), has_rates: true };
/// Property that counts the changes of a record; pages do not show it.
const VERSION: &str = "__v";

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
}

pub(super) fn text<'r>(record: &'r Map<String, Value>, name: &str) -> &'r str {
    record.get(name).and_then(Value::as_str).unwrap_or_default()
}

pub fn title_of(def: &ResourceDef, record: &Map<String, Value>) -> String {
    let names = ["title", "subject", "name", "product", "email", "externalId", "_id"];
    let found = names.into_iter().map(|name| text(record, name)).find(|text| !text.is_empty());
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
        (record_sections::first(shell, &view.extra))
        @if view.extra.iter().all(RecordSection::is_last) {
            (properties(view))
            @for list in &view.related { (related(list, &view.base)) }
        } @else {
            @for list in &view.related { (related(list, &view.base)) }
            h2 { "Properties" }
            (properties(view))
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
fn properties(view: &RecordView) -> impl Renderable {
    let (def, record) = (view.def, &view.record);
    let has = |field: &FieldDef| {
        field.name != VERSION && record.get(field.name).is_some_and(|value| !value.is_null())
    };
    let is_shown = move |field: &&FieldDef| has(field) && !matches!(field.fill, Fill::NameOf(_));
    maud! {
        dl.properties {
            @for field in def.fields.iter().filter(is_shown) {
                dt title=(field.doc) { (named(field)) }
                dd { (value(view, field)) }
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
fn value<'v>(view: &'v RecordView, field: &'static FieldDef) -> impl Renderable + 'v {
    let (def, record) = (view.def, &view.record);
    let target = target_of(field);
    let id = text(record, field.name);
    let is_name = |other: &&FieldDef| matches!(other.fill, Fill::NameOf(row) if row == field.name);
    let named = def.fields.iter().find(is_name).map(|name| text(record, name.name));
    let named = named.filter(|name| !name.is_empty()).unwrap_or(id);
    maud! {
        @if let Some(target) = target && !id.is_empty() {
            a href=(record_address(target.path, id)) { (named) }
        } @else {
            (cell(field, record, &view.base))
        }
    }
}

fn related<'v>(list: &'v RelatedList, base: &'v BaseCurrency) -> impl Renderable + 'v {
    let title = label_of(list.def.path);
    let table = maud! {
        table {
            thead { tr { @for column in &list.columns {
                th scope="col" class=[is_number(column).then_some("num")] { (label_of(column.name)) }
            } } }
            tbody {
                @for record in &list.records {
                    tr {
                        @for (at, column) in list.columns.iter().enumerate() {
                            @if at == 0 {
                                th scope="row" {
                                    a href=(record_address(list.def.path, text(record, "_id"))) {
                                        (title_or(column, record, base))
                                    }
                                }
                            } @else {
                                td class=[is_number(column).then_some("num")] { (cell(column, record, base)) }
                            }
                        }
                    }
                }
            }
        }
    };
    let label = title.clone();
    maud! {
        section {
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

fn title_or(column: &FieldDef, record: &Map<String, Value>, base: &BaseCurrency) -> String {
    let shown = text_in(column, record, base);
    if shown.is_empty() { text(record, "_id").to_owned() } else { shown }
}

/// Form that creates a record, or changes one that has an `_id`.
pub fn record_form(shell: &Shell, view: &RecordView) -> Page {
    let (def, id) = (view.def, text(&view.record, "_id"));
    let (named, action, back) = if id.is_empty() {
        let new = address("/app/records/{}/new", &[def.path], &[]);
        (
            format!("New {}", label_of(def.name).to_lowercase()),
            new,
            address("/app/records/{}", &[def.path], &[]),
        )
    } else {
        let edit = address("/app/records/{}/{}/edit", &[def.path, id], &[]);
        (title_of(def, &view.record), edit, record_address(def.path, id))
    };
    let title = named.as_str();
    let main = maud! {
        p.crumbs { a href=(back) { "Back" } }
        h1 { (title) }
        (problems(&view.problems))
        form.record method="post" action=(action) data-check=(def.path) {
            (csrf(shell))
            (hidden("shown", &shown(def, &view.record)))
            (hidden("version", &view.version))
            (hidden("once", &view.once))
            (inputs(def, &view.filled()))
            div.actions {
                button.main type="submit" { "Save" }
                a.button href=(back) { "Cancel" }
            }
        }
        (lists(&view.references))
        (checks())
    };
    page_with_form(layout(shell, title, main))
}

impl RecordView {
    fn filled(&self) -> FormValues<'_> {
        let Self { record, sent, problems, references, .. } = self;
        FormValues { record, sent, problems, references: Some(references), left_out: &[] }
    }
}

/// The script that checks a form.
pub(super) fn checks() -> impl Renderable {
    maud! { script type="module" src="/check.js" {} }
}

/// The record that a form shows, by which its check and the server know what was changed in it; empty for a new one.
pub(super) fn shown(def: &ResourceDef, record: &Map<String, Value>) -> String {
    let is_sent = |name: &str| def.field(name).is_some_and(FieldDef::is_sent);
    let sent: Map<String, Value> = record
        .iter()
        .filter(|(name, _)| is_sent(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    if record.is_empty() { String::new() } else { Value::Object(sent).to_string() }
}

/// A record of the API, for the rules.
pub fn document_of(record: &Map<String, Value>) -> Document {
    let text = serde_json::to_string(record).unwrap_or_default();
    JsonRef::of_stored(&text).to_document().unwrap_or_default()
}

/// Values of a form.
#[derive(Clone, Copy)]
pub(super) struct FormValues<'v> {
    pub(super) record: &'v Map<String, Value>,
    /// Values that were sent and not saved, by property.
    pub(super) sent: &'v [(String, String)],
    pub(super) problems: &'v [Problem],
    /// Names of the records that it refers to; none where it refers to none.
    pub(super) references: Option<&'v References>,
    /// Properties that are changed on another page.
    pub(super) left_out: &'static [&'static str],
}

/// A field for each property that can be sent.
///
/// Those that are written as JSON are for programs, and come last.
pub(super) fn inputs<'v>(
    def: &'static ResourceDef,
    filled: &FormValues<'v>,
) -> impl Renderable + 'v {
    let view = *filled;
    let is_here = |field: &&FieldDef| field.is_sent() && !view.left_out.contains(&field.name);
    let fields = def.fields.iter().filter(is_here);
    // Settings refer to no records and have few fields: all are shown.
    let is_last = |field: &&FieldDef| view.references.is_some() && is_code(field);
    let (coded, plain): (Vec<&FieldDef>, Vec<&FieldDef>) = fields.partition(is_last);
    let has_problem =
        |field: &&FieldDef| view.problems.iter().any(|problem| problem.field == field.name);
    let is_open = plain.is_empty() || coded.iter().any(has_problem);
    maud! {
        @for field in &plain { (input(view, field)) }
        @if !coded.is_empty() {
            details.coded open=[is_open.then_some("")] {
                summary { "More, for programs" }
                @for field in &coded { (input(view, field)) }
            }
        }
    }
}

/// Whether the values of a field are written as JSON.
fn is_code(field: &FieldDef) -> bool {
    matches!(field.kind, FieldKind::Object | FieldKind::Values | FieldKind::References)
}

/// Field of a form for a property: filled with the value that was sent, else with that of the record.
pub(super) fn input(view: FormValues<'_>, field: &'static FieldDef) -> impl Renderable {
    let name = field.name;
    let sent = view.sent.iter().find(|(sent, _)| sent == name).map(|(_, text)| text.clone());
    let stored = view.record.get(name).map(Value::to_string);
    let stored = stored.as_deref().map(JsonRef::of_stored);
    let value = sent.unwrap_or_else(|| form::filled(field, stored));
    let chosen = view.references.and_then(|it| it.known(target_of(field)));
    let value = match view.references {
        Some(references) if chosen.is_some() => references.named(&value).to_owned(),
        _ => value,
    };
    let problem = view.problems.iter().find(|problem| problem.field == name);
    let invalid = problem.map(|_| "true");
    let described =
        if problem.is_some() { format!("h-{name} p-{name}") } else { format!("h-{name}") };
    let required = field.required.then_some("");
    let currency = currency_of(field, view.record, &NO_BASE).to_owned();
    maud! {
        div.field {
            label for={ "f-" (name) } { (named(field)) @if field.required { " *" } }
            @if !field.values.is_empty() {
                select id={ "f-" (name) } name=(name) aria-invalid=[invalid] aria-describedby=(described) {
                    option value="" { "" }
                    @for known in field.values {
                        option value=(known) selected=[(*known == value).then_some("")] { (known) }
                    }
                }
            } @else if field.kind == FieldKind::Bool {
                select id={ "f-" (name) } name=(name) aria-invalid=[invalid] aria-describedby=(described) {
                    option value="" { "" }
                    option value="true" selected=[(value == "true").then_some("")] { "yes" }
                    option value="false" selected=[(value == "false").then_some("")] { "no" }
                }
            } @else if form::has_lines(field) {
                textarea id={ "f-" (name) } name=(name) rows="4" aria-invalid=[invalid] aria-describedby=(described) {
                    "\n" (value)
                }
            } @else {
                input id={ "f-" (name) } name=(name) value=(value) required=[required] aria-invalid=[invalid]
                    aria-describedby=(described) inputmode=[mode(field)] list=[chosen.map(list_id)]
                    data-suggest=[chosen] autocomplete="off";
            }
            p.help id={ "h-" (name) } {
                (prose(field.doc)) @if let Some(unit) = field.unit { " In " (unit) "." }
                @if !currency.is_empty() { " In " (currency) "." }
                @if chosen.is_some() { " Type a name, and choose a suggestion." } @else { (form_of(field)) }
            }
            @if let Some(problem) = problem { p.bad id={ "p-" (name) } { (problem.message) } }
        }
    }
}

pub(super) fn mode(field: &FieldDef) -> Option<&'static str> {
    match field.kind {
        FieldKind::Integer => Some("numeric"),
        FieldKind::Number => Some("decimal"),
        FieldKind::Email => Some("email"),
        _ => None,
    }
}

/// Written form of a value of a kind, where it is not plain.
fn form_of(field: &FieldDef) -> &'static str {
    match field.kind {
        FieldKind::Date => " A day such as 2026-01-31, or an instant.",
        FieldKind::Texts => " Separated by commas.",
        FieldKind::Object | FieldKind::Values | FieldKind::References => " As JSON.",
        FieldKind::Reference => " An id, extid-… or srcid-….",
        _ => "",
    }
}
