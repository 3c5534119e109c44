//! What a resource is: its rows ([`field`]), how a document is checked against them ([`shape`]),
//! what is indexed ([`index`]), how records are listed ([`list`]), and the whole definition ([`resource`]).

pub mod field;
pub mod index;
pub mod list;
pub mod lookup;
pub mod resource;
pub mod shape;

pub use self::{
    field::{Field, Fill, Kind, Row},
    index::Entry,
    list::ListQuery,
    lookup::{Lookup, LookupError, ReadCtx},
    resource::{ListLimits, ResourceDef},
    shape::Shaped,
};
