//! The arithmetic of a license (R23): what its price, its period and its renewal are when the caller
//! gave only some of them. Every function computes one row from the others.

use rust_decimal::Decimal;

use super::license::{
    ARR, AUTO_RENEWS, CURRENCY, FIXED_PERIOD, FROM_DATE, INVOICE_CYCLE, ISSUES, LENGTH, MRR,
    RENEWAL_ARR, RENEWAL_MRR, TO_DATE, VALUE,
};
use crate::{
    schema::{Field, FillCtx, field},
    value::{
        Document, Json, Number, Timestamp,
        period::{self, Period},
    },
};

/// Months of a year.
const YEAR: Decimal = Decimal::from_parts(12, 0, 0, false, 0);
/// How far `value` may be from `mrr` x `length`, for each month (R24).
const VALUE_TOLERANCE: Decimal = Decimal::from_parts(1, 0, 0, false, 2);
/// Name of the issue that a creation leaves behind and later writes keep (R22).
pub(super) const PRODUCT_AMBIGUOUS: &str = "product_ambiguous";

/// Whether the license has a fixed term.
pub(super) fn is_fixed(license: &Document) -> bool {
    FIXED_PERIOD.get(license) == Some(true)
}

/// The period, if it has both ends.
fn period_of(license: &Document) -> Option<Period> {
    Period::between(FROM_DATE.get(license)?, TO_DATE.get(license)?)
}

/// The moment at which the license is over; none for one without end.
pub(super) fn end_of(license: &Document) -> Option<Timestamp> {
    match period_of(license) {
        Some(period) => Some(period.end),
        None => TO_DATE.get(license),
    }
}

/// Length in months: as set, else from the dates.
fn length_of(license: &Document) -> Option<Decimal> {
    LENGTH.get(license).or_else(|| period_of(license).map(|period| period.months))
}

/// The length over which a value is spread to make a month's price: that of a fixed license, or of an
/// open-ended one that has got an end.
fn spread_of(license: &Document) -> Option<Decimal> {
    let spread = is_fixed(license) || TO_DATE.get(license).is_some();
    length_of(license).filter(|length| spread && *length > Decimal::ZERO)
}

fn amount(value: Decimal) -> Option<Json> {
    Number::of_derived(value).map(Json::number)
}

/// The monthly price before it was rounded, as far as it comes from the yearly one or from the value.
fn exact_mrr(license: &Document) -> Option<Decimal> {
    let by_year = || ARR.get(license)?.checked_div(YEAR);
    let by_value = || VALUE.get(license)?.checked_div(spread_of(license)?);
    let Some(mrr) = MRR.get(license) else {
        return by_year().or_else(by_value);
    };
    let same = |exact: &Decimal| Number::of_derived(*exact).map(Number::as_decimal) == Some(mrr);
    by_year().filter(same).or_else(|| by_value().filter(same)).or(Some(mrr))
}

pub(super) fn fill_to_date(license: &Document, _: FillCtx) -> Option<Json> {
    if !is_fixed(license) {
        return None;
    }
    let end = period::add_length(FROM_DATE.get(license)?, LENGTH.get(license)?)?;
    Some(Json::string(&end.to_string()))
}

pub(super) fn fill_length(license: &Document, _: FillCtx) -> Option<Json> {
    Some(Json::number(period_of(license)?.months.into()))
}

/// Null where it cannot be said.
pub(super) fn fill_mrr(license: &Document, _: FillCtx) -> Option<Json> {
    Some(exact_mrr(license).and_then(amount).unwrap_or_else(Json::null))
}

pub(super) fn fill_arr(license: &Document, _: FillCtx) -> Option<Json> {
    amount(exact_mrr(license)?.checked_mul(YEAR)?)
}

pub(super) fn fill_value(license: &Document, _: FillCtx) -> Option<Json> {
    if !is_fixed(license) {
        return None;
    }
    amount(exact_mrr(license)?.checked_mul(length_of(license)?)?)
}

/// Follows `mrr` until it is set.
pub(super) fn fill_renewal_mrr(license: &Document, _: FillCtx) -> Option<Json> {
    match RENEWAL_ARR.get(license) {
        Some(yearly) => amount(yearly.checked_div(YEAR)?),
        None => amount(MRR.get(license)?),
    }
}

pub(super) fn fill_renewal_arr(license: &Document, _: FillCtx) -> Option<Json> {
    let monthly = RENEWAL_MRR.get(license)?;
    if MRR.get(license) == Some(monthly) {
        return amount(ARR.get(license)?);
    }
    amount(monthly.checked_mul(YEAR)?)
}

