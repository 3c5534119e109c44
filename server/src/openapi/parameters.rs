//! The parameters of lists: of records, and of what is read of events; and the key under which many events can be sent
//! again.

use serde_json::{Map, Value, json};
use svctrack_core::{
    audit,
    plan::Route,
    resources::company::COMPANY,
    schema::{
        FieldDef, Kind, ListLimits, ResourceDef,
        filter::OPERATORS,
        list::{COMPANY_NAMES, MAX_SEARCH_CHARS},
    },
    tracking::{
        activity::ActivityOrder,
        listed::{ACTIVITY, ENTRY},
    },
};

use super::{
    parts::parameter,
    patterns::{OBJECT_ID, YEAR},
};
use crate::limits::{DEFAULT_REFUSALS, MAX_IDEMPOTENCY_KEY_BYTES, MAX_REFUSALS};

fn limit(limits: ListLimits) -> Value {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": limits.max, "default": limits.default });
    parameter("limit", "How many at the most.", schema)
}

/// The parameters of a list of records.
pub(super) fn list_parameters(def: &ResourceDef, limits: ListLimits) -> Vec<Value> {
    let names: Vec<&str> = def.fields.iter().map(|field| field.name).collect();
    // An empty one asks for nothing.
    let sort = format!("^$|^-?({}|custom\\..+)$", names.join("|"));
    let mut parameters = vec![
        limit(limits),
        parameter(
            "offset",
            "How many records to skip.",
            json!({ "type": "integer", "minimum": 0 }),
        ),
        after("Only records after this `_id`; without `sort`, or sorted by `_id`."),
        parameter(
            "sort",
            "A property; `-` in front reverses the order.",
            json!({ "type": "string", "pattern": sort }),
        ),
        select(),
        time("updatedSince", "Only records changed since."),
        count(),
    ];
    if !def.searched.is_empty() {
        let names: Vec<_> = def.searched.iter().map(|name| format!("`{name}`")).collect();
        let description =
            format!("Only records whose {} contains this text, in any case.", names.join(" or "));
        let schema = json!({ "type": "string", "maxLength": MAX_SEARCH_CHARS });
        parameters.push(parameter("search", &description, schema));
    }
    parameters.extend(filter_parameters(def));
    parameters.push(operators(def.fields));
    parameters
}

/// Every property is a filter, and some have short names (R27, R49).
fn filter_parameters(def: &ResourceDef) -> Vec<Value> {
    let fields = def.fields.iter().filter(|field| field.kind != Kind::Object);
    let filters = fields.map(|field| {
        let description = format!(
            "Only records with one of these values, separated by commas. {}",
            field.doc.trim()
        );
        parameter(field.name, &description, json!({ "type": "string" }))
    });
    let same = |short: &str, long: &str| {
        parameter(short, &format!("The same as `{long}`."), json!({ "type": "string" }))
    };
    let short = def.short_names.iter().map(|(short, long)| same(short, long));
    let company = company_field(def).into_iter().flat_map(|field| {
        COMPANY_NAMES.into_iter().filter(move |name| *name != field).map(move |name| (name, field))
    });
    filters.chain(short).chain(company.map(|(name, field)| same(name, field))).collect()
}

fn company_field(def: &ResourceDef) -> Option<&'static str> {
    let field = if *def == COMPANY { "_id" } else { "companyId" };
    def.field(field).map(|field| field.name)
}

/// Conditions other than equality, said once for all properties: each member is a parameter of its own.
fn operators(fields: &[FieldDef]) -> Value {
    let names = |is: fn(&FieldDef) -> bool| {
        let names = fields.iter().filter(|field| is(field)).map(|field| field.name);
        names.collect::<Vec<_>>().join("|")
    };
    let numbers = names(|field| matches!(field.kind, Kind::Integer | Kind::Number));
    let dates = names(|field| field.kind == Kind::Date);
    let texts =
        names(|field| matches!(field.kind, Kind::Key | Kind::Email | Kind::Text | Kind::Texts));
    let mut patterns = Map::new();
    let mut describe = |names: &str, operators: &str, schema: Value| {
        if !names.is_empty() {
            patterns.insert(format!("^({names})\\[({operators})\\]$"), schema);
        }
    };
    let sides = "gte|gt|lte|lt";
    describe(&numbers, sides, json!({ "type": "number" }));
    describe(&dates, sides, json!({ "type": "string", "format": "date-time", "pattern": YEAR }));
    describe(&texts, &format!("{sides}|contains|prefix"), json!({ "type": "string" }));
    describe(&names(|_| true), "exists", json!({ "type": "boolean" }));
    describe(&names(|field| field.kind != Kind::Object), "ne", json!({ "type": "string" }));
    let objects = names(|field| field.kind == Kind::Object);
    if !objects.is_empty() {
        let any = OPERATORS.join("|");
        let below = format!("^({objects})\\.[^\\[\\]]+(\\[({any})\\])?$");
        patterns.insert(below, json!({ "type": "string" }));
    }
    let description = format!(
        "Conditions on properties, each a parameter of its own, and all of them together: \
        `name[gte]`, `[gt]`, `[lte]`, `[lt]`; `[ne]`, none of these values; `[exists]`, `true` or `false`; \
        `[contains]` and `[prefix]`, in any case; and values below a free-form object, as in `custom.x`. \
        Several values of equality and `[ne]` are separated by commas, `\\,` is a comma; `null` is no value.{}",
        example(fields)
    );
    json!({
        "name": "filter", "in": "query", "style": "form", "explode": true, "description": description,
        "schema": {
            "type": "object", "patternProperties": patterns, "additionalProperties": false,
        },
        // A page that tries a call fills in this value.
        "example": {},
    })
}

