//! An event: who did what. A plain struct, the same in the browser and on the server, with the checks of both, and the
//! table of its members on the wire.

use crate::value::{Timestamp, email, key};

/// Largest body of one event, in bytes after decoding; it limits the memory of a call in the server (R30).
pub const MAX_EVENT_BYTES: usize = 64 * 1024;
/// Longest id of an event from its sender, in bytes (R39).
pub const MAX_MESSAGE_ID_BYTES: usize = 128;

/// A member of an event on the wire (route 1).
#[derive(Clone, Copy, Debug)]
pub struct Member {
    /// Name on the wire.
    pub name: &'static str,
    /// Description of the member, for the OpenAPI description and the script's types.
    pub doc: &'static str,
    /// Kind of the value.
    pub kind: MemberKind,
    /// Source of the member.
    pub place: MemberSource,
}

/// Kind of the value of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberKind {
    /// An id of the caller: a text; the script accepts a number too.
    Id,
    /// A string without further rules.
    Text,
    /// An object of any form.
    Object,
    /// A number, not negative.
    Number,
    /// A whole number, not negative.
    Integer,
    /// `true` or `false`.
    Bool,
    /// A point in time.
    Time,
}

/// Source of a member.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemberSource {
    /// Identifies the user: `identify` stores it, and `track` uses it for one event.
    Identity,
    /// A member of one event, from `track`.
    Event,
    /// The script derives the member from the call.
    Message,
    /// Only a row of a bulk call has the member (route 4).
    BulkRow,
}

