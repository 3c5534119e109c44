//! State of the file after the machine has stopped, whichever of the writes since the last sync reached the disk.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use redb::{Database, ReadableDatabase as _};

use super::{
    layout::{GROUP_BLOCKS, HEADER_BLOCKS, SUM_BLOCKS},
    *,
};
use crate::{
    embedded::{
        file::{
            open::{initialise, open_to_write},
            transaction::begin,
        },
        tables::redb_table::{ReadTable, WriteTable},
    },
    rows::{MESSAGES, Rows as _, WriteRows as _},
};

/// Bytes of a value that takes more blocks than a header names.
const LARGE: usize = 1_500_000;

/// Cache of a database, in bytes.
const CACHE_BYTES: usize = 1024 * 1024;

/// A disk that knows the writes since the last sync; clones are the same disk.
#[derive(Clone, Debug, Default)]
struct Disk(Arc<Mutex<State>>);

#[derive(Clone, Debug, Default)]
struct State {
    durable: Vec<u8>,
    since: Vec<Change>,
    /// Durable bytes before the last sync, and the writes that it made durable.
    last: (Vec<u8>, Vec<Change>),
    syncs: usize,
    fails: bool,
}

#[derive(Clone, Debug, PartialEq)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

impl Change {
    /// First block of the write in the file.
    fn place(&self) -> u64 {
        match self {
            Self::Write(offset, _) => *offset as u64 / BLOCK_BYTES as u64,
            Self::Length(_) => u64::MAX,
        }
    }

    /// Whether the write clears the names of the header before.
    fn settles(&self) -> bool {
        self.is_of_header() && matches!(self, Self::Write(_, data) if data.len() == BLOCK_BYTES)
    }

    fn is_of_header(&self) -> bool {
        self.place() < HEADER_BLOCKS
    }

