//! Numbers as text for tables and captions.

/// The number with about four significant digits, and thin spaces between thousands.
pub fn number(value: f64) -> String {
    let size = value.abs();
    if size.is_infinite() {
        return "∞".to_owned();
    }
    if size >= 10_000.0 {
        return grouped(value.round() as i64);
    }
    let digits = match size {
        1000.0.. => 0,
        100.0.. => 1,
        10.0.. => 2,
        1.0.. | 0.0 => 3,
        _ => 5,
    };
    let text = format!("{value:.digits$}");
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

/// An integer with thin spaces between thousands.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{202f}');
        }
        text.push(digit);
    }
    if value < 0 { format!("−{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_four_digits() {
        let shown = [0.0, 0.012_345, 1.5, 12.345, 345.67, 9_999.4, -12_345.6, 1e7].map(number);
        let wanted = [
            "0",
            "0.01235",
            "1.5",
            "12.35",
            "345.7",
            "9999",
            "−12\u{202f}346",
            "10\u{202f}000\u{202f}000",
        ];
        assert_eq!(shown, wanted);
    }
}
