//! Numbers as text, the same on the terminal, in tables and in captions: digits are grouped by
//! commas, decimals follow a point.

pub use spec::round_size as bytes;

/// A count: `1,234,567`.
pub fn count(n: u64) -> String {
    grouped(&n.to_string())
}

/// A count of things: `1 row`, `1,234 rows`.
pub fn counted(n: u64, thing: &str) -> String {
    let plural = if n == 1 { "" } else { "s" };
    format!("{} {thing}{plural}", count(n))
}

/// A number with this many decimals: `12,345.7`.
pub fn decimals(value: f64, places: usize) -> String {
    if value.is_infinite() {
        return "∞".to_owned();
    }
    let text = format!("{:.places$}", value.abs());
    let (whole, fraction) = text.split_at(text.find('.').unwrap_or(text.len()));
    let is_zero = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    let sign = if value < 0.0 && !is_zero { "−" } else { "" };
    format!("{sign}{}{fraction}", grouped(whole))
}

/// A share in percent with two decimals.
pub fn percent(share: f64) -> String {
    decimals(100.0 * share, 2)
}

/// Bytes written until flash is worn out, in terabytes of 10¹² bytes, as on data sheets.
pub fn tbw(bytes: f64) -> String {
    let terabytes = bytes / 1e12;
    format!("{} TBW", decimals(terabytes, if terabytes < 100.0 { 3 } else { 0 }))
}

/// A number with about four significant digits, in powers of ten if it has more digits than can be
/// read.
pub fn number(value: f64) -> String {
    const READABLE_MAX: f64 = 1e15;
    if value.is_finite() && value.abs() >= READABLE_MAX {
        return format!("{value:.3e}").replace('-', "−");
    }
    let places = match value.abs() {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. | 0.0 => 3,
        0.1.. => 4,
        _ => 5,
    };
    let text = decimals(value, places);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// Digits in groups of three.
fn grouped(digits: &str) -> String {
    let mut text = String::with_capacity(digits.len() * 4 / 3);
    for (index, digit) in digits.char_indices() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_four_digits() {
        let shown = [0.0, 0.012_345, 1.5, 12.345, 345.67, 9_999.4, -12_345.6, 1e7, -1e-9];
        let wanted =
            ["0", "0.01235", "1.5", "12.35", "345.7", "9,999", "−12,346", "10,000,000", "0"];
        assert_eq!(shown.map(number), wanted);
        assert_eq!([f64::INFINITY, -1.5e300].map(number), ["∞", "−1.500e300"]);
    }

    #[test]
    fn terabytes_written_are_decimal() {
        assert_eq!([1.5e12, 150e12, 2e15].map(tbw), ["1.500 TBW", "150 TBW", "2,000 TBW"]);
    }

    #[test]
    fn digits_are_grouped_before_the_point_only() {
        let counts = [0, 999, 1000, 1_234_567].map(count);
        assert_eq!(counts, ["0", "999", "1,000", "1,234,567"]);
        let shown = [0.1234, 999.95, 1234.5678, -1234.5, -0.04].map(|value| decimals(value, 1));
        assert_eq!(shown, ["0.1", "1,000.0", "1,234.6", "−1,234.5", "0.0"]);
    }

    #[test]
    fn bytes_have_a_binary_unit() {
        let shown = [0, 1023, 1024, 3 << 29, u64::MAX].map(bytes);
        assert_eq!(shown, ["0 B", "1023 B", "1.00 KiB", "1.50 GiB", "16.00 EiB"]);
    }
}
