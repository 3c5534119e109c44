//! Values of records in tables and on their pages: texts of their kinds, amounts with their currency, and references by
//! the name of the record, which links to it.

use hypertext::prelude::*;
use serde_json::{Map, Number, Value};
use svctrack_core::{
    resources::{company::MRR_BY_CURRENCY, settings::BaseCurrency, timesheet::EPOCH_DAYS},
    schema::{CurrencyOf, FieldDef, FieldKind, Fill, ResourceDef},
    value::{ValidationError, counted},
};

use super::{
    format::{day, day_text, decimals_of, epoch_day, fixed, grouped, needed_decimals},
    parts::{badge, folded, members},
    record::text,
    references::{References, target_of},
    shell::{Shell, record_address},
};

/// Name of the property with the issues of a record.
const ISSUES: &str = "issues";
/// Maximum number of decimals of a number in a table that is no amount.
const MAX_DECIMALS: usize = 4;

/// What the cells of a table of records need besides the records.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecordCells<'v> {
    pub(super) shell: &'v Shell,
    pub(super) def: &'static ResourceDef,
    pub(super) base: &'v BaseCurrency,
    /// Names of the records that columns refer to.
    pub(super) references: &'v References,
}

impl<'v> RecordCells<'v> {
    /// Text of a property: of a reference, the name of the record.
    pub(super) fn text(&self, field: &FieldDef, record: &Map<String, Value>) -> String {
        match target_of(field) {
            Some(_) => self.references.named(text(record, field.name)).to_owned(),
            None => text_in(field, record, self.base),
        }
    }

    /// Decimals of the numbers of a column, which line up: those of cents, or those that one of the numbers needs.
    pub(super) fn decimals(&self, field: &FieldDef, records: &[Map<String, Value>]) -> usize {
        let numbers = records.iter().filter_map(|record| record.get(field.name)?.as_number());
        match field.currency {
            _ if !is_number(field) => 0,
            Some(_) => decimals_of(numbers.filter_map(Number::as_f64)),
            None => {
                let needed = numbers.map(|number| needed_decimals(&number.to_string())).max();
                needed.unwrap_or_default().min(MAX_DECIMALS)
            }
        }
    }

    /// A value of a record; the name of another record links to it, and a number has the decimals of its column.
    pub(super) fn cell(
        self,
        field: &'static FieldDef,
        record: &'v Map<String, Value>,
        decimals: usize,
    ) -> impl Renderable + 'v {
        let path = self.path(field, record);
        let number = record.get(field.name).and_then(Value::as_f64);
        let number =
            number.filter(|_| is_number(field) && (decimals > 0 || field.currency.is_some()));
        maud! {
            @if let Some(path) = &path {
                a href=(path) { (self.text(field, record)) }
            } @else if has_issues(field) {
                (issues(record.get(field.name)))
            } @else if let Some(number) = number {
                (with_currency(currency_of(field, record, self.base), &fixed(number, decimals)))
            } @else {
                (cell(field, record, self.base))
            }
        }
    }

    /// Address of the record that a value names.
    fn path(&self, field: &FieldDef, record: &Map<String, Value>) -> Option<String> {
        let reference = match field.fill {
            Fill::NameOf(name) => self.def.field(name)?,
            _ => field,
        };
        let (target, id) = (target_of(reference)?, text(record, reference.name));
        let shown = self.text(field, record);
        let is_named = !shown.is_empty() && shown != id;
        let is_linked = is_named && self.shell.reads(target.path);
        is_linked.then(|| record_address(target.path, id))
    }
}

/// Whether a property has the issues of a record: what is missing or contradictory in it.
pub(super) fn has_issues(field: &FieldDef) -> bool {
    field.has_objects() && field.name == ISSUES
}

