//! How current figures differ from those of a closed month, and why: changed licenses, rates or time zone.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    slice,
};

use rust_decimal::Decimal;
use serde::Serialize;

use super::{
    calendar::{Day, Interval},
    closing::{Closing, MonthFigures},
    currency_rows::Series,
    error::ReportError,
    explain::{CompanyMovements, mrr_by_company},
    hex,
    ledger::Ledger,
    license_facts::LicenseFacts,
    mrr_movements::{MovementRow, Movements},
    options::ReportOptions,
    rates::ExchangeRates,
};
use crate::value::{ObjectId, Timestamp};

/// Maximum number of licenses, and of companies, that a difference names.
const MAX_NAMED: usize = 100;

/// Closed month in a report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MonthDifference {
    /// The closed month, such as `2026-10`.
    pub month: String,
    /// Time of the closing.
    #[serde(serialize_with = "super::report_header::text::serialize")]
    pub closed_at: Timestamp,
    /// Difference in each currency.
    pub currencies: Vec<Difference>,
    /// Difference in the base currency; null where the report converts at another day or into another currency than the
    /// closing, or cannot convert.
    pub converted: Option<Difference>,
    /// The companies with a difference, those with the largest one in the base currency first; those with a currency
    /// without a rate follow, by that currency. At most 100.
    pub companies: Vec<CompanyDifference>,
    /// How many these are.
    pub company_count: usize,
    /// Licenses of the companies with a difference that were changed since: at most 100.
    #[serde(serialize_with = "hex::many")]
    pub changed_licenses: Vec<ObjectId>,
    /// Total number of these licenses.
    pub changed_license_count: usize,
    /// Whether rates that convert the month were changed since.
    pub rates_changed: bool,
    /// Whether the tenant's time zone was changed since, in whose days licenses begin and end.
    pub time_zone_changed: bool,
}

/// Differences in a closed month for one company.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct CompanyDifference {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Difference in each currency.
    pub currencies: Vec<Difference>,
}

/// A license that was changed after a month was closed.
#[derive(Clone, Debug)]
pub struct ChangedLicense {
    /// Facts of the license when the month was closed; none where it was not stored.
    pub then: Option<LicenseFacts<'static>>,
    /// Facts of the license now; none where it was deleted.
    pub now: Option<LicenseFacts<'static>>,
}

/// Changes after a month was closed.
#[derive(Debug)]
pub struct ChangesSinceClosing<'s> {
    /// The licenses, by their ids; also those that are again as they were.
    pub licenses: BTreeMap<ObjectId, ChangedLicense>,
    /// The licenses of now.
    pub ledger: &'s Ledger,
    /// Exchange rates when the month was closed, and now.
    pub rates: [Option<ExchangeRates>; 2],
    /// Whether the tenant's time zone was changed.
    pub time_zone_changed: bool,
}

impl ChangedLicense {
    /// Its facts, then and now.
    fn facts(&self) -> impl Iterator<Item = &LicenseFacts<'static>> {
        self.then.iter().chain(&self.now)
    }
}

