//! Lists of a report that are cut, so that a response is never longer because a tenant has many overdue licenses.

/// Maximum number of licenses that a report lists as overdue, as excluded for one reason, as overlapping, or as up for
/// renewal.
pub const MAX_LISTED: usize = 1_000;

/// The first items of a list, up to [`MAX_LISTED`], and the total number.
#[derive(Debug)]
pub(super) struct CappedList<T> {
    pub(super) first: Vec<T>,
    pub(super) total: usize,
}

impl<T> Default for CappedList<T> {
    fn default() -> Self {
        Self { first: Vec::new(), total: 0 }
    }
}

impl<T> CappedList<T> {
    pub(super) fn push(&mut self, item: impl FnOnce() -> T) {
        self.total += 1;
        if self.first.len() < MAX_LISTED {
            self.first.push(item());
        }
    }
}