    fn is_of_sums(&self) -> bool {
        !self.is_of_header()
            && (self.place() - HEADER_BLOCKS) % (SUM_BLOCKS + GROUP_BLOCKS) < SUM_BLOCKS
    }

    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(offset, data) => {
                bytes.resize(bytes.len().max(offset + data.len()), 0);
                bytes[*offset..offset + data.len()].copy_from_slice(data);
            }
            Self::Length(len) => bytes.resize(*len, 0),
        }
    }
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }

    fn holding(durable: Vec<u8>, since: Vec<Change>) -> Self {
        Self(Arc::new(Mutex::new(State { durable, since, ..State::default() })))
    }

    fn bytes(&self) -> Vec<u8> {
        let State { mut durable, since, .. } = self.state().clone();
        since.iter().for_each(|change| change.apply(&mut durable));
        durable
    }

    /// State of the disk when only some of the writes since the last sync have reached it.
    fn when(&self, came: impl Fn(&Change) -> bool) -> Self {
        let State { mut durable, since, .. } = self.state().clone();
        since.iter().filter(|change| came(change)).for_each(|change| change.apply(&mut durable));
        Self::holding(durable, Vec::new())
    }

    /// State of the disk just before the last sync.
    fn before_sync(&self) -> Self {
        let (durable, since) = self.state().last.clone();
        Self::holding(durable, since)
    }

    fn syncs(&self) -> usize {
        self.state().syncs
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.bytes().len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let (offset, bytes) = (offset as usize, self.bytes());
        out.copy_from_slice(&bytes[offset..offset + out.len()]);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().since.push(Change::Length(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let durable = self.bytes();
        let mut state = self.state();
        if state.fails {
            return Err(io::Error::other("the disk fails"));
        }
        let before = std::mem::replace(&mut state.durable, durable);
        let came = std::mem::take(&mut state.since);
        state.last = (before, came);
        state.syncs += 1;
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().since.push(Change::Write(offset as usize, data.to_vec()));
        Ok(())
    }
}

fn open(disk: &Disk) -> Database {
    open_to_write(Storage::new(disk.clone()), CACHE_BYTES).unwrap()
}

fn put(database: &Database, key: &str, value_bytes: usize) {
    let transaction = begin(database).unwrap();
    let value = vec![7; value_bytes];
    WriteTable::open(&transaction, MESSAGES)
        .unwrap()
        .insert(key.as_bytes(), value.as_slice())
        .unwrap();
    transaction.commit().unwrap();
}

fn keys(database: &Database) -> String {
    let table = ReadTable::open(&database.begin_read().unwrap(), MESSAGES).unwrap();
    let rows = table.range(..).unwrap();
    rows.map(|row| String::from_utf8(row.unwrap().0.value().to_vec()).unwrap()).collect()
}

#[test]
fn a_commit_takes_one_sync_and_one_of_more_blocks_than_a_header_names_two() {
    let disk = Disk::default();
    initialise(Storage::new(disk.clone()), [1; 5]).unwrap();
    let database = open(&disk);
    // A file that grows or shrinks is synced for that as well.
    let fewest_syncs = |bytes: usize| {
        let syncs = (0..5).map(|_| {
            let before = disk.syncs();
            put(&database, "a", bytes);
            disk.syncs() - before
        });
        syncs.min()
    };
    assert_eq!(fewest_syncs(10), Some(1));
    assert_eq!(fewest_syncs(LARGE / 4), Some(1));
    assert_eq!(fewest_syncs(LARGE), Some(2));
}

#[test]
fn a_commit_is_found_whole_or_not_at_all_whichever_of_its_writes_came_to_disk() {
    let disk = Disk::default();
    initialise(Storage::new(disk.clone()), [1; 5]).unwrap();
    let database = open(&disk);
    ["a", "b", "c"].iter().for_each(|key| put(&database, key, 9_000));
    let stopped = disk.before_sync();
    let writes = stopped.state().since.clone();
    assert!(writes.len() > 10 && writes.iter().any(Change::is_of_sums));
    let found = |came: &dyn Fn(&Change) -> bool| {
        let disk = stopped.when(came);
        let found = keys(&open(&disk));
        // Later writes continue from it, and it is found again.
        put(&open(&disk), "d", 9_000);
        assert_eq!(keys(&open(&disk.when(|_| false))), format!("{found}d"));
        found
    };
    assert_eq!(found(&|_| true), "abc");
    assert_eq!(found(&|_| false), "ab");
    for one in &writes {
        // The header has the sums of the blocks that were written with it.
        let is_missed = !one.is_of_sums() && !one.settles();
        assert_eq!(found(&|write| write != one), if is_missed { "ab" } else { "abc" }, "{one:?}");
        assert_eq!(found(&|write| write == one), "ab");
    }
    assert_eq!(found(&|write| !write.is_of_sums()), "abc");
}

/// Offset of a byte of the header that redb does not write while it prepares a commit.
const COUNTS_AT: u64 = 40;

/// A disk with blocks, each full of one byte.
struct Written {
    disk: Disk,
    blocks: Blocks,
}

impl Written {
    fn new() -> Self {
        let disk = Disk::default();
        let written = Self { blocks: Blocks::create(Storage::new(disk.clone())), disk };
        written.blocks.set_len(layout::offset(20)).unwrap();
        written.write(5, 1);
        written.commit(1);
        written
    }

    fn on(disk: Disk) -> Self {
        Self { blocks: Blocks::open(Storage::new(disk.clone()), OpenAt::LastWhole).unwrap(), disk }
    }

    fn write(&self, block: u64, byte: u8) {
        self.blocks.write(layout::offset(block), &[byte; BLOCK_BYTES]).unwrap();
    }

    fn change_header(&self, byte: u8) {
        self.blocks.write(COUNTS_AT, &[byte]).unwrap();
    }

    fn commit(&self, byte: u8) {
        self.change_header(byte);
        self.blocks.sync_data().unwrap();
    }

    /// Header and block 5; none where the block is corrupted.
    fn found(&self) -> (u8, Option<u8>) {
        (self.found_header(), self.found_in(5))
    }

    fn found_header(&self) -> u8 {
        let mut header = [0];
        self.blocks.read(COUNTS_AT, &mut header).unwrap();
        header[0]
    }

    fn found_in(&self, block: u64) -> Option<u8> {
        let mut bytes = [0; BLOCK_BYTES];
        let read = || self.blocks.read(layout::offset(block), &mut bytes).unwrap();
        let is_sound = catch_unwind(AssertUnwindSafe(read)).is_ok();
        is_sound.then_some(bytes[7])
    }
}

#[test]
fn a_block_that_the_header_names_may_be_written_again_or_truncated() {
    let written = Written::new();
    written.write(6, 2);
    written.commit(2);
    // Nothing that counts refers to block 6, so it is written again, and the machine stops.
    written.write(6, 3);
    assert_eq!(Written::on(written.disk.when(|_| true)).found(), (2, Some(1)));
    written.write(7, 4);
    written.commit(3);
    written.blocks.set_len(layout::offset(7)).unwrap();
    assert_eq!(Written::on(written.disk.when(|_| true)).found(), (3, Some(1)));
    // The next header does not name truncated blocks either.
    written.write(6, 5);
    written.blocks.set_len(layout::offset(6)).unwrap();
    written.commit(4);
    let stopped = written.disk.before_sync();
    assert_eq!(Written::on(stopped.when(|_| true)).found(), (4, Some(1)));
}

#[test]
fn corruption_that_comes_later_is_not_taken_for_a_commit_that_never_came_to_its_end() {
    let written = Written::new();
    written.write(5, 2);
    written.commit(2);
    let disk = written.disk.when(|_| true);
    let at = layout::offset(layout::place(5)) as usize;
    disk.state().durable[at] ^= 1;
    assert_eq!(Written::on(disk).found(), (2, None));
}

#[test]
fn what_may_be_in_memory_alone_is_read_or_not_as_is_asked_for_and_is_known() {
    let written = Written::new();
    written.write(5, 2);
    written.commit(2);
    let open = |disk: Disk, at| {
        let blocks = Blocks::open(Storage::new(disk.clone()), at).unwrap();
        let written = Written { disk, blocks };
        (written.found().0, written.blocks.places_in_writing().len())
    };
    // Block, sums and header, whether all of them are there or not.
    assert_eq!(open(written.disk.before_sync(), OpenAt::LastWhole), (2, 3));
    assert_eq!(open(written.disk.before_sync(), OpenAt::LastOnDisk), (1, 3));
    let header_alone = written.disk.before_sync().when(Change::is_of_header);
    assert_eq!(open(header_alone, OpenAt::LastWhole), (1, 3));
    assert_eq!(open(written.disk.when(|_| true), OpenAt::LastOnDisk), (2, 0));
}

#[test]
fn sums_that_did_not_come_with_the_header_are_written_before_its_names_go() {
    let written = Written::new();
    written.write(6, 2);
    written.write(7, 2);
    written.commit(2);
    let disk = written.disk.before_sync().when(|write| !write.is_of_sums());
    let opened = Written::on(disk);
    assert_eq!(opened.found_in(7), Some(2));
    opened.write(6, 3);
    for stopped in
        [opened.disk.when(|_| true), opened.disk.before_sync().when(|write| !write.is_of_sums())]
    {
        let reopened = Written::on(stopped);
        assert_eq!((reopened.found(), reopened.found_in(7)), ((2, Some(1)), Some(2)));
    }
}

#[test]
fn blocks_whose_sums_are_not_on_disk_yet_are_named_by_the_next_header_too() {
    let written = Written::new();
    written.write(5, 2);
    written.commit(2);
    let opened = Written::on(written.disk.before_sync().when(|write| !write.is_of_sums()));
    opened.commit(3);
    let stopped = opened.disk.before_sync().when(Change::is_of_header);
    assert_eq!(Written::on(stopped).found(), (3, Some(2)));
}

#[test]
fn one_flipped_bit_brings_back_no_names_of_blocks_that_are_written_again() {
    let written = Written::new();
    written.write(6, 2);
    written.commit(2);
    // The names are cleared with a sync that writes no other header.
    written.blocks.sync_data().unwrap();
    written.write(6, 3);
    check_every_bit_of_the_headers(&written, (2, Some(1)));
    written.write(6, 4);
    written.commit(3);
    written.write(6, 5);
    check_every_bit_of_the_headers(&written, (3, Some(1)));
}

fn check_every_bit_of_the_headers(written: &Written, expect: (u8, Option<u8>)) {
    for at in 0..layout::offset(HEADER_BLOCKS) as usize {
        let disk = written.disk.when(|_| true);
        disk.state().durable[at] ^= 1;
        assert_eq!(Written::on(disk).found(), expect, "byte {at}");
    }
}

#[test]
fn after_an_unreported_failure_nothing_is_reported_as_on_disk() {
    let written = Written::new();
    written.write(6, 2);
    written.commit(2);
    written.disk.state().fails = true;
    assert!(written.blocks.write(layout::offset(6), &[3; BLOCK_BYTES]).is_err());
    written.disk.state().fails = false;
    assert!(written.blocks.sync_data().is_err());
    assert!(written.blocks.write(layout::offset(9), &[3; BLOCK_BYTES]).is_err());
    assert!(written.blocks.set_len(layout::offset(30)).is_err());
    assert_eq!(written.found(), (2, Some(1)));
}
