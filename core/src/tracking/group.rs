//! The company of a `group` call (R47): created if it is unknown, and filled in if properties are missing. It is stored
//! before the event, which then finds it as any other event does.

use super::{
    duplicates::is_repeated,
    event::{GroupCall, PipelineCall},
    event_lookup::{EventLookup, ReceivedEvent, TrackingSettings},
    event_notes::{DOMAIN_NOT_ADDED, DOMAIN_OF_ANOTHER, NAME_NOT_CHANGED, Note},
    matching::{is_suppressed, sent_company, unplannable},
    script::is_placeholder,
};
use crate::{
    plan::{self, AppendedRow, Change, Ctx},
    resources::company::{self, COMPANY},
    schema::{CheckedBody, Lookup, LookupError},
    value::{Document, Json, ObjectId, email},
};

/// Maximum number of companies that a tenant's events create in an hour where `maxNewEndUsersPerHour` is not set: more
/// than a product wins, and few enough that a public write key cannot flood the tenant.
pub const MAX_NEW_COMPANIES_PER_HOUR: u64 = 1_000;

/// Plans the company of a `group` call; no changes for any other event, for a duplicate, and for one that names an
/// erased person.
///
/// # Errors
/// When the store cannot be read.
pub fn plan(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    if !matches!(sent.event.call, PipelineCall::Group(_)) || is_repeated(sent, lookup, ctx)? {
        return Ok(Vec::new());
    }
    replay(sent, lookup, ctx)
}

/// Plans an event that was parked.
///
/// # Errors
/// As `plan`.
pub fn replay(
    sent: &ReceivedEvent<'_>,
    lookup: &dyn EventLookup,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    let PipelineCall::Group(group) = &sent.event.call else { return Ok(Vec::new()) };
    let identity = &sent.event.identity;
    let Some(key) = &identity.company else { return Ok(Vec::new()) };
    if is_suppressed(identity, lookup)? {
        return Ok(Vec::new());
    }
    let mut notes = Vec::new();
    let mut changes = match sent_company(key, lookup)? {
        Some(id) => fill(id, group, lookup, &mut notes, ctx)?,
        None if is_placeholder(key) => Vec::new(),
        None if why_not_made(sent.settings, lookup, ctx)?.is_some() => Vec::new(),
        None => create(key, group, lookup, &mut notes, ctx)?,
    };
    let findings = notes.iter().map(|note| Box::new(note.finding(sent)));
    changes.extend(findings.map(|finding| Change::Append(AppendedRow::Finding(finding))));
    Ok(changes)
}

/// Names of members of a `group` call that are not stored, from the changes that are planned for its company.
pub fn ignored(changes: &[Change]) -> impl Iterator<Item = &'static str> {
    changes.iter().filter_map(|change| {
        let Change::Append(AppendedRow::Finding(finding)) = change else { return None };
        match finding.code {
            NAME_NOT_CHANGED => Some("traits.name"),
            DOMAIN_OF_ANOTHER | DOMAIN_NOT_ADDED => Some("traits.domain"),
            _ => None,
        }
    })
}

/// Why no company is created now.
pub(super) fn why_not_made(
    settings: TrackingSettings,
    lookup: &dyn EventLookup,
    ctx: &Ctx,
) -> Result<Option<Note>, LookupError> {
    if !settings.auto_create_end_users {
        return Ok(Some(Note::CompanyNotMade));
    }
    let max = settings.max_new_end_users_per_hour.unwrap_or(MAX_NEW_COMPANIES_PER_HOUR);
    let made = lookup.new_end_users(ctx.settled)?;
    Ok((made >= max).then_some(Note::TooManyCompanies(max)))
}

/// Creates a company; without a name its id is the name, which is required.
fn create(
    key: &str,
    group: &GroupCall,
    lookup: &dyn EventLookup,
    notes: &mut Vec<Note>,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    let mut company = Document::default();
    company.set(company::NAME.name, Json::string(group.name.as_deref().unwrap_or(key)));
    company.set(company::EXTERNAL_ID.name, Json::string(key));
    if let Some(domains) = free_domain(group, lookup, notes)? {
        company.set(company::DOMAINS.name, domains);
    }
    let planned =
        plan::create(&COMPANY, CheckedBody::trusted(company), lookup, ctx).map_err(unplannable)?;
    let mut changes = planned.changes;
    changes.push(Change::Append(AppendedRow::NewEndUser(ctx.settled)));
    Ok(changes)
}

/// Fills only empty properties (rule 2): the domains, and the name where the company was created without one.
fn fill(
    id: ObjectId,
    group: &GroupCall,
    lookup: &dyn EventLookup,
    notes: &mut Vec<Note>,
    ctx: &mut Ctx,
) -> Result<Vec<Change>, LookupError> {
    let stored = lookup.record(&COMPANY, id)?.unwrap_or_default();
    let mut patch = Document::default();
    let known_name = company::NAME.get(&stored);
    match group.name.as_deref() {
        Some(name) if known_name == company::EXTERNAL_ID.get(&stored) => {
            patch.set(company::NAME.name, Json::string(name));
        }
        Some(name) if known_name.is_some_and(|known| known.trim() != name.trim()) => {
            notes.push(Note::NameNotChanged(id));
        }
        _ => {}
    }
    let known = company::DOMAINS.get(&stored).unwrap_or_default();
    if !known.iter().any(|known| Some(email::folded(known)) == group.domain)
        && let Some(domains) = free_domain(group, lookup, notes)?
    {
        match (&group.domain, known.is_empty()) {
            (Some(domain), false) => notes.push(Note::DomainNotAdded(domain.clone(), id)),
            _ => patch.set(company::DOMAINS.name, domains),
        }
    }
    if patch.iter().next().is_none() {
        return Ok(Vec::new());
    }
    Ok(plan::update(&COMPANY, id, CheckedBody::trusted(patch), lookup, ctx)
        .map_err(unplannable)?
        .changes)
}

/// Domain for a company's `domains`. A domain of another company stays with that company alone: shared by two it would
/// find neither (R35).
fn free_domain(
    group: &GroupCall,
    lookup: &dyn Lookup,
    notes: &mut Vec<Note>,
) -> Result<Option<Json>, LookupError> {
    let Some(domain) = &group.domain else { return Ok(None) };
    match lookup.holders(&COMPANY, company::DOMAINS.name, domain, 1)?.first() {
        Some(owner) => {
            notes.push(Note::DomainOfAnother(domain.clone(), *owner));
            Ok(None)
        }
        None => Ok(Some(Json::strings([domain.as_str()]))),
    }
}
