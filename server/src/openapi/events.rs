//! The schemas of events that come by the many or from a pipeline, and of the report about them.

use serde_json::{Value, json};
use svctrack_core::{
    plan::Route,
    tracking::{
        bulk::MAX_COUNT,
        event::{MAX_MESSAGE_ID_BYTES, name},
    },
};

use super::{
    reference,
    schemas::{TEXT, event},
};

/// A row of a bulk call: an event with the route's own names, and a count.
pub(super) fn bulk_event() -> Value {
    let mut event = event();
    let count = json!({
        "type": ["integer", "null"], "minimum": 0, "maximum": MAX_COUNT,
        "description": "How often it happened; what is out of range counts as 1.",
    });
    if let Some(properties) = event.get_mut("properties").and_then(Value::as_object_mut) {
        for (known, own) in [(name::EXTERNAL_ID, "euExtId"), (name::COMPANY, "cId")] {
            if let Some(property) = properties.remove(known) {
                properties.insert(own.to_owned(), property);
            }
        }
        properties.remove(name::SENT_AT);
        properties.insert(name::COUNT.to_owned(), count);
    }
    event
}

pub(super) fn pipeline_call() -> Value {
    let text = |description: &str| json!({ "type": ["string", "null"], "pattern": TEXT, "description": description });
    json!({
        "type": "object",
        "properties": {
            "type": text("`identify` or `track`, in any case; any other call is ignored."),
            "userId": text("The user's id in the caller's system."),
            "event": text("What was done."),
            "properties": {
                "type": ["object", "null"], "description": "Extra data.",
                "propertyNames": { "pattern": TEXT }, "additionalProperties": reference("Value"),
            },
            "traits": {
                "type": ["object", "null"], "description": "Who the user is.",
                "properties": {
                    "id": text("The user's id, where there is no `userId`."),
                    "email": text("E-mail of the user."),
                    "name": text("Full name of the user."),
                    "companyId": text("Customer id in the caller's system."),
                },
            },
            "context": { "type": ["object", "null"], "description": "Its `traits` stand in for what `traits` lacks." },
            "timestamp": text("When it happened; the time of receipt when absent."),
            "messageId": { "type": ["string", "null"], "maxLength": MAX_MESSAGE_ID_BYTES, "description": "The sender's id of the call." },
        },
    })
}

pub(super) fn integration_issue() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object",
        "properties": {
            "_id": text("Its id."),
            "route": { "enum": Route::ALL.map(Route::name), "description": "How it came in." },
            "code": text("What it is, stable."),
            "message": text("What is wrong, and what would mend it."),
            "at": { "type": "string", "format": "date-time", "description": "When it was last seen." },
            "count": { "type": "integer", "description": "How often it was seen." },
            "sample": { "type": "object", "description": "What was sent, in short." },
        },
    })
}
