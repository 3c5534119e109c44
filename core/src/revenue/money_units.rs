//! Money as whole units of a small fraction, so that sums are exact and fast: an amount counts to
//! [`MONEY_SCALE`] decimals (R7), a rate to [`RATE_SCALE`], and a converted amount to both together.

use rust_decimal::{Decimal, RoundingStrategy};

use crate::value::{
    Number,
    number::{MAX_AMOUNT, MONEY_SCALE, RATE_SCALE, is_rate},
};

/// Decimals of an amount in the base currency.
pub(super) const CONVERTED_SCALE: u32 = MONEY_SCALE + RATE_SCALE;
/// Rate of a currency to itself.
pub(super) const ONE: i128 = 10_i128.pow(RATE_SCALE);
/// Decimals of a ratio: enough for a percentage with two decimals, which is rounded from it.
const RATIO_SCALE: u32 = 10;
/// Number of times that an amount may be added before a sum could overflow: each license begins and ends, in each of
/// two views, and is subtracted again.
const MARGIN: i128 = 16;

/// Stored form of an amount: the number without its point, and the number of its decimals.
pub(super) mod exact {
    use rust_decimal::Decimal;
    use serde::{Deserialize as _, Deserializer, Serialize as _, Serializer, de::Error as _};

    pub(in super::super) fn serialize<S: Serializer>(
        amount: &Option<Decimal>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let amount = amount.map(|amount| amount.normalize());
        amount.map(|amount| (amount.mantissa(), amount.scale())).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Decimal>, D::Error> {
        let parts: Option<(i128, u32)> = Option::deserialize(deserializer)?;
        let amount = parts.map(|(number, scale)| Decimal::try_from_i128_with_scale(number, scale));
        amount.transpose().map_err(D::Error::custom)
    }
}

/// An amount in units; none beyond [`MAX_AMOUNT`].
pub(super) fn units_of(amount: Decimal) -> Option<i128> {
    (amount.abs() <= Decimal::from(MAX_AMOUNT)).then(|| scaled(amount, MONEY_SCALE))
}

/// A rate in units; none unless amounts can be converted at it.
pub(super) fn rate_units_of(rate: Decimal) -> Option<i128> {
    is_rate(rate).then(|| scaled(rate, RATE_SCALE))
}

fn scaled(number: Decimal, scale: u32) -> i128 {
    let rounded = number.round_dp_with_strategy(scale, RoundingStrategy::MidpointAwayFromZero);
    rounded.mantissa() * 10_i128.pow(scale.saturating_sub(rounded.scale()))
}

/// Converts an amount of a currency with the rate `from` into one with the rate `to`, rounded as money is; none beyond
/// [`MAX_AMOUNT`].
pub(super) fn exchanged(amount: i128, from: i128, to: i128) -> Option<i128> {
    let twice = amount.checked_mul(from)?.checked_mul(2)?;
    let units = twice.checked_add(to)?.checked_div(to.checked_mul(2)?)?;
    (units <= scaled(Decimal::from(MAX_AMOUNT), MONEY_SCALE)).then_some(units)
}

/// Whether no sum of amounts with the total `total` overflows once it is converted at `rate`.
pub(super) fn is_addable(total: i128, rate: i128) -> bool {
    total.checked_mul(rate).and_then(|sum| sum.checked_mul(MARGIN)).is_some()
}

/// Converts units into a number: exact up to the 28 digits of a decimal.
pub(super) fn number_of(units: i128, scale: u32) -> Number {
    let (mut units, mut scale) = (units, scale);
    loop {
        match Decimal::try_from_i128_with_scale(units, scale) {
            Ok(number) => return Number::from(number.normalize()),
            Err(_) if scale == 0 => return Number::from(Decimal::ZERO),
            Err(_) => (units, scale) = (units / 10, scale - 1),
        }
    }
}

/// An amount of a currency as a number.
pub(super) fn money(units: i128) -> Number {
    number_of(units, MONEY_SCALE)
}

/// A share, rounded to 10 decimals; null where the whole is 0.
pub(super) fn ratio(part: i128, whole: i128) -> Option<Number> {
    if whole <= 0 {
        return None;
    }
    let (part, whole) = (number_of(part, 0).as_decimal(), number_of(whole, 0).as_decimal());
    rounded(part.checked_div(whole)?, RATIO_SCALE)
}

/// An amount per item, rounded to 6 decimals; null without items.
pub(super) fn per(amount: Number, count: i64) -> Option<Number> {
    rounded(amount.as_decimal().checked_div(Decimal::from(count))?, MONEY_SCALE)
}

fn rounded(number: Decimal, scale: u32) -> Option<Number> {
    let rounded = number.round_dp_with_strategy(scale, RoundingStrategy::MidpointAwayFromZero);
    Some(Number::from(rounded.normalize()))
}

/// Text of an amount: two decimals, none for currencies without a smaller coin, three for some (ISO 4217).
pub(super) fn printed(amount: Number, currency: &str) -> String {
    let decimals = match currency {
        "BIF" | "CLP" | "DJF" | "GNF" | "ISK" | "JPY" | "KMF" | "KRW" | "PYG" | "RWF" | "UGX"
        | "VND" | "VUV" | "XAF" | "XOF" | "XPF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    };
    fixed(amount.as_decimal(), decimals)
}

/// Text of a ratio: in percent, with two decimals.
pub(super) fn percent(ratio: Number) -> String {
    fixed(ratio.as_decimal() * Decimal::ONE_HUNDRED, 2)
}

/// Text of a number with this many decimals.
pub(super) fn fixed(number: Decimal, decimals: u32) -> String {
    let mut rounded =
        number.round_dp_with_strategy(decimals, RoundingStrategy::MidpointAwayFromZero);
    rounded.rescale(decimals);
    if rounded.is_zero() {
        rounded.set_sign_positive(true);
    }
    rounded.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap()
    }

    #[test]
    fn an_amount_is_printed_as_its_currency_is_counted() {
        let check = |amount: &str, currency: &str, expect: &str| {
            assert_eq!(printed(decimal(amount).into(), currency), expect);
        };
        check("1234.5", "EUR", "1234.50");
        check("1234.5", "JPY", "1235");
        check("1234.5", "KWD", "1234.500");
        check("-0.004", "EUR", "0.00");
        check("0.005", "EUR", "0.01");
    }

    #[test]
    fn units_are_read_and_written_without_loss() {
        for text in ["0", "0.000001", "-333.333333", "1000000000000000"] {
            assert_eq!(money(units_of(decimal(text)).unwrap()).to_string(), text);
        }
        assert_eq!(units_of(decimal("1000000000000001")), None);
        assert_eq!(units_of(decimal("0.0000005")), Some(1));
        assert_eq!(rate_units_of(decimal("0.9")), Some(9_000_000_000));
        assert_eq!(rate_units_of(decimal("0.0000000001")), Some(1));
        for none in ["0", "-1", "0.00000000009", "1000000001"] {
            assert_eq!(rate_units_of(decimal(none)), None, "{none}");
        }
    }

    #[test]
    fn an_amount_is_exchanged_to_the_last_decimal_of_money() {
        let check = |amount: &str, from: &str, to: &str, expect: Option<&str>| {
            let [from, to] = [from, to].map(|rate| rate_units_of(decimal(rate)).unwrap());
            let found = exchanged(units_of(decimal(amount)).unwrap(), from, to);
            assert_eq!(found.map(|units| money(units).to_string()).as_deref(), expect);
        };
        check("120", "0.9", "1", Some("108"));
        check("1", "1", "3", Some("0.333333"));
        check("2", "1", "3", Some("0.666667"));
        check("1000000000000000", "1000000000", "0.0000000001", None);
    }

    #[test]
    fn what_no_decimal_holds_loses_its_last_digits() {
        let most = number_of(i128::MAX, CONVERTED_SCALE).to_string();
        assert_eq!(most, "17014118346046923173168.730371");
    }

    #[test]
    fn a_share_of_nothing_is_null() {
        assert_eq!(ratio(1, 0), None);
        assert_eq!(ratio(2, 3).unwrap().to_string(), "0.6666666667");
        assert_eq!(percent(ratio(-1200, 860).unwrap()), "-139.53");
        assert_eq!(per(Number::from(Decimal::TWO), 0), None);
    }
}
