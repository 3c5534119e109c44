//! Outcomes of the fixed licenses that are due in a period: renewed, churned, overdue, or open.
//!
//! A license that ends without a fixed period is not up for renewal (R23), nor is a fixed one without an end: the ongoing
//! ones are listed as excluded.
//!
//! `base = renewed + downgrade + churned + overdue + open`; upgrades come on top. Every rate is given twice: as a share
//! of the base, and of the decided part, which is the base without overdue and open.

use super::{
    calendar::{Day, ReportPeriod},
    currency_rows::{Series, scopes},
    error::ReportError,
    ledger::{Ledger, License, NEVER, Reason},
    license_chain::{LinkedCompany, each_linked},
    money_units::{CONVERTED_SCALE, number_of, ratio},
    options::ReportOptions,
    renewal_line::{RenewalLine, RenewalLines},
    renewal_outcome::{RenewalOutcome, outcome_of},
    renewals_explained::RenewalsLine,
    report_header::ReportHeader,
    report_scope::{AmountTime, Excluded, ReportScope, index},
    table::{TableRow, TextTable},
};
use crate::value::{Number, ObjectId, Timestamp, number::MONEY_SCALE};

/// By which day a license belongs to a period.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum RenewalsBy {
    /// Day on which the license ends.
    #[default]
    End,
    /// Last day of notice; licenses that do not renew automatically have none.
    Notice,
}

impl RenewalsBy {
    /// Values of the parameter `by`, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["end", "notice"];

    /// The day with this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        match name {
            "end" => Ok(Self::End),
            "notice" => Ok(Self::Notice),
            _ => Err(ReportError::UnknownChoice("by", Self::NAMES, name.to_owned())),
        }
    }
}

/// The outcomes of the licenses that end.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Renewals {
    /// The parameters, and the licenses that do not count.
    #[serde(flatten)]
    pub about: ReportHeader,
    /// By which day licenses belong to a period.
    pub by: RenewalsBy,
    /// Renewals in each currency.
    pub currencies: Vec<Series<RenewalRow>>,
    /// Renewals in the base currency; null where a rate is missing.
    pub converted: Option<Series<RenewalRow>>,
    /// Licenses of the figures, in the order of their days; as JSON the first [`MAX_LISTED`](super::MAX_LISTED) of
    /// them.
    pub licenses: RenewalLines,
    /// Total number of these licenses.
    pub licenses_total: usize,
}

/// The renewals of an interval.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RenewalRow {
    /// Name and days of the interval.
    #[serde(flatten)]
    pub period: ReportPeriod,
    /// MRR of the licenses.
    pub base: Number,
    /// MRR that is renewed.
    pub renewed: Number,
    /// MRR that renewals add to the old prices.
    pub upgrade: Number,
    /// MRR that renewals take off the old prices.
    pub downgrade: Number,
    /// MRR of licenses that are not renewed.
    pub churned: Number,
    /// MRR of licenses whose end is past and undecided.
    pub overdue: Number,
    /// MRR of licenses whose end is ahead and undecided.
    pub open: Number,
    /// Number of licenses that are renewed in another currency without a rate: they count as renewed at their own
    /// price, neither for more nor for less.
    pub not_compared: i64,
    /// Number of licenses that end in the interval.
    pub licenses: i64,
    /// Number of companies with a license that ends in the interval.
    pub companies: i64,
    /// Rates of the base.
    pub of_base: RenewalRates,
    /// Rates of the decided part.
    pub of_decided: RenewalRates,
}

/// Renewal rates, rounded to 10 decimals; null where they have no denominator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
pub struct RenewalRates {
    /// Gross renewal rate: renewed / base.
    pub gross: Option<Number>,
    /// (renewed + upgrade) / base
    pub net: Option<Number>,
    /// Companies with a renewed license / companies.
    pub logo: Option<Number>,
}

