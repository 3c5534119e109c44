//! Licenses that a report leaves out, with the reasons and a link to them.

use std::collections::HashMap;

use serde::Deserialize;
use svctrack_web::pages::{ExcludedTotal, address};

/// Maximum number of licenses that a link to a list names: their ids fit in an address.
const LINKED: usize = 50;
/// Reason for which a license that ends is not among renewals, though it counts in MRR.
pub(super) const NO_FIXED_PERIOD: &str = "no_fixed_period";
/// Reason for which a license with a fixed period is not among renewals, though it counts in MRR.
pub(super) const NO_END: &str = "no_end";
/// Reasons for which figures leave a license out.
const REASONS: [(&str, &str); 7] = [
    ("no_dates", "without a start"),
    ("no_money", "without an amount"),
    ("no_currency", "without a currency"),
    ("zero_length", "with an end before its start"),
    ("amount_too_large", "with too large an amount"),
    (NO_FIXED_PERIOD, "without a fixed period"),
    (NO_END, "with a fixed period, but without an end"),
];

/// Licenses that a report leaves out, for one reason.
#[derive(Deserialize)]
pub(super) struct ExcludedLicenses {
    pub(super) reason: String,
    licenses: Vec<String>,
    total: usize,
}

impl ExcludedLicenses {
    /// Whether the licenses are left out of renewals alone.
    fn is_of_renewals(&self) -> bool {
        [NO_FIXED_PERIOD, NO_END].contains(&&*self.reason)
    }

    /// The reason in words.
    fn words(&self) -> Option<&'static str> {
        REASONS.iter().find(|(reason, _)| *reason == self.reason).map(|(_, words)| *words)
    }
}

/// From what, and why, each license that is named is left out, in words.
pub(super) fn reasons_by_license(of_reasons: &[ExcludedLicenses]) -> HashMap<String, String> {
    let words = |it: &ExcludedLicenses| {
        let from = if it.is_of_renewals() { "not up for renewal" } else { "excluded" };
        format!("{from}: {}", it.words().unwrap_or(&it.reason))
    };
    let each = of_reasons.iter().map(|it| (words(it), &it.licenses));
    each.flat_map(|(words, ids)| ids.iter().map(move |id| (id.clone(), words.clone()))).collect()
}

/// Licenses that figures leave out; none where they have them all.
pub(super) fn excluded(of_reasons: &[ExcludedLicenses]) -> Option<ExcludedTotal> {
    let licenses = of_reasons.iter().map(|it| it.total).sum();
    let ids = of_reasons.iter().flat_map(|it| &it.licenses).map(String::as_str);
    let ids: Vec<&str> = ids.take(LINKED).collect();
    let path = match ids.as_slice() {
        [] => return None,
        [only] => address("/app/records/licenses/{}", &[only], &[]),
        _ => address("/app/records/licenses", &[], &[("_id", &ids.join(","))]),
    };
    let reason =
        |it: &ExcludedLicenses| format!("{} {}", it.total, it.words().unwrap_or(&it.reason));
    let reasons = of_reasons.iter().map(reason).collect::<Vec<_>>().join(", ");
    Some(ExcludedTotal { licenses, reasons, path })
}
