//! The common part of every report: its parameters, and the licenses that do not count.

use super::{
    calendar::{Day, Interval},
    conversion::MissingRate,
    options::{MovementView, Valuation},
    report_scope::{Excluded, ReportScope},
};
use crate::value::{Timestamp, counted, quoted::shortened};

/// Maximum number of currencies without a rate that a note names: it is a line of a chart, and a cell of every row of a
/// table.
const MAX_NAMED: usize = 4;

/// Options of a report as they were applied, and what the report could not count.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReportHeader {
    /// The first day of the report.
    pub from: Day,
    /// First day after the report.
    pub to: Day,
    /// Length of the intervals.
    pub interval: Interval,
    /// Time zone of the days.
    pub time_zone: &'static str,
    /// Definition of a movement.
    pub view: MovementView,
    /// Days of a gap or an overlap that is bridged.
    pub gap_days: u32,
    /// Days within which a return is a reactivation; null for any number.
    pub reactivation_within: Option<u32>,
    /// Time that counts as the present.
    #[serde(serialize_with = "text::serialize")]
    pub now: Timestamp,
    /// The currency of what is converted: the only one of all licenses where no rate is set, else the tenant's base
    /// currency; null where it has set none.
    pub base_currency: Option<String>,
    /// At which rates amounts are converted.
    pub rates: Valuation,
    /// The day of constant rates.
    pub rate_date: Option<Day>,
    /// Currencies without a rate; where there are any, nothing is converted.
    pub missing_rates: Vec<MissingRate>,
    /// Licenses that do not count, by reason.
    pub excluded: Vec<Excluded>,
    /// Requested point in time of the report, if there is one.
    #[serde(serialize_with = "text::option", skip_serializing_if = "Option::is_none")]
    pub as_of: Option<Timestamp>,
    /// Earliest such point in time, where not all history is stored.
    #[serde(serialize_with = "text::option", skip_serializing_if = "Option::is_none")]
    pub history_since: Option<Timestamp>,
}

/// A point in time as text.
pub(super) mod text {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    use crate::value::Timestamp;

    pub(in super::super) fn serialize<S: Serializer>(
        time: &Timestamp,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        serializer.collect_str(time)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(deserializer)?;
        Timestamp::parse(&text).ok_or_else(|| D::Error::custom("a point in time is none"))
    }

    /// Serializes a time that may be absent.
    pub(in super::super) fn option<S: Serializer>(
        time: &Option<Timestamp>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match time {
            Some(time) => serialize(time, serializer),
            None => serializer.serialize_none(),
        }
    }
}

impl ReportHeader {
    pub(super) fn from_scope(scope: &ReportScope<'_>) -> Self {
        let options = scope.options;
        let constant = options.rate_date.unwrap_or(options.to.before());
        Self {
            from: options.from,
            to: options.to,
            interval: options.interval,
            time_zone: options.zone.name(),
            view: options.view,
            gap_days: options.gap_days,
            reactivation_within: options.reactivation_within,
            now: options.now,
            base_currency: scope.base.clone(),
            rates: options.valuation,
            rate_date: (options.valuation == Valuation::Constant).then_some(constant),
            missing_rates: scope.missing.clone(),
            excluded: scope.excluded(),
            as_of: options.history.map(|history| history.as_of),
            history_since: options.history.and_then(|history| history.since),
        }
    }
}

impl ReportHeader {
    /// Note of what the figures leave out: `no rate for USD, SEK; 2 licenses excluded`. Empty if nothing is left out.
    pub(super) fn note(&self) -> String {
        let missing = &self.missing_rates;
        let named = missing.iter().take(MAX_NAMED).map(|rate| shortened(&rate.currency));
        let mut rates = named.collect::<Vec<_>>().join(", ");
        if missing.len() > MAX_NAMED {
            rates.push_str(&format!(" and {} more", missing.len() - MAX_NAMED));
        }
        let rates = (!missing.is_empty()).then(|| format!("no rate for {rates}"));
        let excluded: usize = self.excluded.iter().map(|excluded| excluded.total).sum();
        let excluded = (excluded > 0).then(|| format!("{} excluded", counted(excluded, "license")));
        rates.into_iter().chain(excluded).collect::<Vec<_>>().join("; ")
    }
}
