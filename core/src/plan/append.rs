//! What commands append to logs: activities, and events that wait for their user.

use serde::{Deserialize, Serialize};

use crate::value::{ObjectId, Timestamp};

/// A row of a log.
#[derive(Clone, Debug, PartialEq)]
pub enum Appended {
    /// Something that an end user did.
    Activity(Activity),
    /// An event whose user or company is not known yet (R35).
    Parked(ParkedEvent),
}

/// The way by which an event came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Route {
    /// Route 1, the real-time call, which the script (route 2) uses too.
    #[serde(rename = "realtime")]
    Realtime,
}

impl Route {
    /// Its name in answers.
    pub fn name(self) -> &'static str {
        match self {
            Self::Realtime => "realtime",
        }
    }
}

/// A stored activity (R38). Names and e-mails are not part of it: they are the user's, as they are
/// when it is read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Activity {
    /// Its id; ids ascend in the order of commits.
    pub id: ObjectId,
    /// Company of the user at the time of the event.
    pub company_id: Option<ObjectId>,
    /// The user.
    pub end_user_id: ObjectId,
    /// What they did.
    pub action: String,
    /// `externalId` of the asset, as sent.
    pub asset: Option<String>,
    /// `externalId` of the project, as sent.
    pub project: Option<String>,
    /// Extra data: the text of a JSON object.
    pub info: Option<String>,
    /// Number of occurrences, 1 to 300.
    pub count: u16,
    /// Relative importance.
    pub weight: f64,
    /// Whether it does not count as activity (rule 6).
    pub passive: bool,
    /// When it happened.
    pub date: Timestamp,
    /// When the server received it.
    pub received_at: Timestamp,
    /// How it came in.
    pub route: Route,
    /// The sender's id of the event.
    pub message_id: Option<String>,
}

/// Most events of a tenant that wait for their user; the oldest make room (R35).
pub const MAX_PARKED: u64 = 10_000;

/// An event that waits until a company or user appears that it fits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ParkedEvent {
    /// Its id.
    pub id: ObjectId,
    /// Why it waits, stable, in snake_case.
    pub code: String,
    /// When the server received it.
    pub received_at: Timestamp,
    /// How it came in.
    pub route: Route,
    /// The event, whole: the JSON text of a [`crate::tracking::Event`].
    pub event: String,
}
