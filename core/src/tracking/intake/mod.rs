//! Processing of an event: creates or fills in the user, stores the activity, parks the event if its user or company is
//! unknown, and reports issues.

use super::{
    duplicates::is_repeated,
    event::{Event, Identity, PipelineCall},
    event_notes::Note,
    group, integration_issues,
    matching::{self, CompanyMatch, UserMatch, user_key},
    pipeline::{Ignored, IgnoredReason},
    script::is_placeholder,
};
use crate::{
    plan::{
        Activity, AppendedRow, Change, Ctx, Finding, ParkedEvent, ParkedWait, Route, memory::Memory,
    },
    resources::{
        asset::{self, ASSET},
        company::{self, COMPANY},
        end_user::{self, END_USER},
        project::{self, PROJECT},
    },
    schema::{Lookup, LookupError, ResourceDef},
    value::{
        ObjectId, RecordRef, Timestamp, email,
        engagement::{ActivityWeight, EngagementUpdate},
    },
};

#[doc(inline)]
pub use super::{
    duplicates::MESSAGE_ID_MS,
    event_lookup::{EventLookup, KnownUser, ReceivedEvent, TrackingSettings},
};

/// Weight of an event without one (R36).
const DEFAULT_WEIGHT: f64 = 1.0;
/// Milliseconds of an hour.
const HOUR_MS: i64 = 60 * 60 * 1_000;

/// The hour of a time, counted from 1970 in UTC: that by which new users are counted.
pub fn hour_of(time: Timestamp) -> i64 {
    time.as_ms().div_euclid(HOUR_MS)
}

impl EventLookup for Memory {
    fn last_received(&self, message_id: &str, _: &Ctx) -> Result<Option<Timestamp>, LookupError> {
        Ok(self.messages.get(message_id).copied())
    }

    fn new_end_users(&self, now: Timestamp) -> Result<u64, LookupError> {
        let is_in_hour = |at: &&Timestamp| hour_of(**at) == hour_of(now);
        Ok(self.new_end_users.iter().filter(is_in_hour).count() as u64)
    }
}

/// Plans what is stored of an event. A duplicate, whose id was received within the last 7 days, has been stored
/// already, so no changes are planned (R39). An event that names an erased person is not stored.
///
/// # Errors
/// When the store cannot be read.
pub fn plan(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    if let Some(page) = page_of(sent.event).filter(|_| !sent.settings.track_pages) {
        let ignored = Ignored { call: page.to_owned(), reason: IgnoredReason::Type };
        return Ok(vec![found(integration_issues::ignored(
            sent.route,
            &ignored,
            sent.received_at,
        ))]);
    }
    if matching::is_suppressed(&sent.event.identity, lookup)? {
        return Ok(vec![found(integration_issues::suppressed(sent.route, sent.received_at))]);
    }
    let mut changes = Vec::new();
    if is_repeated(sent, lookup, ctx)? {
        return Ok(changes);
    }
    // The id of a discarded event does not count, so that the event can be sent again.
    let message = sent.event.message_id.clone();
    let message = message.map(|id| AppendedRow::Message(id, ctx.settled, sent.route));
    match settle(sent, lookup, ctx)? {
        EventOutcome::Stored(stored) => {
            changes.extend(message.map(Change::Append));
            changes.extend(stored);
        }
        EventOutcome::Waits(note, also) => {
            let finding = note.finding(sent);
            if is_parked(sent.route, &note) {
                changes.extend(message.map(Change::Append));
                changes.push(park(sent, &finding, ctx)?);
            }
            changes.push(found(finding));
            changes.extend(also.iter().map(|note| found(note.finding(sent))));
        }
    }
    Ok(changes)
}

/// Type of a call that views a page or a screen.
fn page_of(event: &Event) -> Option<&'static str> {
    match event.call {
        PipelineCall::Page => Some("page"),
        PipelineCall::Screen => Some("screen"),
        PipelineCall::Event | PipelineCall::Unnamed | PipelineCall::Group(_) => None,
    }
}

