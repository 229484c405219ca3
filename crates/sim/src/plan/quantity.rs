//! The quantity that a claim or drawing looks at in a row.
//!
//! ```toml
//! figure = "write_amplification"                    # a column of the rows
//! figure = ["time_us.merge", "time_us.gc"]          # the sum of several
//! figure = "merges.full"                            # a share:
//! per = ["merges.switch", "merges.partial", "merges.full"]
//! figure = "scheme.rw_associated_blocks"            # counts by index, reduced to
//! statistic = "p90"                                 # the index that 90 % do not exceed
//! figure = "layers.buffer.subpage_share"            # a figure of a layer
//! ```

use core::fmt;

use ftl::LAYERS;
use serde_json::Value;
use toml::Spanned;
use toml::de::DeValue;

use crate::plan::document::{Fault, OrFault, TablePart, text_of, unknown_key};
use crate::result::columns::{at, columns};

/// Whether a name is inside a part of a row whose names are not fixed: a scheme's or a layer's own.
fn is_open(name: &str) -> bool {
    let is_of_layer = |rest: &str| {
        rest.split_once('.').is_some_and(|(name, _)| LAYERS.iter().any(|it| it.key() == name))
    };
    name.starts_with("scheme.") || name.strip_prefix("layers.").is_some_and(is_of_layer)
}

/// A quantity of a row.
#[derive(Debug)]
pub struct Quantity {
    /// The columns that are added up.
    sum: Vec<String>,
    /// The columns by whose sum it is divided; empty: it is not divided.
    per: Vec<String>,
    /// How a column with counts by index is reduced to a number.
    statistic: Option<Statistic>,
}

#[derive(Clone, Copy, Debug)]
enum Statistic {
    /// The mean index.
    Mean,
    /// The smallest index that this percentage does not exceed.
    Percentile(u64),
}

impl Quantity {
    /// Its value in a row, if the row has one.
    pub fn of(&self, row: &Value) -> Option<f64> {
        let sum = self.sum_of(&self.sum, row)?;
        match self.per.is_empty() {
            true => Some(sum),
            false => ratio(sum, self.sum_of(&self.per, row)?),
        }
    }

    fn sum_of(&self, columns: &[String], row: &Value) -> Option<f64> {
        let value = |column: &String| match (at(row, column), self.statistic) {
            (Value::Array(counts), Some(statistic)) => statistic.of(counts),
            (value, None) => value.as_f64(),
            _ => None,
        };
        columns.iter().map(value).sum()
    }

    /// Reads `figure`, `per` and `statistic` of a claim or a drawing.
    pub(super) fn parse(part: &TablePart, what: &str) -> OrFault<Quantity> {
        let sum = named(part, "figure")?;
        if sum.is_empty() {
            return Err(Fault::new(part.at.clone(), format!("this {what} has no `figure`")));
        }
        Ok(Quantity { sum, per: named(part, "per")?, statistic: statistic(part)? })
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.statistic {
            None => {}
            Some(Statistic::Mean) => out.write_str("mean of ")?,
            Some(Statistic::Percentile(percent)) => write!(out, "p{percent} of ")?,
        }
        let (sum, per) = (sum_text(&self.sum), sum_text(&self.per));
        match self.per.is_empty() {
            true => out.write_str(&self.sum.join(" + ")),
            false => write!(out, "{sum} / {per}"),
        }
    }
}

/// A quotient: infinite if a nonzero value is divided by 0, none if 0 is.
pub(super) fn ratio(of: f64, over: f64) -> Option<f64> {
    (of != 0.0 || over != 0.0).then(|| of / over)
}

fn sum_text(columns: &[String]) -> String {
    match columns {
        [column] => column.clone(),
        several => format!("({})", several.join(" + ")),
    }
}

impl Statistic {
    fn of(self, counts: &[Value]) -> Option<f64> {
        let counts: Option<Vec<u64>> = counts.iter().map(Value::as_u64).collect();
        let counts = counts?;
        let total: u64 = counts.iter().sum();
        if total == 0 {
            return None;
        }
        match self {
            Statistic::Mean => {
                let weighted = (0u64..).zip(&counts).map(|(index, &n)| index as f64 * n as f64);
                Some(weighted.sum::<f64>() / total as f64)
            }
            Statistic::Percentile(percent) => {
                let wanted = (u128::from(total) * u128::from(percent)).div_ceil(100);
                let mut seen = 0;
                let reaches = |&n: &u64| {
                    seen += u128::from(n);
                    seen >= wanted.max(1)
                };
                counts.iter().position(reaches).map(|index| index as f64)
            }
        }
    }
}