/// Outcomes of the licenses that end in a period, or whose notice does. With `listed`, only licenses of this outcome are
/// listed; the figures stay those of all.
///
/// # Errors
/// When an option is invalid.
pub fn renewals(
    ledger: &Ledger,
    options: &ReportOptions,
    by: RenewalsBy,
    listed: Option<RenewalOutcome>,
) -> Result<Renewals, ReportError> {
    let scope = ReportScope::new(ledger, options, AmountTime::Any)?;
    let windows = scope.bounds.len();
    let mut sums = vec![Vec::new(); ledger.currency_count()];
    sums.fill_with(|| vec![RenewalSums::default(); windows]);
    let mut total = vec![RenewalSums::default(); windows];
    let companies = ledger.companies(options.company);
    let most: usize = companies.map(|(_, licenses)| licenses.len()).sum();
    // With the room for all, no line moves; what stays empty takes no memory.
    let mut lines: Vec<RenewalLine> = Vec::with_capacity(most);
    let (mut not_fixed, mut endless): (Vec<ObjectId>, Vec<ObjectId>) = Default::default();
    let mut ending: Vec<EndingLicense> = Vec::new();
    let is_listed = |license: &License| {
        interval_of(&scope, license, by).is_some() || reason_of(&scope, license, by).is_some()
    };
    let has_one = |licenses: &[License]| licenses.iter().any(is_listed);
    each_linked(&scope, has_one, |company| {
        ending.clear();
        ending.extend(EndingLicense::all(&scope, &company, by));
        // A stable sort: within an interval, each currency's licenses stay next to each other.
        ending.sort_by_key(|ending| ending.interval);
        for licenses in ending.chunk_by(|a, b| a.interval == b.interval) {
            add(&mut total, licenses, |ending| {
                ending.converted(|currency| scope.rate(ending.interval, currency))
            });
            for licenses in licenses.chunk_by(|a, b| a.currency == b.currency) {
                let number = licenses.first().map_or(0, |ending| ending.currency);
                if let Some(sums) = sums.get_mut(index(number)) {
                    add(sums, licenses, |ending| ending.in_own_currency(&scope));
                }
            }
        }
        let of_outcome =
            ending.iter().filter(|ending| listed.is_none_or(|listed| ending.outcome == listed));
        lines.extend(of_outcome.filter_map(|ending| ending.line(&scope, &company)));
        for (at, license) in company.licenses.iter().enumerate() {
            match reason_of(&scope, license, by) {
                _ if company.links.successor(at).is_some() => {}
                Some(Reason::NoFixedPeriod) => not_fixed.push(license.id),
                Some(Reason::NoEnd) => endless.push(license.id),
                _ => {}
            }
        }
    });
    let mut about = ReportHeader::from_scope(&scope);
    about.excluded.extend(Excluded::of(Reason::NoFixedPeriod, not_fixed));
    about.excluded.extend(Excluded::of(Reason::NoEnd, endless));
    let periods = scope.bounds.periods();
    let currencies = scope.currencies.iter().filter_map(|number| {
        let currency = ledger.currency(*number).to_owned();
        Some(series(currency, &periods, sums.get(index(*number))?, MONEY_SCALE))
    });
    let base = scope.base.clone().filter(|_| scope.converts());
    Ok(Renewals {
        about,
        by,
        currencies: currencies.collect(),
        converted: base.map(|base| series(base, &periods, &total, CONVERTED_SCALE)),
        licenses_total: lines.len(),
        licenses: RenewalLines::new(lines, by),
    })
}

/// A license that ends in an interval, and its outcome.
#[derive(Debug)]
pub(super) struct EndingLicense {
    at: usize,
    interval: usize,
    pub(super) currency: u32,
    mrr: i128,
    outcome: RenewalOutcome,
    /// Monthly amount of the successor, and its currency.
    renewed: i128,
    renewed_currency: u32,
}

/// Share of an ending license in the figures of its interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct DueAmounts {
    pub(super) mrr: i128,
    /// Renewed MRR; none in another currency that cannot be compared.
    pub(super) renewed: Option<i128>,
    outcome: RenewalOutcome,
}

