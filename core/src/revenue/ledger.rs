//! The licenses of a tenant, ordered for reports: by company, currency and product, then by time.
//!
//! Invariant: licenses of a company are adjacent, within a company those of a currency and product, and these are
//! ordered by their start.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet, HashMap},
    ops::Range,
    sync::Arc,
};

use super::{
    calendar::{Day, Unit},
    error::ReportError,
    license_facts::{LicenseFacts, RenewalStatus},
    money_units,
    report_scope::index,
};
use crate::value::{ObjectId, Timestamp, Zone};

/// End of a license without an end.
pub(super) const NEVER: i64 = i64::MAX;
/// Maximum number of currencies that a report distinguishes.
const MAX_CURRENCIES: usize = 200;

/// The licenses of a tenant, prepared for reports.
///
/// A new ledger sorts the licenses; every report is then a pass over them. Cache it as long as no license changes.
///
/// Licenses begin and end with days of the zone of the ledger ([`Zone::time_of`]).
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// Zone in which licenses begin and end with days.
    zone: Zone,
    licenses: Vec<License>,
    companies: Vec<Company>,
    currencies: NumberedNames,
    products: NumberedNames,
    excluded: Vec<(Reason, ObjectId, ObjectId)>,
    /// Of licenses that do not count: their company, they and their parent, since a line continues through them.
    excluded_parents: Vec<(ObjectId, ObjectId, ObjectId)>,
    total: i128,
}

/// A license with amounts in units.
#[derive(Clone, Debug)]
pub(super) struct License {
    pub(super) id: ObjectId,
    company: ObjectId,
    pub(super) currency: u32,
    pub(super) product: u32,
    pub(super) fixed: bool,
    pub(super) auto_renews: bool,
    pub(super) status: RenewalStatus,
    pub(super) notice: Option<(u32, Unit)>,
    /// Dates of the beginning and the end.
    dates: [Option<Timestamp>; 2],
    pub(super) from: i64,
    pub(super) end: i64,
    pub(super) mrr: i128,
    pub(super) parent: Option<ObjectId>,
    terms: Option<Box<Terms>>,
}

/// Terms that few licenses have.
#[derive(Clone, Debug, Default, PartialEq)]
struct Terms {
    arr: Option<i128>,
    renewal: Option<i128>,
    forecast: Option<i128>,
    optimistic: Option<i128>,
    pessimistic: Option<i128>,
}

impl License {
    /// Lets the license begin and end with days of a zone.
    fn place(&mut self, zone: Zone) {
        [self.from, self.end] = self.times_in(zone);
    }

    fn times_in(&self, zone: Zone) -> [i64; 2] {
        zone.times_of(self.dates).map(|time| time.map_or(NEVER, Timestamp::as_ms))
    }

    /// Place among the licenses of its company.
    fn order(&self) -> (u32, u32, i64, ObjectId) {
        (self.currency, self.product, self.from, self.id)
    }

    /// Amount of a year.
    pub(super) fn arr(&self) -> i128 {
        self.terms.as_ref().and_then(|terms| terms.arr).unwrap_or(12 * self.mrr)
    }

    /// Amount of a month after the renewal.
    pub(super) fn renewal_mrr(&self) -> i128 {
        self.terms.as_ref().and_then(|terms| terms.renewal).unwrap_or(self.mrr)
    }

    /// Expected amount of a month after the renewal: base, optimistic, and pessimistic. The last is 0 where it is
    /// neither set nor the license renews automatically.
    pub(super) fn forecasts(&self) -> [i128; 3] {
        let terms = self.terms.as_deref();
        let base = terms.and_then(|terms| terms.forecast).unwrap_or_else(|| self.renewal_mrr());
        let optimistic = terms.and_then(|terms| terms.optimistic).unwrap_or(base);
        let otherwise = if self.auto_renews { base } else { 0 };
        [base, optimistic, terms.and_then(|terms| terms.pessimistic).unwrap_or(otherwise)]
    }

    /// The largest of all amounts, without its sign.
    fn largest_amount(&self) -> i128 {
        let amounts = [self.mrr, self.arr(), self.renewal_mrr()].into_iter();
        amounts.chain(self.forecasts()).map(i128::abs).max().unwrap_or_default()
    }

    /// Properties that the amounts of [`Self::forecasts`] come from.
    pub(super) fn forecast_sources(&self) -> [&'static str; 3] {
        let terms = self.terms.as_deref();
        let has = |value: fn(&Terms) -> Option<i128>| terms.and_then(value).is_some();
        let base = if has(|terms| terms.forecast) {
            "fcNewMrr"
        } else if has(|terms| terms.renewal) {
            "renewalMrr"
        } else {
            "mrr"
        };
        let optimistic = has(|terms| terms.optimistic).then_some("fcNewMrrOptimistic");
        let pessimistic = has(|terms| terms.pessimistic).then_some("fcNewMrrPessimistic");
        [base, optimistic.unwrap_or(base), pessimistic.unwrap_or(base)]
    }

