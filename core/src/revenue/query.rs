//! Reads and checks the parameters of a report.

use std::collections::BTreeMap;

use super::{
    calendar::{Day, Interval},
    customers_query::CustomerPage,
    error::ReportError,
    explain::ReportLine,
    forecast_explained::ForecastLine,
    options::{MovementView, ReportOptions, Valuation},
    parameters::{PARAMETERS, Parameter, ParameterType},
    rates::ExchangeRates,
    renewal_outcome::RenewalOutcome,
    renewals::RenewalsBy,
    renewals_explained::RenewalsLine,
    segments::SegmentBy,
    usage_line::UsageLine,
};
use crate::{
    resources::company::COMPANY,
    schema::{Filter, UnknownParameter, sent_twice},
    value::{ObjectId, RecordRef, Timestamp, ValidationError, Zone, engagement::ACTIVITY_STATES},
};

/// Report to compute; each has a route of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReportKind {
    /// MRR and its movements: [`Movements`](super::Movements).
    Mrr,
    /// Retention with cohorts: [`RetentionAndCohorts`](super::RetentionAndCohorts).
    Retention,
    /// Licenses that end, and their outcomes: [`Renewals`](super::Renewals).
    Renewals,
    /// MRR to come, in scenarios: [`Forecast`](super::Forecast).
    Forecast,
    /// Customers by MRR at stake: [`Customers`](super::Customers).
    Customers,
    /// Active users and their actions: [`UsageReport`](super::UsageReport).
    Usage,
}

impl ReportKind {
    /// Whether properties of companies are filters of the report: it is computed from licenses.
    pub fn has_filters(self) -> bool {
        self != Self::Usage
    }
}

/// A report with its parameters.
#[derive(Clone, Debug)]
pub struct ReportQuery {
    pub(super) kind: ReportKind,
    from: Option<Day>,
    to: Option<Day>,
    interval: Interval,
    zone: Option<Zone>,
    view: MovementView,
    gap_days: u32,
    reactivation_within: Option<u32>,
    company: Option<RecordRef>,
    product: Option<String>,
    /// Currency to convert into; none for the tenant's base currency.
    pub(super) base: Option<String>,
    valuation: Valuation,
    rate_date: Option<Day>,
    assume_renewed: bool,
    as_of: Option<Timestamp>,
    pub(super) renewals_by: RenewalsBy,
    /// Outcome of the licenses to list; none for all.
    pub(super) outcome: Option<RenewalOutcome>,
    /// Property of the segments.
    pub(super) attributes: Vec<SegmentBy>,
    /// Filters by properties of companies, as of lists.
    pub(super) filters: Vec<Filter>,
    pub(super) explain: Option<Explain>,
    pub(super) page: CustomerPage,
    /// Which of the tables of a report is wanted.
    pub(super) part: ReportPart,
    is_dark: bool,
    is_narrow: bool,
    closed_month: Option<String>,
}

/// A figure to explain.
#[derive(Clone, Debug)]
pub(super) struct Explain {
    pub(super) line: ExplainedLine,
    pub(super) period: String,
    pub(super) currency: Option<String>,
    pub(super) segment: Option<String>,
    pub(super) cohort: Option<String>,
    pub(super) action: Option<String>,
    /// Whether companies are listed, instead of users.
    pub(super) is_of_companies: bool,
}

/// The line of a figure to explain.
#[derive(Clone, Copy, Debug)]
pub(super) enum ExplainedLine {
    Revenue(ReportLine),
    Forecast(ForecastLine),
    Renewals(RenewalsLine),
    Usage(UsageLine),
}

/// A table of a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum ReportPart {
    #[default]
    Figures,
    /// The cohorts of the retention.
    Cohorts,
    /// The licenses of the renewals.
    Licenses,
    /// The actions of usage.
    Actions,
}

impl ReportQuery {
    /// Reads the parameters of a report.
    ///
    /// # Errors
    /// All problems of the parameters.
    pub fn parse(
        kind: ReportKind,
        pairs: &[(String, String)],
    ) -> Result<Self, Vec<ValidationError>> {
        let mut sent = SentParameters::default();
        for (name, value) in pairs {
            sent.add(kind, name, value);
        }
        let query = sent.read(kind);
        if sent.issues.is_empty() { Ok(query) } else { Err(sent.issues) }
    }

