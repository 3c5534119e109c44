//! Explanation of a figure: its companies and licenses, and the formula in numbers.

use super::{
    calendar::{Day, ReportPeriod},
    company_mrr::{CompanyMrr, ReportWindows, each_company},
    currency_rows::Series,
    customers::CompanyNameLookup,
    error::ReportError,
    hex,
    ledger::{Ledger, NEVER},
    money_units::{CONVERTED_SCALE, money, number_of},
    mrr_cohorts::{check_interval, cohort_of},
    mrr_movements::{CompanySegmentLookup, MovementRow, MovementsBuilder},
    mrr_sums::{CompanySums, MrrSums},
    options::{MovementView, ReportOptions},
    overdue::overdue_of,
    report_scope::{AmountTime, ReportScope},
    table::{TableRow, TextTable},
};
use crate::value::{
    Number, ObjectId, Timestamp,
    number::{MONEY_SCALE, RATE_SCALE},
};

/// A line of a report, of MRR or of retention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub enum ReportLine {
    /// MRR just before the period.
    Start,
    /// MRR just before the period ends.
    End,
    /// MRR of companies that never paid before: [`MovementRow::new`].
    New,
    /// MRR of companies that came back: [`MovementRow::reactivation`].
    Reactivation,
    /// Increase of what companies pay: [`MovementRow::expansion`].
    Expansion,
    /// Decrease of what companies pay: [`MovementRow::contraction`].
    Contraction,
    /// MRR of companies that stopped paying: [`MovementRow::churn`].
    Churn,
    /// Change of amounts below 0: [`MovementRow::negative`].
    Negative,
    /// MRR that came from other products: [`MovementRow::entering`].
    Entering,
    /// MRR that went to other products: [`MovementRow::leaving`].
    Leaving,
    /// Change by dated rates: [`MovementRow::fx`].
    Fx,
    /// MRR of overdue licenses: [`MovementRow::overdue`].
    Overdue,
    /// MRR at the start of companies that pay more than 0: the base of ratios.
    Base,
    /// MRR that is retained of the base: the numerator of GRR.
    Kept,
    /// MRR of the same companies at the end: the numerator of NRR.
    Retained,
}

impl ReportLine {
    /// Values of the parameter `explain` for the MRR report, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &[
        "start",
        "end",
        "new",
        "reactivation",
        "expansion",
        "contraction",
        "churn",
        "negative",
        "entering",
        "leaving",
        "fx",
        "overdue",
        "base",
        "kept",
        "retained",
    ];
    const ALL: [Self; 15] = [
        Self::Start,
        Self::End,
        Self::New,
        Self::Reactivation,
        Self::Expansion,
        Self::Contraction,
        Self::Churn,
        Self::Negative,
        Self::Entering,
        Self::Leaving,
        Self::Fx,
        Self::Overdue,
        Self::Base,
        Self::Kept,
        Self::Retained,
    ];

    /// The line with this name.
    ///
    /// # Errors
    /// [`ReportError::UnknownChoice`] where there is none.
    pub fn parse(name: &str) -> Result<Self, ReportError> {
        line_of(Self::NAMES, &Self::ALL, name)
    }

    pub(super) fn name(self) -> &'static str {
        name_of(Self::NAMES, &Self::ALL, self)
    }

    fn amount(self, sums: &MrrSums) -> i128 {
        let (paid, moves) = (&sums.paid, &sums.moves);
        match self {
            Self::Start => paid.start - sums.fx,
            Self::End => paid.end,
            Self::New => moves.new,
            Self::Reactivation => moves.reactivation,
            Self::Expansion => moves.expansion,
            Self::Contraction => moves.contraction,
            Self::Churn => moves.churn,
            Self::Negative => moves.negative,
            Self::Entering => moves.entering,
            Self::Leaving => moves.leaving,
            Self::Fx => sums.fx,
            Self::Overdue => sums.overdue.amount,
            Self::Base => paid.base,
            Self::Kept => paid.kept(),
            Self::Retained => paid.retained(),
        }
    }
}

/// The line of a name, among all of a report.
pub(super) fn line_of<L: Copy>(
    names: &'static [&'static str],
    lines: &[L],
    name: &str,
) -> Result<L, ReportError> {
    let known = names.iter().zip(lines).find(|(known, _)| **known == name);
    let line = known.map(|(_, line)| *line);
    line.ok_or_else(|| ReportError::UnknownChoice("explain", names, name.to_owned()))
}

