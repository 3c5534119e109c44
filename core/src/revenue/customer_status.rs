//! The status of a company by the licenses of a report.

use super::{
    ledger::License, license_chain::LinkedCompany, license_facts::RenewalStatus,
    report_scope::ReportScope,
};
use crate::{
    resources::company_status::{CompanyStatus, LicenseTerm, SUCCESSOR_DAYS},
    value::time::DAY_MS,
};

/// Status of the company as its record has it, but for licenses that no report counts.
pub(super) fn status_of(scope: &ReportScope<'_>, company: &LinkedCompany<'_>) -> CompanyStatus {
    let now = scope.options.now.as_ms();
    let licenses = company.licenses;
    let is_renewed = |license: &License| license.status == RenewalStatus::Renewed;
    let term = |license: &License| LicenseTerm {
        is_ongoing: license.is_ongoing(),
        is_renewed: is_renewed(license),
        is_fixed: license.fixed,
        has_begun: license.from <= now,
        has_ended: license.end <= now,
    };
    let states: Vec<_> = licenses.iter().map(|license| term(license).state()).collect();
    let awaits = |(at, license): (usize, &License)| {
        is_renewed(license) && license.from <= now && !has_successor(company, at, license)
    };
    CompanyStatus::derive(&states, licenses.iter().enumerate().any(awaits))
}

/// Whether a later license of the same line follows another, or one of the same product that begins near its end.
fn has_successor(company: &LinkedCompany<'_>, at: usize, license: &License) -> bool {
    let near = SUCCESSOR_DAYS * DAY_MS;
    company.licenses.iter().enumerate().any(|(next, other)| {
        let apart = other.from.saturating_sub(license.end).saturating_abs();
        let is_near = other.product == license.product && apart <= near;
        other.from > license.from && (is_near || company.links.are_of_a_line(at, next))
    })
}
