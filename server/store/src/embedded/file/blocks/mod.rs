//! Blocks with checksums: the storage under redb, which does not check its pages when it reads them.
//!
//! Each block of the database has a checksum in the file, written under the same sync, and verified whenever the block
//! is read from disk. [`layout`] describes the file.
//!
//! Invariant: whenever the machine stops, every block that was on disk at the last sync and has not been written since
//! matches its checksum. Blocks that were being written may not match, and need not: redb writes no page that a commit
//! on disk reaches. Only block 0 is written in place, by [`commit_header`].
//!
//! A commit of redb needs two syncs: one for its pages, one for the header that makes them count. Here one sync is
//! enough for both, unless there are more blocks than a header can name ([`write_set`]), or the file grows or shrinks.
//! Invariant: no block that the header on disk names is rewritten or truncated before a twin of it without names is on
//! disk.

mod checksums;
mod commit_header;
mod layout;
#[cfg(test)]
mod tests;
mod write_set;

use std::{collections::HashMap, io, ops::Range, panic};

use foldhash::fast::RandomState;
use parking_lot::{Mutex, MutexGuard};
use redb::StorageBackend;

pub(crate) use self::commit_header::OpenAt;
use self::{
    checksums::{ChecksumGroup, NEVER_WRITTEN, is_sound, sum_of},
    commit_header::{Header, LoadedHeader},
    layout::BLOCK_BYTES,
    write_set::WriteSet,
};
use super::{open::OpenError, storage::Storage};
use crate::corruption::CorruptedBlock;

/// Maximum number of groups whose checksums are cached, 4 KiB each: those of 10 GB. When the cache is full, it is
/// cleared.
const MAX_KNOWN_GROUPS: usize = 2_560;

/// Blocks of a database, with their sums, over the storage of its file.
#[derive(Debug)]
pub(crate) struct Blocks {
    under: Storage,
    known: Mutex<BlockState>,
    /// Held while changes are written to disk.
    syncing: Mutex<()>,
    /// Blocks that a later header names, which was skipped when the file was opened.
    passed_over: Option<WriteSet>,
}

/// State of the blocks: the header, the cached checksums, and the writes since the last sync.
#[derive(Debug)]
struct BlockState {
    header: Header,
    groups: HashMap<u64, ChecksumGroup, RandomState>,
    /// Number of times that groups were dropped.
    let_go: u64,
    /// Blocks that were written since the last sync.
    fresh: WriteSet,
    /// Blocks among these that a running sync writes to disk.
    in_writing: WriteSet,
    /// Blocks that the header on disk names.
    named: WriteSet,
    /// Whether the second twin of that header has been written without names since.
    is_unnamed: bool,
    /// First failure. A failure may be reported once, and to a caller whom it does not concern: after it, earlier
    /// writes may be lost whatever a sync reports.
    failed: Option<(io::ErrorKind, String)>,
}

/// Kinds of changes that are written to disk with the blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncedParts {
    Sums,
    SumsAndHeader,
}

impl Blocks {
    /// Blocks in empty storage.
    pub(crate) fn create(under: Storage) -> Self {
        Self::with(under, Header::never_written(), WriteSet::default())
    }

    /// The blocks in a file. Before they are written to, blocks that were being written must be on disk, or forgotten
    /// ([`Blocks::places_in_writing`]).
    ///
    /// # Errors
    /// [`OpenError`] when the file is not a store, has a later version, or its header is corrupted.
    pub(crate) fn open(under: Storage, at: OpenAt) -> Result<Self, OpenError> {
        let LoadedHeader { header, names, passed_over } = Header::load(&under, at)?;
        let opened = Self { passed_over, ..Self::with(under, header, names.clone()) };
        // If the program was killed before its sync was over, sums may not be those of the blocks.
        for (block, sum) in names.sums() {
            let (group, number) = layout::group_of(block);
            opened.knowing(group)?.set(group, number, sum);
        }
        Ok(opened)
    }

    fn with(under: Storage, header: Header, named: WriteSet) -> Self {
        let known = BlockState {
            header,
            groups: HashMap::default(),
            let_go: 0,
            // Their sums may not be on disk, so that the next header names these blocks as well.
            fresh: named.clone(),
            in_writing: WriteSet::default(),
            named,
            is_unnamed: false,
            failed: None,
        };
        let (known, syncing) = (Mutex::new(known), Mutex::new(()));
        Self { under, known, syncing, passed_over: None }
    }

    /// Whether a later header was skipped, since the file does not have all blocks that it names.
    pub(crate) fn is_older(&self) -> bool {
        self.passed_over.is_some()
    }

    /// Ranges of the file that were being written when the program was stopped, for which the system may have data in
    /// memory that the disk does not have; none where all of it was on disk.
    pub(crate) fn places_in_writing(&self) -> Vec<Range<u64>> {
        let known = self.known();
        let named = known.named.sums().chain(self.passed_over.iter().flat_map(WriteSet::sums));
        let places = named.flat_map(|(block, _)| {
            let place = layout::place(block);
            let sums = layout::place_of_sums(layout::group_of(block).0);
            [place..place + 1, sums..sums + layout::SUM_BLOCKS]
        });
        let mut places: Vec<_> = places.collect();
        if !places.is_empty() {
            places.push(0..layout::HEADER_BLOCKS);
        }
        places.into_iter().map(|p| layout::offset(p.start)..layout::offset(p.end)).collect()
    }

