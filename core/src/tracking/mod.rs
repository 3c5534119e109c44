//! Events: from the bytes of a call to the activity, the user and the integration issues.
//!
#![cfg_attr(
    feature = "records",
    doc = "\
- Reading a call: [`realtime`], [`pipeline`] and [`bulk`] turn a body into [`Event`]s, and [`unknown_members`] collects
  members that are not known. [`event`] has the event, `event_checks` its checks, [`script`] the rules of the browser script.
- Processing: [`intake`] finds the user and the company and plans what is stored; an event whose user or company is
  unknown is parked. [`group`] does the same for a company.
- Reading back: [`activity`], [`activity_query`] and [`list_fields`] for lists of activities, [`integration_issues`] for the report."
)]
//!
//! Invariant: an event is stored, parked or named in the report; none is dropped silently. [`event`] and [`script`] are
//! the same in the browser and on the server.

pub mod event;
mod event_checks;
pub mod script;

#[cfg(feature = "records")]
pub mod activity;
#[cfg(feature = "records")]
pub mod activity_query;
#[cfg(feature = "records")]
pub mod bulk;
#[cfg(feature = "records")]
mod clock_skew;
#[cfg(feature = "records")]
mod duplicates;
#[cfg(feature = "records")]
mod event_lookup;
#[cfg(feature = "records")]
mod event_notes;
#[cfg(feature = "records")]
pub mod group;
#[cfg(feature = "records")]
pub mod intake;
#[cfg(feature = "records")]
pub mod integration_issues;
#[cfg(feature = "records")]
pub mod list_fields;
#[cfg(feature = "records")]
mod matching;
#[cfg(feature = "records")]
mod parked_entries;
#[cfg(feature = "records")]
pub mod pipeline;
#[cfg(feature = "records")]
mod pipeline_identity;
#[cfg(feature = "records")]
mod reader;
#[cfg(feature = "records")]
pub mod realtime;
#[cfg(feature = "records")]
pub mod unknown_members;

#[cfg(feature = "records")]
#[doc(inline)]
pub use self::reader::{ReadEvent, Unreadable};
#[doc(inline)]
pub use self::{
    event::{Event, Identity},
    event_checks::EventFault,
};
