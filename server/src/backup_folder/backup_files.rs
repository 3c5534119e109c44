//! The backups in a folder, in the order in which they were created.
//!
//! Their names have the time of the clock then, which may have been wrong; a scheduled backup has its store and its
//! sequence number in its head. Invariant: only scheduled backups of the store itself are ever removed.

use std::{
    cmp::Reverse,
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use svctrack_core::value::Timestamp;
use svctrack_store::{BackupHead, MAX_DRIFT_MS, StoreId, read_head};

/// Prefix of the name of a backup.
pub(super) const PREFIX: &str = "svctrack-";
/// Suffix of the name of a backup, also of one that is named by hand.
pub const SUFFIX: &str = ".backup.gz";
/// Suffix of the name of an unfinished backup.
pub(super) const UNFINISHED: &str = ".unfinished";

/// Name of a backup of this time; names sort by time.
pub fn name_of(at: Timestamp) -> String {
    format!("{PREFIX}{}{SUFFIX}", at.to_string().replace(':', "-"))
}

/// Time of the backup with this name, if a backup can have it.
fn moment_of(name: &str) -> Option<Timestamp> {
    let moment = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (date, time) = moment.split_once('T')?;
    let at = Timestamp::parse(&format!("{date}T{}", time.replace('-', ":")))?;
    (name_of(at) == name).then_some(at)
}

/// A scheduled backup of a store; they sort in the order in which they were created.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Backup {
    /// Position among the backups of its store in the folder.
    sequence: u64,
    /// Time in the name of the backup.
    pub(super) at: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct BackupsInFolder {
    /// Scheduled backups of the store, in the order in which they were created, the newest last.
    pub(super) own: Vec<Backup>,
    /// Number of backups that belong to another store, or name none.
    pub(super) foreign: usize,
    /// Number of entries with the name of a backup that are not regular files.
    pub(super) skipped: usize,
}

impl BackupsInFolder {
    /// The sequence of the next backup.
    pub(super) fn next_sequence(&self) -> u64 {
        self.own.last().map_or(0, |newest| newest.sequence).saturating_add(1)
    }

    /// Number of the store's own backups whose name has a time after the clock's.
    pub(super) fn ahead_of_clock(&self, now: Timestamp) -> usize {
        self.own.iter().filter(|backup| is_ahead(backup.at, now)).count()
    }
}

fn is_ahead(at: Timestamp, now: Timestamp) -> bool {
    at.as_ms() - now.as_ms() > MAX_DRIFT_MS
}

/// The names in a folder that are text; ours are.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Files in a folder with the suffix of a backup, in the order of their names.
///
/// # Errors
/// When the folder cannot be read.
pub fn backup_files(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut names = names_in(folder)?;
    names.retain(|name| name.ends_with(SUFFIX));
    names.sort_unstable();
    Ok(names.iter().map(|name| folder.join(name)).collect())
}

/// Whether a name in a folder is the name of a regular file. A pipe or a folder is not a backup: opening a pipe would
/// block, and a folder cannot be removed as a file.
fn is_file(folder: &Path, name: &str) -> bool {
    fs::metadata(folder.join(name)).is_ok_and(|found| found.is_file())
}

/// Head of a file, where it is a backup.
fn head_of(path: &Path) -> Option<BackupHead> {
    read_head(BufReader::new(File::open(path).ok()?)).ok()
}

pub(super) fn backups_in(folder: &Path, store: StoreId) -> io::Result<BackupsInFolder> {
    let mut found = BackupsInFolder::default();
    for name in names_in(folder)? {
        let Some(at) = moment_of(&name) else { continue };
        if !is_file(folder, &name) {
            found.skipped += 1;
            continue;
        }
        match head_of(&folder.join(name)) {
            Some(head) if head.store == Some(store) => {
                found.own.extend(head.sequence.map(|sequence| Backup { sequence, at }));
            }
            // A file that cannot be read may be of any store.
            _ => found.foreign += 1,
        }
    }
    found.own.sort_unstable();
    Ok(found)
}

/// The files in a folder with the suffix of a backup and their heads, the newest first. Those that are ahead of the
/// clock come last. Where a head cannot be read, the time in the name counts; where that has none, the file may be the
/// newest.
fn newest_first(folder: &Path, now: Timestamp) -> io::Result<Vec<(PathBuf, Option<BackupHead>)>> {
    let mut found = Vec::new();
    for path in backup_files(folder)?.into_iter().filter(|path| path.is_file()) {
        let head = head_of(&path);
        let named = path.file_name().and_then(|name| moment_of(name.to_str()?));
        let at = head.as_ref().map(|head| head.at).or(named).unwrap_or(now);
        found.push(((!is_ahead(at, now), at), path, head));
    }
    found.sort_by_key(|(order, ..)| Reverse(*order));
    Ok(found.into_iter().map(|(_, path, head)| (path, head)).collect())
}

/// The newest backup in a folder, if there is one. One that is ahead of the clock is taken where there is no other.
pub(crate) fn newest_in(folder: &Path, now: Timestamp) -> Option<PathBuf> {
    newest_first(folder, now).ok()?.into_iter().next().map(|(newest, _)| newest)
}

/// The newest backup in a folder whose readable backups are of one store.
///
/// # Errors
/// A message if the folder cannot be read, has no backup, or backups of several stores, or if the newest cannot be read.
pub fn newest_of_one_store(folder: &Path, now: Timestamp) -> Result<PathBuf, String> {
    let shown = folder.display();
    let found = newest_first(folder, now).map_err(|error| format!("`{shown}`: {error}"))?;
    let mut found = found.into_iter();
    let (newest, head) = found
        .next()
        .ok_or_else(|| format!("there is no backup in `{shown}`: none ends in `{SUFFIX}`"))?;
    let Some(head) = head else {
        let shown = newest.display();
        return Err(match File::open(&newest) {
            Ok(_) => format!("`{shown}` is corrupted: name another backup to restore"),
            Err(error) => {
                format!(
                    "`{shown}`, the newest backup, cannot be opened: {error}: run this as its owner"
                )
            }
        });
    };
    if found.filter_map(|(_, other)| other).any(|other| other.store != head.store) {
        return Err(format!("`{shown}` has backups of several stores: name the one to restore"));
    }
    Ok(newest)
}

/// Removes files that a crash has left.
pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
    let is_left = |name: &String| {
        name.starts_with(PREFIX) && name.ends_with(UNFINISHED) && is_file(folder, name)
    };
    for name in names_in(folder)?.into_iter().filter(is_left) {
        fs::remove_file(folder.join(name))?;
    }
    Ok(())
}

