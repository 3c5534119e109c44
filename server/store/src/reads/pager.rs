//! Fills a page of records: skips the first, takes as many as are requested, and checks whether there is one more. Of a
//! large page only the ids are held, by which its records are read as they are sent.

use svctrack_core::{
    schema::ListQuery,
    value::{ObjectId, ValidationError},
};

use crate::{Page, PageOptions, PageStart, StoreError, page::RecordText};

/// Largest page, in bytes; a page of the greatest limit holds records of some ten KB each.
const MAX_PAGE_BYTES: usize = 64 * 1024 * 1024;
/// Largest page that is held, in bytes: thousands of usual records, which would cost twice as much if they were read
/// twice.
const MAX_HELD_BYTES: usize = 4 * 1024 * 1024;
/// About how many bytes of a larger page are read at a time.
pub(crate) const PIECE_BYTES: usize = 256 * 1024;

/// A page, and the ids of its records if the page does not hold the records.
pub(crate) type PageWithIds = (Page, Vec<ObjectId>);

pub(crate) struct Pager<'q> {
    query: &'q ListQuery,
    page_options: &'q PageOptions,
    page: Page,
    to_skip: usize,
    ids: Vec<ObjectId>,
    is_held: bool,
}

impl<'q> Pager<'q> {
    pub(crate) fn new(query: &'q ListQuery, page_options: &'q PageOptions, to_skip: usize) -> Self {
        let page = Page::empty(&page_options.room, None);
        Self { query, page_options, page, to_skip, ids: Vec::new(), is_held: true }
    }

    /// Sets the total number of records.
    pub(crate) fn set_total(&mut self, total: u64) {
        self.page.total = Some(total);
    }

    /// Adds the next record; returns whether more are wanted.
    pub(crate) fn add<'b>(
        &mut self,
        id: ObjectId,
        response: impl FnOnce() -> Result<RecordText<'b>, StoreError>,
    ) -> Result<bool, StoreError> {
        if self.to_skip > 0 {
            self.to_skip -= 1;
            return Ok(true);
        }
        if self.ids.len() == self.query.limit {
            self.page.next = match self.query.sort_by_value() {
                Some(_) => Some(PageStart::Offset(self.query.offset + self.query.limit)),
                None => self.ids.last().copied().map(PageStart::After),
            };
            return Ok(false);
        }
        self.ids.push(id);
        let record = self.page_options.write(response()?)?;
        if self.is_held {
            self.page.add_record(self.page_options, &record)?;
            if self.page.digest.bytes > MAX_HELD_BYTES {
                self.is_held = false;
                self.page.clear();
            }
        } else {
            self.page.digest.add(self.page_options, &record);
        }
        Ok(self.page.digest.bytes <= MAX_PAGE_BYTES)
    }

    /// The page; one that is too large is rejected, since a shorter one would look like the last.
    pub(crate) fn finish(mut self) -> Result<PageWithIds, StoreError> {
        if self.page.digest.bytes > MAX_PAGE_BYTES {
            return Err(page_too_large("records", MAX_PAGE_BYTES));
        }
        if self.is_held {
            return Ok((self.page, Vec::new()));
        }
        // One piece is sent while the next is read.
        self.page.room.take(2 * (PIECE_BYTES + self.page.digest.longest))?;
        Ok((self.page, self.ids))
    }
}

pub(crate) fn page_too_large(of: &str, max: usize) -> StoreError {
    let message = format!("a page must be at most {max} bytes; ask for fewer {of}");
    StoreError::Invalid(vec![ValidationError::of_member("limit", "page_too_large", message)])
}
