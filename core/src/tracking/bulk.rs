//! Route 4, the bulk call: from a row of an array to an [`Event`] (R31, R32, R36, R48).

use super::{
    event::{Event, Identity, MAX_EVENT_BYTES, PipelineCall, name},
    reader::{
        ACTION, DATE, FIRST_NAME, INFO, IdentityPlaces, LAST_NAME, MemberPlace, MemberReader,
        ReadEvent, Unreadable, joined_name,
    },
};
use crate::value::{Document, JsonRef, ValidationError, json_rows::JsonRow};

/// The largest body of a bulk call, in bytes after decoding: about 150,000 rows (R30).
pub const MAX_BODY_BYTES: usize = 32 * 1024 * 1024;
/// Maximum number of rows in one commit (R31).
pub const MAX_ROWS_PER_COMMIT: usize = 2_000;
/// The greatest `count` of a row (R36).
pub const MAX_COUNT: u16 = 300;

/// The route's own names take precedence (R32).
const EXTERNAL_ID: &[&str] = &["euExtId", name::EXTERNAL_ID, "userId", "user_id"];
const COMPANY: &[&str] = &["cId", name::COMPANY, "companyId", "company_id"];
/// The time of the call: it does not correct dates in bulk, which stay as they are (R45).
const NOT_CORRECTED: &[&str] = &[name::SENT_AT];
const PLACES: IdentityPlaces = IdentityPlaces {
    external_id: MemberPlace::new("", "euExtId"),
    email: MemberPlace::new("", name::EMAIL),
    company: MemberPlace::new("", "cId"),
};

/// Reads a row of a bulk call.
///
/// # Errors
/// [`Unreadable`], with every problem found.
pub fn read(row: JsonRow) -> Result<ReadEvent, Unreadable> {
    check_size(row.bytes)?;
    read_members(&row.members.map_err(Unreadable::Malformed)?)
}

/// Checks the size of an event: its limit is that of a single event (R30).
pub(super) fn check_size(bytes: usize) -> Result<(), Unreadable> {
    if bytes <= MAX_EVENT_BYTES {
        return Ok(());
    }
    let message = format!("an event must be at most {MAX_EVENT_BYTES} bytes");
    Err(Unreadable::Invalid(vec![ValidationError::of_body("event_too_large", message)]))
}

fn read_members(row: &Document) -> Result<ReadEvent, Unreadable> {
    let mut reader = MemberReader::new(row);
    let email = reader.text(&[name::EMAIL]);
    let mut places = PLACES;
    let mut external_id = reader.id_at(EXTERNAL_ID, &mut places.external_id);
    if external_id.is_none() && email.is_none() {
        external_id = reader.id_at(&["id"], &mut places.external_id);
    }
    let event = Event {
        group: None,
        identity: Identity {
            external_id,
            email,
            name: joined_name(&mut reader),
            company: reader.id_at(COMPANY, &mut places.company),
            asset: reader.id(&[name::ASSET]),
            project: reader.id(&[name::PROJECT]),
        },
        action: reader.text(ACTION),
        info: reader.object(INFO),
        passive: reader.passive(),
        weight: reader.weight(),
        count: reader.count(read_count),
        date: reader.date(),
        message_id: reader.text(&[name::MESSAGE_ID]),
        call: PipelineCall::Event,
    };
    let spellings = [EXTERNAL_ID, COMPANY, FIRST_NAME, LAST_NAME, DATE, NOT_CORRECTED];
    let unread = reader.unread_of(&event, &spellings);
    let sent = row.value(name::COUNT);
    let has_other_count = sent.is_some_and(|sent| count_of(sent).is_none());
    reader.finish(event, &places, unread).map(|taken| ReadEvent { has_other_count, ..taken })
}

/// Reads a `count`; a value that is not a whole number from 0 to [`MAX_COUNT`] counts as 1 (rule 7, R36).
fn read_count(sent: JsonRef<'_>) -> u16 {
    count_of(sent).unwrap_or(1)
}

