//! Backups in a folder: how they are named, made without a half one ever having such a name, made again and
//! again while the server runs, and removed when there are newer ones.

use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use serde::{Deserialize, Serialize};
use svctrack_core::value::Timestamp;
use tempfile::NamedTempFile;
use tokio::task::spawn_blocking;

use crate::{
    app::App,
    store::{BackupFile, StoreError, as_text, embedded::Manifest},
};

/// How the name of a backup begins.
const PREFIX: &str = "svctrack-";
/// How it ends.
const SUFFIX: &str = ".backup.gz";
/// How the name of one ends that is being made.
const UNFINISHED: &str = ".unfinished";
/// Shortest interval of a schedule.
const MIN_INTERVAL: Duration = Duration::from_secs(1);
/// Longest pause after a backup that failed.
const MAX_RETRY_PAUSE: Duration = Duration::from_secs(10 * 60);

/// How often something is done: `6h`, `1day`, `90min`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Interval(Duration);

impl FromStr for Interval {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let read = humantime::parse_duration(text).ok().filter(|read| *read >= MIN_INTERVAL);
        read.map(Self).ok_or_else(|| "expected an interval such as 6h or 1day".to_owned())
    }
}

impl TryFrom<String> for Interval {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

impl From<Interval> for String {
    fn from(interval: Interval) -> Self {
        humantime::format_duration(interval.0).to_string()
    }
}

/// When backups are made, and how many are kept.
#[derive(Clone, Debug)]
pub struct Schedule {
    /// Where they lie.
    pub folder: PathBuf,
    /// How often one is made.
    pub every: Interval,
    /// How many are kept.
    pub keep: usize,
}

/// What has become of scheduled backups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Done {
    /// The moment of the newest one.
    #[serde(serialize_with = "as_text")]
    at: Option<Timestamp>,
    /// How many failed since.
    failed: u32,
}

/// What has become of scheduled backups, where there is a schedule.
#[derive(Debug, Default)]
pub(crate) struct Backups(Mutex<Option<Done>>);

impl Backups {
    pub(crate) fn done(&self) -> Option<Done> {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, done: Done) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(done);
    }
}

/// Why no backup was made.
#[derive(Debug, thiserror::Error)]
enum NotMade {
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Folder(#[from] io::Error),
}

/// The name of a backup of this moment; names have the order of their moments.
pub fn name_of(at: Timestamp) -> String {
    format!("{PREFIX}{}{SUFFIX}", at.to_string().replace(':', "-"))
}

/// The moment of the backup with this name, if it is such a name.
fn moment_of(name: &str) -> Option<Timestamp> {
    let moment = name.strip_prefix(PREFIX)?.strip_suffix(SUFFIX)?;
    let (date, time) = moment.split_once('T')?;
    let at = Timestamp::parse(&format!("{date}T{}", time.replace('-', ":")))?;
    (name_of(at) == name).then_some(at)
}

/// A file in a folder that gets its name when it is whole.
pub struct Unfinished(NamedTempFile);

impl Unfinished {
    /// Makes it; of a crash it bears a name that says what it is.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let made = tempfile::Builder::new().prefix(PREFIX).suffix(UNFINISHED).tempfile_in(folder);
        made.map(Self)
    }

    /// The file, to be written.
    ///
    /// # Errors
    /// When the process has too many open.
    pub fn file(&self) -> io::Result<File> {
        self.0.as_file().try_clone()
    }

    /// Gives it its name, once it is on disk. No other file is replaced.
    ///
    /// # Errors
    /// When there is one of this name.
    pub fn finish(self, path: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0.persist_noclobber(path)?;
        File::open(folder_of(path))?.sync_all()
    }

    /// The same, in the place of another file of this name.
    ///
    /// # Errors
    /// When the folder cannot be written.
    pub fn replace(self, path: &Path) -> io::Result<()> {
        self.0.as_file().sync_all()?;
        self.0.persist(path)?;
        File::open(folder_of(path))?.sync_all()
    }
}

/// The folder that a file lies in.
pub fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Makes backups for as long as the server runs; the first when the newest that is there is old enough.
pub(crate) async fn run(app: Arc<App>, schedule: Schedule) {
    let Interval(every) = schedule.every;
    let folder = schedule.folder.clone();
    let newest = spawn_blocking(move || moments_in(&folder)).await.ok().and_then(Result::ok);
    let mut done = Done { at: newest.and_then(|all| all.last().copied()), failed: 0 };
    loop {
        app.backups.note(done);
        let pause = match (done.failed, done.at) {
            (0, Some(at)) => every.saturating_sub(since(at, app.clock.now())),
            (0, None) => Duration::ZERO,
            _ => every.min(MAX_RETRY_PAUSE),
        };
        tokio::time::sleep(pause).await;
        match make(&app, &schedule).await {
            Ok(manifest) => {
                tracing::info!(rows = manifest.rows, at = %manifest.at(), "a backup was made");
                done = Done { at: Some(manifest.at()), failed: 0 };
            }
            Err(error) => {
                tracing::error!(cause = %error, "no backup was made");
                done.failed = done.failed.saturating_add(1);
            }
        }
    }
}