/// The name of a line.
pub(super) fn name_of<L: PartialEq>(
    names: &'static [&'static str],
    lines: &[L],
    line: L,
) -> &'static str {
    let known = names.iter().zip(lines).find(|(_, known)| **known == line);
    known.map_or("", |(name, _)| name)
}

/// A figure of the MRR report, the retention or the cohorts: a line of a period, in a currency or converted.
#[derive(Clone, Debug)]
pub struct Cell {
    /// The first day of the period: of an interval, of a trailing year, or of a whole report.
    pub from: Day,
    /// First day after the period.
    pub to: Day,
    /// The line of the report that is explained.
    pub line: ReportLine,
    /// Currency; none for all in the base currency.
    pub currency: Option<String>,
    /// Segment, where one is requested: its name, or none for companies without one.
    pub segment: Option<Option<String>>,
    /// Only companies that first paid in the interval with this name, such as `2024-Q1`: the figure is one of
    /// [`Cohorts`](super::Cohorts).
    pub cohort: Option<String>,
}

/// Companies and licenses from which a figure of a [`Cell`] is computed.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// The line of the report that is explained.
    pub line: ReportLine,
    /// The first day of the period.
    pub from: Day,
    /// First day after the period.
    pub to: Day,
    /// The currency of the amounts.
    pub currency: String,
    /// The figure, in the view of the report.
    pub amount: Number,
    /// Figure by the MRR at both ends of the period.
    pub end_points: Number,
    /// The figure by each change.
    pub activities: Number,
    /// Formula that adds up the amounts of the companies.
    pub formula: String,
    /// Companies, the largest amounts first.
    pub companies: Vec<CompanyShare>,
}

/// The part of a company.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompanyShare {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Name of the company, where it is known.
    pub name: Option<String>,
    /// Amount of the company under the line.
    pub amount: Number,
    /// MRR of the company just before the period, after each change in it, and just before its end.
    pub pays: Vec<Number>,
    /// Formula of the amount: `1000 -> 1200: expansion 200`.
    pub formula: String,
    /// Licenses of the company that last in the period, or are overdue.
    pub licenses: Vec<LicenseShare>,
}

/// A license of a company.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LicenseShare {
    /// `_id` of the license.
    #[serde(serialize_with = "hex::one")]
    pub license: ObjectId,
    /// Product of the license; empty for none.
    pub product: String,
    /// Currency of `mrr`.
    pub currency: String,
    /// First day of the license.
    pub from: Day,
    /// First day after the license.
    pub end: Option<Day>,
    /// Day up to which the license counts, where a gap or an overlap is bridged.
    pub bridged_end: Option<Day>,
    /// Monthly value, not converted.
    pub mrr: Number,
    /// Exchange rate of the amount; null where it is not converted.
    pub rate: Option<Number>,
    /// Whether the license counts just before the period.
    pub at_start: bool,
    /// Whether the license counts just before the end of the period.
    pub at_end: bool,
}

/// Explains a figure of [`mrr`](super::mrr), [`retention`](super::retention) or [`cohorts`](super::cohorts); the MRR of
/// a cohort's cell is its [`ReportLine::End`].
///
/// # Errors
/// When an option is invalid, [`ReportError::NotConverted`] where a currency has no rate and none is requested, or
/// [`ReportError::UnknownCell`] for a currency that does not occur, or a segment or a cohort without companies.
pub fn explain(
    ledger: &Ledger,
    options: &ReportOptions,
    segment_of: Option<CompanySegmentLookup<'_>>,
    cell: &Cell,
) -> Result<Explanation, ReportError> {
    if cell.cohort.is_some() {
        check_interval(options.interval)?;
    }
    let options = &narrowed(options, cell.from, cell.to);
    let scope = ReportScope::of_span(ledger, options, AmountTime::Report)?;
    let number = scope.asked_currency(cell.currency.as_deref())?;
    let base = scope.base.clone().unwrap_or_default();
    let mut has_segment = cell.segment.is_none();
    let mut has_cohort = cell.cohort.is_none();
    let explainer = ExplanationBuilder {
        scope: &scope,
        number,
        line: cell.line,
        scale: if number.is_some() { MONEY_SCALE } else { CONVERTED_SCALE },
    };
    let mut totals = [0; 2];
    let mut companies: Vec<(i128, CompanyShare)> = Vec::new();
    each_company(&scope, |company| {
        let asked = cell.segment.as_ref().zip(segment_of);
        if asked.is_some_and(|(asked, segment_of)| segment_of(company.linked.id) != *asked) {
            return;
        }
        has_segment = true;
        if let Some(cohort) = &cell.cohort {
            if cohort_of(&scope, company).is_none_or(|day| options.interval.name(day) != *cohort) {
                return;
            }
            has_cohort = true;
        }
        let amounts = [MovementView::EndPoints, MovementView::Activities]
            .map(|view| explainer.amount(company, view));
        totals.iter_mut().zip(amounts).for_each(|(total, amount)| *total += amount);
        let [end_points, activities] = amounts;
        let own = if options.view == MovementView::Activities { activities } else { end_points };
        if own != 0 {
            companies.push((own, explainer.share(company, own)));
        }
    });
    if !has_segment {
        return Err(ReportError::UnknownCell("segment"));
    }
    if !has_cohort {
        return Err(ReportError::UnknownCell("cohort"));
    }
    companies.sort_by_key(|(amount, share)| (std::cmp::Reverse(amount.abs()), share.company));
    let [end_points, activities] = totals.map(|total| explainer.number(total));
    let amount = if options.view == MovementView::Activities { activities } else { end_points };
    Ok(Explanation {
        line: cell.line,
        from: cell.from,
        to: cell.to,
        currency: cell.currency.clone().unwrap_or(base),
        amount,
        end_points,
        activities,
        formula: add_up(cell.line.name(), amount, companies.iter().map(|(_, share)| share.amount)),
        companies: companies.into_iter().map(|(_, share)| share).collect(),
    })
}

