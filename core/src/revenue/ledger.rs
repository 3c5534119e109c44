//! The licenses of a tenant as reports read them: by company, currency and product, in the order of time.
//!
//! Invariant: the licenses of a company are next to each other, those of a currency and a product in it too,
//! and these begin in order.

use std::{collections::HashMap, ops::Range};

use super::{
    amount,
    calendar::Unit,
    error::ReportError,
    facts::{LicenseFacts, RenewalStatus},
};
use crate::value::{ObjectId, Timestamp};

/// The end of a license that has none.
pub(super) const NEVER: i64 = i64::MAX;
/// The most currencies that a report tells apart.
const MAX_CURRENCIES: usize = 200;

/// The licenses of a tenant as reports read them.
///
/// Making one sorts them; every report is then a pass over them. Keep it as long as no license changes.
#[derive(Debug, Default)]
pub struct Ledger {
    licenses: Vec<License>,
    companies: Vec<Company>,
    currencies: Names,
    products: Names,
    excluded: Vec<(Reason, ObjectId, ObjectId)>,
    total: i128,
}

/// A license with amounts in units.
#[derive(Clone, Debug)]
pub(super) struct License {
    pub(super) id: ObjectId,
    pub(super) currency: u32,
    pub(super) product: u32,
    pub(super) fixed: bool,
    pub(super) auto_renews: bool,
    pub(super) status: RenewalStatus,
    pub(super) notice: Option<(u32, Unit)>,
    pub(super) from: i64,
    pub(super) end: i64,
    pub(super) mrr: i128,
    pub(super) parent: Option<ObjectId>,
    terms: Option<Box<Terms>>,
}

/// What few licenses have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Terms {
    arr: Option<i128>,
    renewal: Option<i128>,
    forecast: Option<i128>,
    optimistic: Option<i128>,
    pessimistic: Option<i128>,
}

impl License {
    /// What a year costs.
    pub(super) fn arr(&self) -> i128 {
        self.terms.as_ref().and_then(|terms| terms.arr).unwrap_or(12 * self.mrr)
    }

    /// What a month costs after the renewal.
    pub(super) fn renewal_mrr(&self) -> i128 {
        self.terms.as_ref().and_then(|terms| terms.renewal).unwrap_or(self.mrr)
    }

    /// What a month is expected to cost after the renewal: base, optimistic, and pessimistic. The last is 0
    /// where it is neither set nor renewed by itself.
    pub(super) fn forecasts(&self) -> [i128; 3] {
        let terms = self.terms.as_deref();
        let base = terms.and_then(|terms| terms.forecast).unwrap_or_else(|| self.renewal_mrr());
        let optimistic = terms.and_then(|terms| terms.optimistic).unwrap_or(base);
        let otherwise = if self.auto_renews { base } else { 0 };
        [base, optimistic, terms.and_then(|terms| terms.pessimistic).unwrap_or(otherwise)]
    }

    pub(super) fn is_ongoing(&self) -> bool {
        self.status == RenewalStatus::Ongoing
    }

    /// Whether it has a fixed term that is over sometime.
    pub(super) fn expires(&self) -> bool {
        self.fixed && self.end != NEVER
    }

    /// When it is over, as a point in time.
    pub(super) fn end_time(&self) -> Option<Timestamp> {
        (self.end != NEVER).then(|| Timestamp::from_ms_clamped(self.end))
    }
}

/// A company and its licenses.
#[derive(Clone, Debug)]
pub(super) struct Company {
    pub(super) id: ObjectId,
    licenses: Range<usize>,
}

/// Why a license does not count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// It has no `fromDate`.
    NoDates,
    /// It has neither `mrr` nor what it follows from: a trial, or a mistake.
    NoMoney,
    /// It has no currency.
    NoCurrency,
    /// It is over when it begins.
    ZeroLength,
    /// An amount of it is beyond what money fields take.
    AmountTooLarge,
}

/// Names as small numbers.
#[derive(Debug, Default)]
struct Names {
    numbers: HashMap<Box<str>, u32>,
    names: Vec<Box<str>>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.numbers.insert(name.into(), number);
        self.names.push(name.into());
        number
    }

    fn name(&self, number: u32) -> &str {
        usize::try_from(number).ok().and_then(|at| self.names.get(at)).map_or("", |name| name)
    }
}

