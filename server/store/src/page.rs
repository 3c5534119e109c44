//! A page of a list. A large page is not held in memory: only the ids of its records, which are read again, from the
//! same snapshot, as they are sent.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash as _, Hasher as _},
    sync::Arc,
};

use foldhash::quality::{FixedState, FoldHasher};
use futures_util::stream::BoxStream;
use svctrack_core::value::{Document, ObjectId, json_reader::parse_stored};

use super::{
    StoreError,
    response_memory::{ResponseMemory, ResponseMemoryBudget},
};

/// Conversion of a record to the text that is sent.
pub type JsonRewrite = Arc<dyn Fn(&Document) -> Result<String, StoreError> + Send + Sync>;

/// Minimum capacity of a piece of a page, in bytes: some records.
const MIN_PIECE_BYTES: usize = 16 * 1024;
/// Maximum capacity of a piece, in bytes, unless a record is longer: a client that reads nothing holds one, and each
/// costs some system calls.
pub const MAX_PIECE_BYTES: usize = 1024 * 1024;

/// Format of a page, and the budget that it uses.
#[derive(Clone, Default)]
pub struct PageOptions {
    /// Budget from which the page reserves its memory.
    pub room: ResponseMemoryBudget,
    /// Conversion of each record; without it they are items of a JSON array.
    pub rewrite: Option<JsonRewrite>,
}

impl PageOptions {
    /// A record in its format.
    ///
    /// # Errors
    /// When the record cannot be converted.
    pub(crate) fn write<'b>(&self, record: RecordText<'b>) -> Result<RecordText<'b>, StoreError> {
        let Some(rewrite) = &self.rewrite else { return Ok(record) };
        let mut json = Vec::new();
        record.append_to(&mut json);
        let record = parse_stored(&json).map_err(|error| StoreError::corrupted(error.message))?;
        rewrite(&record).map(RecordText::Computed)
    }

    /// Text between two records.
    pub(crate) fn separator(&self) -> &'static str {
        if self.rewrite.is_none() { "," } else { "" }
    }
}

/// Text of a record.
pub(crate) enum RecordText<'b> {
    /// JSON as it is stored, without the closing brace, and the checksum of the stored state.
    Stored { unclosed: &'b [u8], checksum: u32 },
    /// Text with what is computed at read, or in another format.
    Computed(String),
}

impl RecordText<'_> {
    fn bytes(&self) -> usize {
        match self {
            Self::Stored { unclosed, .. } => unclosed.len() + 1,
            Self::Computed(text) => text.len(),
        }
    }

    pub(crate) fn append_to(&self, to: &mut Vec<u8>) {
        match self {
            Self::Stored { unclosed, .. } => {
                to.extend_from_slice(unclosed);
                to.push(b'}');
            }
            Self::Computed(text) => to.extend_from_slice(text.as_bytes()),
        }
    }
}

/// Records that are read as they are sent, some at a time.
pub type RecordStream = BoxStream<'static, Result<Vec<u8>, StoreError>>;

/// A page of a list.
#[derive(Default)]
pub struct Page {
    /// Records in their format, in order, in pieces that are sent as they are; none where they are read later.
    pub pieces: Vec<Vec<u8>>,
    /// Stream of the records that are read later.
    pub later: Option<RecordStream>,
    /// Digest of all records.
    pub digest: PageDigest,
    /// Beginning of the next page, if there is one.
    pub next: Option<PageStart>,
    /// Total number of records, where it is requested (R50).
    pub total: Option<u64>,
    /// Number of all parked events, for the report of integration issues.
    pub parked: Option<u64>,
    /// Room that the page takes.
    pub room: ResponseMemory,
}

impl Page {
    /// A page without records yet.
    pub fn empty(room: &ResponseMemoryBudget, total: Option<u64>) -> Self {
        Self { total, room: room.empty(), ..Self::default() }
    }

    /// A page with one text, whose room is taken already. It has no hash, since nothing asks for the tag of such a text.
    pub fn held(room: ResponseMemory, text: String) -> Self {
        let digest = PageDigest { records: 1, bytes: text.len(), ..PageDigest::default() };
        Self { room, digest, pieces: vec![text.into_bytes()], ..Self::default() }
    }

    /// Adds a record as JSON, in the format of the page.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`], or the record cannot be converted.
    pub fn add(&mut self, options: &PageOptions, json: String) -> Result<(), StoreError> {
        let record = options.write(RecordText::Computed(json))?;
        self.add_record(options, &record)
    }