/// One column or a list of columns; empty without the key.
fn named(part: &TablePart, key: &str) -> OrFault<Vec<String>> {
    let Some(value) = part.table.get(key) else { return Ok(Vec::new()) };
    match value.get_ref().as_array() {
        None => Ok(vec![column(value)?]),
        Some(values) => values.iter().map(column).collect(),
    }
}

fn column(value: &Spanned<DeValue>) -> OrFault<String> {
    let name = value.get_ref().as_str();
    let name =
        name.ok_or_else(|| Fault::new(value.span(), "the name of a figure is not a text"))?;
    let columns = columns();
    if is_open(name) || columns.iter().any(|column| column == name) {
        return Ok(name.to_owned());
    }
    let columns: Vec<&str> = columns.iter().map(String::as_str).collect();
    Err(Fault::new(value.span(), unknown_key("a row", name, &columns)))
}

fn statistic(part: &TablePart) -> OrFault<Option<Statistic>> {
    let (Some(word), Some(value)) =
        (text_of(part.table, "statistic")?, part.table.get("statistic"))
    else {
        return Ok(None);
    };
    let percent = word.strip_prefix('p').and_then(|digits| digits.parse().ok());
    match (word.as_str(), percent) {
        ("mean", _) => Ok(Some(Statistic::Mean)),
        (_, Some(percent @ 1..=100)) => Ok(Some(Statistic::Percentile(percent))),
        _ => {
            let what = format!("`{word}` is not a statistic: write `mean`, or `p1` to `p100`");
            Err(Fault::new(value.span(), what))
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn figure(sum: &[&str], per: &[&str], statistic: Option<Statistic>) -> Quantity {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Quantity { sum: owned(sum), per: owned(per), statistic }
    }

    #[test]
    fn sums_and_shares_of_columns() {
        let row = json!({"a": {"x": 3, "y": 1.5}, "b": 9, "none": null});
        assert_eq!(figure(&["a.x"], &[], None).of(&row), Some(3.0));
        assert_eq!(figure(&["a.x", "a.y"], &["b"], None).of(&row), Some(0.5));
        assert_eq!(figure(&["a.x", "none"], &[], None).of(&row), None);
        assert_eq!(figure(&["a.x"], &["b", "gone"], None).of(&row), None);
        let zero = json!({"x": 0, "y": 0, "z": 1});
        assert_eq!(figure(&["x"], &["y"], None).of(&zero), None, "0 divided by 0");
        assert_eq!(figure(&["z"], &["y"], None).of(&zero), Some(f64::INFINITY));
        let shown = figure(&["a.x"], &["a.x", "b"], None).to_string();
        assert_eq!(shown, "a.x / (a.x + b)");
        let shown = figure(&["a.x", "b"], &["b"], Some(Statistic::Mean)).to_string();
        assert_eq!(shown, "mean of (a.x + b) / b");
    }

    #[test]
    fn statistics_of_counts_by_index() {
        // 10 of index 1, 80 of index 3, 10 of index 7.
        let row = json!({"h": [0, 10, 0, 80, 0, 0, 0, 10], "empty": [0, 0]});
        let of = |statistic| figure(&["h"], &[], Some(statistic)).of(&row);
        assert_eq!(of(Statistic::Mean), Some(3.2));
        let percentiles = [(1, 1.0), (10, 1.0), (11, 3.0), (90, 3.0), (91, 7.0), (100, 7.0)];
        for (percent, index) in percentiles {
            assert_eq!(of(Statistic::Percentile(percent)), Some(index), "p{percent}");
        }
        assert_eq!(figure(&["empty"], &[], Some(Statistic::Mean)).of(&row), None);
        assert_eq!(figure(&["h"], &[], None).of(&row), None, "counts need a statistic");
    }
}
