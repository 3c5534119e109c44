//! Revenue of a company in the base currency, and since when it is a customer (R28, R55). The MRR of one license is
//! computed in `license_price`.

use std::{collections::BTreeMap, rc::Rc};

use rust_decimal::Decimal;

use super::{
    license::{self, LICENSE},
    license_period, license_terms,
    settings::{self, Currencies},
};
use crate::{
    schema::{LookupError, ReadCtx, field::handles},
    value::{Day, Document, Json, Number},
};

handles! {
    ID: Id = "_id";
    MRR: Number = "mrr";
    ARR: Number = "arr";
}

pub(super) fn licenses_of(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Rc<[Document]>, LookupError> {
    match ID.get(company) {
        Some(id) => {
            let all = ctx.referring(&LICENSE, license::COMPANY_ID.name, id, usize::MAX)?;
            Ok(all.unwrap_or_default())
        }
        None => Ok(Rc::default()),
    }
}

/// An amount of the licenses that count, by currency.
fn amounts_of(
    company: &Document,
    ctx: &ReadCtx<'_>,
    counts: impl Fn(&Document) -> bool,
    amount: impl Fn(&Document) -> Option<Decimal>,
) -> Result<BTreeMap<String, Decimal>, LookupError> {
    let mut amounts = BTreeMap::new();
    for license in licenses_of(company, ctx)?.iter().filter(|license| counts(license)) {
        let currency = license::CURRENCY.get(license).unwrap_or_default().into_owned();
        let sum: &mut Decimal = amounts.entry(currency).or_default();
        *sum = sum.saturating_add(amount(license).unwrap_or_default());
    }
    Ok(amounts)
}

/// Sum of an amount in the base currency; without rates, if all of it is in one currency (R28).
pub(super) fn total_of(
    company: &Document,
    ctx: &ReadCtx<'_>,
    counts: impl Fn(&Document) -> bool,
    amount: impl Fn(&Document) -> Option<Decimal>,
) -> Result<Option<Decimal>, LookupError> {
    let amounts = amounts_of(company, ctx, counts, amount)?;
    if amounts.is_empty() {
        return Ok(Some(Decimal::ZERO));
    }
    let settings = settings::at_read(ctx)?;
    let today = Day::at(ctx.now, settings::time_zone(&settings));
    Ok(match Currencies::from_settings(&settings) {
        Some(currencies) => amounts.iter().try_fold(Decimal::ZERO, |total, (currency, sum)| {
            let converted = sum.saturating_mul(currencies.rate(currency, today)?);
            Some(total.saturating_add(converted))
        }),
        None if amounts.len() == 1 => amounts.values().next().copied(),
        None => None,
    })
}

/// Sum of an amount of the active licenses; null where it is not known.
fn revenue(
    company: &Document,
    ctx: &ReadCtx<'_>,
    amount_of: impl Fn(&Document) -> Option<Decimal>,
) -> Result<Option<Decimal>, LookupError> {
    let zone = settings::time_zone_at_read(ctx)?;
    let counts = |license: &Document| license::is_active(license, ctx.now, zone);
    total_of(company, ctx, counts, amount_of)
}

fn mrr_of(license: &Document) -> Option<Decimal> {
    license::MRR.get(license)
}

/// The ARR is the cost of a year, not 12 times a rounded monthly price (R7, R55).
fn arr_of(license: &Document) -> Option<Decimal> {
    let twelve_times = || mrr_of(license)?.checked_mul(license_terms::YEAR);
    license::ARR.get(license).or_else(twelve_times)
}

pub(super) fn read_mrr(company: &Document, ctx: &ReadCtx<'_>) -> Result<Option<Json>, LookupError> {
    Ok(Some(revenue(company, ctx, mrr_of)?.map_or_else(Json::null, amount)))
}

pub(super) fn read_arr(company: &Document, ctx: &ReadCtx<'_>) -> Result<Option<Json>, LookupError> {
    Ok(Some(revenue(company, ctx, arr_of)?.map_or_else(Json::null, amount)))
}

/// Sums that are null since they are too large (R55): of active licenses, the monthly and the yearly one.
pub(super) fn too_large(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Vec<&'static str>, LookupError> {
    let mut fields = Vec::new();
    for (field, amount_of) in [(MRR.name, mrr_of as fn(&_) -> _), (ARR.name, arr_of)] {
        let total = revenue(company, ctx, amount_of)?;
        fields.extend(total.is_some_and(|sum| Number::of_derived(sum).is_none()).then_some(field));
    }
    Ok(fields)
}

pub(super) fn read_mrr_by_currency(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let zone = settings::time_zone_at_read(ctx)?;
    let counts = |license: &Document| license::is_active(license, ctx.now, zone);
    let mut response = Document::default();
    for (currency, sum) in amounts_of(company, ctx, counts, |license| license::MRR.get(license))? {
        response.set(&currency, amount(sum));
    }
    Ok(Some(Json::object(&response)))
}

pub(super) fn amount(sum: Decimal) -> Json {
    Number::of_derived(sum).map_or_else(Json::null, Json::number)
}

pub(super) fn read_customer_from(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let licenses = licenses_of(company, ctx)?;
    let first = licenses.iter().filter_map(|license| license::FROM_DATE.get(license)).min();
    Ok(first.map(|first| Json::string(&first.to_string())))
}

pub(super) fn read_customer_to(
    company: &Document,
    ctx: &ReadCtx<'_>,
) -> Result<Option<Json>, LookupError> {
    let licenses = licenses_of(company, ctx)?;
    let zone = settings::time_zone_at_read(ctx)?;
    let end = |license| license_period::end_of(license, zone);
    let ends: Option<Vec<_>> = licenses.iter().map(end).collect();
    let last = ends.and_then(|ends| ends.into_iter().max());
    Ok(last.map(|last| Json::string(&last.to_string())))
}
