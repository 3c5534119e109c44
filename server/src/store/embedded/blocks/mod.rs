//! Blocks with sums: what lies under redb, which itself reads its pages without looking at theirs.
//!
//! Each block of the database has a sum beside it in the file, written under the same sync, and is held
//! against it whenever it is read from disk. The file is laid out as drawn in [`layout`].
//!
//! Invariant: whenever the machine stops, every block that was on disk at the last sync and has not been
//! written since fits its sum. Blocks that were being written may not, and need not: redb writes no
//! page that a commit on disk reaches. Only block 0 is written in place, so it has a way of its own
//! ([`header`]).

mod header;
mod layout;
mod sums;

use std::{
    collections::HashMap,
    io, panic,
    sync::{Mutex, MutexGuard, PoisonError},
};

use redb::StorageBackend;

use self::{
    header::Header,
    layout::BLOCK_BYTES,
    sums::{Group, is_sound, sum_of},
};
use super::{open::OpenError, storage::Storage};

/// Most groups whose sums are kept, 4 KiB each: those of 10 GB. When there are as many, it begins anew.
const MAX_KNOWN_GROUPS: usize = 2_560;

/// A block that is not as it was written. It is thrown past redb, which would take an error for one of the
/// whole file and refuse all that comes later; it is caught where a read or a command begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DamagedBlock(pub(super) u64);

/// A database's blocks, with their sums, over the storage of its file.
#[derive(Debug)]
pub(super) struct Blocks {
    under: Storage,
    known: Mutex<Known>,
    /// Held while changes are brought to disk.
    syncing: Mutex<()>,
}

#[derive(Debug)]
struct Known {
    header: Header,
    groups: HashMap<u64, Group>,
}

impl Blocks {
    /// Blocks in storage that holds nothing yet.
    pub(super) fn create(under: Storage) -> Self {
        Self::with(under, Header::never_written())
    }

    /// The blocks in a file.
    ///
    /// # Errors
    /// [`OpenError`] when it is not a store, one of a later version, or its header is damaged.
    pub(super) fn open(under: Storage) -> Result<Self, OpenError> {
        let header = Header::load(&under)?;
        Ok(Self::with(under, header))
    }

    fn with(under: Storage, header: Header) -> Self {
        let known = Mutex::new(Known { header, groups: HashMap::new() });
        Self { under, known, syncing: Mutex::new(()) }
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // Nothing that is done under the lock can panic.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn sum(&self, block: u64) -> io::Result<u32> {
        let (group, number) = layout::group_of(block);
        Ok(self.known().group(&self.under, group)?.sum(number))
    }

    fn verify(&self, first: u64, bytes: &[u8]) -> io::Result<()> {
        for (block, bytes) in (first..).zip(bytes.chunks(BLOCK_BYTES)) {
            if !is_sound(block, bytes, self.sum(block)?) {
                panic::resume_unwind(Box::new(DamagedBlock(block)));
            }
        }
        Ok(())
    }

    /// Writes what has changed in sums and header to the copies whose turn it is.
    fn write_changes(&self) -> io::Result<()> {
        let changes = self.known().take_changes();
        for (place, bytes) in changes {
            self.under.write(layout::offset(place), &bytes)?;
        }
        self.under.sync_data()
    }
}

impl Known {
    fn group(&mut self, under: &Storage, number: u64) -> io::Result<&mut Group> {
        if self.groups.len() >= MAX_KNOWN_GROUPS && !self.groups.contains_key(&number) {
            self.groups.retain(|_, group| !group.is_settled());
        }
        match self.groups.entry(number) {
            std::collections::hash_map::Entry::Occupied(known) => Ok(known.into_mut()),
            std::collections::hash_map::Entry::Vacant(new) => {
                Ok(new.insert(Group::load(under, number)?))
            }
        }
    }

    fn take_changes(&mut self) -> Vec<(u64, Vec<u8>)> {
        let mut changes: Vec<_> = self.groups.values_mut().filter_map(Group::take_change).collect();
        changes.extend(self.header.take_change());
        changes.sort_unstable_by_key(|(place, _)| *place);
        changes
    }

    fn written(&mut self) {
        self.groups.values_mut().for_each(Group::written);
        self.header.written();
    }

    fn not_written(&mut self) {
        self.groups.values_mut().for_each(Group::not_written);
        self.header.not_written();
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
        let (mut block, mut rest) = (whole_blocks(offset, data.len())?, data);
        while !rest.is_empty() {
            let blocks = layout::run(block, rest.len() / BLOCK_BYTES);
            let (part, behind) = rest.split_at(blocks * BLOCK_BYTES);
            self.under.write(layout::offset(layout::place(block)), part)?;
            for (block, bytes) in (block..).zip(part.chunks(BLOCK_BYTES)) {
                let sum = sum_of(block, bytes);
                let (group, number) = layout::group_of(block);
                self.known().group(&self.under, group)?.set(number, sum);
            }
            (block, rest) = (block + blocks as u64, behind);
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let blocks = whole_blocks(len, 0)?;
        let (last, used) = layout::group_of(blocks);
        {
            let mut known = self.known();
            if len < self.len()? {
                known.groups.retain(|number, _| *number <= last);
                known.group(&self.under, last)?.cut_off(used);
            }
        }
        self.under.set_len(layout::file_len(len))
    }

    fn sync_data(&self) -> io::Result<()> {
        let _turn = self.syncing.lock().unwrap_or_else(PoisonError::into_inner);
        let done = self.write_changes();
        match done {
            Ok(()) => self.known().written(),
            Err(_) => self.known().not_written(),
        }
        done
    }

    fn close(&self) -> io::Result<()> {
        self.under.close()
    }
}
