//! Sizes, counts, times, ratios and switches. Numbers are exact decimals, never `f64`.
//!
//! A number is `digits[.digits]`. It is kept as an integer and a power of ten and multiplied by its
//! unit. The result must be whole: `1.4M` is 1 400 000, but `0.3` bytes is an error.

use crate::error::{Error, Result};

/// A non-negative decimal number: `digits / 10^scale`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Decimal {
    pub(crate) digits: u128,
    pub(crate) scale: u32,
}

/// The maximum number of decimals. It keeps `10^scale` small enough for 64 bits.
const DECIMALS_MAX: usize = 18;

impl Decimal {
    /// Parses `digits[.digits]`; `None` for anything else. A number beyond 128 bits saturates, so
    /// that every caller refuses it as too large.
    pub(crate) fn parse(text: &str) -> Option<Decimal> {
        let (whole, fraction) = match text.split_once('.') {
            Some((whole, fraction)) if !fraction.is_empty() => (whole, fraction),
            Some(_) => return None,
            None => (text, ""),
        };
        let is_number = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        let fraction_kept = fraction.trim_end_matches('0');
        if whole.is_empty() || !is_number(whole) || !is_number(fraction) {
            return None;
        }
        if fraction_kept.len() > DECIMALS_MAX {
            return None;
        }
        let append = |value: u128, byte: u8| {
            value.saturating_mul(10).saturating_add(u128::from(byte - b'0'))
        };
        let digits = whole.bytes().chain(fraction_kept.bytes()).fold(0, append);
        Some(Decimal { digits, scale: fraction_kept.len() as u32 })
    }

    /// The number times `factor`, if the product is whole and fits into 64 bits.
    fn times(self, factor: u64, text: &str, unit: &'static str) -> Result<u64> {
        let too_large = || Error::TooLarge { text: text.to_owned(), unit };
        let product = self.digits.checked_mul(u128::from(factor)).ok_or_else(too_large)?;
        let divisor = 10u128.pow(self.scale);
        if !product.is_multiple_of(divisor) {
            return Err(Error::NotWhole { text: text.to_owned(), unit });
        }
        u64::try_from(product / divisor).map_err(|_| too_large())
    }
}

/// A kind of quantity: a description for error messages, the smallest unit, and all units.
struct Measure {
    form: &'static str,
    smallest: &'static str,
    units: &'static [(&'static str, u64)],
}

static SIZE: Measure = Measure {
    form: "a size such as `8GiB`, `512MB` or a bare number of bytes",
    smallest: "bytes",
    units: &[
        ("", 1),
        ("B", 1),
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("TiB", 1 << 40),
        ("PiB", 1 << 50),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("TB", 1_000_000_000_000),
        ("PB", 1_000_000_000_000_000),
    ],
};

