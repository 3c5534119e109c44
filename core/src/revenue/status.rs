//! The status of a company by the licenses of a report.

use super::{ledger::License, license_facts::RenewalStatus, payer::Payer, scope::ReportScope};
use crate::{
    resources::company_status::{CompanyStatus, LicenseTerm, SUCCESSOR_DAYS},
    value::time::DAY_MS,
};

/// Status of the company as its record has it, but for licenses that no report counts.
pub(super) fn status_of(scope: &ReportScope<'_>, payer: &Payer<'_>) -> CompanyStatus {
    let now = scope.options.now.as_ms();
    let licenses = payer.licenses;
    let is_renewed = |license: &License| license.status == RenewalStatus::Renewed;
    let term = |license: &License| LicenseTerm {
        is_ongoing: license.is_ongoing(),
        is_renewed: is_renewed(license),
        is_fixed: license.fixed,
        has_begun: license.from <= now,
        has_ended: license.end <= now,
    };
    let standings: Vec<_> = licenses.iter().map(|license| term(license).standing()).collect();
    let awaits = |license: &License| {
        is_renewed(license) && license.from <= now && !has_successor(license, licenses)
    };
    CompanyStatus::derive(&standings, licenses.iter().any(awaits))
}

/// Whether a license of the same product begins near the end of another, or names it as its parent.
fn has_successor(license: &License, licenses: &[License]) -> bool {
    let near = SUCCESSOR_DAYS * DAY_MS;
    licenses.iter().any(|other| {
        let apart = other.from.saturating_sub(license.end).saturating_abs();
        let follows =
            other.product == license.product && other.from > license.from && apart <= near;
        follows || (other.parent == Some(license.id) && other.id != license.id)
    })
}
