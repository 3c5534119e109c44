//! What ingestion notes about an event, and the entry in the report of possible integration issues that it becomes (rule
//! 5).

use super::{event::Event, event_lookup::ReceivedEvent};
use crate::{
    plan::Finding,
    value::{
        Document, Json, ObjectId, email,
        quoted::{MAX_QUOTED_CHARS, quoted},
    },
};

/// Code of a `group` call with the domain of another company.
pub(super) const DOMAIN_OF_ANOTHER: &str = "domain_of_another";

/// Code of a `group` call with a domain that its company does not have next to others.
pub(super) const DOMAIN_NOT_ADDED: &str = "domain_not_added";

/// Code of a `group` call with another name than that of its company.
pub(super) const NAME_NOT_CHANGED: &str = "name_not_changed";

/// Note about an event during ingestion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Note {
    /// The company that was sent is unknown.
    CompanyUnknown(String),
    /// The user is unknown, and nothing determines their company.
    UserUnknown,
    /// The user is unknown, and the tenant creates its users itself.
    UserNotMade,
    /// The user is unknown, and events have created the maximum number of users that the tenant allows in an hour.
    TooManyUsers(u64),
    /// The company of a `group` call is unknown, and the tenant creates its companies itself.
    CompanyNotMade,
    /// The company of a `group` call is unknown, and the maximum number of users and companies was created this hour.
    TooManyCompanies(u64),
    /// `externalId` and e-mail belong to two users; the event is that of the first.
    IdentitiesDiffer(ObjectId, ObjectId),
    /// The e-mail belongs to a user with another `externalId`.
    EmailTaken(ObjectId),
    /// The company that was sent is not the user's.
    CompanyDiffers(ObjectId, ObjectId),
    /// The company that was sent is unknown, and the user has one.
    CompanyNotOfUser(String),
    /// The domain of a `group` call belongs to another company.
    DomainOfAnother(String, ObjectId),
    /// The company of a `group` call has other domains.
    DomainNotAdded(String, ObjectId),
    /// The company of a `group` call has another name.
    NameNotChanged(ObjectId),
    /// A program's word for nothing was sent as the id of a user.
    PlaceholderUser(String),
    /// A program's word for nothing was sent as the id of a company.
    PlaceholderCompany(String),
    /// A `track` call has no name of its event, so it is no activity.
    EventMissing,
    /// No asset has this `externalId`.
    AssetUnknown(String),
    /// No project has this `externalId`.
    ProjectUnknown(String),
}

impl Note {
    /// Code of the note, its cause, and the message.
    fn words(&self, event: &Event) -> (&'static str, String, String) {
        match self {
            Self::CompanyUnknown(sent) => unmatched("company", "company_unknown", sent),
            Self::UserUnknown => user_unknown(event),
            Self::UserNotMade => (
                "user_not_created",
                String::new(),
                "the user is unknown, and `autoCreateEndUsers` is off: create the user, or turn it on".to_owned(),
            ),
            Self::TooManyUsers(max) => (
                "too_many_new_users",
                String::new(),
                format!("the user is unknown, and events have created {max} users in this hour, the limit of `maxNewEndUsersPerHour`: stop a sender of invalid ids; otherwise raise the limit, create the user, or replay this entry in a later hour"),
            ),
            Self::CompanyNotMade => (
                "company_not_created",
                String::new(),
                "the company of a `group` call is unknown, and `autoCreateEndUsers` is off: create the company, or turn it on".to_owned(),
            ),
            Self::TooManyCompanies(max) => (
                "too_many_new_companies",
                String::new(),
                format!("the company of a `group` call is unknown, and events have created {max} users and companies in this hour, the limit: stop a sender of invalid ids; otherwise raise `maxNewEndUsersPerHour`, create the company, or replay this entry in a later hour"),
            ),
            Self::IdentitiesDiffer(user, other) => (
                "identities_differ",
                format!("{user} {other}"),
                format!("the id and the e-mail belong to two end users, {user} and {other}; the id was used: correct what is sent, or the users"),
            ),
            Self::EmailTaken(holder) => (
                "email_of_another",
                holder.to_string(),
                format!("the e-mail belongs to end user {holder}, who has another `externalId`; it was not stored: correct what is sent, or that user"),
            ),
            Self::CompanyDiffers(user, company) => (
                "company_differs",
                format!("{user} {company}"),
                format!("the event names the company {company}, but end user {user} belongs to another one and stays there: move the user, or correct what is sent"),
            ),
            Self::CompanyNotOfUser(sent) => (
                "company_differs",
                sent.clone(),
                format!("no company has the `externalId` {}; events of known users are stored with the company of their user: correct what is sent", quoted(sent)),
            ),
            Self::DomainOfAnother(domain, owner) => domain_of_another(domain, *owner),
            Self::DomainNotAdded(domain, company) => domain_not_added(domain, *company),
            Self::NameNotChanged(company) => (
                NAME_NOT_CHANGED,
                company.to_string(),
                format!("the company {company} has another name, so `traits.name` of a `group` call was not stored: rename the company, or correct what is sent"),
            ),
            Self::PlaceholderUser(sent) => placeholder("the id of the user", sent),
            Self::PlaceholderCompany(sent) => placeholder("the id of the company", sent),
            Self::EventMissing => (
                "event_missing",
                String::new(),
                "`track` calls without `event` only identify their user: say in `event` what the user did".to_owned(),
            ),
            Self::AssetUnknown(sent) => unmatched("asset", "asset_unknown", sent),
            Self::ProjectUnknown(sent) => unmatched("project", "project_unknown", sent),
        }
    }