    pub(super) fn is_ongoing(&self) -> bool {
        self.status == RenewalStatus::Ongoing
    }

    /// Whether the license has a fixed term that ends.
    pub(super) fn expires(&self) -> bool {
        self.fixed && self.end != NEVER
    }

    /// End of the license, as a point in time.
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

/// Why a report leaves a license out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Reason {
    /// The license has no `fromDate`.
    NoDates,
    /// The license has neither `mrr` nor an amount that it follows from: a trial, or a mistake.
    NoMoney,
    /// The license has no currency.
    NoCurrency,
    /// The license is over when it begins.
    ZeroLength,
    /// An amount of the license exceeds the limit of money fields.
    AmountTooLarge,
    /// The license ends without a fixed period, and is ongoing: it is not up for renewal. In the report of renewals only.
    NoFixedPeriod,
    /// The license is fixed, ongoing, and has no end: it is never up for renewal. In the report of renewals only.
    NoEnd,
}

/// Names as small numbers.
#[derive(Clone, Debug, Default)]
struct NumberedNames {
    numbers: HashMap<Arc<str>, u32>,
    names: Vec<Arc<str>>,
    /// Whether a license has the name, by number.
    occurs: Vec<bool>,
}

impl NumberedNames {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.numbers.get(name).copied() {
            self.note(number);
            return number;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        let name: Arc<str> = name.into();
        self.numbers.insert(Arc::clone(&name), number);
        self.names.push(name);
        self.occurs.push(true);
        number
    }

    /// Notes that a license has the name with this number.
    fn note(&mut self, number: u32) {
        if let Some(occurs) = self.occurs.get_mut(index(number)) {
            *occurs = true;
        }
    }

    /// The names, each without a license.
    fn unused(&self) -> Self {
        Self { occurs: vec![false; self.names.len()], ..self.clone() }
    }

    /// Numbers the names that occur in their order, and forgets the others; returns the new number of each old one.
    fn sort(&mut self) -> Vec<u32> {
        let before = std::mem::take(self);
        let names = before.names.iter().zip(&before.occurs);
        let mut names: Vec<&str> =
            names.filter(|(_, occurs)| **occurs).map(|(name, _)| &**name).collect();
        names.sort_unstable();
        for name in names {
            self.number(name);
        }
        let number = |name: &str| self.numbers.get(name).copied().unwrap_or_default();
        before.names.iter().map(|name| number(name)).collect()
    }

    fn name(&self, number: u32) -> &str {
        self.names.get(index(number)).map_or("", |name| name)
    }

    fn shared(&self, number: u32) -> Arc<str> {
        self.names.get(index(number)).map_or_else(|| "".into(), Arc::clone)
    }
}

fn number_in(numbers: &[u32], number: u32) -> u32 {
    numbers.get(index(number)).copied().unwrap_or_default()
}

