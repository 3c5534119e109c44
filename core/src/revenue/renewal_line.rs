//! The licenses of the renewals: each with its end, its outcome, and its successor.

use std::sync::Arc;

use serde::{Serialize, Serializer};

use super::{
    calendar::Day, capped_list::MAX_LISTED, customers::CompanyNameLookup, hex,
    renewal_outcome::RenewalOutcome, renewals::RenewalsBy, report_scope::index, table::TableRow,
};
use crate::value::{Number, ObjectId};

/// A license that ends.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewalLine {
    /// `_id` of the license.
    #[serde(serialize_with = "hex::one")]
    pub license: ObjectId,
    /// `_id` of the license's company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Name of the company, where the caller gives it, and the license is listed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub company_name: Option<String>,
    /// Product of the license; empty for none.
    pub product: Arc<str>,
    /// Currency of `mrr`.
    pub currency: Arc<str>,
    /// First day after the license.
    pub end: Day,
    /// Last day of notice, if the license renews automatically.
    pub notice: Option<Day>,
    /// Monthly value, not converted.
    pub mrr: Number,
    /// Outcome of the renewal at the time of the report.
    pub outcome: RenewalOutcome,
    /// Monthly amount of the successor, or of the agreement, not converted.
    pub renewed_mrr: Option<Number>,
    /// Currency of `renewed_mrr`.
    pub renewed_currency: Option<Arc<str>>,
    /// Successor of the license.
    #[serde(serialize_with = "hex::some")]
    pub successor: Option<ObjectId>,
}

impl RenewalLine {
    /// Day by which the license belongs to a period.
    fn due_day(&self, by: RenewalsBy) -> Day {
        match by {
            RenewalsBy::End => self.end,
            RenewalsBy::Notice => self.notice.unwrap_or(self.end),
        }
    }

    /// Agreed renewal price, with its currency: `110 USD`.
    pub(super) fn renewed_as_agreed(&self) -> String {
        let mrr = self.renewed_mrr.map(|mrr| mrr.to_string()).unwrap_or_default();
        format!("{mrr} {}", self.renewed_currency.as_deref().unwrap_or_default())
    }

    /// Adds the end of the license and its outcome to a row.
    pub(super) fn cells_of_outcome(&self, row: TableRow) -> TableRow {
        let row = row.text(self.end).option(self.notice).money(&[self.mrr], &self.currency);
        let renewed = self.renewed_currency.as_deref().unwrap_or_default();
        let row = row.text(self.outcome.name()).money_option(self.renewed_mrr, renewed);
        row.text(renewed).option(self.successor)
    }
}

/// Licenses in the order of their days and ids. The lines themselves stay where they are: a million of them take longer to
/// move than to sort.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RenewalLines {
    lines: Vec<RenewalLine>,
    order: Vec<u32>,
}

impl RenewalLines {
    pub(super) fn new(lines: Vec<RenewalLine>, by: RenewalsBy) -> Self {
        let keys = (0_u32..).zip(&lines);
        let mut keys: Vec<_> =
            keys.map(|(at, line)| (line.due_day(by), line.license, at)).collect();
        keys.sort_unstable();
        let order = keys.into_iter().map(|(.., at)| at).collect();
        Self { lines, order }
    }

    /// The licenses in their order.
    pub fn iter(&self) -> impl Iterator<Item = &RenewalLine> {
        self.order.iter().filter_map(|at| self.lines.get(index(*at)))
    }

    /// Sets the names of the companies of the first licenses.
    pub(super) fn name_companies(&mut self, most: usize, name_of: CompanyNameLookup<'_>) {
        for at in self.order.iter().take(most) {
            if let Some(line) = self.lines.get_mut(index(*at)) {
                line.company_name = name_of(line.company);
            }
        }
    }

    /// Number of licenses, of all outcomes that are listed.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// Whether there is no license.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }
}

/// Writes the first licenses, up to [`MAX_LISTED`].
impl Serialize for RenewalLines {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().take(MAX_LISTED))
    }
}
