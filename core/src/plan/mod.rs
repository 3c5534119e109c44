//! What a command does: from what was sent and what is stored to the changes and the reply.
//!
//! Planning is pure. `lookup` shows the records as they are, [`Ctx`] carries now and the ids to
//! use, and every rejection is decided here: applying the changes cannot fail for a reason of the rules.

mod answer;
mod append;
mod change;
mod create;
mod delete;
mod erase;
mod ignored;
pub mod memory;
mod merge;
pub mod overlay;
mod tenant;
mod update;
pub mod upsert;

#[cfg(test)]
mod tests;

pub use self::{
    answer::{answer, answer_rows, is_answered_as_stored, stored_text},
    append::{
        Activity, Appended, Finding, MAX_PARKED, MAX_PARKED_BYTES, MAX_REPORTED, PARKED_DAYS,
        ParkedEvent, REPORTED_DAYS, Route, Wait,
    },
    change::{Basis, Change, version_of},
    create::{create, create_as},
    delete::delete,
    erase::{Person, clear_ticket},
    ignored::{ignored, unknown_properties},
    tenant::{mark_token_user, settings, token_user},
    update::update,
};
use crate::{
    resources::settings::{self, SETTINGS},
    schema::{FillCtx, Lookup, LookupError, ResourceDef},
    value::{Document, IdSequence, Issue, ObjectId, Timestamp, Zone},
};

/// What one command of a tenant is planned with besides the records.
#[derive(Debug)]
pub struct Ctx {
    /// The moment of the command.
    pub now: Timestamp,
    /// The time by which ages are judged: `now`, unless the caller does not trust the clock (D9).
    pub settled: Timestamp,
    /// Where new ids come from.
    pub ids: IdSequence,
    /// The user that the caller acts as (R43).
    pub actor: Option<ObjectId>,
    /// The tenant's time zone, once it was looked up.
    zone: Option<Zone>,
}

impl Ctx {
    /// What a command is planned with.
    pub fn new(now: Timestamp, ids: IdSequence, actor: Option<ObjectId>) -> Self {
        Self { now, settled: now, ids, actor, zone: None }
    }

    /// What rows of a resource are computed with. The time zone is looked up once, however many records
    /// the command writes.
    fn fill(&mut self, def: &ResourceDef, lookup: &dyn Lookup) -> Result<FillCtx, LookupError> {
        if *def == SETTINGS {
            self.zone = None;
        }
        let zone = match self.zone {
            _ if !def.uses_time_zone => Zone::UTC,
            Some(zone) => zone,
            None => settings::time_zone(&settings::of_tenant(lookup)?),
        };
        if def.uses_time_zone {
            self.zone = Some(zone);
        }
        Ok(FillCtx { now: self.now, zone })
    }
}

/// A command that can be carried out.
#[derive(Debug)]
pub struct Planned {
    /// What is to be written, in order; empty when nothing changes.
    pub changes: Vec<Change>,
    /// The record that the command was about.
    pub id: ObjectId,
    /// The record as it will be stored.
    pub document: Document,
}

/// Why a command cannot be carried out.
#[derive(Debug)]
pub enum Refusal {
    /// The record is not there.
    NotFound,
    /// What was sent breaks a rule.
    Invalid(Vec<Issue>),
    /// Another record is in the way.
    Conflict(Vec<Issue>),
    /// The store could not say.
    Lookup(LookupError),
}

impl From<LookupError> for Refusal {
    fn from(error: LookupError) -> Self {
        Self::Lookup(error)
    }
}
