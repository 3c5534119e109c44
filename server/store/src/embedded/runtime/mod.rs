//! The store while it runs: the writer, what readers share with it, and how it comes back after an error.

pub(crate) mod group_commit;
pub(crate) mod held_snapshots;
pub(crate) mod recovery;
pub(crate) mod shared;
pub(crate) mod streamed_page;