/// Maximum number of companies that a formula names.
const MAX_TERMS: usize = 5;

/// Formula that adds up the amounts of companies to that of a line.
pub(super) fn add_up(
    line: &str,
    amount: Number,
    mut companies: impl ExactSizeIterator<Item = Number>,
) -> String {
    let terms = companies.by_ref().take(MAX_TERMS).map(|amount| amount.to_string());
    let mut terms: Vec<String> = terms.collect();
    if companies.len() > 0 {
        terms.push(format!("{} more", companies.len()));
    }
    match terms.as_slice() {
        [] => format!("{line} = 0"),
        terms => format!("{line} = {} = {amount}", terms.join(" + ")),
    }
}

/// Options for the only period of a cell, at the rates of the report.
pub(super) fn narrowed(options: &ReportOptions, from: Day, to: Day) -> ReportOptions {
    let rate_date = Some(options.rate_date.unwrap_or(options.to.before()));
    ReportOptions { from, to, rate_date, ..options.clone() }
}

struct ExplanationBuilder<'l> {
    scope: &'l ReportScope<'l>,
    number: Option<u32>,
    line: ReportLine,
    scale: u32,
}

impl ExplanationBuilder<'_> {
    fn number(&self, units: i128) -> Number {
        number_of(units, self.scale)
    }

    /// The period as a single window.
    fn window(&self) -> (i64, i64) {
        let bounds = &self.scope.bounds;
        let start = bounds.starts().first().copied().unwrap_or_default();
        (start, bounds.ends().last().copied().unwrap_or_default())
    }

    fn amount(&self, company: &CompanyMrr<'_>, view: MovementView) -> i128 {
        let (start, end) = self.window();
        let windows = ReportWindows { starts: &[start], ends: &[end] };
        let mut company_sums = CompanySums::new(self.scope, windows.len(), view);
        company_sums.add(self.scope, company, windows);
        let sums = match self.number {
            Some(number) => company_sums.in_currency(number),
            None => company_sums.converted(self.scope),
        };
        sums.first().map_or(0, |sums| self.line.amount(sums))
    }

    fn rate(&self, currency: u32) -> i128 {
        match self.number {
            Some(number) => i128::from(number == currency),
            None => self.scope.last_rate(currency),
        }
    }

    fn share(&self, company: &CompanyMrr<'_>, amount: i128) -> CompanyShare {
        let (start, end) = self.window();
        let amount = self.number(amount);
        let steps = company.parts.iter().flat_map(|(_, stream)| stream.steps());
        let mut times: Vec<i64> =
            steps.map(|step| step.at).filter(|at| start <= *at && *at < end).collect();
        times.sort_unstable();
        times.dedup();
        let pays = |before: i64| {
            let parts = company.parts.iter();
            self.number(
                parts
                    .map(|(currency, stream)| {
                        stream.paid_before(before).counted * self.rate(*currency)
                    })
                    .sum(),
            )
        };
        let mut amounts = vec![pays(start)];
        amounts.extend(times.iter().map(|time| pays(time.saturating_add(1))));
        amounts.dedup();
        let texts: Vec<String> = amounts.iter().map(ToString::to_string).collect();
        CompanyShare {
            company: company.linked.id,
            name: None,
            amount,
            formula: format!("{}: {} {amount}", texts.join(" -> "), self.line.name()),
            pays: amounts,
            licenses: self.licenses(company),
        }
    }

    fn licenses(&self, company: &CompanyMrr<'_>) -> Vec<LicenseShare> {
        let (start, last) = self.window();
        let day = |time| Day::at(Timestamp::from_ms_clamped(time), self.scope.options.zone);
        let overdue: Vec<ObjectId> =
            overdue_of(self.scope, &company.linked).map(|license| license.id).collect();
        let licenses =
            company.linked.links.with_ends(company.linked.licenses).filter(|(license, end)| {
                let lasts = license.from < last && start <= *end;
                let is_overdue = self.line == ReportLine::Overdue && overdue.contains(&license.id);
                (lasts || is_overdue)
                    && self.scope.counts(license)
                    && self.rate(license.currency) != 0
            });
        let ledger = &self.scope.ledger;
        let share = |(license, end): (&super::ledger::License, i64)| LicenseShare {
            license: license.id,
            product: ledger.product(license.product).to_owned(),
            currency: ledger.currency(license.currency).to_owned(),
            from: day(license.from),
            end: license.end_time().map(|end| Day::at(end, self.scope.options.zone)),
            bridged_end: (end != license.end && end != NEVER).then(|| day(end)),
            mrr: money(license.mrr),
            rate: self
                .number
                .is_none()
                .then(|| number_of(self.scope.last_rate(license.currency), RATE_SCALE)),
            at_start: license.from < start && start <= end,
            at_end: license.from < last && last <= end,
        };
        licenses.map(share).collect()
    }
}

