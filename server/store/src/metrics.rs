//! Metrics of a running store: counters since the start, and histograms. Counting takes some atomic additions, and
//! neither a lock nor an allocation.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::histogram::{Histogram, HistogramCounts, TIMES_US};

/// Upper bounds of the commands and rows of a commit, which has 2,000 rows at most.
const BATCHES: &[u64] = &[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000, 2_000];

/// Metrics of a store while it runs.
#[derive(Debug)]
pub(crate) struct MetricsRecorder {
    /// Commands, and rows, that shared a commit.
    pub(crate) batch_commands: Histogram,
    pub(crate) batch_rows: Histogram,
    /// Durations of commits with their sync, in microseconds.
    pub(crate) commits: Histogram,
    issues: Mutex<BTreeMap<&'static str, u64>>,
}

impl Default for MetricsRecorder {
    fn default() -> Self {
        Self {
            batch_commands: Histogram::new(BATCHES),
            batch_rows: Histogram::new(BATCHES),
            commits: Histogram::new(TIMES_US),
            issues: Mutex::default(),
        }
    }
}

impl MetricsRecorder {
    /// Counts integration issues that were stored, by code.
    pub(crate) fn count_issues(&self, found: impl IntoIterator<Item = (&'static str, u64)>) {
        let mut found = found.into_iter().peekable();
        if found.peek().is_some() {
            let mut issues = self.issues.lock();
            found.for_each(|(code, count)| *issues.entry(code).or_default() += count);
        }
    }

    /// Integration issues since the start, by code.
    pub(crate) fn issues(&self) -> BTreeMap<&'static str, u64> {
        self.issues.lock().clone()
    }
}

/// Metrics of a running store; those that an engine does not have stay zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StoreMetrics {
    /// Commands of a record or an event that wait for the writer.
    pub queued_single: u64,
    /// Commands of many records or events that wait for the writer.
    pub queued_bulk: u64,
    /// About how many bytes the waiting commands hold.
    pub queued_bytes: u64,
    /// Commands that each commit covers.
    pub batch_commands: HistogramCounts,
    /// Rows that shared a commit.
    pub batch_rows: HistogramCounts,
    /// Durations of commits with their syncs, in microseconds.
    pub commits: HistogramCounts,
    /// Durations of the file's syncs, in microseconds.
    pub syncs: HistogramCounts,
    /// Size of the store's file, in bytes.
    pub file_bytes: u64,
    /// Integration issues since the start, by code.
    pub issues: BTreeMap<&'static str, u64>,
}
