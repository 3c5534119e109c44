//! The running store: the writer, the state that readers share with it, and recovery after errors.

pub(crate) mod group_commit;
pub(crate) mod held_snapshots;
pub(crate) mod reopen_after_error;
pub(crate) mod shared;
pub(crate) mod streamed_page;
