//! The page of a company: MRR and MRR at stake, a timeline of its licenses, and its usage.

use std::collections::HashMap;

use serde_json::{Map, Value};
use svctrack_core::{
    resources::settings::BaseCurrency,
    value::{Zone, counted},
};
use svctrack_web::pages::{
    ActivityColumns, CustomerLine, Figure, LicenseLine, RecordSection, RecordView, Timeline,
    address, distance, money,
};

use super::{
    activity,
    by_ids::text,
    customers::Customers,
    excluded_licenses::{excluded, reasons_by_license},
    person_sections::engagement,
    renewals,
    reports::picture_of_company,
    visit::Visit,
};
use crate::error::Error;

/// Maximum number of licenses in the timeline.
const LICENSES: usize = 50;
/// The properties of a license that the picture needs.
const OF_LICENSE: &str = "product,_currency,fromDate,toDate,mrr,renewalStatus,isOverdue";

/// The sections of the page of a company.
pub(super) async fn extend(visit: &Visit, id: &str, view: &mut RecordView) -> Result<(), Error> {
    let facts = facts(&view.record);
    if !facts.is_empty() {
        view.extra.push(RecordSection::Facts(facts));
    }
    let may_report = visit.api.may("reports:read");
    let mut found = Customers::default();
    if may_report {
        let path = address("/reports/customers", &[], &[("companyId", id), ("limit", "1")]);
        found = visit.api.get(&path).await?;
    }
    let of_report = excluded(&found.excluded).map(RecordSection::Excluded);
    let line = found.lines().into_iter().next();
    let figures = figures(&view.record, line.as_ref(), &view.base, visit.shell.zone);
    view.extra.push(RecordSection::Figures(figures));
    let mut left_out = HashMap::new();
    if may_report {
        view.extra.extend(of_report);
        left_out = reasons_by_license(&renewals::excluded_of(visit, id).await?);
        view.extra.push(RecordSection::Stake(line.map(Box::new)));
    }
    if visit.api.may("licenses:read") {
        view.extra.push(RecordSection::Timeline(timeline(visit, id, left_out).await?));
    }
    if may_report && view.record.get("customerFrom").is_some_and(Value::is_string) {
        view.extra.push(RecordSection::Picture {
            title: "MRR of the last two years",
            picture: picture_of_company(visit, id),
            report: address("/app/reports/mrr", &[], &[("companyId", id)]),
        });
    }
    view.extra
        .extend(activity::sections(visit, ("companyId", id), ActivityColumns::Company).await?);
    Ok(())
}

/// Owner, phase and score, as far as the company has them.
fn facts(record: &Map<String, Value>) -> Vec<(&'static str, String)> {
    let score = record.get("csmScore").and_then(Value::as_i64).map(|score| score.to_string());
    let facts = [
        ("Owner", text(record, "owner").to_owned()),
        ("Phase", text(record, "phase").to_owned()),
        ("CSM score", score.unwrap_or_default()),
    ];
    facts.into_iter().filter(|(_, value)| !value.is_empty()).collect()
}

fn figures(
    record: &Map<String, Value>,
    line: Option<&CustomerLine>,
    base: &BaseCurrency,
    zone: Zone,
) -> Vec<Figure> {
    let number = |name: &str| record.get(name).and_then(Value::as_f64);
    let paid = record.get("mrrByCurrency").and_then(Value::as_object);
    let currency = base.of_total(paid.into_iter().flat_map(Map::keys).map(String::as_str));
    let mut paid: Vec<_> = paid.into_iter().flatten().collect();
    paid.sort_by_key(|(currency, _)| currency.is_empty());
    let is_converted = !currency.is_empty() && paid.iter().any(|(paid, _)| *paid != currency);
    let each: Vec<String> = paid
        .into_iter()
        .filter_map(|(currency, amount)| Some(paid_in(amount.as_f64()?, currency)))
        .collect();
    let days = record.get("renewalDaysFromNow").and_then(Value::as_i64);
    let overdue_by = |days: i64| format!("overdue by {}", counted(-days, "day"));
    let renewal = match days {
        Some(days) if days < 0 => overdue_by(days),
        Some(days) => distance(days),
        None => "none".to_owned(),
    };
    let at_renewal = number("renewalMrr").map(|mrr| format!("MRR then {}", money(mrr, currency)));
    // Lists of customers have the license that is due first, also where it is overdue and another one is running.
    let overdue = line.and_then(|line| line.days).filter(|due| *due < 0 && days != Some(*due));
    let overdue = overdue.map(|due| format!("another license is {}", overdue_by(due)));
    let of_renewal = at_renewal.into_iter().chain(overdue).collect::<Vec<_>>().join("; ");
    let figure =
        |label, value: String, note: String| Figure { label, value, note, path: String::new() };
    // Where amounts can be converted, a figure has one currency, and what is paid in others is named next to it.
    let converted = number("mrr").filter(|_| is_converted);
    let (mrr, paid) = match converted {
        Some(mrr) => (money(mrr, currency), Some(format!("paid: {}", each.join(", ")))),
        None if each.is_empty() => (money(0.0, currency), None),
        None => (each.join(", "), None),
    };
    let arr = number("arr").map(|arr| format!("ARR {}", money(arr, currency)));
    let mut figures = vec![
        figure("Status", text(record, "status").to_owned(), String::new()),
        figure("MRR", mrr, arr.into_iter().chain(paid).collect::<Vec<_>>().join("; ")),
        figure("Renewal", renewal, of_renewal),
    ];
    figures.extend(engagement(record, zone));
    figures
}

/// An amount in a currency, where the licenses name one.
fn paid_in(amount: f64, currency: &str) -> String {
    match currency {
        "" => format!("{} without a currency", money(amount, "")),
        currency => money(amount, currency),
    }
}

/// The licenses of the company along time; `left_out` says why figures leave out some of them.
async fn timeline(
    visit: &Visit,
    id: &str,
    mut left_out: HashMap<String, String>,
) -> Result<Timeline, Error> {
    let limit = (LICENSES + 1).to_string();
    let query =
        [("companyId", id), ("sort", "-fromDate"), ("select", OF_LICENSE), ("limit", &limit)];
    let mut licenses: Vec<LicenseLine> = visit.api.get(&address("/licenses", &[], &query)).await?;
    let has_more = licenses.len() > LICENSES;
    licenses.truncate(LICENSES);
    for license in &mut licenses {
        license.left_out = left_out.remove(&license.id);
    }
    Ok(Timeline { licenses, today: visit.day(0), has_more })
}
