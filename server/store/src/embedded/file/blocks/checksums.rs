//! The checksums of a group of blocks.
//!
//! The file has the sums twice, as copies A and B, which are written alternately, one of them before each sync: while
//! one is written, the other is as it was at the last sync. Of two complete copies the newer one counts. If one is
//! incomplete, the machine stopped while it was written, or it is corrupted; then each block itself shows which of its
//! two checksums is right.

use std::io;

use redb::StorageBackend as _;

use super::layout::{self, BLOCK_BYTES, GROUP_BLOCKS, SUM_BLOCKS};
use crate::embedded::file::storage::Storage;

/// Sum of a block that was never written: all its bytes are zero.
pub(crate) const NEVER_WRITTEN: u32 = 0;

/// Sum of a block's bytes, which also depends on the number of the block.
pub(crate) fn sum_of(block: u64, bytes: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&block.to_be_bytes());
    hasher.update(bytes);
    hasher.finalize().max(NEVER_WRITTEN + 1)
}

/// Whether a block's bytes match its checksum.
pub(crate) fn is_sound(block: u64, bytes: &[u8], sum: u32) -> bool {
    match sum {
        NEVER_WRITTEN => bytes.iter().all(|byte| *byte == 0),
        sum => sum_of(block, bytes) == sum,
    }
}

/// One of the two copies of the sums of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ChecksumsCopy {
    epoch: u64,
    of_blocks: Vec<u32>,
}

impl ChecksumsCopy {
    fn never_written() -> Self {
        Self { epoch: 0, of_blocks: vec![NEVER_WRITTEN; GROUP_BLOCKS as usize] }
    }

    fn encode(&self, group: u64) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(BLOCK_BYTES);
        bytes.extend_from_slice(&self.epoch.to_be_bytes());
        bytes.extend_from_slice(&[0; 8]);
        self.of_blocks.iter().for_each(|sum| bytes.extend_from_slice(&sum.to_be_bytes()));
        let sum = sum_of(group, &bytes).to_be_bytes();
        bytes.splice(12..16, sum);
        bytes
    }

    /// Decodes the copy in a block; returns also whether it is complete.
    fn decode(group: u64, bytes: &[u8]) -> (Self, bool) {
        let numbers: Vec<u32> = bytes
            .chunks_exact(4)
            .filter_map(|number| number.first_chunk())
            .map(|number| u32::from_be_bytes(*number))
            .collect();
        let [high, low, _, sum, of_blocks @ ..] = numbers.as_slice() else {
            return (Self::never_written(), true);
        };
        let epoch = u64::from(*high) << 32 | u64::from(*low);
        let copy = Self { epoch, of_blocks: of_blocks.to_vec() };
        let is_whole = copy == Self::never_written() && *sum == 0 || copy.encode(group) == bytes;
        (copy, is_whole)
    }
}

/// The sums of a group.
#[derive(Debug)]
pub(crate) struct ChecksumGroup {
    number: u64,
    /// Current sums of the group.
    sums: ChecksumsCopy,
    /// Newer one of the copies in the file.
    latest: u64,
    /// Whether a sum has changed since the last copy was taken for writing.
    changed: bool,
    /// Whether a copy is being written.
    in_writing: bool,
}

impl ChecksumGroup {
    /// Reads the sums of a group; after the end of the file there are none.
    pub(crate) fn load(under: &Storage, number: u64) -> io::Result<Self> {
        let mut bytes = vec![0; SUM_BLOCKS as usize * BLOCK_BYTES];
        read_there(under, layout::place_of_sums(number), &mut bytes)?;
        let (a, b) = bytes.split_at(BLOCK_BYTES);
        let ((a, a_whole), (b, b_whole)) =
            (ChecksumsCopy::decode(number, a), ChecksumsCopy::decode(number, b));
        let latest = match (a_whole, b_whole) {
            (true, true) => u64::from(b.epoch > a.epoch),
            (a_whole, _) => u64::from(!a_whole),
        };
        let (sums, other) = if latest == 0 { (a, b) } else { (b, a) };
        let mut group = Self { number, sums, latest, changed: false, in_writing: false };
        if !(a_whole && b_whole) {
            tracing::warn!(group = number, "block checksums corrupted or incomplete");
            group.ask_blocks(under, &other)?;
        }
        Ok(group)
    }