impl ChangesSinceClosing<'_> {
    fn changed(&self) -> impl Iterator<Item = (&ObjectId, &ChangedLicense)> {
        self.licenses.iter().filter(|(_, license)| license.then != license.now)
    }

    /// Whether a license was changed that begins before some time, then or now.
    fn is_changed_before(&self, time: Option<Timestamp>) -> bool {
        let is_before = |facts: &LicenseFacts<'_>| facts.from < time;
        self.changed().any(|(_, license)| license.facts().any(is_before))
    }

    /// The companies that differ by the changes of their licenses, in the order of [`CompanyDifference::key`].
    fn companies(&self, options: &ReportOptions) -> Result<Vec<CompanyDifference>, ReportError> {
        let facts = self.changed().flat_map(|(_, it)| it.facts());
        let companies: BTreeSet<ObjectId> = facts.map(|facts| facts.company).collect();
        let now = self.ledger.of_companies(&companies);
        let before = self.changed().map(|(id, it)| (*id, it.then.clone()));
        let then = now.changed(before.collect())?;
        let lines = |ledger| -> Result<BTreeMap<ObjectId, Vec<MonthFigures>>, ReportError> {
            let rows = mrr_by_company(ledger, options)?.into_iter();
            let lines = |row: CompanyMovements| {
                let lines = row.currencies.iter().filter_map(MonthFigures::of_first);
                (row.company, lines.collect())
            };
            Ok(rows.map(lines).collect())
        };
        let (then, now) = (lines(&then)?, lines(&now)?);
        let differing = companies.into_iter().filter_map(|company| {
            let own_lines = |lines: &BTreeMap<_, Vec<MonthFigures>>| {
                lines.get(&company).cloned().unwrap_or_default()
            };
            let mut currencies = Difference::of_each(&own_lines(&then), &own_lines(&now));
            currencies.retain(|it| !it.difference.is_zero());
            (!currencies.is_empty()).then_some(CompanyDifference { company, currencies })
        });
        let mut differing: Vec<CompanyDifference> = differing.collect();
        let [_, rates] = &self.rates;
        let rate = |currency: &str| rates.as_ref()?.on(currency, options.rate_date?);
        differing.sort_by_cached_key(|company| company.key(rate));
        Ok(differing)
    }

    /// Changed licenses of some companies.
    fn licenses(&self, of: &BTreeSet<ObjectId>) -> Vec<ObjectId> {
        let is_of_one = |facts: &LicenseFacts<'_>| of.contains(&facts.company);
        let changed = self.changed().filter(|(_, it)| it.facts().any(is_of_one));
        changed.map(|(id, _)| *id).collect()
    }

    /// Whether rates were changed so that one of these currencies is converted otherwise; `converted` is what all are
    /// converted into, then and now. A single currency is converted without any rate (R28).
    fn has_other_rates<'c>(
        &self,
        mut currencies: impl Iterator<Item = &'c String>,
        converted: [Option<&str>; 2],
        day: Option<Day>,
    ) -> bool {
        let [then, now] = &self.rates;
        // The currency that a report is requested in changes no rate of the settings.
        let base = |rates: &Option<ExchangeRates>, converted: Option<&str>| {
            let known = rates.as_ref().filter(|rates| !rates.may_be_replaced());
            let base = known.map(ExchangeRates::base).or(converted);
            base.or(rates.as_ref().map(ExchangeRates::base)).map(str::to_owned)
        };
        let [base_then, base_now] = [base(then, converted[0]), base(now, converted[1])];
        let rate = |rates: &Option<ExchangeRates>, base: &Option<String>, name: &String| {
            let rate = |rates: &ExchangeRates| rates.on(name, day?);
            if base.as_ref() == Some(name) {
                Some(Decimal::ONE)
            } else {
                rates.as_ref().and_then(rate)
            }
        };
        let is_other = |name| rate(then, &base_then, name) != rate(now, &base_now, name);
        then != now && (base_then != base_now || currencies.any(is_other))
    }
}

impl CompanyDifference {
    /// Sorts the company with the largest difference in the base currency first, and companies with a currency without a
    /// rate after all others, by that currency.
    fn key(&self, rate: impl Fn(&str) -> Option<Decimal>) -> (Option<String>, Reverse<Decimal>) {
        let unrated = self.currencies.iter().find(|it| rate(&it.currency).is_none());
        let counted = unrated.map_or(&*self.currencies, slice::from_ref);
        let mut sums = [Decimal::ZERO; MonthFigures::AMOUNTS];
        for line in counted {
            let rate = rate(&line.currency).unwrap_or(Decimal::ONE);
            for (sum, amount) in sums.iter_mut().zip(line.difference.amounts()) {
                *sum = sum.saturating_add(amount.as_decimal().saturating_mul(rate));
            }
        }
        let largest = sums.into_iter().map(|sum| sum.abs()).max().unwrap_or_default();
        (unrated.map(|it| it.currency.clone()), Reverse(largest))
    }
}

/// Figures of a closed month, and their difference from the figures of now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// The currency of the amounts.
    pub currency: String,
    /// The figures as they were closed.
    pub closed: MonthFigures,
    /// The figures of now minus the closed ones.
    pub difference: MonthFigures,
}

