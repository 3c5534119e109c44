//! A disk in memory that loses power, fails and flips bits on command. It knows what was written since the last sync,
//! which is what a real one may lose.

use std::{
    collections::BTreeSet,
    io,
    ops::{Bound, Range},
    sync::{Arc, Mutex, MutexGuard},
    thread,
    time::Duration,
};

use redb::{BackendError, StorageBackend};
use svctrack_store::embedded::{
    OpenError, initialise,
    storage::{EVERYTHING, Storage, StoreFile, WriteStore},
};

use crate::model::Random;

/// What a disk writes whole or not at all, in bytes.
const SECTOR_BYTES: usize = 512;

/// What the system keeps in memory whole, in bytes.
const BLOCK_BYTES: usize = 4096;

/// A disk; clones are the same one.
#[derive(Clone, Debug, Default)]
pub struct Disk(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    bytes: Vec<u8>,
    /// What was there at the last sync.
    durable: Vec<u8>,
    /// What has come since.
    since: Vec<Change>,
    /// Blocks whose sync has failed. What is written there again does not come to disk, whatever a sync says, until
    /// the system has forgotten what it keeps in memory: so does ext4 of Linux with blocks that were never written.
    lost: BTreeSet<usize>,
    operations: u64,
    syncs: u64,
    fault: Option<Fault>,
    is_off: bool,
    opening: Duration,
}

#[derive(Clone, Debug)]
enum Change {
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// The operation with this number fails.
    Once(u64),
    /// All fail from this number on.
    From(u64),
    /// All writes and syncs from the operation with this number on fail, for want of room; reads do not.
    Full(u64),
    /// All writes and syncs fail; reads do not.
    ReadOnly,
    Syncs,
    /// Every second sync fails: every second commit, or of one that takes two the one after which it counts.
    SecondSyncs,
    /// A write or sync fails now and then: when the number of the operation can be divided by this one.
    NowAndThen(u64),
    /// The power goes at the operation with this number.
    Power(u64),
}

/// What is left of the changes that had not been synced.
#[derive(Clone, Copy, Debug)]
pub enum UnsyncedChanges {
    /// All, as the system has it in memory: the program was killed, and the machine keeps running.
    All,
    Nothing,
    Some,
    /// Some sectors of each.
    Sectors,
}

impl UnsyncedChanges {
    /// All that can be left.
    pub const ALL: [Self; 4] = [Self::All, Self::Nothing, Self::Some, Self::Sectors];
}

impl Disk {
    /// A disk with an empty store on it.
    pub fn with_store() -> Self {
        let disk = Self::default();
        initialise(Storage::new(disk.clone()), [1; 5]).unwrap();
        disk
    }

    /// A disk with these bytes on it.
    pub fn with_bytes(bytes: Vec<u8>) -> Self {
        Self(Arc::new(Mutex::new(State { durable: bytes.clone(), bytes, ..State::default() })))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap()
    }

    /// How many operations there have been.
    pub fn operations(&self) -> u64 {
        self.state().operations
    }

    /// Has something go wrong from now on.
    pub fn fail(&self, fault: Fault) {
        let mut state = self.state();
        (state.fault, state.syncs) = (Some(fault), 0);
    }

    /// Takes so long to be opened from now on.
    pub fn take_to_open(&self, opening: Duration) {
        self.state().opening = opening;
    }

    /// Nothing more goes wrong.
    pub fn mend(&self) {
        self.state().fault = None;
    }

    /// Whether its power is gone.
    pub fn is_off(&self) -> bool {
        self.state().is_off
    }

    /// Bytes of the file.
    pub fn len(&self) -> usize {
        self.state().bytes.len()
    }

    /// Changes that no sync has brought to disk.
    pub fn unsynced(&self) -> usize {
        self.state().since.len()
    }

    /// Bytes of memory that it takes: the file as it is read, and as it is at the last sync.
    pub fn memory(&self) -> usize {
        let state = self.state();
        state.bytes.len() + state.durable.len()
    }

    /// Whether there is no file.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Turns a bit of the file over.
    pub fn flip(&self, bit: usize) {
        let mut state = self.state();
        state.bytes[bit / 8] ^= 1 << (bit % 8);
        if let Some(byte) = state.durable.get_mut(bit / 8) {
            *byte ^= 1 << (bit % 8);
        }
    }

    /// The file as it is.
    pub fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// Takes the power away, if it is not gone yet, and gives the disk that is found when it is back.
    pub fn after_power_cut(&self, left: UnsyncedChanges, random: &mut Random) -> Self {
        let mut state = self.state();
        state.is_off = true;
        if matches!(left, UnsyncedChanges::All) {
            let State { bytes, durable, since, lost, .. } = &*state;
            let (bytes, durable) = (bytes.clone(), durable.clone());
            let (since, lost) = (since.clone(), lost.clone());
            let state = State { bytes, durable, since, lost, ..State::default() };
            return Self(Arc::new(Mutex::new(state)));
        }
        let mut bytes = state.durable.clone();
        for change in &state.since {
            change.survive(&mut bytes, left, random);
        }
        Self::with_bytes(bytes)
    }
}

impl Change {
    /// The blocks that it writes.
    fn blocks(&self) -> Range<usize> {
        match self {
            Self::Write(offset, data) => {
                offset / BLOCK_BYTES..(offset + data.len()).div_ceil(BLOCK_BYTES)
            }
            Self::Length(_) => 0..0,
        }
    }

