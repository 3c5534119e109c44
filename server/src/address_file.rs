//! File in the data directory with the address of the running server, for commands on the same machine. It is a hint:
//! after a crash it stays until the next start, so readers check the address.

use std::{
    fs, mem,
    path::{Path, PathBuf},
};

use crate::{config::Config, text_file};

/// Name of the file in the data folder.
const FILE_NAME: &str = "svctrack.url";

/// Note of a running server; it is removed when the server stops.
pub(crate) struct AddressFile(PathBuf);

impl AddressFile {
    /// Writes the note. A server works without it, so a read-only disk does not stop it.
    pub(crate) fn note(folder: &Path, own_url: &str) -> Self {
        let path = folder.join(FILE_NAME);
        if let Err(error) = text_file::write(&path, own_url) {
            tracing::warn!(cause = %error, "server address not written: commands need --server");
        }
        Self(path)
    }

    /// Leaves the note in place, as a crash does.
    pub(crate) fn stay(self) {
        mem::forget(self);
    }

    /// Address of the server of a data folder, if it runs.
    pub(crate) fn read(folder: &Path) -> Option<String> {
        text_file::read(&folder.join(FILE_NAME)).ok()
    }

    /// Address of the running server of a configuration: of its data folder, or where this has no store, the listen
    /// address, since that server may have its data elsewhere. Another program may listen there.
    pub(crate) fn find(config: &Config) -> Option<String> {
        let elsewhere = || (!config.has_store()).then(|| config.own_url());
        Self::read(&config.data).or_else(elsewhere)
    }
}

impl Drop for AddressFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
