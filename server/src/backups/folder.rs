//! The backups in a folder, in the order in which they were created.
//!
//! Their names have the time of the clock then, which may have been wrong. A scheduled backup has its sequence number
//! in its head; of others only the time is known.

use std::{
    fs::{self, File},
    io::{self, BufReader},
    path::{Path, PathBuf},
};

use svctrack_core::value::Timestamp;
use svctrack_store::{MAX_DRIFT_MS, sequence_of};

/// How the name of a backup begins.
pub(super) const PREFIX: &str = "svctrack-";
const SUFFIX: &str = ".backup.gz";
/// The end of the name of an unfinished one.
pub(super) const UNFINISHED: &str = ".unfinished";

/// The name of a backup of this time; names sort by time.
pub fn name_of(at: Timestamp) -> String {
    format!("{PREFIX}{}{SUFFIX}", at.to_string().replace(':', "-"))
}

/// The time of the backup with this name, if it is the name of one.
fn moment_of(name: &str) -> Option<Timestamp> {
    let moment = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (date, time) = moment.split_once('T')?;
    let at = Timestamp::parse(&format!("{date}T{}", time.replace('-', ":")))?;
    (name_of(at) == name).then_some(at)
}

/// A backup in a folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Backup {
    /// The time in its name.
    pub(super) at: Timestamp,
    /// Which one it is in its folder, where it says so.
    sequence: Option<u64>,
}

impl Backup {
    /// Whether its name is ahead of the clock.
    pub(super) fn is_ahead(&self, now: Timestamp) -> bool {
        self.at.as_ms() - now.as_ms() > MAX_DRIFT_MS
    }
}

/// The names in a folder that are text; ours are.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// Whether a name in a folder is that of a regular file. A pipe or a folder with a backup's name is no backup: opening the
/// one would block, and the other cannot be removed as a file.
fn is_file(folder: &Path, name: &str) -> bool {
    fs::metadata(folder.join(name)).is_ok_and(|found| found.is_file())
}

/// How many names of backups in a folder are not those of regular files.
pub(super) fn count_others(folder: &Path) -> io::Result<usize> {
    let is_other = |name: &&String| moment_of(name).is_some() && !is_file(folder, name);
    Ok(names_in(folder)?.iter().filter(is_other).count())
}

/// The backups in a folder, in the order in which they were created, the newest last.
pub(super) fn backups_in(folder: &Path, now: Timestamp) -> io::Result<Vec<Backup>> {
    let mut backups = Vec::new();
    for name in names_in(folder)? {
        let Some(at) = moment_of(&name).filter(|_| is_file(folder, &name)) else { continue };
        // One that cannot be read may still be there because of that: it is no reason to remove others.
        let sequence = File::open(folder.join(name)).ok().map(BufReader::new).map(sequence_of);
        backups.push(Backup { at, sequence: sequence.and_then(Result::ok).flatten() });
    }
    Ok(in_order(backups, now))
}

/// Sorts backups by creation. One without a sequence comes after those with one that are not later; when its name is
/// ahead of the clock, nothing is known of it, and it comes first.
fn in_order(backups: Vec<Backup>, now: Timestamp) -> Vec<Backup> {
    let (mut known, others): (Vec<_>, Vec<_>) =
        backups.into_iter().partition(|backup| backup.sequence.is_some());
    known.sort_by_key(|backup| (backup.sequence, backup.at));
    let place_of = |other: &Backup| match other.is_ahead(now) {
        true => 0,
        false => known.iter().rposition(|known| known.at <= other.at).map_or(0, |last| last + 1),
    };
    let mut placed: Vec<_> = known.iter().zip(1..).map(|(known, place)| (place, *known)).collect();
    placed.extend(others.iter().map(|other| (place_of(other), *other)));
    placed.sort_by_key(|(place, backup)| {
        (*place, backup.sequence.is_none(), !backup.is_ahead(now), backup.at)
    });
    placed.into_iter().map(|(_, backup)| backup).collect()
}

/// The sequence of the next backup.
pub(super) fn next_sequence(backups: &[Backup]) -> u64 {
    let last = backups.iter().filter_map(|backup| backup.sequence).max();
    last.unwrap_or_default().saturating_add(1)
}

/// The newest backup in a folder, if there is one.
pub(crate) fn newest_in(folder: &Path, now: Timestamp) -> Option<PathBuf> {
    let newest = *backups_in(folder, now).ok()?.last()?;
    Some(folder.join(name_of(newest.at)))
}

/// Removes what a crash has left.
pub(super) fn remove_unfinished(folder: &Path) -> io::Result<()> {
    let is_left = |name: &String| {
        name.starts_with(PREFIX) && name.ends_with(UNFINISHED) && is_file(folder, name)
    };
    for name in names_in(folder)?.into_iter().filter(is_left) {
        fs::remove_file(folder.join(name))?;
    }
    Ok(())
}

