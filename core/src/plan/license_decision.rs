//! The decision about a license: it is renewed, or marked as lost with a reason and an end (R23).

use super::{
    context::Ctx,
    planned::{Planned, Rejection},
    renew::{renew, undecided},
    update::update_stored,
};
use crate::{
    resources::{
        license::{LICENSE, LOST_REASON, RENEWAL_STATUS, SENT_OF_LOSS},
        license_terms::LOST,
    },
    schema::{CheckedBody, Lookup},
    value::{Document, Json, ObjectId, ValidationError},
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
    /// The errors of [`renew`] and [`lose`].
    pub fn plan(
        self,
        id: ObjectId,
        body: CheckedBody,
        lookup: &dyn Lookup,
        ctx: &mut Ctx,
    ) -> Result<Planned, Rejection> {
        match self {
            Self::Renew => renew(id, body, lookup, ctx),
            Self::Lose => lose(id, body, lookup, ctx),
        }
    }
}

/// Plans the loss of a license: it becomes `lost`, with the `lostReason` in `body`, which
/// [`crate::schema::checked_body::check_update`] has checked. A `toDate` in the body is the end of the license; without it a
/// fixed license keeps its end, and an open-ended license ends now.
///
/// # Errors
/// [`Rejection::NotFound`] when the license does not exist, [`Rejection::Conflict`] when it is already lost or renewed,
/// [`Rejection::Invalid`] without a reason, or with other properties.
pub fn lose(
    id: ObjectId,
    mut body: CheckedBody,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Planned, Rejection> {
    let license = undecided(id, lookup, ctx)?;
    let (loss, issues) = loss_of(&body.patch);
    body.patch = loss;
    body.add_issues(issues);
    update_stored(&LICENSE, id, license, body, lookup, ctx)
}

/// Changes that a loss makes to a license: its status, the reason, and its end date, where one was sent; and the issues
/// of properties that are missing or not allowed.
fn loss_of(sent: &Document) -> (Document, Vec<ValidationError>) {
    let others = sent.iter().filter(|(name, _)| !SENT_OF_LOSS.contains(name));
    let mut issues: Vec<ValidationError> = others
        .map(|(name, _)| {
            let message =
                format!("`{name}` cannot be sent with a loss: update the license instead");
            ValidationError::of_member(name, "not_allowed", message)
        })
        .collect();
    if LOST_REASON.get(sent).is_none_or(|reason| reason.trim().is_empty()) {
        let message = format!("`{}` is required", LOST_REASON.name);
        issues.push(ValidationError::of_member(LOST_REASON.name, "required", message));
    }
    let mut loss = Document::default();
    for name in SENT_OF_LOSS {
        if let Some(value) = sent.value(name) {
            loss.set(name, value.to_json());
        }
    }
    loss.set(RENEWAL_STATUS.name, Json::string(LOST));
    (loss, issues)
}
