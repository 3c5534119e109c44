//! TLS of the server itself, by a certificate and a key in files: handshakes that no stranger can make dear for others,
//! and files that are read again when they change.

pub(crate) mod acceptor;
mod certificate;
mod expiry;
mod handshakes;
pub(crate) mod reload;
pub mod settings;
