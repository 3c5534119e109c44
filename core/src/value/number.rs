//! Decimal numbers: read from JSON text without binary floats, and written without a needless fraction (R7).

use rust_decimal::{Decimal, RoundingStrategy};

/// Largest amount of a money field, either sign (R7).
pub const MAX_AMOUNT: i64 = 1_000_000_000_000_000;

/// Smallest number that is not 0, either sign: a decimal holds 28 digits after the point.
pub(crate) const LEAST_AMOUNT: &str = "1e-28";

/// Largest exponent, either sign: that of the largest double, beyond which no two JSON readers agree.
const MAX_EXPONENT: i64 = 308;
/// Decimals to which derived money is rounded (R7).
pub const MONEY_SCALE: u32 = 6;
/// Decimals of an exchange rate.
pub(crate) const RATE_SCALE: u32 = 10;
/// Highest exchange rate that is accepted.
const MAX_RATE: i64 = 1_000_000_000;
/// The exchange rates that are accepted, as text.
pub(crate) const RATE_RANGE: &str = "a number from 0.0000000001 to 1,000,000,000";

/// Whether amounts can be converted at a rate ([`RATE_RANGE`]).
pub(crate) fn is_rate(rate: Decimal) -> bool {
    (Decimal::new(1, RATE_SCALE)..=Decimal::from(MAX_RATE)).contains(&rate)
}

/// A finite decimal number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Number(Decimal);

impl Number {
    /// Reads the text of a JSON number, or `None` where it is beyond [`MAX_AMOUNT`], or is so small that it would be
    /// read as 0 (R58). Digits beyond the 28 of a decimal are rounded away.
    ///
    /// ```
    /// use svctrack_core::value::Number;
    /// assert_eq!(Number::parse("1200.0").unwrap().to_string(), "1200");
    /// assert_eq!(Number::parse("3333e-2").unwrap().to_string(), "33.33");
    /// assert_eq!(Number::parse("1e16"), None);
    /// assert_eq!(Number::parse("1e-400"), None);
    /// ```
    pub fn parse(text: &str) -> Option<Self> {
        let number = decimal_of(text)?;
        (number.abs() <= Decimal::from(MAX_AMOUNT)).then_some(Self(number))
    }

    /// Whether the number is an integer.
    pub fn is_whole(self) -> bool {
        self.0.is_integer()
    }

    /// Whether the number is from `least` to `greatest`.
    pub fn is_within(self, least: i64, greatest: i64) -> bool {
        (Decimal::from(least)..=Decimal::from(greatest)).contains(&self.0)
    }

    /// A derived amount, rounded to [`MONEY_SCALE`] decimals; `None` where it is out of range.
    pub fn of_derived(amount: Decimal) -> Option<Self> {
        let rounded =
            amount.round_dp_with_strategy(MONEY_SCALE, RoundingStrategy::MidpointAwayFromZero);
        (rounded.abs() <= Decimal::from(MAX_AMOUNT)).then_some(Self(rounded))
    }

    /// The exact value, to compute with.
    pub fn as_decimal(self) -> Decimal {
        self.0
    }
}

/// The text of a JSON number as a decimal, or `None` where none holds it, or where it would be read as 0.
fn decimal_of(text: &str) -> Option<Decimal> {
    if text.contains('_') {
        return None; // The library takes it between digits.
    }
    let number = match text.split_once(['e', 'E']) {
        Some((_, exponent)) if is_huge(exponent) => return None,
        Some(_) if is_zero(text) => Decimal::ZERO,
        Some(_) => Decimal::from_scientific(text).ok().or_else(|| written_out(text))?,
        None => text.parse().ok()?,
    };
    let vanished = number.is_zero() && !is_zero(text);
    (!vanished).then_some(number)
}

fn is_huge(exponent: &str) -> bool {
    // An exponent that does not fit into 64 bits is larger still.
    exponent.parse::<i64>().map_or(true, |exponent| exponent.abs() > MAX_EXPONENT)
}

/// Whether every digit before the exponent of a JSON number is a zero, so that the number is 0.
pub(crate) fn is_zero(text: &str) -> bool {
    let mantissa = text.split(['e', 'E']).next().unwrap_or(text);
    !mantissa.bytes().any(|byte| matches!(byte, b'1'..=b'9'))
}