fn count_of(sent: JsonRef<'_>) -> Option<u16> {
    let count: f64 = sent.as_number_text()?.parse().ok()?;
    let allowed = 0.0..=f64::from(MAX_COUNT);
    (count.fract() == 0.0 && allowed.contains(&count)).then_some(count as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Timestamp, json_rows::JsonRows};

    fn take(body: &str) -> Result<ReadEvent, Unreadable> {
        read(JsonRows::check(body.as_bytes()).unwrap().next().unwrap())
    }

    fn only(row: &str) -> Result<Event, Unreadable> {
        let body = format!("[{row}]");
        take(&body).map(|taken| taken.event)
    }

    #[test]
    fn every_field_of_the_route_is_read() {
        let found = only(
            r#"{"name":"Ada Lovelace","email":"ada@example.com","euExtId":"7","cId":"c","date":"2026-11-20",
                "action":"Login","assetExtId":"a","projectExtId":"p","count":3,"passive":true,"weight":2.5}"#,
        )
        .unwrap();
        let who = &found.identity;
        assert_eq!((who.external_id.as_deref(), who.company.as_deref()), (Some("7"), Some("c")));
        assert_eq!((who.asset.as_deref(), who.project.as_deref()), (Some("a"), Some("p")));
        assert_eq!((found.count, found.passive, found.weight), (Some(3), true, Some(2.5)));
        assert_eq!(found.date, Timestamp::parse("2026-11-20"));
    }

    #[test]
    fn the_routes_own_spelling_wins_and_id_comes_last() {
        let id = |row: &str| only(row).unwrap().identity.external_id;
        assert_eq!(id(r#"{"externalId":"1","euExtId":"2"}"#).as_deref(), Some("2"));
        assert_eq!(id(r#"{"id":"1","user_id":"2"}"#).as_deref(), Some("2"));
        assert_eq!(id(r#"{"id":"1"}"#).as_deref(), Some("1"));
        assert_eq!(id(r#"{"id":"1","email":"a@b"}"#), None);
    }

    #[test]
    fn a_count_out_of_range_is_one() {
        let count =
            |sent: &str| only(&format!(r#"{{"euExtId":"7","count":{sent}}}"#)).unwrap().count;
        for (sent, read) in [
            ("0", 0),
            ("300", 300),
            ("301", 1),
            ("-1", 1),
            ("1.5", 1),
            ("2.0", 2),
            ("1e2", 100),
            ("\"5\"", 1),
        ] {
            assert_eq!(count(sent), Some(read), "{sent}");
            let is_told = take(&format!(r#"[{{"euExtId":"7","count":{sent}}}]"#)).unwrap();
            assert_eq!(is_told.has_other_count, read == 1, "{sent}");
        }
        assert_eq!(count("null"), None);
    }

    #[test]
    fn what_nobody_reads_is_named() {
        let row =
            r#"{"euExtId":7,"userId":"8","action":"x","count":"2","sentAt":"x","plan":1,"id":"9"}"#;
        let taken = take(&format!("[{row}]")).unwrap();
        assert_eq!(taken.unread, ["plan", "id"]);
        assert_eq!(taken.event.identity.external_id.as_deref(), Some("7"));
    }

    #[test]
    fn a_problem_is_reported_with_the_names_of_the_route() {
        let Err(Unreadable::Invalid(issues)) = only(r#"{"cId":"a\u0001"}"#) else { panic!() };
        let found: Vec<_> = issues.iter().map(|issue| issue.pointer.as_str()).collect();
        assert_eq!(found, ["", "/cId"]);
        assert!(issues[0].message.contains("`euExtId`") && issues[1].message.contains("`cId`"));
    }

    #[test]
    fn a_bulk_call_has_32_mib_at_the_most() {
        assert_eq!(MAX_BODY_BYTES, 33_554_432);
    }

    #[test]
    fn a_row_is_no_larger_than_an_event_alone() {
        let row =
            format!(r#"{{"euExtId":"7","info":{{"a":"{0}","b":"{0}"}}}}"#, "x".repeat(40_000));
        assert_eq!(only(&row).unwrap_err().into_issue().code, "event_too_large");
        assert!(check_size(MAX_EVENT_BYTES).is_ok() && check_size(MAX_EVENT_BYTES + 1).is_err());
    }
}
