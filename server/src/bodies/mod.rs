//! Bodies of requests and responses: how they arrive, are compressed and are sent, and the memory that they may take.

pub(crate) mod compression;
mod memory;
pub(crate) mod pace;
pub(crate) mod read_body;
pub(crate) mod response_budget;
pub(crate) mod watched_body;
