//! Blocks with their checksums, as a header names those written under the same sync.
//!
//! redb writes its pages to disk first and then, under another sync, the header that makes them count. One sync is
//! enough for both, since the header names the blocks that are written with it: if the machine stopped before all of
//! them were on disk, a start finds one that does not match, and uses the header before.

use std::{collections::BTreeMap, io, ops::Range};

use super::{
    checksums::{is_sound, read_there},
    layout::{self, BLOCK_BYTES},
};
use crate::embedded::file::storage::Storage;

/// Size of an entry: the number of a block, and its sum.
const ENTRY_BYTES: usize = 8;

/// Blocks with their sums.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteSet {
    sums: BTreeMap<u32, u32>,
    /// Whether a block has a number that does not fit into an entry.
    beyond: bool,
}

impl WriteSet {
    pub(crate) fn add(&mut self, block: u64, sum: u32) {
        match u32::try_from(block) {
            Ok(block) => drop(self.sums.insert(block, sum)),
            Err(_) => self.beyond = true,
        }
    }

    /// Adds blocks that were written earlier.
    pub(crate) fn add_earlier(&mut self, earlier: Self) {
        for (block, sum) in earlier.sums {
            self.sums.entry(block).or_insert(sum);
        }
        self.beyond |= earlier.beyond;
    }

    /// Drops the blocks from `from` on, which are truncated.
    pub(crate) fn cut_off(&mut self, from: u64) {
        self.sums.retain(|block, _| u64::from(*block) < from);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sums.is_empty() && !self.beyond
    }

    pub(crate) fn touches(&self, blocks: &Range<u64>) -> bool {
        let within = |block: u64| u32::try_from(block).unwrap_or(u32::MAX);
        let mut touched = self.sums.range(within(blocks.start)..=within(blocks.end));
        touched.any(|(block, _)| blocks.contains(&u64::from(*block)))
    }

    /// Whether the entries fit into this many bytes.
    pub(crate) fn fits(&self, bytes: usize) -> bool {
        !self.beyond && self.sums.len() <= bytes / ENTRY_BYTES
    }

    /// The blocks and their sums.
    pub(crate) fn sums(&self) -> impl Iterator<Item = (u64, u32)> {
        self.sums.iter().map(|(block, sum)| (u64::from(*block), *sum))
    }

    /// Writes the entries, as many as fit.
    pub(crate) fn encode(&self, out: &mut [u8]) {
        for ((block, sum), entry) in self.sums.iter().zip(out.chunks_exact_mut(ENTRY_BYTES)) {
            let both = u64::from(*block) << 32 | u64::from(*sum);
            entry.copy_from_slice(&both.to_be_bytes());
        }
    }

    /// Reads entries up to the first empty one; no header names block 0, its own block.
    pub(crate) fn decode(bytes: &[u8]) -> Self {
        let entries = bytes.chunks_exact(ENTRY_BYTES).filter_map(|entry| entry.first_chunk());
        let sums = entries
            .map(|entry| u64::from_be_bytes(*entry))
            .take_while(|both| *both != 0)
            .map(|both| ((both >> 32) as u32, both as u32))
            .collect();
        Self { sums, beyond: false }
    }

    /// Whether each block is as it was written.
    pub(crate) fn are_there(&self, under: &Storage) -> io::Result<bool> {
        let mut bytes = vec![0; BLOCK_BYTES];
        for (block, sum) in self.sums() {
            bytes.fill(0);
            read_there(under, layout::place(block), &mut bytes)?;
            if !is_sound(block, &bytes, sum) {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_were_written() {
        for blocks in [vec![], vec![1], vec![7, 1_020, 4_294_967_295]] {
            let mut names = WriteSet::default();
            blocks.iter().for_each(|block| names.add(*block, 9));
            let mut bytes = [0; 24];
            names.encode(&mut bytes);
            assert_eq!(WriteSet::decode(&bytes), names);
            assert_eq!(names.fits(16), blocks.len() < 3);
        }
    }

    #[test]
    fn a_block_that_has_no_room_in_an_entry_is_not_left_out() {
        let mut names = WriteSet::default();
        names.add(1 << 32, 9);
        assert!(!names.is_empty() && !names.fits(24));
    }
}
