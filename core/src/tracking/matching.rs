//! Matching of an event (rules 1, 2 and 5, R34, R35): its user and company, and what the event adds to the user.

use super::{
    event::{Event, Identity},
    event_lookup::{EventLookup, KnownUser},
    integration_issues::Note,
};
use crate::{
    plan::{self, Change, Ctx, Planned, Rejection},
    resources::{
        company::{self, COMPANY},
        end_user::{self, END_USER},
    },
    schema::{CheckedBody, Lookup, LookupError, index},
    value::{Document, Json, ObjectId, RecordRef},
};

/// User of an identity.
pub(super) enum UserMatch {
    Known(KnownUser),
    /// With the identity under which a new user may be created.
    Unknown(Identity),
}

/// Whether an identity names an erased, suppressed person.
pub(super) fn is_suppressed(identity: &Identity, lookup: &dyn Lookup) -> Result<bool, LookupError> {
    let keys = [
        (end_user::EXTERNAL_ID.name, &identity.external_id),
        (end_user::EMAIL.name, &identity.email),
    ];
    for (row, value) in keys {
        if let Some(value) = value
            && end_user::is_suppressed(row, value, lookup)?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Finds the user by `externalId`, then by e-mail. An e-mail of a user with another `externalId` does not match: the id
/// then belongs to a new user, without the e-mail (R34). Conflicts are noted.
pub(super) fn find_user(
    identity: &Identity,
    lookup: &dyn EventLookup,
    notes: &mut Vec<Note>,
) -> Result<UserMatch, LookupError> {
    let by_email = match &identity.email {
        Some(email) => user_by(end_user::EMAIL.name, email, lookup)?,
        None => None,
    };
    let Some(external_id) = &identity.external_id else {
        return Ok(by_email.map_or_else(|| UserMatch::Unknown(identity.clone()), UserMatch::Known));
    };
    if let Some(user) = user_by(end_user::EXTERNAL_ID.name, external_id, lookup)? {
        if let Some(other) = by_email.filter(|other| other.id != user.id) {
            notes.push(Note::IdentitiesDiffer(user.id, other.id));
        }
        return Ok(UserMatch::Known(user));
    }
    Ok(match by_email {
        None => UserMatch::Unknown(identity.clone()),
        Some(user) if !user.has_external_id => UserMatch::Known(user),
        Some(user) => {
            notes.push(Note::EmailTaken(user.id));
            UserMatch::Unknown(Identity { email: None, ..identity.clone() })
        }
    })
}

fn user_by(
    row: &str,
    value: &str,
    lookup: &dyn EventLookup,
) -> Result<Option<KnownUser>, LookupError> {
    match lookup.find(&END_USER, row, &user_key(row, value))? {
        Some(id) => lookup.user(id),
        None => Ok(None),
    }
}

/// The form in which an id or e-mail of a user is compared.
pub(super) fn user_key(row: &str, value: &str) -> String {
    END_USER.field(row).map(|row| index::key_of(row, value)).unwrap_or_default()
}

/// Which company an identity names.
pub(super) enum CompanyMatch {
    Found(ObjectId),
    /// No company has the id that was sent.
    Unknown,
    /// No id was sent, and the e-mail determines no company.
    NotSaid,
}

/// Finds the company that was sent, without a guess when it is unknown; else the group that an SDK named, or the owner
/// of the e-mail's domain (R35).
pub(super) fn find_company(
    event: &Event,
    lookup: &dyn Lookup,
) -> Result<CompanyMatch, LookupError> {
    let identity = &event.identity;
    if let (None, Some(group)) = (&identity.company, &event.group)
        && let Some(found) = sent_company(group, lookup)?
    {
        return Ok(CompanyMatch::Found(found));
    }
    let (found, otherwise) = match (&identity.company, &identity.email) {
        (Some(sent), _) => (sent_company(sent, lookup)?, CompanyMatch::Unknown),
        (None, Some(email)) => (company::by_domain(email, lookup)?, CompanyMatch::NotSaid),
        (None, None) => (None, CompanyMatch::NotSaid),
    };
    Ok(found.map_or(otherwise, CompanyMatch::Found))
}

/// Finds the company that was sent by `externalId`, else in any of the forms of R2.
pub(super) fn sent_company(
    sent: &str,
    lookup: &dyn Lookup,
) -> Result<Option<ObjectId>, LookupError> {
    if let Some(id) = lookup.find(&COMPANY, company::EXTERNAL_ID.name, sent)? {
        return Ok(Some(id));
    }
    match RecordRef::parse(sent) {
        Some(reference) => lookup.locate(&COMPANY, &reference),
        None => Ok(None),
    }
}

/// Notes a company that was sent for a known user and is not theirs: the event keeps the user's (R34).
pub(super) fn check_company(
    identity: &Identity,
    user: &KnownUser,
    lookup: &dyn Lookup,
    notes: &mut Vec<Note>,
) -> Result<(), LookupError> {
    let Some(sent) = &identity.company else {
        return Ok(());
    };
    match sent_company(sent, lookup)? {
        None => notes.push(Note::CompanyNotOfUser(sent.clone())),
        Some(company) if Some(company) != user.company => {
            notes.push(Note::CompanyDiffers(user.id, company));
        }
        Some(_) => {}
    }
    Ok(())
}

/// Creates a user of a known company (rule 1).
pub(super) fn create_user(
    identity: &Identity,
    company: ObjectId,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<(Vec<Change>, KnownUser), LookupError> {
    let mut user = Document::default();
    user.set(end_user::COMPANY_ID.name, Json::string(&company.to_string()));
    let sent = [
        (end_user::EXTERNAL_ID.name, &identity.external_id),
        (end_user::EMAIL.name, &identity.email),
        (end_user::NAME.name, &identity.name),
    ];
    for (name, value) in sent {
        if let Some(value) = value {
            user.set(name, Json::string(value));
        }
    }
    match plan::create(&END_USER, CheckedBody::trusted(user), lookup, ctx) {
        Ok(planned) => Ok(known(planned)),
        Err(rejection) => Err(unplannable(rejection)),
    }
}

/// Fills only empty properties of the user (rule 2): nothing is overwritten, and an e-mail of another user stays with
/// them.
pub(super) fn fill_empty(
    user: KnownUser,
    identity: &Identity,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<(Vec<Change>, KnownUser), LookupError> {
    let mut patch = Document::default();
    if let (false, Some(name)) = (user.has_name, &identity.name) {
        patch.set(end_user::NAME.name, Json::string(name));
    }
    let keys = [
        (end_user::EXTERNAL_ID.name, &identity.external_id, user.has_external_id),
        (end_user::EMAIL.name, &identity.email, user.has_email),
    ];
    for (row, value, is_set) in keys {
        if let Some(value) = value
            && !is_set
            && user_by(row, value, lookup)?.is_none()
        {
            patch.set(row, Json::string(value));
        }
    }
    if patch.is_empty() {
        return Ok((Vec::new(), user));
    }
    match plan::update(&END_USER, user.id, CheckedBody::trusted(patch), lookup, ctx) {
        Ok(planned) => Ok(known(planned)),
        Err(rejection) => Err(unplannable(rejection)),
    }
}

/// The user after the change.
fn known(planned: Planned) -> (Vec<Change>, KnownUser) {
    let user = KnownUser::from_record(planned.id, &planned.document);
    (planned.changes, user)
}

/// Error for a planned change that was rejected: the change was looked up first, so the store itself must be the
/// reason.
pub(super) fn unplannable(rejection: Rejection) -> LookupError {
    match rejection {
        Rejection::Lookup(error) => error,
        // Codes only: messages repeat values that were sent, and this text is logged.
        Rejection::Invalid(issues) | Rejection::Conflict(issues) => {
            let codes: Vec<_> = issues.iter().map(|issue| issue.code).collect();
            LookupError(
                format!("an event's user or company cannot be stored: {}", codes.join(", ")).into(),
            )
        }
        Rejection::NotFound => LookupError("an event's user or company does not exist".into()),
    }
}
