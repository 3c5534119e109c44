//! What is done to a store as a whole: verified, rewritten, restored.

pub(crate) mod compact;
pub(crate) mod links;
pub(crate) mod range_index;
pub(crate) mod restore;
pub(crate) mod verify;
