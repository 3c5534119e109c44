//! A page of a list. A large page is not held in memory: only the ids of its records, which are read again, from the
//! same snapshot, as they are sent.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash as _, Hasher as _},
    sync::Arc,
};

use foldhash::quality::{FixedState, FoldHasher};
use futures_util::stream::BoxStream;
#[cfg(test)]
use svctrack_core::value::Document;
use svctrack_core::value::ObjectId;

use super::{
    StoreError,
    response_memory::{ResponseMemory, ResponseMemoryBudget},
};

/// Conversion of a record's JSON to the text that is sent.
pub type JsonRewrite = Arc<dyn Fn(&[u8]) -> Result<String, StoreError> + Send + Sync>;

/// Capacity of the first piece of a page, in bytes: some records.
const FIRST_PIECE_BYTES: usize = 4 * 1024;
/// Maximum capacity of a piece, in bytes, unless a record is longer.
const MAX_PIECE_BYTES: usize = 1024 * 1024;
/// How much larger the next piece is: each is a system call.
const PIECE_GROWTH: usize = 16;

/// Format of a page, and the budget that it uses.
#[derive(Clone, Default)]
pub struct PageOptions {
    /// Budget from which the page reserves its memory.
    pub room: ResponseMemoryBudget,
    /// Conversion of each record; without it they are items of a JSON array.
    pub rewrite: Option<JsonRewrite>,
}

impl PageOptions {
    /// Appends a record in its format.
    ///
    /// # Errors
    /// When the record cannot be converted.
    pub(crate) fn append(
        &self,
        to: &mut Vec<u8>,
        record: &RecordText<'_>,
    ) -> Result<(), StoreError> {
        match &self.rewrite {
            Some(rewrite) => {
                let mut json = Vec::new();
                record.append_to(&mut json);
                to.extend_from_slice(rewrite(&json)?.as_bytes());
            }
            None => record.append_to(to),
        }
        Ok(())
    }

    /// Text between two records.
    pub(crate) fn separator(&self) -> &'static str {
        if self.rewrite.is_none() { "," } else { "" }
    }
}

/// JSON of a record.
pub(crate) enum RecordText<'b> {
    /// Visible text without the closing brace, where that is all of it, and the checksum of the stored state.
    Stored { open: &'b [u8], checksum: u32 },
    /// Text with what is computed at read.
    Computed(String),
}

impl RecordText<'_> {
    fn append_to(&self, to: &mut Vec<u8>) {
        match self {
            Self::Stored { open, .. } => {
                to.extend_from_slice(open);
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

    /// A page with one text, whose room is taken already.
    pub fn held(room: ResponseMemory, text: String) -> Self {
        let digest = PageDigest { records: 1, bytes: text.len(), ..PageDigest::default() };
        Self { room, digest, pieces: vec![text.into_bytes()], ..Self::default() }
    }

    /// Adds a record as JSON, in the format of the page.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`], or the record cannot be converted.
    pub fn add(&mut self, options: &PageOptions, json: String) -> Result<(), StoreError> {
        self.add_record(options, &RecordText::Computed(json))
    }

    /// Adds a record to the last piece, or to a new one where it may not fit.
    pub(crate) fn add_record(
        &mut self,
        options: &PageOptions,
        record: &RecordText<'_>,
    ) -> Result<(), StoreError> {
        let longest = self.digest.longest;
        let piece = self.pieces.pop_if(|piece| piece.capacity() - piece.len() > longest);
        let mut piece = piece.unwrap_or_else(|| {
            let last = self.pieces.last().map_or(0, Vec::capacity);
            Vec::with_capacity((PIECE_GROWTH * last).clamp(FIRST_PIECE_BYTES, MAX_PIECE_BYTES))
        });
        let bytes = self.digest.append(&mut piece, options, record)?;
        self.pieces.push(piece);
        self.room.take(bytes)
    }

    /// Lets go of the records.
    pub(crate) fn clear(&mut self) {
        self.pieces = Vec::new();
        self.room.release(self.digest.bytes);
    }

    /// The records that the page holds, which are JSON.
    #[cfg(test)]
    pub(crate) fn documents(&self) -> Vec<Document> {
        let text = [br#"{"items":["#.as_slice(), &self.pieces.concat(), b"]}"].concat();
        let items = Document::parse(&text).unwrap().get("items").unwrap().items().unwrap();
        items.iter().map(|item| item.as_ref().to_document().unwrap()).collect()
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
    /// Appends the next record of a page, after a separator, and counts it. Returns their length, in bytes.
    pub(crate) fn append(
        &mut self,
        to: &mut Vec<u8>,
        options: &PageOptions,
        record: &RecordText<'_>,
    ) -> Result<usize, StoreError> {
        let before = to.len();
        if self.records > 0 {
            to.extend_from_slice(options.separator().as_bytes());
        }
        let start = to.len();
        options.append(to, record)?;
        self.records += 1;
        self.bytes += to.len() - before;
        self.longest = self.longest.max(to.len() - before);
        match (record, to.get(start..).unwrap_or_default()) {
            // The checksum replaces the hash of the text: that takes a tenth of the time of a list.
            (RecordText::Stored { checksum, .. }, text) => {
                (checksum, text.len()).hash(&mut self.hasher);
            }
            (RecordText::Computed(_), text) => text.hash(&mut self.hasher),
        }
        Ok(to.len() - before)
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
