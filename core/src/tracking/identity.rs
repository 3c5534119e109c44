//! Whose event it is (rules 1 and 2, R34, R35), and what is stored of it: the user where they are new
//! or lack something, and the activity where something was done.

use super::{Event, Identity};
use crate::{
    plan::{self, Activity, Appended, Change, Ctx, ParkedEvent, Refusal, Route},
    resources::{
        company::{self, COMPANY},
        end_user::{self, END_USER},
    },
    schema::{Lookup, LookupError, index},
    value::{Document, Json, ObjectId, RecordRef, Timestamp},
};

/// Weight of an event that names none (R36).
const DEFAULT_WEIGHT: f64 = 1.0;

/// Plans what is stored of an event that was received at `received_at`.
///
/// # Errors
/// When the store cannot say who is known.
pub fn plan(
    event: &Event,
    received_at: Timestamp,
    route: Route,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    let (mut changes, user) = match find_user(&event.identity, lookup)? {
        Found::Known(id, user) => {
            (fill_empty(id, &user, &event.identity, lookup, ctx)?, (id, user))
        }
        Found::Unknown(identity) => match find_company(&event.identity, lookup)? {
            Company::Found(company) => create_user(&identity, company, lookup, ctx)?,
            Company::Unknown(code) => {
                return Ok(vec![park(event, code, received_at, route, ctx)?]);
            }
        },
    };
    if let Some(action) = &event.action {
        let (end_user_id, user) = user;
        let activity = Activity {
            id: ctx.ids.next(ctx.now),
            company_id: end_user::COMPANY_ID.get(&user),
            end_user_id,
            action: action.clone(),
            asset: event.identity.asset.clone(),
            project: event.identity.project.clone(),
            info: event.info.clone(),
            count: 1,
            weight: event.weight.unwrap_or(DEFAULT_WEIGHT),
            passive: event.passive,
            date: event.date.unwrap_or(received_at),
            received_at,
            route,
            message_id: event.message_id.clone(),
        };
        changes.push(Change::Append(Appended::Activity(activity)));
    }
    Ok(changes)
}

/// Keeps an event whose user cannot be made yet, with the reason.
fn park(
    event: &Event,
    code: &str,
    received_at: Timestamp,
    route: Route,
    ctx: &mut Ctx,
) -> Result<Change, LookupError> {
    let event = serde_json::to_string(event).map_err(|error| LookupError(error.into()))?;
    let id = ctx.ids.next(ctx.now);
    let parked = ParkedEvent { id, code: code.to_owned(), received_at, route, event };
    Ok(Change::Append(Appended::Parked(parked)))
}

enum Found {
    Known(ObjectId, Document),
    /// With the identity under which a new user may be made.
    Unknown(Identity),
}

/// By `externalId`, then by e-mail. An e-mail that finds a user with another `externalId` does not
/// match: the id then names a new user, without the e-mail (R34).
fn find_user(identity: &Identity, lookup: &dyn Lookup) -> Result<Found, LookupError> {
    if let Some(id) = &identity.external_id
        && let Some((id, user)) = user_by(end_user::EXTERNAL_ID.name, id, lookup)?
    {
        return Ok(Found::Known(id, user));
    }
    let Some(email) = &identity.email else {
        return Ok(Found::Unknown(identity.clone()));
    };
    let Some((id, user)) = user_by(end_user::EMAIL.name, email, lookup)? else {
        return Ok(Found::Unknown(identity.clone()));
    };
    if identity.external_id.is_some() && end_user::EXTERNAL_ID.get(&user).is_some() {
        return Ok(Found::Unknown(Identity { email: None, ..identity.clone() }));
    }
    Ok(Found::Known(id, user))
}

fn user_by(
    row: &str,
    value: &str,
    lookup: &dyn Lookup,
) -> Result<Option<(ObjectId, Document)>, LookupError> {
    let key = END_USER.row(row).map(|row| index::key_of(row, value)).unwrap_or_default();
    let Some(id) = lookup.find(&END_USER, row, &key)? else {
        return Ok(None);
    };
    Ok(lookup.record(&END_USER, id)?.map(|user| (id, user)))
}

