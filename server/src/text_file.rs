//! Text files that are read and written at the start: only regular files.

use std::{fs, io, path::Path};

use svctrack_store::support::regular_file::check;

/// Reads a text.
///
/// # Errors
/// When the file cannot be read, or is not a regular one.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    check(path)?;
    fs::read_to_string(path)
}

/// Writes a text into a new file, or replaces the content of an existing one.
///
/// # Errors
/// When the file cannot be written, or exists and is not a regular one.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    match check(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => fs::write(path, text),
    }
}