/// The monthly half of a forecast, from the yearly one.
pub(super) fn a_twelfth(license: &Document, yearly: &Field<field::Number>) -> Option<Json> {
    amount(yearly.get(license)?.checked_div(YEAR)?)
}

/// The yearly half of a forecast, from the monthly one.
pub(super) fn twelve_times(license: &Document, monthly: &Field<field::Number>) -> Option<Json> {
    amount(monthly.get(license)?.checked_mul(YEAR)?)
}

/// The end of a fixed period, else null.
pub(super) fn fill_renewal_date(license: &Document, _: FillCtx) -> Option<Json> {
    let end = end_of(license).filter(|_| is_fixed(license));
    Some(end.map_or_else(Json::null, |end| Json::string(&end.to_string())))
}

/// `otherwise` when the license renews by itself, else null.
fn notice(license: &Document, otherwise: Json) -> Option<Json> {
    let renews = AUTO_RENEWS.get(license) == Some(true);
    Some(if renews { otherwise } else { Json::null() })
}

pub(super) fn fill_notice_period(license: &Document, _: FillCtx) -> Option<Json> {
    notice(license, Json::integer(0))
}

pub(super) fn fill_notice_unit(license: &Document, _: FillCtx) -> Option<Json> {
    notice(license, Json::string("month"))
}

pub(super) fn fill_to_date_included(license: &Document, _: FillCtx) -> Option<Json> {
    Some(Json::bool(TO_DATE.get(license).is_some()))
}

/// Monthly for an open-ended license, else by the length of its term.
pub(super) fn fill_invoice_cycle(license: &Document, _: FillCtx) -> Option<Json> {
    let cycle = if !is_fixed(license) {
        "monthly"
    } else {
        cycle_of(length_of(license).unwrap_or_default())
    };
    Some(Json::string(cycle))
}

fn cycle_of(length: Decimal) -> &'static str {
    let is = |months: i64| length == Decimal::from(months);
    match length {
        _ if is(1) => "monthly",
        _ if is(3) => "quarterly",
        _ if is(6) => "semiAnnual",
        _ if length > Decimal::ZERO && (length % YEAR).is_zero() => "yearly",
        _ => "once",
    }
}

/// Months of a custom cycle; 0 for the others.
pub(super) fn fill_invoice_cycle_interval(license: &Document, _: FillCtx) -> Option<Json> {
    // A custom cycle that says no interval is billed month by month.
    let custom = INVOICE_CYCLE.get(license).as_deref() == Some("custom");
    Some(Json::integer(custom.into()))
}

/// What is missing or does not fit together (R24); null when all is well.
pub(super) fn fill_issues(license: &Document, _: FillCtx) -> Option<Json> {
    let has = |name: &str| license.value(name).is_some();
    let fixed = is_fixed(license);
    let ambiguous = ISSUES.get(license).is_some_and(|issues| {
        issues.iter().any(|issue| issue.as_ref().text().contains(PRODUCT_AMBIGUOUS))
    });
    let priceless = !has(MRR.name) && !has(VALUE.name);
    let found = [
        (
            ambiguous,
            PRODUCT_AMBIGUOUS,
            "product",
            "several products have this name; the oldest one was used",
        ),
        (
            !has(FROM_DATE.name),
            "from_date_missing",
            FROM_DATE.name,
            "`fromDate` is needed for the license to count",
        ),
        (
            !has(CURRENCY.name),
            "currency_missing",
            CURRENCY.name,
            "`_currency` is needed for amounts to count",
        ),
        (priceless, "price_missing", VALUE.name, "`mrr` or `value` is needed"),
        (
            !fixed && !has(MRR.name),
            "mrr_missing",
            MRR.name,
            "a license without fixed period needs `mrr`",
        ),
        (
            differs_from_price(license),
            "value_differs",
            VALUE.name,
            "`value` is not `mrr` times `length`",
        ),
    ];
    let found = found.into_iter().filter(|(wrong, ..)| *wrong);
    let issues: Vec<String> = found
        .map(|(_, code, field, message)| {
            serde_json::json!({ "code": code, "field": field, "message": message }).to_string()
        })
        .collect();
    if issues.is_empty() {
        return Some(Json::null());
    }
    Json::parse(format!("[{}]", issues.join(",")).as_bytes()).ok()
}

/// Whether `value` is further from `mrr` times `length` than rounding a month's price explains (R24).
fn differs_from_price(license: &Document) -> bool {
    let (Some(value), Some(mrr), Some(length)) =
        (VALUE.get(license), MRR.get(license), spread_of(license))
    else {
        return false;
    };
    let price = mrr.checked_mul(length);
    price.is_some_and(|price| (value - price).abs() > VALUE_TOLERANCE * length)
}
