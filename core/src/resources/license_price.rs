//! Price of a license (R7, R23): MRR, ARR and value, and those of its renewal, each derived from the others.

use rust_decimal::Decimal;

use super::{
    license_period::{is_fixed, length_of, spread_of},
    license_terms::{ARR, MRR, RENEWAL_ARR, RENEWAL_MRR, VALUE, YEAR},
};
use crate::{
    schema::{
        Field, FillCtx,
        field::{self},
    },
    value::{Document, Json, Number, Zone},
};

fn amount(value: Decimal) -> Option<Json> {
    Number::of_derived(value).map(Json::number)
}

/// A price as an amount and its number of months: nothing is rounded before it is multiplied (R7).
#[derive(Clone, Copy)]
pub(super) struct Price {
    amount: Decimal,
    months: Decimal,
}

impl Price {
    /// Cost of a number of months; none where it is not known.
    fn over(self, months: Decimal) -> Option<Decimal> {
        self.amount.checked_mul(months)?.checked_div(self.months)
    }

    /// Whether a month costs `mrr`, which may be rounded.
    fn is_monthly(&self, mrr: Decimal) -> bool {
        let rounded = self.over(Decimal::ONE).and_then(Number::of_derived);
        rounded.map(Number::as_decimal) == Some(mrr)
    }
}

/// Price of a license: the monthly one, unless it is only the rounded quotient of the yearly one, or of the value and
/// its months.
pub(super) fn price_of(license: &Document, zone: Zone) -> Option<Price> {
    let by_year = ARR.get(license).map(|amount| Price { amount, months: YEAR });
    let by_value = VALUE.get(license).zip(spread_of(license, zone));
    let by_value = by_value.map(|(amount, months)| Price { amount, months });
    let Some(mrr) = MRR.get(license) else {
        return by_year.or(by_value);
    };
    let exact = by_year.into_iter().chain(by_value).find(|price| price.is_monthly(mrr));
    Some(exact.unwrap_or(Price { amount: mrr, months: Decimal::ONE }))
}

/// Monthly price; null where it is not known.
pub(super) fn fill_mrr(license: &Document, ctx: FillCtx) -> Option<Json> {
    let mrr = price_of(license, ctx.zone).and_then(|price| amount(price.over(Decimal::ONE)?));
    Some(mrr.unwrap_or_else(Json::null))
}

pub(super) fn fill_arr(license: &Document, ctx: FillCtx) -> Option<Json> {
    amount(price_of(license, ctx.zone)?.over(YEAR)?)
}

pub(super) fn fill_value(license: &Document, ctx: FillCtx) -> Option<Json> {
    if !is_fixed(license) {
        return None;
    }
    amount(price_of(license, ctx.zone)?.over(length_of(license, ctx.zone)?)?)
}

/// `renewalMrr`, which follows `mrr` until it is set.
pub(super) fn fill_renewal_mrr(license: &Document, _: FillCtx) -> Option<Json> {
    match RENEWAL_ARR.get(license) {
        Some(yearly) => amount(yearly.checked_div(YEAR)?),
        None => amount(MRR.get(license)?),
    }
}

pub(super) fn fill_renewal_arr(license: &Document, ctx: FillCtx) -> Option<Json> {
    twelve_times(license, &RENEWAL_MRR, ctx)
}

/// The monthly half of a forecast, from the yearly one.
pub(super) fn a_twelfth(license: &Document, yearly: &Field<field::Number>) -> Option<Json> {
    amount(yearly.get(license)?.checked_div(YEAR)?)
}

/// Yearly half of an amount, from the monthly one. Where the monthly one is the rounded price, the price determines the
/// year: 12 x 333.333333 is 4000 with an `arr` of 4000.
pub(super) fn twelve_times(
    license: &Document,
    monthly: &Field<field::Number>,
    ctx: FillCtx,
) -> Option<Json> {
    let monthly = monthly.get(license)?;
    let price = price_of(license, ctx.zone).filter(|price| price.is_monthly(monthly));
    match price.filter(|_| MRR.get(license) == Some(monthly)) {
        Some(price) => amount(price.over(YEAR)?),
        None => amount(monthly.checked_mul(YEAR)?),
    }
}