/// Removes the oldest scheduled backups of a store until `keep` are left, and never the one that was just created.
/// Other files are not touched.
pub(super) fn retain(
    folder: &Path,
    store: StoreId,
    keep: usize,
    made: Timestamp,
) -> io::Result<()> {
    let BackupsInFolder { own, .. } = backups_in(folder, store)?;
    let too_many = own.len().saturating_sub(keep);
    for old in own.iter().filter(|backup| backup.at != made).take(too_many) {
        fs::remove_file(folder.join(name_of(old.at)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{io::Write as _, sync::mpsc, thread, time::Duration};

    use flate2::{Compression, write::GzEncoder};

    use super::*;

    const OWN: StoreId = StoreId::from_bytes([1; 5]);
    const OTHER: StoreId = StoreId::from_bytes([2; 5]);
    /// Timeout that is long enough for a busy machine.
    const PATIENCE: Duration = Duration::from_secs(120);

    fn day(day: i64) -> Timestamp {
        Timestamp::from_ms_clamped(day * 86_400_000)
    }

    /// Writes the beginning of a backup of a day into a folder, under the name of this day.
    fn put(folder: &Path, number: i64, store: Option<StoreId>, sequence: Option<u64>) {
        put_as(&folder.join(name_of(day(number))), number, store, sequence);
    }

    fn put_as(path: &Path, number: i64, store: Option<StoreId>, sequence: Option<u64>) {
        let store = store.map_or(String::new(), |store| format!(r#","store":"{store}""#));
        let sequence =
            sequence.map_or(String::new(), |sequence| format!(r#","sequence":{sequence}"#));
        let mut packer = GzEncoder::new(File::create(path).unwrap(), Compression::fast());
        let at = day(number).as_ms();
        writeln!(packer, r#"{{"svctrackBackup":1,"storeFormat":1,"at":{at}{store}{sequence}}}"#)
            .unwrap();
        packer.finish().unwrap();
    }

    fn own_in(folder: &Path) -> Vec<i64> {
        let found = backups_in(folder, OWN).unwrap();
        found.own.iter().map(|backup| backup.at.epoch_days()).collect()
    }

    #[test]
    fn a_name_is_read_back_as_its_time_and_no_other_name_is() {
        let at = Timestamp::parse("2026-11-20T12:30:05.007Z").unwrap();
        let name = "svctrack-2026-11-20T12-30-05.007Z.backup.gz";
        assert_eq!((name_of(at).as_str(), moment_of(name)), (name, Some(at)));
        for other in ["svctrack-.backup.gz", "svctrack-2026-11-20.backup.gz", "x", "svctrack.redb"]
        {
            assert_eq!(moment_of(other), None, "{other}");
        }
    }

    #[test]
    fn the_newest_of_a_folder_is_restored_where_all_are_of_one_store() {
        let folder = tempfile::tempdir().unwrap();
        let newest = || newest_of_one_store(folder.path(), day(30));
        assert!(newest().unwrap_err().starts_with("there is no backup in "));
        put(folder.path(), 3, Some(OWN), Some(0));
        put(folder.path(), 20, Some(OWN), None);
        put(folder.path(), 40, Some(OWN), Some(1));
        assert_eq!(newest(), Ok(folder.path().join(name_of(day(20)))), "one is ahead of the clock");
        fs::write(folder.path().join(name_of(day(2))), "x").unwrap();
        assert!(newest().is_ok(), "an older one that is corrupted belongs to no other store");
        put(folder.path(), 1, Some(OTHER), Some(0));
        assert!(newest().unwrap_err().ends_with("name the one to restore"));
        fs::write(folder.path().join(name_of(day(21))), "x").unwrap();
        assert!(newest().unwrap_err().ends_with("is corrupted: name another backup to restore"));
        fs::remove_file(folder.path().join(name_of(day(21)))).unwrap();
        fs::remove_file(folder.path().join(name_of(day(1)))).unwrap();
        let by_hand = folder.path().join("before-upgrade.backup.gz");
        put_as(&by_hand, 25, Some(OWN), None);
        assert_eq!(newest(), Ok(by_hand.clone()), "its time is in it, not in its name");
        put_as(&by_hand, 10, Some(OWN), None);
        assert_eq!(newest(), Ok(folder.path().join(name_of(day(20)))));
        fs::write(&by_hand, "x").unwrap();
        assert!(newest().unwrap_err().ends_with("is corrupted: name another backup to restore"));
        let nowhere = newest_of_one_store(&folder.path().join("nowhere"), day(30)).unwrap_err();
        assert!(nowhere.contains("No such file"), "{nowhere}");
    }

    #[test]
    fn the_newest_are_retained_and_foreign_files_are_left() {
        let folder = tempfile::tempdir().unwrap();
        for number in 1..=5 {
            put(folder.path(), number, Some(OWN), Some(number.unsigned_abs()));
        }
        for name in ["svctrack-best.backup.gz", "notes.txt", "svctrack-x.unfinished"] {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_unfinished(folder.path()).unwrap();
        retain(folder.path(), OWN, 2, day(5)).unwrap();
        let mut left = names_in(folder.path()).unwrap();
        left.sort();
        let at = |number: i64| name_of(day(number));
        assert_eq!(left, ["notes.txt", &at(4), &at(5), "svctrack-best.backup.gz"]);
    }

    #[test]
    fn backups_of_other_stores_and_those_that_nobody_scheduled_are_never_removed() {
        let folder = tempfile::tempdir().unwrap();
        put(folder.path(), 1, Some(OTHER), Some(7));
        put(folder.path(), 2, None, Some(8));
        put(folder.path(), 3, Some(OWN), None);
        fs::write(folder.path().join(name_of(day(4))), "unreadable").unwrap();
        for number in [5, 6] {
            put(folder.path(), number, Some(OWN), Some(number.unsigned_abs()));
        }
        retain(folder.path(), OWN, 1, day(6)).unwrap();
        let mut left = names_in(folder.path()).unwrap();
        left.sort();
        assert_eq!(left, [1, 2, 3, 4, 6].map(|number| name_of(day(number))));
        let found = backups_in(folder.path(), OWN).unwrap();
        assert_eq!((found.foreign, found.next_sequence()), (3, 7));
    }

    #[test]
    fn what_is_no_regular_file_is_no_backup_and_stops_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: i64| folder.path().join(name_of(day(number)));
        for number in [1, 3, 5] {
            put(folder.path(), number, Some(OWN), Some(number.unsigned_abs()));
        }
        fs::create_dir(path(2)).unwrap();
        fs::create_dir(folder.path().join("svctrack-x.unfinished")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(path(4)).status().unwrap();
        assert!(fifo.success());
        let (done, looked) = mpsc::channel();
        thread::spawn(move || {
            remove_unfinished(folder.path()).unwrap();
            retain(folder.path(), OWN, 2, day(5)).unwrap();
            let skipped = backups_in(folder.path(), OWN).unwrap().skipped;
            done.send((own_in(folder.path()), skipped)).unwrap();
        });
        let looked = looked.recv_timeout(PATIENCE);
        assert_eq!(looked.expect("it waits for the pipe"), (vec![3, 5], 2));
    }

    #[test]
    fn the_order_is_that_in_which_they_were_made_however_the_clock_was_set() {
        let folder = tempfile::tempdir().unwrap();
        for (number, sequence) in [(9, 3), (1_365, 2), (8, 1)] {
            put(folder.path(), number, Some(OWN), Some(sequence));
        }
        assert_eq!(own_in(folder.path()), [8, 1_365, 9]);
        assert_eq!(backups_in(folder.path(), OWN).unwrap().ahead_of_clock(day(1_000)), 1);
        let newest = |now| newest_in(folder.path(), day(now)).unwrap();
        assert_eq!(newest(1_000), folder.path().join(name_of(day(9))));
        assert_eq!(newest(1_365), folder.path().join(name_of(day(1_365))));
    }

    #[test]
    fn the_latest_backup_is_never_removed() {
        let folder = tempfile::tempdir().unwrap();
        for (number, sequence) in [(1_365, 4), (1_366, 5), (999, 3)] {
            put(folder.path(), number, Some(OWN), Some(sequence));
        }
        retain(folder.path(), OWN, 1, day(999)).unwrap();
        assert_eq!(names_in(folder.path()).unwrap(), [name_of(day(999))]);
    }
}