    fn known(&self) -> MutexGuard<'_, BlockState> {
        self.known.lock()
    }

    /// State of the blocks, with the sums of a group. The sums are read without the lock, since the disk may hang
    /// meanwhile.
    fn knowing(&self, group: u64) -> io::Result<MutexGuard<'_, BlockState>> {
        loop {
            let let_go = {
                let known = self.known();
                if known.groups.contains_key(&group) {
                    return Ok(known);
                }
                known.let_go
            };
            let loaded = ChecksumGroup::load(&self.under, group)?;
            self.known().add(loaded, let_go);
        }
    }

    fn sum(&self, block: u64) -> io::Result<u32> {
        let (group, number) = layout::group_of(block);
        Ok(self.knowing(group)?.groups.get(&group).map_or(NEVER_WRITTEN, |group| group.sum(number)))
    }

    fn verify(&self, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (block, bytes) in (first..).zip(bytes.chunks(BLOCK_BYTES)) {
            if !is_sound(block, bytes, self.sum(block)?) {
                panic::resume_unwind(Box::new(CorruptedBlock(block)));
            }
        }
        Ok(())
    }

    /// Writes the blocks to disk, with the sums and, where it has changed, the header.
    fn bring_to_disk(&self) -> io::Result<()> {
        if self.known().may_wait() {
            return Ok(());
        }
        self.sync(SyncedParts::SumsAndHeader)?;
        while self.known().header.is_due() {
            self.sync(SyncedParts::SumsAndHeader)?;
        }
        self.clear()
    }

    /// Writes the next copies of what has changed, and syncs the file.
    fn sync(&self, with: SyncedParts) -> io::Result<()> {
        let (changes, twin) = {
            let mut known = self.known();
            (known.take_changes(with), known.other_twin())
        };
        let write = || {
            changes.iter().try_for_each(|(place, bytes)| self.write_at(*place, bytes))?;
            self.under.sync_data()?;
            twin.map_or(Ok(()), |(place, bytes)| self.write_at(place, &bytes))
        };
        let done = write();
        match done {
            Ok(()) => self.known().written(),
            Err(_) => self.known().not_written(),
        }
        done
    }

    /// Clears the names in the header's second twin, since the named blocks are on disk; the next sync writes that twin
    /// to disk.
    fn clear(&self) -> io::Result<()> {
        let without = self.known().without_names(1);
        if let Some((place, bytes)) = without {
            self.write_at(place, &bytes)?;
            self.known().is_unnamed = true;
        }
        Ok(())
    }

    fn write_at(&self, place: u64, bytes: &[u8]) -> io::Result<()> {
        self.under.write(layout::offset(place), bytes)
    }

    fn write_blocks(&self, first: u64, data: &[u8]) -> io::Result<()> {
        self.wait_until_unnamed(first..first + (data.len() / BLOCK_BYTES) as u64)?;
        let (mut block, mut rest) = (first, data);
        while !rest.is_empty() {
            let blocks = layout::run(block, rest.len() / BLOCK_BYTES);
            let (part, behind) = rest.split_at(blocks * BLOCK_BYTES);
            self.write_at(layout::place(block), part)?;
            for (block, bytes) in (block..).zip(part.chunks(BLOCK_BYTES)) {
                let sum = sum_of(block, bytes);
                let (group, number) = layout::group_of(block);
                let mut known = self.knowing(group)?;
                known.set(group, number, sum);
                known.fresh.add(block, sum);
            }
            (block, rest) = (block + blocks as u64, behind);
        }
        Ok(())
    }

    /// Drops the blocks from `from` on.
    fn cut_off(&self, from: u64) -> io::Result<()> {
        self.wait_until_unnamed(from..u64::MAX)?;
        let (last, used) = layout::group_of(from);
        let mut known = self.knowing(last)?;
        known.let_go(|number, _| number > last);
        if let Some(group) = known.groups.get_mut(&last) {
            group.cut_off(used);
        }
        known.fresh.cut_off(from);
        Ok(())
    }

    /// Waits until blocks that the header may name may be written again or truncated.
    fn wait_until_unnamed(&self, blocks: Range<u64>) -> io::Result<()> {
        if !self.known().names(&blocks) {
            return Ok(());
        }
        let _turn = self.lock_sync();
        if !self.known().names(&blocks) {
            return Ok(());
        }
        if !self.known().is_unnamed {
            self.sync(SyncedParts::Sums)?;
            self.clear()?;
        }
        self.sync(SyncedParts::Sums)
    }

    /// Changes the storage below, unless that has failed before.
    fn change<T>(&self, change: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        let failed =
            self.known().failed.as_ref().map(|(kind, what)| io::Error::new(*kind, what.clone()));
        match failed {
            Some(failed) => Err(failed),
            None => change().inspect_err(|error| {
                let failed = || (error.kind(), error.to_string());
                self.known().failed.get_or_insert_with(failed);
            }),
        }
    }

    fn lock_sync(&self) -> MutexGuard<'_, ()> {
        self.syncing.lock()
    }
}

