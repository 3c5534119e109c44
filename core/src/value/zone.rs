//! Time zones: local time and calendar of a point in time, and back (R41, R53).

use chrono::{
    DateTime, LocalResult, NaiveDateTime, NaiveTime, Offset as _, TimeDelta, TimeZone as _,
};
// The form checks have no names of zones, and count in UTC.
#[cfg(not(feature = "records"))]
use chrono::Utc as Tz;
#[cfg(feature = "records")]
use chrono_tz::{Tz, UTC};

use super::time::{DAY_MS, Timestamp};

/// Distance before a skipped hour at which its zone surely had the old offset: clocks have skipped a whole day at most,
/// and offsets differ from UTC by less than half a day and an hour or two.
const BEFORE_A_GAP: TimeDelta = TimeDelta::hours(40);

#[cfg(not(feature = "records"))]
const UTC: Tz = Tz;

#[cfg(feature = "records")]
fn named(name: &str) -> Option<Tz> {
    name.parse().ok()
}

#[cfg(not(feature = "records"))]
fn named(name: &str) -> Option<Tz> {
    (name == "UTC").then_some(UTC)
}

/// A time zone of the IANA database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone(Tz);

impl Default for Zone {
    fn default() -> Self {
        Self::UTC
    }
}

impl Zone {
    /// Coordinated universal time (UTC), offset 0.
    pub const UTC: Self = Self(UTC);

    /// The zone with this name, such as `Europe/Berlin`.
    pub fn parse(name: &str) -> Option<Self> {
        named(name).map(Self)
    }

    /// Name of the zone in the IANA database.
    #[cfg(feature = "records")]
    pub fn name(self) -> &'static str {
        self.0.name()
    }

    /// Date and time that clocks of the zone show.
    ///
    /// ```
    /// use svctrack_core::value::{Timestamp, Zone};
    /// let time = Timestamp::parse("2026-02-28T15:00:00Z").unwrap();
    /// let tokyo = Zone::parse("Asia/Tokyo").unwrap();
    /// assert_eq!(tokyo.clock(time).to_string(), "2026-03-01 00:00:00");
    /// ```
    pub fn clock(self, time: Timestamp) -> NaiveDateTime {
        let utc = DateTime::from_timestamp_millis(time.as_ms()).unwrap_or_default().naive_utc();
        if self == Self::UTC {
            return utc;
        }
        utc + self.0.offset_from_utc_datetime(&utc).fix()
    }

    /// The calendar day, in days since 1970-01-01.
    pub fn day(self, time: Timestamp) -> i64 {
        self.clock(time).and_utc().timestamp_millis().div_euclid(DAY_MS)
    }

    /// The point in time of a date of a record. A date without a time is stored as its midnight UTC (R8), and means that
    /// day wherever it is: it is the beginning of the day in this zone. Any other date is a point in time.
    ///
    /// ```
    /// use svctrack_core::value::{Timestamp, Zone};
    /// let at = |text| Timestamp::parse(text).unwrap();
    /// let new_york = Zone::parse("America/New_York").unwrap();
    /// assert_eq!(new_york.time_of(at("2026-12-01")), at("2026-12-01T05:00:00Z"));
    /// assert_eq!(new_york.time_of(at("2026-12-01T03:00:00Z")), at("2026-12-01T03:00:00Z"));
    /// ```
    pub fn time_of(self, date: Timestamp) -> Timestamp {
        if self == Self::UTC || date.as_ms() % DAY_MS != 0 {
            return date;
        }
        self.at(Self::UTC.clock(date)).unwrap_or(date)
    }

    /// The points in time of the dates of a period, unless it would end before it begins.
    pub fn times_of(self, dates: [Option<Timestamp>; 2]) -> [Option<Timestamp>; 2] {
        let times @ [from, end] = dates.map(|date| date.map(|date| self.time_of(date)));
        let is_turned = from.zip(end).is_some_and(|(from, end)| end <= from);
        if is_turned { dates } else { times }
    }

    /// Distance of clocks from the nearest midnight, in milliseconds.
    pub fn from_midnight_ms(self, time: Timestamp) -> i64 {
        let since = (self.clock(time).time() - NaiveTime::MIN).num_milliseconds();
        since.min(DAY_MS - since)
    }

    /// Point in time at which clocks show this: the first one where they do so twice; where they skip it, as if they
    /// had not been set forward yet. `None` outside the years 1970 to 9999.
    pub fn at(self, clock: NaiveDateTime) -> Option<Timestamp> {
        let utc = match self.0.offset_from_local_datetime(&clock) {
            LocalResult::Single(offset) | LocalResult::Ambiguous(offset, _) => clock - offset.fix(),
            LocalResult::None => {
                let before = clock.checked_sub_signed(BEFORE_A_GAP)?;
                clock - self.0.offset_from_utc_datetime(&before).fix()
            }
        };
        Timestamp::from_ms(utc.and_utc().timestamp_millis())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(zone: &str, time: &str, clock: &str) {
        let (zone, time) = (Zone::parse(zone).unwrap(), Timestamp::parse(time).unwrap());
        assert_eq!(zone.clock(time).to_string(), clock);
        assert_eq!(zone.at(zone.clock(time)), Some(time));
    }

    #[test]
    fn clocks_show_the_time_of_their_zone() {
        check("UTC", "2026-11-20T12:00:00Z", "2026-11-20 12:00:00");
        check("Asia/Tokyo", "2026-11-20T15:00:00Z", "2026-11-21 00:00:00");
        check("America/New_York", "1970-01-01T00:00:00Z", "1969-12-31 19:00:00");
        check("Pacific/Kiritimati", "9999-12-31T23:59:59.999Z", "+10000-01-01 13:59:59.999");
        assert_eq!(Zone::parse("Mars/Olympus"), None);
    }

    #[test]
    fn a_time_that_clocks_skip_is_that_of_before_they_were_set() {
        let at = |zone: &str, clock: &str| {
            let clock = NaiveDateTime::parse_from_str(clock, "%Y-%m-%d %H:%M").unwrap();
            Zone::parse(zone).unwrap().at(clock).unwrap().to_string()
        };
        assert_eq!(at("Europe/Berlin", "2026-03-29 02:30"), "2026-03-29T01:30:00.000Z");
        assert_eq!(at("Pacific/Apia", "2011-12-30 00:00"), "2011-12-30T10:00:00.000Z");
        assert_eq!(at("Europe/Berlin", "2026-10-25 02:30"), "2026-10-25T00:30:00.000Z");
    }

    #[test]
    fn a_day_begins_at_midnight_of_the_zone() {
        let tokyo = Zone::parse("Asia/Tokyo").unwrap();
        let day = |time: &str| tokyo.day(Timestamp::parse(time).unwrap());
        assert_eq!(day("1970-01-01T14:59:59.999Z"), 0);
        assert_eq!(day("1970-01-01T15:00:00Z"), 1);
    }
}
