//! Sort key of a JSON number of any size and number of digits: numbers are compared by their decimal text, so that none
//! is rounded.

use std::cmp::Ordering;

/// Sort key of a number. Exponents beyond 64 bits count as the greatest or the least one of 64 bits.
///
/// ```
/// use svctrack_core::value::NumberSortKey;
/// assert!(NumberSortKey::from_text("1e400") < NumberSortKey::from_text("2e400"));
/// assert_eq!(NumberSortKey::from_text("1.50e1"), NumberSortKey::from_text("15"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberSortKey {
    /// -1, 0 or 1.
    sign: i8,
    /// Power of ten by which `0.digits` is multiplied.
    magnitude: i64,
    /// Digits without zeros at either end; none of 0.
    digits: Box<str>,
}

impl NumberSortKey {
    /// The place of a JSON number, from its text.
    pub fn from_text(text: &str) -> Self {
        let (sign, unsigned) = text.strip_prefix('-').map_or((1, text), |unsigned| (-1, unsigned));
        let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let written = [whole, fraction].concat();
        let digits = written.trim_start_matches('0');
        if digits.is_empty() {
            return Self { sign: 0, magnitude: 0, digits: Box::default() };
        }
        let before_point = whole.len() as i64 - (written.len() - digits.len()) as i64;
        let magnitude = exponent_of(exponent).saturating_add(before_point);
        Self { sign, magnitude, digits: digits.trim_end_matches('0').into() }
    }

    /// Bytes of memory besides the value itself.
    pub(crate) fn bytes(&self) -> usize {
        self.digits.len()
    }
}

fn exponent_of(text: &str) -> i64 {
    text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX })
}

impl Ord for NumberSortKey {
    fn cmp(&self, other: &Self) -> Ordering {
        self.sign.cmp(&other.sign).then_with(|| {
            let size = (self.magnitude, &self.digits).cmp(&(other.magnitude, &other.digits));
            if self.sign < 0 { size.reverse() } else { size }
        })
    }
}

impl PartialOrd for NumberSortKey {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_of_any_size_have_one_order() {
        let ordered = [
            "-1e99999999999999999999",
            "-2e400",
            "-1e400",
            "-123456789012345678901234567890123.5",
            "-123456789012345678901234567890123",
            "-1",
            "-2e-400",
            "-1e-400",
            "0",
            "1e-400",
            "2e-400",
            "0.00000000000000000000000000001",
            "0.09",
            "0.1",
            "1",
            "1.0000000000000000000000000000000000001",
            "9",
            "10",
            "1e29",
            "2e29",
            "1e400",
            "1e99999999999999999999",
        ];
        let places: Vec<_> = ordered.iter().map(|text| NumberSortKey::from_text(text)).collect();
        assert!(places.windows(2).all(|pair| pair[0] < pair[1]), "{places:?}");
    }

    #[test]
    fn a_number_has_one_place_however_it_is_written() {
        for spellings in [
            &["0", "-0", "0.00", "0e99999", "-0.0e-9"][..],
            &["15", "15.0", "1.5e1", "1.50E+1", "150e-1", "0.15e2", "0.0015e4"],
            &["-0.05", "-5e-2", "-0.50e-1"],
        ] {
            assert!(
                spellings
                    .iter()
                    .all(|text| NumberSortKey::from_text(text)
                        == NumberSortKey::from_text(spellings[0])),
                "{spellings:?}"
            );
        }
    }

    /// The digits of a number that is written out with `WIDTH` of them before the point and `WIDTH` after it.
    fn written_out(text: &str) -> String {
        const WIDTH: i64 = 200;
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let after_point = WIDTH + exponent.parse::<i64>().unwrap() - fraction.len() as i64;
        let digits = format!("{whole}{fraction}{}", "0".repeat(after_point.try_into().unwrap()));
        format!("{digits:0>400}")
    }

    fn slow_order(a: &str, b: &str) -> Ordering {
        let read = |text: &str| {
            let digits = written_out(text.trim_start_matches('-'));
            (text.starts_with('-') && digits.contains(|digit| digit != '0'), digits)
        };
        let ((a_is_negative, a), (b_is_negative, b)) = (read(a), read(b));
        match (a_is_negative, b_is_negative) {
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
            (true, true) => b.cmp(&a),
            (false, false) => a.cmp(&b),
        }
    }

    const NUMBER: &str = "-?(0|[1-9][0-9]{0,3}|[1-9][0-9]{25,35})(\\.[0-9]{1,3}|\\.0{0,30}[0-9])?([eE][+-]?[0-9]{1,2})?";

    proptest! {
        #[test]
        fn two_numbers_are_in_the_order_in_which_they_are_when_written_out(a in NUMBER, b in NUMBER) {
            prop_assert_eq!(NumberSortKey::from_text(&a).cmp(&NumberSortKey::from_text(&b)), slow_order(&a, &b));
        }
    }
}