    /// Query for the figures of each company in a closed month.
    pub fn of_closed_month(month: String) -> Self {
        Self { closed_month: Some(month), ..SentParameters::default().read(ReportKind::Mrr) }
    }

    /// The closed month whose companies are queried; `None` for any other report.
    pub fn closed_month(&self) -> Option<&str> {
        self.closed_month.as_deref()
    }

    /// The company that alone counts.
    pub fn company(&self) -> Option<&RecordRef> {
        self.company.as_ref()
    }

    /// Point in time of the report; none for the data that is stored now.
    pub fn as_of(&self) -> Option<Timestamp> {
        self.as_of
    }

    /// Whether the report compares the licenses of a point in time with those of now: the actual MRR of a forecast.
    pub fn needs_later_licenses(&self) -> bool {
        self.kind == ReportKind::Forecast && self.as_of.is_some()
    }

    /// Whether the report shows changes in closed months: MRR of all companies as it is now.
    pub fn has_closings(&self) -> bool {
        self.kind == ReportKind::Mrr
            && self.explain.is_none()
            && self.as_of.is_none()
            && self.company.is_none()
            && self.product.is_none()
            && self.filters.is_empty()
    }

    /// The properties of companies that divide the report into segments.
    pub fn attributes(&self) -> &[SegmentBy] {
        &self.attributes
    }

    /// The filters by properties of companies.
    pub fn filters(&self) -> &[Filter] {
        &self.filters
    }

    /// Whether the chart is for a dark background.
    pub fn is_dark(&self) -> bool {
        self.is_dark
    }

    /// Whether the chart is for a narrow screen, such as that of a phone.
    pub fn is_narrow(&self) -> bool {
        self.is_narrow
    }

    /// Whether the report is computed from activities, and not from licenses.
    pub fn is_of_activities(&self) -> bool {
        self.kind == ReportKind::Usage
    }

    /// Whether the report reads how companies use the product.
    pub fn needs_usage(&self) -> bool {
        self.kind == ReportKind::Customers
    }

    /// Time zone of the report's days, where the tenant has `of_tenant`.
    pub fn zone(&self, of_tenant: Zone) -> Zone {
        self.zone.unwrap_or(of_tenant)
    }

    /// The options of the report at a point in time, over the tenant's zone and rates, for a company that was found.
    ///
    /// # Errors
    /// [`ReportError::FromAfterTo`]
    pub fn options(
        &self,
        now: Timestamp,
        of_tenant: Zone,
        rates: Option<ExchangeRates>,
        company: Option<ObjectId>,
    ) -> Result<ReportOptions, ReportError> {
        let zone = self.zone(of_tenant);
        let today = Day::at(now, zone);
        let (from, to) = match self.kind {
            ReportKind::Mrr | ReportKind::Retention | ReportKind::Usage => {
                (today.first_of_month(-11), today.first_of_month(1))
            }
            ReportKind::Renewals | ReportKind::Forecast => {
                (today.first_of_month(0), today.first_of_month(12))
            }
            ReportKind::Customers => (today, today.after()),
        };
        let looks_ahead = matches!(self.kind, ReportKind::Renewals | ReportKind::Forecast);
        let to = match (self.to, self.from) {
            (Some(to), _) => to,
            (None, Some(sent)) if looks_ahead || to <= sent => sent.a_year_after(),
            (None, _) => to,
        };
        let from = self.from.unwrap_or(from);
        if to <= from {
            return Err(ReportError::FromAfterTo);
        }
        Ok(ReportOptions {
            from,
            to,
            interval: self.interval,
            zone,
            now,
            gap_days: self.gap_days,
            reactivation_within: self.reactivation_within,
            view: self.view,
            company,
            product: self.product.clone(),
            rates: match &self.base {
                Some(base) => {
                    Some(rates.unwrap_or_else(|| ExchangeRates::new(base)).with_base(base))
                }
                None => rates,
            },
            valuation: self.valuation,
            rate_date: self.rate_date,
            assume_renewed: self.assume_renewed,
            history: None,
        })
    }
}

