//! Maintenance of a whole store: upgrade at opening, verify, compact, restore.

pub(crate) mod compact;
pub(crate) mod links;
pub(crate) mod restore;
pub(crate) mod upgrade;
pub(crate) mod verify;
