//! Period of a license (R23, R53): its beginning, end and length, each computed from those that are set.

use rust_decimal::Decimal;

use super::license_terms::{FIXED_PERIOD, FROM_DATE, LENGTH, TO_DATE, TO_DATE_DERIVED};
use crate::{
    schema::FillCtx,
    value::{
        Document, Json, Members, Timestamp, Zone,
        period::{self, Period},
    },
};

/// Maximum length of a license, in months: those from 1970 to 9999, since dates can be that far apart.
pub(super) const MAX_MONTHS: i64 = 8_030 * 12;
/// Beginning of the year 9999: for senders, an end from then on means no end (R53).
const NO_END_FROM: i64 = 253_370_764_800_000;

/// Whether a date is an end: the year 9999 means none.
pub(super) fn is_end(end: Timestamp) -> bool {
    end.as_ms() < NO_END_FROM
}

/// `toDate`, unless it means no end.
pub(crate) fn to_date(license: &impl Members) -> Option<Timestamp> {
    TO_DATE.get(license).filter(|end| is_end(*end))
}

/// Whether the license has a fixed term; a license that ends in the year 9999 has none.
pub(crate) fn is_fixed(license: &impl Members) -> bool {
    FIXED_PERIOD.get(license) == Some(true) && TO_DATE.get(license).is_none_or(is_end)
}

/// Period of the license, if it has both ends.
pub(super) fn period_of(license: &impl Members, zone: Zone) -> Option<Period> {
    Period::between(FROM_DATE.get(license)?, to_date(license)?, zone)
}

/// Time at which the license ends; none for a license without end.
pub(super) fn end_of(license: &impl Members, zone: Zone) -> Option<Timestamp> {
    end_between(FROM_DATE.get(license), to_date(license), zone)
}

/// The points in time at which a license begins and ends.
#[derive(Clone, Copy, Debug)]
pub(super) struct LicenseTimes {
    pub(super) from: Option<Timestamp>,
    pub(super) end: Option<Timestamp>,
}

/// The times of a license in a zone.
pub(super) fn times_of(license: &impl Members, zone: Zone) -> LicenseTimes {
    let [from, end] = zone.times_of([FROM_DATE.get(license), end_of(license, zone)]);
    LicenseTimes { from, end }
}

/// The time at which a license with these dates ends, as [`end_of`] returns it.
pub(crate) fn end_between(
    from: Option<Timestamp>,
    to: Option<Timestamp>,
    zone: Zone,
) -> Option<Timestamp> {
    let to = to?;
    let period = from.and_then(|from| Period::between(from, to, zone));
    Some(period.map_or(to, |period| period.end))
}

/// The end that follows from beginning and length.
pub(super) fn end_by_length(license: &Document, zone: Zone) -> Option<Timestamp> {
    period::add_length(FROM_DATE.get(license)?, LENGTH.get(license)?, zone)
}

/// Length in months: as set, else from the dates.
pub(super) fn length_of(license: &Document, zone: Zone) -> Option<Decimal> {
    LENGTH.get(license).or_else(|| period_of(license, zone).map(|period| period.months))
}

/// Length over which a value is spread for the monthly price: that of a fixed license, or of an open-ended one that has
/// an end.
pub(super) fn spread_of(license: &Document, zone: Zone) -> Option<Decimal> {
    let spread = is_fixed(license) || to_date(license).is_some();
    length_of(license, zone).filter(|length| spread && *length > Decimal::ZERO)
}

pub(super) fn fill_to_date(license: &Document, ctx: FillCtx) -> Option<Json> {
    let end = end_by_length(license, ctx.zone).filter(|_| is_fixed(license))?;
    Some(Json::string(&end.to_string()))
}

/// Whether [`fill_to_date`] computes the end. The row is filled before `toDate`, which is absent until then.
pub(super) fn fill_to_date_derived(license: &Document, ctx: FillCtx) -> Option<Json> {
    let is_absent = TO_DATE.get(license).is_none();
    Some(Json::bool(is_absent && fill_to_date(license, ctx).is_some()))
}

/// The length that follows from the dates; none where the end follows from the length.
pub(super) fn fill_length(license: &Document, ctx: FillCtx) -> Option<Json> {
    if TO_DATE_DERIVED.get(license) == Some(true) {
        return None;
    }
    Some(Json::number(period_of(license, ctx.zone)?.months.into()))
}

pub(super) fn fill_to_date_included(license: &Document, _: FillCtx) -> Option<Json> {
    Some(Json::bool(TO_DATE.get(license).is_some()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_is_before_the_year_9999() {
        let at = |text| Timestamp::parse(text).unwrap();
        assert!(is_end(at("9998-12-31T23:59:59.999Z")) && !is_end(at("9999-01-01")));
    }
}
