//! Parameters of lists of records, activities and logs, and the `Idempotency-Key`.

use serde_json::{Map, Value, json};
use svctrack_core::{
    audit,
    plan::Route,
    resources::company::COMPANY,
    schema::{
        FieldDef, FieldKind, ListLimits, ResourceDef,
        filter::OPERATORS,
        list::{COMPANY_NAMES, MAX_SEARCH_CHARS},
    },
    tracking::{
        activity_query::ActivityOrder,
        list_fields::{ACTIVITY, ENTRY},
    },
};

use super::{
    parts::parameter,
    patterns::{OBJECT_ID, YEAR},
};
use crate::limits::{
    DEFAULT_LISTED_REJECTED_ROWS, MAX_IDEMPOTENCY_KEY_BYTES, MAX_LISTED_REJECTED_ROWS,
};

fn limit(limits: ListLimits) -> Value {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": limits.max, "default": limits.default });
    parameter("limit", "Maximum number of records.", schema)
}

/// The parameters of a list of records.
pub(super) fn list_parameters(def: &ResourceDef, limits: ListLimits) -> Vec<Value> {
    let names: Vec<&str> = def.fields.iter().map(|field| field.name).collect();
    // An empty parameter has no effect.
    let sort = format!("^$|^-?({}|custom\\..+)$", names.join("|"));
    let mut parameters = vec![
        limit(limits),
        parameter(
            "offset",
            "Number of records to skip.",
            json!({ "type": "integer", "minimum": 0 }),
        ),
        after("Only records after this `_id`; works without `sort`, or with `sort` by `_id`."),
        parameter(
            "sort",
            "Property to sort by; a leading `-` reverses the order.",
            json!({ "type": "string", "pattern": sort }),
        ),
        select(),
        time("updatedSince", "Only records changed at or after this time."),
        count(),
    ];
    if !def.searched.is_empty() {
        let names: Vec<_> = def.searched.iter().map(|name| format!("`{name}`")).collect();
        let description =
            format!("Only records whose {} contains this text, ignoring case.", names.join(" or "));
        let schema = json!({ "type": "string", "maxLength": MAX_SEARCH_CHARS });
        parameters.push(parameter("search", &description, schema));
    }
    parameters.extend(filter_parameters(def));
    parameters.push(operators(def.fields));
    parameters
}

