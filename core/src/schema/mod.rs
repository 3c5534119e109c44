//! What a resource is: its rows ([`field`]), how a document is checked against them ([`shape`]),
//! what is indexed ([`index`]), how records are listed ([`list`]) and filtered ([`filter`]), and the whole
//! definition ([`resource`]).

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

pub use self::{
    field::{AtRead, Binding, Field, Fill, Kind, Refers, Row},
    filter::Filter,
    index::Entry,
    list::ListQuery,
    lookup::{FillCtx, Lookup, LookupError, ReadCtx},
    order::{First, Sort, SortKey},
    resource::{Beside, Completion, ListLimits, ResourceDef, Sent},
    search::Search,
    shape::{Handling, Shaped},
    unknown::Unknown,
};