/// A number with more digits or a smaller exponent than a decimal can hold: written out without an exponent, it is
/// rounded as any other. 0 where it is too small to differ from it.
fn written_out(text: &str) -> Option<Decimal> {
    let (mantissa, exponent) = text.split_once(['e', 'E'])?;
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(mantissa) => ("-", mantissa),
        None => ("", mantissa),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let point =
        i64::try_from(whole.len()).ok()?.saturating_add(exponent.parse().unwrap_or(i64::MIN));
    match usize::try_from(point) {
        Ok(point) => {
            let (whole, fraction) = digits.split_at_checked(point)?;
            format!("{sign}0{whole}.{fraction}0").parse().ok()
        }
        Err(_) => {
            let zeros = "0".repeat(usize::try_from(-point).ok()?);
            format!("{sign}0.{zeros}{digits}").parse().ok()
        }
    }
}

impl From<Decimal> for Number {
    fn from(number: Decimal) -> Self {
        Self(number)
    }
}

/// The shortest decimal text: `1200`, `399.96`, `0`.
impl std::fmt::Display for Number {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shortest = self.0.normalize();
        write!(f, "{shortest}")
    }
}

/// A JSON number with every digit: serde_json writes it as it is, and only a reader without decimals reads it as a
/// float.
#[cfg(feature = "records")]
impl serde::Serialize for Number {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let text = serde_json::value::RawValue::from_string(self.to_string());
        text.map_err(serde::ser::Error::custom)?.serialize(serializer)
    }
}

#[cfg(feature = "records")]
impl<'de> serde::Deserialize<'de> for Number {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<serde_json::value::RawValue>::deserialize(deserializer)?;
        Self::parse(text.get()).ok_or_else(|| serde::de::Error::custom("a number is too large"))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        assert_eq!(
            Number::parse(text).map(|number| number.to_string()).as_deref(),
            expect,
            "{text}"
        );
    }

    #[test]
    fn numbers_retain_their_decimals_and_lose_needless_ones() {
        check("33.33", Some("33.33"));
        check("1200.00", Some("1200"));
        check("-0", Some("0"));
        check("0e99", Some("0"));
        check("0.0", Some("0"));
        check("1.5e3", Some("1500"));
        check("1e-3", Some("0.001"));
        check(
            "1234567890123456789012345678901234567890e-30",
            Some("1234567890.1234567890123456789"),
        );
        check("1e-28", Some("0.0000000000000000000000000001"));
        check("5e-28", Some("0.0000000000000000000000000005"));
        check("999999999999999.99", Some("999999999999999.99"));
        check("0.1234567890123456789012345678901234567890", Some("0.1234567890123456789012345679"));
    }

    #[test]
    fn a_huge_exponent_is_never_read_as_zero() {
        for text in [
            "1e-400",
            "1e400",
            "1e999999999",
            "1e-99999999999999999999",
            "0e99999",
            "-1.5e-30",
            "0.00000000000000000000000000000001",
        ] {
            check(text, None);
        }
    }

    #[test]
    fn an_absurd_amount_is_none() {
        check("1e15", Some("1000000000000000"));
        check("1000000000000000.01", None);
        check("-1e16", None);
        check("1e400", None);
        check("123456789012345678901234567890123", None);
    }

    #[test]
    fn json_has_every_digit() {
        let number = Number::parse("79228162514264.337593543950335").unwrap();
        assert_eq!(serde_json::to_string(&[number]).unwrap(), "[79228162514264.337593543950335]");
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(units in -MAX_AMOUNT..=MAX_AMOUNT, scale in 0_u32..=6) {
            let number = Number(Decimal::new(units, scale));
            prop_assert_eq!(Number::parse(&number.to_string()), Some(number));
        }

        #[test]
        fn no_json_number_makes_the_reader_panic(text in "-?(0|[1-9][0-9]{0,40})(\\.[0-9]{1,40})?([eE][+-]?[0-9]{1,12})?") {
            let _ = Number::parse(&text);
        }
    }
}
