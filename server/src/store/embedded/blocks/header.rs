//! Block 0 of the database, in which redb keeps what its pages are found by.
//!
//! It is written in place, so it lies in the file in two copies that are written in turn, as the sums are
//! ([`super::sums`]). To go back to the older copy is to lose a commit, so each of them is there twice:
//! one flipped bit leaves the newer one readable.

use std::io;

use super::{
    super::{
        open::{OpenError, STORE_FORMAT},
        storage::Storage,
    },
    layout::{BLOCK_BYTES, HEADER_BLOCKS},
    sums::{read_there, sum_of},
};

/// How a store's file begins.
const MAGIC: &[u8; 16] = b"svctrack store\r\n";
/// Bytes before those of the database.
const HEAD_BYTES: usize = 32;
/// The name that a header's sum is made with; no block has it.
const HEADER: u64 = u64::MAX;

/// Block 0 of the database.
#[derive(Debug)]
pub(super) struct Header {
    epoch: u64,
    block: Vec<u8>,
    /// Which of the two copies is the newer one.
    latest: u64,
    changed: bool,
    in_writing: bool,
}

impl Header {
    /// That of a store which is just being made.
    pub(super) fn never_written() -> Self {
        let block = vec![0; BLOCK_BYTES - HEAD_BYTES];
        Self { epoch: 0, block, latest: 1, changed: false, in_writing: false }
    }

    /// Reads it.
    ///
    /// # Errors
    /// [`OpenError::Foreign`] when the file is no store, [`OpenError::Format`] when it is one of a later
    /// version, [`OpenError::Damaged`] when no copy is as it was written.
    pub(super) fn load(under: &Storage) -> Result<Self, OpenError> {
        let mut bytes = vec![0; HEADER_BLOCKS as usize * BLOCK_BYTES];
        read_there(under, 0, &mut bytes)?;
        let mut newest: Option<Self> = None;
        let mut refusal = foreign();
        for (place, bytes) in (0_u64..).zip(bytes.chunks_exact(BLOCK_BYTES)) {
            match Self::decode(bytes, place / 2) {
                Ok(header) if newest.as_ref().is_none_or(|known| known.epoch < header.epoch) => {
                    newest = Some(header);
                }
                Err(why) if matches!(refusal, OpenError::Foreign(_)) => refusal = why,
                _ => {}
            }
        }
        newest.ok_or(refusal)
    }

    fn decode(bytes: &[u8], latest: u64) -> Result<Self, OpenError> {
        let (magic, rest) = bytes.split_first_chunk().ok_or_else(foreign)?;
        let (format, rest) = rest.split_first_chunk().ok_or_else(foreign)?;
        let (sum, rest) = rest.split_first_chunk().ok_or_else(foreign)?;
        let (epoch, block) = rest.split_first_chunk().ok_or_else(foreign)?;
        if magic != MAGIC {
            return Err(foreign());
        }
        let format = u32::from_be_bytes(*format);
        if format != STORE_FORMAT {
            return Err(OpenError::format(&format.to_string()));
        }
        if sum_of(HEADER, rest) != u32::from_be_bytes(*sum) {
            return Err(OpenError::Damaged("its header is not as it was written".to_owned()));
        }
        let (epoch, block) = (u64::from_be_bytes(*epoch), block.to_vec());
        Ok(Self { epoch, block, latest, changed: false, in_writing: false })
    }

    fn encode(&self, epoch: u64) -> Vec<u8> {
        let rest = [epoch.to_be_bytes().as_slice(), &self.block].concat();
        let sum = sum_of(HEADER, &rest).to_be_bytes();
        [MAGIC.as_slice(), &STORE_FORMAT.to_be_bytes(), &sum, &rest].concat()
    }

    /// Reads a part of the block; its end, which has no place in a copy, is zero.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let behind = self.block.get(offset..).ok_or(io::ErrorKind::InvalidInput)?;
        let mut bytes = behind.iter().copied();
        out.fill_with(|| bytes.next().unwrap_or(0));
        Ok(())
    }

    pub(super) fn write(&mut self, offset: u64, data: &[u8]) -> io::Result<()> {
        let offset = usize::try_from(offset).map_err(io::Error::other)?;
        let to = self.block.get_mut(offset..offset + data.len());
        to.ok_or(io::ErrorKind::InvalidInput)?.copy_from_slice(data);
        self.changed = true;
        Ok(())
    }

    /// The copy to be written, if there is a change: its place, and its bytes.
    pub(super) fn take_change(&mut self) -> Option<(u64, Vec<u8>)> {
        if !self.changed {
            return None;
        }
        (self.changed, self.in_writing) = (false, true);
        let copy = self.encode(self.epoch + 1);
        Some((2 * (1 - self.latest), [copy.as_slice(), &copy].concat()))
    }

    /// The copy that was taken is on disk.
    pub(super) fn written(&mut self) {
        if std::mem::take(&mut self.in_writing) {
            self.latest = 1 - self.latest;
            self.epoch += 1;
        }
    }

    /// The copy that was taken may be on disk or not.
    pub(super) fn not_written(&mut self) {
        self.changed |= std::mem::take(&mut self.in_writing);
    }
}

fn foreign() -> OpenError {
    OpenError::Foreign("it does not begin as one".to_owned())
}

#[cfg(test)]
mod tests {
    use redb::{StorageBackend as _, backends::InMemoryBackend};

    use super::{super::layout, *};

    fn store(storage: &Storage, header: &mut Header, byte: u8) -> u64 {
        header.write(40, &[byte]).unwrap();
        let (place, bytes) = header.take_change().unwrap();
        storage.write(layout::offset(place), &bytes).unwrap();
        header.written();
        place
    }

    fn stored(storage: &Storage) -> u8 {
        let mut byte = [0];
        Header::load(storage).unwrap().read(40, &mut byte).unwrap();
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
        let (place, bytes) = header.take_change().unwrap();
        storage.write(layout::offset(place), &bytes[..50]).unwrap();
        storage.write(layout::offset(place) + 4_096, &bytes[4_096..4_150]).unwrap();
        assert_eq!(stored(&storage), 2);
    }

    #[test]
    fn a_later_format_is_refused() {
        let storage = storage();
        store(&storage, &mut Header::never_written(), 1);
        for copy in 0..HEADER_BLOCKS {
            storage.write(layout::offset(copy) + 16, &(STORE_FORMAT + 1).to_be_bytes()).unwrap();
        }
        assert!(matches!(Header::load(&storage), Err(OpenError::Format { .. })));
    }
}
