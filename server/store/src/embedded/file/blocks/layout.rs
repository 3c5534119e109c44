//! Layout of the store's file. All of it is in blocks of 4 KiB, redb's pages.
//!
//! ```text
//! blocks  what
//! 2       header A, the same twice
//! 2       header B, the same twice
//! 1       sums A of the first group
//! 1       sums B of the first group
//! 1020    the first group: blocks 0 to 1019 of the database; the place of block 0 is empty, since it
//!         is in the header
//! 1 1 1020, and so on, up to the last block of the database
//! ```
//!
//! A header is `magic:16 format:4 sum:4 epoch:8`, then the used part of block 0 of the database, 512 bytes, then
//! `block:4 sum:4` for each block that is written to disk with it, and zero. Sums are `epoch:8 zero:4 sum:4`, and then
//! one sum of four bytes for each block. Numbers are big-endian.

pub(crate) const BLOCK_BYTES: usize = 4_096;
/// Blocks of the headers, before the first group.
pub(crate) const HEADER_BLOCKS: u64 = 4;
/// Blocks of the database in a group: as many as there are sums in a block.
pub(crate) const GROUP_BLOCKS: u64 = 1_020;
/// Blocks of the sums of a group, which precede it.
pub(crate) const SUM_BLOCKS: u64 = 2;

/// Offset of a block of the file, in bytes.
pub(crate) fn offset(place: u64) -> u64 {
    place * BLOCK_BYTES as u64
}

/// Group of a block of the database, and its number in the group.
pub(crate) fn group_of(block: u64) -> (u64, usize) {
    (block / GROUP_BLOCKS, (block % GROUP_BLOCKS) as usize)
}

/// First block of the sums of a group.
pub(crate) fn place_of_sums(group: u64) -> u64 {
    HEADER_BLOCKS + group * (SUM_BLOCKS + GROUP_BLOCKS)
}

/// Place of a block of the database in the file.
pub(crate) fn place(block: u64) -> u64 {
    let (group, number) = group_of(block);
    place_of_sums(group) + SUM_BLOCKS + number as u64
}

/// Number of `blocks` that are adjacent from `block` on.
pub(crate) fn run(block: u64, blocks: usize) -> usize {
    let (_, number) = group_of(block);
    blocks.min(GROUP_BLOCKS as usize - number)
}

/// Length of a file with a database of this length.
pub(crate) fn file_len(database_len: u64) -> u64 {
    match database_len.div_ceil(BLOCK_BYTES as u64) {
        0 => 0,
        blocks => offset(place(blocks - 1) + 1),
    }
}

/// Length of the database in a file of this length.
pub(crate) fn database_len(file_len: u64) -> u64 {
    let blocks = (file_len / BLOCK_BYTES as u64).saturating_sub(HEADER_BLOCKS);
    let groups = blocks / (SUM_BLOCKS + GROUP_BLOCKS);
    let rest = (blocks % (SUM_BLOCKS + GROUP_BLOCKS)).saturating_sub(SUM_BLOCKS);
    offset(groups * GROUP_BLOCKS + rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_lie_behind_their_sums() {
        assert_eq!(place(0), 6);
        assert_eq!(place(1_019), 1_025);
        assert_eq!(place_of_sums(1), 1_026);
        assert_eq!(place(1_020), 1_028);
        assert_eq!(run(1_018, 5), 2);
        assert_eq!(run(1_020, 5), 5);
    }

    #[test]
    fn the_length_of_the_database_follows_from_that_of_the_file() {
        for blocks in [0, 1, 2, 1_019, 1_020, 1_021, 5_000] {
            let len = offset(blocks);
            assert_eq!(database_len(file_len(len)), len, "{blocks} blocks");
        }
        assert_eq!(file_len(offset(1_021)), offset(1_029));
    }
}
