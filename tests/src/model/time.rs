//! Points in time as texts: milliseconds since 1970-01-01 in UTC, by the arithmetic of the calendar alone.

/// Milliseconds of a day.
pub(super) const DAY_MS: i64 = 24 * 60 * 60 * 1_000;

/// Days of the years before a year, counted from 1 March of year 0, so that a leap day comes last.
fn days_before(year: i64) -> i64 {
    year * 365 + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400)
}

/// Days before a month of a year that begins in March.
fn days_before_month(month_from_march: i64) -> i64 {
    (153 * month_from_march + 2) / 5
}

/// Days from 1 March of year 0 to 1970-01-01.
const EPOCH: i64 = 719_468;

/// `2026-11-20T12:00:00.000Z` in milliseconds.
pub(super) fn parse(text: &str) -> i64 {
    let number = |from: usize, to: usize| text[from..to].parse::<i64>().unwrap();
    let (month, day) = (number(5, 7), number(8, 10));
    let year = number(0, 4) - i64::from(month <= 2);
    let days = days_before(year) + days_before_month((month + 9) % 12) + day - 1 - EPOCH;
    let seconds = number(11, 13) * 3_600 + number(14, 16) * 60 + number(17, 19);
    days * DAY_MS + seconds * 1_000 + number(20, 23)
}

/// Milliseconds as `2026-11-20T12:00:00.000Z`.
pub(super) fn format(ms: i64) -> String {
    let days = ms.div_euclid(DAY_MS) + EPOCH;
    let mut year = days / 365;
    while days_before(year) > days {
        year -= 1;
    }
    let day_of_year = days - days_before(year);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - days_before_month(month) + 1;
    let (year, month) = if month < 10 { (year, month + 3) } else { (year + 1, month - 9) };
    let rest = ms.rem_euclid(DAY_MS);
    let (hours, minutes) = (rest / 3_600_000, rest / 60_000 % 60);
    let (seconds, ms) = (rest / 1_000 % 60, rest % 1_000);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (text, ms) in [
            ("1970-01-01T00:00:00.000Z", 0),
            ("2000-02-29T23:59:59.999Z", 951_868_799_999),
            ("2000-03-01T00:00:00.000Z", 951_868_800_000),
            ("2026-11-20T12:00:00.000Z", 1_795_176_000_000),
            ("2026-12-31T00:00:00.001Z", 1_798_675_200_001),
        ] {
            assert_eq!((parse(text), format(ms).as_str()), (ms, text));
        }
    }
}