    /// Takes the other copy's sum of each block that matches only that one.
    fn ask_blocks(&mut self, under: &Storage, other: &ChecksumsCopy) -> io::Result<()> {
        self.sums.epoch = self.sums.epoch.max(other.epoch);
        let first = self.number * GROUP_BLOCKS;
        let mut bytes = vec![0; BLOCK_BYTES];
        for ((block, sum), other) in (first..).zip(&mut self.sums.of_blocks).zip(&other.of_blocks) {
            if sum != other && block > 0 {
                bytes.fill(0);
                read_there(under, layout::place(block), &mut bytes)?;
                if !is_sound(block, &bytes, *sum) && is_sound(block, &bytes, *other) {
                    *sum = *other;
                }
            }
        }
        Ok(())
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn sum(&self, block: usize) -> u32 {
        self.sums.of_blocks.get(block).copied().unwrap_or(NEVER_WRITTEN)
    }

    pub(crate) fn set(&mut self, block: usize, sum: u32) {
        if let Some(of_block) = self.sums.of_blocks.get_mut(block) {
            *of_block = sum;
            self.changed = true;
        }
    }

    /// Clears the sums of the blocks from `from` on, which are truncated.
    pub(crate) fn cut_off(&mut self, from: usize) {
        for sum in self.sums.of_blocks.iter_mut().skip(from) {
            self.changed |= *sum != NEVER_WRITTEN;
            *sum = NEVER_WRITTEN;
        }
    }

    /// Whether the file has all of these sums.
    pub(crate) fn is_settled(&self) -> bool {
        !self.changed && !self.in_writing
    }

    /// Takes the copy to write, if there is a change: its place, and its bytes.
    pub(crate) fn take_change(&mut self) -> Option<(u64, Vec<u8>)> {
        if !self.changed {
            return None;
        }
        (self.changed, self.in_writing) = (false, true);
        let next =
            ChecksumsCopy { epoch: self.sums.epoch + 1, of_blocks: self.sums.of_blocks.clone() };
        let place = layout::place_of_sums(self.number) + (1 - self.latest);
        Some((place, next.encode(self.number)))
    }

    /// Notes that the taken copy is on disk.
    pub(crate) fn written(&mut self) {
        if std::mem::take(&mut self.in_writing) {
            self.latest = 1 - self.latest;
            self.sums.epoch += 1;
        }
    }

    /// Notes that the taken copy may be on disk or not.
    pub(crate) fn not_written(&mut self) {
        self.changed |= std::mem::take(&mut self.in_writing);
    }
}

/// Reads up to the end of the file.
pub(crate) fn read_there(under: &Storage, place: u64, out: &mut [u8]) -> io::Result<()> {
    let offset = layout::offset(place);
    let there = usize::try_from(under.len()?.saturating_sub(offset)).unwrap_or(usize::MAX);
    match out.get_mut(..there.min(out.len())) {
        Some(out) if !out.is_empty() => under.read(offset, out),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

    const GROUP: u64 = 1;
    const BLOCK: u64 = GROUP_BLOCKS + 7;

    fn storage() -> Storage {
        let storage = Storage::new(InMemoryBackend::new());
        storage.set_len(layout::offset(layout::place(2 * GROUP_BLOCKS))).unwrap();
        storage
    }

    /// Writes a block and its sum.
    fn write(storage: &Storage, byte: u8) -> u64 {
        let bytes = [byte; BLOCK_BYTES];
        storage.write(layout::offset(layout::place(BLOCK)), &bytes).unwrap();
        let mut group = ChecksumGroup::load(storage, GROUP).unwrap();
        group.set(7, sum_of(BLOCK, &bytes));
        let (place, sums) = group.take_change().unwrap();
        storage.write(layout::offset(place), &sums).unwrap();
        place
    }

    fn is_known(storage: &Storage, byte: u8) -> bool {
        let group = ChecksumGroup::load(storage, GROUP).unwrap();
        is_sound(BLOCK, &[byte; BLOCK_BYTES], group.sum(7))
    }

    #[test]
    fn the_newer_copy_counts_and_the_older_one_is_written_next() {
        let storage = storage();
        let places = [1, 2, 3].map(|byte| {
            let place = write(&storage, byte);
            assert!(is_known(&storage, byte) && !is_known(&storage, byte + 1));
            place
        });
        assert!(places[0] == places[2] && places[0].abs_diff(places[1]) == 1);
    }

    #[test]
    fn a_copy_that_was_half_written_hides_no_block() {
        for written in [0..40, 0..2_048, 8..4_096, 40..4_096, 2_048..4_096] {
            let storage = storage();
            write(&storage, 1);
            // The machine stops while another block of the group is written.
            let mut group = ChecksumGroup::load(&storage, GROUP).unwrap();
            group.set(300, 77);
            let (place, sums) = group.take_change().unwrap();
            let offset = layout::offset(place) + written.start as u64;
            storage.write(offset, &sums[written.clone()]).unwrap();
            assert!(is_known(&storage, 1), "{written:?}");
        }
    }

    #[test]
    fn no_flipped_bit_of_a_copy_takes_another_block_along() {
        let storage = storage();
        write(&storage, 1);
        let place = write(&storage, 2);
        for at in [0, 7, 9, 12, 15, 16, 100, 16 + 4 * 7 - 1, 16 + 4 * 8, 4_095] {
            let offset = layout::offset(place) + at;
            let mut byte = [0];
            storage.read(offset, &mut byte).unwrap();
            storage.write(offset, &[byte[0] ^ 1]).unwrap();
            assert!(is_known(&storage, 2), "byte {at}");
            storage.write(offset, &byte).unwrap();
        }
        storage.write(layout::offset(place) + 16 + 4 * 7, &[0xff]).unwrap();
        assert!(!is_known(&storage, 2));
    }

    #[test]
    fn a_block_that_was_never_written_is_all_zero() {
        let group = ChecksumGroup::load(&storage(), GROUP).unwrap();
        assert!(is_sound(BLOCK, &[0; BLOCK_BYTES], group.sum(7)));
        assert!(!is_sound(BLOCK, &[1; BLOCK_BYTES], group.sum(7)));
    }
}
