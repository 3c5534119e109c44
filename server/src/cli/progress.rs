//! Progress of reading a large file, for a person at a terminal.

use std::{
    fs::File,
    io::{self, IsTerminal as _, Read, Write as _},
    path::Path,
};

use svctrack_server::interchange::ByteSource;

/// Largest file, in bytes, that is read so fast that progress is not shown.
const QUIET_BYTES: u64 = 1024 * 1024;

/// Opens a file; while a large one is read, a line on the terminal shows the progress.
///
/// # Errors
/// When the file cannot be opened.
pub(super) fn open(path: &Path) -> io::Result<ByteSource> {
    let file = File::open(path)?;
    let bytes = file.metadata()?.len();
    if bytes <= QUIET_BYTES || !io::stderr().is_terminal() {
        return Ok(Box::new(file));
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    Ok(Box::new(FileProgress { file, name, bytes, read: 0, shown: None }))
}

/// Clears the progress, before something else is printed on its line.
pub(super) fn clear() {
    if io::stderr().is_terminal() {
        let _ = write!(io::stderr(), "\x1b[K");
    }
}

/// A file whose progress is shown.
struct FileProgress {
    file: File,
    name: String,
    bytes: u64,
    read: u64,
    /// Percentage on the terminal.
    shown: Option<u64>,
}

impl Read for FileProgress {
    fn read(&mut self, to: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read(to)?;
        self.read += count as u64;
        let percent = (self.read * 100 / self.bytes).min(100);
        if self.shown != Some(percent) {
            self.shown = Some(percent);
            // The next line is written over this one.
            let _ = write!(io::stderr(), "{}  {percent:>3} %  {}\r", self.name, bar(percent));
        }
        if count == 0 {
            let _ = writeln!(io::stderr());
        }
        Ok(count)
    }
}

/// A bar of twenty characters.
fn bar(percent: u64) -> String {
    (0..20).map(|part| if part * 5 < percent { '#' } else { '.' }).collect()
}
