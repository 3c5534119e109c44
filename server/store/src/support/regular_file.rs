//! Checks of files that are opened at a start. Opening a pipe would wait for its other end, so only regular files are
//! opened.

use std::{fs, io, path::Path};

/// Rejects anything but a regular file.
///
/// # Errors
/// When the file is not a regular one, or does not exist.
pub fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}
