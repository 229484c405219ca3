//! Exact shares: `7%` of a device is the same number of blocks on every machine.
//!
//! A share is a fraction with a power of ten as its denominator. It keeps every digit that the user
//! wrote and is applied with 128-bit integers. With `f64`, 7 % of 100 blocks would round up to 8.

use std::fmt;

use crate::error::Result;
use crate::quantity::{Decimal, malformed};

/// A share of a whole, such as `7%`, `10.5%` or `0.03`. It may exceed the whole: `120%`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Share {
    numerator: u64,
    denominator: u64,
}

impl Share {
    /// Nothing of the whole.
    pub const NONE: Share = Share { numerator: 0, denominator: 1 };

    /// All of the whole.
    pub const WHOLE: Share = Share { numerator: 1, denominator: 1 };

    /// Parses `3%`, `10.5%` or `0.03`. A bare number above 1 is refused, because `7` more likely
    /// means 7 % than seven times the whole.
    ///
    /// # Errors
    /// The text is not a share or has more than 18 decimals.
    pub fn parse(text: &str) -> Result<Share> {
        let refused = || malformed(text, "a share such as `3%`, `10.5%` or `0.03`");
        let (number, hundreds) = match text.strip_suffix('%') {
            Some(number) => (number, 2),
            None => (text, 0),
        };
        let decimal = Decimal::parse(number).ok_or_else(refused)?;
        let share = Share::reduced(decimal.digits, decimal.scale + hundreds).ok_or_else(refused)?;
        if hundreds == 0 && share.exceeds_whole() {
            return Err(refused());
        }
        Ok(share)
    }

    /// The fraction `digits / 10^scale` without common factors of ten.
    fn reduced(digits: u128, scale: u32) -> Option<Share> {
        let (mut digits, mut scale) = (digits, scale);
        while scale > 0 && digits.is_multiple_of(10) {
            digits /= 10;
            scale -= 1;
        }
        let numerator = u64::try_from(digits).ok()?;
        Some(Share { numerator, denominator: 10u64.checked_pow(scale)? })
    }

    /// The share of `whole`, rounded up. It saturates at `u64::MAX`.
    pub fn ceil_of(self, whole: u64) -> u64 {
        saturated(self.product(whole).div_ceil(u128::from(self.denominator)))
    }

    /// The share of `whole`, rounded down. It saturates at `u64::MAX`.
    pub fn floor_of(self, whole: u64) -> u64 {
        saturated(self.product(whole) / u128::from(self.denominator))
    }

    /// The product of two 64-bit numbers always fits into 128 bits.
    fn product(self, whole: u64) -> u128 {
        u128::from(self.numerator) * u128::from(whole)
    }

    /// This share `factor` times. It saturates at `u64::MAX` over the denominator.
    pub fn times(self, factor: u32) -> Share {
        Share { numerator: saturated(self.product(factor.into())), ..self }
    }

    /// Whether the share is more than 100 %.
    pub fn exceeds_whole(self) -> bool {
        self.numerator > self.denominator
    }

    /// The numerator of the fraction.
    pub fn numerator(self) -> u64 {
        self.numerator
    }

    /// The denominator of the fraction, a power of ten.
    pub fn denominator(self) -> u64 {
        self.denominator
    }

    /// The nearest floating-point number. It is for reports only, never for device arithmetic.
    pub fn as_f64(self) -> f64 {
        self.numerator as f64 / self.denominator as f64
    }
}

fn saturated(value: u128) -> u64 {
    u64::try_from(value).unwrap_or(u64::MAX)
}

impl fmt::Display for Share {
    /// Writes the share in percent: `7%`, `10.5%`. [`Share::parse`] returns exactly this share.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = u128::from(self.numerator) * 100;
        let denominator = u128::from(self.denominator);
        write!(out, "{}", percent / denominator)?;
        let mut rest = percent % denominator;
        if rest > 0 {
            out.write_str(".")?;
        }
        while rest > 0 {
            write!(out, "{}", rest * 10 / denominator)?;
            rest = rest * 10 % denominator;
        }
        out.write_str("%")
    }
}

/// Parses a share, like [`Share::parse`].
///
/// # Errors
/// As [`Share::parse`].
pub fn parse_share(text: &str) -> Result<Share> {
    Share::parse(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_exact_unlike_floating_point_numbers() {
        let seven = Share::parse("7%").unwrap();
        assert_eq!(seven.ceil_of(100), 7);
        assert_eq!((0.07 * 100.0f64).ceil() as u64, 8, "floating-point numbers are not exact");
        assert_eq!(seven.ceil_of(101), 8);
        assert_eq!(seven.floor_of(101), 7);
        assert_eq!(Share::parse("10.5%").unwrap().ceil_of(1000), 105);
        assert_eq!(Share::parse("0.03").unwrap(), Share::parse("3%").unwrap());
        assert_eq!(Share::parse("100%").unwrap(), Share::parse("1").unwrap());
    }

    #[test]
    fn a_share_printed_in_percent_can_be_parsed_again() {
        for text in ["0%", "7%", "10.5%", "0.001%", "100%", "120%", "33.333333333%"] {
            assert_eq!(Share::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Share::parse("0.0305").unwrap().to_string(), "3.05%");
        assert_eq!(Share::parse("7.00%").unwrap().to_string(), "7%");
        assert_eq!(Share::NONE.to_string(), "0%");
    }

    #[test]
    fn malformed_shares_are_refused() {
        for text in ["", "%", "7", "1.01", "-3%", "3 %", "3%%", "1/3", "0.0000000000000000001"] {
            let message = Share::parse(text).unwrap_err().to_string();
            assert!(message.contains("is not a share such as `3%`"), "{message}");
        }
        assert!(Share::parse(&"9".repeat(50)).is_err());
        assert!(Share::parse(&format!("{}%", "9".repeat(500))).is_err());
    }

    #[test]
    fn enormous_products_saturate() {
        let all = Share::parse("100%").unwrap();
        assert_eq!(all, Share::WHOLE);
        assert_eq!(all.ceil_of(u64::MAX), u64::MAX);
        assert_eq!(Share::parse("1000%").unwrap().ceil_of(u64::MAX), u64::MAX);
        assert_eq!(Share::parse("50%").unwrap().ceil_of(u64::MAX), 1 << 63);
        assert_eq!(Share::parse("120%").unwrap().as_f64(), 1.2);
    }
}