/// How long ago a moment was; nothing when it lies ahead, as after a clock was set back.
fn since(at: Timestamp, now: Timestamp) -> Duration {
    Duration::from_millis(u64::try_from(now.as_ms() - at.as_ms()).unwrap_or_default())
}

/// Makes a backup, and removes those that are one too many.
async fn make(app: &App, schedule: &Schedule) -> Result<Manifest, NotMade> {
    let folder = schedule.folder.clone();
    let begin = move || {
        fs::create_dir_all(&folder)?;
        remove_unfinished(&folder)?;
        let unfinished = Unfinished::in_folder(&folder)?;
        let file = unfinished.file()?;
        Ok((unfinished, file))
    };
    let (unfinished, file) = apart(begin).await?;
    let (_, manifest) = app.store.back_up(BackupFile::Given(file)).await?;
    let (folder, keep, name) = (schedule.folder.clone(), schedule.keep, name_of(manifest.at()));
    let finish = move || {
        unfinished.finish(&folder.join(name))?;
        retain(&folder, keep)
    };
    apart(finish).await?;
    Ok(manifest)
}

/// Works on files where that holds up no request.
pub(crate) async fn apart<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// The names in a folder that are text; ours are.
fn names_in(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        names.extend(entry?.file_name().into_string());
    }
    Ok(names)
}

/// The moments of the backups in a folder, oldest first.
fn moments_in(folder: &Path) -> io::Result<Vec<Timestamp>> {
    let mut moments: Vec<_> = names_in(folder)?.iter().filter_map(|name| moment_of(name)).collect();
    moments.sort_unstable();
    Ok(moments)
}

/// The newest backup in a folder, if there is one.
pub(crate) fn newest_in(folder: &Path) -> Option<PathBuf> {
    let newest = *moments_in(folder).ok()?.last()?;
    Some(folder.join(name_of(newest)))
}

/// Removes what a crash has left.
fn remove_unfinished(folder: &Path) -> io::Result<()> {
    let is_left = |name: &String| name.starts_with(PREFIX) && name.ends_with(UNFINISHED);
    for name in names_in(folder)?.into_iter().filter(is_left) {
        fs::remove_file(folder.join(name))?;
    }
    Ok(())
}

/// Removes the oldest backups until `keep` are left. What bears another name is somebody else's.
fn retain(folder: &Path, keep: usize) -> io::Result<()> {
    let moments = moments_in(folder)?;
    for at in moments.iter().take(moments.len().saturating_sub(keep)) {
        fs::remove_file(folder.join(name_of(*at)))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let at = |day: i64| name_of(Timestamp::from_ms_clamped(day * 86_400_000));
        let others = ["svctrack-best.backup.gz", "notes.txt", "svctrack-x.unfinished"];
        for name in (1..=5).map(at).chain(others.map(str::to_owned)) {
            fs::write(folder.path().join(name), "").unwrap();
        }
        remove_unfinished(folder.path()).unwrap();
        retain(folder.path(), 2).unwrap();
        let mut left = names_in(folder.path()).unwrap();
        left.sort();
        assert_eq!(left, ["notes.txt", &at(4), &at(5), "svctrack-best.backup.gz"]);
    }

    #[test]
    fn an_interval_is_read_as_people_write_it() {
        assert_eq!("6h".parse(), Ok(Interval(Duration::from_secs(6 * 3600))));
        assert_eq!(String::from("1day".parse::<Interval>().unwrap()), "1day");
        for other in ["", "6", "0s", "10ms", "often"] {
            assert!(other.parse::<Interval>().is_err(), "{other}");
        }
    }

    #[test]
    fn what_is_whole_gets_its_name_and_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("backup");
        Unfinished::in_folder(folder.path()).unwrap().finish(&path).unwrap();
        assert!(Unfinished::in_folder(folder.path()).unwrap().finish(&path).is_err());
        drop(Unfinished::in_folder(folder.path()).unwrap());
        assert_eq!(names_in(folder.path()).unwrap(), ["backup"]);
    }
}
