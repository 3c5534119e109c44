//! Invalid parameters of a report, and licenses that cannot be reported.

use std::fmt;

use super::calendar::{Interval, MAX_INTERVALS};
use crate::value::{
    RecordRef, Timestamp, ValidationError,
    number::RATE_RANGE,
    quoted::{quoted, quoted_list},
};

/// Why a report fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportError {
    /// A malformed day: the option and what was found.
    InvalidDay(&'static str, String),
    /// A malformed point in time: what was found.
    InvalidTime(String),
    /// A report as of the future.
    AsOfAhead,
    /// A report as of a time without stored history: the start of the history.
    NoHistory(Timestamp),
    /// A malformed month: what was found.
    InvalidMonth(String),
    /// A month that has not ended is to be closed.
    MonthNotEnded,
    /// `from` is not before `to`.
    FromAfterTo,
    /// More intervals than [`MAX_INTERVALS`], or days outside the years 1970 to 9999.
    TooManyIntervals,
    /// More days than a report of usage may have; with the maximum.
    TooLong(u32),
    /// Usage is computed from activities, and not from licenses.
    NotOfLicenses,
    /// No time zone of this name.
    UnknownTimeZone(String),
    /// No interval of this name.
    UnknownInterval(String),
    /// An unknown choice for an option: its name, the choices, and what was found.
    UnknownChoice(&'static str, &'static [&'static str], String),
    /// An option without another one that it needs: the names of both.
    Needs(&'static str, &'static str),
    /// An option that has no effect with another one: its name, and the name and value of the other one.
    NoEffectWith(&'static str, &'static str),
    /// A number that is not whole, or not from the least to the greatest that is taken: the option, both, and what was
    /// found.
    InvalidNumber(&'static str, [u32; 2], String),
    /// A malformed reference to a company: what was found.
    InvalidCompany(String),
    /// A company that does not exist.
    CompanyNotFound(RecordRef),
    /// A property that cannot define segments, since it has several values or is not stored: what was found.
    UnknownSegment(String),
    /// Too many days: the option, and the maximum.
    TooManyDays(&'static str, u32),
    /// A rate at which no amount is converted: its currency.
    InvalidRate(String),
    /// More currencies than a report distinguishes.
    TooManyCurrencies(usize),
    /// The amounts are too large to be added up.
    AmountTooLarge,
    /// An interval, line or currency that the report does not have.
    UnknownCell(&'static str),
    /// A figure in the base currency, where a currency without a rate keeps the report from being converted.
    NotConverted,
}

impl ReportError {
    /// Code of the error, stable, in snake_case.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidDay(..) => "invalid_day",
            Self::InvalidTime(_) => "invalid_time",
            Self::AsOfAhead => "as_of_ahead",
            Self::NoHistory(_) => "no_history",
            Self::InvalidMonth(_) => "invalid_month",
            Self::MonthNotEnded => "month_not_ended",
            Self::FromAfterTo => "from_after_to",
            Self::TooManyIntervals => "too_many_intervals",
            Self::TooLong(_) => "too_long",
            Self::NotOfLicenses => "not_of_licenses",
            Self::UnknownTimeZone(_) => "unknown_time_zone",
            Self::UnknownInterval(_) => "unknown_interval",
            Self::UnknownChoice(..) => "unknown_choice",
            Self::Needs(..) | Self::NoEffectWith(..) => "no_effect",
            Self::InvalidNumber(..) => "invalid_number",
            Self::InvalidCompany(_) => "invalid_id",
            Self::CompanyNotFound(_) => "company_not_found",
            Self::UnknownSegment(_) => "unknown_segment",
            Self::TooManyDays(..) => "too_many_days",
            Self::InvalidRate(_) => "invalid_rate",
            Self::TooManyCurrencies(_) => "too_many_currencies",
            Self::AmountTooLarge => "amount_too_large",
            Self::UnknownCell(_) => "unknown_cell",
            Self::NotConverted => "not_converted",
        }
    }

    /// Query parameter that the error is about.
    pub fn option(&self) -> &'static str {
        match self {
            Self::InvalidDay(option, _)
            | Self::UnknownChoice(option, ..)
            | Self::InvalidNumber(option, ..)
            | Self::TooManyDays(option, _)
            | Self::Needs(option, _)
            | Self::NoEffectWith(option, _)
            | Self::UnknownCell(option) => option,
            Self::NotConverted => "currency",
            Self::InvalidTime(_) | Self::AsOfAhead | Self::NoHistory(_) => "asOf",
            Self::InvalidMonth(_) | Self::MonthNotEnded => "month",
            Self::FromAfterTo | Self::TooLong(_) | Self::NotOfLicenses => "from",
            Self::TooManyIntervals | Self::UnknownInterval(_) => "interval",
            Self::InvalidCompany(_) | Self::CompanyNotFound(_) => "companyId",
            Self::UnknownSegment(_) => "by",
            Self::UnknownTimeZone(_) => "timeZone",
            Self::InvalidRate(_) | Self::TooManyCurrencies(_) | Self::AmountTooLarge => {
                "currencies"
            }
        }
    }
}

impl From<ReportError> for ValidationError {
    fn from(error: ReportError) -> Self {
        Self::of_member(error.option(), error.code(), error.to_string())
    }
}

impl fmt::Display for ReportError {
    #[expect(clippy::too_many_lines, reason = "a sentence for each error")]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidDay(option, found) => {
                write!(f, "`{option}` must be a day such as `2026-01-31`; found {}", quoted(found))
            }
            Self::InvalidTime(found) => write!(
                f,
                "`asOf` must be a point in time such as `2026-01-31T18:00:00Z`; found {}",
                quoted(found)
            ),
            Self::AsOfAhead => f.write_str("`asOf` must not be in the future"),
            Self::NoHistory(since) => {
                write!(f, "`asOf` must be {since} or later: history is stored since then")
            }
            Self::InvalidMonth(found) => {
                write!(f, "`month` must be a month such as `2026-01`; found {}", quoted(found))
            }
            Self::MonthNotEnded => f.write_str("the month must have ended before it is closed"),
            Self::FromAfterTo => f.write_str("`from` must be before `to`, which is not included"),
            Self::TooManyIntervals => write!(
                f,
                "there must be at most {MAX_INTERVALS} intervals between `from` and `to`, in the years 1970 to 9999"
            ),
            Self::TooLong(most) => {
                write!(f, "`from` and `to` must be at most {most} days apart")
            }
            Self::NotOfLicenses => f.write_str("usage is computed from activities"),
            Self::UnknownTimeZone(found) => write!(
                f,
                "`timeZone` must be a name such as `UTC` or `Europe/Berlin`; found {}",
                quoted(found)
            ),
            Self::UnknownInterval(found) => write!(
                f,
                "`interval` must be one of {}; found {}",
                quoted_list(&Interval::NAMES),
                quoted(found)
            ),
            Self::UnknownChoice(option, words, found) => write!(
                f,
                "`{option}` must be one of {}; found {}",
                quoted_list(words),
                quoted(found)
            ),
            Self::Needs(option, other) => write!(f, "`{option}` has no effect without `{other}`"),
            Self::NoEffectWith(option, other) => {
                write!(f, "`{option}` has no effect with `{other}`")
            }
            Self::InvalidNumber(option, [least, most], found) => write!(
                f,
                "`{option}` must be a whole number from {least} to {most}; found {}",
                quoted(found)
            ),
            Self::InvalidCompany(found) => {
                write!(f, "`companyId` must be {}; found {}", RecordRef::FORMS, quoted(found))
            }
            Self::CompanyNotFound(reference) => {
                write!(f, "no company has the id {}", quoted(&reference.to_string()))
            }
            Self::UnknownSegment(found) => write!(
                f,
                "`by` must be a stored property of companies that has one value, such as `phase` or `custom.plan`; found {}",
                quoted(found)
            ),
            Self::TooManyDays(option, most) => write!(f, "`{option}` must be at most {most}"),
            Self::InvalidRate(currency) => {
                write!(f, "the rate of {} must be {RATE_RANGE}", quoted(currency))
            }
            Self::TooManyCurrencies(most) => {
                write!(f, "licenses must have at most {most} different currencies")
            }
            Self::AmountTooLarge => f.write_str("the amounts are too large to be added up"),
            Self::UnknownCell(option) => write!(f, "`{option}` names nothing in this report"),
            Self::NotConverted => f.write_str(
                "`currency` is required: the report is not converted, since a currency has no rate",
            ),
        }
    }
}

impl std::error::Error for ReportError {}
