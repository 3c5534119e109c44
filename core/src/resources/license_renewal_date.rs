//! Renewal date of a license: the days until then, whether it is overdue, and when a license that renews automatically
//! is due (R23, R53). The terms of the next license are in `license_successor`.

use super::{
    license::{AUTO_RENEWS, NOTICE_PERIOD, NOTICE_UNIT, RENEWAL_DATE, RENEWAL_STATUS},
    license_period::{end_of, is_fixed, times_of},
    license_terms::{ONGOING, is_ongoing},
    settings,
};
use crate::{
    schema::{FillCtx, LookupError, ReadCtx},
    value::{Day, Document, Json, Members, Timestamp, Unit, Zone},
};

/// Renewal date: the end of a fixed period, else null.
pub(super) fn fill_renewal_date(license: &Document, ctx: FillCtx) -> Option<Json> {
    let end = end_of(license, ctx.zone).filter(|_| is_fixed(license));
    Some(end.map_or_else(Json::null, |end| Json::string(&end.to_string())))
}

/// Days of the tenant's calendar from now to the renewal: tomorrow is 1 (R53).
pub(super) fn read_renewal_days(
    license: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let Some(date) = RENEWAL_DATE.get(license) else { return Ok(Some(Json::null())) };
    let zone = settings::time_zone_at_read(ctx)?;
    Ok(Some(Json::integer(zone.day(zone.time_of(date)) - zone.day(ctx.now))))
}

/// Whether a license is past its renewal date and not decided.
pub(super) fn read_overdue(
    license: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let zone = settings::time_zone_at_read(ctx)?;
    let past = RENEWAL_DATE.get(license).is_some_and(|date| zone.time_of(date) < ctx.now);
    Ok(Some(Json::bool(past && is_ongoing(license))))
}

/// Whether a license is to be renewed automatically, now or later: it has `autoRenews`, and is not decided.
pub fn awaits_auto_renewal(license: &impl Members) -> bool {
    AUTO_RENEWS.get(license) == Some(true)
        && RENEWAL_STATUS.get(license).as_deref() == Some(ONGOING)
}

/// Whether a license that renews automatically is due: ongoing, and its last day of notice, or its end, is past.
pub fn is_due(license: &impl Members, at: Timestamp, zone: Zone) -> bool {
    if !awaits_auto_renewal(license) || !is_fixed(license) {
        return false;
    }
    let Some(end) = times_of(license, zone).end else { return false };
    end <= at || last_day_of_notice(license, Day::at(end, zone)) < Some(Day::at(at, zone))
}

/// The last day on which a license can be canceled that ends on a day.
fn last_day_of_notice(license: &impl Members, end: Day) -> Option<Day> {
    let unit = NOTICE_UNIT.get(license).and_then(|unit| Unit::parse(&unit));
    let count = NOTICE_PERIOD.get(license).and_then(|count| u32::try_from(count).ok());
    match count.zip(unit) {
        Some((count, unit)) => end.back(count, unit),
        None => Some(end),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A license of a year that renews automatically, with these members in addition or instead.
    pub(in super::super) fn year(more: &str) -> Document {
        let mut license = Document::parse(
            br#"{"_id":"6553f1000102030405000001","product":"Suite","fromDate":"2026-01-01","toDate":"2026-12-31",
                "fixedPeriod":true,"autoRenews":true,"renewalStatus":"ongoing"}"#,
        )
        .unwrap();
        license.merge(&Document::parse(more.as_bytes()).unwrap());
        license
    }

    #[track_caller]
    fn check_due(zone: &str, more: &str, at: &str, expect: bool) {
        let (at, zone) = (Timestamp::parse(at).unwrap(), Zone::parse(zone).unwrap());
        assert_eq!(is_due(&year(more), at, zone), expect, "{more} at {at}");
    }

    #[test]
    fn a_license_is_due_when_its_last_day_of_notice_or_its_end_is_past() {
        let month = r#"{"noticePeriod":1,"noticeUnit":"month"}"#;
        let weeks = r#"{"noticePeriod":2,"noticeUnit":"week"}"#;
        let days = r#"{"noticePeriod":10,"noticeUnit":"day"}"#;
        for (notice, last_before, first_due) in [
            ("{}", "2026-12-31T23:59:59.999Z", "2027-01-01"),
            (
                r#"{"noticePeriod":0,"noticeUnit":"month"}"#,
                "2026-12-31T23:59:59.999Z",
                "2027-01-01",
            ),
            (month, "2026-12-01T23:59:59.999Z", "2026-12-02"),
            (weeks, "2026-12-18T23:59:59.999Z", "2026-12-19"),
            (days, "2026-12-22T23:59:59.999Z", "2026-12-23"),
        ] {
            check_due("UTC", notice, last_before, false);
            check_due("UTC", notice, first_due, true);
            check_due("UTC", notice, "2027-06-01", true);
        }
        // The days are those of the tenant's calendar.
        let berlin = r#"{"fromDate":"2025-12-31T23:00:00Z","toDate":"2026-12-31T23:00:00Z","noticePeriod":1,"noticeUnit":"month"}"#;
        check_due("Europe/Berlin", berlin, "2026-12-01T22:59:59.999Z", false);
        check_due("Europe/Berlin", berlin, "2026-12-01T23:00:00Z", true);
        // A date without a time is that day in every zone.
        check_due("America/New_York", month, "2026-12-02T04:59:59.999Z", false);
        check_due("America/New_York", month, "2026-12-02T05:00:00Z", true);
        check_due("America/New_York", "{}", "2027-01-01T04:59:59.999Z", false);
        check_due("America/New_York", "{}", "2027-01-01T05:00:00Z", true);
    }

    #[test]
    fn a_license_that_does_not_renew_automatically_is_never_due() {
        for never in [
            r#"{"autoRenews":false}"#,
            r#"{"autoRenews":null}"#,
            r#"{"renewalStatus":"renewed"}"#,
            r#"{"renewalStatus":"lost"}"#,
            r#"{"fixedPeriod":false}"#,
            r#"{"toDate":null}"#,
            r#"{"toDate":"9999-12-31"}"#,
            r#"{"autoRenews":false,"renewalStatus":"lost"}"#,
        ] {
            check_due("UTC", never, "2030-01-01", false);
        }
    }
}
