//! Block 0 of the database, in which redb stores where its pages are.
//!
//! Block 0 is written in place, so the file has two copies of it that are written alternately, as checksums are
//! ([`super::checksums`]). Going back to the older copy would lose a commit, so each copy is stored twice: after one
//! flipped bit the newer copy is still readable.
//!
//! A copy names the blocks that are written to disk with it ([`WriteSet`]). Once they are on disk, its second twin is
//! rewritten without names: from then on the copy counts whatever its blocks look like, so that later corruption is not
//! mistaken for an incomplete commit. That twin reaches the disk when the system writes it, or with the next sync;
//! until then a power loss leaves the names in the file.

use std::io;

use super::{
    checksums::{read_there, sum_of},
    layout::{BLOCK_BYTES, HEADER_BLOCKS},
    write_set::WriteSet,
};
use crate::embedded::file::{
    open::{OpenError, READABLE_FORMATS, STORE_FORMAT},
    storage::Storage,
};

/// First bytes of a store's file.
const MAGIC: &[u8; 16] = b"svctrack store\r\n";
/// Size of the part of a copy before the bytes of the database, in bytes.
const HEAD_BYTES: usize = 32;
/// Bytes of the database that a copy stores: redb uses the first 320.
const KEPT_BYTES: usize = 512;
const NAMES_BYTES: usize = BLOCK_BYTES - HEAD_BYTES - KEPT_BYTES;
/// Block number in the checksum of a header; no block has it.
const HEADER: u64 = u64::MAX;

/// Offset of redb's flags.
const FLAGS_AT: usize = 9;
/// Flag of redb: the second of the two commits counts.
const SECOND_COUNTS: u8 = 1;
/// Flag of redb: the commit that counts was synced before, so that redb does not read the other.
const TWO_PHASES: u8 = 4;
/// Offset of redb's two commits, and the size of each.
const COMMITS_AT: usize = 64;
const COMMIT_BYTES: usize = 128;
/// First byte of a commit in the format of redb for which these offsets are right.
const REDB_FORMAT: u8 = 3;

/// Block 0 of the database.
#[derive(Debug)]
pub(crate) struct Header {
    /// The highest of all that were found or written.
    epoch: u64,
    block: Vec<u8>,
    /// State of the block in the newer copy.
    written: Vec<u8>,
    /// Newer one of the two copies.
    latest: u64,
    changed: bool,
    /// State of the block in the copy that is being written.
    in_writing: Option<Vec<u8>>,
}

/// At which commit a store is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OpenAt {
    /// The last commit whose blocks the file has, as it is read.
    LastWhole,
    /// The last commit whose blocks are known to be on disk: of a later one the system may have blocks in memory that
    /// the disk does not have.
    LastOnDisk,
}

/// The header of a file, as it was found.
#[derive(Debug)]
pub(crate) struct LoadedHeader {
    pub(crate) header: Header,
    /// Blocks that the header names; each is as it was written.
    pub(crate) names: WriteSet,
    /// Blocks that a later, skipped header names.
    pub(crate) passed_over: Option<WriteSet>,
}

/// A copy of the header, as it was read.
struct HeaderCopy {
    epoch: u64,
    block: Vec<u8>,
    names: WriteSet,
    number: u64,
}

impl Header {
    /// Header of a new store.
    pub(crate) fn never_written() -> Self {
        Self::new(vec![0; KEPT_BYTES], 0, 1)
    }

    fn new(block: Vec<u8>, epoch: u64, latest: u64) -> Self {
        Self { epoch, written: block.clone(), block, latest, changed: false, in_writing: None }
    }

    /// Reads the header of a file.
    ///
    /// # Errors
    /// [`OpenError::Foreign`] when the file is not a store, [`OpenError::Format`] when it has another version,
    /// [`OpenError::Corrupted`] when no copy is as it was written.
    pub(crate) fn load(under: &Storage, at: OpenAt) -> Result<LoadedHeader, OpenError> {
        let mut bytes = vec![0; HEADER_BLOCKS as usize * BLOCK_BYTES];
        read_there(under, 0, &mut bytes)?;
        let mut copies = Vec::new();
        let mut rejection = foreign();
        for (place, bytes) in (0_u64..).zip(bytes.chunks_exact(BLOCK_BYTES)) {
            match HeaderCopy::decode(bytes, place / 2) {
                Ok(copy) => copies.push(copy),
                Err(why) if matches!(rejection, OpenError::Foreign(_)) => rejection = why,
                Err(_) => {}
            }
        }
        // Of two twins, the one without names counts.
        copies.sort_by_key(|copy| (copy.epoch, copy.names.is_empty()));
        let newest = copies.pop().ok_or(rejection)?;
        let epoch = newest.epoch;
        let counts = match at {
            OpenAt::LastWhole => newest.names.are_there(under)?,
            OpenAt::LastOnDisk => newest.names.is_empty(),
        };
        if counts {
            return Ok(newest.found(epoch, None));
        }
        // The older header was on disk before the newest was begun, with all its blocks.
        let older = copies.into_iter().rev().find(|copy| copy.number != newest.number);
        let mut older =
            older.ok_or_else(|| corrupted("neither of its last two commits is complete"))?;
        if !older.names.are_there(under)? {
            older.names = WriteSet::default();
        }
        Ok(older.found(epoch, Some(newest.names)))
    }

