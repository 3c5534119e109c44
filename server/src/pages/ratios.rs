//! The ratios that a figure of a report is a part of, as the report computes them.

use serde::{Deserialize, de::DeserializeOwned};
use svctrack_web::pages::{Ratio, RatioFormula, RatioValue, address};

use super::{
    report_names::{MRR, RENEWALS, RETENTION},
    visit::Visit,
};
use crate::error::Error;

/// Parameters of an explanation that the report itself does not have.
const OF_EXPLANATION: &[&str] = &["explain", "period", "currency", "segment", "cohort"];
/// Period of a figure of the whole report.
pub(super) const SPAN: &str = "span";

/// The ratios that a figure of a report is a part of.
pub(super) async fn ratios(
    visit: &Visit,
    report: &str,
    pairs: &[(&str, &str)],
) -> Result<Vec<Ratio>, Error> {
    match report {
        RETENTION if asked(pairs, "cohort").is_some() => of_cohort(visit, pairs).await,
        RETENTION => of_retention(visit, pairs).await,
        RENEWALS if asked(pairs, "explain") == Some("renewed") => of_renewals(visit, pairs).await,
        MRR if asked(pairs, "segment").is_none() => of_mrr(visit, pairs).await,
        _ => Ok(Vec::new()),
    }
}

fn asked<'q>(pairs: &[(&str, &'q str)], name: &str) -> Option<&'q str> {
    pairs.iter().find(|(known, _)| *known == name).map(|pair| pair.1)
}

/// The report that has the figure.
async fn report<T: DeserializeOwned>(
    visit: &Visit,
    name: &str,
    pairs: &[(&str, &str)],
) -> Result<T, Error> {
    let of_report = pairs.iter().filter(|(name, _)| !OF_EXPLANATION.contains(name));
    let of_report: Vec<_> = of_report.copied().collect();
    visit.api.get(&address("/reports/{}", &[name], &of_report)).await
}

/// Rows of a report in one currency.
#[derive(Deserialize)]
struct Series<R> {
    currency: String,
    rows: Vec<R>,
    /// Row of the whole report, where it has one.
    span: Option<R>,
}

/// The row of a figure: of its currency, or of all converted, and of its period, or of the whole report.
fn row_of<R>(
    (currencies, converted): (Vec<Series<R>>, Option<Series<R>>),
    pairs: &[(&str, &str)],
    period_of: fn(&R) -> &str,
) -> Option<R> {
    let series = match asked(pairs, "currency") {
        Some(currency) => currencies.into_iter().find(|series| series.currency == currency),
        None => converted,
    }?;
    match asked(pairs, "period").filter(|period| *period != SPAN) {
        Some(period) => series.rows.into_iter().find(|row| period_of(row) == period),
        None => series.span,
    }
}

