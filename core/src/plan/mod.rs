//! Plans commands: from the body of a call and the stored records to the changes and the response.
//!
//! A program that stores records calls one function per command: [`create()`], [`update()`], [`delete()`],
//! [`upsert::upsert`], [`renew()`], [`renew_due`], [`lose()`]. [`KnownPerson`] and [`clear_ticket`] define the changes of an
//! erasure, and [`check_form`] checks a form without a store. Planning is pure: a [`Lookup`](crate::schema::Lookup)
//! reads stored records, and [`Ctx`] has the time and new ids.
//!
//! Invariants: every rejection is decided here, so applying the changes cannot break a rule; and each [`Change`] has
//! the version of the record that it was planned on, so that a store detects lost updates.

#[cfg(feature = "records")]
mod append;
#[cfg(feature = "records")]
mod change;
#[cfg(feature = "records")]
mod context;
#[cfg(feature = "records")]
mod create;
#[cfg(feature = "records")]
mod delete;
#[cfg(feature = "records")]
mod erase;
mod form;
#[cfg(feature = "records")]
mod license_decision;
#[cfg(feature = "records")]
pub mod memory;
#[cfg(feature = "records")]
pub mod overlay;
mod patch;
#[cfg(feature = "records")]
mod planned;
#[cfg(feature = "records")]
mod record_update;
#[cfg(feature = "records")]
mod references;
#[cfg(feature = "records")]
mod renew;
#[cfg(feature = "records")]
mod response;
#[cfg(feature = "records")]
mod restore;
#[cfg(feature = "records")]
mod tenant;
#[cfg(feature = "records")]
mod unique_keys;
#[cfg(feature = "records")]
mod unknown_properties;
#[cfg(feature = "records")]
mod update;
#[cfg(feature = "records")]
pub mod upsert;

#[cfg(test)]
mod tests;

#[doc(inline)]
pub use self::form::check_form;
#[cfg(feature = "records")]
#[doc(inline)]
pub use self::{
    append::{
        Activity, AppendedRow, Finding, MAX_PARKED, MAX_PARKED_BYTES, MAX_REPORTED, PARKED_DAYS,
        ParkedEvent, ParkedWait, REPORTED_DAYS, Route,
    },
    change::{Change, version_of},
    context::Ctx,
    create::{create, create_as},
    delete::delete,
    erase::{KnownPerson, clear_ticket},
    license_decision::{RenewalDecision, lose},
    planned::{Planned, Rejection},
    renew::{renew, renew_due},
    response::{is_response_as_stored, response_fields, stored_text, to_response},
    tenant::{mark_token_user, settings, token_user},
    unknown_properties::{ignored_in_responses, unknown_properties},
    update::update,
};
#[cfg(feature = "records")]
#[doc(inline)]
pub use crate::resources::license_renewal_date::{awaits_auto_renewal, is_due};