    fn encode(epoch: u64, block: &[u8], names: &WriteSet) -> Vec<u8> {
        let mut rest = [epoch.to_be_bytes().as_slice(), block].concat();
        let named_at = rest.len();
        rest.resize(named_at + NAMES_BYTES, 0);
        if let Some(named) = rest.get_mut(named_at..) {
            names.encode(named);
        }
        let sum = sum_of(HEADER, &rest).to_be_bytes();
        [MAGIC.as_slice(), &STORE_FORMAT.to_be_bytes(), &sum, &rest].concat()
    }

    /// Reads a part of the block; its end, which copies do not store, is zero.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let behind = self.block.get(offset..).unwrap_or_default();
        let mut bytes = behind.iter().copied();
        out.fill_with(|| bytes.next().unwrap_or(0));
        Ok(())
    }

    pub(crate) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let to = self.block.get_mut(offset..offset + data.len());
        to.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(data);
        self.changed = true;
        Ok(())
    }

    /// Whether a header can name these blocks.
    pub(crate) fn has_room_for(names: &WriteSet) -> bool {
        names.fits(NAMES_BYTES)
    }

    /// Whether only the part has changed in which redb notes the commit that does not count yet: the file means the
    /// same with and without that change.
    pub(crate) fn only_prepares(&self) -> bool {
        let flags = self.written.get(FLAGS_AT).copied().unwrap_or(0);
        let commit = |number: usize| COMMITS_AT + number * COMMIT_BYTES;
        let is_known = |number| self.block.get(commit(number)) == Some(&REDB_FORMAT);
        let next = if flags & SECOND_COUNTS == 0 { 1 } else { 0 };
        let next = commit(next)..commit(next + 1);
        let both = self.written.iter().zip(&self.block).enumerate();
        let mut changed = both.filter(|(_, (old, new))| old != new).map(|(at, _)| at).peekable();
        let is_changed = changed.peek().is_some();
        flags & TWO_PHASES != 0
            && is_known(0)
            && is_known(1)
            && is_changed
            && changed.all(|at| next.contains(&at))
    }

    /// Whether a change is to be written that counts.
    pub(crate) fn is_due(&self) -> bool {
        self.changed && !self.only_prepares()
    }

    /// Takes the copy to write, which names these blocks: its place, and its bytes.
    pub(crate) fn take_change(&mut self, names: &WriteSet) -> (u64, Vec<u8>) {
        (self.changed, self.in_writing) = (false, Some(self.block.clone()));
        let copy = Self::encode(self.epoch + 1, &self.block, names);
        (2 * (1 - self.latest), [copy.as_slice(), &copy].concat())
    }

    /// Whether a copy was taken that is not on disk yet.
    pub(crate) fn is_in_writing(&self) -> bool {
        self.in_writing.is_some()
    }

    /// Notes that the taken copy is on disk; returns whether there was one.
    pub(crate) fn written(&mut self) -> bool {
        let Some(written) = self.in_writing.take() else { return false };
        self.latest = 1 - self.latest;
        self.epoch += 1;
        self.written = written;
        true
    }

    /// Twin of the newer copy without names: its place, and its bytes.
    pub(crate) fn without_names(&self, twin: u64) -> (u64, Vec<u8>) {
        let copy = Self::encode(self.epoch, &self.written, &WriteSet::default());
        (2 * self.latest + twin, copy)
    }

    /// Notes that the taken copy may be on disk or not.
    pub(crate) fn not_written(&mut self) {
        self.changed |= self.in_writing.take().is_some();
    }
}

