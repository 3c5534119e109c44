//! Options of a report: its days, time zone, view and filters.

use super::{
    calendar::{Day, Interval},
    error::ReportError,
    rates::ExchangeRates,
};
use crate::value::{ObjectId, Timestamp, Zone};

/// The longest gap or overlap that is bridged, in days.
pub const MAX_GAP_DAYS: u32 = 366;
/// Longest time, in days, after which a return can be a reactivation.
pub(super) const MAX_REACTIVATION_DAYS: u32 = 36_500;

/// Definition of a movement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum MovementView {
    /// MRR of a company at the end of an interval against its start.
    #[default]
    EndPoints,
    /// Each change of what a company pays.
    Activities,
}

impl MovementView {
    /// The names of both.
    pub const NAMES: &'static [&'static str] = &["endPoints", "activities"];

    /// The view with this name.
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
    /// Rates of the last day of each interval; the changes that they make are the line `fx`.
    Dated,
}

impl Valuation {
    /// The names of both.
    pub const NAMES: &'static [&'static str] = &["constant", "dated"];

    /// The valuation with this name.
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

/// Period, time zone, rates and filters from which a report is computed.
#[derive(Clone, Debug)]
pub struct ReportOptions {
    /// First day of the report.
    pub from: Day,
    /// First day after the report.
    pub to: Day,
    /// Length of the intervals.
    pub interval: Interval,
    /// Time zone of the report's days.
    pub zone: Zone,
    /// Time that counts as the present: a license that is past by then can be overdue.
    pub now: Timestamp,
    /// Maximum number of days between the end of a license and the start of the next, either way, to be continuous.
    pub gap_days: u32,
    /// Maximum number of days after its last payment within which a company that returns is a reactivation and not new;
    /// none for no limit.
    pub reactivation_within: Option<u32>,
    /// Definition of a movement.
    pub view: MovementView,
    /// The only company that counts.
    pub company: Option<ObjectId>,
    /// The only product that counts.
    pub product: Option<String>,
    /// Base currency and rates; without them, a report in one currency alone has a total.
    pub rates: Option<ExchangeRates>,
    /// Valuation, which selects the rates.
    pub valuation: Valuation,
    /// Day of constant rates; none for the last day of the report.
    pub rate_date: Option<Day>,
    /// Whether a forecast assumes that every ongoing license is renewed.
    pub assume_renewed: bool,
    /// Point in time of the report; none for the data that is stored now.
    pub history: Option<History>,
}

/// The past from which a report is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct History {
    /// The point in time: data that was stored later does not count.
    pub as_of: Timestamp,
    /// Earliest possible point in time; none where every change is stored.
    pub since: Option<Timestamp>,
}

impl ReportOptions {
    /// Options of a report by month, in UTC, from `from` to the exclusive `to`.
    ///
    /// # Errors
    /// [`ReportError::InvalidDay`] where one is not a day, [`ReportError::FromAfterTo`].
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
            view: MovementView::EndPoints,
            company: None,
            product: None,
            rates: None,
            valuation: Valuation::Constant,
            rate_date: None,
            assume_renewed: false,
            history: None,
        })
    }

    /// The time zone with this name.
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
