//! The values that bodies and records are made of, each a type that can only be created by parsing: ids, points in
//! time, days, decimals, e-mails, JSON documents.
//!
//! Invariants: a value that was parsed is valid, and no later code checks it again; JSON keeps the order of its members and
//! every digit of its numbers (R7).

pub mod email;

#[cfg(feature = "records")]
mod counted;
#[cfg(feature = "records")]
mod day;
#[cfg(feature = "records")]
pub mod document;
#[cfg(feature = "records")]
pub mod engagement;
#[cfg(feature = "records")]
pub mod html;
#[cfg(feature = "records")]
pub mod id;
#[cfg(feature = "records")]
pub mod issue;
#[cfg(feature = "records")]
pub mod json;
#[cfg(feature = "records")]
pub mod json_reader;
#[cfg(feature = "records")]
pub mod json_rows;
pub mod key;
#[cfg(feature = "records")]
pub mod member;
#[cfg(feature = "records")]
mod nearest;
#[cfg(feature = "records")]
pub mod number;
#[cfg(feature = "records")]
pub mod period;
pub mod time;
#[cfg(feature = "records")]
pub mod zone;

#[doc(inline)]
pub use self::time::Timestamp;
#[cfg(feature = "records")]
#[doc(inline)]
pub use self::{
    counted::counted,
    day::{Day, Unit},
    document::Document,
    id::{IdSequence, IdsExhausted, ObjectId, RecordRef, TenantId},
    issue::Issue,
    json::{Json, JsonRef},
    json_reader::Malformed,
    member::Members,
    nearest::nearest,
    number::Number,
    zone::Zone,
};
