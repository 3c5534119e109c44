//! Schemas of events, by route.

use serde_json::{Map, Value, json};
use svctrack_core::{
    tracking::{
        bulk::MAX_COUNT,
        event::{
            MAX_EVENT_BYTES, MAX_MESSAGE_ID_BYTES, MEMBERS, Member, MemberKind, MemberSource, name,
        },
    },
    value::json_rows::Envelope,
};

use super::{
    parts::{reference, set},
    patterns::TEXT,
};

/// Schema of a single event.
pub(super) fn event() -> Value {
    let members = MEMBERS.iter().filter(|member| member.place != MemberSource::BulkRow);
    let mut properties: Map<String, Value> =
        members.map(|member| (member.name.to_owned(), event_member(member))).collect();
    for (known, other) in [(name::ACTION, "event"), (name::INFO, "properties")] {
        let mut property = properties.get(known).cloned().unwrap_or_default();
        let doc = format!("Used as `{known}` if that is absent.");
        set(&mut property, "description", json!(doc));
        properties.insert(other.to_owned(), property);
    }
    json!({
        "type": "object",
        "description": format!("At most {MAX_EVENT_BYTES} bytes; `email` or `externalId` is required."),
        "properties": properties,
    })
}

/// Schema of a member of an event.
fn event_member(member: &Member) -> Value {
    let mut property = match member.kind {
        MemberKind::Id => json!({ "type": ["string", "number", "null"], "pattern": TEXT }),
        MemberKind::Text | MemberKind::Time => {
            json!({ "type": ["string", "null"], "pattern": TEXT })
        }
        MemberKind::Object => json!({
            "type": ["object", "null"],
            "propertyNames": { "pattern": TEXT }, "additionalProperties": true,
        }),
        MemberKind::Number => json!({ "type": ["number", "null"], "minimum": 0 }),
        MemberKind::Integer => json!({ "type": ["integer", "null"], "minimum": 0 }),
        MemberKind::Bool => json!({ "type": ["boolean", "null"] }),
    };
    set(&mut property, "description", json!(member.doc));
    if member.name == name::MESSAGE_ID {
        set(&mut property, "maxLength", json!(MAX_MESSAGE_ID_BYTES));
    }
    property
}

/// A row of a bulk call: an event with the route's own names, and a count.
pub(super) fn bulk_event() -> Value {
    let mut event = event();
    if let Some(properties) = event.get_mut("properties").and_then(Value::as_object_mut) {
        for (known, own) in [(name::EXTERNAL_ID, "euExtId"), (name::COMPANY, "cId")] {
            if let Some(property) = properties.remove(known) {
                properties.insert(own.to_owned(), property);
            }
        }
        properties.remove(name::SENT_AT);
        for member in MEMBERS.iter().filter(|member| member.place == MemberSource::BulkRow) {
            let mut count = event_member(member);
            set(&mut count, "maximum", json!(MAX_COUNT));
            properties.insert(member.name.to_owned(), count);
        }
    }
    event
}

/// Schema of a call whose type is in its address.
pub(super) fn sdk_call() -> Value {
    let text = |description: &str| json!({ "type": ["string", "null"], "pattern": TEXT, "description": description });
    let id = |description: &str| json!({ "type": ["string", "number", "null"], "pattern": TEXT, "description": description });
    json!({
        "type": "object", "description": "A call of a customer-data pipeline or its SDK. `userId`, or an e-mail in `traits` or `context.traits`, identifies the user.",
        "properties": {
            "type": text("`identify`, `track`, `group`, `page` or `screen`, in any case; any other call is ignored, and reported."),
            "userId": id("The user's id in the caller's system."),
            "event": text("Action of the user."),
            "name": text("Viewed page or screen, of a `page` or `screen` call."),
            "groupId": id("Customer id in the caller's system, of a `group` call."),
            "properties": {
                "type": ["object", "null"], "description": "Extra data.",
                "propertyNames": { "pattern": TEXT }, "additionalProperties": true,
            },
            "traits": {
                "type": ["object", "null"], "description": "Traits of the user; of a `group` call, of the company.",
                "properties": {
                    "id": id("The user's id, if there is no `userId`."),
                    "email": text("E-mail of the user."),
                    "name": text("Full name of the user, or name of the company."),
                    "companyId": id("Customer id in the caller's system."),
                    "domain": text("Domain of the company's e-mail addresses."),
                },
            },
            "context": { "type": ["object", "null"], "additionalProperties": true, "description": "Its `traits` are the defaults for `traits`." },
            "timestamp": text("When the event happened; default is the time of receipt."),
            "messageId": { "type": ["string", "null"], "maxLength": MAX_MESSAGE_ID_BYTES, "description": "The sender's id of the call." },
        },
    })
}

/// Schema of a call that has its type.
pub(super) fn pipeline_call() -> Value {
    let mut call = sdk_call();
    set(&mut call, "required", json!(["type"]));
    if let Some(kind) = call.pointer_mut("/properties/type") {
        set(kind, "type", json!("string"));
        set(kind, "minLength", json!(1));
    }
    call
}

/// Calls in the envelope of an SDK.
pub(super) fn pipeline_batch() -> Value {
    json!({
        "type": "object", "description": "Calls in an SDK's envelope.",
        "required": [Envelope::ROWS],
        "properties": {
            (Envelope::ROWS): { "type": "array", "items": reference("PipelineCall"), "description": "The calls." },
            "writeKey": { "type": "string", "pattern": TEXT, "description": "The tenant's UUID, if it is not sent by HTTP Basic." },
            "context": { "type": ["object", "null"], "additionalProperties": true, "description": "Default for the `context` of the calls." },
            "sentAt": { "type": ["string", "null"], "pattern": TEXT, "description": "When the request was sent; not used to correct dates." },
        },
    })
}

/// Body of a pipeline: one call, or several.
pub(super) fn pipeline_body() -> Value {
    json!({
        "description": "A call, an array of calls, or a batch.",
        "anyOf": [
            reference("PipelineCall"),
            { "title": "PipelineCalls", "type": "array", "items": reference("PipelineCall") },
            reference("PipelineBatch"),
        ],
    })
}
