//! Form that creates or changes a record. The fields of the resource define it, so that a new field is edited without a
//! line here.

use hypertext::prelude::*;
use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::BaseCurrency,
    schema::{FieldDef, FieldKind, ResourceDef, form},
    value::{Day, Document, JsonRef},
};

use super::{
    address::address,
    format::label_of,
    page_with_form,
    parts::{Problem, problems, prose},
    record::{RecordView, named, text, title_of},
    record_cells::currency_of,
    references::{References, list_id, lists, target_of},
    shell::{Shell, csrf, hidden, layout, record_address},
};
use crate::page::Page;

/// Amounts in the base currency are computed, and have no input.
const NO_BASE: BaseCurrency = BaseCurrency { code: String::new(), has_rates: true };

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
        FormValues {
            record,
            sent,
            problems,
            references: Some(references),
            required: &[],
            left_out: &[],
        }
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
    /// Properties that this form needs, and the resource does not.
    pub(super) required: &'static [&'static str],
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
    // Settings refer to no records, and have few fields: all are shown.
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
    let is_required = field.required || view.required.contains(&name);
    let required = is_required.then_some("");
    // A point in time stays as it is stored.
    let is_day =
        field.kind == FieldKind::Date && (value.is_empty() || Day::parse(&value).is_some());
    let currency = currency_of(field, view.record, &NO_BASE).to_owned();
    maud! {
        div.field {
            label for={ "f-" (name) } { (named(field)) @if is_required { " *" } }
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
            } @else if is_day {
                input id={ "f-" (name) } type="date" name=(name) value=(value) required=[required] aria-invalid=[invalid]
                    aria-describedby=(described);
            } @else {
                input id={ "f-" (name) } name=(name) value=(value) required=[required] aria-invalid=[invalid]
                    aria-describedby=(described) inputmode=[mode(field)] list=[chosen.map(list_id)]
                    data-suggest=[chosen] autocomplete="off";
            }
            p.help id={ "h-" (name) } {
                (prose(field.doc)) @if let Some(unit) = field.unit { " In " (unit) "." }
                @if !currency.is_empty() { " In " (currency) "." }
                @if chosen.is_some() { " Type a name, and choose a suggestion." } @else if !is_day { (form_of(field)) }
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
