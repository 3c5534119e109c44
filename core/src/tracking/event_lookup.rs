//! What the intake of an event looks up: the settings of its tenant, its user, and when its id was last received.

use super::event::Event;
use crate::{
    plan::{Ctx, Route},
    resources::{
        end_user::{self, END_USER},
        settings::{self, AUTO_CREATE_END_USERS, TRACK_PAGES},
    },
    schema::{Lookup, LookupError},
    value::{JsonRef, Members, ObjectId, Timestamp},
};

/// An event that was received.
#[derive(Clone, Copy, Debug)]
pub struct ReceivedEvent<'a> {
    /// The event as it was parsed.
    pub event: &'a Event,
    /// When it was received.
    pub received_at: Timestamp,
    /// The route by which it was received.
    pub route: Route,
    /// Settings of the tenant.
    pub settings: TrackingSettings,
}

/// Settings of a tenant for its events (R41).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackingSettings {
    /// Whether an event creates its user.
    pub auto_create_end_users: bool,
    /// Maximum number of users that events create in an hour; unlimited when not given.
    pub max_new_end_users_per_hour: Option<u64>,
    /// Whether page and screen views of pipelines are activities.
    pub track_pages: bool,
}

impl Default for TrackingSettings {
    fn default() -> Self {
        Self { auto_create_end_users: true, max_new_end_users_per_hour: None, track_pages: false }
    }
}

impl TrackingSettings {
    /// Settings of a tenant.
    ///
    /// # Errors
    /// If the store cannot be read.
    pub fn of_tenant(lookup: &dyn Lookup) -> Result<Self, LookupError> {
        let set = settings::of_tenant(lookup)?;
        let default = Self::default().auto_create_end_users;
        Ok(Self {
            auto_create_end_users: AUTO_CREATE_END_USERS.get(&set).unwrap_or(default),
            max_new_end_users_per_hour: settings::max_new_end_users_per_hour(&set),
            track_pages: TRACK_PAGES.get(&set).unwrap_or_default(),
        })
    }
}

/// Lookup of records and of events that were received before.
pub trait EventLookup: Lookup {
    /// Time at which an event with this id of the sender's was last stored in the [`MESSAGE_ID_MS`](super::intake::MESSAGE_ID_MS) before the settled
    /// time of `ctx`, by that time; an earlier time may be returned too.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn last_received(&self, message_id: &str, ctx: &Ctx) -> Result<Option<Timestamp>, LookupError>;

    /// Number of users and companies that events have created in the hour of `now`, where it is counted.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn new_end_users(&self, now: Timestamp) -> Result<u64, LookupError>;

    /// Facts of the user with this id.
    ///
    /// # Errors
    /// If the store cannot be read.
    fn user(&self, id: ObjectId) -> Result<Option<KnownUser>, LookupError> {
        Ok(self.record(&END_USER, id)?.map(|record| KnownUser::from_record(id, &record)))
    }
}

/// Facts of a user that ingestion needs: a small part of the record, so that a store can cache it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownUser {
    /// `_id` of the end user.
    pub id: ObjectId,
    /// Company of the user.
    pub company: Option<ObjectId>,
    /// Whether the user has an `externalId`.
    pub has_external_id: bool,
    /// Whether the user has an e-mail address.
    pub has_email: bool,
    /// Whether the user has a first or a last name.
    pub has_name: bool,
}

impl KnownUser {
    /// Members that the facts are read from, in the order of the record.
    pub const MEMBERS: [&'static str; 5] = [
        end_user::COMPANY_ID.name,
        end_user::EXTERNAL_ID.name,
        end_user::EMAIL.name,
        end_user::FIRST_NAME.name,
        end_user::LAST_NAME.name,
    ];

    /// The user of a stored record, or of its [`MEMBERS`](Self::MEMBERS).
    pub fn from_record(id: ObjectId, record: &dyn Members) -> Self {
        let value = |name| record.get(name).filter(|value| !value.is_null());
        let company = value(end_user::COMPANY_ID.name).and_then(JsonRef::as_str);
        Self {
            id,
            company: company.and_then(|id| ObjectId::parse(&id)),
            has_external_id: value(end_user::EXTERNAL_ID.name).is_some(),
            has_email: value(end_user::EMAIL.name).is_some(),
            has_name: [end_user::FIRST_NAME.name, end_user::LAST_NAME.name]
                .into_iter()
                .any(|name| value(name).is_some()),
        }
    }
}
