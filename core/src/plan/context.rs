//! The input of planning besides the records: the time, and new ids.

use crate::{
    resources::settings::{self, SETTINGS},
    schema::{BodyOrigin, FillCtx, Lookup, LookupError, ResourceDef},
    value::{IdSequence, ObjectId, Timestamp, Zone},
};

/// Context in which one command of a tenant is planned, besides the records.
#[derive(Debug)]
pub struct Ctx {
    /// The time of the command.
    pub now: Timestamp,
    /// The time by which ages are judged: `now`, unless the caller does not trust the clock (D9).
    pub settled: Timestamp,
    /// Source of new ids.
    pub ids: IdSequence,
    /// The user that the caller acts as (R43).
    pub actor: Option<ObjectId>,
    /// Origin of the body.
    pub origin: BodyOrigin,
    /// The tenant's time zone, once it was looked up.
    zone: Option<Zone>,
}

impl Ctx {
    /// Context of a command.
    pub fn new(now: Timestamp, ids: IdSequence, actor: Option<ObjectId>) -> Self {
        Self { now, settled: now, ids, actor, origin: BodyOrigin::Request, zone: None }
    }

    /// Context in which fields of a resource are computed. The time zone is looked up once, however many records the
    /// command writes.
    pub(super) fn fill(
        &mut self,
        def: &ResourceDef,
        lookup: &dyn Lookup,
    ) -> Result<FillCtx, LookupError> {
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
