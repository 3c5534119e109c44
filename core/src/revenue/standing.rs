//! Where a company stands as a customer, by the licenses of a report: what its record says (R29, R55), but for
//! licenses that no report counts.

use super::{facts::RenewalStatus, ledger::License, payer::Payer, scope::Scope};
use crate::value::time::DAY_MS;

/// How far from the end of a license its successor may begin to be told as one (R55), in days.
const SUCCESSOR_DAYS: i64 = 31;

/// Where a company stands as a customer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum CompanyStatus {
    /// It has an ongoing license, active or overdue, or one that is renewed.
    Customer,
    /// It will have one.
    Coming,
    /// Its licenses run out.
    Canceled,
    /// They have ended.
    Lost,
}

impl CompanyStatus {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Customer => "customer",
            Self::Coming => "coming",
            Self::Canceled => "canceled",
            Self::Lost => "lost",
        }
    }
}

/// The first that holds.
pub(super) fn status_of(scope: &Scope<'_>, payer: &Payer<'_>) -> CompanyStatus {
    let now = scope.options.now.as_ms();
    let licenses = payer.licenses;
    let has_begun = |license: &License| license.from <= now;
    let is_over = |license: &License| license.end <= now;
    let is_renewed = |license: &License| license.status == RenewalStatus::Renewed;
    let any = |is: &dyn Fn(&License) -> bool| licenses.iter().any(is);
    let is_held = |license: &License| {
        let is_active = has_begun(license) && !is_over(license);
        license.is_ongoing() && (is_active || is_over(license) && license.fixed)
    };
    let is_ahead = |license: &License| license.is_ongoing() && !has_begun(license);
    let renews = any(&|license| is_renewed(license) && has_begun(license) && !is_over(license));
    let awaits = any(&|license| {
        is_renewed(license) && has_begun(license) && !has_successor(license, licenses)
    });
    if any(&is_held) || renews && any(&is_ahead) || awaits {
        CompanyStatus::Customer
    } else if any(&is_ahead) {
        CompanyStatus::Coming
    } else if any(&|license| !is_over(license)) {
        CompanyStatus::Canceled
    } else {
        CompanyStatus::Lost
    }
}

/// Whether a license of the same product begins near the end of another, or names it as its parent.
fn has_successor(license: &License, licenses: &[License]) -> bool {
    let near = SUCCESSOR_DAYS * DAY_MS;
    licenses.iter().any(|other| {
        let apart = other.from.saturating_sub(license.end).saturating_abs();
        let follows =
            other.product == license.product && other.from > license.from && apart <= near;
        follows || other.parent == Some(license.id)
    })
}
