//! Counts of an import: created, updated, unchanged, rejected.

use serde_json::Value;

/// Outcomes of imported records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImportOutcomes {
    pub created: usize,
    pub updated: usize,
    pub unchanged: usize,
}

impl ImportOutcomes {
    /// Counts in the summary of an import.
    pub(super) fn from_response(response: &Value) -> Self {
        let count = |name| count_in(response, name);
        Self { created: count("created"), updated: count("updated"), unchanged: count("unchanged") }
    }

    pub(super) fn add(&mut self, more: Self) {
        self.created += more.created;
        self.updated += more.updated;
        self.unchanged += more.unchanged;
    }
}

/// A count in a response; 0 where there is none.
pub(super) fn count_in(response: &Value, name: &str) -> usize {
    let count = response.get(name).and_then(Value::as_u64).unwrap_or_default();
    usize::try_from(count).unwrap_or(usize::MAX)
}
