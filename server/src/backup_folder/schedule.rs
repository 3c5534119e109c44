//! Schedule of backups: they are created while the server runs, and the oldest are removed.

use std::{
    fmt, io,
    path::PathBuf,
    str::FromStr,
    sync::Arc,
    time::{Duration, Instant},
};

use svctrack_core::value::Timestamp;
use svctrack_store::{
    BackupFile, Clock, Manifest, Store, StoreError, StoreId, support::private_folder,
};
use tokio::task::spawn_blocking;

use super::{
    backup_files::{self, BackupsInFolder, name_of},
    status::{BackupStatus, Backups},
    unfinished_file::UnfinishedFile,
};
use crate::config::setting_text::setting_as_text;

/// Shortest interval of a schedule.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Interval in which the folder is read between backups.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// Longest pause after a backup that failed.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(10 * 60);

/// An interval such as `6h`, `1day`, `90min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackupInterval(Duration);

setting_as_text!(BackupInterval);

impl FromStr for BackupInterval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = humantime::parse_duration(text).ok().filter(|read| *read >= MIN_INTERVAL);
        read.map(Self).ok_or_else(|| "expected an interval such as 6h or 1day".to_owned())
    }
}

impl fmt::Display for BackupInterval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// Interval of backups, and the number that is retained.
#[derive(Clone, Debug)]
pub struct Schedule {
    pub folder: PathBuf,
    /// The interval between backups.
    pub every: BackupInterval,
    /// Number of backups that are retained.
    pub keep: usize,
}

/// Why a backup failed.
#[derive(Debug, thiserror::Error)]
enum BackupFailure {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] io::Error),
    /// The directory was there at the start: its disk may not be mounted any more, and another would fill up instead.
    #[error("the directory is gone: mount its disk, or create the directory")]
    Gone,
}

/// Checks that backups of a schedule can be written into their folder, which is created where it is missing. A full
/// disk does not prevent a start: there may be room again at the first backup.
///
/// # Errors
/// A message with the folder.
pub(crate) fn check(schedule: &Schedule) -> Result<(), String> {
    let folder = &schedule.folder;
    let tried = private_folder::create(folder).and_then(|()| UnfinishedFile::in_folder(folder));
    match tried {
        Err(error) if error.kind() != io::ErrorKind::StorageFull => {
            let folder = folder.display();
            Err(format!(
                "backups cannot be written to `{folder}`: {error}; let the user of the server write there, or choose \
                 another directory with --backup-to"
            ))
        }
        _ => Ok(()),
    }
}

/// Creates backups while the server runs; the first when the newest existing one is old enough.
pub(crate) async fn run(
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    status: Arc<Backups>,
    schedule: Schedule,
) {
    let BackupInterval(every) = schedule.every;
    let directory = schedule.folder.display();
    let own = store.id();
    let mut done = look(&schedule, own, clock.now(), BackupStatus::default()).await;
    let age = age(done.at, clock.now()).unwrap_or(every);
    let (mut begun, mut pause) = (Instant::now(), every.saturating_sub(age));
    loop {
        status.note(done);
        tokio::time::sleep(pause.saturating_sub(begun.elapsed()).min(LOOK_EVERY)).await;
        if begun.elapsed() >= pause {
            begun = Instant::now();
            match make(&*store, &schedule).await {
                Ok(manifest) => {
                    let (rows, at) = (manifest.rows, manifest.at());
                    tracing::info!(rows, %at, %directory, "backup finished");
                    done.failed = 0;
                    pause = every;
                }
                Err(error) => {
                    tracing::error!(cause = %error, %directory, "backup failed");
                    done.failed = done.failed.saturating_add(1);
                    begun = Instant::now();
                    pause = every.min(MAX_RETRY_PAUSE);
                }
            }
        }
        done = look(&schedule, own, clock.now(), done).await;
    }
}

/// Age of the newest backup; unknown where its time is in the future, as after the clock was set back.
fn age(at: Option<Timestamp>, now: Timestamp) -> Option<Duration> {
    u64::try_from(now.as_ms() - at?.as_ms()).ok().map(Duration::from_millis)
}

/// Reads the folder, from which others may remove backups.
async fn look(
    schedule: &Schedule,
    store: StoreId,
    now: Timestamp,
    before: BackupStatus,
) -> BackupStatus {
    let folder = schedule.folder.clone();
    let found =
        run_blocking(move || backup_files::backups_in(&folder, store)).await.unwrap_or_default();
    let BackupsInFolder { foreign, skipped, .. } = found;
    let (newest, ahead) = (found.own.last(), found.ahead_of_clock(now));
    if ahead > before.ahead {
        tracing::warn!(backups = ahead, "backups dated in the future");
    }
    if skipped > before.skipped {
        tracing::warn!(names = skipped, "backup skipped: not a regular file");
    }
    if foreign > before.foreign {
        let directory = schedule.folder.display();
        tracing::warn!(backups = foreign, %directory, "backups of another store: never deleted");
    }
    BackupStatus { at: newest.map(|newest| newest.at), ahead, foreign, skipped, ..before }
}

/// Creates a backup, and removes those beyond the limit.
async fn make(store: &dyn Store, schedule: &Schedule) -> Result<Manifest, BackupFailure> {
    let (folder, own) = (schedule.folder.clone(), store.id());
    let begin = move || {
        if !folder.try_exists()? {
            return Ok(None);
        }
        backup_files::remove_unfinished(&folder)?;
        let sequence = backup_files::backups_in(&folder, own)?.next_sequence();
        let unfinished = UnfinishedFile::in_folder(&folder)?;
        let file = unfinished.file()?;
        Ok(Some((unfinished, file, sequence)))
    };
    let (unfinished, file, sequence) = run_blocking(begin).await?.ok_or(BackupFailure::Gone)?;
    let (_, manifest) = store.back_up(BackupFile::Given { file, sequence }).await?;
    let (folder, keep, at) = (schedule.folder.clone(), schedule.keep, manifest.at());
    let finish = move || {
        unfinished.finish(&folder.join(name_of(at)))?;
        backup_files::retain(&folder, own, keep, at)
    };
    run_blocking(finish).await?;
    Ok(manifest)
}

/// Runs work on files on a thread for blocking work.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_is_read_as_people_write_it() {
        assert_eq!("6h".parse(), Ok(BackupInterval(Duration::from_secs(6 * 3600))));
        assert_eq!("1day".parse::<BackupInterval>().unwrap().to_string(), "1day");
        for other in ["", "6", "0s", "10ms", "often"] {
            assert!(other.parse::<BackupInterval>().is_err(), "{other}");
        }
    }
}
