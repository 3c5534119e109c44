//! An event: who did what. A plain struct, the same in the browser and on the server, with the table of its members on
//! the wire. Its checks are in `event_checks`.

use crate::value::Timestamp;

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
    /// Where the member comes from.
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

/// Where a member of an event comes from: a call of the script, the script itself, or a bulk row.
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
    /// Company that an SDK adds to its calls, such as the group of a session. It is used where no company was sent, and
    /// where it is unknown, the domain of the e-mail decides.
    #[cfg(feature = "records")]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
}

#[cfg(feature = "records")]
impl Event {
    /// Company that the event names: the one that was sent, else the group that an SDK added.
    pub(super) fn company_named(&self) -> Option<&str> {
        self.identity.company.as_deref().or(self.group.as_deref())
    }
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

#[cfg(all(test, feature = "records"))]
mod tests {
    use super::*;

    #[test]
    fn a_stored_event_names_its_call_only_where_that_changes_something() {
        let stored = |call| serde_json::to_string(&Event { call, ..Event::default() }).unwrap();
        assert!(!stored(PipelineCall::Event).contains("call"));
        assert!(stored(PipelineCall::Unnamed).contains(r#""call":"unnamed""#));
        assert!(stored(PipelineCall::Page).contains(r#""call":"page""#));
    }
}
