//! Exact numbers: fractions of two integers, so that nothing is ever rounded by the way.

use std::{
    cmp::Ordering,
    ops::{Add, Div, Mul, Sub},
};

/// A fraction in lowest terms; its denominator is positive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fraction {
    over: i128,
    under: i128,
}

fn greatest_divisor(a: i128, b: i128) -> i128 {
    if b == 0 { a.abs().max(1) } else { greatest_divisor(b, a % b) }
}

impl Fraction {
    pub const ZERO: Self = Self { over: 0, under: 1 };
    pub const TWELVE: Self = Self { over: 12, under: 1 };

    pub fn new(over: i128, under: i128) -> Self {
        let divisor = greatest_divisor(over, under) * under.signum();
        Self { over: over / divisor, under: under / divisor }
    }

    pub fn whole(number: i128) -> Self {
        Self { over: number, under: 1 }
    }

    pub fn abs(self) -> Self {
        Self { over: self.over.abs(), ..self }
    }

    pub fn is_whole(self) -> bool {
        self.under == 1
    }

    pub fn floor(self) -> i128 {
        self.over.div_euclid(self.under)
    }

    /// The number, rounded to a number of decimals; half of the last one is rounded away from zero.
    pub fn rounded(self, decimals: u32) -> Self {
        let scale = 10_i128.pow(decimals);
        let twice = 2 * self.over.abs() * scale / self.under;
        Self::new(self.over.signum() * ((twice + 1) / 2), scale)
    }

    /// Text of the number in JSON; its decimals must end.
    pub fn text(self) -> String {
        let sign = if self.over < 0 { "-" } else { "" };
        let (mut text, mut rest) =
            (format!("{sign}{}", self.over.abs() / self.under), self.over.abs() % self.under);
        if rest > 0 {
            text.push('.');
        }
        while rest > 0 {
            rest *= 10;
            text.push_str(&(rest / self.under).to_string());
            rest %= self.under;
        }
        text
    }
}

impl Add for Fraction {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.over * other.under + other.over * self.under, self.under * other.under)
    }
}

impl Sub for Fraction {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self + Self { over: -other.over, ..other }
    }
}

impl Mul for Fraction {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.over * other.over, self.under * other.under)
    }
}

impl Div for Fraction {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self::new(self.over * other.under, self.under * other.over)
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some((self.over * other.under).cmp(&(other.over * self.under)))
    }
}
