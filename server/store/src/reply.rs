//! The result of a command that is on disk.

use serde::{Deserialize, Serialize};
use svctrack_core::{plan::upsert::Outcome, revenue::Closing, value::ObjectId};

use crate::{TenantRecord, TokenRecord};

/// The outcome of a command.
#[derive(Debug)]
pub enum Reply {
    /// The record as it is now.
    Record(Answer),
    /// The record that was deleted, if there was one.
    Deleted(Option<Answer>),
    /// The outcome of many bodies.
    Upserted(Upserted),
    /// The outcome of each body.
    Imported(Vec<Outcome>),
    /// The token is stored, as this record.
    TokenAdded(Box<TokenRecord>),
    /// How many tokens were revoked.
    TokensRevoked(usize),
    /// The tenant as it is now.
    Tenant(Box<TenantRecord>),
    /// Whether there is more of a deleted tenant to remove.
    DeletionContinued(bool),
    /// The reply of an earlier command with the same key.
    Repeated(Box<Reply>),
    /// The events are stored.
    Tracked(Tracked),
    /// How many parked events were processed.
    Replayed(usize),
    /// Whether there was such an entry.
    EntryDeleted(bool),
    /// Whether there may be more to remove.
    Swept(bool),
    /// How far the licenses are renewed.
    AutoRenewed(AutoRenewal),
    /// Who is being erased, if they were there.
    Erasing(Option<ObjectId>),
    /// Whether there is more of an erased person to remove.
    ErasureStep(bool),
    /// The closed month; none where what reports read was changed meanwhile.
    Closed(Option<Box<Closing>>),
    /// Whether the month was closed.
    Reopened(bool),
    /// The entries are stored.
    Audited,
    /// How many keys were unsuppressed.
    Unsuppressed(usize),
}

/// The progress of a round of automatic renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoRenewal {
    /// The entry of the index up to which licenses were read.
    pub(crate) after: Option<Vec<u8>>,
    /// How many were renewed.
    pub renewed: usize,
    /// How many could not be.
    pub failed: usize,
    /// Whether there are no more, or enough for a round.
    pub is_over: bool,
}

/// The outcome of many bodies.
#[derive(Clone, Debug)]
pub struct Upserted {
    /// JSON of the response.
    pub text: String,
    /// How many were rejected.
    pub errors: usize,
    /// Names of what was sent and is not stored.
    pub ignored: Vec<String>,
}

/// The outcomes of events.
#[derive(Clone, Debug, Default)]
pub struct Tracked {
    /// Why some of them wait: the codes of their entries in the report, each once.
    pub parked: Vec<String>,
    /// Which of them are not stored, since they would have to wait and as many do as may.
    pub refused: Vec<usize>,
    /// Names of what they carried that is not stored, each once (R47).
    pub ignored: Vec<String>,
}

/// A record as a response shows it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    /// `_id` of the record.
    pub id: ObjectId,
    /// `__v` of the record.
    pub version: i64,
    /// A hash of the properties that were computed at read, where there are any.
    pub computed: Option<u32>,
    /// JSON of the record.
    pub text: String,
    /// Names of what was sent and is not stored, after a write.
    #[serde(skip)]
    pub ignored: Vec<String>,
}
