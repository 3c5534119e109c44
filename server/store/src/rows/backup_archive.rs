//! Format of a backup: gzip over a head, the rows of every table, and a manifest that counts them. It is read from the
//! beginning to the end, with one row in memory; an interrupted backup has no manifest.
//!
//! ```text
//! head      one line of JSON: {"svctrackBackup":1,"storeFormat":1,"at":1795290304728,"store":"3f0c9a51d2","sequence":12}
//! table     1:1 length:2 name                      each table once, its rows after it in the order of keys
//! row       2:1 length:4 length:4 key value        laid out as drawn in `keys`
//! manifest  3:1 length:4 json                      the head again, and of each table rows and SHA-256
//! ```
//!
//! Numbers are big-endian; `at` is in milliseconds since 1970, `store` the id of the store, `sequence` the position
//! among the backups of its schedule. The SHA-256 of a table is that of its rows in this format. Nothing follows the
//! manifest.

use std::io::{self, BufRead, Read, Write};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use sha2::{Digest as _, Sha256};
use svctrack_core::value::Timestamp;

use super::meta::{READABLE_ROWS, ROWS_FORMAT};
use crate::{BackupHead, Manifest, StoreId, TableSum};

/// Version of this format.
const ARCHIVE_FORMAT: u32 = 1;
/// Longest head, in bytes: ours has some 100.
const MAX_HEAD_BYTES: u64 = 1024;
/// Largest key, value or manifest, in bytes: no row that the store writes is nearly as large, and a corrupted length
/// must not take all memory.
const MAX_PART_BYTES: u64 = 64 * 1024 * 1024;

const TABLE: u8 = 1;
const ROW: u8 = 2;
const MANIFEST: u8 = 3;

impl BackupHead {
    /// Head of a backup of a store at this point in time.
    pub(crate) fn new(at: Timestamp, store: StoreId, sequence: Option<u64>) -> Self {
        let (svctrack_backup, store_format) = (ARCHIVE_FORMAT, ROWS_FORMAT);
        Self { svctrack_backup, store_format, at, store: Some(store), sequence }
    }
}

/// Table whose rows are being written or read.
#[derive(Default)]
struct CountedTable {
    name: String,
    rows: u64,
    hash: Sha256,
}

impl CountedTable {
    fn new(name: &str) -> Self {
        Self { name: name.to_owned(), ..Self::default() }
    }

    fn add(&mut self, lengths: &[u8; 8], key: &[u8], value: &[u8]) {
        self.rows += 1;
        for part in [lengths.as_slice(), key, value] {
            self.hash.update(part);
        }
    }

    fn sum(self) -> TableSum {
        let digits = self.hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
        TableSum { name: self.name, rows: self.rows, sha256: digits }
    }
}

/// Counts of the tables of a backup, one after the other.
struct TableCounts {
    head: BackupHead,
    done: Vec<TableSum>,
    now: Option<CountedTable>,
}

impl TableCounts {
    fn new(head: BackupHead) -> Self {
        Self { head, done: Vec::new(), now: None }
    }

    fn begin(&mut self, name: &str) {
        self.done.extend(self.now.take().map(CountedTable::sum));
        self.now = Some(CountedTable::new(name));
    }

    fn finish(mut self) -> Manifest {
        self.done.extend(self.now.take().map(CountedTable::sum));
        Manifest::new(self.head, self.done)
    }
}

pub(crate) struct ArchiveWriter<W: Write> {
    out: GzEncoder<W>,
    tables: TableCounts,
}

impl<W: Write> ArchiveWriter<W> {
    /// Begins a backup.
    ///
    /// # Errors
    /// When `out` cannot be written; the same for the other methods.
    pub(crate) fn begin(out: W, head: BackupHead) -> io::Result<Self> {
        // The fastest level: a higher one takes twice the time for a tenth of the size.
        let mut out = GzEncoder::new(out, Compression::fast());
        out.write_all(&serde_json::to_vec(&head)?)?;
        out.write_all(b"\n")?;
        Ok(Self { out, tables: TableCounts::new(head) })
    }

    pub(crate) fn table(&mut self, name: &str) -> io::Result<()> {
        let length = u16::try_from(name.len()).map_err(io::Error::other)?;
        self.out.write_all(&[TABLE])?;
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(name.as_bytes())?;
        self.tables.begin(name);
        Ok(())
    }