impl EndingLicense {
    /// The licenses of a company that belong to an interval.
    pub(super) fn all<'a>(
        scope: &'a ReportScope<'_>,
        company: &'a LinkedCompany<'_>,
        by: RenewalsBy,
    ) -> impl Iterator<Item = Self> + 'a {
        company.licenses.iter().enumerate().filter_map(move |(at, license)| {
            let interval = interval_of(scope, license, by)?;
            let (outcome, renewed, renewed_currency) = outcome_of(scope, company, at, license);
            let (currency, mrr) = (license.currency, license.mrr);
            Some(Self { at, interval, currency, mrr, outcome, renewed, renewed_currency })
        })
    }

    /// Share of the license in its currency.
    pub(super) fn in_own_currency(&self, scope: &ReportScope<'_>) -> DueAmounts {
        let currencies = (self.renewed_currency, self.currency);
        let renewed = scope.exchanged(self.interval, self.renewed, currencies);
        DueAmounts { mrr: self.mrr, renewed, outcome: self.outcome }
    }

    /// Share of the license in the base currency, at a rate for each currency.
    pub(super) fn converted(&self, rate: impl Fn(u32) -> i128) -> DueAmounts {
        let renewed = Some(self.renewed * rate(self.renewed_currency));
        DueAmounts { mrr: self.mrr * rate(self.currency), renewed, outcome: self.outcome }
    }

    pub(super) fn line(
        &self,
        scope: &ReportScope<'_>,
        company: &LinkedCompany<'_>,
    ) -> Option<RenewalLine> {
        let license = company.licenses.get(self.at)?;
        let successor = company.links.successor(self.at).and_then(|at| company.licenses.get(at));
        let renewed = self.outcome == RenewalOutcome::Renewed;
        Some(RenewalLine {
            license: license.id,
            company: company.id,
            company_name: None,
            product: scope.ledger.shared_product(license.product),
            currency: scope.ledger.shared_currency(license.currency),
            end: Day::at(Timestamp::from_ms_clamped(license.end), scope.options.zone),
            notice: notice_of(scope, license),
            mrr: number_of(self.mrr, MONEY_SCALE),
            outcome: self.outcome,
            renewed_mrr: renewed.then(|| number_of(self.renewed, MONEY_SCALE)),
            renewed_currency: renewed.then(|| scope.ledger.shared_currency(self.renewed_currency)),
            successor: successor.map(|successor| successor.id),
        })
    }
}

/// Number of the interval of a point in time.
fn interval_at(scope: &ReportScope<'_>, time: i64) -> Option<usize> {
    let interval = scope.bounds.ends().partition_point(|end| *end <= time);
    scope.bounds.starts().get(interval).filter(|start| **start <= time)?;
    Some(interval)
}

/// Number of the interval that a license belongs to; none if it is not up for renewal in the report.
fn interval_of(scope: &ReportScope<'_>, license: &License, by: RenewalsBy) -> Option<usize> {
    if !license.expires() || license.mrr < 0 || !scope.counts(license) {
        return None;
    }
    let time = match by {
        RenewalsBy::End => license.end,
        RenewalsBy::Notice => notice_of(scope, license)?.begin(scope.options.zone)?.as_ms(),
    };
    interval_at(scope, time)
}

/// Why a license is not up for renewal, if nobody has said what follows it: it ends in the report without a fixed
/// period, or is fixed and has no end.
fn reason_of(scope: &ReportScope<'_>, license: &License, by: RenewalsBy) -> Option<Reason> {
    let is_undecided = license.is_ongoing() && license.mrr >= 0 && scope.counts(license);
    if by != RenewalsBy::End || !is_undecided {
        return None;
    }
    match (license.fixed, license.end == NEVER) {
        (false, false) => interval_at(scope, license.end).map(|_| Reason::NoFixedPeriod),
        (true, true) => {
            let has_begun = scope.bounds.ends().last().is_some_and(|end| license.from < *end);
            has_begun.then_some(Reason::NoEnd)
        }
        _ => None,
    }
}

/// The last day on which a license that renews automatically can be canceled.
pub(super) fn notice_of(scope: &ReportScope<'_>, license: &License) -> Option<Day> {
    let end = license.end_time().filter(|_| license.auto_renews && license.fixed)?;
    let day = Day::at(end, scope.options.zone);
    license.notice.map_or(Some(day), |(count, unit)| day.back(count, unit))
}

/// Sums of an interval.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RenewalSums {
    base: i128,
    renewed: i128,
    upgrade: i128,
    downgrade: i128,
    churned: i128,
    overdue: i128,
    open: i128,
    not_compared: i64,
    licenses: i64,
    companies: i64,
    decided_companies: i64,
    renewed_companies: i64,
}

/// Adds the licenses of one company that end in one interval.
fn add(
    sums: &mut [RenewalSums],
    licenses: &[EndingLicense],
    due: impl Fn(&EndingLicense) -> DueAmounts,
) {
    let Some(sums) = licenses.first().and_then(|ending| sums.get_mut(ending.interval)) else {
        return;
    };
    licenses.iter().for_each(|ending| sums.add(due(ending)));
    let is_renewed = licenses.iter().any(|ending| ending.outcome == RenewalOutcome::Renewed);
    let decided = [RenewalOutcome::Renewed, RenewalOutcome::Churned];
    let is_decided = licenses.iter().all(|ending| decided.contains(&ending.outcome));
    sums.companies += 1;
    sums.renewed_companies += i64::from(is_renewed);
    sums.decided_companies += i64::from(is_renewed || is_decided);
}

