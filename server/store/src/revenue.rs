//! Revenue reports for the server: the report is computed where the licenses are read, and only its text leaves the
//! store.

use std::{fmt, sync::Arc};

use svctrack_core::revenue::{Closing, Report, ReportQuery};

use crate::StoreError;

/// Writes a report in the form that is wanted.
pub type WriteReport =
    Arc<dyn Fn(&Report, &ReportQuery) -> Result<String, StoreError> + Send + Sync>;

/// A report to compute.
#[derive(Clone)]
pub struct ReportJob {
    /// Query of the report.
    pub query: ReportQuery,
    /// Key of query and form: a report that was written is returned again for the same key, as long as its data has not
    /// changed.
    pub key: String,
    /// Writes the report in the requested form.
    pub write: WriteReport,
}

impl fmt::Debug for ReportJob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReportJob").field("key", &self.key).finish_non_exhaustive()
    }
}

/// A report that was written.
#[derive(Clone, Debug)]
pub struct WrittenReport {
    /// Text of the report, in the requested form.
    pub text: Arc<str>,
    /// Hash of the report.
    pub hash: u64,
    /// Row of the change log up to which the figures are computed.
    pub sequence: u64,
    /// Number of rows up to the end of this page, if another one follows.
    pub next_offset: Option<usize>,
}

/// A month to close.
#[derive(Clone, Debug)]
pub struct NewClosing {
    /// Figures of the month, from a report.
    pub closing: Closing,
    /// The row of the change log up to which that report was computed.
    pub sequence: u64,
}
