//! What the disk itself takes for a durable write, the baseline of every durable figure.

use std::{
    fs::{self, File, Permissions},
    io::{Seek as _, SeekFrom, Write as _},
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
    process::Command,
    time::{Duration, Instant},
};

/// How many writes are timed.
const WRITES: usize = 200;
const PAGE_BYTES: usize = 4_096;

/// Times of a page written and synced, as text: the median and the 99th percentile.
pub(crate) fn sync_times(folder: &Path) -> String {
    let path = folder.join("sync");
    let mut file = File::create(&path).unwrap();
    file.write_all(&vec![0; 256 * PAGE_BYTES]).unwrap();
    file.sync_all().unwrap();
    let mut times: Vec<Duration> = (0..WRITES)
        .map(|write| {
            let started = Instant::now();
            file.seek(SeekFrom::Start((write % 256 * PAGE_BYTES) as u64)).unwrap();
            file.write_all(&[7; PAGE_BYTES]).unwrap();
            file.sync_data().unwrap();
            started.elapsed()
        })
        .collect();
    fs::remove_file(path).unwrap();
    times.sort();
    let ms = |time: Duration| time.as_secs_f64() * 1e3;
    format!("{:.2} / {:.2} ms", ms(times[WRITES / 2]), ms(times[WRITES * 99 / 100]))
}

/// Bytes of a file that are on disk: it may be longer, since it grows in large steps.
pub(crate) fn used_bytes(path: &Path) -> u64 {
    fs::metadata(path).unwrap().blocks() * 512
}

/// The kind of file system that a folder is on.
pub(crate) fn file_system(folder: &Path) -> String {
    let output = Command::new("stat").args(["-f", "-c", "%T"]).arg(folder).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Lets other users enter a folder.
pub(crate) fn allow_entry(folder: &Path) {
    fs::set_permissions(folder, Permissions::from_mode(0o755)).unwrap();
}