fn series(
    currency: String,
    periods: &[ReportPeriod],
    sums: &[RenewalSums],
    scale: u32,
) -> Series<RenewalRow> {
    let rows = periods.iter().zip(sums).map(|(period, sums)| sums.row(period, scale));
    Series { currency, rows: rows.collect() }
}

impl RenewalSums {
    pub(super) fn add(&mut self, due: DueAmounts) {
        let mrr = due.mrr;
        self.base += mrr;
        self.licenses += 1;
        match due.outcome {
            RenewalOutcome::Renewed => {
                let renewed = due.renewed.unwrap_or(mrr);
                self.not_compared += i64::from(due.renewed.is_none());
                self.renewed += renewed.min(mrr);
                self.upgrade += (renewed - mrr).max(0);
                self.downgrade += (mrr - renewed).max(0);
            }
            RenewalOutcome::Churned => self.churned += mrr,
            RenewalOutcome::Overdue => self.overdue += mrr,
            RenewalOutcome::Open => self.open += mrr,
        }
    }

    pub(super) fn amount(&self, line: RenewalsLine) -> i128 {
        match line {
            RenewalsLine::Base => self.base,
            RenewalsLine::Renewed => self.renewed,
            RenewalsLine::Upgrade => self.upgrade,
            RenewalsLine::Downgrade => self.downgrade,
            RenewalsLine::Churned => self.churned,
            RenewalsLine::Overdue => self.overdue,
            RenewalsLine::Open => self.open,
        }
    }

    fn row(&self, period: &ReportPeriod, scale: u32) -> RenewalRow {
        let number = |units| number_of(units, scale);
        let rates = |base: i128, companies: i64| RenewalRates {
            gross: ratio(self.renewed, base),
            net: ratio(self.renewed + self.upgrade, base),
            logo: ratio(self.renewed_companies.into(), companies.into()),
        };
        RenewalRow {
            period: period.clone(),
            base: number(self.base),
            renewed: number(self.renewed),
            upgrade: number(self.upgrade),
            downgrade: number(self.downgrade),
            churned: number(self.churned),
            overdue: number(self.overdue),
            open: number(self.open),
            not_compared: self.not_compared,
            licenses: self.licenses,
            companies: self.companies,
            of_base: rates(self.base, self.companies),
            of_decided: rates(self.base - self.overdue - self.open, self.decided_companies),
        }
    }
}

impl Renewals {
    /// The rows as text.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "scope",
            "currency",
            "period",
            "from",
            "to",
            "base",
            "renewed",
            "upgrade",
            "downgrade",
            "churned",
            "overdue",
            "open",
            "licenses",
            "companies",
            "grossPercent",
            "netPercent",
            "logoPercent",
            "grossOfDecidedPercent",
            "netOfDecidedPercent",
            "logoOfDecidedPercent",
            "notCompared",
        ]);
        for (scope, series) in scopes(&self.currencies, self.converted.as_ref()) {
            for row in &series.rows {
                table.push(row.cells(scope, &series.currency));
            }
        }
        table.noted(&self.about.note())
    }

    /// The licenses as text.
    pub fn license_table(&self) -> TextTable {
        let mut table = TextTable::new([
            "license",
            "company",
            "companyName",
            "product",
            "currency",
            "end",
            "notice",
            "mrr",
            "outcome",
            "renewedMrr",
            "renewedCurrency",
            "successor",
        ]);
        for line in self.licenses.iter() {
            let row = TableRow::default().text(line.license).text(line.company);
            let row =
                row.option(line.company_name.as_ref()).text(&line.product).text(&line.currency);
            table.push(line.cells_of_outcome(row));
        }
        table.noted(&self.about.note())
    }
}

impl RenewalRow {
    fn cells(&self, scope: &str, currency: &str) -> TableRow {
        let row = TableRow::default().text(scope).text(currency).period(&self.period);
        let (base, decided) = (self.of_base, self.of_decided);
        row.money(
            &[
                self.base,
                self.renewed,
                self.upgrade,
                self.downgrade,
                self.churned,
                self.overdue,
                self.open,
            ],
            currency,
        )
        .text(self.licenses)
        .text(self.companies)
        .percent(&[base.gross, base.net, base.logo, decided.gross, decided.net, decided.logo])
        .text(self.not_compared)
    }
}