impl BlockState {
    /// Adds the checksums of a group that were read after `let_go` drops, unless there was another drop since: then
    /// they may have been changed, written and dropped as well.
    fn add(&mut self, loaded: ChecksumGroup, let_go: u64) {
        if self.let_go != let_go {
            return;
        }
        if self.groups.len() >= MAX_KNOWN_GROUPS {
            self.let_go(|_, group| group.is_settled());
        }
        self.groups.entry(loaded.number()).or_insert(loaded);
    }

    fn let_go(&mut self, is_dropped: impl Fn(u64, &ChecksumGroup) -> bool) {
        self.groups.retain(|number, group| !is_dropped(*number, group));
        self.let_go += 1;
    }

    fn set(&mut self, group: u64, number: usize, sum: u32) {
        if let Some(group) = self.groups.get_mut(&group) {
            group.set(number, sum);
        }
    }

    /// Whether the changes may be written to disk with the next header.
    fn may_wait(&self) -> bool {
        self.header.only_prepares() && Header::has_room_for(&self.fresh)
    }

    /// Takes the changes to write. The header comes last, and only where it names all of the blocks.
    fn take_changes(&mut self, with: SyncedParts) -> Vec<(u64, Vec<u8>)> {
        let has_room = Header::has_room_for(&self.fresh);
        self.in_writing = std::mem::take(&mut self.fresh);
        let mut changes: Vec<_> =
            self.groups.values_mut().filter_map(ChecksumGroup::take_change).collect();
        changes.sort_unstable_by_key(|(place, _)| *place);
        if with == SyncedParts::SumsAndHeader && has_room && self.header.is_due() {
            changes.push(self.header.take_change(&self.in_writing));
        }
        changes
    }

    fn without_names(&self, twin: u64) -> Option<(u64, Vec<u8>)> {
        (!self.named.is_empty()).then(|| self.header.without_names(twin))
    }

    /// The header's first twin without names, where the second one is about to be written to disk without them and no
    /// other header is: so that one flipped bit does not restore the names.
    fn other_twin(&self) -> Option<(u64, Vec<u8>)> {
        let stays = self.is_unnamed && !self.header.is_in_writing();
        stays.then(|| self.without_names(0)).flatten()
    }

    fn written(&mut self) {
        self.groups.values_mut().for_each(ChecksumGroup::written);
        let written = std::mem::take(&mut self.in_writing);
        if self.header.written() {
            (self.named, self.is_unnamed) = (written, false);
        } else if self.is_unnamed {
            (self.named, self.is_unnamed) = (WriteSet::default(), false);
        }
    }

    fn not_written(&mut self) {
        self.groups.values_mut().for_each(ChecksumGroup::not_written);
        self.header.not_written();
        let not_written = std::mem::take(&mut self.in_writing);
        self.fresh.add_earlier(not_written);
    }

    fn names(&self, blocks: &Range<u64>) -> bool {
        self.named.touches(blocks) || self.in_writing.touches(blocks)
    }
}

/// The number of the block that a range of whole blocks begins with.
fn whole_blocks(offset: u64, len: usize) -> io::Result<u64> {
    let block_bytes = BLOCK_BYTES as u64;
    if !offset.is_multiple_of(block_bytes) || !len.is_multiple_of(BLOCK_BYTES) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "a part of a block"));
    }
    Ok(offset / block_bytes)
}

impl StorageBackend for Blocks {
    fn len(&self) -> io::Result<u64> {
        Ok(layout::database_len(self.under.len()?))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        if offset < BLOCK_BYTES as u64 {
            return self.known().header.read(offset, out);
        }
        let (mut block, mut rest) = (whole_blocks(offset, out.len())?, out);
        while !rest.is_empty() {
            let blocks = layout::run(block, rest.len() / BLOCK_BYTES);
            let (part, behind) = rest.split_at_mut(blocks * BLOCK_BYTES);
            self.under.read(layout::offset(layout::place(block)), part)?;
            self.verify(block, part)?;
            (block, rest) = (block + blocks as u64, behind);
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        if offset < BLOCK_BYTES as u64 {
            return self.known().header.write(offset, data);
        }
        let block = whole_blocks(offset, data.len())?;
        self.change(|| self.write_blocks(block, data))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let blocks = whole_blocks(len, 0)?;
        self.change(|| {
            if len < self.len()? {
                self.cut_off(blocks)?;
            }
            self.under.set_len(layout::file_len(len))
        })
    }

    fn sync_data(&self) -> io::Result<()> {
        let _turn = self.lock_sync();
        self.change(|| self.bring_to_disk())
    }

    fn close(&self) -> io::Result<()> {
        self.under.close()
    }
}