/// Writes the members of an event: a name for each, and the table `MEMBERS`.
macro_rules! members {
    ($($(#[doc = $doc:literal])+ $handle:ident: $kind:ident = $name:literal, $place:ident;)*) => {
        /// Names of an event's members on the wire (route 1).
        pub mod name {
            $($(#[doc = $doc])+ pub const $handle: &str = $name;)*
        }

        /// The members, those of the identity first.
        pub static MEMBERS: &[Member] = &[$(Member {
            name: $name,
            doc: concat!($($doc),+).trim_ascii(),
            kind: MemberKind::$kind,
            place: MemberSource::$place,
        }),*];
    };
}

members! {
    /// The user's id in the caller's system.
    EXTERNAL_ID: Id = "externalId", Identity;
    /// E-mail of the user.
    EMAIL: Text = "email", Identity;
    /// Full name of the user.
    NAME: Text = "name", Identity;
    /// Customer id in the caller's system.
    COMPANY: Id = "companyExternalId", Identity;
    /// `externalId` of an asset.
    ASSET: Id = "assetExtId", Identity;
    /// `externalId` of a project.
    PROJECT: Id = "projectExtId", Identity;
    /// Action of the user; without it the event only identifies the user.
    ACTION: Text = "action", Message;
    /// Extra data.
    INFO: Object = "info", Event;
    /// Whether the event does not count as activity.
    PASSIVE: Bool = "passive", Event;
    /// Relative importance; default 1.
    WEIGHT: Number = "weight", Event;
    /// When the event happened; default is the time of receipt.
    DATE: Time = "date", Message;
    /// Number of occurrences; a value out of range counts as 1.
    COUNT: Integer = "count", BulkRow;
    /// When the request was sent, by the sender's clock.
    SENT_AT: Time = "sentAt", Message;
    /// The sender's id of the event.
    MESSAGE_ID: Text = "messageId", Message;
}

/// Identity of the user of an event. An absent or blank member is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "records", derive(serde::Serialize, serde::Deserialize))]
pub struct Identity {
    /// The user's id in the caller's system.
    pub external_id: Option<String>,
    /// E-mail of the user.
    pub email: Option<String>,
    /// Full name of the user.
    pub name: Option<String>,
    /// Customer id in the caller's system.
    pub company: Option<String>,
    /// `externalId` of an asset.
    pub asset: Option<String>,
    /// `externalId` of a project.
    pub project: Option<String>,
}

/// One event. Without an action it only identifies the user.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "records", derive(serde::Serialize, serde::Deserialize))]
pub struct Event {
    /// Identity of the user.
    pub identity: Identity,
    /// Action of the user; none for an event that only identifies them.
    pub action: Option<String>,
    /// Extra data: the text of a JSON object.
    pub info: Option<String>,
    /// Whether the event does not count as activity (rule 6).
    pub passive: bool,
    /// Relative importance; 1 when not given (R36).
    pub weight: Option<f64>,
    /// Number of occurrences; 1 when not given, 0 for an event that only identifies the user (R36).
    pub count: Option<u16>,
    /// Time of the activity; the time of receipt when not given.
    pub date: Option<Timestamp>,
    /// The sender's id of the event (R39).
    pub message_id: Option<String>,
    /// Kind of call that the event came with.
    #[cfg(feature = "records")]
    #[serde(default, skip_serializing_if = "PipelineCall::is_event")]
    pub call: PipelineCall,
    /// Company that an SDK names by the way, such as the group of a session. It is used where it exists and no company
    /// was sent, and is no contradiction otherwise.
    #[cfg(feature = "records")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

/// The call of a pipeline or an SDK, where it changes how the event is processed (R47).
#[cfg(feature = "records")]
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum PipelineCall {
    /// A call that changes no record.
    #[default]
    Event,
    /// A `track` call without the name of its event: it identifies its user only.
    Unnamed,
    /// A page view, which counts if the tenant's settings say so (`trackPages`).
    Page,
    /// A view of an app's screen, which counts as a page view does.
    Screen,
    /// A call that ties its user to a company, which it creates or fills.
    Group(Box<GroupCall>),
}

#[cfg(feature = "records")]
impl PipelineCall {
    fn is_event(&self) -> bool {
        *self == Self::Event
    }
}

/// Company of a `group` call, whose `externalId` is the event's company id.
#[cfg(feature = "records")]
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct GroupCall {
    /// Name of the company.
    pub name: Option<String>,
    /// Domain of the company's e-mail addresses, in lower case.
    pub domain: Option<String>,
}

/// Fault of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventFault {
    /// Neither an e-mail nor an id of the user is given.
    IdentityMissing,
    /// The user's id is too long or has control characters.
    ExternalIdInvalid,
    /// The e-mail cannot be used.
    EmailInvalid,
    /// The customer id is too long or has control characters.
    CompanyInvalid,
    /// The extra data is not a JSON object.
    InfoInvalid,
    /// The weight is negative or not finite (R36).
    WeightInvalid,
    /// The sender's id of the event is too long (R39).
    MessageIdTooLong,
}

impl EventFault {
    /// Stable code of the fault, the same in the browser and on the server.
    pub fn code(self) -> &'static str {
        match self {
            Self::IdentityMissing => "identity_missing",
            Self::ExternalIdInvalid => "external_id_invalid",
            Self::EmailInvalid => "email_invalid",
            Self::CompanyInvalid => "company_invalid",
            Self::InfoInvalid => "info_invalid",
            Self::WeightInvalid => "weight_invalid",
            Self::MessageIdTooLong => "message_id_too_long",
        }
    }

    /// Member of the fault; none for the event as a whole.
    pub fn member(self) -> Option<&'static str> {
        match self {
            Self::IdentityMissing => None,
            Self::ExternalIdInvalid => Some(name::EXTERNAL_ID),
            Self::EmailInvalid => Some(name::EMAIL),
            Self::CompanyInvalid => Some(name::COMPANY),
            Self::InfoInvalid => Some(name::INFO),
            Self::WeightInvalid => Some(name::WEIGHT),
            Self::MessageIdTooLong => Some(name::MESSAGE_ID),
        }
    }

    /// Message of the fault: what was expected.
    pub fn message(self) -> &'static str {
        match self {
            Self::IdentityMissing => "expected `email` or `externalId`; found neither",
            Self::ExternalIdInvalid => {
                "`externalId` must be 1 to 512 bytes without control characters"
            }
            Self::EmailInvalid => "`email` must be an e-mail address of at most 254 bytes",
            Self::CompanyInvalid => {
                "`companyExternalId` must be 1 to 512 bytes without control characters"
            }
            Self::InfoInvalid => "`info` must be an object",
            Self::WeightInvalid => "`weight` must be a finite number, not negative",
            Self::MessageIdTooLong => "`messageId` must be at most 128 bytes",
        }
    }
}

impl Event {
    /// All faults of the event, in the order of its members.
    pub fn faults(&self) -> impl Iterator<Item = EventFault> {
        let who = &self.identity;
        let bad_key = |id: &Option<String>| id.as_deref().is_some_and(|id| !key::is_key(id));
        let bad_email = who.email.as_deref().is_some_and(|address| !email::is_usable(address));
        let bad_info = self.info.as_deref().is_some_and(|info| !info.trim_start().starts_with('{'));
        let bad_weight = self.weight.is_some_and(|weight| !weight.is_finite() || weight < 0.0);
        let long_id = self.message_id.as_deref().is_some_and(|id| id.len() > MAX_MESSAGE_ID_BYTES);
        let checks = [
            (who.external_id.is_none() && who.email.is_none(), EventFault::IdentityMissing),
            (bad_key(&who.external_id), EventFault::ExternalIdInvalid),
            (bad_email, EventFault::EmailInvalid),
            (bad_key(&who.company), EventFault::CompanyInvalid),
            (bad_info, EventFault::InfoInvalid),
            (bad_weight, EventFault::WeightInvalid),
            (long_id, EventFault::MessageIdTooLong),
        ];
        checks.into_iter().filter(|(wrong, _)| *wrong).map(|(_, fault)| fault)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(event: Event, expect: &[&str]) {
        let codes: Vec<_> = event.faults().map(EventFault::code).collect();
        assert_eq!(codes, expect);
    }

    fn event_from(external_id: &str, email: &str) -> Event {
        let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let identity =
            Identity { external_id: some(external_id), email: some(email), ..Identity::default() };
        Event { identity, ..Event::default() }
    }

    #[test]
    fn an_event_needs_a_way_to_find_its_user() {
        check(event_from("", ""), &["identity_missing"]);
        check(event_from("7", ""), &[]);
        check(event_from("", "ada@example.com"), &[]);
    }

    #[test]
    fn every_fault_is_found() {
        let mut event = event_from("\n", "nobody");
        event.identity.company = Some("x".repeat(513));
        event.info = Some("[]".to_owned());
        event.weight = Some(-1.0);
        event.message_id = Some("x".repeat(129));
        check(
            event,
            &[
                "external_id_invalid",
                "email_invalid",
                "company_invalid",
                "info_invalid",
                "weight_invalid",
                "message_id_too_long",
            ],
        );
        check(Event { weight: Some(f64::NAN), ..event_from("7", "") }, &["weight_invalid"]);
    }

    #[cfg(feature = "records")]
    #[test]
    fn a_stored_event_names_its_call_only_where_that_changes_something() {
        let stored = |call| serde_json::to_string(&Event { call, ..Event::default() }).unwrap();
        assert!(!stored(PipelineCall::Event).contains("call"));
        assert!(stored(PipelineCall::Unnamed).contains(r#""call":"unnamed""#));
        assert!(stored(PipelineCall::Page).contains(r#""call":"page""#));
    }

    #[test]
    fn what_is_just_within_the_limits_is_no_fault() {
        let message_id = Some("x".repeat(MAX_MESSAGE_ID_BYTES));
        check(Event { weight: Some(0.0), message_id, ..event_from("7", "") }, &[]);
        assert_eq!(MAX_EVENT_BYTES, 65_536);
    }
}
