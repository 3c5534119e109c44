//! The records that are created with a tenant or a token: the tenant's settings, and the token's user.

use super::{
    change::Change,
    context::Ctx,
    create::{create, create_as},
    planned::Rejection,
    record_update,
};
use crate::{
    resources::{
        settings::{SETTINGS, SETTINGS_ID},
        user::{self, USER},
    },
    schema::{CheckedBody, FillCtx, Lookup},
    value::{Document, Json, ObjectId, RecordRef, Timestamp, ValidationError, quoted::quoted},
};

const CREATED_AT: &str = "createdAt";
/// How much later than a token its user may have been stored, in milliseconds: the writer replies within this time.
const MAX_LATER_MS: i64 = 60_000;

/// Plans the settings of a new tenant, with every default (R41).
///
/// # Errors
/// [`Rejection::Lookup`] if the store cannot be read.
pub fn settings(lookup: &dyn Lookup, ctx: &mut Ctx) -> Result<Vec<Change>, Rejection> {
    Ok(create_as(&SETTINGS, SETTINGS_ID, CheckedBody::trusted(Document::default()), lookup, ctx)?
        .changes)
}

/// The user that a new token acts as: the named one, else a new user with the token's label as name, and a mark (R43,
/// R57).
///
/// # Errors
/// [`Rejection::Invalid`] when the named user does not exist.
pub fn token_user(
    named: Option<&RecordRef>,
    label: &str,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<(ObjectId, Vec<Change>), Rejection> {
    let Some(reference) = named else {
        let mut patch = Document::default();
        patch.set(user::NAME.name, Json::string(label));
        patch.set(user::FOR_TOKEN.name, Json::bool(true));
        let planned = create(&USER, CheckedBody::trusted(patch), lookup, ctx)?;
        return Ok((planned.id, planned.changes));
    };
    if let Some(id) = lookup.locate(&USER, reference)?
        && lookup.record(&USER, id)?.is_some()
    {
        return Ok((id, Vec::new()));
    }
    let found = quoted(&reference.to_string());
    let message = format!("`userId` must name a user that exists; found {found}");
    Err(Rejection::Invalid(vec![ValidationError::of_member("userId", USER.not_found, message)]))
}

/// Marks a user that was created for a token before marks existed: its name is the token's label, it has nothing else,
/// and it was stored with the token (R57).
///
/// # Errors
/// [`Rejection::Lookup`] if the store cannot be read.
pub fn mark_token_user(
    user: ObjectId,
    label: &str,
    issued_at: Timestamp,
    lookup: &dyn Lookup,
    now: Timestamp,
) -> Result<Vec<Change>, Rejection> {
    let Some(stored) = lookup.record(&USER, user)? else { return Ok(Vec::new()) };
    let known = [user::ID.name, user::NAME.name, CREATED_AT, "updatedAt", "__v"];
    let is_plain = stored.iter().all(|(name, _)| known.contains(&name));
    let created = stored.text(CREATED_AT).and_then(|at| Timestamp::parse(&at));
    let came_with_it = created.is_some_and(|at| {
        (0..=MAX_LATER_MS).contains(&at.as_ms().saturating_sub(issued_at.as_ms()))
    });
    if !is_plain || !came_with_it || stored.text(user::NAME.name).as_deref() != Some(label) {
        return Ok(Vec::new());
    }
    let mut document = stored.clone();
    document.set(user::FOR_TOKEN.name, Json::bool(true));
    let document = record_update::fill(&USER, document, FillCtx::in_utc(now));
    let (added, removed) = (Vec::new(), Vec::new());
    Ok(vec![Change::Put { def: &USER, id: user, before: Some(stored), document, added, removed }])
}
