//! Route 1, the real-time call: from the bytes of a body to an [`Event`] (R30, R32, R36, R45).

use std::borrow::Cow;

use super::{Event, Identity, event::name, script::given};
use crate::value::{Document, Issue, JsonRef, Malformed, Timestamp, issue::quoted};

/// How far a sender's clock may be off before its dates are corrected, in milliseconds; less than
/// this is the way through the network (R45).
pub const MAX_CLOCK_SKEW_MS: i64 = 5_000;

/// Spellings of members that senders use; the route's own name comes first and wins (R32).
const EXTERNAL_ID: &[&str] = &[name::EXTERNAL_ID, "euExtId", "userId", "user_id"];
const COMPANY: &[&str] = &[name::COMPANY, "cId", "companyId", "company_id"];
const DATE: &[&str] = &[name::DATE, "timestamp"];

/// Why a body is not an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It is not a JSON object.
    Malformed(Malformed),
    /// It is one, but it breaks a rule.
    Invalid(Vec<Issue>),
}

/// Reads the body of a real-time call that was received at `received_at`.
///
/// # Errors
/// [`Unreadable`], with every problem found.
pub fn read(body: &[u8], received_at: Timestamp) -> Result<Event, Unreadable> {
    let document = Document::parse(body).map_err(Unreadable::Malformed)?;
    let mut reader = Reader { document: &document, issues: Vec::new() };
    let event = reader.event(received_at);
    let mut issues = reader.issues;
    issues.extend(event.faults().map(|fault| match fault.member() {
        Some(member) => Issue::of_member(member, fault.code(), fault.message()),
        None => Issue::of_body(fault.code(), fault.message()),
    }));
    if issues.is_empty() { Ok(event) } else { Err(Unreadable::Invalid(issues)) }
}

struct Reader<'a> {
    document: &'a Document,
    issues: Vec<Issue>,
}

impl<'a> Reader<'a> {
    fn event(&mut self, received_at: Timestamp) -> Event {
        Event {
            identity: Identity {
                external_id: self.text(EXTERNAL_ID),
                email: self.text(&[name::EMAIL]),
                name: self.text(&[name::NAME]).or_else(|| self.joined_name()),
                company: self.text(COMPANY),
                asset: self.text(&[name::ASSET]),
                project: self.text(&[name::PROJECT]),
            },
            action: self.text(&[name::ACTION]),
            info: self.info(),
            passive: self.typed(name::PASSIVE, "true or false", JsonRef::as_bool).unwrap_or(false),
            weight: self
                .typed(name::WEIGHT, "a number", |value| value.as_number_text()?.parse().ok()),
            date: self.date(received_at),
            message_id: self.text(&[name::MESSAGE_ID]),
        }
    }

    /// The first of the spellings that is there and not blank, as text.
    fn text(&mut self, spellings: &[&'static str]) -> Option<String> {
        spellings.iter().find_map(|member| {
            let text =
                self.typed(member, "a string", |value| value.as_str().map(Cow::into_owned))?;
            given(text)
        })
    }

    fn joined_name(&mut self) -> Option<String> {
        let parts = [self.text(&["firstName"]), self.text(&["lastName"])];
        let name = parts.into_iter().flatten().collect::<Vec<_>>().join(" ");
        (!name.is_empty()).then_some(name)
    }

    fn info(&mut self) -> Option<String> {
        let object = |value: JsonRef<'_>| value.is_object().then(|| value.text().to_owned());
        self.typed(name::INFO, "an object", object)
    }

    fn typed<T>(
        &mut self,
        member: &'static str,
        expected: &str,
        read: impl Fn(JsonRef<'a>) -> Option<T>,
    ) -> Option<T> {
        let value = self.document.value(member)?;
        self.read(member, value, expected, read)
    }

    fn read<T>(
        &mut self,
        member: &'static str,
        value: JsonRef<'a>,
        expected: &str,
        read: impl Fn(JsonRef<'a>) -> Option<T>,
    ) -> Option<T> {
        let found = read(value);
        if found.is_none() {
            let message = format!("`{member}` must be {expected}; found {}", quoted(value.text()));
            self.issues.push(Issue::of_member(member, "wrong_type", message));
        }
        found
    }

    /// The event's date, moved by the difference of the sender's clock and ours (R45).
    fn date(&mut self, received_at: Timestamp) -> Option<Timestamp> {
        let sent_at = self.time(&[name::SENT_AT]).unwrap_or(received_at);
        let date = self.time(DATE)?;
        let skew_ms = received_at.as_ms() - sent_at.as_ms();
        let off = skew_ms.abs() > MAX_CLOCK_SKEW_MS;
        Some(if off { Timestamp::from_ms_clamped(date.as_ms() + skew_ms) } else { date })
    }

    /// The first of the spellings that is there and not blank, as a point in time.
    fn time(&mut self, spellings: &[&'static str]) -> Option<Timestamp> {
        let text = self.text(spellings)?;
        let time = Timestamp::parse(&text);
        if time.is_none() {
            let member = spellings.first().copied().unwrap_or_default();
            let message = format!("`{member}` must be an ISO 8601 date; found {}", quoted(&text));
            self.issues.push(Issue::of_member(member, "wrong_type", message));
        }
        time
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(body: &str) -> Event {
        read(body.as_bytes(), Timestamp::parse("2026-11-20T12:00:00Z").unwrap()).unwrap()
    }

    fn check_refused(body: &str, expect: &[(&str, &str)]) {
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
    fn every_problem_is_named() {
        check_refused("{}", &[("", "identity_missing")]);
        check_refused(
            r#"{"email":5,"externalId":"7","info":[],"passive":"yes","weight":"1","date":"x"}"#,
            &[
                ("/email", "wrong_type"),
                ("/info", "wrong_type"),
                ("/passive", "wrong_type"),
                ("/weight", "wrong_type"),
                ("/date", "wrong_type"),
            ],
        );
        check_refused(r#"{"externalId":"7","weight":-1}"#, &[("/weight", "weight_invalid")]);
    }

    #[test]
    fn a_wrong_clock_is_corrected() {
        let at = |text| Timestamp::parse(text);
        let body = |sent_at| {
            format!(r#"{{"email":"a@b","date":"2026-11-20T10:59:59Z","sentAt":"{sent_at}"}}"#)
        };
        assert_eq!(event(&body("2026-11-20T11:00:00Z")).date, at("2026-11-20T11:59:59Z"));
        assert_eq!(event(&body("2026-11-20T11:59:56Z")).date, at("2026-11-20T10:59:59Z"));
    }
}
