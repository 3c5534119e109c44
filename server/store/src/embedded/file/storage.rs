//! The bytes under the database: a file, or a test's replacement.
//!
//! All reads and writes of redb pass through [`Storage`], which alone opens the file; tests make the n-th one fail.

use std::{
    collections::BTreeMap,
    fmt,
    fs::{self, File, Metadata, OpenOptions, TryLockError},
    io::{self, Write as _},
    ops::Range,
    os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, fchown},
    path::{Path, PathBuf},
    sync::Arc,
};

use parking_lot::{Mutex, MutexGuard};
use redb::{StorageBackend, backends::FileBackend};

pub use super::nonblocking_read::before_waiting;
use super::{
    nonblocking_read,
    open::{OpenError, remove_if_there, sync_folder},
};
use crate::support::regular_file;

/// Opens the bytes of a store: at the start, and again after an error, while the earlier ones are still open.
pub trait StoreFile: Send + Sync {
    /// Opens the existing file.
    ///
    /// # Errors
    /// [`OpenError::Locked`] when another process has the file, or [`OpenError::Io`].
    fn open(&self) -> Result<Storage, OpenError>;

    /// Writes the data to disk, and asks the system to drop its cache of parts of the file, so that reads see the disk,
    /// and the next writes reach it. After a write has failed, the memory has data that the disk does not have; and
    /// when that is written again, a sync of ext4 may report success though the data never reaches the disk. To forget
    /// [`EVERYTHING`] takes some 0.1 s for a cached gigabyte, so an ordinary start does not do it.
    ///
    /// # Errors
    /// As [`StoreFile::open`], or when earlier writes do not reach the disk; they are forgotten then too.
    fn forget_cached(&self, _parts: &[Range<u64>]) -> Result<(), OpenError> {
        Ok(())
    }

    /// Tests whether the folder of the store can be written.
    ///
    /// # Errors
    /// When it cannot be written.
    fn try_to_write(&self) -> io::Result<()>;

    /// A new file without a name in the same folder, or in the system's folder for temporary files.
    ///
    /// # Errors
    /// When the file cannot be created.
    fn unnamed_file(&self) -> io::Result<File> {
        tempfile::tempfile()
    }

    /// Lets `write` write another store next to this one, and replaces this one when the new one is complete on disk.
    ///
    /// # Errors
    /// When the new store cannot be written; then this one stays.
    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError>;

    /// Name of the file for a person.
    fn name(&self) -> String;

    /// Size of the file in bytes, where it is known.
    fn bytes(&self) -> u64 {
        0
    }
}

/// All bytes of a file.
pub const EVERYTHING: Range<u64> = 0..u64::MAX;

/// Writes a store into empty storage.
pub type WriteStore<'w> = &'w mut dyn FnMut(Storage) -> Result<(), OpenError>;

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
        Ok(Storage::of_file(file)?)
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
        Ok(Storage::of_file(self.file()?)?)
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
            write(Storage::of_file(file.try_clone()?)?)?;
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

/// The bytes under the database.
pub struct Storage(Box<dyn StorageBackend>);

impl Storage {
    /// Storage over any backend, such as one of a test.
    pub fn new(backend: impl StorageBackend) -> Self {
        Self(Box::new(backend))
    }

    fn of_file(file: File) -> io::Result<Self> {
        let read = file.try_clone()?;
        let under = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Self::new(StoredFile { under, read }))
    }
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

/// Bytes of a block in memory.
const BLOCK_BYTES: u64 = 4_096;

/// Storage over another, which is not changed: writes stay in memory. A file that may not be a store is tried over it.
#[derive(Debug)]
pub(crate) struct OverlayBackend {
    under: Storage,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    len: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl OverlayBackend {
    /// A trial over `under`.
    ///
    /// # Errors
    /// When the length cannot be read.
    pub(crate) fn over(under: Storage) -> io::Result<Self> {
        let len = under.len()?;
        Ok(Self { under, written: Mutex::new(Written { len, blocks: BTreeMap::new() }) })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock()
    }

    /// A block as it is now. It is read without the lock, so that reads do not wait for each other.
    fn block(&self, number: u64) -> io::Result<Vec<u8>> {
        let written = self.written().blocks.get(&number).cloned();
        written.map_or_else(|| self.block_below(number), Ok)
    }

    /// A block of the storage below; bytes after its end are zero.
    fn block_below(&self, number: u64) -> io::Result<Vec<u8>> {
        let offset = number * BLOCK_BYTES;
        let mut block = vec![0; BLOCK_BYTES as usize];
        let there = self.under.len()?.saturating_sub(offset).min(BLOCK_BYTES);
        let part = block.get_mut(..usize::try_from(there).unwrap_or(0));
        if let Some(part) = part.filter(|part| !part.is_empty()) {
            self.under.read(offset, part)?;
        }
        Ok(block)
    }

    /// Passes each block of a range to `visit`: its number, where the range begins in it, and which part of the range
    /// is in it.
    fn for_blocks(
        offset: u64,
        len: usize,
        mut visit: impl FnMut(u64, usize, Range<usize>) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut done = 0;
        while done < len {
            let at = offset + done as u64;
            let begin = (at % BLOCK_BYTES) as usize;
            let part = (BLOCK_BYTES as usize - begin).min(len - done);
            visit(at / BLOCK_BYTES, begin, done..done + part)?;
            done += part;
        }
        Ok(())
    }
}

impl StorageBackend for OverlayBackend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset.saturating_add(out.len() as u64) > self.len()? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Self::for_blocks(offset, out.len(), |number, begin, part| {
            let block = self.block(number)?;
            let from = block.get(begin..begin + part.len());
            if let (Some(to), Some(from)) = (out.get_mut(part), from) {
                to.copy_from_slice(from);
            }
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.written().len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        Self::for_blocks(offset, data.len(), |number, begin, part| {
            let whole = part.len() == BLOCK_BYTES as usize;
            let mut block = if whole { vec![0; part.len()] } else { self.block(number)? };
            let to = block.get_mut(begin..begin + part.len());
            if let (Some(to), Some(from)) = (to, data.get(part)) {
                to.copy_from_slice(from);
            }
            self.written().blocks.insert(number, block);
            Ok(())
        })
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

impl fmt::Debug for Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl StorageBackend for Storage {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.close()
    }
}

#[cfg(test)]
mod tests {
    use std::{
        sync::atomic::{AtomicBool, Ordering},
        thread,
    };

    use redb::backends::InMemoryBackend;

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
    fn parts_are_forgotten_with_what_is_kept_as_one_with_them() {
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

    #[test]
    fn a_trial_reads_what_it_wrote_and_leaves_what_is_below() {
        let below = InMemoryBackend::new();
        below.set_len(10_000).unwrap();
        below.write(4_000, &[7; 300]).unwrap();
        let trial = OverlayBackend::over(Storage::new(below)).unwrap();
        trial.write(4_090, &[9; 20]).unwrap();
        trial.set_len(20_000).unwrap();
        let mut found = [0; 300];
        trial.read(4_000, &mut found).unwrap();
        let expect: Vec<u8> =
            (4_000..4_300).map(|at| if (4_090..4_110).contains(&at) { 9 } else { 7 }).collect();
        assert_eq!(found.as_slice(), expect);
        trial.read(15_000, &mut found).unwrap();
        assert_eq!(found, [0; 300]);
        assert!(trial.read(19_999, &mut found).is_err());
        trial.under.read(4_000, &mut found).unwrap();
        assert_eq!(found, [7; 300]);
    }
}
