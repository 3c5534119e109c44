//! Responses for activities (R38) and parked events, and which activities are retained;
//! [`activity_query`](super::activity_query) has the query of a list.

use super::event::{Event, name};
use crate::{
    plan::{Activity, ParkedEvent},
    resources::{company, end_user, settings::activity_retention_days},
    value::{Document, Json, Number, ObjectId, Timestamp, member::SelectedMembers, time::DAY_MS},
};

/// Id of the first activity that is still retained (`activityRetentionDays`), unless all are: earlier activities were
/// stored longer ago than the tenant's settings allow.
pub fn first_kept(settings: &Document, now: Timestamp) -> Option<ObjectId> {
    let days = activity_retention_days(settings)?;
    let since = now.as_ms().saturating_sub(days.saturating_mul(DAY_MS));
    Some(ObjectId::first_at(Timestamp::from_ms_clamped(since)))
}

/// Properties of the user that the response for an activity has, from the text of the record as it is stored.
pub fn of_user(stored: &[u8]) -> Document {
    let fields = [end_user::EXTERNAL_ID.name, end_user::NAME.name, end_user::EMAIL.name];
    SelectedMembers::find(stored, fields).to_document()
}

/// Properties of the company that the response for an activity has, from the text of the record as it is stored.
pub fn of_company(stored: &[u8]) -> Document {
    SelectedMembers::find(stored, [company::NAME.name]).to_document()
}

/// Response for an activity: names and e-mail are those that the user and the company have now (R38, R51).
pub fn to_response(
    activity: &Activity,
    user: Option<&Document>,
    company: Option<&Document>,
) -> Document {
    let mut response = Document::default();
    let id = |id: ObjectId| Json::string(&id.to_string());
    let text = |text: &Option<String>| text.as_deref().map_or_else(Json::null, Json::string);
    let value_of = |record: Option<&Document>, field: &str| {
        record
            .and_then(|record| record.value(field))
            .map_or_else(Json::null, |value| value.to_json())
    };
    let info = activity.info.as_deref().and_then(|info| Json::parse(info.as_bytes()).ok());
    response.set("_id", id(activity.id));
    response.set("companyId", activity.company_id.map_or_else(Json::null, id));
    response.set("companyName", value_of(company, company::NAME.name));
    response.set("endUserId", id(activity.end_user_id));
    response.set("endUserName", value_of(user, end_user::NAME.name));
    response.set("email", value_of(user, end_user::EMAIL.name));
    response.set("externalId", value_of(user, end_user::EXTERNAL_ID.name));
    response.set("assetId", activity.asset_id.map_or_else(Json::null, id));
    response.set("assetExtId", text(&activity.asset));
    response.set("projectId", activity.project_id.map_or_else(Json::null, id));
    response.set("projectExtId", text(&activity.project));
    response.set("action", Json::string(&activity.action));
    response.set("info", info.unwrap_or_else(Json::null));
    response.set("count", Json::integer(activity.count.into()));
    response.set("weight", weight(activity.weight));
    response.set("passive", Json::bool(activity.passive));
    response.set("date", Json::string(&activity.date.to_string()));
    response.set("receivedAt", Json::string(&activity.received_at.to_string()));
    response.set("route", Json::string(activity.route.name()));
    response.set("messageId", text(&activity.message_id));
    response
}

/// Response for a parked event (R35), as it was sent.
pub fn parked_response(parked: &ParkedEvent) -> Document {
    let mut response = Document::default();
    response.set("_id", Json::string(&parked.id.to_string()));
    response.set("code", Json::string(&parked.code));
    response.set("receivedAt", Json::string(&parked.received_at.to_string()));
    response.set("route", Json::string(parked.route.name()));
    let Ok(event) = serde_json::from_str::<Event>(&parked.event) else { return response };
    let texts = [
        (name::ACTION, event.action.as_deref()),
        (name::MESSAGE_ID, event.message_id.as_deref()),
        (name::DATE, event.date.map(|date| date.to_string()).as_deref()),
    ]
    .map(|(name, text)| (name, text.map(str::to_owned)));
    let members = event.identity.members().into_iter();
    let members = members.map(|(name, value)| (name, value.map(str::to_owned)));
    for (name, value) in members.chain(texts) {
        if let Some(value) = value {
            response.set(name, Json::string(&value));
        }
    }
    let info = event.info.and_then(|info| Json::parse(info.as_bytes()).ok());
    response.set(name::INFO, info.unwrap_or_else(Json::null));
    response
}

