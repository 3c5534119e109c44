//! A day of a calendar, in any time zone.

use std::fmt;

use chrono::{Days, Months, NaiveDate, NaiveTime};

use super::{Timestamp, Zone, time::parse_date};

/// A day of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub(crate) NaiveDate);

impl Day {
    /// Reads `2026-01-31`.
    ///
    /// ```
    /// use svctrack_core::value::Day;
    /// assert_eq!(Day::parse("2024-02-29").unwrap().to_string(), "2024-02-29");
    /// assert_eq!(Day::parse("2023-02-29"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        parse_date(text).map(Self)
    }

    /// Day that the calendar of a zone shows.
    pub fn at(time: Timestamp, zone: Zone) -> Self {
        Self(zone.clock(time).date())
    }

    /// Beginning of the day in a zone; none outside the years 1970 to 9999.
    pub fn begin(self, zone: Zone) -> Option<Timestamp> {
        zone.at(self.0.and_time(NaiveTime::MIN))
    }

    /// The day `count` of a unit before.
    pub(crate) fn back(self, count: u32, unit: Unit) -> Option<Self> {
        let days = |of_one: u64| self.0.checked_sub_days(Days::new(of_one * u64::from(count)));
        match unit {
            Unit::Day => days(1),
            Unit::Week => days(7),
            Unit::Month => self.0.checked_sub_months(Months::new(count)),
        }
        .map(Self)
    }
}

/// A unit of notice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "records", derive(serde::Serialize, serde::Deserialize))]
pub enum Unit {
    /// Calendar days, `day`.
    Day,
    /// Weeks of seven days, `week`.
    Week,
    /// Calendar months, `month`.
    Month,
}

impl Unit {
    /// The unit with this name in `noticeUnit`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "day" => Some(Self::Day),
            "week" => Some(Self::Week),
            "month" => Some(Self::Month),
            _ => None,
        }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

#[cfg(feature = "records")]
impl<'de> serde::Deserialize<'de> for Day {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("a day is none"))
    }
}

#[cfg(feature = "records")]
impl serde::Serialize for Day {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
