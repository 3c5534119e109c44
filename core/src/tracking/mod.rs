//! Events: from the bytes of a call to the activity, the user and the report entries that come of it.
//!
#![cfg_attr(
    feature = "records",
    doc = "\
- Reading a call: [`realtime`], [`pipeline`] and [`bulk`] turn a body into [`Event`]s, and [`unread`] names members
  that are not stored. [`event`] has the event itself and its checks, [`script`] what the browser script adds.
- Processing it: [`intake`] finds the user and the company, and plans what is stored; an event whose user or company
  is not known is parked. [`group`] does the same for a company.
- Reading it back: [`activity`] and [`listed`] for lists of activities, [`integration_issues`] for what senders should fix."
)]
//!
//! Invariant: an event is stored, parked or named in the report; none is dropped silently. [`event`] and [`script`] are
//! the same in the browser and on the server.

pub mod event;
pub mod script;

#[cfg(feature = "records")]
pub mod activity;
#[cfg(feature = "records")]
pub mod bulk;
#[cfg(feature = "records")]
pub mod group;
#[cfg(feature = "records")]
mod incoming;
#[cfg(feature = "records")]
pub mod intake;
#[cfg(feature = "records")]
pub mod integration_issues;
#[cfg(feature = "records")]
pub mod listed;
#[cfg(feature = "records")]
mod matching;
#[cfg(feature = "records")]
pub mod pipeline;
#[cfg(feature = "records")]
mod reader;
#[cfg(feature = "records")]
pub mod realtime;
#[cfg(feature = "records")]
pub mod unread;

#[doc(inline)]
pub use self::event::{Event, Fault, Identity};
#[cfg(feature = "records")]
#[doc(inline)]
pub use self::reader::{Taken, Unreadable};
