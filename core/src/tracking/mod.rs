//! What becomes of an event: the event itself ([`event`]), what the script adds in the browser
//! ([`script`]), how the real-time call is read (`realtime`), whose it is (`identity`), and how it is
//! read back (`activity`).

pub mod event;
pub mod script;

#[cfg(feature = "records")]
pub mod activity;
#[cfg(feature = "records")]
pub mod identity;
#[cfg(feature = "records")]
pub mod realtime;

pub use self::event::{Event, Fault, Identity};
