//! A point in time in whole milliseconds, and its text form (R8).

#[cfg(feature = "forms")]
use chrono::{DateTime, NaiveDate, NaiveDateTime, SecondsFormat};

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// A point in time: milliseconds since 1970-01-01T00:00:00Z, without leap seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "records", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "records", serde(transparent))]
pub struct Timestamp(i64);

impl Timestamp {
    /// 1970-01-01T00:00:00.000Z, the earliest that is accepted.
    pub const MIN: Self = Self(0);
    /// 9999-12-31T23:59:59.999Z, the latest that is accepted.
    pub const MAX: Self = Self(253_402_300_799_999);

    /// Point in time of a number of milliseconds, or `None` outside the years 1970 to 9999.
    pub fn from_ms(ms: i64) -> Option<Self> {
        let time = Self(ms);
        (Self::MIN <= time && time <= Self::MAX).then_some(time)
    }

    /// Point in time of a number of milliseconds, as [`Timestamp::from_ms`] returns it, but a time outside the range is
    /// moved to the nearer end.
    pub fn from_ms_clamped(ms: i64) -> Self {
        Self(ms).clamp(Self::MIN, Self::MAX)
    }

    /// The time as milliseconds since 1970-01-01T00:00:00Z.
    pub fn as_ms(self) -> i64 {
        self.0
    }
}

#[cfg(feature = "forms")]
impl Timestamp {
    /// Reads a date or date-time in one of the forms of R8: RFC 3339; without offset (UTC), without
    /// seconds, with a space for `T`, with an offset without colon; or a bare date (midnight UTC).
    /// A leap second counts as the last millisecond before the next one.
    ///
    /// ```
    /// use svctrack_core::value::Timestamp;
    /// let time = Timestamp::parse("2026-11-20 12:30+0200").unwrap();
    /// assert_eq!(time.to_string(), "2026-11-20T10:30:00.000Z");
    /// assert_eq!(Timestamp::parse("20.11.2026"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let date = parse_date(text.get(..10)?)?;
        let rest = text.get(10..)?;
        if rest.is_empty() {
            return Self::from_ms(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis());
        }
        let time = rest.strip_prefix(['T', 't', ' '])?;
        let (clock, offset_minutes) = split_offset(time)?;
        let of_day = parse_clock(clock)?;
        let midnight = date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis();
        Self::from_ms(midnight + of_day - offset_minutes * 60_000)
    }

    /// Whole days since 1970-01-01 in UTC.
    pub fn epoch_days(self) -> i64 {
        self.0.div_euclid(DAY_MS)
    }

    fn to_naive(self) -> NaiveDateTime {
        DateTime::from_timestamp_millis(self.0).unwrap_or_default().naive_utc()
    }
}

/// A day as `YYYY-MM-DD`, ten characters.
#[cfg(feature = "forms")]
pub(super) fn parse_date(text: &str) -> Option<NaiveDate> {
    let (century, year) = (two_digits(text.get(..2)?, 99)?, two_digits(text.get(2..4)?, 99)?);
    let month = two_digits(text.get(4..7)?.strip_prefix('-')?, 12)?;
    let day = two_digits(text.get(7..)?.strip_prefix('-')?, 31)?;
    let year = i32::try_from(century * 100 + year).ok()?;
    NaiveDate::from_ymd_opt(year, u32::try_from(month).ok()?, u32::try_from(day).ok()?)
}

/// Splits a time into the time of day and the minutes by which its offset is ahead of UTC (none is UTC).
#[cfg(feature = "forms")]
fn split_offset(time: &str) -> Option<(&str, i64)> {
    if let Some(clock) = time.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = time.rfind(['+', '-']) else {
        return Some((time, 0));
    };
    let (clock, offset) = (time.get(..at)?, time.get(at + 1..)?);
    let digits = match offset.len() {
        5 => offset.split_once(':')?,
        4 => (offset.get(..2)?, offset.get(2..)?),
        _ => return None,
    };
    let minutes = two_digits(digits.0, 23)? * 60 + two_digits(digits.1, 59)?;
    Some((clock, if time.as_bytes().get(at) == Some(&b'-') { -minutes } else { minutes }))
}