    /// Adds a record in the format of the page, to the last piece if it fits.
    pub(crate) fn add_record(
        &mut self,
        options: &PageOptions,
        record: &RecordText<'_>,
    ) -> Result<(), StoreError> {
        let before = self.digest.bytes;
        let separator = self.digest.add(options, record);
        let bytes = self.digest.bytes - before;
        self.room.take(bytes)?;
        let piece = self.pieces.pop_if(|piece| piece.capacity() - piece.len() >= bytes);
        let mut piece = piece.unwrap_or_else(|| {
            Vec::with_capacity((2 * before).clamp(MIN_PIECE_BYTES, MAX_PIECE_BYTES).max(bytes))
        });
        piece.extend_from_slice(separator.as_bytes());
        record.append_to(&mut piece);
        self.pieces.push(piece);
        Ok(())
    }

    /// Lets go of the records.
    pub(crate) fn clear(&mut self) {
        self.pieces = Vec::new();
        self.room.release(self.digest.bytes);
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { digest, next, total, .. } = self;
        to.debug_struct("Page")
            .field("records", &digest.records)
            .field("next", next)
            .field("total", total)
            .finish()
    }
}

/// Hash over the records of a page, for its ETag.
#[derive(Clone)]
pub struct PageDigest {
    /// Number of the page's records.
    pub records: usize,
    /// Bytes of the records and of the separators between them.
    pub bytes: usize,
    /// Bytes of the longest record, with its separator.
    pub longest: usize,
    hasher: FoldHasher<'static>,
}

impl Default for PageDigest {
    fn default() -> Self {
        Self { records: 0, bytes: 0, longest: 0, hasher: FixedState::default().build_hasher() }
    }
}

impl PageDigest {
    /// Counts the next record of a page; returns the separator that comes before it.
    pub(crate) fn add(&mut self, options: &PageOptions, record: &RecordText<'_>) -> &'static str {
        let separator = if self.records == 0 { "" } else { options.separator() };
        let bytes = separator.len() + record.bytes();
        self.records += 1;
        self.bytes += bytes;
        self.longest = self.longest.max(bytes);
        match record {
            // The checksum replaces the hash of the text: that takes a tenth of the time of a list.
            RecordText::Stored { checksum, .. } => (checksum, bytes).hash(&mut self.hasher),
            RecordText::Computed(text) => text.hash(&mut self.hasher),
        }
        separator
    }

    /// Hash of all records, in order.
    pub fn hash(&self) -> u64 {
        self.hasher.finish()
    }
}

/// Beginning of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageStart {
    /// The page begins after this record.
    After(ObjectId),
    /// The number of records to skip.
    Offset(usize),
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Page {
        /// The records that the page holds, which are JSON.
        pub(crate) fn documents(&self) -> Vec<Document> {
            let text = [br#"{"items":["#.as_slice(), &self.pieces.concat(), b"]}"].concat();
            let items = Document::parse(&text).unwrap().get("items").unwrap().items().unwrap();
            items.iter().map(|item| item.as_ref().to_document().unwrap()).collect()
        }
    }

    fn page(options: &PageOptions, records: &[String]) -> Page {
        let mut page = Page::default();
        records.iter().for_each(|record| page.add(options, record.clone()).unwrap());
        page
    }

    fn record(bytes: usize) -> String {
        format!(r#"{{"name":"{}"}}"#, "x".repeat(bytes))
    }

    #[test]
    fn pieces_are_the_records_in_order_and_few_with_little_spare_memory() {
        let small = |count| vec![record(400); count];
        let long = vec![record(MAX_PIECE_BYTES + 9)];
        for records in [
            small(1),
            small(5_000),
            [long.clone(), small(5_000)].concat(),
            [small(3), long, small(3)].concat(),
            vec![record(900_000); 4],
        ] {
            let page = page(&PageOptions::default(), &records);
            let text = records.join(",");
            assert!(page.pieces.concat() == text.as_bytes() && page.digest.bytes == text.len());
            let spare: usize = page.pieces.iter().map(|piece| piece.capacity() - piece.len()).sum();
            assert!(page.pieces.len() < 10, "{} pieces", page.pieces.len());
            assert!(spare <= 2 * text.len() + MIN_PIECE_BYTES, "{spare} of {}", text.len());
        }
    }

    #[test]
    fn records_of_another_format_are_not_separated_and_one_that_is_broken_is_an_error() {
        let rewrite: JsonRewrite = Arc::new(|record| Ok(format!("{}\n", record.to_text())));
        let options = PageOptions { rewrite: Some(rewrite), ..PageOptions::default() };
        let lines = page(&options, &["{}".to_owned(), r#"{"a":1}"#.to_owned()]);
        assert_eq!(lines.pieces.concat(), b"{}\n{\"a\":1}\n");
        let broken = Page::default().add(&options, "{".to_owned());
        assert!(matches!(broken, Err(StoreError::Corrupted { .. })), "{broken:?}");
    }

    #[test]
    fn room_is_taken_and_released() {
        let mut page = page(&PageOptions::default(), &[record(9), record(99)]);
        assert_eq!(page.digest.bytes, page.pieces.concat().len());
        page.clear();
        assert!(page.pieces.is_empty() && page.digest.records == 2);
    }
}
