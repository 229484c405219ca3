//! Numbers, ratios and lists in sentences.

use crate::number_format::decimals;

/// A number with three digits: `0.00570`, `2.03`, `14.5`, `1,235`.
pub fn rounded(value: f64) -> String {
    let magnitude = if value == 0.0 { 0.0 } else { value.abs().log10().floor() };
    decimals(value, (2.0 - magnitude).clamp(0.0, 6.0) as usize)
}

/// How much more a value is than the least: `3.1 % more`, `2.4 times as much`.
pub fn more(ratio: f64) -> String {
    match ratio {
        _ if ratio < 1.095 => format!("{} % more", rounded(100.0 * (ratio - 1.0))),
        _ if ratio < 9.95 => format!("{} times as much", decimals(ratio, 1)),
        _ => format!("{} times as much", decimals(ratio, 0)),
    }
}

/// An uncertainty, given as a share: `± 0.4 %`.
pub fn plus_minus(spread: f64) -> String {
    match 100.0 * spread {
        small if small < 0.05 => "± less than 0.1 %".to_owned(),
        percent => format!("± {} %", decimals(percent, 1)),
    }
}

/// A list in a sentence: `a`, `a and b`, `a, b and c`.
pub fn list(parts: &[impl AsRef<str>]) -> String {
    let parts: Vec<&str> = parts.iter().map(AsRef::as_ref).collect();
    match &parts[..] {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// A list of names; of many, only their number.
pub fn names(names: &[String], what: &str) -> String {
    if names.len() > NAMED_MAX { format!("{} {what}", names.len()) } else { list(names) }
}

/// A sentence names at most this many.
pub const NAMED_MAX: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits() {
        let shown = [0.0, 0.0057, 0.25, 1.0, 2.034, 14.55, 123.4, 12_345.0].map(rounded);
        assert_eq!(shown, ["0.00", "0.00570", "0.250", "1.00", "2.03", "14.6", "123", "12,345"]);
    }

    #[test]
    fn small_ratios_are_per_cent() {
        let shown = [1.0004, 1.031, 1.1, 2.43, 9.94, 23.4].map(more);
        let wanted = [
            "0.0400 % more",
            "3.10 % more",
            "1.1 times as much",
            "2.4 times as much",
            "9.9 times as much",
            "23 times as much",
        ];
        assert_eq!(shown, wanted);
        assert_eq!(
            [0.0, 0.0049, 0.25].map(plus_minus),
            ["± less than 0.1 %", "± 0.5 %", "± 25.0 %"]
        );
    }

    #[test]
    fn many_names_are_counted() {
        let all = ["a", "b", "c", "d"].map(str::to_owned);
        let shown =
            [&all[..0], &all[..1], &all[..2], &all[..3], &all].map(|some| names(some, "runs"));
        assert_eq!(shown, ["", "a", "a and b", "a, b and c", "4 runs"]);
    }
}
