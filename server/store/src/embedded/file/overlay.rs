//! Storage over another, which is not changed.

use std::{collections::BTreeMap, io, ops::Range};

use parking_lot::{Mutex, MutexGuard};
use redb::StorageBackend;

use super::storage::Storage;

/// Bytes of a block in memory.
const BLOCK_BYTES: u64 = 4_096;

/// Storage over another, which is not changed: writes stay in memory. A file that may not be a store is tried over it.
#[derive(Debug)]
pub(crate) struct OverlayBackend {
    under: Storage,
    written: Mutex<OverlayContent>,
}

#[derive(Debug)]
struct OverlayContent {
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
        Ok(Self { under, written: Mutex::new(OverlayContent { len, blocks: BTreeMap::new() }) })
    }

    fn written(&self) -> MutexGuard<'_, OverlayContent> {
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

#[cfg(test)]
mod tests {
    use redb::backends::InMemoryBackend;

    use super::*;

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
