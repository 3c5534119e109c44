//! Licenses that overlap: two of one company, product and currency that last at the same time both count.

use super::{
    calendar::Day, capped_list::CappedList, hex, ledger::NEVER, license_chain::LinkedCompany,
    report_scope::ReportScope,
};
use crate::value::{ObjectId, Timestamp};

/// Two licenses of one company, product and currency that overlap for longer than `gapDays`: both count.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Overlap {
    /// `_id` of the company that both belong to.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// The licenses, the one with the earlier beginning first.
    #[serde(serialize_with = "hex::many")]
    pub licenses: Vec<ObjectId>,
    /// The first day of both.
    pub from: Day,
    /// First day on which one of them has ended; null where neither ends.
    pub to: Option<Day>,
}

/// Each license of a company that begins while another one of the same product and currency lasts, if both do in the
/// report.
pub(super) fn overlaps_of(
    scope: &ReportScope<'_>,
    company: &LinkedCompany<'_>,
    list: &mut CappedList<Overlap>,
) {
    let (Some(first), Some(last)) = (scope.bounds.starts().first(), scope.bounds.ends().last())
    else {
        return;
    };
    let day = |time| Day::at(Timestamp::from_ms_clamped(time), scope.options.zone);
    let mut longest: Option<(usize, i64)> = None;
    for (at, (license, end)) in company.links.with_ends(company.licenses).enumerate() {
        let other = longest.and_then(|(other, end)| Some((company.licenses.get(other)?, end)));
        let other = other.filter(|(other, _)| {
            (other.currency, other.product) == (license.currency, license.product)
        });
        if let Some((other, other_end)) = other {
            let to = other_end.min(end);
            if license.from < to && license.from < *last && to > *first && scope.counts(license) {
                list.push(|| Overlap {
                    company: company.id,
                    licenses: vec![other.id, license.id],
                    from: day(license.from),
                    to: (to != NEVER).then(|| day(to)),
                });
            }
        }
        if other.is_none_or(|(_, other_end)| end > other_end) {
            longest = Some((at, end));
        }
    }
}
