//! Text files that are read and written at the start: only regular files.

use std::{fs, io, path::Path};

use svctrack_store::support::regular_file::check;

/// Reads a text.
///
/// # Errors
/// When it cannot be read, or is no regular file.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    check(path)?;
    fs::read_to_string(path)
}

/// Writes a text into a new file, or in the place of what a file holds.
///
/// # Errors
/// When it cannot be written, or is there and no regular file.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    match check(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::write(path, text),
    }
}
