//! Route 3 and the routes of SDKs, calls of a customer-data pipeline: from JSON to an [`Event`] (rules 4 and 5, R32,
//! R33, R47). Pipelines correct wrong clocks themselves, so dates are not changed (R45).

use std::borrow::Cow;

use super::{
    bulk::check_size,
    event::{Event, GroupCall, PipelineCall, name},
    pipeline_identity::{
        COMPANY, EXTERNAL_ID, GROUP, PLACES, TRAITS_EXTERNAL_ID, USER_TRAITS, add_own,
        group_of_context, read_company_trait, read_identity,
    },
    reader::{ABOUT, IdentityPlaces, MemberReader, ReadEvent, Unreadable},
    script::given,
};
use crate::value::{
    Document, Malformed, email,
    json_rows::{Envelope, JsonRow},
    quoted::MAX_QUOTED_CHARS,
};

/// The route's own names take precedence (R32, R33).
const TIME: &[&str] = &["timestamp", name::DATE, "originalTimestamp"];
/// What is known about the circumstances of a call, or of all calls of an envelope.
pub const CONTEXT: &str = "context";
/// The domain of a company's e-mail addresses, among the traits of a `group` call.
pub(super) const DOMAIN: &str = "domain";

/// Members that SDKs and pipelines add to each call, about the call and not about the activity: senders do not know of
/// them, so that they are not reported as unread (R48).
const ENVELOPE: &[&str] = &[
    "_metadata",
    "anonymousId",
    "channel",
    CONTEXT,
    "integrations",
    "library",
    "originalTimestamp",
    "previousId",
    "receivedAt",
    "rudderId",
    "sentAt",
    "type",
    "version",
    "writeKey",
];

/// Names of calls that have a route of their own, `/v1/{name}`.
pub const SDK_CALLS: [&str; 6] = ["track", "identify", "group", "page", "screen", "alias"];

#[derive(Clone, Copy, PartialEq, Eq)]
enum CallType {
    Identify,
    Track,
    Group,
    Page,
    Screen,
}

impl CallType {
    fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "identify" => Self::Identify,
            "track" => Self::Track,
            "group" => Self::Group,
            "page" => Self::Page,
            "screen" => Self::Screen,
            _ => return None,
        })
    }
}

/// The outcome of a call.
#[expect(
    clippy::large_enum_variant,
    reason = "it is taken apart at once, and a box costs each row"
)]
#[derive(Clone, Debug, PartialEq)]
pub enum ReadCall {
    /// The call is an event.
    Taken(ReadEvent),
    /// The call is ignored by rule 4, and counted in the report.
    Ignored(Ignored),
}

/// A call that is ignored by rule 4, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ignored {
    /// Type of the call in lower case, truncated.
    pub call: String,
    /// Reason for which the call is ignored.
    pub reason: IgnoredReason,
}

/// Why a call is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IgnoredReason {
    /// Calls of this type are not stored.
    Type,
    /// The call has neither user id nor e-mail.
    NoUser,
}

/// Members of an envelope that are ignored, except those that SDKs add. A `type` belongs into a call, and a `context`
/// is read if it is an object.
pub fn unread_of_envelope(envelope: &Envelope) -> Vec<String> {
    let is_unread = |name: &&String| {
        let name = name.as_str();
        name == "type"
            || !(ENVELOPE.contains(&name) || TIME.contains(&name) || name == name::MESSAGE_ID)
    };
    let context = envelope.members.value(CONTEXT);
    let unread_context = context.filter(|context| !context.is_null() && !context.is_object());
    let others = envelope.others.iter().filter(is_unread).cloned();
    unread_context.map(|_| CONTEXT.to_owned()).into_iter().chain(others).collect()
}

/// Whether `name` can be the name of a pipeline service: in lower case, as in an address.
pub fn is_pipeline_name(name: &str) -> bool {
    let part =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_.".contains(&byte);
    !name.is_empty() && name.bytes().all(part)
}

