//! Overdue licenses (R29): those that are past and ongoing, and have no successor. Their MRR has ended, while their
//! company stays a customer.

use std::ops::{AddAssign, SubAssign};

use super::{
    calendar::Day, capped_list::CappedList, hex, ledger::License, license_chain::LinkedCompany,
    money_units::money, report_scope::ReportScope,
};
use crate::value::{Number, ObjectId, Timestamp};

/// The overdue licenses of a company.
pub(super) fn overdue_of<'p>(
    scope: &'p ReportScope<'_>,
    company: &'p LinkedCompany<'_>,
) -> impl Iterator<Item = &'p License> {
    let now = scope.options.now.as_ms();
    let licenses = company.licenses.iter().enumerate();
    licenses.filter_map(move |(at, license)| {
        let is_past = license.expires() && license.is_ongoing() && license.end <= now;
        let counts = is_past && scope.counts(license) && company.links.successor(at).is_none();
        counts.then_some(license)
    })
}

/// Sums of overdue licenses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OverdueSums {
    pub(super) amount: i128,
    pub(super) licenses: i64,
}

impl AddAssign for OverdueSums {
    fn add_assign(&mut self, other: Self) {
        self.amount += other.amount;
        self.licenses += other.licenses;
    }
}

impl SubAssign for OverdueSums {
    fn sub_assign(&mut self, other: Self) {
        self.amount -= other.amount;
        self.licenses -= other.licenses;
    }
}

/// An overdue license: past and ongoing, without a successor (R29).
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OverdueLicense {
    /// `_id` of the license.
    #[serde(serialize_with = "hex::one")]
    pub license: ObjectId,
    /// `_id` of the license's company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// First day after the license.
    pub end: Day,
    /// Currency of `mrr`.
    pub currency: String,
    /// Monthly value, not converted.
    pub mrr: Number,
}

pub(super) fn overdue_licenses(
    scope: &ReportScope<'_>,
    company: &LinkedCompany<'_>,
    list: &mut CappedList<OverdueLicense>,
) {
    for license in overdue_of(scope, company) {
        list.push(|| OverdueLicense {
            license: license.id,
            company: company.id,
            end: Day::at(Timestamp::from_ms_clamped(license.end), scope.options.zone),
            currency: scope.ledger.currency(license.currency).to_owned(),
            mrr: money(license.mrr),
        });
    }
}
