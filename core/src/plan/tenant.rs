//! What is made with a tenant and with a token: the tenant's settings, and a user to act as.

use super::{Change, Ctx, Refusal, create, create_as};
use crate::{
    resources::{
        settings::{SETTINGS, SETTINGS_ID},
        user::{self, USER},
    },
    schema::Lookup,
    value::{Document, Issue, Json, ObjectId},
};

/// Plans the settings of a new tenant, with every default (R41).
///
/// # Errors
/// [`Refusal::Lookup`] when the store cannot say.
pub fn settings(lookup: &dyn Lookup, ctx: &mut Ctx) -> Result<Vec<Change>, Refusal> {
    Ok(create_as(&SETTINGS, SETTINGS_ID, Document::default(), lookup, ctx)?.changes)
}

/// The user that a new token acts as: the one that is named, else one of its own, which is called as
/// the token is (R43).
///
/// # Errors
/// [`Refusal::Invalid`] when the user that is named is not there.
pub fn token_user(
    named: Option<ObjectId>,
    label: &str,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<(ObjectId, Vec<Change>), Refusal> {
    let Some(id) = named else {
        let mut patch = Document::default();
        patch.set(user::NAME.name, Json::string(label));
        let planned = create(&USER, patch, lookup, ctx)?;
        return Ok((planned.id, planned.changes));
    };
    if lookup.record(&USER, id)?.is_none() {
        let message = format!("`userId` must name a user that exists; found `{id}`");
        return Err(Refusal::Invalid(vec![Issue::of_member("userId", USER.not_found, message)]));
    }
    Ok((id, Vec::new()))
}
