//! The values of bodies and records, each a type whose values are valid: ids, points in time, days, decimals,
//! e-mails, JSON documents.
//!
//! Invariants: a value is checked when it is parsed, and no later code checks it again; JSON keeps the order of its
//! members and every digit of its numbers (R7).

pub mod email;

#[cfg(feature = "forms")]
mod day;
#[cfg(feature = "forms")]
pub mod document;
#[cfg(feature = "forms")]
pub mod engagement;
#[cfg(feature = "records")]
pub mod html;
#[cfg(feature = "forms")]
pub mod id;
#[cfg(feature = "forms")]
mod id_sequence;
#[cfg(feature = "forms")]
pub mod json;
#[cfg(feature = "forms")]
pub mod json_reader;
#[cfg(feature = "records")]
pub mod json_rows;
pub mod key;
#[cfg(feature = "forms")]
pub mod malformed;
#[cfg(feature = "forms")]
pub mod member;
#[cfg(feature = "records")]
mod nearest_name;
#[cfg(feature = "forms")]
pub mod number;
#[cfg(feature = "records")]
mod number_place;
#[cfg(feature = "forms")]
pub mod period;
#[cfg(feature = "records")]
mod plural;
#[cfg(feature = "forms")]
pub mod quoted;
pub mod time;
#[cfg(feature = "forms")]
pub mod validation_error;
#[cfg(feature = "forms")]
pub mod zone;

#[doc(inline)]
pub use self::time::Timestamp;
#[cfg(feature = "forms")]
#[doc(inline)]
pub use self::{
    day::{Day, Unit},
    document::Document,
    id::{ObjectId, RecordRef},
    id_sequence::{IdSequence, IdsExhausted},
    json::{Json, JsonRef},
    malformed::Malformed,
    member::Members,
    number::Number,
    validation_error::ValidationError,
    zone::Zone,
};
#[cfg(feature = "records")]
#[doc(inline)]
pub use self::{
    id::TenantId,
    nearest_name::{near_name, nearest},
    number_place::NumberSortKey,
    plural::counted,
};