/// The issues of a record in a table: their number, which opens them.
fn issues(value: Option<&Value>) -> impl Renderable {
    let found: Vec<String> =
        value.and_then(Value::as_array).into_iter().flatten().map(plain).collect();
    maud! {
        @if !found.is_empty() {
            details.issues {
                summary { span.badge.warn { (counted(found.len(), "issue")) } }
                ul { @for message in &found { li { (message) } } }
            }
        }
    }
}

pub(super) fn is_number(field: &FieldDef) -> bool {
    matches!(field.kind, FieldKind::Number | FieldKind::Integer) && field.unit != Some(EPOCH_DAYS)
}

/// A value of a record. An object of the tenant's own data is folded, as it may be long.
pub(super) fn cell<'r>(
    column: &FieldDef,
    record: &'r Map<String, Value>,
    base: &BaseCurrency,
) -> impl Renderable + 'r {
    let shown = text_in(column, record, base);
    let date =
        record.get(column.name).and_then(Value::as_str).filter(|_| column.kind == FieldKind::Date);
    let object = record.get(column.name).and_then(Value::as_object);
    let is_own = column.is_sent();
    let is_state = !column.values.is_empty() && !shown.is_empty();
    maud! {
        @if let Some(object) = object {
            @if is_own { (folded(object)) } @else { (members(object)) }
        } @else if let Some(date) = date { (day(date)) } @else if is_state { (badge(&shown)) } @else { (shown) }
    }
}

/// Text of a property of a record; an amount with its currency.
pub(super) fn text_in(
    field: &FieldDef,
    record: &Map<String, Value>,
    base: &BaseCurrency,
) -> String {
    let shown = text_of(field, record.get(field.name));
    let currency = currency_of(field, record, base);
    // One decimal is no amount: `2,773.5` is `2,773.50`.
    let has_one = shown.split_once('.').is_some_and(|(_, decimals)| decimals.len() == 1);
    match has_one && !currency.is_empty() {
        true => with_currency(currency, &[&shown, "0"].concat()),
        false => with_currency(currency, &shown),
    }
}

fn with_currency(currency: &str, shown: &str) -> String {
    match currency.is_empty() || shown.is_empty() {
        true => shown.to_owned(),
        false => format!("{currency} {shown}"),
    }
}

/// Currency of an amount of a record; empty where it has none, and for all other values.
pub(super) fn currency_of<'r>(
    field: &FieldDef,
    record: &'r Map<String, Value>,
    base: &'r BaseCurrency,
) -> &'r str {
    match field.currency {
        None => "",
        Some(CurrencyOf::Field(name)) => {
            record.get(name).and_then(Value::as_str).unwrap_or_default()
        }
        Some(CurrencyOf::Base) => {
            let amounts = record.get(MRR_BY_CURRENCY.name).and_then(Value::as_object);
            base.of_total(amounts.into_iter().flat_map(Map::keys).map(String::as_str))
        }
    }
}

pub(super) fn text_of(field: &FieldDef, value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => String::new(),
        Some(Value::Bool(true)) => "yes".to_owned(),
        Some(Value::Bool(false)) => "no".to_owned(),
        Some(Value::Number(number)) if field.unit == Some(EPOCH_DAYS) => {
            number.as_i64().map(epoch_day).unwrap_or_default()
        }
        Some(Value::Number(number)) if is_number(field) => grouped(&number.to_string()),
        Some(Value::String(text)) if field.kind == FieldKind::Date => day_text(text),
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(items)) => {
            let each: Vec<String> = items.iter().map(plain).collect();
            each.join(if items.iter().any(Value::is_object) { "; " } else { ", " })
        }
        Some(other) => plain(other),
    }
}

/// A text as it is, an issue of a record by its message, and any other value as JSON.
fn plain(value: &Value) -> String {
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    match (text("field"), text("message")) {
        (Some(field), Some(message)) => {
            ValidationError::of_member(field, "", message).plain_message()
        }
        _ => value.as_str().map_or_else(|| value.to_string(), str::to_owned),
    }
}
