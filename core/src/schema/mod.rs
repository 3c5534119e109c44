//! Resources as data: tables of fields, and functions for the rules that need more than a table.
//!
//! Programs read and write records of any resource through its [`ResourceDef`]. [`field`] is one field of the
//! table; [`form`] and [`csv_cell`] read values as people write them; [`checked_body`] checks a body; [`index`] derives
//! index entries; [`list`], [`filter`] and [`order`] read the query of a list. Rules find other records through
//! [`Lookup`], which a store implements.
//!
//! Invariant: nothing here names a resource. A new field or resource is a line or a file in
//! [`resources`](crate::resources), and changes nothing in this module, unless it needs a new option of a field.

pub mod checked_body;
pub mod csv_cell;
pub mod field;
#[cfg(feature = "records")]
pub mod filter;
pub mod filter_text;
pub mod form;
pub mod index;
#[cfg(feature = "records")]
pub mod list;
pub mod list_limits;
#[cfg(feature = "records")]
mod log_page;
pub mod lookup;
#[cfg(feature = "records")]
mod operators;
#[cfg(feature = "records")]
pub mod order;
#[cfg(feature = "records")]
pub(crate) mod parameter_reader;
pub mod resource;
#[cfg(feature = "records")]
mod search;
mod sent_value;
#[cfg(feature = "records")]
mod unknown_parameters;

#[doc(inline)]
pub use self::{
    checked_body::{CheckedBody, UnknownMemberPolicy},
    field::{
        ComputedOnRead, CurrencyOf, Field, FieldDef, FieldKind, Fill, OnMissing, ReferenceDef,
    },
    index::IndexEntry,
    list_limits::ListLimits,
    lookup::{FillCtx, Lookup, LookupError, ReadCtx},
    resource::{BodyOrigin, CompletionContext, ResourceDef, SentBody, SideRecord, VERSION},
};
#[cfg(feature = "records")]
#[doc(inline)]
pub use self::{
    filter::Filter,
    list::ListQuery,
    log_page::LogPage,
    operators::Operator,
    order::{FirstRecords, Sort, SortKey},
    parameter_reader::ReadQuery,
    search::Search,
    unknown_parameters::{UnknownParameter, sent_twice, unread_query},
};
