//! Properties of a license from which others are computed, its renewal status, and its notice (R23). The period is in
//! `license_period`, the price in `license_price`, the invoice cycle in `license_invoicing`.

use rust_decimal::Decimal;

use crate::{
    schema::{FillCtx, field::handles},
    value::{Document, Json},
};

handles! {
    FROM_DATE: Date = "fromDate";
    TO_DATE_DERIVED: Bool = "toDateDerived";
    TO_DATE: Date = "toDate";
    FIXED_PERIOD: Bool = "fixedPeriod";
    LENGTH: Number = "length";
    MRR: Number = "mrr";
    ARR: Number = "arr";
    VALUE: Number = "value";
    RENEWAL_MRR: Number = "renewalMrr";
    RENEWAL_ARR: Number = "renewalArr";
    RENEWAL_STATUS: Text = "renewalStatus";
    AUTO_RENEWS: Bool = "autoRenews";
    INVOICE_CYCLE: Text = "invoiceCycle";
}

/// The values of `renewalStatus`.
pub(super) const ONGOING: &str = "ongoing";
pub(super) const RENEWED: &str = "renewed";
pub(crate) const LOST: &str = "lost";

/// Months of a year.
pub(super) const YEAR: Decimal = Decimal::from_parts(12, 0, 0, false, 0);
pub(super) fn is_ongoing(license: &Document) -> bool {
    has_status(license, ONGOING)
}

pub(super) fn is_renewed(license: &Document) -> bool {
    has_status(license, RENEWED)
}

pub(super) fn is_lost(license: &Document) -> bool {
    has_status(license, LOST)
}

fn has_status(license: &Document, status: &str) -> bool {
    RENEWAL_STATUS.get(license).as_deref() == Some(status)
}

/// `otherwise` when the license renews automatically, else null.
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
