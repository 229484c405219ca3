//! A point of a chart: a row of a sweep, its value, and the published values.

use serde_json::{Map, Value};
use sim::plan::claim::Wanted;
use spec::Share;

/// The value of a row, and the values published for it.
#[derive(Clone, Debug)]
pub struct Point {
    /// Names the row where it is drawn as a bar.
    pub label: String,
    /// The options that the row sets, with the keys inside specs as options of their own.
    pub settings: Vec<(String, String)>,
    /// The options that the row sets, as the plan writes them.
    varied: Map<String, Value>,
    /// The measured value.
    pub measured: Option<f64>,
    /// The published value, or both ends of the published range.
    pub published: [Option<f64>; 2],
}

impl Point {
    /// The measured value of a row that sets the options `varied`.
    pub fn new(label: String, varied: &Map<String, Value>, measured: Option<f64>) -> Point {
        let (settings, varied) = (flat(varied), varied.clone());
        Point { label, settings, varied, measured, published: [None; 2] }
    }

    /// The same point with the published value, or with the finite ends of the published range.
    #[must_use]
    pub fn against(self, wanted: Wanted) -> Point {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        let published = match wanted {
            Wanted::About(value) => [finite(value), None],
            Wanted::Between(low, high) => [finite(low), finite(high)],
            Wanted::Below(_) | Wanted::Above(_) => [None; 2],
        };
        Point { published, ..self }
    }

    /// The same point in another unit: all values multiplied by `factor`.
    #[must_use]
    pub fn times(self, factor: f64) -> Point {
        let times = |value: f64| value * factor;
        let published = self.published.map(|end| end.map(times));
        Point { measured: self.measured.map(times), published, ..self }
    }

    /// Whether a published value is known.
    pub fn is_published(&self) -> bool {
        self.published != [None; 2]
    }

    /// The title of the point's panel: the whole value of an option, or that of a key inside it.
    pub fn panel(&self, key: &str) -> &str {
        let whole = self.varied.get(key).and_then(Value::as_str);
        whole.or_else(|| self.setting(key)).unwrap_or("–")
    }

    /// The value of an option or of a key inside a spec, if the row sets it.
    pub fn setting(&self, key: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// The options that a row sets, with the keys inside a spec as options of their own:
/// `ftl=lsb:blocks=64` sets `ftl` to `lsb` and `ftl.blocks` to 64.
fn flat(varied: &Map<String, Value>) -> Vec<(String, String)> {
    let mut settings = Vec::new();
    for (key, value) in varied {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let (name, pairs) = match text.split_once(':') {
            Some((name, pairs)) if pairs.contains('=') => (name, pairs),
            _ => (text.as_str(), ""),
        };
        settings.push((key.clone(), name.to_owned()));
        let pairs = pairs.split(',').filter_map(|pair| pair.split_once('='));
        settings.extend(pairs.map(|(inner, value)| (format!("{key}.{inner}"), value.to_owned())));
    }
    settings
}

/// The number in a setting, in the unit it is written in; `None` if it is not a number.
pub fn quantity(text: &str) -> Option<f64> {
    if text == "none" {
        return Some(0.0);
    }
    let blocks = text.strip_suffix("blocks").unwrap_or(text);
    let count = |text| spec::parse_count(text).ok().map(|count| count as f64);
    let size = |text| spec::parse_size(text).ok().map(|bytes| bytes as f64);
    blocks.parse().ok().or_else(|| count(blocks)).or_else(|| size(blocks))
}

/// The share in a setting, in per cent: `7%` and `0.07` are the same. `None` if it is not a share.
pub fn per_cent(text: &str) -> Option<f64> {
    let share = Share::parse(text).ok()?;
    Some(100.0 * share.numerator() as f64 / share.denominator() as f64)
}

/// Whether settings of this option are shares: one of them is written in per cent, or the option
/// takes a share wherever it is a bare number.
pub fn are_shares<'a>(key: &str, mut settings: impl Iterator<Item = &'a str>) -> bool {
    let is_of_share = SHARES.contains(&key);
    settings.any(|text| text.ends_with('%') || is_of_share && text.parse::<f64>().is_ok())
}

/// Options of which a bare number is a share.
const SHARES: [&str; 2] = ["extra", "split"];

/// Whether the text is a size in KiB, MiB or the like.
pub fn is_binary_size(text: &str) -> bool {
    text.ends_with("iB") && spec::parse_size(text).is_ok()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn keys_inside_a_spec_are_settings_of_their_own() {
        let varied = json!({"ftl": "lsb:blocks=64,map_cache=16", "extra": "3%", "seed": 7});
        let flat = flat(varied.as_object().unwrap());
        let wanted = [
            ("ftl", "lsb"),
            ("ftl.blocks", "64"),
            ("ftl.map_cache", "16"),
            ("extra", "3%"),
            ("seed", "7"),
        ];
        assert_eq!(flat, settings(&wanted));
    }

    #[test]
    fn shares_sizes_counts_and_blocks_are_numbers() {
        let found = ["4KiB", "64", "4M", "2048blocks", "none", "fast"].map(quantity);
        let wanted = [4096.0, 64.0, 4e6, 2048.0, 0.0].map(Some);
        assert_eq!(found[..5], wanted);
        assert_eq!(found[5], None);
    }

    /// Whoever writes a share as a fraction means the same point of the axis.
    #[test]
    fn a_share_is_the_same_however_it_is_written() {
        for share in ["7%", "14.5%", "28%", "100%", "0%", "0.1%", "33.33%"] {
            let percent: f64 = share.trim_end_matches('%').parse().unwrap();
            let fraction = format!("{:.4}", percent / 100.0);
            assert_eq!([share, &fraction].map(per_cent), [Some(percent); 2], "{share}");
        }
        assert_eq!(["20blocks", "adaptive", "7"].map(per_cent), [None; 3]);
        let are = |key: &str, settings: &[&str]| are_shares(key, settings.iter().copied());
        assert!(are("extra", &["0.07", "0.15"]) && are("extra", &["20blocks", "7%"]));
        assert!(are("ftl.window", &["50%", "0.7"]) && !are("ftl.window", &["0.5", "0.7"]));
        assert!(!are("extra", &["20blocks", "40blocks"]) && !are("seed", &["1", "2"]));
    }

    #[test]
    fn another_unit_is_that_of_published_values_too() {
        let point = Point::new("one".into(), &Map::new(), Some(2.0));
        let point = point.against(Wanted::Between(1.0, 3.0)).times(10.0);
        assert_eq!((point.measured, point.published), (Some(20.0), [Some(10.0), Some(30.0)]));
    }

    #[test]
    fn infinite_ends_of_a_range_are_left_out() {
        let point = Point::new("one".into(), &Map::new(), Some(0.3));
        assert!(!point.is_published());
        let point = point.against(Wanted::Between(f64::NEG_INFINITY, 0.5));
        assert!(point.is_published());
        assert_eq!(point.published, [None, Some(0.5)]);
    }
}