/// Plans what is stored of a parked event; none while it has to stay parked.
///
/// # Errors
/// When the store cannot be read.
pub fn replay(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<Option<Vec<Change>>, LookupError> {
    if matching::is_suppressed(&sent.event.identity, lookup)? {
        // The person is being erased, and the event with them.
        return Ok(None);
    }
    Ok(match settle(sent, lookup, ctx)? {
        EventOutcome::Stored(changes) => Some(changes),
        EventOutcome::Waits(..) => None,
    })
}

fn found(finding: Finding) -> Change {
    Change::Append(AppendedRow::Finding(Box::new(finding)))
}

enum EventOutcome {
    Stored(Vec<Change>),
    /// The user cannot be created yet, for this reason; with the other notes.
    Waits(Note, Vec<Note>),
}

fn settle(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<EventOutcome, LookupError> {
    let identity = &sent.event.identity;
    let mut notes = placeholders(identity);
    notes.extend((sent.event.call == PipelineCall::Unnamed).then_some(Note::EventMissing));
    let (mut changes, user) = match matching::find_user(identity, lookup, &mut notes)? {
        UserMatch::Known(user) => {
            matching::check_company(sent.event, &user, lookup, &mut notes)?;
            matching::fill_empty(user, identity, lookup, ctx)?
        }
        UserMatch::Unknown(new) => match matching::find_company(sent.event, lookup, &mut notes)? {
            CompanyMatch::Found(company) => match why_not_made(sent.settings, lookup, ctx)? {
                None => create_user(&new, company, sent.settings, lookup, ctx)?,
                Some(note) => return Ok(EventOutcome::Waits(note, notes)),
            },
            CompanyMatch::Unknown => {
                return Ok(EventOutcome::Waits(why_no_company(sent, lookup, ctx)?, notes));
            }
            CompanyMatch::NotSaid => return Ok(EventOutcome::Waits(Note::UserUnknown, notes)),
        },
    };
    let activity = activity(sent, &user, lookup, &mut notes, ctx)?;
    changes.push(engaged(sent, &user, activity.as_deref(), ctx));
    changes.extend(activity.map(|activity| Change::Append(AppendedRow::Activity(activity))));
    changes.extend(notes.iter().map(|note| found(note.finding(sent))));
    Ok(EventOutcome::Stored(changes))
}

/// Reason for which the company that was sent is missing: that of a `group` call would have been created, if it could.
fn why_no_company(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &Ctx,
) -> Result<Note, LookupError> {
    let not_made = match sent.event.call {
        PipelineCall::Group(_) => group::why_not_made(sent.settings, lookup, ctx)?,
        _ => None,
    };
    let company = sent.event.company_named().unwrap_or_default();
    Ok(not_made.unwrap_or_else(|| Note::CompanyUnknown(company.to_owned())))
}

/// Reason for which no user is created now, though their company is known (R35, R41).
fn why_not_made(
    settings: TrackingSettings,
    lookup: &dyn EventLookup,
    ctx: &Ctx,
) -> Result<Option<Note>, LookupError> {
    if !settings.auto_create_end_users {
        return Ok(Some(Note::UserNotMade));
    }
    Ok(match settings.max_new_end_users_per_hour {
        Some(max) if lookup.new_end_users(ctx.settled)? >= max => Some(Note::TooManyUsers(max)),
        _ => None,
    })
}

/// Creates a user, who counts towards the limit, if there is one.
fn create_user(
    identity: &Identity,
    company: ObjectId,
    settings: TrackingSettings,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<(Vec<Change>, KnownUser), LookupError> {
    let (mut changes, user) = matching::create_user(identity, company, lookup, ctx)?;
    if settings.max_new_end_users_per_hour.is_some() {
        changes.push(Change::Append(AppendedRow::NewEndUser(ctx.settled)));
    }
    Ok((changes, user))
}

fn placeholders(identity: &Identity) -> Vec<Note> {
    let placeholder = |id: &Option<String>| id.clone().filter(|id| is_placeholder(id));
    let user = placeholder(&identity.external_id).map(Note::PlaceholderUser);
    let company = placeholder(&identity.company).map(Note::PlaceholderCompany);
    user.into_iter().chain(company).collect()
}

/// Activity of an event with an action; none for one with a `count` of 0 (R36, R37).
fn activity(
    sent: &ReceivedEvent<'_>,
    user: &KnownUser,
    lookup: &dyn Lookup,
    notes: &mut Vec<Note>,
    ctx: &mut Ctx,
) -> Result<Option<Box<Activity>>, LookupError> {
    let ReceivedEvent { event, received_at, route, .. } = *sent;
    let count = event.count.unwrap_or(1);
    let Some(action) = event.action.clone().filter(|_| count > 0) else {
        return Ok(None);
    };
    let Identity { asset, project, .. } = &event.identity;
    let matched = |def, row, sent: &Option<String>| match sent {
        Some(key) => lookup.find(def, row, key),
        None => Ok(None),
    };
    let asset_id = matched(&ASSET, asset::EXTERNAL_ID.name, asset)?;
    let project_id = matched(&PROJECT, project::EXTERNAL_ID.name, project)?;
    notes.extend(asset.clone().filter(|_| asset_id.is_none()).map(Note::AssetUnknown));
    notes.extend(project.clone().filter(|_| project_id.is_none()).map(Note::ProjectUnknown));
    Ok(Some(Box::new(Activity {
        id: ctx.ids.next(ctx.now)?,
        company_id: user.company,
        end_user_id: user.id,
        action,
        asset: asset.clone(),
        project: project.clone(),
        info: event.info.clone(),
        count,
        weight: event.weight.unwrap_or(DEFAULT_WEIGHT),
        passive: event.passive,
        date: event.date.unwrap_or(received_at),
        received_at,
        route,
        message_id: event.message_id.clone(),
        asset_id,
        project_id,
    })))
}

/// Addition of the event to the engagement of its user. A date after its receipt comes from a wrong clock: then the
/// clock of receipt counts (R36, R52).
fn engaged(
    sent: &ReceivedEvent<'_>,
    user: &KnownUser,
    activity: Option<&Activity>,
    ctx: &Ctx,
) -> Change {
    let counts = !sent.event.passive;
    let date = sent.event.date.unwrap_or(sent.received_at).min(sent.received_at);
    let beat = activity.filter(|_| counts).map(|activity| ActivityWeight {
        day: date.epoch_days(),
        count: activity.count,
        weight: activity.weight,
    });
    Change::Append(AppendedRow::Engaged(EngagementUpdate {
        end_user_id: user.id,
        company_id: user.company,
        seen_at: counts.then_some(date.min(ctx.now)),
        beat,
        stored_at: ctx.settled,
    }))
}

/// Whether an event that has to wait is parked: on route 3 an event of no known company is discarded (rule 5).
fn is_parked(route: Route, note: &Note) -> bool {
    route != Route::Pipeline || note.is_of_settings()
}

/// Parks an event with a user that cannot be created yet, with the reason.
fn park(sent: &ReceivedEvent<'_>, finding: &Finding, ctx: &mut Ctx) -> Result<Change, LookupError> {
    let event = serde_json::to_string(sent.event).map_err(|error| LookupError(error.into()))?;
    let mut waits = waits_of(&sent.event.identity);
    waits.push(wait_for_entry(finding.route, finding.code, &finding.cause));
    // Whatever the event waits for: once it is there, settings may prevent the creation of the user.
    waits.push(wait_for_creation());
    Ok(Change::Append(AppendedRow::Parked(Box::new(ParkedEvent {
        id: ctx.ids.next(ctx.now)?,
        code: finding.code.to_owned(),
        received_at: sent.received_at,
        route: sent.route,
        event,
        waits,
    }))))
}

/// Whether events wait for records of this resource.
pub fn releases_parked_events(def: &ResourceDef) -> bool {
    *def == COMPANY || *def == END_USER
}

/// Index entry that releases parked events of a report entry.
pub fn wait_for_entry(route: Route, code: &str, cause: &str) -> ParkedWait {
    ParkedWait {
        resource: 0,
        row: "report".to_owned(),
        key: format!("{} {code} {cause}", route.name()),
    }
}

/// Index entry that releases events when a tenant lets them create users, or more of them.
pub fn wait_for_creation() -> ParkedWait {
    ParkedWait { resource: 0, row: "autoCreateEndUsers".to_owned(), key: String::new() }
}

/// The index entries of users and companies that would identify the owner of the event.
fn waits_of(identity: &Identity) -> Vec<ParkedWait> {
    let wait = |def: &ResourceDef, row: &str, key: String| ParkedWait {
        resource: def.code,
        row: row.to_owned(),
        key,
    };
    let mut waits = Vec::new();
    if let Some(id) = &identity.external_id {
        waits.push(wait(&END_USER, end_user::EXTERNAL_ID.name, id.clone()));
    }
    if let Some(address) = &identity.email {
        let row = end_user::EMAIL.name;
        waits.push(wait(&END_USER, row, user_key(row, address)));
    }
    match (&identity.company, identity.email.as_deref().and_then(email::company_domain)) {
        (Some(sent), _) => {
            waits.push(wait(&COMPANY, company::EXTERNAL_ID.name, sent.clone()));
            match RecordRef::parse(sent) {
                Some(RecordRef::External(key)) => {
                    waits.push(wait(&COMPANY, company::EXTERNAL_ID.name, key));
                }
                Some(RecordRef::Source(key)) => {
                    waits.push(wait(&COMPANY, company::SOURCE_ID.name, key));
                }
                Some(RecordRef::Id(_)) | None => {}
            }
        }
        (None, Some(domain)) => waits.push(wait(&COMPANY, company::DOMAINS.name, domain)),
        (None, None) => {}
    }
    waits
}

#[cfg(test)]
mod tests;
