//! What the whole-project tests stand on: a server in a process of its own or in this one, a client,
//! and a browser.

pub mod browser;
pub mod client;
pub mod description;
pub mod in_process;
pub mod process;

use std::path::{Path, PathBuf};

/// The folder of the whole project.
pub fn project() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned()
}

/// The tenant of servers that tests start.
pub const TENANT: &str = "67e55044-10b1-426f-9247-bb680e5fe0c8";
