//! Entries that commands append to logs: activities, parked events, integration issues, and the ids of accepted
//! events.

use serde::{Deserialize, Serialize};

use crate::value::{Document, ObjectId, Timestamp, engagement::EngagementUpdate};

/// A row of a log.
#[derive(Clone, Debug, PartialEq)]
pub enum AppendedRow {
    /// An activity of an end user.
    Activity(Box<Activity>),
    /// An event whose user or company is not known yet (R35).
    Parked(Box<ParkedEvent>),
    /// A problem that a sender should fix (R42).
    Finding(Box<Finding>),
    /// Addition of an event to the engagement of its user and their company (R37).
    Engaged(EngagementUpdate),
    /// The sender's id of an accepted event, with the settled time (`Ctx::settled`) and its route (R39).
    Message(String, Timestamp, Route),
    /// An end user that an event has created at this settled time, where a tenant limits how many are (R41), or a
    /// company, whose number is always limited (R47).
    NewEndUser(Timestamp),
}

/// Route by which an event or a ticket arrived.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Route {
    /// Route 1, the real-time call, which the script (route 2) uses too.
    Realtime,
    /// Route 3, the call of a third-party customer-data pipeline.
    Pipeline,
    /// Route 4, the bulk call.
    Bulk,
    /// The bulk upsert of tickets, which reports rejected tickets (R18).
    Tickets,
    /// The renewal of licenses by the service itself.
    Renewals,
}

impl Route {
    /// All routes, in the order of their names.
    pub const ALL: [Self; 5] =
        [Self::Realtime, Self::Pipeline, Self::Bulk, Self::Tickets, Self::Renewals];
    /// Names of the routes in responses.
    pub const NAMES: [&'static str; 5] = [
        Self::Realtime.name(),
        Self::Pipeline.name(),
        Self::Bulk.name(),
        Self::Tickets.name(),
        Self::Renewals.name(),
    ];

    /// Name of the route in responses.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
            Self::Pipeline => "pipeline",
            Self::Bulk => "bulk",
            Self::Tickets => "tickets",
            Self::Renewals => "renewals",
        }
    }
}

/// A stored activity (R38). Names and e-mails are not part of it: a response has those of the user at the time of the
/// read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Id of the activity; ids ascend in the order of commits.
    pub id: ObjectId,
    /// Company of the user at the time of the event.
    pub company_id: Option<ObjectId>,
    /// `_id` of the end user who performed the action.
    pub end_user_id: ObjectId,
    /// Action of the user: the event's `action`.
    pub action: String,
    /// `externalId` of the asset, as sent.
    pub asset: Option<String>,
    /// `externalId` of the project, as sent.
    pub project: Option<String>,
    /// Extra data: the text of a JSON object.
    pub info: Option<String>,
    /// Number of occurrences, 1 to 300.
    pub count: u16,
    /// Relative importance of each occurrence.
    pub weight: f64,
    /// Whether the activity does not count as engagement (rule 6).
    pub passive: bool,
    /// When it happened, by the sender's clock, corrected (R45).
    pub date: Timestamp,
    /// When the server received it.
    pub received_at: Timestamp,
    /// The route by which it was received.
    pub route: Route,
    /// The sender's id of the event.
    pub message_id: Option<String>,
    /// The asset with that `externalId`, if there was one.
    pub asset_id: Option<ObjectId>,
    /// The project with that `externalId`, if there was one.
    pub project_id: Option<ObjectId>,
}

/// Maximum number of parked events of a tenant; further ones are rejected, since parked events were acknowledged (R35).
pub const MAX_PARKED: u64 = 10_000;
/// Maximum size of a tenant's parked events, in bytes (R35).
pub const MAX_PARKED_BYTES: u64 = 64 * 1024 * 1024;
/// How long an event can be parked, in days (R35).
pub const PARKED_DAYS: i64 = 30;

/// An event that waits for its company or user to be created.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParkedEvent {
    /// Id of the entry, as `/integrationissues` shows it.
    pub id: ObjectId,
    /// Why the event waits, stable, in snake_case.
    pub code: String,
    /// When the server received it.
    pub received_at: Timestamp,
    /// The route by which it was received.
    pub route: Route,
    /// The event, whole: the JSON text of a [`crate::tracking::Event`].
    pub event: String,
    /// Index entries that the event waits for; any of these may release it.
    pub waits: Vec<ParkedWait>,
}

/// Index entry that a parked event waits for: that of a record that appears.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ParkedWait {
    /// Byte of the record's resource; 0 where the event does not wait for a record.
    pub resource: u8,
    /// Field of the entry.
    pub row: String,
    /// The value in the form in which it is compared.
    pub key: String,
}

/// Maximum number of entries of a tenant's report; new entries replace the oldest (R42).
pub const MAX_REPORTED: u64 = 10_000;
/// How long an entry of the report is stored after it was last seen, in days (R42).
pub const REPORTED_DAYS: i64 = 30;

/// A problem that a sender should fix, before it is in the report of possible integration issues (R42).
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// The route by which it was received.
    pub route: Route,
    /// Code of the finding, stable, in snake_case.
    pub code: &'static str,
    /// Cause of the finding, such as an id or a domain. Entries of one code and cause are folded.
    pub cause: String,
    /// Problem, and how to fix it.
    pub message: String,
    /// Time of the finding.
    pub at: Timestamp,
    /// Number of findings since the entry was last written.
    pub count: u64,
    /// Part of the call that was sent.
    pub sample: Document,
    /// Keys by which the sample names a person, so that it is found when the person is erased.
    pub people: Vec<String>,
}