    /// Writes a row of the table that was begun last.
    pub(crate) fn row(&mut self, key: &[u8], value: &[u8]) -> io::Result<()> {
        let lengths = lengths_of(key, value)?;
        self.out.write_all(&[ROW])?;
        for part in [lengths.as_slice(), key, value] {
            self.out.write_all(part)?;
        }
        if let Some(table) = &mut self.tables.now {
            table.add(&lengths, key, value);
        }
        Ok(())
    }

    /// Writes the manifest, without which a backup is incomplete.
    pub(crate) fn finish(mut self) -> io::Result<(W, Manifest)> {
        let manifest = self.tables.finish();
        let json = serde_json::to_vec(&manifest)?;
        let length = u32::try_from(json.len()).map_err(io::Error::other)?;
        self.out.write_all(&[MANIFEST])?;
        self.out.write_all(&length.to_be_bytes())?;
        self.out.write_all(&json)?;
        Ok((self.out.finish()?, manifest))
    }
}

fn lengths_of(key: &[u8], value: &[u8]) -> io::Result<[u8; 8]> {
    let length = |part: &[u8]| u32::try_from(part.len()).map_err(io::Error::other);
    let both = (u64::from(length(key)?) << 32) | u64::from(length(value)?);
    Ok(both.to_be_bytes())
}

/// First byte of a gzip file (RFC 1952, 2.3.1): a file that is too short for the rest of its head may be none.
const FIRST_OF_GZIP: u8 = 0x1f;

/// Why a backup cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    /// The file is not a backup.
    #[error("it is not a svctrack backup")]
    Foreign,
    /// The file ends before its manifest, as one also may that was corrupted while it was compressed.
    #[error("it is truncated or corrupted")]
    CutOff,
    /// The file is not as it was written.
    #[error("it is corrupted: {0}")]
    Corrupted(String),
    /// The archive has the format of another version of the program.
    #[error("it has format {0}, this program knows {ARCHIVE_FORMAT}.{ROWS_FORMAT}")]
    Format(String),
    /// The file cannot be read.
    #[error("{0}")]
    Io(io::Error),
}

impl From<io::Error> for ArchiveError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Self::CutOff,
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                Self::Corrupted(error.to_string())
            }
            _ => Self::Io(error),
        }
    }
}

fn corrupted(what: impl Into<String>) -> ArchiveError {
    ArchiveError::Corrupted(what.into())
}

pub(crate) struct ArchiveReader<R> {
    from: GzDecoder<R>,
    tables: TableCounts,
    key: Vec<u8>,
    value: Vec<u8>,
}

/// Next part of a backup.
pub(crate) enum ArchivePart<'r> {
    Table(String),
    /// A row of the table.
    Row(&'r [u8], &'r [u8]),
    /// End of the backup: all has been read, and is as it was written.
    End(Manifest),
}

impl<R: BufRead> ArchiveReader<R> {
    pub(crate) fn begin(mut from: R) -> Result<Self, ArchiveError> {
        if from.fill_buf()?.first().is_some_and(|byte| *byte != FIRST_OF_GZIP) {
            return Err(ArchiveError::Foreign);
        }
        let mut from = GzDecoder::new(from);
        let mut line = Vec::new();
        loop {
            let mut byte = [0];
            match from.read_exact(&mut byte) {
                Ok(()) if byte == *b"\n" => break,
                Ok(()) if (line.len() as u64) < MAX_HEAD_BYTES => line.extend_from_slice(&byte),
                Ok(()) => return Err(ArchiveError::Foreign),
                Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => {
                    return Err(ArchiveError::CutOff);
                }
                Err(_) => return Err(ArchiveError::Foreign),
            }
        }
        let head: BackupHead = serde_json::from_slice(&line).map_err(|_| ArchiveError::Foreign)?;
        let BackupHead { svctrack_backup, store_format, .. } = head;
        if svctrack_backup != ARCHIVE_FORMAT || !READABLE_ROWS.contains(&store_format) {
            return Err(ArchiveError::Format(format!("{svctrack_backup}.{store_format}")));
        }
        Ok(Self { from, tables: TableCounts::new(head), key: Vec::new(), value: Vec::new() })
    }

