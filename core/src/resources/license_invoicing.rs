//! How often a license is invoiced (R23): the invoice cycle, by its length where none is set.

use rust_decimal::Decimal;

use super::{
    license_period::{is_fixed, length_of},
    license_terms::{INVOICE_CYCLE, YEAR},
};
use crate::{
    schema::FillCtx,
    value::{Document, Json},
};

/// Invoice cycle: monthly for an open-ended license, else by the length of its term.
pub(super) fn fill_invoice_cycle(license: &Document, ctx: FillCtx) -> Option<Json> {
    let cycle = if !is_fixed(license) {
        "monthly"
    } else {
        cycle_of(length_of(license, ctx.zone).unwrap_or_default())
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
    // A custom cycle without an interval is billed monthly.
    let custom = INVOICE_CYCLE.get(license).as_deref() == Some("custom");
    Some(Json::integer(custom.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_term_is_invoiced_by_its_length() {
        for (tenths, cycle) in [
            (0, "once"),
            (10, "monthly"),
            (20, "once"),
            (30, "quarterly"),
            (60, "semiAnnual"),
            (120, "yearly"),
            (125, "once"),
            (180, "once"),
            (360, "yearly"),
        ] {
            assert_eq!(cycle_of(Decimal::new(tenths, 1)), cycle, "{tenths} tenths of a month");
        }
    }
}