static COUNT: Measure = Measure {
    form: "a count such as `5000`, `4M` or `1.4M` (K, M and G are decimal)",
    smallest: "items",
    units: &[("", 1), ("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000)],
};

static TIME: Measure = Measure {
    form: "a time such as `120s`, `5ms`, `10us` or `1ns`",
    smallest: "nanoseconds",
    units: &[
        ("ns", 1),
        ("us", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("min", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ],
};

impl Measure {
    fn parse(&self, text: &str) -> Result<u64> {
        let malformed = || malformed(text, self.form);
        let letters = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
        let (number, suffix) = text.split_at(letters);
        let unit = self.units.iter().find(|(name, _)| name.eq_ignore_ascii_case(suffix));
        let &(_, factor) = unit.ok_or_else(malformed)?;
        Decimal::parse(number).ok_or_else(malformed)?.times(factor, text, self.smallest)
    }

    /// Writes `value` in the first of these units in which it is a whole number, so that
    /// [`Measure::parse`] returns exactly the same value.
    fn print(&self, value: u64, preferred: &[&str]) -> String {
        for name in preferred {
            let factor = self.units.iter().find(|(unit, _)| unit == name).map_or(1, |unit| unit.1);
            if value.is_multiple_of(factor) && value > 0 {
                return format!("{}{name}", value / factor);
            }
        }
        value.to_string()
    }
}

/// Parses a size in bytes: `8GiB`, `512MB`, `1.5KiB`, or a bare number.
///
/// # Errors
/// The text is not a size, not a whole number of bytes, or does not fit into 64 bits.
pub fn parse_size(text: &str) -> Result<u64> {
    SIZE.parse(text)
}

/// Parses a count: `5000`, `4M`, `1.4M`; K, M and G are decimal.
///
/// # Errors
/// The text is not a count, not whole, or does not fit into 64 bits.
pub fn parse_count(text: &str) -> Result<u64> {
    COUNT.parse(text)
}

/// Parses a time in nanoseconds: `120s`, `5ms`, `10us`, `1ns`, `2min`, `1h`. The unit is required.
///
/// # Errors
/// The text is not a time, not a whole number of nanoseconds, or does not fit into 64 bits.
pub fn parse_time_ns(text: &str) -> Result<u64> {
    TIME.parse(text)
}

/// Parses a ratio of two whole numbers such as `70/30`.
///
/// # Errors
/// The text is not two numbers with a `/` between them.
pub fn parse_ratio(text: &str) -> Result<(u64, u64)> {
    let number = |digits: &str| -> Option<u64> {
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        if plain { digits.parse().ok() } else { None }
    };
    let parts = text.split_once('/').and_then(|(a, b)| Some((number(a)?, number(b)?)));
    parts.ok_or_else(|| malformed(text, "a ratio such as `70/30`"))
}

/// Parses a switch, `true` or `false`.
///
/// # Errors
/// The text is anything else.
pub fn parse_switch(text: &str) -> Result<bool> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(malformed(text, "`true` or `false`")),
    }
}

/// Parses a finite decimal number such as `0.99` or `-2`.
pub(crate) fn parse_real(text: &str) -> Result<f64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let plain = Decimal::parse(digits).is_some();
    let value = if plain { text.parse().ok() } else { None };
    value
        .filter(|real: &f64| real.is_finite())
        .ok_or_else(|| malformed(text, "a number such as `0.9`"))
}

/// Writes a size the way users write it: `8GiB`, `512KiB`, or bytes.
pub fn print_size(bytes: u64) -> String {
    SIZE.print(bytes, &["PiB", "TiB", "GiB", "MiB", "KiB"])
}

/// Writes bytes for people, in the largest unit that gives at least 1: `1.50 GiB`.
pub fn round_size(bytes: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let power = (bytes.ilog2() / 10) as usize;
    format!("{:.2} {}", bytes as f64 / 1024f64.powi(power as i32), UNITS[power - 1])
}

/// Writes a time the way users write it: `120s`, `5ms`, `1ns`.
pub(crate) fn print_time_ns(time_ns: u64) -> String {
    match time_ns {
        0 => String::from("0ns"),
        _ => TIME.print(time_ns, &["s", "ms", "us", "ns"]),
    }
}

/// The error for a value that does not have the expected form.
pub(crate) fn malformed(text: &str, form: &str) -> Error {
    Error::Malformed { text: text.to_owned(), form: form.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_for_people_are_rounded() {
        let rounded = [0, 1023, 1024, 3 << 29].map(round_size);
        assert_eq!(rounded.join(" "), "0 B 1023 B 1.00 KiB 1.50 GiB");
        assert_eq!(round_size(u64::MAX), "16.00 EiB");
    }

    #[test]
    fn sizes_have_binary_or_decimal_units() {
        let cases = [
            ("0", 0),
            ("512", 512),
            ("512B", 512),
            ("8GiB", 8 << 30),
            ("512MB", 512_000_000),
            ("1.5KiB", 1536),
            ("8gib", 8 << 30),
            ("1.50KiB", 1536),
            ("18446744073709551615", u64::MAX),
        ];
        for (text, bytes) in cases {
            assert_eq!(parse_size(text), Ok(bytes), "{text}");
        }
    }

    #[test]
    fn the_message_about_a_malformed_size_describes_a_size() {
        for text in
            ["", "GiB", "8G", "8 GiB", "-1", "+1", "1e3", ".5KiB", "5.KiB", "1.2.3", "8GiBs", "٣"]
        {
            let message = parse_size(text).unwrap_err().to_string();
            assert!(message.contains("is not a size such as `8GiB`"), "{message}");
        }
        let message = parse_size("0.3").unwrap_err().to_string();
        assert_eq!(message, "`0.3` is not a whole number of bytes");
    }

    #[test]
    fn numbers_of_any_length_that_overflow_are_errors() {
        let huge = "9".repeat(500);
        for text in ["18446744073709551616", "17179869184GiB", "99999PiB", huge.as_str()] {
            let error = parse_size(text).unwrap_err();
            assert!(matches!(error, Error::TooLarge { .. }), "{error}");
        }
    }

    #[test]
    fn counts_are_decimal_and_exact() {
        assert_eq!(parse_count("4M"), Ok(4_000_000));
        assert_eq!(parse_count("1.4M"), Ok(1_400_000));
        assert_eq!(
            parse_count("1.0005K"),
            Err(Error::NotWhole { text: "1.0005K".to_owned(), unit: "items" })
        );
        assert!(parse_count("1.0000000000000000001M").is_err());
        assert!(parse_count("4MiB").is_err());
    }

    #[test]
    fn times_need_a_unit() {
        assert_eq!(parse_time_ns("120s"), Ok(120_000_000_000));
        assert_eq!(parse_time_ns("5ms"), Ok(5_000_000));
        assert_eq!(parse_time_ns("10us"), Ok(10_000));
        assert_eq!(parse_time_ns("1ns"), Ok(1));
        assert_eq!(parse_time_ns("0.5us"), Ok(500));
        assert!(parse_time_ns("120").is_err());
        assert!(parse_time_ns("0.5ns").is_err());
        assert!(parse_time_ns("99999999999s").is_err());
    }

    #[test]
    fn ratios_switches_and_reals_are_parsed_strictly() {
        assert_eq!(parse_ratio("70/30"), Ok((70, 30)));
        for text in ["70", "70/", "/30", "70/30/1", "+7/3", "a/b", "99999999999999999999/1"] {
            assert!(parse_ratio(text).is_err(), "{text}");
        }
        assert_eq!(parse_switch("true"), Ok(true));
        assert_eq!(parse_switch("false"), Ok(false));
        assert!(parse_switch("yes").is_err());
        assert_eq!(parse_real("0.99"), Ok(0.99));
        assert_eq!(parse_real("-2"), Ok(-2.0));
        for text in ["", "nan", "inf", "1e400", "--1", "1."] {
            assert!(parse_real(text).is_err(), "{text}");
        }
    }

    #[test]
    fn printing_is_the_inverse_of_parsing() {
        for bytes in [0, 1, 512, 1024, 1536, 8 << 30, 1_000_000, u64::MAX] {
            assert_eq!(parse_size(&print_size(bytes)), Ok(bytes));
        }
        for time_ns in [0, 1, 1_000, 1_500, 120_000_000_000, u64::MAX] {
            assert_eq!(parse_time_ns(&print_time_ns(time_ns)), Ok(time_ns));
        }
        assert_eq!(print_size(8 << 30), "8GiB");
        assert_eq!(print_time_ns(5_000_000), "5ms");
    }
}
