//! What is done to a store as a whole: upgraded when it is opened, verified, rewritten, restored.

pub(crate) mod compact;
pub(crate) mod links;
pub(crate) mod restore;
pub(crate) mod upgrade;
pub(crate) mod verify;