enum Company {
    Found(ObjectId),
    /// With the code of the reason.
    Unknown(&'static str),
}

/// The company that was sent, never guessed around when it is unknown; else the one that owns the
/// e-mail's domain (R35).
fn find_company(identity: &Identity, lookup: &dyn Lookup) -> Result<Company, LookupError> {
    let (found, reason) = match (&identity.company, &identity.email) {
        (Some(sent), _) => (sent_company(sent, lookup)?, "company_unknown"),
        (None, Some(email)) => (company::by_domain(email, lookup)?, "user_unknown"),
        (None, None) => (None, "user_unknown"),
    };
    Ok(found.map_or(Company::Unknown(reason), Company::Found))
}

/// By `externalId`, else in any of the forms of R2.
fn sent_company(sent: &str, lookup: &dyn Lookup) -> Result<Option<ObjectId>, LookupError> {
    if let Some(id) = lookup.find(&COMPANY, company::EXTERNAL_ID.name, sent)? {
        return Ok(Some(id));
    }
    match RecordRef::parse(sent) {
        Some(reference) => lookup.locate(&COMPANY, &reference),
        None => Ok(None),
    }
}

/// Rule 1: a new user of a known company.
fn create_user(
    identity: &Identity,
    company: ObjectId,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<(Vec<Change>, (ObjectId, Document)), LookupError> {
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
    match plan::create(&END_USER, user, lookup, ctx) {
        Ok(planned) => Ok((planned.changes, (planned.id, planned.document))),
        Err(refusal) => Err(unplannable(refusal)),
    }
}

/// Rule 2: what is sent fills only what is empty; nothing is overwritten, and an e-mail that another
/// user holds stays with them.
fn fill_empty(
    id: ObjectId,
    user: &Document,
    identity: &Identity,
    lookup: &dyn Lookup,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    let mut patch = Document::default();
    let nameless =
        end_user::FIRST_NAME.get(user).is_none() && end_user::LAST_NAME.get(user).is_none();
    if let (true, Some(name)) = (nameless, &identity.name) {
        patch.set(end_user::NAME.name, Json::string(name));
    }
    let keys = [
        (end_user::EXTERNAL_ID.name, &identity.external_id),
        (end_user::EMAIL.name, &identity.email),
    ];
    for (row, value) in keys {
        if let Some(value) = value
            && user.value(row).is_none()
            && user_by(row, value, lookup)?.is_none()
        {
            patch.set(row, Json::string(value));
        }
    }
    if patch.is_empty() {
        return Ok(Vec::new());
    }
    match plan::update(&END_USER, id, patch, lookup, ctx) {
        Ok(planned) => Ok(planned.changes),
        Err(refusal) => Err(unplannable(refusal)),
    }
}

/// What is planned here has been looked up first, so that only the store itself can be the reason.
fn unplannable(refusal: Refusal) -> LookupError {
    match refusal {
        Refusal::Lookup(error) => error,
        // Codes only: messages repeat what was sent, and this text is logged.
        Refusal::Invalid(issues) | Refusal::Conflict(issues) => {
            let codes: Vec<_> = issues.iter().map(|issue| issue.code).collect();
            LookupError(format!("an event's user cannot be stored: {}", codes.join(", ")).into())
        }
        Refusal::NotFound => LookupError("an event's user is not there".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{plan::memory::Memory, value::IdSequence};

    struct World {
        store: Memory,
        ctx: Ctx,
    }

    impl World {
        /// Two companies, `acme` and `initech`, each with a domain of its own.
        fn new() -> Self {
            let now = Timestamp::parse("2026-11-20T12:00:00Z").unwrap();
            let ctx = Ctx { now, ids: IdSequence::new([0; 5]), actor: None };
            let mut world = Self { store: Memory::default(), ctx };
            for name in ["acme", "initech"] {
                let text = format!(
                    r#"{{"name":"{name}","externalId":"{name}","domains":["{name}.example"]}}"#
                );
                let company = Document::parse(text.as_bytes()).unwrap();
                let planned =
                    plan::create(&COMPANY, company, &world.store, &mut world.ctx).unwrap();
                world.store.apply(&planned.changes);
            }
            world
        }

        fn send(&mut self, event: &str) {
            let event = super::super::realtime::read(event.as_bytes(), self.ctx.now).unwrap();
            let now = self.ctx.now;
            let changes = plan(&event, now, Route::Realtime, &self.store, &mut self.ctx).unwrap();
            self.store.apply(&changes);
        }

        /// One line a user: company, externalId, e-mail, name.
        fn users(&self) -> Vec<String> {
            let company = |user: &Document| {
                let id = end_user::COMPANY_ID.get(user)?;
                let company = self.store.record(&COMPANY, id).ok()??;
                Some(company::NAME.get(&company)?.into_owned())
            };
            let users = self.store.records(&END_USER);
            users
                .map(|user| {
                    let text = |row| user.text(row).unwrap_or_else(|| "-".into()).into_owned();
                    let parts = [text("externalId"), text("email"), text("name")];
                    format!("{} {}", company(user).unwrap_or_default(), parts.join(" "))
                })
                .collect()
        }
    }

    #[test]
    fn an_unknown_user_with_a_customer_id_is_made() {
        let mut world = World::new();
        world.send(r#"{"externalId":"7","name":"Ada Lovelace","companyExternalId":"acme","action":"Login"}"#);
        assert_eq!(world.users(), ["acme 7 - Ada Lovelace"]);
        assert_eq!(world.store.activities.len(), 1);
    }

    #[test]
    fn an_unknown_user_is_mapped_by_the_domain_of_their_e_mail() {
        let mut world = World::new();
        world.send(r#"{"email":"Ada@Initech.example"}"#);
        assert_eq!(world.users(), ["initech - Ada@Initech.example -"]);
        assert!(world.store.activities.is_empty());
    }

    #[test]
    fn a_customer_id_that_is_unknown_is_never_guessed_around() {
        let mut world = World::new();
        world.send(r#"{"email":"ada@acme.example","companyExternalId":"nobody","action":"Login"}"#);
        assert!(world.users().is_empty());
        assert_eq!(world.store.parked.len(), 1);
        assert_eq!(world.store.parked[0].code, "company_unknown");
        assert!(world.store.parked[0].event.contains("Login"));
    }

    #[test]
    fn an_event_of_nobody_known_is_parked() {
        let mut world = World::new();
        world.send(r#"{"externalId":"7","action":"Login"}"#);
        assert_eq!(world.store.parked[0].code, "user_unknown");
    }

    #[test]
    fn what_is_empty_is_filled_and_nothing_is_overwritten() {
        let mut world = World::new();
        world.send(r#"{"externalId":"7","companyExternalId":"acme"}"#);
        world.send(r#"{"externalId":"7","email":"ada@acme.example","name":"Ada"}"#);
        world.send(r#"{"externalId":"7","email":"other@acme.example","name":"Bob","companyExternalId":"initech"}"#);
        assert_eq!(world.users(), ["acme 7 ada@acme.example Ada"]);
        world.send(r#"{"email":"bob@acme.example"}"#);
        world.send(r#"{"email":"BOB@acme.example","externalId":"8"}"#);
        assert_eq!(world.users()[1], "acme 8 bob@acme.example -");
    }

    #[test]
    fn an_e_mail_of_another_user_stays_with_them() {
        let mut world = World::new();
        world.send(r#"{"externalId":"7","email":"ada@acme.example"}"#);
        world.send(r#"{"externalId":"8","companyExternalId":"acme"}"#);
        world.send(r#"{"externalId":"8","email":"ada@acme.example"}"#);
        assert_eq!(world.users(), ["acme 7 ada@acme.example -", "acme 8 - -"]);
    }

    #[test]
    fn an_id_that_is_new_names_a_new_user_without_the_e_mail_of_another() {
        let mut world = World::new();
        world.send(r#"{"externalId":"7","email":"ada@acme.example"}"#);
        world
            .send(r#"{"externalId":"9","email":"ada@acme.example","companyExternalId":"initech"}"#);
        assert_eq!(world.users(), ["acme 7 ada@acme.example -", "initech 9 - -"]);
    }

    #[test]
    fn an_e_mail_of_another_user_still_says_which_company() {
        let mut world = World::new();
        world.send(r#"{"externalId":"7","email":"ada@acme.example"}"#);
        world.send(r#"{"externalId":"9","email":"ada@acme.example"}"#);
        assert_eq!(world.users(), ["acme 7 ada@acme.example -", "acme 9 - -"]);
    }

    #[test]
    fn a_company_is_found_by_its_own_id_too() {
        let mut world = World::new();
        let id = world.store.records(&COMPANY).next().unwrap().text("_id").unwrap().into_owned();
        world.send(&format!(r#"{{"externalId":"7","companyExternalId":"{id}"}}"#));
        world.send(r#"{"externalId":"8","companyExternalId":"extid-initech"}"#);
        assert_eq!(world.users(), ["acme 7 - -", "initech 8 - -"]);
    }
}
