//! Route 1, the real-time call: from the bytes of a body to an [`Event`] (R30, R32, R36, R45, R48).

use super::{
    clock_skew::corrected_date,
    event::{Event, Identity, PipelineCall, name},
    reader::{
        ABOUT, ACTION, DATE, FIRST_NAME, INFO, IdentityPlaces, LAST_NAME, MemberPlace,
        MemberReader, ReadEvent, Unreadable, joined_name,
    },
};
use crate::value::{Document, Timestamp};

/// The route's own names take precedence (R32).
const EXTERNAL_ID: &[&str] = &[name::EXTERNAL_ID, "euExtId", "userId", "user_id"];
const COMPANY: &[&str] = &[name::COMPANY, "cId", "companyId", "company_id"];
const PLACES: IdentityPlaces = IdentityPlaces {
    external_id: MemberPlace::new("", name::EXTERNAL_ID),
    email: MemberPlace::new("", name::EMAIL),
    company: MemberPlace::new("", name::COMPANY),
};

/// Reads the body of a real-time call that was received at `received_at`.
///
/// # Errors
/// [`Unreadable`], with every problem found.
pub fn read(body: &[u8], received_at: Timestamp) -> Result<ReadEvent, Unreadable> {
    let document = Document::parse(body).map_err(Unreadable::Malformed)?;
    let mut reader = MemberReader::new(&document);
    let mut places = PLACES;
    let event = Event {
        group: None,
        identity: Identity {
            external_id: reader.id_at(EXTERNAL_ID, &mut places.external_id),
            email: reader.text(&[name::EMAIL]),
            name: joined_name(&mut reader),
            company: reader.id_at(COMPANY, &mut places.company),
            asset: reader.id(&[name::ASSET]),
            project: reader.id(&[name::PROJECT]),
        },
        action: reader.text(ACTION),
        info: reader.object(INFO),
        passive: reader.passive(),
        weight: reader.weight(),
        count: None,
        date: corrected_date(&mut reader, received_at),
        message_id: reader.text(&[name::MESSAGE_ID]),
        call: PipelineCall::Event,
    };
    // The script sends asset and project with an `identify` too, as with every later event.
    let of_script = if document.value(name::SENT_AT).is_some() { ABOUT } else { &[] };
    let spellings = [EXTERNAL_ID, COMPANY, FIRST_NAME, LAST_NAME, DATE, of_script];
    let unread = reader.unread_of(&event, &spellings);
    reader.finish(event, &places, unread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracking::event::{MEMBERS, MemberKind, MemberSource};

    fn event(body: &str) -> Event {
        read(body.as_bytes(), Timestamp::parse("2026-11-20T12:00:00Z").unwrap()).unwrap().event
    }

    fn check_rejected(body: &str, expect: &[(&str, &str)]) {
        let Err(Unreadable::Invalid(issues)) = read(body.as_bytes(), Timestamp::MIN) else {
            panic!("{body} was read");
        };
        let found: Vec<_> =
            issues.iter().map(|issue| (issue.pointer.as_str(), issue.code)).collect();
        assert_eq!(found, expect, "{body}");
    }

    #[test]
    fn every_field_of_the_route_is_read() {
        let found = event(
            r#"{"name":"Ada Lovelace","email":"ada@example.com","externalId":"7","companyExternalId":"c",
                "action":"Opened report","assetExtId":"a","projectExtId":"p","info":{"n":1.10},
                "passive":true,"weight":2.5,"date":"2026-11-20","messageId":"m"}"#,
        );
        assert_eq!(found.identity.name.as_deref(), Some("Ada Lovelace"));
        assert_eq!(found.identity.company.as_deref(), Some("c"));
        assert_eq!(
            (found.identity.asset.as_deref(), found.identity.project.as_deref()),
            (Some("a"), Some("p"))
        );
        assert_eq!(found.action.as_deref(), Some("Opened report"));
        assert_eq!(found.info.as_deref(), Some(r#"{"n":1.10}"#));
        assert_eq!((found.passive, found.weight), (true, Some(2.5)));
        assert_eq!(found.date, Timestamp::parse("2026-11-20"));
        assert_eq!(found.message_id.as_deref(), Some("m"));
    }

    #[test]
    fn the_routes_own_spelling_wins() {
        assert_eq!(
            event(r#"{"userId":"1","externalId":"2"}"#).identity.external_id.as_deref(),
            Some("2")
        );
        let blank = event(r#"{"user_id":"1","externalId":" "}"#);
        assert_eq!(blank.identity.external_id.as_deref(), Some("1"));
        assert_eq!(
            event(r#"{"email":"a@b","company_id":"c"}"#).identity.company.as_deref(),
            Some("c")
        );
        let joined = event(r#"{"email":"a@b","firstName":"Ada","lastName":"Lovelace"}"#);
        assert_eq!(joined.identity.name.as_deref(), Some("Ada Lovelace"));
    }

    #[test]
    fn what_other_senders_call_action_and_info_is_understood() {
        let found = event(r#"{"externalId":123,"event":"x","properties":{"a":1}}"#);
        assert_eq!(found.identity.external_id.as_deref(), Some("123"));
        assert_eq!(
            (found.action.as_deref(), found.info.as_deref()),
            (Some("x"), Some(r#"{"a":1}"#))
        );
        let both = r#"{"email":"a@b","action":"own","event":"x","info":{},"properties":{"a":1},"timestamp":null}"#;
        let both = read(both.as_bytes(), Timestamp::MIN).unwrap();
        assert_eq!(both.event.action.as_deref(), Some("own"));
        assert_eq!(both.event.info.as_deref(), Some("{}"));
        assert_eq!(both.unread, ["event", "properties"]);
    }

    #[test]
    fn every_member_of_the_route_is_read() {
        let members = MEMBERS.iter().filter(|member| member.place != MemberSource::BulkRow);
        let value = |kind| match kind {
            MemberKind::Id | MemberKind::Text => r#""a@b""#,
            MemberKind::Object => "{}",
            MemberKind::Number | MemberKind::Integer => "1",
            MemberKind::Bool => "true",
            MemberKind::Time => r#""2026-11-20""#,
        };
        let members: Vec<String> =
            members.map(|member| format!(r#""{}":{}"#, member.name, value(member.kind))).collect();
        let body = format!("{{{},\"count\":2}}", members.join(","));
        assert_eq!(read(body.as_bytes(), Timestamp::MIN).unwrap().unread, ["count"]);
    }

    #[test]
    fn every_problem_is_named() {
        check_rejected("{}", &[("", "identity_missing")]);
        check_rejected(
            r#"{"email":5,"externalId":"7","info":[],"passive":"yes","weight":"1","date":"x"}"#,
            &[
                ("/email", "wrong_type"),
                ("/info", "wrong_type"),
                ("/passive", "wrong_type"),
                ("/weight", "wrong_type"),
                ("/date", "wrong_type"),
            ],
        );
        check_rejected(r#"{"externalId":"7","weight":-1}"#, &[("/weight", "weight_invalid")]);
    }

    #[test]
    fn a_wrong_clock_is_corrected() {
        let at = |text| Timestamp::parse(text);
        let body = |sent_at| {
            format!(r#"{{"email":"a@b","date":"2026-11-20T10:59:59Z","sentAt":"{sent_at}"}}"#)
        };
        assert_eq!(event(&body("2026-11-20T11:00:00Z")).date, at("2026-11-20T11:59:59Z"));
        assert_eq!(event(&body("2026-11-20T11:59:55Z")).date, at("2026-11-20T10:59:59Z"));
        assert_eq!(event(&body("2026-11-20T11:59:54.999Z")).date, at("2026-11-20T11:00:04.001Z"));
    }
}