/// Reads a single call; `named` is its type where the address has it, and `shared` is the `context` of the envelope
/// around it.
///
/// # Errors
/// [`Unreadable`], with every problem found.
pub fn read(body: &[u8], named: Option<&str>, shared: &Document) -> Result<ReadCall, Unreadable> {
    check_size(body.len())?;
    read_call(&Document::parse(body).map_err(Unreadable::Malformed)?, named, shared)
}

/// Reads one call of many.
///
/// # Errors
/// As [`read`].
pub fn read_row(row: JsonRow, shared: &Document) -> Result<ReadCall, Unreadable> {
    check_size(row.bytes)?;
    read_call(&row.members.map_err(Unreadable::Malformed)?, None, shared)
}

/// Error for a body that has none of the forms of the route (R47).
pub fn call_expected() -> Malformed {
    let message = "expected a call with `type` (`identify`, `track`, `group`, `page`, `screen`), an array of calls, or an object with `batch`";
    Malformed { code: "call_expected", message: message.to_owned(), offset: 0 }
}

fn read_call(
    call: &Document,
    named: Option<&str>,
    shared: &Document,
) -> Result<ReadCall, Unreadable> {
    let mut reader = MemberReader::new(call);
    let sent = reader.text(&["type"]);
    let kind = match (named, sent) {
        (Some(named), _) => named.to_owned(),
        (None, Some(sent)) => sent.trim().to_lowercase(),
        (None, None) if reader.is_faultless() => {
            return Err(Unreadable::Malformed(call_expected()));
        }
        (None, None) => String::new(),
    };
    let ignored = |reason| {
        let call = kind.chars().take(MAX_QUOTED_CHARS).collect();
        Ok(ReadCall::Ignored(Ignored { call, reason }))
    };
    let Some(call_type) = CallType::parse(&kind) else {
        return if reader.is_faultless() {
            ignored(IgnoredReason::Type)
        } else {
            Err(reader.rejected())
        };
    };
    let mut places = PLACES;
    let event = read_event(&mut reader, call_type, shared, &mut places);
    if event.event.identity.is_anonymous() && reader.is_faultless() {
        return ignored(IgnoredReason::NoUser);
    }
    reader.finish(event.event, &places, event.unread).map(ReadCall::Taken)
}

/// Reads the objects within a call too. Of a `group` call, `traits` are the company's.
fn read_event(
    reader: &mut MemberReader<'_>,
    call_type: CallType,
    shared: &Document,
    places: &mut IdentityPlaces,
) -> ReadEvent {
    let traits = reader.members("traits").unwrap_or_default();
    let context = reader.members(CONTEXT).unwrap_or_default();
    let mut of_context = MemberReader::within("/context", &context);
    let context_traits = of_context.members("traits").unwrap_or_default();
    let mut of_shared = MemberReader::within("/context", shared);
    let shared_traits = of_shared.members("traits").unwrap_or_default();
    let mut users = vec![
        MemberReader::within("/context/traits", &context_traits),
        MemberReader::within("/context/traits", &shared_traits),
    ];
    let mut of_traits = MemberReader::within("/traits", &traits);
    let info = match call_type {
        CallType::Identify | CallType::Group => None,
        _ => reader.object(&["properties", name::INFO]),
    };
    let action = read_action(reader, call_type, info.as_deref());
    let (call, company) = match call_type {
        CallType::Group => {
            (PipelineCall::Group(Box::new(read_group(&mut of_traits))), group_id(reader, places))
        }
        CallType::Page => (PipelineCall::Page, None),
        CallType::Screen => (PipelineCall::Screen, None),
        CallType::Track if action.is_none() => (PipelineCall::Unnamed, None),
        CallType::Identify | CallType::Track => (PipelineCall::Event, None),
    };
    users.insert(0, of_traits);
    let readers = if call_type == CallType::Group { 1.. } else { 0.. };
    let sources = users.get_mut(readers).unwrap_or_default();
    let mut identity = read_identity(reader, sources, company, places);
    if matches!(call_type, CallType::Identify | CallType::Track) {
        add_own(reader, &mut identity, places);
    }
    let (group, of_their_company) = read_company_trait(sources, identity.company.as_deref());
    let group = group.or_else(|| group_of_context([&context, shared]));
    let event = Event {
        identity,
        action,
        info,
        passive: reader.passive(),
        weight: reader.weight(),
        count: None,
        date: reader.time(TIME),
        message_id: reader.text(&[name::MESSAGE_ID]),
        call,
        group,
    };
    let mut unread = reader.unread_of(&event, &[EXTERNAL_ID, TIME, ENVELOPE]);
    unread.extend(unread_traits(&mut users, call_type, &event));
    unread.extend(of_their_company);
    reader.add_issues_of(of_context);
    reader.add_issues_of(of_shared);
    users.into_iter().for_each(|traits| reader.add_issues_of(traits));
    ReadEvent { event, unread, has_other_count: false }
}

