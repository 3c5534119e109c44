//! The bytes under the database: a file, or a test's replacement.
//!
//! Everything that redb reads and writes passes through [`Storage`], so a test can make the n-th operation fail, and no
//! other code opens the file.

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

/// Opens the bytes of a store: at the start, and again after an error, while what was opened before still exists.
pub trait StoreFile: Send + Sync {
    /// Opens what is there.
    ///
    /// # Errors
    /// [`OpenError::Locked`] when another process has it, or [`OpenError::Io`].
    fn open(&self) -> Result<Storage, OpenError>;

    /// Brings to disk what was written, and asks the system to drop its cache of parts of the file, so that what is
    /// read is on disk, and what is written next comes there. After a write has failed, memory holds what the disk does
    /// not; and where that is written again, a sync of ext4 may say that it is on disk though it never comes there.
    /// To forget [`EVERYTHING`] takes some 0.1 s for a cached gigabyte, so an ordinary start does without.
    ///
    /// # Errors
    /// As [`StoreFile::open`], or when what was written before does not come to disk; it is forgotten then too.
    fn forget_cached(&self, _parts: &[Range<u64>]) -> Result<(), OpenError> {
        Ok(())
    }

    /// Tries whether something can be written where it lies.
    ///
    /// # Errors
    /// When it cannot.
    fn try_to_write(&self) -> io::Result<()>;

    /// A new file without a name in the same folder, or in the system's folder for such files.
    ///
    /// # Errors
    /// When it cannot be created.
    fn unnamed_file(&self) -> io::Result<File> {
        tempfile::tempfile()
    }

    /// Has `write` write another store where it lies, which takes its place when it is whole on disk.
    ///
    /// # Errors
    /// When it cannot be written; then this one stays.
    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError>;

    /// Name of the file for a person.
    fn name(&self) -> String;

    /// Size of the file in bytes, where it is known.
    fn bytes(&self) -> u64 {
        0
    }
}

/// All bytes that there may be.
pub const EVERYTHING: Range<u64> = 0..u64::MAX;

/// Writes a store into storage that holds nothing yet.
pub type WriteStore<'w> = &'w mut dyn FnMut(Storage) -> Result<(), OpenError>;

/// Bytes that are written for a try: as many as a small transaction takes.
const TRIED_BYTES: usize = 256 * 1024;

/// A file on disk. It is locked against other processes from when it is first opened until the last of this
/// and its clones is dropped, and all that it has opened: it may be opened several times, so redb, which would
/// lock it each time, locks nothing.
#[derive(Clone, Debug)]
pub struct DiskFile {
    path: PathBuf,
    /// Whether the file is to be read alone, so that it need not be writable.
    is_to_read: bool,
    /// The file that is locked; the lock is that of all its duplicates.
    locked: Arc<Mutex<Option<File>>>,
}

impl DiskFile {
    /// The file at a path.
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned(), is_to_read: false, locked: Arc::default() }
    }

    /// The file at a path, to be read alone.
    pub(crate) fn to_read(path: &Path) -> Self {
        Self { is_to_read: true, ..Self::at(path) }
    }

    /// Where a store is written that is to take its place.
    pub(crate) fn unfinished(&self) -> PathBuf {
        self.path.with_extension("compact")
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// A new file that is to get the name of this one. It stays locked: whoever lets go of a lock and takes it again may
    /// find it held meanwhile, by a process that is just being started and has what its parent has open.
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
        // A store that was written again just before has its name on another file than this one.
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

/// Most bytes that Linux keeps in memory as one: what is asked for in part is not forgotten.
#[cfg(target_os = "linux")]
const FOLIO_BYTES: u64 = 8 * 1024 * 1024;

/// The parts, each as far as what is cached as one with it, and joined where they meet.
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

/// Locks a file against other processes, for as long as it is open. Where the system has no locks, there is none.
fn lock(file: &File) -> Result<(), OpenError> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(OpenError::Locked),
        Err(TryLockError::Error(error)) if error.kind() != io::ErrorKind::Unsupported => {
            Err(error.into())
        }
        _ => Ok(()),
    }
}

/// Which file it is.
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
            // All that follows where it has no length.
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
        // The store's own name may not be on disk yet: that of one which was written again just before.
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
    /// Any backend; a test's, for one.
    pub fn new(backend: impl StorageBackend) -> Self {
        Self(Box::new(backend))
    }

    fn of_file(file: File) -> io::Result<Self> {
        let read = file.try_clone()?;
        let under = FileBackend::new(file).map_err(io::Error::other)?;
        Ok(Self::new(StoredFile { under, read }))
    }
}

/// A file, of which a read that is to end at once reads what the system keeps in memory.
#[derive(Debug)]
struct StoredFile {
    under: FileBackend,
    read: File,
}

impl StoredFile {
    /// Reads what the system keeps in memory; says whether it was that, where the system can say so.
    #[cfg(target_os = "linux")]
    fn read_in_memory(&self, offset: u64, out: &mut [u8]) -> Option<bool> {
        let len = out.len();
        let now = rustix::io::ReadWriteFlags::NOWAIT;
        match rustix::io::preadv2(&self.read, &mut [io::IoSliceMut::new(out)], offset, now) {
            Ok(read) => Some(read == len),
            Err(rustix::io::Errno::AGAIN) => Some(false),
            // A file system in memory has no other; one on a network cannot say.
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

/// Storage over another, which stays as it is: writes stay in memory. A file that may not be ours is tried out over it.
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

    /// Calls `visit` with each block that a range touches: its number, where the range begins in it,
    /// and which part of the range lies in it.
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

/// Who may read the store's file: its owner alone, since it holds what customers do.
const FILE_MODE: u32 = 0o600;

/// Gives a new file to the user whose folder it is in: root compacts and restores stores of a service that runs as
/// somebody else, and could not open a file of root's.
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

/// Creates a file that must not exist yet, for the user whose folder it is in.
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
