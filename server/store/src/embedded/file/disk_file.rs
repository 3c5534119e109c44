//! The store's file on a disk: locked against other processes, and replaced as a whole.

use std::{
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io::{self, Write as _},
    ops::Range,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use redb::{StorageBackend, backends::FileBackend};

use super::{
    nonblocking_read::{self, before_waiting},
    open::{OpenError, remove_if_there, sync_folder},
    storage::{EVERYTHING, Storage, StoreFile, WriteStore},
};
use crate::support::regular_file;

/// Size of a trial write, in bytes: that of a small transaction.
const TRIED_BYTES: usize = 256 * 1024;

/// A file on disk. It is locked against other processes from its first opening until the last of this, its clones, and
/// the storages that it has opened is dropped: it may be opened several times, so redb, which would lock it each time,
/// locks nothing.
#[derive(Clone, Debug)]
pub struct DiskFile {
    path: PathBuf,
    /// Whether the file is to be read alone, so that it need not be writable.
    is_to_read: bool,
    /// The locked file; all its duplicates share the lock.
    locked: Arc<Mutex<Option<File>>>,
}

impl DiskFile {
    /// The file at a path.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), is_to_read: false, locked: Arc::default() }
    }

    /// The file at a path, to read alone.
    pub(crate) fn to_read(path: &Path) -> Self {
        Self { is_to_read: true, ..Self::at(path) }
    }

    /// Path of a new store until it replaces this one.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.path.with_extension("compact")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A new file that will get the name of this one. It stays locked: between an unlock and a new lock another process
    /// may take it, such as one that is just being started with the open files of its parent.
    pub(crate) fn new_file(&self, path: &Path) -> Result<Storage, OpenError> {
        let file = create_file(path)?;
        lock(&file)?;
        *self.locked() = Some(file.try_clone()?);
        Ok(storage_of(file)?)
    }

    fn file(&self) -> Result<File, OpenError> {
        let mut locked = self.locked();
        regular_file::check(&self.path)?;
        let named = identity(&fs::metadata(&self.path)?);
        if let Some(known) = &*locked
            && identity(&known.metadata()?) == named
        {
            return Ok(known.try_clone()?);
        }
        let file = OpenOptions::new().read(true).write(!self.is_to_read).open(&self.path)?;
        lock(&file)?;
        // A store that was just rewritten has its name on another file than this one.
        if identity(&file.metadata()?) != identity(&fs::metadata(&self.path)?) {
            return Err(io::Error::other("the file has been replaced: try again").into());
        }
        *locked = Some(file.try_clone()?);
        Ok(file)
    }

    fn locked(&self) -> MutexGuard<'_, Option<File>> {
        self.locked.lock()
    }
}

/// Largest unit of the page cache of Linux, in bytes: a part of one is not forgotten.
#[cfg(target_os = "linux")]
const FOLIO_BYTES: u64 = 8 * 1024 * 1024;

/// Ranges that are extended to whole units of the cache, and joined where they meet.
#[cfg(target_os = "linux")]
fn widened(parts: &[Range<u64>]) -> Vec<Range<u64>> {
    let whole = |part: &Range<u64>| {
        let end = part.end.checked_next_multiple_of(FOLIO_BYTES).unwrap_or(u64::MAX);
        part.start / FOLIO_BYTES * FOLIO_BYTES..end
    };
    let mut wide: Vec<_> = parts.iter().map(whole).collect();
    wide.sort_unstable_by_key(|part| part.start);
    wide.dedup_by(|next, part| {
        let meets = next.start <= part.end;
        if meets {
            part.end = part.end.max(next.end);
        }
        meets
    });
    wide
}

/// Locks a file against other processes, for as long as it is open. Where the system has no locks, the file is not
/// locked.
fn lock(file: &File) -> Result<(), OpenError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked),
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// Device and inode of a file.
fn identity(of: &Metadata) -> (u64, u64) {
    (of.dev(), of.ino())
}

impl StoreFile for DiskFile {
    fn open(&self) -> Result<Storage, OpenError> {
        Ok(storage_of(self.file()?)?)
    }

    fn forget_cached(&self, parts: &[Range<u64>]) -> Result<(), OpenError> {
        let file = self.file()?;
        // Data that is not on disk yet stays in the page cache.
        let synced = file.sync_data();
        #[cfg(target_os = "linux")]
        for Range { start, end } in widened(parts) {
            // Without a length the range extends to the end of the file.
            let len = std::num::NonZeroU64::new(end - start).filter(|_| end < EVERYTHING.end);
            rustix::fs::fadvise(&file, start, len, rustix::fs::Advice::DontNeed)
                .map_err(io::Error::from)?;
        }
        Ok(synced?)
    }

    fn try_to_write(&self) -> io::Result<()> {
        let path = self.path.with_extension("try");
        // A crash may have left the file.
        remove_if_there(&path)?;
        let tried = create_file(&path).and_then(|mut file| {
            file.write_all(&vec![1; TRIED_BYTES])?;
            file.sync_all()
        });
        remove_if_there(&path)?;
        tried?;
        // The store's own name may not be on disk yet, if the store was rewritten just before.
        sync_folder(&self.path)
    }

