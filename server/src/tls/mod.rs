//! TLS of the server itself, by a certificate and a key in files: limits of handshakes, so that unauthenticated clients
//! cannot exhaust the processor, and files that are reloaded when they change.

pub(crate) mod acceptor;
mod certificate;
mod expiry;
mod handshakes;
pub(crate) mod reload;
pub mod settings;