/// Names of traits that were not read.
fn unread_traits(
    users: &mut [MemberReader<'_>],
    call_type: CallType,
    event: &Event,
) -> Vec<String> {
    let has_action = event.action.is_some();
    let of_action = if has_action { ABOUT } else { &[] };
    if !has_action {
        users.iter_mut().for_each(|traits| ABOUT.iter().for_each(|member| traits.leave(member)));
    }
    let split = usize::from(call_type == CallType::Group);
    let (of_company, of_user) = users.split_at_mut(split);
    let id = event.identity.external_id.as_deref();
    of_user.iter_mut().for_each(|traits| traits.take_id(TRAITS_EXTERNAL_ID, id));
    let mut unread = Vec::new();
    add_traits(&mut unread, of_company, &[]);
    add_traits(&mut unread, of_user, &[USER_TRAITS, COMPANY, of_action]);
    unread
}

/// Action of the call; a page has a name of its own, or that of its properties.
fn read_action(
    reader: &mut MemberReader<'_>,
    call_type: CallType,
    properties: Option<&str>,
) -> Option<String> {
    let otherwise = match call_type {
        CallType::Identify | CallType::Group => return None,
        CallType::Track => return reader.text(&["event", name::ACTION]),
        CallType::Page => "page",
        CallType::Screen => "screen",
    };
    let properties = properties.and_then(|text| Document::parse(text.as_bytes()).ok());
    let of_properties = |name| properties.as_ref()?.text(name).map(Cow::into_owned).and_then(given);
    let named = reader.text(&[name::NAME]);
    let named = named.or_else(|| of_properties(name::NAME)).or_else(|| of_properties("path"));
    Some(format!("Viewed {}", named.as_deref().unwrap_or(otherwise)))
}

/// The company of a `group` call, which cannot be missing.
fn group_id(reader: &mut MemberReader<'_>, places: &mut IdentityPlaces) -> Option<String> {
    let id = reader.id_at(GROUP, &mut places.company);
    if id.is_none() && reader.is_faultless() {
        reader.miss("groupId", "group_missing", "`groupId`; found none");
    }
    id
}

/// Reads the company of a `group` call. A public mail domain, or a malformed one, says nothing about a company (R35).
fn read_group(traits: &mut MemberReader<'_>) -> GroupCall {
    let is_domain = |domain: &String| {
        domain.contains('.')
            && !domain.contains(|char: char| char.is_whitespace() || "/:@".contains(char))
    };
    let domain = traits.text(&[DOMAIN]);
    let domain = domain.and_then(|domain| email::company_domain(&format!("@{domain}")));
    let domain = domain.filter(is_domain);
    if domain.is_none() {
        traits.leave(DOMAIN);
    }
    GroupCall { name: traits.text(&[name::NAME]), domain }
}

/// Adds the names of traits that are not part of the event, but for those that are `expected`.
fn add_traits(names: &mut Vec<String>, traits: &[MemberReader<'_>], expected: &[&[&str]]) {
    let unread = |traits: &MemberReader<'_>| {
        let unread = traits.unread(expected).into_iter();
        unread.map(|name| traits.path_of(&name)).collect::<Vec<_>>()
    };
    for name in traits.iter().flat_map(unread) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(call: &str) -> Result<ReadCall, Unreadable> {
        read(call.as_bytes(), None, &Document::default())
    }

    fn taken(text: &str) -> ReadEvent {
        match call(text) {
            Ok(ReadCall::Taken(taken)) => taken,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn event(call: &str) -> Event {
        taken(call).event
    }

    #[test]
    fn a_track_call_is_read() {
        let found = event(
            r#"{"type":"track","userId":"7","event":"Opened report","properties":{"n":1.10},
                "traits":{"email":"ada@example.com","name":"Ada Lovelace","companyId":"c"},
                "timestamp":"2026-11-20","messageId":"m"}"#,
        );
        let who = &found.identity;
        assert_eq!((who.external_id.as_deref(), who.company.as_deref()), (Some("7"), Some("c")));
        assert_eq!(
            (who.email.as_deref(), who.name.as_deref()),
            (Some("ada@example.com"), Some("Ada Lovelace"))
        );
        assert_eq!(
            (found.action.as_deref(), found.info.as_deref()),
            (Some("Opened report"), Some(r#"{"n":1.10}"#))
        );
        assert_eq!(found.message_id.as_deref(), Some("m"));
    }

    #[test]
    fn traits_of_the_context_are_used_when_there_are_no_others() {
        let found = event(
            r#"{"type":"TRACK","event":"x","traits":{"id":"7"},
                "context":{"traits":{"id":"8","email":"ada@example.com","company_id":"c","firstName":"Ada"}}}"#,
        );
        let who = &found.identity;
        assert_eq!((who.external_id.as_deref(), who.company.as_deref()), (Some("7"), Some("c")));
        assert_eq!(
            (who.email.as_deref(), who.name.as_deref()),
            (Some("ada@example.com"), Some("Ada"))
        );
    }

    #[test]
    fn the_context_of_the_envelope_fills_in_that_of_a_call() {
        let shared = Document::parse(br#"{"traits":{"email":"a@b","companyId":9}}"#).unwrap();
        let sent = br#"{"type":"track","event":"x","context":{"traits":{"email":"c@d"}}}"#;
        let Ok(ReadCall::Taken(found)) = read(sent, None, &shared) else { panic!() };
        let who = &found.event.identity;
        assert_eq!((who.email.as_deref(), who.company.as_deref()), (Some("c@d"), Some("9")));
    }

    #[test]
    fn an_identify_call_has_no_action() {
        let found = taken(r#"{"type":"Identify","userId":7,"event":"x","properties":{"n":1}}"#);
        let who = &found.event.identity;
        assert_eq!(who.external_id.as_deref(), Some("7"));
        assert_eq!((found.event.action, found.event.info), (None, None));
        assert_eq!(found.unread, ["event", "properties"]);
    }

    #[test]
    fn a_track_call_without_an_event_identifies_its_user_only() {
        let found = taken(r#"{"type":"track","userId":7,"event":" ","properties":{"n":1}}"#);
        assert_eq!((found.event.call, found.event.action), (PipelineCall::Unnamed, None));
        assert_eq!(found.unread, ["properties"]);
    }

    #[test]
    fn the_type_in_the_address_goes_before_that_in_the_call() {
        let sent = br#"{"type":"track","userId":"7","event":"x"}"#;
        let Ok(ReadCall::Taken(found)) = read(sent, Some("identify"), &Document::default()) else {
            panic!()
        };
        assert_eq!(found.event.action, None);
    }

    #[test]
    fn a_group_call_identifies_its_company() {
        let found = taken(
            r#"{"type":"group","userId":"7","groupId":5,"traits":{"name":"Acme","domain":" Acme.Example","plan":"x","email":"info@acme.example"},
                "context":{"traits":{"email":"ada@acme.example","companyId":"other"}}}"#,
        );
        let who = &found.event.identity;
        assert_eq!((who.external_id.as_deref(), who.company.as_deref()), (Some("7"), Some("5")));
        assert_eq!((who.email.as_deref(), who.name.as_deref()), (Some("ada@acme.example"), None));
        let (name, domain) = (Some("Acme".to_owned()), Some("acme.example".to_owned()));
        assert_eq!(found.event.call, PipelineCall::Group(Box::new(GroupCall { name, domain })));
        assert_eq!(found.unread, ["traits.plan", "traits.email"]);
        let Err(Unreadable::Invalid(issues)) = call(r#"{"type":"group","userId":"7"}"#) else {
            panic!()
        };
        assert_eq!((issues[0].code, issues[0].pointer.as_str()), ("group_missing", "/groupId"));
    }

    #[test]
    fn the_group_is_the_company_of_the_traits_or_the_group_of_the_context() {
        let check = |members: &str, company: (Option<&str>, Option<&str>), unread: &[&str]| {
            let found = taken(&format!(r#"{{"type":"track","userId":"7","event":"x",{members}}}"#));
            let sent = (found.event.identity.company.as_deref(), found.event.group.as_deref());
            assert_eq!(sent, company, "{members}");
            assert_eq!(found.unread, unread, "{members}");
        };
        check(r#""context":{"groupId":5}"#, (None, Some("5")), &[]);
        let both = r#""context":{"groupId":"g"},"traits":{"companyId":"c"}"#;
        check(both, (Some("c"), Some("g")), &[]);
        let both = r#""context":{"groupId":"g"},"traits":{"company":{"id":"c"}}"#;
        check(both, (None, Some("c")), &[]);
        let nested = r#""context":{"traits":{"company":{"id":7,"name":"Acme"}}}"#;
        check(nested, (None, Some("7")), &["context.traits.company.name"]);
        let twice = r#""traits":{"company":{"id":7,"plan":"x","seats":null}},"context":{"traits":{"company":{"id":"7","plan":"x"}}}"#;
        check(twice, (None, Some("7")), &["traits.company.plan", "context.traits.company.plan"]);
        let other = r#""traits":{"companyId":"c","company":{"id":"d","name":"D"}}"#;
        check(other, (Some("c"), None), &["traits.company"]);
        check(r#""traits":{"company":"Acme"}"#, (None, None), &["traits.company"]);
        check(r#""traits":{"company":{"name":"Acme"}}"#, (None, None), &["traits.company"]);
        check(r#""context":{"groupId":["g"]}"#, (None, None), &[]);
        let shared = Document::parse(br#"{"groupId":"g"}"#).unwrap();
        let sent = br#"{"type":"identify","userId":"7"}"#;
        let Ok(ReadCall::Taken(found)) = read(sent, None, &shared) else { panic!() };
        assert_eq!(found.event.group.as_deref(), Some("g"));
    }

    #[test]
    fn a_domain_that_identifies_no_company_is_ignored() {
        for domain in ["gmail.com", "localhost", "https://a.example", "a b.example", "a@b.example"]
        {
            let found = event(&format!(
                r#"{{"type":"group","userId":"7","groupId":"g","traits":{{"domain":"{domain}"}}}}"#
            ));
            let PipelineCall::Group(group) = found.call else { panic!() };
            let expected = (domain == "a@b.example").then_some("b.example");
            assert_eq!(group.domain.as_deref(), expected, "{domain}");
        }
    }

    #[test]
    fn a_page_is_named_by_its_name_or_by_its_properties() {
        let action = |members: &str| {
            let found = event(&format!(r#"{{"type":"page","userId":"7",{members}}}"#));
            assert_eq!(found.call, PipelineCall::Page);
            found.action.unwrap()
        };
        assert_eq!(action(r#""name":"Pricing","properties":{"name":"x"}"#), "Viewed Pricing");
        assert_eq!(action(r#""properties":{"name":"x","path":"/p"}"#), "Viewed x");
        assert_eq!(action(r#""properties":{"name":" ","path":"/p"}"#), "Viewed /p");
        assert_eq!(action(r#""properties":{}"#), "Viewed page");
        let screen = event(r#"{"type":"screen","userId":"7"}"#);
        assert_eq!(
            (screen.action.as_deref(), screen.call),
            (Some("Viewed screen"), PipelineCall::Screen)
        );
    }

    #[test]
    fn what_is_ignored_has_a_reason() {
        let nobody = [
            (r#"{"type":"track","event":"x"}"#, "track"),
            (r#"{"type":"track","userId":" ","traits":{}}"#, "track"),
            (r#"{"type":"page","anonymousId":"a"}"#, "page"),
            (r#"{"type":"group","anonymousId":"a","groupId":"g"}"#, "group"),
        ];
        let other = [(r#"{"type":"Alias","userId":"7"}"#, "alias"), (r#"{"type":"x"}"#, "x")];
        let cases = nobody.map(|case| (case, IgnoredReason::NoUser)).into_iter();
        for ((sent, kind), reason) in cases.chain(other.map(|case| (case, IgnoredReason::Type))) {
            assert_eq!(
                call(sent),
                Ok(ReadCall::Ignored(Ignored { call: kind.to_owned(), reason })),
                "{sent}"
            );
        }
    }

    #[test]
    fn what_is_no_call_is_rejected_with_what_was_expected() {
        for sent in [r#"{"userId":"7"}"#, r#"{"type":null}"#, r#"{"type":" "}"#, "{}"] {
            let Err(Unreadable::Malformed(fault)) = call(sent) else { panic!("{sent}") };
            assert_eq!(fault.code, "call_expected");
        }
    }

    #[test]
    fn only_unread_members_that_senders_do_not_add_automatically_are_reported() {
        let found = taken(
            r#"{"type":"track","userId":"7","event":"x","anonymousId":"a","integrations":{},"_metadata":{},"context":{"ip":"x","traits":{"plan":1,"email":"c@d"}},
                "originalTimestamp":"2026-11-20","email":"a@b","traits":{"plan":"pro","id":"7","company_id":"c","companyId":"d","email":"c@d"}}"#,
        );
        assert_eq!(found.unread, ["email", "traits.plan", "context.traits.plan"]);
        assert!(found.event.date.is_some());
    }

    #[test]
    fn a_problem_is_reported_where_it_is() {
        let check = |text: &str, pointer: &str| {
            let Err(Unreadable::Invalid(issues)) = call(text) else { panic!("{text}") };
            assert_eq!(issues[0].pointer, pointer, "{text}");
        };
        check(r#"{"type":1,"userId":"7"}"#, "/type");
        check(r#"{"type":"track","traits":{"email":5}}"#, "/traits/email");
        check(r#"{"type":"track","userId":"7","traits":{"email":"ada"}}"#, "/traits/email");
        check(r#"{"type":"track","userId":"7","traits":[]}"#, "/traits");
        check(r#"{"type":"track","userId":"7","context":{"traits":1}}"#, "/context/traits");
        check(r#"{"type":"group","userId":"7","groupId":"a\u0001"}"#, "/groupId");
        check(r#"{"type":"group","userId":"7","group_id":"a\u0001"}"#, "/group_id");
        check(r#"{"type":"identify","userId":"7","email":"ada"}"#, "/email");
        let of_context = r#"{"type":"identify","userId":"7","context":{"traits":{"email":"ada"}}}"#;
        check(of_context, "/context/traits/email");
        check(r#"{"type":"track","user_id":"a\u0001"}"#, "/user_id");
        check(r#"{"type":"track","traits":{"id":"a\u0001"}}"#, "/traits/id");
        check(r#"{"type":"track","userId":"7","companyId":"a\u0001"}"#, "/companyId");
        check(r#"{"type":"track","userId":"7","traits":{"cId":"a\u0001"}}"#, "/traits/cId");
        check(r#"{"type":"track","userId":"7","date":"x"}"#, "/date");
    }

    #[test]
    fn a_pipeline_is_named_in_lower_case() {
        assert!(is_pipeline_name("segment") && is_pipeline_name("my-pipe_2"));
        assert!(!is_pipeline_name("Segment") && !is_pipeline_name("") && !is_pipeline_name("a b"));
    }
}