impl Ledger {
    /// Sorts licenses for reports.
    ///
    /// # Errors
    /// [`ReportError::TooManyCurrencies`], [`ReportError::AmountTooLarge`].
    pub fn new<'f>(facts: impl IntoIterator<Item = LicenseFacts<'f>>) -> Result<Self, ReportError> {
        let mut ledger = Self::default();
        let mut sorted: Vec<(ObjectId, License)> = Vec::new();
        for facts in facts {
            match ledger.read(&facts) {
                Ok(license) => sorted.push((facts.company, license)),
                Err(reason) => ledger.excluded.push((reason, facts.id, facts.company)),
            }
        }
        if ledger.currencies.names.len() > MAX_CURRENCIES {
            return Err(ReportError::TooManyCurrencies(MAX_CURRENCIES));
        }
        sorted.sort_unstable_by(|(company, a), (other, b)| {
            let key =
                |license: &License| (license.currency, license.product, license.from, license.id);
            company.cmp(other).then_with(|| key(a).cmp(&key(b)))
        });
        ledger.excluded.sort_unstable();
        for (company, license) in sorted {
            ledger.push(company, license)?;
        }
        Ok(ledger)
    }

    fn read(&mut self, facts: &LicenseFacts<'_>) -> Result<License, Reason> {
        let from = facts.from.ok_or(Reason::NoDates)?.as_ms();
        let end = facts.end.map_or(NEVER, Timestamp::as_ms);
        if end <= from {
            return Err(Reason::ZeroLength);
        }
        let mrr = facts.mrr.ok_or(Reason::NoMoney)?;
        if facts.currency.is_empty() {
            return Err(Reason::NoCurrency);
        }
        let units = |amount| amount::units_of(amount).ok_or(Reason::AmountTooLarge);
        let mrr = units(mrr)?;
        let terms = Terms {
            arr: facts.arr.map(units).transpose()?.filter(|arr| *arr != 12 * mrr),
            renewal: facts.renewal_mrr.map(units).transpose()?.filter(|renewal| *renewal != mrr),
            forecast: facts.forecast.map(units).transpose()?,
            optimistic: facts.optimistic.map(units).transpose()?,
            pessimistic: facts.pessimistic.map(units).transpose()?,
        };
        Ok(License {
            id: facts.id,
            currency: self.currencies.number(&facts.currency),
            product: self.products.number(&facts.product),
            fixed: facts.fixed,
            auto_renews: facts.auto_renews,
            status: facts.status,
            notice: facts.notice,
            from,
            end,
            mrr,
            parent: facts.parent,
            terms: (terms != Terms::default()).then(|| Box::new(terms)),
        })
    }

    fn push(&mut self, company: ObjectId, license: License) -> Result<(), ReportError> {
        let most = license.mrr.abs().max(license.renewal_mrr().abs());
        let most =
            license.forecasts().into_iter().fold(most, |most, amount| most.max(amount.abs()));
        self.total = self
            .total
            .checked_add(most.max(license.arr().abs()))
            .ok_or(ReportError::AmountTooLarge)?;
        let at = self.licenses.len();
        self.licenses.push(license);
        match self.companies.last_mut() {
            Some(last) if last.id == company => last.licenses.end = at + 1,
            _ => self.companies.push(Company { id: company, licenses: at..at + 1 }),
        }
        Ok(())
    }

    /// How many licenses count.
    pub fn len(&self) -> usize {
        self.licenses.len()
    }

    /// Whether none does.
    pub fn is_empty(&self) -> bool {
        self.licenses.is_empty()
    }

    /// The sum of all amounts, without their signs.
    pub(super) fn total(&self) -> i128 {
        self.total
    }

    /// Companies with their licenses, in the order of their ids; one alone where one is asked for.
    pub(super) fn companies(
        &self,
        only: Option<ObjectId>,
    ) -> impl Iterator<Item = (ObjectId, &[License])> {
        let range = match only {
            Some(id) => match self.companies.binary_search_by_key(&id, |company| company.id) {
                Ok(at) => at..at + 1,
                Err(at) => at..at,
            },
            None => 0..self.companies.len(),
        };
        let companies = self.companies.get(range).unwrap_or_default();
        companies.iter().map(|company| {
            (company.id, self.licenses.get(company.licenses.clone()).unwrap_or_default())
        })
    }

    /// How many currencies there are; they are numbered.
    pub(super) fn currency_count(&self) -> usize {
        self.currencies.names.len()
    }

    pub(super) fn currency(&self, number: u32) -> &str {
        self.currencies.name(number)
    }

    pub(super) fn product(&self, number: u32) -> &str {
        self.products.name(number)
    }

    /// The number of a product, if a license has it.
    pub(super) fn product_number(&self, name: &str) -> Option<u32> {
        self.products.numbers.get(name).copied()
    }

    /// The licenses that do not count, with their companies, by reason.
    pub(super) fn excluded(&self) -> &[(Reason, ObjectId, ObjectId)] {
        &self.excluded
    }
}
