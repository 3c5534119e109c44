//! Cache of written reports, each stored for as long as it would be written in the same way.

use std::{collections::BTreeMap, ops::Range};

use parking_lot::Mutex;
use svctrack_core::value::Timestamp;

use crate::WrittenReport;

/// Conditions under which a written report is valid, besides its query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ReportValidity {
    /// Points in time at which the report is the same.
    pub(crate) time: Range<Timestamp>,
    /// Version of the data that the report is computed from.
    pub(crate) version: u64,
}

/// Reports by their query. Where there is no room for another one, all are dropped.
pub(crate) struct WrittenReports {
    most_bytes: usize,
    kept: Mutex<ReportCache>,
}

#[derive(Default)]
struct ReportCache {
    bytes: usize,
    reports: BTreeMap<String, (ReportValidity, WrittenReport)>,
}

impl WrittenReports {
    /// A cache of at most this many bytes.
    pub(crate) fn up_to(most_bytes: usize) -> Self {
        Self { most_bytes, kept: Mutex::default() }
    }

    /// Bytes of the cached reports.
    pub(crate) fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }

    /// A report that is still valid.
    pub(crate) fn get(&self, key: &str, version: u64, now: Timestamp) -> Option<WrittenReport> {
        let kept = self.kept.lock();
        let (holds, report) = kept.reports.get(key)?;
        (holds.version == version && holds.time.contains(&now)).then(|| report.clone())
    }

    /// Caches a report for as long as it is valid.
    pub(crate) fn keep(&self, key: String, holds: ReportValidity, report: &WrittenReport) {
        let bytes = key.len() + report.text.len();
        if bytes > self.most_bytes {
            return;
        }
        let mut kept = self.kept.lock();
        if kept.bytes + bytes > self.most_bytes {
            *kept = ReportCache::default();
        }
        kept.bytes += bytes;
        let before = kept.reports.insert(key, (holds, report.clone()));
        // The key stays in the sum, so that it is never too small.
        kept.bytes -= before.map_or(0, |(_, before)| before.text.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOST_BYTES: usize = 4 * 1024 * 1024;

    fn report(bytes: usize) -> WrittenReport {
        WrittenReport { text: "x".repeat(bytes).into(), hash: 0, sequence: 0, next_offset: None }
    }

    #[test]
    fn a_report_is_stored_for_its_time_and_its_version_and_few_are() {
        let at = Timestamp::from_ms_clamped;
        let reports = WrittenReports::up_to(MOST_BYTES);
        let holds = ReportValidity { time: at(10)..at(20), version: 3 };
        let keep = |key: &str, bytes| reports.keep(key.to_owned(), holds.clone(), &report(bytes));
        let found = |key: &str, now| reports.get(key, 3, at(now)).is_some();
        keep("a", 7);
        assert_eq!([9, 10, 19, 20].map(|now| found("a", now)), [false, true, true, false]);
        assert!(reports.get("a", 4, at(10)).is_none());
        keep("large", MOST_BYTES);
        assert!(!found("large", 10) && found("a", 10));
        keep("large", MOST_BYTES / 4 * 3);
        assert!(found("large", 10) && found("a", 10));
        assert!(reports.bytes() > MOST_BYTES / 4 * 3);
        for number in 0..100 {
            keep(&number.to_string(), MOST_BYTES / 10);
            assert!(reports.kept.lock().bytes <= MOST_BYTES);
        }
        assert!(found("99", 10) && !found("a", 10));
    }
}
