//! Lose: a license that its customer does not renew, why, and by when it ends (R23).

use super::{
    context::Ctx,
    planned::{Planned, Refusal},
    renew::{renew, undecided},
    update::update_stored,
};
use crate::{
    resources::{license::LICENSE, license_renewal::loss_of},
    schema::Lookup,
    value::{Document, ObjectId},
};

/// How the renewal of a license is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RenewalDecision {
    /// See [`renew`].
    Renew,
    /// See [`lose`].
    Lose,
}

impl RenewalDecision {
    /// Plans the decision.
    ///
    /// # Errors
    /// Those of [`renew`] and [`lose`].
    pub fn plan(
        self,
        id: ObjectId,
        sent: &Document,
        lookup: &dyn Lookup,
        ctx: &mut Ctx,
    ) -> Result<Planned, Refusal> {
        match self {
            Self::Renew => renew(id, sent, lookup, ctx),
            Self::Lose => lose(id, sent, lookup, ctx),
        }
    }
}

/// Plans the loss of a license: it becomes `lost`, with the `lostReason` in `sent`, a body that
/// [`crate::schema::shape::check_update`] has checked. A `toDate` in it is the end of the license; without one a fixed
/// license lasts as long as its terms say, and another one ends now.
///
/// # Errors
/// [`Refusal::NotFound`] when the license is not there, [`Refusal::Conflict`] when it is lost, or renewed, already,
/// [`Refusal::Invalid`] without reason, or with other properties.
pub fn lose(
    id: ObjectId,
    sent: &Document,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Refusal> {
    let license = undecided(id, lookup, ctx)?;
    let loss = loss_of(sent).map_err(Refusal::Invalid)?;
    update_stored(&LICENSE, id, license, loss, lookup, ctx)
}
