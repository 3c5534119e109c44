//! The result of a command that is on disk.

use serde::{Deserialize, Serialize};
use svctrack_core::{plan::upsert::UpsertOutcome, revenue::Closing, value::ObjectId};

use crate::{ResponseMemory, ResponseMemoryBudget, StoreError, TenantRecord, TokenRecord};

/// The outcome of a command.
#[derive(Debug)]
pub enum Reply {
    /// The record as it is now.
    Record(RecordResponse),
    /// The deleted record, if there was one.
    Deleted(Option<RecordResponse>),
    /// The outcome of many bodies.
    Upserted(Upserted),
    /// The outcome of each body.
    Imported(Vec<UpsertOutcome>),
    /// Record of the token that was stored.
    TokenAdded(Box<TokenRecord>),
    /// Number of tokens that were revoked.
    TokensRevoked(usize),
    /// The tenant as it is now.
    Tenant(Box<TenantRecord>),
    /// Whether there is more data of a deleted tenant to remove.
    DeletionContinued(bool),
    /// Reply of an earlier command with the same key.
    Repeated(Box<Reply>),
    /// The events are stored.
    Tracked(TrackedEvents),
    /// Number of parked events that were processed.
    Replayed(usize),
    /// Whether the entry existed.
    EntryDeleted(bool),
    /// Whether there may be more to remove.
    Swept(bool),
    /// Progress of the renewal of licenses.
    AutoRenewed(AutoRenewal),
    /// Id of the person who is being erased, if they existed.
    Erasing(Option<ObjectId>),
    /// Whether there is more data of an erased person to remove.
    ErasureStep(bool),
    /// The closed month; none where data that reports read was changed meanwhile.
    Closed(Option<Box<Closing>>),
    /// Whether the month was closed.
    Reopened(bool),
    /// The entries are stored.
    Audited,
    /// Number of keys whose suppression was lifted.
    Unsuppressed(usize),
}

impl Reply {
    /// Takes room for the record of the reply.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub(crate) fn with_room(mut self, budget: &ResponseMemoryBudget) -> Result<Self, StoreError> {
        if let Self::Record(record) | Self::Deleted(Some(record)) = &mut self {
            record.take_room(budget)?;
        }
        Ok(self)
    }
}

/// The progress of a round of automatic renewal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoRenewal {
    /// The entry of the index up to which licenses were read.
    pub(crate) after: Option<Vec<u8>>,
    /// Number of licenses that were renewed.
    pub renewed: usize,
    /// Number of licenses that could not be renewed.
    pub failed: usize,
    /// Whether there are no more, or enough for a round.
    pub is_over: bool,
}

/// The outcome of many bodies.
#[derive(Clone, Debug)]
pub struct Upserted {
    /// JSON of the response.
    pub text: String,
    /// Number of items that were rejected.
    pub errors: usize,
    /// Names of properties that were sent and are not stored.
    pub ignored: Vec<String>,
}

/// The outcomes of events.
#[derive(Clone, Debug, Default)]
pub struct TrackedEvents {
    /// Reasons for which some events are parked: the codes of their entries in the report, each once.
    pub parked: Vec<String>,
    /// Indexes of events that are not stored, since they would have to be parked and the limit is reached.
    pub rejected: Vec<usize>,
    /// Names of members that are not stored, each once (R47).
    pub ignored: Vec<String>,
}

/// Id, version and JSON of a record, as a response returns it.
#[derive(Debug, Serialize, Deserialize)]
pub struct RecordResponse {
    /// `_id` of the record.
    pub id: ObjectId,
    /// `__v` of the record.
    pub version: i64,
    /// Hash of the properties that were computed at read, where there are any.
    pub computed: Option<u32>,
    /// JSON of the record.
    pub text: String,
    /// Names of properties that were sent and are not stored, after a write.
    #[serde(skip)]
    pub ignored: Vec<String>,
    /// Room that the text takes, where it takes any.
    #[serde(skip)]
    pub room: ResponseMemory,
}

impl RecordResponse {
    /// Takes room for the text.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub fn take_room(&mut self, budget: &ResponseMemoryBudget) -> Result<(), StoreError> {
        self.room = budget.empty();
        self.room.take(self.text.len())
    }
}