/// Removes the oldest backups until `keep` are left, and never the one that was just created. Files with other names
/// are not touched.
pub(super) fn retain(
    folder: &Path,
    keep: usize,
    made: Timestamp,
    now: Timestamp,
) -> io::Result<()> {
    let backups = backups_in(folder, now)?;
    let too_many = backups.len().saturating_sub(keep);
    for old in backups.iter().filter(|backup| backup.at != made).take(too_many) {
        fs::remove_file(folder.join(name_of(old.at)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_000;

    fn day(day: i64) -> Timestamp {
        Timestamp::from_ms_clamped(day * 86_400_000)
    }

    #[test]
    fn a_name_says_its_moment_and_no_other_name_does() {
        let at = Timestamp::parse("2026-11-20T12:30:05.007Z").unwrap();
        let name = "svctrack-2026-11-20T12-30-05.007Z.backup.gz";
        assert_eq!((name_of(at).as_str(), moment_of(name)), (name, Some(at)));
        for other in ["svctrack-.backup.gz", "svctrack-2026-11-20.backup.gz", "x", "svctrack.redb"]
        {
            assert_eq!(moment_of(other), None, "{other}");
        }
    }

    #[test]
    fn the_newest_are_kept_and_what_is_not_ours_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let at = |number: i64| name_of(day(number));
        let others = ["svctrack-best.backup.gz", "notes.txt", "svctrack-x.unfinished"];
        for name in (1..=5).map(at).chain(others.map(str::to_owned)) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_unfinished(folder.path()).unwrap();
        retain(folder.path(), 2, day(5), day(NOW)).unwrap();
        let mut left = names_in(folder.path()).unwrap();
        left.sort();
        assert_eq!(left, ["notes.txt", &at(4), &at(5), "svctrack-best.backup.gz"]);
    }

    #[test]
    fn what_is_no_regular_file_is_no_backup_and_stops_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = |number: i64| folder.path().join(name_of(day(number)));
        for number in [1, 3, 5] {
            fs::write(path(number), "").unwrap();
        }
        fs::create_dir(path(2)).unwrap();
        fs::create_dir(folder.path().join("svctrack-x.unfinished")).unwrap();
        let fifo = std::process::Command::new("mkfifo").arg(path(4)).status().unwrap();
        assert!(fifo.success());
        let looked = std::thread::spawn(move || {
            remove_unfinished(folder.path()).unwrap();
            retain(folder.path(), 2, day(5), day(NOW)).unwrap();
            let left = backups_in(folder.path(), day(NOW)).unwrap();
            (
                left.iter().map(|backup| backup.at).collect::<Vec<_>>(),
                count_others(folder.path()).unwrap(),
            )
        });
        let started = std::time::Instant::now();
        while !looked.is_finished() {
            assert!(started.elapsed().as_secs() < 20, "it waits for somebody who writes to a pipe");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        assert_eq!(looked.join().unwrap(), (vec![day(3), day(5)], 2));
    }

    /// The days of backups, each with its sequence, in order.
    fn check(backups: &[(i64, Option<u64>)], expect: &[i64]) {
        let backups =
            backups.iter().map(|(at, sequence)| Backup { at: day(*at), sequence: *sequence });
        let found = in_order(backups.collect(), day(NOW));
        let days: Vec<_> = found.iter().map(|backup| backup.at.epoch_days()).collect();
        assert_eq!(days, expect);
    }

    #[test]
    fn the_order_is_that_in_which_they_were_made_however_the_clock_was_set() {
        check(&[(3, None), (1, None), (2, None)], &[1, 2, 3]);
        check(&[(9, Some(3)), (1_365, Some(2)), (8, Some(1))], &[8, 1_365, 9]);
        // Of those without a sequence the time is known, unless it is ahead of the clock.
        check(&[(7, None), (10, None), (9, Some(2)), (8, Some(1))], &[7, 8, 9, 10]);
        check(&[(9, None), (1_365, None), (8, None), (10, Some(1))], &[1_365, 8, 9, 10]);
        check(&[(12, None), (11, Some(3)), (1_365, Some(2)), (10, Some(1))], &[10, 1_365, 11, 12]);
    }

    #[test]
    fn the_one_that_was_made_just_now_is_never_removed() {
        let folder = tempfile::tempdir().unwrap();
        for number in [1_365, 1_366, 999] {
            fs::write(folder.path().join(name_of(day(number))), "").unwrap();
        }
        // The clock has been set back by ten years meanwhile, so that its name is ahead as well.
        retain(folder.path(), 1, day(999), day(10)).unwrap();
        assert_eq!(names_in(folder.path()).unwrap(), [name_of(day(999))]);
    }
}