/// Milliseconds since midnight of `HH:MM`, `HH:MM:SS` or `HH:MM:SS.fraction`.
#[cfg(feature = "forms")]
fn parse_clock(clock: &str) -> Option<i64> {
    let mut parts = clock.splitn(3, ':');
    let minutes = two_digits(parts.next()?, 23)? * 60 + two_digits(parts.next()?, 59)?;
    let Some(seconds) = parts.next() else {
        return Some(minutes * 60_000);
    };
    let (whole, fraction) = seconds.split_once('.').unwrap_or((seconds, "0"));
    let whole = two_digits(whole, 60)?;
    if fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    if whole == 60 {
        return Some((minutes * 60 + 59) * 1_000 + 999);
    }
    let ms = fraction.bytes().chain([b'0', b'0']).take(3);
    let ms = ms.fold(0, |sum, digit| sum * 10 + i64::from(digit - b'0'));
    Some((minutes * 60 + whole) * 1_000 + ms)
}

/// A number of exactly two digits, at most `max`.
#[cfg(feature = "forms")]
fn two_digits(text: &str, max: i64) -> Option<i64> {
    let &[tens, ones] = text.as_bytes() else { return None };
    let is_digits = tens.is_ascii_digit() && ones.is_ascii_digit();
    let number = is_digits.then(|| i64::from(tens - b'0') * 10 + i64::from(ones - b'0'))?;
    (number <= max).then_some(number)
}

/// `YYYY-MM-DDTHH:mm:ss.sssZ` (R8).
#[cfg(feature = "forms")]
impl std::fmt::Display for Timestamp {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.to_naive().and_utc().to_rfc3339_opts(SecondsFormat::Millis, true))
    }
}

#[cfg(all(test, feature = "records"))]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: &str) {
        assert_eq!(
            Timestamp::parse(text).map(|time| time.to_string()).as_deref(),
            Some(expect),
            "{text}"
        );
    }

    #[test]
    fn every_form_of_a_date_is_read() {
        check("2026-11-20", "2026-11-20T00:00:00.000Z");
        check("2026-11-20T10:11", "2026-11-20T10:11:00.000Z");
        check("2026-11-20T10:11:12", "2026-11-20T10:11:12.000Z");
        check("2026-11-20 10:11:12.3", "2026-11-20T10:11:12.300Z");
        check("2026-11-20t10:11:12.34567z", "2026-11-20T10:11:12.345Z");
        check("2026-11-20T10:11:12+0130", "2026-11-20T08:41:12.000Z");
        check("2026-11-20T10:11:12-01:30", "2026-11-20T11:41:12.000Z");
        check("2024-02-29", "2024-02-29T00:00:00.000Z");
        check("2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999Z");
        check("1970-01-01", "1970-01-01T00:00:00.000Z");
        check("9999-12-31T23:59:59.999Z", "9999-12-31T23:59:59.999Z");
    }

    #[test]
    fn anything_else_is_rejected() {
        for text in [
            "",
            "2026",
            "2026-11",
            "2026-13-01",
            "2025-02-29",
            "2026-11-20T",
            "2026-11-20T24:00",
            "2026-11-20T10",
            "2026-11-20T10:60",
            "2026-11-20T10:11:61",
            "2026-11-20T10:11:12.",
            "2016-12-31T23:59:60.x",
            "2026-11-20T10:11:12+1",
            "2026-11-20T10:11:12+25:00",
            "1969-12-31T23:59:59Z",
            "1970-01-01T00:00+01:00",
            "+2026-11-2",
            "2026-11-20Z",
            "tomorrow",
            "２026-11-20",
            "2026-11-20T+1:11",
            "2026- 1-20",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(ms in 0..=Timestamp::MAX.as_ms()) {
            let time = Timestamp::from_ms(ms).unwrap();
            prop_assert_eq!(Timestamp::parse(&time.to_string()), Some(time));
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in "\\PC*") {
            let _ = Timestamp::parse(&text);
        }

        #[test]
        fn the_order_of_texts_is_the_order_of_times(a in 0..=Timestamp::MAX.as_ms(), b in 0..=Timestamp::MAX.as_ms()) {
            let (a, b) = (Timestamp::from_ms(a).unwrap(), Timestamp::from_ms(b).unwrap());
            prop_assert_eq!(a.cmp(&b), a.to_string().cmp(&b.to_string()));
        }
    }
}
