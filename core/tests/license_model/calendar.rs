//! A calendar counted by hand, year by year and month by month, and local times of a zone.

use chrono::{DateTime, Offset as _, TimeZone as _};
use chrono_tz::Tz;

use super::fraction::Fraction;

pub const DAY: i64 = 86_400_000;
/// The last millisecond of the year 9999.
const LAST: i64 = 253_402_300_799_999;
/// First millisecond of the year 9999.
pub const YEAR_9999: i64 = 253_370_764_800_000;
/// Times by which a period may be short of its end: nothing, a millisecond, a second, a day.
pub const SHORT: [i64; 4] = [0, 1, 1_000, DAY];

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of a month.
pub fn days_before(year: i64, month: i64) -> i64 {
    let years: i64 = (1970..year).map(|year| 365 + i64::from(is_leap(year))).sum();
    years + (1..month).map(|month| days_in(year, month)).sum::<i64>()
}

/// Year, month and day of a clock.
fn date(clock: i64) -> (i64, i64, i64) {
    let (mut days, mut year, mut month) = (clock.div_euclid(DAY), 1970, 1);
    while days >= 365 + i64::from(is_leap(year)) {
        days -= 365 + i64::from(is_leap(year));
        year += 1;
    }
    while days >= days_in(year, month) {
        days -= days_in(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

/// The same day this many months later, or the last day of that month.
pub fn later(clock: i64, months: i64) -> i64 {
    let (year, month, day) = date(clock);
    let (year, month) = (year + (month - 1 + months) / 12, (month - 1 + months) % 12 + 1);
    let day = day.min(days_in(year, month));
    (days_before(year, month) + day - 1) * DAY + clock.rem_euclid(DAY)
}

/// Text of a time in JSON.
pub fn text(time: i64) -> String {
    let ((year, month, day), of_day) = (date(time), time.rem_euclid(DAY));
    let (hour, minute) = (of_day / 3_600_000, of_day / 60_000 % 60);
    let (second, ms) = (of_day / 1_000 % 60, of_day % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ms:03}Z")
}

fn offset(zone: Tz, time: i64) -> i64 {
    let utc = DateTime::from_timestamp_millis(time).unwrap().naive_utc();
    i64::from(zone.offset_from_utc_datetime(&utc).fix().local_minus_utc()) * 1_000
}

pub fn clock(zone: Tz, time: i64) -> i64 {
    time + offset(zone, time)
}

/// Point in time at which clocks first show this; where they skip it, as if they had not been set.
pub fn at(zone: Tz, clock_: i64) -> i64 {
    let offsets = [offset(zone, clock_ - 40 * 3_600_000), offset(zone, clock_ + 40 * 3_600_000)];
    let mut times: Vec<i64> = offsets.iter().map(|offset| clock_ - offset).collect();
    times.sort_unstable();
    let shown = times.into_iter().find(|time| clock(zone, *time) == clock_);
    shown.unwrap_or(clock_ - offsets[0])
}

/// Of UTC and the zone, the one in which the times are nearer to midnight.
fn nearest(times: &[i64], zone: Tz) -> Tz {
    let distance = |zone: Tz| -> i64 {
        let since = times.iter().map(|time| clock(zone, *time).rem_euclid(DAY));
        since.map(|since| since.min(DAY - since)).sum()
    };
    if distance(zone) < distance(Tz::UTC) { zone } else { Tz::UTC }
}

/// Months between two times, and the end of the period.
pub fn period(from: i64, to: i64, zone: Tz) -> Option<(Fraction, i64)> {
    if to <= from {
        return None;
    }
    for short in SHORT {
        for zone in [Tz::UTC, zone] {
            let (start, end) = (clock(zone, from), clock(zone, to) + short);
            let months = (1..).find(|months| later(start, *months) >= end).unwrap();
            if later(start, months) == end {
                let over = if short == 0 { to } else { at(zone, end) };
                return Some((Fraction::whole(months.into()), over));
            }
        }
    }
    let mut zone = nearest(&[from, to], zone);
    if clock(zone, to) <= clock(zone, from) {
        zone = Tz::UTC;
    }
    let (start, end) = (clock(zone, from), clock(zone, to));
    let months = (0..).find(|months| later(start, months + 1) > end).unwrap();
    let (before, after) = (later(start, months), later(start, months + 1));
    let part = Fraction::new((end - before).into(), (after - before).into());
    Some(((Fraction::whole(months.into()) + part).rounded(4), to))
}

/// The end of a period of a number of months.
pub fn after(from: i64, months: Fraction, zone: Tz) -> Option<i64> {
    let zone = nearest(&[from], zone);
    let whole = i64::try_from(months.floor()).unwrap();
    let start = clock(zone, from);
    let (before, after) = (later(start, whole), later(start, whole + 1));
    let part = (months - Fraction::whole(whole.into())) * Fraction::whole((after - before).into());
    let end = at(zone, before + i64::try_from(part.rounded(0).floor()).unwrap());
    (end <= LAST).then_some(end)
}

/// Day of the calendar, counted from 1970-01-01.
/// The time of a date: of a midnight in UTC, the midnight of that day in the zone.
pub fn time_of(zone: Tz, date: i64) -> i64 {
    if date % DAY == 0 { at(zone, date) } else { date }
}

pub fn day(zone: Tz, time: i64) -> i64 {
    clock(zone, time).div_euclid(DAY)
}
