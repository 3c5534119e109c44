//! What a resource is, as data: the table of its fields, and the rules that a table cannot express.
//!
//! A program that reads or writes records of any resource goes by its [`ResourceDef`]: [`field`] is one row of the table,
//! [`shape`] checks a body against all of them, [`index`] derives the index entries of a record, [`list`], [`filter`] and
//! [`order`] read what a list asks for. [`Lookup`] is how rules find other records; a store implements it.
//!
//! Invariant: nothing here names a resource. A new field or resource is a line or a file in
//! [`resources`](crate::resources) and changes nothing in this module.

pub mod field;
pub mod filter;
pub mod index;
pub mod list;
pub mod lookup;
pub mod order;
pub mod resource;
mod search;
mod sent_value;
pub mod shape;
mod unknown;

#[doc(inline)]
pub use self::{
    field::{AtRead, Field, FieldDef, Fill, Kind, OnMissing, Refers},
    filter::Filter,
    index::Entry,
    list::ListQuery,
    lookup::{FillCtx, Lookup, LookupError, ReadCtx},
    order::{First, Sort, SortKey},
    resource::{Completion, ListLimits, ResourceDef, Sent, SideRecord},
    search::Search,
    shape::{Handling, Shaped},
    unknown::Unknown,
};
