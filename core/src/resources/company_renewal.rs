//! Renewals of a company, derived from its licenses (R51), and contradictions among them (R55).

use std::collections::BTreeSet;

use rust_decimal::Decimal;

use super::{
    company_revenue::{amount, licenses_of, too_large, total_of},
    license::{self, CURRENCY, FROM_DATE, RENEWAL_DATE},
    license_issues::{
        AMOUNT_TOO_LARGE, CURRENCY_MISSING, RATE_MISSING, SUCCESSOR_MISSING, Successors,
        is_too_large, issue_json, listed, no_rate,
    },
    license_period::times_of,
    license_terms::{is_ongoing, is_renewed},
    settings::{self, Currencies},
};
use crate::{
    schema::{LookupError, ReadCtx, field::handles},
    value::{Day, Document, Json, Timestamp, Zone},
};

handles! {
    MRR: Number = "mrr";
    STATUS: Text = "status";
}

/// The latest end, not ahead, of a renewed license.
pub(super) fn read_last_renewal(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let licenses = licenses_of(company, ctx)?;
    let renewed = licenses.iter().filter(|license| is_renewed(license));
    let dates = renewed.filter_map(|license| RENEWAL_DATE.get(license));
    let zone = settings::time_zone_at_read(ctx)?;
    let last = dates.filter(|date| zone.time_of(*date) <= ctx.now).max();
    Ok(last.map(|last| Json::string(&last.to_string())))
}

/// Days of the tenant's calendar from now to the renewal of an ongoing license; none for a license without a renewal
/// ahead or overdue.
fn days_to_renewal(license: &Document, now: Timestamp, zone: Zone) -> Option<i64> {
    let date = RENEWAL_DATE.get(license).filter(|_| is_ongoing(license))?;
    Some(zone.day(zone.time_of(date)) - zone.day(now))
}

/// Days to the renewal that is nearest to today; of two equally near, the one ahead.
fn nearest_days(company: &Document, ctx: &ReadCtx<'_>) -> Result<Option<(i64, Zone)>, LookupError> {
    let zone = settings::time_zone_at_read(ctx)?;
    let licenses = licenses_of(company, ctx)?;
    let days = licenses.iter().filter_map(|license| days_to_renewal(license, ctx.now, zone));
    Ok(days.min_by_key(|days| (days.abs(), days.is_negative())).map(|days| (days, zone)))
}

pub(super) fn read_renewal_days(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    Ok(nearest_days(company, ctx)?.map(|(days, _)| Json::integer(days)))
}

pub(super) fn read_renewal_mrr(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    expected(company, ctx, |license| license::RENEWAL_MRR.get(license))
}

pub(super) fn read_renewal_arr(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    expected(company, ctx, |license| license::RENEWAL_ARR.get(license))
}

/// Expected revenue of the licenses that renew on the day of the nearest renewal, in the base currency; null where that
/// is not known.
fn expected(
    company: &Document,
    ctx: &ReadCtx<'_>,
    amount_of: impl Fn(&Document) -> Option<Decimal>,
) -> Result<Option<Json>, LookupError> {
    let Some((nearest, zone)) = nearest_days(company, ctx)? else { return Ok(None) };
    let renews = |license: &Document| days_to_renewal(license, ctx.now, zone) == Some(nearest);
    let total = total_of(company, ctx, renews, amount_of)?;
    Ok(Some(total.map_or_else(Json::null, amount)))
}

/// Currencies without a rate of licenses that have not ended, licenses without a currency next to others, MRR and ARR
/// that are too large, and licenses that are renewed and have no successor.
pub(super) fn read_issues(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let licenses = licenses_of(company, ctx)?;
    let zone = settings::time_zone_at_read(ctx)?;
    let settings = settings::at_read(ctx)?;
    let mut issues = Vec::new();
    for currency in without_rate(&licenses, &settings, ctx.now, zone) {
        issues.push(match currency.is_empty() {
            true => issue_json((CURRENCY_MISSING, MRR.name, NO_CURRENCY)),
            false => issue_json((RATE_MISSING, MRR.name, &no_rate(&currency))),
        });
    }
    for field in too_large(company, ctx)? {
        issues.push(issue_json((AMOUNT_TOO_LARGE, field, &is_too_large(field))));
    }
    let successors = Successors::from_licenses(licenses.iter());
    for license in renewed_alone(&licenses, &successors, zone) {
        let id = license.text(license::ID.name).unwrap_or_default();
        let message = format!("the license `{id}` is `renewed`, but has no successor");
        issues.push(issue_json((SUCCESSOR_MISSING, STATUS.name, &message)));
    }
    Ok(Some(listed(&issues)))
}

/// The issue of a company with a license without a currency, where other amounts cannot be added to it.
const NO_CURRENCY: &str =
    "a license has no `_currency`, so that its amounts cannot be added to others";

/// Currencies that prevent adding up amounts: those without a rate where rates are set, all where none are and there
/// are several. A license without a currency has the empty one, as in `mrrByCurrency`; next to it, a single currency
/// needs no rate.
fn without_rate(
    licenses: &[Document],
    settings: &Document,
    now: Timestamp,
    zone: Zone,
) -> BTreeSet<String> {
    let lasting =
        licenses.iter().filter(|license| times_of(license, zone).end.is_none_or(|end| now < end));
    let counting = lasting.filter(|license| FROM_DATE.get(license).is_some());
    let currencies: BTreeSet<String> =
        counting.map(|license| CURRENCY.get(license).unwrap_or_default().into_owned()).collect();
    match Currencies::from_settings(settings) {
        Some(rates) => {
            let today = Day::at(now, zone);
            currencies.into_iter().filter(|name| rates.rate(name, today).is_none()).collect()
        }
        None if currencies.len() == 2 && currencies.contains("") => BTreeSet::from([String::new()]),
        None if currencies.len() > 1 => currencies,
        None => BTreeSet::new(),
    }
}

/// The licenses that are renewed and have no successor.
fn renewed_alone<'l>(
    licenses: &'l [Document],
    successors: &'l Successors,
    zone: Zone,
) -> impl Iterator<Item = &'l Document> {
    let renewed = licenses.iter().filter(|license| is_renewed(license));
    renewed.filter(move |license| !successors.has(license, zone))
}

/// Whether the company is a customer for one of these licenses: its renewal is agreed, but the successor has not begun
/// (R55).
pub(super) fn awaits_successor(licenses: &[Document], now: Timestamp, zone: Zone) -> bool {
    let successors = Successors::from_licenses(licenses.iter());
    renewed_alone(licenses, &successors, zone)
        .any(|license| times_of(license, zone).from.is_some_and(|from| from <= now))
}