    pub(crate) fn next(&mut self) -> Result<ArchivePart<'_>, ArchiveError> {
        let [kind] = self.bytes()?;
        match kind {
            TABLE => {
                let length = u16::from_be_bytes(self.bytes()?);
                let name = read_part(&mut self.from, length.into(), Vec::new())?;
                let name = String::from_utf8(name)
                    .map_err(|_| corrupted("the name of a table is not UTF-8"))?;
                self.tables.begin(&name);
                Ok(ArchivePart::Table(name))
            }
            ROW => {
                let lengths: [u8; 8] = self.bytes()?;
                let both = u64::from_be_bytes(lengths);
                let (key, value) = (both >> 32, both & u64::from(u32::MAX));
                self.key = read_part(&mut self.from, key, std::mem::take(&mut self.key))?;
                self.value = read_part(&mut self.from, value, std::mem::take(&mut self.value))?;
                let table = self
                    .tables
                    .now
                    .as_mut()
                    .ok_or_else(|| corrupted("a row precedes the first table"))?;
                table.add(&lengths, &self.key, &self.value);
                Ok(ArchivePart::Row(&self.key, &self.value))
            }
            MANIFEST => self.end().map(ArchivePart::End),
            _ => Err(corrupted("unknown entry")),
        }
    }

    fn bytes<const N: usize>(&mut self) -> Result<[u8; N], ArchiveError> {
        let mut bytes = [0; N];
        self.from.read_exact(&mut bytes)?;
        Ok(bytes)
    }

    /// Compares the counts with the manifest, and checks that nothing follows it.
    fn end(&mut self) -> Result<Manifest, ArchiveError> {
        let length = u32::from_be_bytes(self.bytes()?);
        let json = read_part(&mut self.from, length.into(), Vec::new())?;
        let expected: Manifest =
            serde_json::from_slice(&json).map_err(|_| corrupted("its manifest cannot be read"))?;
        let tables = TableCounts::new(self.tables.head.clone());
        let found = std::mem::replace(&mut self.tables, tables).finish();
        if found != expected {
            return Err(corrupted("its rows do not match its manifest"));
        }
        // This reads gzip's own checksum.
        if self.from.read(&mut [0])? > 0 || !self.from.get_mut().fill_buf()?.is_empty() {
            return Err(corrupted("trailing data"));
        }
        Ok(found)
    }
}

/// Reads this many bytes into a reused buffer, which grows as they arrive.
fn read_part(
    from: &mut impl Read,
    length: u64,
    mut into: Vec<u8>,
) -> Result<Vec<u8>, ArchiveError> {
    into.clear();
    if length > MAX_PART_BYTES {
        return Err(corrupted(format!("an entry has an invalid length of {length} bytes")));
    }
    let read = from.take(length).read_to_end(&mut into)?;
    if (read as u64) < length { Err(ArchiveError::CutOff) } else { Ok(into) }
}

/// The head of a backup; the rest is not read.
///
/// # Errors
/// [`ArchiveError`] when the backup has no known head.
pub fn read_head(from: impl BufRead) -> Result<BackupHead, ArchiveError> {
    Ok(ArchiveReader::begin(from)?.tables.head)
}