/// Every property is a filter, and some have short names (R27, R49).
fn filter_parameters(def: &ResourceDef) -> Vec<Value> {
    let fields = def.fields.iter().filter(|field| field.kind != FieldKind::Object);
    let filters = fields.map(|field| {
        let (takes, schema) = match field.has_objects() {
            true => (
                "`null` returns only records without a value; search with `[contains]`, or use `[exists]`.",
                only_null(),
            ),
            false => (
                "Only records with one of these values, separated by commas.",
                json!({ "type": "string" }),
            ),
        };
        parameter(field.name, &format!("{takes} {}", field.doc), schema)
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

/// Schema of the only value that an array of objects is compared with.
fn only_null() -> Value {
    json!({ "type": "string", "enum": ["null"] })
}

fn company_field(def: &ResourceDef) -> Option<&'static str> {
    let field = if *def == COMPANY { "_id" } else { "companyId" };
    def.field(field).map(|field| field.name)
}

/// Operators of arrays of objects, after those of other properties.
const OF_OBJECTS: &str = " An array of objects takes only `null`, `[exists]`, `[ne]=null`, and `[contains]`, which looks at its JSON.";

/// Conditions other than equality, described once for all properties: each member is a parameter of its own.
fn operators(fields: &[FieldDef]) -> Value {
    let names = |is: fn(&FieldDef) -> bool| {
        let names = fields.iter().filter(|field| is(field)).map(|field| field.name);
        names.collect::<Vec<_>>().join("|")
    };
    let numbers = names(|field| matches!(field.kind, FieldKind::Integer | FieldKind::Number));
    let dates = names(|field| field.kind == FieldKind::Date);
    let texts = names(|field| {
        matches!(field.kind, FieldKind::Key | FieldKind::Email | FieldKind::Text | FieldKind::Texts)
            || (field.kind == FieldKind::Values && !field.has_objects())
    });
    let arrays_of_objects = names(FieldDef::has_objects);
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
    describe(&arrays_of_objects, "contains", json!({ "type": "string" }));
    describe(&arrays_of_objects, "ne", only_null());
    let compared = names(|field| field.kind != FieldKind::Object && !field.has_objects());
    describe(&compared, "ne", json!({ "type": "string" }));
    let objects = names(|field| field.kind == FieldKind::Object);
    if !objects.is_empty() {
        let any = OPERATORS.join("|");
        let below = format!("^({objects})\\.[^\\[\\]]+(\\[({any})\\])?$");
        patterns.insert(below, json!({ "type": "string" }));
    }
    let of_objects = if arrays_of_objects.is_empty() { "" } else { OF_OBJECTS };
    let description = format!(
        "Further filters, each a separate parameter; a record must match all of them. Operators are `name[gte]`, \
        `[gt]`, `[lte]`, `[lt]`; `[ne]`, none of these values; `[exists]`, `true` or `false`; `[contains]` and \
        `[prefix]`, ignoring case.{of_objects} Keys of free-form objects are filters too, such as `custom.x`. \
        Several values are separated by commas, and `\\,` is a literal comma; `null` matches a missing value.{}",
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
    let last = || fields.iter().rev().find(|field| field.kind == FieldKind::Date);
    let date = fields.iter().find(|field| field.name == "renewalDate").or_else(last);
    date.map_or_else(String::new, |date| {
        format!(" For example, `{0}[gte]=2026-12-01&{0}[lt]=2027-01-01`.", date.name)
    })
}

fn select() -> Value {
    let description = "Properties to return, separated by commas.";
    parameter("select", description, json!({ "type": "string" }))
}

/// Effect of `count=true`.
const TOTAL: &str = "If true, the header `Svctrack-Total` has the number of records on all pages.";

fn count() -> Value {
    parameter("count", TOTAL, json!({ "type": "boolean" }))
}

/// Parameter `count` of a list whose entries have a property `count`.
fn count_or_filter() -> Value {
    let description =
        format!("{TOTAL} Numbers or `null`, separated by commas, filter by the property `count`.");
    parameter("count", &description, json!({ "type": ["boolean", "integer", "string"] }))
}

fn time(name: &str, description: &str) -> Value {
    let schema = json!({ "type": "string", "format": "date-time", "pattern": YEAR });
    parameter(name, description, schema)
}

fn after(description: &str) -> Value {
    parameter("after", description, json!({ "type": "string", "pattern": OBJECT_ID }))
}

fn activity_filters() -> Vec<Value> {
    let text = || json!({ "type": "string" });
    vec![
        parameter(
            "companyId",
            "Only activities of these companies, separated by commas, each in a form of a path; also `cId` and `c`.",
            text(),
        ),
        parameter(
            "endUserId",
            "Only activities of these end users, separated by commas, each in a form of a path.",
            text(),
        ),
        parameter("action", "Only these actions, separated by commas.", text()),
        time("from", "Only entries at or after this time."),
        time("to", "Only entries before this time."),
        parameter("passive", "`true` returns only passive events, `false` only others.", text()),
    ]
}

pub(super) fn import_parameters() -> Vec<Value> {
    let text = || json!({ "type": "string" });
    let flag = json!({ "type": "boolean", "default": false });
    let most = json!({
        "type": "integer", "minimum": 0, "maximum": MAX_LISTED_REJECTED_ROWS, "default": DEFAULT_LISTED_REJECTED_ROWS,
    });
    vec![
        parameter("dryRun", "If true, rows are checked and nothing is stored.", flag.clone()),
        parameter("ids", "If true, the response has the `_id` of each row's record.", flag),
        parameter(
            "separator",
            "Separator of cells, one character or `tab`; detected from the first line by default.",
            text(),
        ),
        parameter(
            "map",
            "Maps a column to a property, such as `Company name=name`; `Company name=` skips the column. Can be repeated.",
            text(),
        ),
        parameter(
            "refusals",
            "Maximum number of rejected rows in the response, up to 2 MiB of text.",
            most,
        ),
    ]
}

pub(super) fn script_parameters() -> Vec<Value> {
    let flag = json!({ "type": "boolean", "default": false });
    vec![
        parameter(
            "tenant",
            "UUID of the tenant whose snippet is returned.",
            json!({ "type": "string" }),
        ),
        parameter(
            "pinned",
            "If true, the snippet loads only this version, checked by its hash.",
            flag,
        ),
    ]
}

pub(super) fn activity_parameters() -> Vec<Value> {
    let sort = "`-_id` (newest stored first), or `-date`, which needs a filter by one end user or one company.";
    let mut parameters = activity_filters();
    parameters.extend([
        parameter(
            "sort",
            sort,
            json!({ "type": "string", "enum": ActivityOrder::NAMES, "default": "-_id" }),
        ),
        limit(ACTIVITY.list),
        after("`_id` of the last entry of the previous page."),
        select(),
        count_or_filter(),
        operators(ACTIVITY.fields),
    ]);
    parameters
}

pub(super) fn stream_parameters() -> Vec<Value> {
    let mut parameters = activity_filters();
    parameters.push(after(
        "Starts after the activity with this `_id`; `Last-Event-ID` takes precedence.",
    ));
    parameters
}

pub(super) fn report_parameters() -> Vec<Value> {
    vec![
        parameter(
            "route",
            &format!("Only these routes, separated by commas: `{}`.", Route::NAMES.join("`, `")),
            json!({ "type": "string" }),
        ),
        parameter("code", "Only these codes, separated by commas.", json!({ "type": "string" })),
        time("from", "Only entries at or after this time."),
        limit(ENTRY.list),
        after("`_id` of the last entry of the previous page."),
        select(),
        count_or_filter(),
        operators(ENTRY.fields),
    ]
}

pub(super) fn audit_parameters() -> Vec<Value> {
    let text =
        |name: &str, description: &str| parameter(name, description, json!({ "type": "string" }));
    vec![
        text("resource", "Only entries about these resources, as in paths, separated by commas."),
        text(
            "id",
            "Only entries of these ids, separated by commas: actions on them, and calls that changed these records, bulk calls included. With the `resource` of records, in any form of a path.",
        ),
        text("tokenId", "Only entries of this token and its sessions."),
        text("action", "Only these actions, separated by commas."),
        time("from", "Only entries at or after this time."),
        time("to", "Only entries before this time."),
        limit(audit::ENTRY.list),
        after("`_id` of the last entry of the previous page."),
        select(),
        count_or_filter(),
        operators(audit::ENTRY.fields),
    ]
}

/// Key under which a call can be sent again (R16, R31).
pub(super) fn idempotency_key() -> Value {
    json!({
        "name": "Idempotency-Key", "in": "header",
        "description": "A retry with the same key and body has no further effect.",
        "schema": { "type": "string", "minLength": 1, "maxLength": MAX_IDEMPOTENCY_KEY_BYTES },
    })
}

#[cfg(test)]
mod tests {
    use svctrack_core::resources::license::LICENSE;

    use super::*;

    #[test]
    fn an_array_of_objects_is_described_with_what_its_filter_takes() {
        let parameters = list_parameters(&LICENSE, LICENSE.list);
        let named = |name: &str| parameters.iter().find(|it| it["name"] == name).unwrap();
        let issues = named("issues");
        assert_eq!(issues["schema"], json!({ "type": "string", "enum": ["null"] }));
        let description = issues["description"].as_str().unwrap();
        assert!(description.starts_with("`null` returns only records without a value; "));
        let others = &named("filter")["schema"]["patternProperties"];
        let described = |pattern: &str| others.get(pattern).cloned();
        assert_eq!(described("^(issues)\\[(contains)\\]$"), Some(json!({ "type": "string" })));
        assert_eq!(described("^(issues)\\[(ne)\\]$"), Some(only_null()));
        let others = others.as_object().unwrap().keys();
        let mut ordered =
            others.filter(|pattern| pattern.contains("gte") && !pattern.contains("custom"));
        assert!(ordered.all(|pattern| !pattern.contains("issues")));
    }
}
