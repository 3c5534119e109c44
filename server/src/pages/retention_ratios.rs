//! The ratios of retention that a figure is a part of, as the report computes them.

use serde::Deserialize;
use svctrack_web::pages::{Ratio, RatioFormula, address};

use super::visit::Visit;
use crate::error::Error;

/// Parameters of an explanation that the report itself does not have.
const OF_EXPLANATION: &[&str] = &["explain", "period", "currency", "segment", "cohort"];
/// Period of a figure of the whole report.
pub(super) const SPAN: &str = "span";

/// The report, as far as the ratios need it.
#[derive(Deserialize)]
struct Retention {
    formulas: Formulas,
    currencies: Vec<Series>,
    converted: Option<Series>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Formulas {
    gross_mrr_churn: String,
    net_mrr_churn: String,
}

#[derive(Deserialize)]
struct Series {
    currency: String,
    rows: Vec<Row>,
    span: Row,
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

/// The ratios that a figure is a part of; all of them for the base.
pub(super) async fn ratios(visit: &Visit, pairs: &[(&str, &str)]) -> Result<Vec<Ratio>, Error> {
    let of_report = pairs.iter().filter(|(name, _)| !OF_EXPLANATION.contains(name));
    let path = address("/reports/retention", &[], &of_report.copied().collect::<Vec<_>>());
    let report: Retention = visit.api.get(&path).await?;
    let asked = |name: &str| pairs.iter().find(|(known, _)| *known == name).map(|pair| pair.1);
    let series = match asked("currency") {
        Some(currency) => report.currencies.iter().find(|series| series.currency == currency),
        None => report.converted.as_ref(),
    };
    let Some(series) = series else { return Ok(Vec::new()) };
    let row = match asked("period") {
        Some(period) if period != SPAN => series.rows.iter().find(|row| row.period == period),
        _ => Some(&series.span),
    };
    let line = asked("explain").unwrap_or_default();
    Ok(row.map(|row| of_row(row, &report.formulas, line)).unwrap_or_default())
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
        .filter_map(|(_, name, share, formula)| Some(Ratio { name, formula, share: share? }))
        .collect()
}