/// The shortest text of a weight; a weight beyond the range of amounts is a float.
fn weight(weight: f64) -> Json {
    let text = weight.to_string();
    match Number::parse(&text) {
        Some(number) => Json::number(number),
        None => Json::parse(text.as_bytes()).unwrap_or_else(|_| Json::null()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::{
        plan::Route,
        tracking::{Identity, event::PipelineCall},
    };

    pub(in crate::tracking) const ID: &str = "6553f1000102030405000001";
    pub(in crate::tracking) const OTHER: &str = "6553f1000102030405000002";

    pub(in crate::tracking) fn id(text: &str) -> ObjectId {
        ObjectId::parse(text).unwrap()
    }

    pub(in crate::tracking) fn at(text: &str) -> Timestamp {
        Timestamp::parse(text).unwrap()
    }

    pub(in crate::tracking) fn sample() -> Activity {
        Activity {
            id: id(ID),
            company_id: Some(id(ID)),
            end_user_id: id(OTHER),
            action: "Login".to_owned(),
            asset: None,
            project: None,
            info: None,
            count: 1,
            weight: 1.0,
            passive: false,
            date: at("2026-11-20"),
            received_at: at("2026-11-20"),
            route: Route::Bulk,
            message_id: None,
            asset_id: None,
            project_id: None,
        }
    }

    #[test]
    fn what_is_shown_of_user_and_company_is_picked_from_the_stored_text() {
        let stored =
            br#"{"_id":"1","name":"Ada","email":"ada@acme.example","externalId":"a","phone":"1"}"#;
        let user = of_user(stored);
        let shown = ["name", "email", "externalId", "phone"];
        let shown = shown.map(|name| user.text(name).map(std::borrow::Cow::into_owned));
        let expect = [Some("Ada"), Some("ada@acme.example"), Some("a"), None];
        assert_eq!(shown, expect.map(|text| text.map(str::to_owned)));
        let company = of_company(stored);
        assert_eq!(company.text("name").as_deref(), Some("Ada"));
        assert_eq!(company.text("email"), None);
    }

    #[test]
    fn activities_are_retained_for_the_days_that_are_set() {
        let now = at("2026-11-20T12:00:00Z");
        let set = Document::parse(br#"{"activityRetentionDays":10}"#).unwrap();
        let first = ObjectId::first_at(at("2026-11-10T12:00:00Z"));
        assert_eq!(first_kept(&set, now), Some(first));
        assert_eq!(first_kept(&Document::default(), now), None);
    }

    #[test]
    fn an_event_that_waits_is_shown_as_it_was_sent() {
        let event = Event {
            group: None,
            identity: Identity { external_id: Some("7".to_owned()), ..Identity::default() },
            action: Some("Login".to_owned()),
            info: Some(r#"{"n":1.10}"#.to_owned()),
            passive: false,
            weight: None,
            count: None,
            date: Some(at("2026-11-19")),
            message_id: Some("m".to_owned()),
            call: PipelineCall::Event,
        };
        let parked = ParkedEvent {
            id: id(ID),
            code: "user_unknown".to_owned(),
            received_at: at("2026-11-20"),
            route: Route::Realtime,
            event: serde_json::to_string(&event).unwrap(),
            waits: Vec::new(),
        };
        assert_eq!(
            parked_response(&parked).to_text(),
            format!(
                r#"{{"_id":"{ID}","code":"user_unknown","receivedAt":"2026-11-20T00:00:00.000Z","route":"realtime","externalId":"7","action":"Login","messageId":"m","date":"2026-11-19T00:00:00.000Z","info":{{"n":1.10}}}}"#
            )
        );
    }

    #[test]
    fn a_weight_is_shown_as_it_was_sent() {
        for (sent, shown) in [(1.0, "1"), (0.25, "0.25"), (1e300, "1e300")] {
            let shown: f64 = shown.parse().unwrap();
            assert_eq!(weight(sent).as_ref().text().parse::<f64>().ok(), Some(shown));
        }
    }
}