/// A range over a date, as a caller writes it.
fn example(fields: &[FieldDef]) -> String {
    let last = || fields.iter().rev().find(|field| field.kind == Kind::Date);
    let date = fields.iter().find(|field| field.name == "renewalDate").or_else(last);
    date.map_or_else(String::new, |date| {
        format!(" For example, `{0}[gte]=2026-12-01&{0}[lt]=2027-01-01`.", date.name)
    })
}

fn select() -> Value {
    let description = "Properties to return, separated by commas.";
    parameter("select", description, json!({ "type": "string" }))
}

/// What `count=true` does.
const TOTAL: &str = "Whether `Svctrack-Total` returns the number of records on all pages.";

fn count() -> Value {
    parameter("count", TOTAL, json!({ "type": "boolean" }))
}

/// The same of a list whose entries have a `count`.
fn count_or_filter() -> Value {
    let description =
        format!("{TOTAL} A whole number is a filter: only entries with this `count`.");
    parameter("count", &description, json!({ "type": ["boolean", "integer"] }))
}

fn time(name: &str, description: &str) -> Value {
    let schema = json!({ "type": "string", "format": "date-time", "pattern": YEAR });
    parameter(name, description, schema)
}

fn after(description: &str) -> Value {
    parameter("after", description, json!({ "type": "string", "pattern": OBJECT_ID }))
}

/// By what activities are filtered.
fn activity_filters() -> Vec<Value> {
    let text = || json!({ "type": "string" });
    vec![
        parameter(
            "companyId",
            "Only of these companies, separated by commas, each as in a path; also `cId` and `c`.",
            text(),
        ),
        parameter("endUserId", "Only of this end user, as in a path.", text()),
        parameter("action", "Only with one of these actions, separated by commas.", text()),
        time("from", "Only what happened at this time or later."),
        time("to", "Only what happened before this time."),
        parameter(
            "passive",
            "Only passive events, or none of these.",
            json!({ "type": "boolean" }),
        ),
    ]
}

pub(super) fn import_parameters() -> Vec<Value> {
    let text = || json!({ "type": "string" });
    let flag = json!({ "type": "boolean", "default": false });
    let most = json!({
        "type": "integer", "minimum": 0, "maximum": MAX_REFUSALS, "default": DEFAULT_REFUSALS,
    });
    vec![
        parameter(
            "dryRun",
            "Whether rows are only validated, and nothing is stored.",
            flag.clone(),
        ),
        parameter("ids", "Whether the response has the `_id` of each row's record.", flag),
        parameter(
            "separator",
            "What separates cells, one character or `tab`; else the first line shows it.",
            text(),
        ),
        parameter(
            "map",
            "What the head of a column stands for, such as `Company name=name`; nothing after `=` leaves the column out. Can be given several times.",
            text(),
        ),
        parameter(
            "refusals",
            "How many rejected rows the response lists at most, within 2 MiB of text.",
            most,
        ),
    ]
}

pub(super) fn script_parameters() -> Vec<Value> {
    let flag = json!({ "type": "boolean", "default": false });
    vec![
        parameter("tenant", "UUID of the tenant whose snippet it is.", json!({ "type": "string" })),
        parameter("pinned", "Let the snippet load this version alone, checked by its hash.", flag),
    ]
}

pub(super) fn activity_parameters() -> Vec<Value> {
    let sort = "`-_id`, newest stored first, or `-date`, of one end user or one company only.";
    let mut parameters = activity_filters();
    parameters.extend([
        parameter(
            "sort",
            sort,
            json!({ "type": "string", "enum": ActivityOrder::NAMES, "default": "-_id" }),
        ),
        limit(ACTIVITY.list),
        after("Only those behind the one with this `_id`, the last of the page before."),
        select(),
        count_or_filter(),
        operators(ACTIVITY.fields),
    ]);
    parameters
}

pub(super) fn stream_parameters() -> Vec<Value> {
    let mut parameters = activity_filters();
    parameters
        .push(after("Start after the activity with this `_id`; `Last-Event-ID` takes precedence."));
    parameters
}

pub(super) fn report_parameters() -> Vec<Value> {
    vec![
        parameter(
            "route",
            &format!(
                "Only from these sources, separated by commas: `{}`.",
                Route::NAMES.join("`, `")
            ),
            json!({ "type": "string" }),
        ),
        parameter(
            "code",
            "Only with one of these codes, separated by commas.",
            json!({ "type": "string" }),
        ),
        time("from", "Only what was seen at this time or later."),
        limit(ENTRY.list),
        after("Only those behind the one with this `_id`, the last of the page before."),
        select(),
        count_or_filter(),
        operators(ENTRY.fields),
    ]
}

pub(super) fn audit_parameters() -> Vec<Value> {
    let text =
        |name: &str, description: &str| parameter(name, description, json!({ "type": "string" }));
    vec![
        text("resource", "Only about this resource, as in paths."),
        text(
            "id",
            "Only about what has this id; with `resource`, a record in any form that a path takes.",
        ),
        text("tokenId", "Only by this token, or by its sessions."),
        text("action", "Only these actions, separated by commas."),
        time("from", "Only what happened at this time or later."),
        time("to", "Only what happened before this time."),
        limit(audit::ENTRY.list),
        after("Only those behind the one with this `_id`, the last of the page before."),
        select(),
        count_or_filter(),
        operators(audit::ENTRY.fields),
    ]
}

/// The key under which a call can be sent again (R16, R31).
pub(super) fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key", "in": "header",
        "description": "A call that is sent again with its key and the same body has its effect once.",
        "schema": { "type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY_BYTES },
    })
}
