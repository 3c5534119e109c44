//! Licenses that a report leaves out, with the reasons and a link to them.

use serde::Deserialize;
use svctrack_web::pages::{ExcludedTotal, address};

/// Maximum number of licenses that a link to a list names: their ids fit in an address.
const LINKED: usize = 50;
/// Reasons for which a license counts in no figure.
const REASONS: [(&str, &str); 5] = [
    ("no_dates", "without a start"),
    ("no_money", "without an amount"),
    ("no_currency", "without a currency"),
    ("zero_length", "with an end before its start"),
    ("amount_too_large", "with too large an amount"),
];

/// Licenses that a report leaves out, for one reason.
#[derive(Deserialize)]
pub(super) struct ExcludedLicenses {
    pub(super) reason: String,
    licenses: Vec<String>,
    total: usize,
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
    let reason = |it: &ExcludedLicenses| {
        let words = REASONS.iter().find(|(reason, _)| *reason == it.reason);
        format!("{} {}", it.total, words.map_or(it.reason.as_str(), |(_, words)| words))
    };
    let reasons = of_reasons.iter().map(reason).collect::<Vec<_>>().join(", ");
    Some(ExcludedTotal { licenses, reasons, path })
}