impl Ledger {
    /// Sorts licenses for reports in UTC. The order in which they come does not change the ledger.
    ///
    /// # Errors
    /// [`ReportError::TooManyCurrencies`], [`ReportError::AmountTooLarge`].
    pub fn new<'f>(facts: impl IntoIterator<Item = LicenseFacts<'f>>) -> Result<Self, ReportError> {
        Self::in_zone(Zone::UTC, facts)
    }

    /// Sorts licenses for reports in a zone. A report in another zone sorts them again.
    ///
    /// # Errors
    /// As [`Ledger::new`].
    pub fn in_zone<'f>(
        zone: Zone,
        facts: impl IntoIterator<Item = LicenseFacts<'f>>,
    ) -> Result<Self, ReportError> {
        Self { zone, ..Self::default() }.with(facts)
    }

    /// The ledger for reports in a zone: this one, if it is of that zone.
    pub(super) fn on_days_of(&self, zone: Zone) -> Cow<'_, Self> {
        if zone == self.zone {
            return Cow::Borrowed(self);
        }
        let mut ledger = Self { zone, ..self.clone() };
        for license in &mut ledger.licenses {
            license.place(zone);
        }
        for licenses in ledger.licenses.chunk_by_mut(|a, b| a.company == b.company) {
            licenses.sort_unstable_by_key(License::order);
        }
        Cow::Owned(ledger)
    }

    /// The ledger after some licenses have changed: each with its facts, or none where it was deleted.
    ///
    /// ```
    /// use std::collections::BTreeMap;
    /// use svctrack_core::{revenue::{Ledger, LicenseFacts}, value::{ObjectId, Timestamp}};
    /// let license = LicenseFacts {
    ///     currency: "EUR".into(), from: Some(Timestamp::MIN), mrr: Some(100.into()),
    ///     ..LicenseFacts::new(ObjectId::MIN, ObjectId::MIN)
    /// };
    /// let ledger = Ledger::new([license]).unwrap();
    /// let without = ledger.changed(BTreeMap::from([(ObjectId::MIN, None)])).unwrap();
    /// assert_eq!((ledger.len(), without.len()), (1, 0));
    /// ```
    ///
    /// # Errors
    /// As [`Ledger::new`].
    pub fn changed(
        &self,
        changes: BTreeMap<ObjectId, Option<LicenseFacts<'_>>>,
    ) -> Result<Self, ReportError> {
        let mut ledger = Self {
            zone: self.zone,
            currencies: self.currencies.unused(),
            products: self.products.unused(),
            ..Self::default()
        };
        let stays = |id: &ObjectId| !changes.contains_key(id);
        let excluded = self.excluded.iter().filter(|(_, id, _)| stays(id));
        ledger.excluded.extend(excluded.copied());
        let parents = self.excluded_parents.iter().filter(|(_, id, _)| stays(id));
        ledger.excluded_parents.extend(parents.copied());
        ledger.licenses.reserve(self.licenses.len() + changes.len());
        for license in self.licenses.iter().filter(|license| stays(&license.id)) {
            ledger.currencies.note(license.currency);
            ledger.products.note(license.product);
            ledger.licenses.push(license.clone());
        }
        ledger.with(changes.into_values().flatten())
    }

    /// The licenses of the companies that meet a condition.
    pub(super) fn of_companies_that(&self, meet: impl Fn(ObjectId) -> bool) -> Self {
        let excluded = self.excluded.iter().map(|(.., company)| *company);
        let all = self.companies.iter().map(|company| company.id).chain(excluded);
        self.of_companies(&all.filter(|id| meet(*id)).collect())
    }

    /// The licenses of some companies.
    #[must_use]
    pub fn of_companies(&self, companies: &BTreeSet<ObjectId>) -> Self {
        let excluded = self.excluded.iter().filter(|(.., company)| companies.contains(company));
        let parents =
            self.excluded_parents.iter().filter(|(company, ..)| companies.contains(company));
        let mut ledger = Self {
            zone: self.zone,
            currencies: self.currencies.clone(),
            products: self.products.clone(),
            excluded: excluded.copied().collect(),
            excluded_parents: parents.copied().collect(),
            total: self.total,
            ..Self::default()
        };
        for id in companies {
            for (id, licenses) in self.companies(Some(*id)) {
                let first = ledger.licenses.len();
                ledger.licenses.extend_from_slice(licenses);
                ledger.companies.push(Company { id, licenses: first..ledger.licenses.len() });
            }
        }
        ledger
    }

    /// The ledger with the facts of more licenses, sorted.
    fn with<'f>(
        mut self,
        facts: impl IntoIterator<Item = LicenseFacts<'f>>,
    ) -> Result<Self, ReportError> {
        let facts = facts.into_iter();
        // A million licenses take longer to move, each time that the list grows, than to sort.
        self.licenses.reserve(facts.size_hint().0);
        let mut is_sorted = true;
        for facts in facts {
            match self.read(&facts) {
                Ok(license) => {
                    let last = self.licenses.last();
                    is_sorted &= last.is_none_or(|last| last.company <= license.company);
                    self.licenses.push(license);
                }
                Err(reason) => {
                    let (id, company) = (facts.id, facts.company);
                    self.excluded.push((reason, id, company));
                    let parent = facts.parent.map(|parent| (company, id, parent));
                    self.excluded_parents.extend(parent);
                }
            }
        }
        let (currencies, products) = (self.currencies.sort(), self.products.sort());
        if self.currencies.names.len() > MAX_CURRENCIES {
            return Err(ReportError::TooManyCurrencies(MAX_CURRENCIES));
        }
        if !is_sorted {
            // Only the keys are sorted: licenses are large, and each is moved once.
            self.licenses.sort_by_cached_key(|license| license.company);
        }
        let mut first = 0;
        for licenses in self.licenses.chunk_by_mut(|a, b| a.company == b.company) {
            for license in &mut *licenses {
                license.currency = number_in(&currencies, license.currency);
                license.product = number_in(&products, license.product);
                let total = self.total.checked_add(license.largest_amount());
                self.total = total.ok_or(ReportError::AmountTooLarge)?;
            }
            licenses.sort_unstable_by_key(License::order);
            let next = first + licenses.len();
            let id = licenses.first().map(|license| license.company);
            self.companies.extend(id.map(|id| Company { id, licenses: first..next }));
            first = next;
        }
        self.excluded.sort_unstable();
        self.excluded_parents.sort_unstable();
        Ok(self)
    }

    /// The time range around `now` in which no license and no day of the zone begins or ends: its start, and its
    /// exclusive end. A report is the same at any time in it.
    pub fn stable_range(&self, now: Timestamp, zone: Zone) -> Range<Timestamp> {
        let today = Day::at(now, zone);
        let mut first = today.begin(zone).unwrap_or(now).as_ms();
        let mut next = today.after().begin(zone).map_or(NEVER, Timestamp::as_ms);
        let times = |license: &License| match zone == self.zone {
            true => [license.from, license.end],
            false => license.times_in(zone),
        };
        for time in self.licenses.iter().flat_map(times) {
            if time <= now.as_ms() {
                first = first.max(time);
            } else {
                next = next.min(time);
            }
        }
        Timestamp::from_ms_clamped(first)..Timestamp::from_ms_clamped(next)
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
        let units = |amount| money_units::units_of(amount).ok_or(Reason::AmountTooLarge);
        let mrr = units(mrr)?;
        let terms = Terms {
            arr: facts.arr.map(units).transpose()?.filter(|arr| *arr != 12 * mrr),
            renewal: facts.renewal_mrr.map(units).transpose()?.filter(|renewal| *renewal != mrr),
            forecast: facts.forecast.map(units).transpose()?,
            optimistic: facts.optimistic.map(units).transpose()?,
            pessimistic: facts.pessimistic.map(units).transpose()?,
        };
        let mut license = License {
            id: facts.id,
            company: facts.company,
            currency: self.currencies.number(&facts.currency),
            product: self.products.number(&facts.product),
            fixed: facts.fixed,
            auto_renews: facts.auto_renews,
            status: facts.status,
            notice: facts.notice,
            dates: [facts.from, facts.end],
            from,
            end,
            mrr,
            parent: facts.parent,
            terms: (terms != Terms::default()).then(|| Box::new(terms)),
        };
        license.place(self.zone);
        Ok(license)
    }

    /// About how many bytes of memory the ledger takes.
    pub fn bytes(&self) -> usize {
        let terms = self.licenses.iter().filter(|license| license.terms.is_some()).count();
        self.licenses.len() * size_of::<License>()
            + self.companies.len() * size_of::<Company>()
            + self.excluded.len() * size_of::<(Reason, ObjectId, ObjectId)>()
            + self.excluded_parents.len() * size_of::<(ObjectId, ObjectId, ObjectId)>()
            + terms * size_of::<Terms>()
    }

    /// Number of licenses that count.
    pub fn len(&self) -> usize {
        self.licenses.len()
    }

    /// Whether no license counts.
    pub fn is_empty(&self) -> bool {
        self.licenses.is_empty()
    }

    /// Sum of the licenses' largest amounts, without their signs.
    pub(super) fn total(&self) -> i128 {
        self.total
    }

    /// Whether a company has a license, also one that does not count.
    pub fn has_company(&self, company: ObjectId) -> bool {
        self.companies(Some(company)).next().is_some()
            || self.excluded.iter().any(|(_, _, of)| *of == company)
    }

    /// Companies with their licenses, in the order of their ids; with a filter only one company.
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

    /// Number of currencies; they are numbered.
    pub(super) fn currency_count(&self) -> usize {
        self.currencies.names.len()
    }

    pub(super) fn currency(&self, number: u32) -> &str {
        self.currencies.name(number)
    }

    pub(super) fn product(&self, number: u32) -> &str {
        self.products.name(number)
    }

    /// A currency that many licenses share without a copy.
    pub(super) fn shared_currency(&self, number: u32) -> Arc<str> {
        self.currencies.shared(number)
    }

    /// A product that many licenses share without a copy.
    pub(super) fn shared_product(&self, number: u32) -> Arc<str> {
        self.products.shared(number)
    }

    /// Number of a product, if a license has it.
    pub(super) fn product_number(&self, name: &str) -> Option<u32> {
        self.products.numbers.get(name).copied()
    }

    /// Licenses that do not count, with their companies, by reason.
    pub(super) fn excluded(&self) -> &[(Reason, ObjectId, ObjectId)] {
        &self.excluded
    }

    /// Licenses of a company that do not count, but have a parent, and the parent.
    pub(super) fn excluded_parents(
        &self,
        company: ObjectId,
    ) -> impl Iterator<Item = (ObjectId, ObjectId)> {
        let first = self.excluded_parents.partition_point(|(of, ..)| *of < company);
        let parents = self.excluded_parents.iter().skip(first);
        parents.take_while(move |(of, ..)| *of == company).map(|(_, id, parent)| (*id, *parent))
    }
}