    fn unnamed_file(&self) -> io::Result<File> {
        match self.path.parent() {
            Some(folder) => tempfile::tempfile_in(folder),
            None => tempfile::tempfile(),
        }
    }

    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError> {
        let unfinished = self.unfinished();
        remove_if_there(&unfinished)?;
        let mut replace = || {
            let file = create_file(&unfinished)?;
            lock(&file)?;
            write(storage_of(file.try_clone()?)?)?;
            file.sync_all()?;
            let mut locked = self.locked();
            fs::rename(&unfinished, &self.path)?;
            *locked = Some(file);
            Ok(sync_folder(&self.path)?)
        };
        let replaced = replace();
        if replaced.is_err() {
            remove_if_there(&unfinished)?;
        }
        replaced
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }

    fn bytes(&self) -> u64 {
        fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

fn storage_of(file: File) -> io::Result<Storage> {
    let read = file.try_clone()?;
    let under = FileBackend::new(file).map_err(io::Error::other)?;
    Ok(Storage::new(StoredFile { under, read }))
}

/// A file; a read that must end at once reads only the memory of the system.
#[derive(Debug)]
struct StoredFile {
    under: FileBackend,
    read: File,
}

impl StoredFile {
    /// Reads from the memory of the system; returns whether it had the data, where the system reports this.
    #[cfg(target_os = "linux")]
    fn read_in_memory(&self, offset: u64, out: &mut [u8]) -> Option<bool> {
        let len = out.len();
        let now = rustix::io::ReadWriteFlags::NOWAIT;
        match rustix::io::preadv2(&self.read, &mut [io::IoSliceMut::new(out)], offset, now) {
            Ok(read) => Some(read == len),
            Err(rustix::io::Errno::AGAIN) => Some(false),
            // A file system in memory has nothing else; one on a network cannot tell.
            Err(_) => None,
        }
    }

    #[cfg(not(target_os = "linux"))]
    fn read_in_memory(&self, _offset: u64, _out: &mut [u8]) -> Option<bool> {
        None
    }
}

impl StorageBackend for StoredFile {
    fn len(&self) -> io::Result<u64> {
        self.under.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if !nonblocking_read::may_wait() {
            match self.read_in_memory(offset, out) {
                Some(true) => return Ok(()),
                Some(false) => before_waiting(),
                None => {}
            }
        }
        self.under.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.under.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.under.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.under.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.under.close()
    }
}

/// Permissions of the store's file: only its owner reads it, since it has data of customers.
const FILE_MODE: u32 = 0o600;

/// Gives a new file to the owner of its folder: root compacts and restores stores of a service that runs as another
/// user, which could not open a file of root's.
fn give_to_owner_of_folder(file: &File, path: &Path) -> io::Result<()> {
    let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) else {
        return Ok(());
    };
    let (owner, now) = (fs::metadata(folder)?, file.metadata()?);
    if (owner.uid(), owner.gid()) == (now.uid(), now.gid()) {
        return Ok(());
    }
    match fchown(file, Some(owner.uid()), Some(owner.gid())) {
        // Only root may.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        given => given,
    }
}

/// Creates a file that must not exist yet, for the owner of its folder.
fn create_file(path: &Path) -> io::Result<File> {
    let file =
        OpenOptions::new().read(true).write(true).create_new(true).mode(FILE_MODE).open(path)?;
    give_to_owner_of_folder(&file, path)?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use super::*;
    use crate::embedded::file::open;

    #[test]
    fn a_file_is_locked_for_as_long_as_anything_of_it_is_open_and_while_another_takes_its_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        fs::write(&path, "first").unwrap();
        let (store_file, other) = (DiskFile::at(&path), DiskFile::at(&path));
        let first = store_file.open().unwrap();
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            let others = scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    assert!(DiskFile::at(&path).open().is_err());
                }
            });
            for _ in 0..300 {
                store_file.replace(&mut |new| Ok(new.write(0, b"other")?)).unwrap();
                let mut found = [0; 5];
                store_file.open().unwrap().read(0, &mut found).unwrap();
                assert_eq!(&found, b"other");
                first.read(0, &mut found).unwrap();
                assert_eq!(&found, b"first");
            }
            is_over.store(true, Ordering::Relaxed);
            others.join().unwrap();
        });
        let last = store_file.open().unwrap();
        drop((store_file, first));
        assert!(matches!(other.open(), Err(OpenError::Locked)));
        drop(last);
        assert!(other.open().is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn parts_are_evicted_with_the_rest_of_their_folio() {
        let folio = FOLIO_BYTES;
        assert_eq!(widened(&[EVERYTHING]), [EVERYTHING]);
        let parts = [5 * folio + 7..5 * folio + 9, 0..10, folio - 1..folio + 1, 20..30];
        assert_eq!(widened(&parts), [0..2 * folio, 5 * folio..6 * folio]);
    }

    #[test]
    fn a_new_store_stays_locked_until_it_is_opened() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        let store_file = DiskFile::at(&path);
        open::create(&store_file, [1; 5]).unwrap();
        assert!(matches!(DiskFile::at(&path).open(), Err(OpenError::Locked)));
        assert!(store_file.open().is_ok());
    }

    #[test]
    fn a_file_to_read_alone_is_locked_and_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("store");
        fs::write(&path, "first").unwrap();
        let storage = DiskFile::to_read(&path).open().unwrap();
        assert!(storage.write(0, b"other").is_err() && storage.set_len(0).is_err());
        assert!(matches!(DiskFile::at(&path).open(), Err(OpenError::Locked)));
        drop(storage);
        assert_eq!(fs::read(&path).unwrap(), b"first");
    }
}
