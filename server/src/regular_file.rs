//! Files that are read and written when the server starts. Where a pipe has the name of one, opening it would wait for
//! somebody at its other end, so only regular files are opened.

use std::{fs, io, path::Path};

/// Reads a text.
///
/// # Errors
/// When it cannot be read, or is no regular file.
pub(crate) fn read_text(path: &Path) -> io::Result<String> {
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

/// Refuses what is no regular file.
///
/// # Errors
/// When it is none, or is not there.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::other("it is not a regular file")),
    }
}
