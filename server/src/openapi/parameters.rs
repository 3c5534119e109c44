//! The parameters of what is read of events: activities, their stream, and the report; and the key under
//! which many events can be sent again.

use serde_json::{Value, json};
use svctrack_core::{
    plan::Route,
    schema::ListLimits,
    tracking::{
        activity::{self, ActivityOrder},
        report,
    },
};

use super::{
    parameter,
    schemas::{OBJECT_ID, RECORD_REF, YEAR},
};
use crate::limits::{DEFAULT_REFUSALS, MAX_IDEMPOTENCY_KEY_BYTES, MAX_REFUSALS};

/// References to records, separated by commas (R2).
const REFERENCES: &str = concat!(
    r"^([0-9a-f]{24}|(extid|srcid)-[^,\x00-\x1f\x7f-\x9f]{1,512})",
    r"(,([0-9a-f]{24}|(extid|srcid)-[^,\x00-\x1f\x7f-\x9f]{1,512}))*$",
);

fn limit(limits: ListLimits) -> Value {
    let schema = json!({ "type": "integer", "minimum": 1, "maximum": limits.max, "default": limits.default });
    parameter("limit", "How many at the most.", schema)
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
    let text = |pattern: &str| json!({ "type": "string", "pattern": pattern });
    vec![
        parameter("companyId", "Only of these companies, separated by commas.", text(REFERENCES)),
        parameter("endUserId", "Only of this end user.", text(RECORD_REF)),
        parameter("action", "Only with this action.", json!({ "type": "string" })),
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
        parameter("dryRun", "Whether rows are only judged, and nothing is stored.", flag),
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
        parameter("refusals", "How many refused rows the response lists at the most.", most),
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
        limit(activity::LIST),
        after("Only those behind the one with this `_id`, the last of the page before."),
    ]);
    parameters
}

pub(super) fn stream_parameters() -> Vec<Value> {
    let mut parameters = activity_filters();
    parameters.push(after("From behind the one with this `_id` on; `Last-Event-ID` goes before."));
    parameters
}

pub(super) fn report_parameters() -> Vec<Value> {
    vec![
        parameter(
            "route",
            "Only of this way in.",
            json!({ "type": "string", "enum": Route::ALL.map(Route::name) }),
        ),
        parameter("code", "Only with this code.", json!({ "type": "string" })),
        time("from", "Only what was seen at this time or later."),
        limit(report::LIST),
        after("Only those behind the one with this `_id`, the last of the page before."),
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