/// Parameters as they were sent, and their problems.
#[derive(Default)]
struct SentParameters<'s> {
    values: BTreeMap<&'static str, &'s str>,
    filters: Vec<Filter>,
    issues: Vec<ValidationError>,
}

impl<'s> SentParameters<'s> {
    fn add(&mut self, kind: ReportKind, name: &str, value: &'s str) {
        let known = || PARAMETERS.iter().filter(|parameter| parameter.of.contains(&kind));
        if let Some(Parameter { name, .. }) = known().find(|parameter| parameter.name == name) {
            if self.values.insert(name, value).is_some() {
                self.issues.push(sent_twice(name));
            }
            return;
        }
        // A field that is computed at read is in the report itself, or is not known here.
        let field = Filter::field_of(COMPANY.fields, name)
            .filter(|field| kind.has_filters() && field.computed_at_read().is_none());
        match field.and_then(|_| Filter::parse(COMPANY.fields, name, value)) {
            Some(Err(issue)) => self.issues.push(issue),
            Some(Ok(filter)) => filter.join(&mut self.filters),
            None => {
                let of_companies = kind.has_filters().then(|| SegmentBy::nearest(name));
                let names = known().map(|parameter| parameter.name).chain(of_companies.flatten());
                self.issues.push(UnknownParameter::among(name, names).issue());
            }
        }
    }

    fn value<T>(
        &mut self,
        name: &'static str,
        read: impl FnOnce(&str) -> Result<T, ReportError>,
    ) -> Option<T> {
        let value = self.values.get(name).copied()?;
        read(value).map_err(|error| self.issues.push(error.into())).ok()
    }

    fn day(&mut self, name: &'static str) -> Option<Day> {
        let invalid = |text: &str| ReportError::InvalidDay(name, text.to_owned());
        self.value(name, |text| Day::parse(text).ok_or_else(|| invalid(text)))
    }

    fn number(&mut self, name: &'static str) -> Option<u32> {
        let bounds = PARAMETERS.iter().find_map(|parameter| match parameter.kind {
            ParameterType::Number(least, most) if parameter.name == name => Some([least, most]),
            _ => None,
        });
        let bounds @ [least, most] = bounds.unwrap_or([0, u32::MAX]);
        self.value(name, |text| {
            let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
            let number =
                text.parse().ok().filter(|number| is_plain && (least..=most).contains(number));
            number.ok_or_else(|| ReportError::InvalidNumber(name, bounds, text.to_owned()))
        })
    }

