//! Bodies of requests and responses: how they arrive, are compressed and are sent, and the memory that they may take.

pub(crate) mod body_memory;
pub(crate) mod body_pace;
pub(crate) mod compression;
pub(crate) mod read_body;
pub(crate) mod response_budget;
pub(crate) mod watched_body;
