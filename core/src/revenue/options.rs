//! Options of a report: its days, time zone, view and filters.

use super::{
    calendar::{Day, Interval},
    error::ReportError,
    rates::Rates,
};
use crate::value::{ObjectId, Timestamp, Zone};

/// The longest gap or overlap that is bridged, in days.
pub const MAX_GAP_DAYS: u32 = 366;
/// The longest time that a return may take and still be a reactivation, in days.
pub(super) const MAX_REACTIVATION_DAYS: u32 = 36_500;

/// Definition of a movement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum View {
    /// MRR of a company at the end of an interval against its start.
    #[default]
    EndPoints,
    /// Each change separately.
    Activities,
}

impl View {
    /// The names of both.
    pub const NAMES: &'static [&'static str] = &["endPoints", "activities"];

    /// The view of this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        match name {
            "endPoints" => Ok(Self::EndPoints),
            "activities" => Ok(Self::Activities),
            _ => Err(ReportError::UnknownChoice("view", Self::NAMES, name.to_owned())),
        }
    }
}

/// The rates at which amounts are converted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Valuation {
    /// Rates of one day for the whole report, so that no movement comes from a currency.
    #[default]
    Constant,
    /// Rates of the last day of each interval; what they change is the line `fx`.
    Dated,
}

impl Valuation {
    /// The names of both.
    pub const NAMES: &'static [&'static str] = &["constant", "dated"];

    /// The valuation of this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        match name {
            "constant" => Ok(Self::Constant),
            "dated" => Ok(Self::Dated),
            _ => Err(ReportError::UnknownChoice("rates", Self::NAMES, name.to_owned())),
        }
    }
}

/// Options of a report.
#[derive(Clone, Debug)]
pub struct Options {
    /// First day of the report.
    pub from: Day,
    /// The day after its last one.
    pub to: Day,
    /// Length of the intervals.
    pub interval: Interval,
    /// The zone whose midnights are its borders.
    pub zone: Zone,
    /// The present: what is past by then can be overdue.
    pub now: Timestamp,
    /// How many days apart the end of a license and the start of the next may be, either way, to be continuous.
    pub gap_days: u32,
    /// How many days after its last payment a company comes back as a reactivation and not as new; none for any number.
    pub reactivation_within: Option<u32>,
    /// Definition of a movement.
    pub view: View,
    /// The only company that counts.
    pub company: Option<ObjectId>,
    /// The only product that counts.
    pub product: Option<String>,
    /// The base currency and the rates; without them, a report in one currency alone has a total.
    pub rates: Option<Rates>,
    /// At which of these rates.
    pub valuation: Valuation,
    /// The day of constant rates; none for the last day of the report.
    pub rate_date: Option<Day>,
    /// Whether a forecast takes it that every ongoing license is renewed.
    pub assume_renewed: bool,
    /// The point in time as of which it is computed, where it is not computed from what is stored now.
    pub history: Option<History>,
}

/// The past from which a report is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// The point in time: what was stored later is left out.
    pub as_of: Timestamp,
    /// The earliest one that there can be; none where every change is stored.
    pub since: Option<Timestamp>,
}

impl Options {
    /// A report by month, in UTC, from a day to another, which is not included.
    ///
    /// # Errors
    /// [`ReportError::InvalidDay`] where one is no day, [`ReportError::FromAfterTo`].
    pub fn between(from: &str, to: &str, now: Timestamp) -> Result<Self, ReportError> {
        let day = |name, text: &str| {
            Day::parse(text).ok_or_else(|| ReportError::InvalidDay(name, text.to_owned()))
        };
        let (from, to) = (day("from", from)?, day("to", to)?);
        if to <= from {
            return Err(ReportError::FromAfterTo);
        }
        Ok(Self {
            from,
            to,
            interval: Interval::Month,
            zone: Zone::UTC,
            now,
            gap_days: 0,
            reactivation_within: None,
            view: View::EndPoints,
            company: None,
            product: None,
            rates: None,
            valuation: Valuation::Constant,
            rate_date: None,
            assume_renewed: false,
            history: None,
        })
    }

    /// The zone of this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownTimeZone`] where there is none.
    pub fn zone_of(name: &str) -> Result<Zone, ReportError> {
        Zone::parse(name).ok_or_else(|| ReportError::UnknownTimeZone(name.to_owned()))
    }

    pub(super) fn check(&self) -> Result<(), ReportError> {
        if self.gap_days > MAX_GAP_DAYS {
            return Err(ReportError::TooManyDays("gapDays", MAX_GAP_DAYS));
        }
        if self.reactivation_within.is_some_and(|days| days > MAX_REACTIVATION_DAYS) {
            return Err(ReportError::TooManyDays("reactivationWithin", MAX_REACTIVATION_DAYS));
        }
        Ok(())
    }
}