    fn survive(&self, bytes: &mut Vec<u8>, left: UnsyncedChanges, random: &mut Random) {
        let whole = match left {
            UnsyncedChanges::All => true,
            UnsyncedChanges::Nothing => false,
            UnsyncedChanges::Some | UnsyncedChanges::Sectors => random.percent(50),
        };
        match self {
            Self::Length(len) if whole => bytes.resize(*len, 0),
            Self::Write(offset, data) if matches!(left, UnsyncedChanges::Sectors) => {
                for part in sectors(*offset, data.len()) {
                    if random.percent(50) {
                        write(bytes, offset + part.start, &data[part]);
                    }
                }
            }
            Self::Write(offset, data) if whole => write(bytes, *offset, data),
            _ => {}
        }
    }
}

/// The parts of a write that lie in one sector each.
fn sectors(offset: usize, len: usize) -> impl Iterator<Item = Range<usize>> {
    let mut begin = 0;
    std::iter::from_fn(move || {
        let end = (begin + SECTOR_BYTES - (offset + begin) % SECTOR_BYTES).min(len);
        (begin < end).then(|| std::mem::replace(&mut begin, end)..end)
    })
}

fn write(bytes: &mut Vec<u8>, offset: usize, data: &[u8]) {
    let end = offset + data.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[offset..end].copy_from_slice(data);
}

impl State {
    fn operate(&mut self, changes: bool) -> io::Result<()> {
        self.operations += 1;
        let fails = match self.fault {
            Some(Fault::Once(number)) => self.operations == number,
            Some(Fault::From(number)) => self.operations >= number,
            Some(Fault::Full(number)) if changes && self.operations >= number => {
                return Err(io::ErrorKind::StorageFull.into());
            }
            Some(Fault::ReadOnly) => changes,
            Some(Fault::NowAndThen(number)) => changes && self.operations.is_multiple_of(number),
            Some(Fault::Power(number)) if self.operations >= number => {
                self.is_off = true;
                true
            }
            _ => false,
        };
        match fails || self.is_off {
            true => Err(io::Error::other("the disk fails")),
            false => Ok(()),
        }
    }

    fn change(&mut self, change: Change) -> io::Result<()> {
        self.operate(true)?;
        match &change {
            Change::Write(offset, data) => write(&mut self.bytes, *offset, data),
            Change::Length(len) => self.bytes.resize(*len, 0),
        }
        let is_lost = change.blocks().any(|block| self.lost.contains(&block));
        if !is_lost {
            self.since.push(change);
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.syncs += 1;
        let done = self.operate(true).and_then(|()| match self.fault {
            Some(Fault::Syncs) => Err(io::Error::other("the disk fails")),
            Some(Fault::SecondSyncs) if self.syncs.is_multiple_of(2) => {
                Err(io::Error::other("the disk fails"))
            }
            _ => Ok(()),
        });
        if let Err(error) = done {
            // As Linux does: what could not be written is read on as if it were, and never written again.
            if !self.is_off {
                self.lost.extend(self.since.drain(..).flat_map(|change| change.blocks()));
            }
            return Err(error);
        }
        for change in std::mem::take(&mut self.since) {
            match change {
                Change::Write(offset, data) => write(&mut self.durable, offset, &data),
                Change::Length(len) => self.durable.resize(len, 0),
            }
        }
        Ok(())
    }

    fn forget_cached(&mut self, parts: &[Range<u64>]) -> io::Result<()> {
        let synced = self.sync();
        for part in parts {
            if *part == EVERYTHING {
                self.bytes.clone_from(&self.durable);
            }
            let end = part.end.min(self.bytes.len() as u64);
            let part = in_memory(part.start)..in_memory(end);
            for at in part.clone() {
                self.bytes[at] = self.durable.get(at).copied().unwrap_or(0);
            }
            self.lost.retain(|block| !part.contains(&(block * BLOCK_BYTES)));
        }
        synced
    }
}

fn in_memory(offset: u64) -> usize {
    usize::try_from(offset).unwrap()
}

impl StorageBackend for Disk {
    fn len(&self) -> io::Result<u64> {
        let mut state = self.state();
        state.operate(false)?;
        Ok(state.bytes.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let mut state = self.state();
        state.operate(false)?;
        let offset = in_memory(offset);
        let read = state.bytes.get(offset..offset + out.len());
        out.copy_from_slice(read.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.state().change(Change::Length(in_memory(len)))
    }

    fn sync_data(&self) -> io::Result<()> {
        self.state().sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.state().change(Change::Write(in_memory(offset), data.to_vec()))
    }

    fn try_lock_range(&self, _: Bound<u64>, _: Bound<u64>) -> Result<bool, BackendError> {
        Err(BackendError::Unsupported)
    }
}

impl StoreFile for Disk {
    fn open(&self) -> Result<Storage, OpenError> {
        let opening = self.state().opening;
        thread::sleep(opening);
        self.state().operate(false)?;
        Ok(Storage::new(self.clone()))
    }

    fn forget_cached(&self, parts: &[Range<u64>]) -> Result<(), OpenError> {
        Ok(self.state().forget_cached(parts)?)
    }

    fn try_to_write(&self) -> io::Result<()> {
        let mut state = self.state();
        state.operate(true)?;
        match state.fault {
            // What is tried is synced as well.
            Some(Fault::Syncs) => Err(io::Error::other("the disk fails")),
            _ => Ok(()),
        }
    }

    fn replace(&self, write: WriteStore<'_>) -> Result<(), OpenError> {
        self.state().operate(true)?;
        let new = Self::default();
        write(Storage::new(new.clone()))?;
        let (bytes, mut state) = (new.bytes(), self.state());
        (state.bytes, state.durable) = (bytes.clone(), bytes);
        state.since.clear();
        state.lost.clear();
        Ok(())
    }

    fn name(&self) -> String {
        "a disk in memory".to_owned()
    }
}
