//! A page of a list. A large page is not held in memory: only the ids of its records, which are read again, from the
//! same snapshot, as they are sent.

use std::{
    fmt,
    hash::{BuildHasher as _, Hash as _, Hasher as _},
    sync::Arc,
};

use foldhash::quality::{FixedState, FoldHasher};
use futures_util::stream::BoxStream;
use svctrack_core::value::ObjectId;

use super::{
    StoreError,
    response_memory::{ResponseMemory, ResponseMemoryBudget},
};

/// Conversion of a record's JSON to the text that is sent.
pub type JsonRewrite = Arc<dyn Fn(String) -> Result<String, StoreError> + Send + Sync>;

/// Format of a page, and the budget that it uses.
#[derive(Clone, Default)]
pub struct PageOptions {
    /// Budget from which the page reserves its memory.
    pub room: ResponseMemoryBudget,
    /// Conversion of each record.
    pub rewrite: Option<JsonRewrite>,
}

impl PageOptions {
    /// A record in its format.
    ///
    /// # Errors
    /// When the record cannot be converted.
    pub fn write(&self, text: String) -> Result<String, StoreError> {
        match &self.rewrite {
            Some(rewrite) => rewrite(text),
            None => Ok(text),
        }
    }
}

/// Records that are read as they are sent, some at a time.
pub type RecordStream = BoxStream<'static, Result<Vec<String>, StoreError>>;

/// A page of a list.
#[derive(Default)]
pub struct Page {
    /// Records in their format, in order; none where they are read later.
    pub items: Vec<String>,
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
        let mut page = Self { room, ..Self::default() };
        page.digest.add(&text, None);
        page.items.push(text);
        page
    }

    /// Adds a record in its format.
    ///
    /// # Errors
    /// [`StoreError::NoRoom`].
    pub fn add(&mut self, text: String) -> Result<(), StoreError> {
        self.add_known(text, None)
    }

    /// Adds a record whose stored state has a checksum.
    pub(crate) fn add_known(
        &mut self,
        text: String,
        checksum: Option<u32>,
    ) -> Result<(), StoreError> {
        self.room.take(text.len())?;
        self.digest.add(&text, checksum);
        self.items.push(text);
        Ok(())
    }

    /// Lets go of the records.
    pub(crate) fn clear(&mut self) {
        self.items = Vec::new();
        self.room.release(self.digest.bytes);
    }
}

impl fmt::Debug for Page {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { items, next, total, .. } = self;
        to.debug_struct("Page")
            .field("items", items)
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
    /// Bytes of the records.
    pub bytes: usize,
    /// Bytes of the longest record.
    pub longest: usize,
    hasher: FoldHasher<'static>,
}

impl Default for PageDigest {
    fn default() -> Self {
        Self { records: 0, bytes: 0, longest: 0, hasher: FixedState::default().build_hasher() }
    }
}

impl PageDigest {
    /// Adds a record. Where it is returned as it is stored, the checksum of its stored state replaces the hash of its
    /// text: that takes a tenth of the time of a list.
    pub(crate) fn add(&mut self, text: &str, checksum: Option<u32>) {
        self.records += 1;
        self.bytes += text.len();
        self.longest = self.longest.max(text.len());
        match checksum {
            Some(checksum) => (checksum, text.len()).hash(&mut self.hasher),
            None => text.hash(&mut self.hasher),
        }
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
