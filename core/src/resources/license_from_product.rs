//! What a license takes over from its product (R22): a new license has the terms of the product with its name, where the
//! caller sends none.

use std::borrow::Cow;

use rust_decimal::Decimal;

use super::{
    license_issues::PRODUCT_AMBIGUOUS,
    license_terms::{
        ARR, AUTO_RENEWS, FIXED_PERIOD, LENGTH, MRR, RENEWAL_ARR, RENEWAL_MRR, TO_DATE, VALUE,
    },
    product::{self, PRODUCT},
};
use crate::{
    schema::{CompletionContext, LookupError, field::handles, index::key_of},
    value::{Document, Json},
};

handles! {
    PRODUCT_NAME: Text = "product";
    CURRENCY: Text = "_currency";
    RENEWAL_PERIOD: Integer = "renewalPeriod";
    RENEWAL_UNIT: Text = "renewalUnit";
    NOTICE_PERIOD: Integer = "noticePeriod";
    NOTICE_UNIT: Text = "noticeUnit";
    ISSUES: Values = "issues";
}

/// Inherits terms that the caller has not set from the product of this name; of several products, from the oldest
/// (R22).
pub(super) fn inherit_terms(
    license: &mut Document,
    completion: &mut CompletionContext<'_>,
) -> Result<(), LookupError> {
    let Some(name) = PRODUCT_NAME.get(license).map(Cow::into_owned) else {
        return Ok(());
    };
    let row = PRODUCT.field(product::NAME.name);
    let key = row.map(|row| key_of(row, &name)).unwrap_or_default();
    let ids = completion.lookup.holders(&PRODUCT, product::NAME.name, &key, 2)?;
    let Some(first) = ids.first() else {
        return Ok(());
    };
    let Some(product) = completion.lookup.record(&PRODUCT, *first)? else {
        return Ok(());
    };
    if ids.len() > 1 {
        license.set(ISSUES.name, Json::strings([PRODUCT_AMBIGUOUS]));
    }
    inherit_price(license, &product);
    for (own, theirs) in [
        (FIXED_PERIOD.name, product::FIXED_PERIOD.name),
        (AUTO_RENEWS.name, product::AUTO_RENEWS.name),
    ] {
        inherit(license, own, &product, theirs);
    }
    let is_length = product::LENGTH.get(&product).is_some_and(|length| !length.is_zero());
    if TO_DATE.get(license).is_none() && is_length {
        inherit(license, LENGTH.name, &product, product::LENGTH.name);
    }
    inherit_periods(license, &product);
    Ok(())
}

/// Inherits the price only as a whole: not with a price of the caller's, nor in another currency.
fn inherit_price(license: &mut Document, product: &Document) {
    let priced = [MRR.name, ARR.name, VALUE.name].iter().any(|name| license.value(name).is_some());
    let foreign = CURRENCY.get(license).is_some_and(|currency| {
        product::CURRENCY.get(product).is_some_and(|theirs| theirs != currency)
    });
    inherit(license, CURRENCY.name, product, product::CURRENCY.name);
    if priced || foreign {
        return;
    }
    if product::TYPE.get(product).as_deref() == Some("fee") {
        // A `value` of 0 would be rejected as soon as a caller changes the license.
        if product::VALUE.get(product).is_some_and(|value| value > Decimal::ZERO) {
            inherit(license, VALUE.name, product, product::VALUE.name);
        }
    } else {
        inherit(license, MRR.name, product, product::MRR.name);
    }
    if RENEWAL_ARR.get(license).is_none() {
        inherit(license, RENEWAL_MRR.name, product, product::RENEWAL_MRR.name);
    }
}

/// Inherits a count and its unit only together.
fn inherit_periods(license: &mut Document, product: &Document) {
    let lacks = |names: [&str; 2]| names.iter().all(|name| license.value(name).is_none());
    let renewal = lacks([RENEWAL_PERIOD.name, RENEWAL_UNIT.name]);
    let renews = AUTO_RENEWS.get(license) == Some(true);
    let notice = renews
        && lacks([NOTICE_PERIOD.name, NOTICE_UNIT.name])
        && product::NOTICE_PERIOD.get(product).is_some()
        && product::NOTICE_UNIT.get(product).is_some();
    if renewal && product::RENEWAL_PERIOD.get(product).is_some() {
        inherit(license, RENEWAL_PERIOD.name, product, product::RENEWAL_PERIOD.name);
        license.set(RENEWAL_UNIT.name, Json::string("month"));
    }
    if notice {
        inherit(license, NOTICE_PERIOD.name, product, product::NOTICE_PERIOD.name);
        inherit(license, NOTICE_UNIT.name, product, product::NOTICE_UNIT.name);
    }
}

/// Takes a product's value where the license has none.
fn inherit(license: &mut Document, own: &str, product: &Document, theirs: &str) {
    if let (None, Some(value)) = (license.value(own), product.value(theirs)) {
        license.set(own, value.to_json());
    }
}