    /// Whether the tenant's settings prevent an event from creating its user.
    pub(super) fn is_of_settings(&self) -> bool {
        matches!(
            self,
            Self::UserNotMade
                | Self::TooManyUsers(_)
                | Self::CompanyNotMade
                | Self::TooManyCompanies(_)
        )
    }

    /// The entry for the report.
    pub(super) fn finding(&self, sent: &ReceivedEvent<'_>) -> Finding {
        let (code, cause, message) = self.words(sent.event);
        Finding {
            route: sent.route,
            code,
            cause,
            message,
            at: sent.received_at,
            count: 1,
            sample: sample(sent.event),
            people: people(sent.event),
        }
    }
}

/// Finding of unknown users: users of one domain are one cause; those who cannot be distinguished are another.
fn user_unknown(event: &Event) -> (&'static str, String, String) {
    let domain = event.identity.email.as_deref().and_then(email::company_domain);
    let message = match &domain {
        Some(domain) => format!(
            "the user is unknown and no company was sent: send the company's id, or name {} in the `domains` of exactly one company",
            quoted(domain)
        ),
        None => {
            "the user is unknown and no company was sent: send the company's id, or create the user"
                .to_owned()
        }
    };
    ("user_unknown", domain.unwrap_or_default(), message)
}

fn domain_of_another(domain: &str, owner: ObjectId) -> (&'static str, String, String) {
    let message = format!(
        "the domain {} of a `group` call is that of company {owner} and was not stored, since shared by two it would find neither: correct what is sent, or take it from that company",
        quoted(domain)
    );
    (DOMAIN_OF_ANOTHER, domain.to_owned(), message)
}

fn domain_not_added(domain: &str, company: ObjectId) -> (&'static str, String, String) {
    let message = format!(
        "the company {company} has other domains, so the domain {} of a `group` call was not added: add it to the company's `domains`, or correct what is sent",
        quoted(domain)
    );
    (DOMAIN_NOT_ADDED, format!("{domain} {company}"), message)
}

fn placeholder(what: &str, sent: &str) -> (&'static str, String, String) {
    let message = format!(
        "{what} is {}, a placeholder for a missing value: correct the sender",
        quoted(sent)
    );
    ("placeholder_id", format!("{what} {sent}"), message)
}

fn unmatched(what: &str, code: &'static str, sent: &str) -> (&'static str, String, String) {
    let message = format!(
        "no {what} has the `externalId` {}: create it, or correct what is sent",
        quoted(sent)
    );
    (code, sent.to_owned(), message)
}

/// The user and the action of an event, in short.
fn sample(event: &Event) -> Document {
    let mut sample = Document::default();
    let members = event.identity.members();
    let action = [("action", event.action.as_deref())];
    for (name, value) in members.into_iter().chain(action) {
        if let Some(value) = value.filter(|_| name != "name") {
            sample.set(name, Json::string(&cut(value)));
        }
    }
    sample
}

/// The first characters of a text that is not ours.
pub(super) fn cut(text: &str) -> String {
    text.chars().take(MAX_QUOTED_CHARS).collect()
}

/// The keys by which an event names a person.
fn people(event: &Event) -> Vec<String> {
    let external_id = event.identity.external_id.clone();
    let email = event.identity.email.as_deref().map(email::folded);
    external_id.into_iter().chain(email).collect()
}