impl HeaderCopy {
    fn decode(bytes: &[u8], number: u64) -> Result<Self, OpenError> {
        let (magic, rest) = bytes.split_first_chunk().ok_or_else(foreign)?;
        let (format, rest) = rest.split_first_chunk().ok_or_else(foreign)?;
        let (sum, rest) = rest.split_first_chunk().ok_or_else(foreign)?;
        let (epoch, block) = rest.split_first_chunk().ok_or_else(foreign)?;
        let (block, names) = block.split_at_checked(KEPT_BYTES).ok_or_else(foreign)?;
        if magic != MAGIC {
            return Err(foreign());
        }
        let format = u32::from_be_bytes(*format);
        if !READABLE_FORMATS.contains(&format) {
            return Err(OpenError::format(&format.to_string()));
        }
        if sum_of(HEADER, rest) != u32::from_be_bytes(*sum) {
            return Err(corrupted("its header fails its checksum"));
        }
        let (epoch, names) = (u64::from_be_bytes(*epoch), WriteSet::decode(names));
        Ok(Self { epoch, block: block.to_vec(), names, number })
    }

    /// Header that counts; `epoch` is the highest in the file.
    fn found(self, epoch: u64, passed_over: Option<WriteSet>) -> LoadedHeader {
        let header = Header::new(self.block, epoch, self.number);
        LoadedHeader { header, names: self.names, passed_over }
    }
}

fn foreign() -> OpenError {
    OpenError::Foreign("its first bytes are not those of a store".to_owned())
}

fn corrupted(what: &str) -> OpenError {
    OpenError::Corrupted(what.to_owned())
}

#[cfg(test)]
mod tests {
    use redb::{StorageBackend as _, backends::InMemoryBackend};

    use super::*;
    use crate::embedded::file::blocks::layout;

    fn store(storage: &Storage, header: &mut Header, byte: u8) -> u64 {
        header.write(40, &[byte]).unwrap();
        let (place, bytes) = header.take_change(&WriteSet::default());
        storage.write(layout::offset(place), &bytes).unwrap();
        header.written();
        place
    }

    fn stored(storage: &Storage) -> u8 {
        let mut byte = [0];
        Header::load(storage, OpenAt::LastWhole).unwrap().header.read(40, &mut byte).unwrap();
        byte[0]
    }

    fn storage() -> Storage {
        let storage = Storage::new(InMemoryBackend::new());
        storage.set_len(layout::offset(HEADER_BLOCKS)).unwrap();
        storage
    }

    #[test]
    fn one_flipped_bit_loses_no_header() {
        let storage = storage();
        let mut header = Header::never_written();
        for byte in [1, 2, 3] {
            let place = store(&storage, &mut header, byte);
            for at in [0, 16, 20, 24, 31, 32 + 40, 4_095, 4_096, 4_096 + 72] {
                let offset = layout::offset(place) + at;
                let mut written = [0];
                storage.read(offset, &mut written).unwrap();
                storage.write(offset, &[written[0] ^ 1]).unwrap();
                assert_eq!(stored(&storage), byte, "byte {at}");
                storage.write(offset, &written).unwrap();
            }
        }
    }

    #[test]
    fn a_header_that_was_half_written_leaves_the_one_before() {
        let storage = storage();
        let mut header = Header::never_written();
        store(&storage, &mut header, 1);
        store(&storage, &mut header, 2);
        header.write(40, &[3]).unwrap();
        let (place, bytes) = header.take_change(&WriteSet::default());
        storage.write(layout::offset(place), &bytes[..50]).unwrap();
        storage.write(layout::offset(place) + 4_096, &bytes[4_096..4_150]).unwrap();
        assert_eq!(stored(&storage), 2);
    }

    #[test]
    fn a_twin_without_names_is_of_what_is_on_disk() {
        let storage = storage();
        let mut header = Header::never_written();
        store(&storage, &mut header, 1);
        header.write(40, &[2]).unwrap();
        for twin in [0, 1] {
            let (place, bytes) = header.without_names(twin);
            storage.write(layout::offset(place), &bytes).unwrap();
            assert_eq!(stored(&storage), 1);
        }
    }

    #[test]
    fn another_format_is_rejected() {
        let storage = storage();
        store(&storage, &mut Header::never_written(), 1);
        for format in [0, 2, 3, 4, 6_u32] {
            for copy in 0..HEADER_BLOCKS {
                storage.write(layout::offset(copy) + 16, &format.to_be_bytes()).unwrap();
            }
            let rejected = Header::load(&storage, OpenAt::LastWhole).unwrap_err().to_string();
            assert_eq!(rejected, format!("it has format {format}, this program knows format 1"));
        }
    }
}
