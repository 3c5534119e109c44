//! Connections, from the socket to a request whose head is checked: who may connect, how long a connection stays open,
//! and how it ends.

pub(crate) mod client_stream;
pub(crate) mod connections;
pub(crate) mod http_connection;
pub(crate) mod keep_alive;
pub(crate) mod linger;
pub mod listener;
pub(crate) mod malformed_requests;
pub(crate) mod request_head;
pub mod workers;
