//! Connections, from the socket to a request whose head is checked: who may connect, how long a connection stays open,
//! and how it ends.

mod client_stream;
mod http_connection;
mod keep_alive;
mod linger;
pub mod listener;
mod malformed_requests;
pub(crate) mod open_connections;
pub(crate) mod request_head;
pub mod workers;
