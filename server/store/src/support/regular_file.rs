//! Files that are opened at a start. Where a pipe has the name of one, opening it would wait for somebody at its other
//! end, so only regular files are opened.

use std::{fs, io, path::Path};

/// Rejects what is no regular file.
///
/// # Errors
/// When it is none, or is not there.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}