impl Explanation {
    /// Adds the names of the companies.
    pub(super) fn named(mut self, name_of: CompanyNameLookup<'_>) -> Self {
        self.companies.iter_mut().for_each(|share| share.name = name_of(share.company));
        self
    }

    /// Licenses as text, each with the amount of its company.
    pub fn table(&self) -> TextTable {
        let mut table = TextTable::new([
            "company",
            "companyName",
            "companyAmount",
            "currency",
            "formula",
            "license",
            "product",
            "licenseCurrency",
            "from",
            "end",
            "bridgedEnd",
            "mrr",
            "rate",
            "atStart",
            "atEnd",
        ]);
        for company in &self.companies {
            for license in &company.licenses {
                let row = TableRow::default().text(company.company).option(company.name.as_ref());
                let row = row.money(&[company.amount], &self.currency).text(&self.currency);
                let row = row.text(&company.formula).text(license.license).text(&license.product);
                let row = row.text(&license.currency).text(license.from).option(license.end);
                let row = row.option(license.bridged_end).money(&[license.mrr], &license.currency);
                let row = row.option(license.rate).text(license.at_start).text(license.at_end);
                table.push(row);
            }
        }
        table
    }
}

/// MRR movements of one company in one period, in each currency.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CompanyMovements {
    /// `_id` of the company.
    #[serde(serialize_with = "hex::one")]
    pub company: ObjectId,
    /// Movements in each currency.
    pub currencies: Vec<Series<MovementRow>>,
    /// Movements in the base currency; null where a rate is missing.
    pub converted: Option<Series<MovementRow>>,
}

/// Movements of each company that pays at an end of the report or moves in it, as the rows of one period, for the
/// companies of a closed month and for its comparison with current data.
///
/// # Errors
/// When an option is invalid.
pub fn mrr_by_company(
    ledger: &Ledger,
    options: &ReportOptions,
) -> Result<Vec<CompanyMovements>, ReportError> {
    let scope = ReportScope::of_span(ledger, options, AmountTime::Report)?;
    let (Some(start), Some(end)) = (scope.bounds.starts().first(), scope.bounds.ends().last())
    else {
        return Ok(Vec::new());
    };
    let windows = ReportWindows { starts: &[*start], ends: &[*end] };
    let period = ReportPeriod { period: "span".to_owned(), from: options.from, to: options.to };
    let builder = MovementsBuilder { scope: &scope, periods: vec![period] };
    let mut rows = Vec::new();
    each_company(&scope, |company| {
        let mut company_sums = CompanySums::new(&scope, windows.len(), options.view);
        company_sums.add(&scope, company, windows);
        let currencies = builder.currencies(&company_sums);
        let moves =
            |series: &Series<MovementRow>| series.rows.iter().any(MovementRow::is_something);
        if currencies.iter().any(moves) {
            let converted = builder.converted(&company_sums);
            rows.push(CompanyMovements { company: company.linked.id, currencies, converted });
        }
    });
    Ok(rows)
}
