//! What becomes of an event: the event itself ([`event`]), what the script adds in the browser
//! ([`script`]), how the real-time call (`realtime`), the call of a pipeline (`pipeline`) and the bulk
//! call (`bulk`) are read, what is looked up for it (`incoming`), whose it is (`identity`), which company a
//! `group` call creates (`group`), what is stored of it (`intake`), what its sender should fix (`report`,
//! `unread`), and how it is read back (`activity`, `listed`).

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
pub mod report;
#[cfg(feature = "records")]
pub mod unread;

pub use self::event::{Event, Fault, Identity};
#[cfg(feature = "records")]
pub use self::reader::{Taken, Unreadable};
