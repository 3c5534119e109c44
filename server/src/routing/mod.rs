//! The way of a request to its handler: routes, which of them are served, and what every response gets. The handlers
//! are in `routes` and `pages`.

pub(crate) mod dispatch;
pub(crate) mod path_tree;
pub(crate) mod route_def;
pub mod router;
pub mod served_parts;