    fn choice(
        &mut self,
        name: &'static str,
        words: &'static [&'static str],
    ) -> Option<&'static str> {
        self.value(name, |text| {
            let word = words.iter().find(|word| **word == text).copied();
            word.ok_or_else(|| ReportError::UnknownChoice(name, words, text.to_owned()))
        })
    }

    fn text(&mut self, name: &'static str) -> Option<String> {
        self.value(name, |text| Ok(text.to_owned()))
    }

    fn read(&mut self, kind: ReportKind) -> ReportQuery {
        let is_segmented = kind == ReportKind::Mrr;
        let by = self.values.get("by").copied().filter(|_| is_segmented);
        let by =
            by.map(|name| SegmentBy::parse(name).map_err(|error| self.issues.push(error.into())));
        let page = self.page();
        let explain = self.explain(kind);
        self.check_needs();
        ReportQuery {
            kind,
            from: self.day("from"),
            to: self.day("to"),
            interval: self.value("interval", Interval::parse).unwrap_or(Interval::Month),
            zone: self.value("timeZone", ReportOptions::zone_of),
            view: self.value("view", MovementView::parse).unwrap_or_default(),
            gap_days: self.number("gapDays").unwrap_or_default(),
            reactivation_within: self.number("reactivationWithin"),
            company: self.value("companyId", |text| {
                RecordRef::parse(text).ok_or_else(|| ReportError::InvalidCompany(text.to_owned()))
            }),
            product: self.text("product"),
            base: self.text("baseCurrency"),
            valuation: self.value("rates", Valuation::parse).unwrap_or_default(),
            rate_date: self.day("rateDate"),
            assume_renewed: self.choice("assumeRenewed", FLAGS) == Some("true"),
            as_of: self.value("asOf", |text| {
                Timestamp::parse(text).ok_or_else(|| ReportError::InvalidTime(text.to_owned()))
            }),
            renewals_by: match is_segmented {
                true => RenewalsBy::default(),
                false => self.value("by", RenewalsBy::parse).unwrap_or_default(),
            },
            outcome: self.choice("outcome", RenewalOutcome::NAMES).and_then(RenewalOutcome::named),
            attributes: match by {
                Some(by) => by.into_iter().collect(),
                None => Vec::new(),
            },
            filters: std::mem::take(&mut self.filters),
            explain,
            page,
            is_dark: self.choice("theme", THEMES) == Some("dark"),
            is_narrow: self.choice("width", WIDTHS) == Some("narrow"),
            part: match self.choice("part", parts_of(kind)) {
                Some("cohorts") => ReportPart::Cohorts,
                Some("licenses") => ReportPart::Licenses,
                Some("actions") => ReportPart::Actions,
                _ => ReportPart::Figures,
            },
            closed_month: None,
        }
    }

    fn explain(&mut self, kind: ReportKind) -> Option<Explain> {
        let line = self.value("explain", |name| match kind {
            ReportKind::Forecast => ForecastLine::parse(name).map(ExplainedLine::Forecast),
            ReportKind::Renewals => RenewalsLine::parse(name).map(ExplainedLine::Renewals),
            ReportKind::Usage => UsageLine::parse(name).map(ExplainedLine::Usage),
            _ => ReportLine::parse(name).map(ExplainedLine::Revenue),
        });
        Some(Explain {
            line: line?,
            period: self.text("period").unwrap_or_else(|| SPAN.to_owned()),
            currency: self.text("currency"),
            segment: self.text("segment"),
            cohort: self.text("cohort"),
            action: self.text("action"),
            is_of_companies: self.choice("list", USAGE_LISTS) == Some("companies"),
        })
    }

    /// Reports parameters without effect: those that say something of another one, which was not sent, and a day of
    /// constant rates where rates are dated.
    fn check_needs(&mut self) {
        let has = |name: &str| self.values.contains_key(name);
        let lacks = NEEDS.iter().filter(|(name, other)| has(name) && !has(other));
        self.issues.extend(lacks.map(|(name, other)| ReportError::Needs(name, other).into()));
        if has("rateDate") && self.values.get("rates") == Some(&"dated") {
            self.issues.push(ReportError::NoEffectWith("rateDate", "rates=dated").into());
        }
    }

    fn page(&mut self) -> CustomerPage {
        CustomerPage {
            sort: self.value("sort", CustomerPage::sort_of).unwrap_or_default(),
            status: self.choice("status", CustomerPage::STATUSES),
            activity_state: self.choice("activityState", ACTIVITY_STATES),
            limit: self.number("limit").map_or(CustomerPage::LIMIT, index_of),
            offset: self.number("offset").map_or(0, index_of),
        }
    }
}

/// Parameters that need another one.
const NEEDS: &[(&str, &str)] = &[
    ("period", "explain"),
    ("currency", "explain"),
    ("segment", "explain"),
    ("segment", "by"),
    ("cohort", "explain"),
    ("action", "explain"),
    ("list", "explain"),
];
/// Name of the whole report among its periods.
pub(super) const SPAN: &str = "span";
pub(super) const THEMES: &[&str] = &["light", "dark"];
pub(super) const WIDTHS: &[&str] = &["wide", "narrow"];
/// What an explanation of usage can list.
pub(super) const USAGE_LISTS: &[&str] = &["users", "companies"];
pub(super) const FLAGS: &[&str] = &["true", "false"];

pub(super) const fn parts_of(kind: ReportKind) -> &'static [&'static str] {
    match kind {
        ReportKind::Retention => &["figures", "cohorts"],
        ReportKind::Renewals => &["figures", "licenses"],
        ReportKind::Usage => &["figures", "cohorts", "actions"],
        ReportKind::Mrr | ReportKind::Forecast | ReportKind::Customers => &["figures"],
    }
}

fn index_of(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