/// Reads a backup to its end.
///
/// # Errors
/// [`ArchiveError`] when the backup is incomplete or corrupted.
pub fn check_archive(from: impl BufRead) -> Result<Manifest, ArchiveError> {
    let mut archive = ArchiveReader::begin(from)?;
    loop {
        if let ArchivePart::End(manifest) = archive.next()? {
            return Ok(manifest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head() -> BackupHead {
        BackupHead::new(Timestamp::MIN, StoreId::from_bytes([0, 1, 2, 3, 0xff]), Some(12))
    }

    fn archive() -> (Vec<u8>, Manifest) {
        let mut writer = ArchiveWriter::begin(Vec::new(), head()).unwrap();
        writer.table("a").unwrap();
        for number in 0..300_u16 {
            writer.row(&number.to_be_bytes(), &[7; 40]).unwrap();
        }
        writer.table("b").unwrap();
        writer.row(b"key", b"").unwrap();
        writer.finish().unwrap()
    }

    #[test]
    fn what_was_written_is_read_back() {
        let (bytes, manifest) = archive();
        assert_eq!(check_archive(bytes.as_slice()).unwrap(), manifest);
        assert_eq!(manifest.tables.iter().map(|table| table.rows).collect::<Vec<_>>(), [300, 1]);
        let mut reader = ArchiveReader::begin(bytes.as_slice()).unwrap();
        assert!(matches!(reader.next().unwrap(), ArchivePart::Table(name) if name == "a"));
        assert!(
            matches!(reader.next().unwrap(), ArchivePart::Row([0, 0], value) if value == [7; 40])
        );
    }

    #[test]
    fn a_head_names_its_store_unless_an_earlier_version_wrote_it() {
        let line =
            |head: &BackupHead| pack(&[&serde_json::to_vec(head).unwrap()[..], b"\n"].concat());
        let read = read_head(archive().0.as_slice()).unwrap();
        assert_eq!(read.store.map(|store| store.to_string()), Some("00010203ff".to_owned()));
        let old = BackupHead { store: None, ..head() };
        assert!(!serde_json::to_string(&old).unwrap().contains("store\""));
        assert_eq!(read_head(line(&old).as_slice()).unwrap(), old);
        for text in ["", "3f0c9a51d", "3F0C9A51D2", "+f0c9a51d2", "3f0c9a51d2a"] {
            assert!(StoreId::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    #[test]
    fn a_backup_that_breaks_off_anywhere_is_rejected() {
        let (bytes, _) = archive();
        for len in 0..bytes.len() {
            assert!(check_archive(&bytes[..len]).is_err(), "{len} of {}", bytes.len());
        }
        let followed = [bytes.as_slice(), b"x"].concat();
        assert!(check_archive(followed.as_slice()).is_err());
        let twice = [bytes.as_slice(), &bytes].concat();
        assert!(check_archive(twice.as_slice()).is_err());
    }

    /// Each version of `bytes` with one flipped bit.
    fn flips(bytes: &[u8]) -> impl Iterator<Item = Vec<u8>> {
        (0..bytes.len() * 8).map(|at| {
            let mut flipped = bytes.to_vec();
            flipped[at / 8] ^= 1 << (at % 8);
            flipped
        })
    }

    fn unpack(bytes: &[u8]) -> io::Result<Vec<u8>> {
        let mut unpacked = Vec::new();
        GzDecoder::new(bytes).read_to_end(&mut unpacked)?;
        Ok(unpacked)
    }

    fn pack(bytes: &[u8]) -> Vec<u8> {
        let mut packer = GzEncoder::new(Vec::new(), Compression::none());
        packer.write_all(bytes).unwrap();
        packer.finish().unwrap()
    }

    #[test]
    fn a_flipped_bit_is_reported_but_where_gzip_unpacks_the_same_bytes() {
        let (bytes, manifest) = archive();
        let unpacked = unpack(&bytes).unwrap();
        for (at, flipped) in flips(&bytes).enumerate() {
            if let Ok(found) = check_archive(flipped.as_slice()) {
                assert_eq!(found, manifest, "bit {at}");
                assert!(unpack(&flipped).is_ok_and(|bytes| bytes == unpacked), "bit {at}");
            }
        }
    }

    #[test]
    fn a_bit_that_was_flipped_before_a_backup_was_packed_is_reported() {
        let unpacked = unpack(&archive().0).unwrap();
        assert!(check_archive(pack(&unpacked).as_slice()).is_ok());
        // A prime number: each position of a byte comes up.
        for (at, flipped) in flips(&unpacked).enumerate().step_by(61) {
            assert!(check_archive(pack(&flipped).as_slice()).is_err(), "bit {at}");
        }
    }

    #[test]
    fn rows_that_the_manifest_does_not_count_are_rejected() {
        let (_, manifest) = archive();
        let mut writer = ArchiveWriter::begin(Vec::new(), head()).unwrap();
        writer.table("a").unwrap();
        writer.row(b"key", b"value").unwrap();
        writer.tables.now = None;
        writer.tables.done = manifest.tables;
        let (bytes, _) = writer.finish().unwrap();
        assert!(matches!(check_archive(bytes.as_slice()), Err(ArchiveError::Corrupted(_))));
    }

    #[test]
    fn what_is_no_backup_or_one_of_another_format_is_rejected() {
        for text in [&b"once upon a time"[..], b"vm\n"] {
            assert!(matches!(check_archive(text), Err(ArchiveError::Foreign)));
        }
        let head = head();
        let later = [
            BackupHead { svctrack_backup: 2, ..head.clone() },
            BackupHead { store_format: 3, ..head },
        ];
        for later in later {
            let (bytes, _) = ArchiveWriter::begin(Vec::new(), later).unwrap().finish().unwrap();
            assert!(matches!(check_archive(bytes.as_slice()), Err(ArchiveError::Format(_))));
        }
    }
}