/// Retention, as far as the ratios need it.
#[derive(Deserialize)]
struct Retention {
    formulas: Formulas,
    currencies: Vec<Series<Row>>,
    converted: Option<Series<Row>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Formulas {
    gross_mrr_churn: String,
    net_mrr_churn: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Row {
    period: String,
    base: f64,
    kept: f64,
    retained: f64,
    customers: f64,
    lost_customers: f64,
    grr: Option<f64>,
    nrr: Option<f64>,
    gross_mrr_churn: Option<f64>,
    net_mrr_churn: Option<f64>,
    logo_churn: Option<f64>,
}

/// The ratios of retention that a figure is a part of; all of them for the base.
async fn of_retention(visit: &Visit, pairs: &[(&str, &str)]) -> Result<Vec<Ratio>, Error> {
    let report: Retention = report(visit, RETENTION, pairs).await?;
    let row = row_of((report.currencies, report.converted), pairs, |row| &row.period);
    let line = asked(pairs, "explain").unwrap_or_default();
    Ok(row.map(|row| of_row(&row, &report.formulas, line)).unwrap_or_default())
}

fn of_row(row: &Row, formulas: &Formulas, line: &str) -> Vec<Ratio> {
    let quotient = RatioFormula::Quotient;
    let text = |formula: &String| RatioFormula::Text(formula.clone());
    let ratios = [
        ("kept", "GRR", row.grr, quotient(row.kept, row.base)),
        ("base", "Gross MRR churn", row.gross_mrr_churn, text(&formulas.gross_mrr_churn)),
        ("retained", "NRR", row.nrr, quotient(row.retained, row.base)),
        ("base", "Net MRR churn", row.net_mrr_churn, text(&formulas.net_mrr_churn)),
        ("churn", "Logo churn", row.logo_churn, quotient(row.lost_customers, row.customers)),
    ];
    let of_line = ratios.into_iter().filter(|(of, ..)| line == "base" || line == *of);
    of_line
        .filter_map(|(_, name, share, formula)| {
            Some(Ratio { name, formula, value: RatioValue::Share(share?) })
        })
        .collect()
}

/// Cohorts of retention, as far as the ratios need them.
#[derive(Deserialize)]
struct RetentionCohorts {
    cohorts: Option<Cohorts>,
}

#[derive(Deserialize)]
struct Cohorts {
    columns: Vec<Column>,
    currencies: Vec<CohortSeries>,
    converted: Option<CohortSeries>,
}

#[derive(Deserialize)]
struct Column {
    period: String,
}

#[derive(Deserialize)]
struct CohortSeries {
    currency: String,
    rows: Vec<Cohort>,
}

#[derive(Deserialize)]
struct Cohort {
    cohort: String,
    cells: Vec<Option<CohortCell>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CohortCell {
    mrr: f64,
    logos: f64,
    share: Option<f64>,
    logo_share: Option<f64>,
}

/// What a cohort still pays at the end of the period of a figure, as a share of its first period.
async fn of_cohort(visit: &Visit, pairs: &[(&str, &str)]) -> Result<Vec<Ratio>, Error> {
    let report: RetentionCohorts = report(visit, RETENTION, pairs).await?;
    Ok(report.cohorts.and_then(|cohorts| of_cell(cohorts, pairs)).unwrap_or_default())
}

fn of_cell(cohorts: Cohorts, pairs: &[(&str, &str)]) -> Option<Vec<Ratio>> {
    let Cohorts { columns, currencies, converted } = cohorts;
    let series = match asked(pairs, "currency") {
        Some(currency) => currencies.into_iter().find(|series| series.currency == currency),
        None => converted,
    }?;
    let (cohort, period) = (asked(pairs, "cohort")?, asked(pairs, "period")?);
    let row = series.rows.into_iter().find(|row| row.cohort == cohort)?;
    let first = row.cells.iter().flatten().next()?;
    let cells = columns.iter().zip(&row.cells);
    let cell = cells.filter(|(column, _)| column.period == period).find_map(|it| it.1.as_ref())?;
    let quotient = RatioFormula::Quotient;
    let ratios = [
        ("MRR kept", cell.share, quotient(cell.mrr, first.mrr)),
        ("Companies kept", cell.logo_share, quotient(cell.logos, first.logos)),
    ];
    let known = ratios.into_iter().filter_map(|(name, share, formula)| {
        Some(Ratio { name, formula, value: RatioValue::Share(share?) })
    });
    Some(known.collect())
}

/// Renewals, as far as the ratios need them.
#[derive(Deserialize)]
struct Renewals {
    currencies: Vec<Series<RenewalRow>>,
    converted: Option<Series<RenewalRow>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct RenewalRow {
    period: String,
    base: f64,
    renewed: f64,
    upgrade: f64,
    overdue: f64,
    open: f64,
    companies: f64,
    of_base: RenewalRates,
    of_decided: RenewalRates,
}

#[derive(Deserialize)]
struct RenewalRates {
    gross: Option<f64>,
    net: Option<f64>,
    logo: Option<f64>,
}

/// The renewal rates of the period of a figure.
async fn of_renewals(visit: &Visit, pairs: &[(&str, &str)]) -> Result<Vec<Ratio>, Error> {
    let report: Renewals = report(visit, RENEWALS, pairs).await?;
    let row = row_of((report.currencies, report.converted), pairs, |row| &row.period);
    let Some(row) = row else { return Ok(Vec::new()) };
    let decided = row.base - row.overdue - row.open;
    // The report has their share, to more digits than their number needs.
    let renewed_companies = row.of_base.logo.unwrap_or_default() * row.companies;
    let of_decided_companies = "companies with a renewed license / decided companies".to_owned();
    let with_upgrade = row.renewed + row.upgrade;
    let quotient = RatioFormula::Quotient;
    let (of_base, of_decided) = (row.of_base, row.of_decided);
    let ratios = [
        ("Gross", of_base.gross, quotient(row.renewed, row.base)),
        ("Net", of_base.net, quotient(with_upgrade, row.base)),
        ("Logo", of_base.logo, quotient(renewed_companies.round(), row.companies)),
        ("Gross of decided", of_decided.gross, quotient(row.renewed, decided)),
        ("Net of decided", of_decided.net, quotient(with_upgrade, decided)),
        ("Logo of decided", of_decided.logo, RatioFormula::Text(of_decided_companies)),
    ];
    let known = ratios.into_iter();
    Ok(known
        .filter_map(|(name, share, formula)| {
            Some(Ratio { name, formula, value: RatioValue::Share(share?) })
        })
        .collect())
}

/// MRR, as far as the ratios need it.
#[derive(Deserialize)]
struct Mrr {
    currencies: Vec<Series<MrrRow>>,
    converted: Option<Series<MrrRow>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MrrRow {
    period: String,
    end: f64,
    customers: f64,
    arpa: Option<f64>,
    new: f64,
    new_customers: f64,
    asp: Option<f64>,
}

/// What a customer pays on average, at the end of the period of a figure, or as a new one.
async fn of_mrr(visit: &Visit, pairs: &[(&str, &str)]) -> Result<Vec<Ratio>, Error> {
    let line = asked(pairs, "explain").unwrap_or_default();
    if !["end", "new"].contains(&line) {
        return Ok(Vec::new());
    }
    let report: Mrr = report(visit, MRR, pairs).await?;
    let row = row_of((report.currencies, report.converted), pairs, |row| &row.period);
    let Some(row) = row else { return Ok(Vec::new()) };
    let (name, value, formula) = match line {
        "end" => ("ARPA", row.arpa, RatioFormula::Quotient(row.end, row.customers)),
        _ => ("ASP", row.asp, RatioFormula::Quotient(row.new, row.new_customers)),
    };
    let ratio = value.map(|value| Ratio { name, formula, value: RatioValue::Amount(value) });
    Ok(ratio.into_iter().collect())
}