impl Difference {
    /// Each currency of both, by name.
    fn of_each(closed: &[MonthFigures], now: &[MonthFigures]) -> Vec<Self> {
        let line_of = |lines: &[MonthFigures], name: &str| {
            lines.iter().find(|line| line.currency == name).cloned()
        };
        let names: BTreeSet<&String> = closed.iter().chain(now).map(|it| &it.currency).collect();
        let between = |name: &&String| {
            Self::between(line_of(closed, name).as_ref(), line_of(now, name).as_ref())
        };
        names.iter().filter_map(between).collect()
    }

    fn between(closed: Option<&MonthFigures>, now: Option<&MonthFigures>) -> Option<Self> {
        let currency = &closed.or(now)?.currency;
        let none = MonthFigures::none(currency);
        let (closed, now) = (closed.unwrap_or(&none), now.unwrap_or(&none));
        Some(Self {
            currency: currency.clone(),
            closed: closed.clone(),
            difference: now.less(closed),
        })
    }
}

impl Closing {
    /// Whether a report has the options of the closed figures.
    fn is_comparable(&self, report: &Movements) -> bool {
        let about = &report.about;
        about.interval == Interval::Month
            && about.time_zone == self.time_zone
            && about.view == self.view
            && about.gap_days == self.gap_days
            && about.reactivation_within == self.reactivation_within
    }

    /// Whether a report of all companies has the month, with the same options.
    pub fn is_in(&self, report: &Movements) -> bool {
        let about = &report.about;
        let has_days = |(from, to): (Day, Day)| about.from <= from && to <= about.to;
        self.is_comparable(report) && self.days().is_some_and(has_days)
    }

    /// Compares the closed month with a report of all companies that has it: its figures now, and why they differ.
    ///
    /// # Errors
    /// When an option is invalid.
    pub fn compared(
        &self,
        report: &Movements,
        since: &ChangesSinceClosing<'_>,
    ) -> Result<MonthDifference, ReportError> {
        let now = |series: &Series<MovementRow>| {
            let row = series.rows.iter().find(|row| row.period.period == self.month)?;
            Some(MonthFigures::from_row(&series.currency, row))
        };
        let rows: Vec<MonthFigures> = report.currencies.iter().filter_map(now).collect();
        let currencies = Difference::of_each(&self.currencies, &rows);
        let bases = [
            self.converted.as_ref().map(|closed| &*closed.currency),
            report.converted.as_ref().map(|series| &*series.currency),
        ];
        let converted = report.converted.as_ref().and_then(now);
        let is_converted_alike = report.about.rate_date == self.rate_date;
        let converted = converted.filter(|row| {
            is_converted_alike
                && self.converted.as_ref().is_some_and(|closed| closed.currency == row.currency)
        });
        let converted =
            converted.and_then(|row| Difference::between(self.converted.as_ref(), Some(&row)));
        let differs = currencies.iter().any(|it| !it.difference.is_zero());
        // A license that begins later changes what a company paid only where it bridges a gap.
        let may_differ =
            differs || self.gap_days > 0 || since.is_changed_before(self.times().map(|it| it.end));
        let companies = match may_differ {
            true => since.companies(&self.options()?)?,
            false => Vec::new(),
        };
        let differing = companies.iter().map(|it| it.company).collect();
        let changed = since.licenses(&differing);
        let is_converted_as_closed =
            converted.as_ref().is_some_and(|found| found.difference.is_zero());
        let names = currencies.iter().map(|found| &found.currency);
        Ok(MonthDifference {
            month: self.month.clone(),
            closed_at: self.closed_at,
            rates_changed: !is_converted_as_closed
                && since.has_other_rates(names, bases, self.rate_date),
            time_zone_changed: since.time_zone_changed,
            currencies,
            converted,
            company_count: companies.len(),
            companies: companies.into_iter().take(MAX_NAMED).collect(),
            changed_licenses: changed.iter().take(MAX_NAMED).copied().collect(),
            changed_license_count: changed.len(),
        })
    }
}
