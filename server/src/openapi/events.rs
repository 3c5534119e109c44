//! The schemas of events that come by the many or from a pipeline, and of the report about them.

use serde_json::{Value, json};
use svctrack_core::{
    plan::Route,
    tracking::{
        bulk::MAX_COUNT,
        event::{MAX_MESSAGE_ID_BYTES, MEMBERS, Place, name},
    },
    value::json_rows::Envelope,
};

use super::{
    reference,
    schemas::{OBJECT_ID, TEXT, event, event_member},
    set,
};

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
        for member in MEMBERS.iter().filter(|member| member.place == Place::BulkRow) {
            let mut count = event_member(member);
            set(&mut count, "maximum", json!(MAX_COUNT));
            properties.insert(member.name.to_owned(), count);
        }
    }
    event
}

/// A call whose type is in its address.
pub(super) fn sdk_call() -> Value {
    let text = |description: &str| json!({ "type": ["string", "null"], "pattern": TEXT, "description": description });
    let id = |description: &str| json!({ "type": ["string", "number", "null"], "pattern": TEXT, "description": description });
    json!({
        "type": "object", "description": "A call of a customer-data pipeline or its SDK. `userId`, or an e-mail in `traits` or `context.traits`, identifies the user.",
        "properties": {
            "type": text("`identify`, `track`, `group`, `page` or `screen`, in any case; any other call is ignored, and reported."),
            "userId": id("The user's id in the caller's system."),
            "event": text("What was done."),
            "name": text("The page or screen that was viewed, of a `page` or `screen` call."),
            "groupId": id("Customer id in the caller's system, of a `group` call."),
            "properties": {
                "type": ["object", "null"], "description": "Extra data.",
                "propertyNames": { "pattern": TEXT }, "additionalProperties": true,
            },
            "traits": {
                "type": ["object", "null"], "description": "Who the user is; of a `group` call, who the company is.",
                "properties": {
                    "id": id("The user's id, where there is no `userId`."),
                    "email": text("E-mail of the user."),
                    "name": text("Full name of the user, or name of the company."),
                    "companyId": id("Customer id in the caller's system."),
                    "domain": text("Domain of the company's e-mail addresses."),
                },
            },
            "context": { "type": ["object", "null"], "additionalProperties": true, "description": "Its `traits` stand in for what `traits` lacks." },
            "timestamp": text("When it happened; the time of receipt when absent."),
            "messageId": { "type": ["string", "null"], "maxLength": MAX_MESSAGE_ID_BYTES, "description": "The sender's id of the call." },
        },
    })
}

/// A call that says its type itself.
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
        "type": "object", "description": "Calls in the envelope of an SDK.",
        "required": [Envelope::ROWS],
        "properties": {
            (Envelope::ROWS): { "type": "array", "items": reference("PipelineCall"), "description": "The calls." },
            "writeKey": { "type": "string", "pattern": TEXT, "description": "The tenant's UUID, where HTTP Basic does not name it." },
            "context": { "type": ["object", "null"], "additionalProperties": true, "description": "Stands in for what the `context` of a call lacks." },
            "sentAt": { "type": ["string", "null"], "pattern": TEXT, "description": "When it was sent; dates are not corrected by it." },
        },
    })
}

/// One call, or many.
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

pub(super) fn integration_issue() -> Value {
    let text = |description: &str| json!({ "type": "string", "description": description });
    json!({
        "type": "object", "required": ["_id"],
        "description": "What senders should fix. In a list, `select` can leave out all but `_id`.",
        "properties": {
            "_id": text("Its id."),
            "route": { "type": "string", "enum": Route::ALL.map(Route::name), "description": "How it came in." },
            "code": text("What it is, stable."),
            "message": text("What is wrong, and what would mend it."),
            "at": { "type": "string", "format": "date-time", "description": "When it was last seen." },
            "count": { "type": "integer", "description": "How often it was seen." },
            "sample": { "type": "object", "additionalProperties": true, "description": "What was sent, in short." },
        },
    })
}

/// What somebody did, as it is read back (R38).
pub(super) fn activity() -> Value {
    let id = |description: &str| json!({ "type": ["string", "null"], "pattern": OBJECT_ID, "description": description });
    let text =
        |description: &str| json!({ "type": ["string", "null"], "description": description });
    let time = |description: &str| json!({ "type": "string", "format": "date-time", "description": description });
    json!({
        "type": "object", "required": ["_id"],
        "description": "What an end user did. In a list, `select` can leave out all but `_id`.",
        "properties": {
            "_id": { "type": "string", "pattern": OBJECT_ID, "description": "Its id; ids ascend in the order of storing." },
            "companyId": id("The company of the user when it was stored."),
            "endUserId": id("The user."),
            "endUserName": text("The user's name now."),
            "email": text("The user's e-mail now."),
            "externalId": text("The user's `externalId` now."),
            "assetId": id("The asset, where one has the `externalId` that was sent."),
            "assetExtId": text("The `externalId` of the asset as it was sent."),
            "projectId": id("The project, where one has the `externalId` that was sent."),
            "projectExtId": text("The `externalId` of the project as it was sent."),
            "action": { "type": "string", "description": "What was done." },
            "info": { "type": ["object", "null"], "description": "Extra data, as it was sent.", "additionalProperties": true },
            "count": { "type": "integer", "minimum": 1, "maximum": MAX_COUNT, "description": "How often." },
            "weight": { "type": "number", "minimum": 0, "description": "How much it counts in `experience`." },
            "passive": { "type": "boolean", "description": "Whether it does not count as activity." },
            "date": time("When it happened."),
            "receivedAt": time("When it was received."),
            "route": { "type": "string", "enum": Route::ALL.map(Route::name), "description": "How it came in." },
            "messageId": text("The sender's id of the event."),
        },
    })
}

#[cfg(test)]
mod tests {
    use svctrack_core::{
        plan::Activity,
        tracking::activity,
        value::{ObjectId, Timestamp},
    };

    use super::*;

    #[test]
    fn an_activity_is_described_as_it_is_answered() {
        let activity = Activity {
            id: ObjectId::MIN,
            company_id: None,
            end_user_id: ObjectId::MIN,
            asset_id: None,
            asset: None,
            project_id: None,
            project: None,
            action: "x".to_owned(),
            info: None,
            count: 1,
            weight: 1.0,
            passive: false,
            date: Timestamp::MIN,
            received_at: Timestamp::MIN,
            route: Route::Realtime,
            message_id: None,
        };
        let answer = activity::answer(&activity, None);
        let mut answered: Vec<_> = answer.iter().map(|(name, _)| name.to_owned()).collect();
        answered.sort_unstable();
        let described = super::activity();
        let described: Vec<_> = described["properties"].as_object().unwrap().keys().collect();
        assert_eq!(answered.iter().collect::<Vec<_>>(), described);
    }
}
