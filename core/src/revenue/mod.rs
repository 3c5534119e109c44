//! Reports on revenue and usage.
//!
//! | Report | Function | Returns | Explains a figure |
//! |---|---|---|---|
//! | MRR and its movements | [`mrr`] | [`Movements`] | [`explain()`] |
//! | retention, cohorts | [`retention`], [`cohorts`] | [`Retention`], [`Cohorts`] | [`explain()`] |
//! | renewals | [`renewals`] | [`Renewals`] | [`explain_renewals`] |
//! | forecast | [`forecast`] | [`Forecast`] | [`explain_forecast`] |
//! | customers by MRR at stake | [`customers`] | [`Customers`] | each [`Customer`] has its [`AtStake`] |
//! | usage, from activities | [`UsageDays`] | [`UsageReport`] | [`UsageExplanation`] |
//!
//! [`report`] computes each of them from a [`ReportQuery`], and [`Closing`] closes a month.
//!
//! Every report is a pure function of a [`Ledger`] and [`ReportOptions`]. A ledger is created from [`LicenseFacts`], which
//! come from records or are created by hand. A license counts from its start until its end, which is exclusive (R23).
//! Movements compare the total MRR of a company, never a single license. Amounts are exact; only a [`TextTable`] rounds
//! them for display.

mod at_stake;
mod calendar;
mod capped_list;
mod chart;
mod closed_difference;
mod closing;
mod company_mrr;
mod conversion;
mod currency_rows;
mod customer_facts;
mod customer_status;
mod customers;
mod customers_query;
mod error;
mod explain;
mod explained_line;
mod forecast;
mod forecast_explained;
mod hex;
mod ledger;
mod license_chain;
mod license_facts;
mod money_units;
mod movement_class;
mod mrr_cohorts;
mod mrr_movements;
mod mrr_sums;
mod options;
mod overdue;
mod overlaps;
mod parameters;
mod query;
mod rates;
mod renewal_line;
mod renewal_outcome;
mod renewals;
mod renewals_explained;
mod report;
mod report_header;
mod report_scope;
mod retention;
mod segments;
mod table;
mod usage_chart;
mod usage_days;
mod usage_explained;
mod usage_line;
mod usage_report;

#[doc(inline)]
pub use self::{
    at_stake::{AtStake, CustomerUsage, Weights},
    calendar::{Day, Interval, MAX_INTERVALS, ReportPeriod, Unit},
    capped_list::MAX_LISTED,
    chart::{Chart, ChartSeries, SeriesMark, UnfinishedIntervals},
    closed_difference::{
        ChangedLicense, ChangesSinceClosing, CompanyDifference, Difference, MonthDifference,
    },
    closing::{
        ClosedMonth, Closing, ClosingRequest, CompanyFigures, ListedMonth, MonthFigures,
        ReopenedMonth, Reopening, days_of_month,
    },
    conversion::MissingRate,
    currency_rows::Series,
    customers::{
        CompanyNameLookup, CurrencyAmount, Customer, CustomerSources, CustomerUsageLookup,
        Customers, customers,
    },
    customers_query::{CompanyAttributesLookup, CompanyFilter, CustomerPage},
    error::ReportError,
    explain::{
        Cell, CompanyMovements, CompanyShare, Explanation, LicenseShare, ReportLine, explain,
        mrr_by_company,
    },
    explained_line::{LineCell, LineCompany, LineExplanation},
    forecast::{Forecast, ForecastRow, LaterLicenses, Scenarios, forecast},
    forecast_explained::{
        ExpectedLicense, ForecastCell, ForecastExplanation, ForecastLine, explain_forecast,
    },
    ledger::{Ledger, Reason},
    license_facts::{LicenseFacts, RenewalStatus},
    mrr_cohorts::{Cohort, CohortCell, CohortColumn, Cohorts, cohorts},
    mrr_movements::{CompanySegmentLookup, MAX_SEGMENTS, MovementRow, Movements, Segment, mrr},
    options::{History, MAX_GAP_DAYS, MovementView, ReportOptions, Valuation},
    overdue::OverdueLicense,
    overlaps::Overlap,
    parameters::{PARAMETERS, Parameter, ParameterType},
    query::{ReportKind, ReportQuery},
    rates::ExchangeRates,
    renewal_line::{RenewalLine, RenewalLines},
    renewal_outcome::RenewalOutcome,
    renewals::{RenewalRates, RenewalRow, Renewals, RenewalsBy, renewals},
    renewals_explained::{
        RenewalShare, RenewalsCell, RenewalsExplanation, RenewalsLine, explain_renewals,
    },
    report::{ClosedMonthComparison, Report, ReportSources, RetentionAndCohorts, report},
    report_header::ReportHeader,
    report_scope::Excluded,
    retention::{Formulas, Retention, RetentionRow, RetentionSeries, retention},
    segments::SegmentBy,
    table::TextTable,
    usage_days::UsageDays,
    usage_explained::{
        ExplainedActivity, ExplainedCompany, ExplainedUsage, ExplainedUser, UsageExplanation,
    },
    usage_line::UsageLine,
    usage_report::{
        ActionRow, ActionTrend, ActiveCounts, MeanRetention, OtherActions, RetentionCell, Trend,
        UsageCohort, UsageFormulas, UsageReport, UsageRetention, UsageRow, UserCompanyLookup,
    },
};
#[doc(inline)]
pub use crate::resources::company_status::CompanyStatus;
