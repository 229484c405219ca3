//! A figure: a Vega-Lite spec with its data, a caption, and a table of its numbers.

use serde::Serialize;
use serde_json::{Value, json};

use crate::colours;
use crate::names::curve_ends::put_at_ends;

/// A figure that a page, a notebook or a printer can draw.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// Its id in the page, and the name of files saved from it.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What it shows, in sentences. What all figures of a page share stands at its top.
    pub caption: String,
    /// The Vega-Lite 6 spec, with the data inline under `data.values`.
    pub spec: Value,
    /// The most important numbers.
    pub table: Option<DataTable>,
}

/// A table in a page.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DataTable {
    /// The titles of the columns.
    pub head: Vec<String>,
    /// The rows, with one cell per column.
    pub rows: Vec<Vec<String>>,
    /// Number of columns at the left that hold text. The others hold numbers.
    pub text_columns: usize,
}

impl DataTable {
    /// A table whose first column names the rows.
    pub fn new<H: Into<String>>(
        head: impl IntoIterator<Item = H>,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> DataTable {
        let head = head.into_iter().map(H::into).collect();
        DataTable { head, rows: rows.into_iter().collect(), text_columns: 1 }
    }
}

/// A curve has at most about this many points: more could not be told apart.
pub(crate) const POINTS_MAX: usize = 400;

/// The schema of all specs.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// The spec of a figure: these values, these parts, and what all figures have in common. A figure
/// with one view is as wide as its page. A figure with panels sets its own widths.
/// Curves are named at their ends, where that is possible.
pub(crate) fn spec(values: Vec<Value>, mut parts: Value) -> Value {
    put_at_ends(&values, &mut parts);
    let mut spec = json!({"$schema": SCHEMA, "data": {"name": "figure", "values": values}});
    if parts.get("facet").is_none() {
        spec["width"] = "container".into();
        spec["autosize"] = json!({"type": "fit-x", "contains": "padding"});
    }
    if let (Some(spec), Value::Object(parts)) = (spec.as_object_mut(), parts) {
        spec.extend(parts);
    }
    spec
}

/// An axis that ends where the data ends, and need not contain zero.
pub(crate) fn axis(field: &str, title: &str) -> Value {
    json!({"field": field, "type": "quantitative", "title": title,
           "scale": {"nice": false, "zero": false}})
}

/// An axis from zero to the end of the data.
pub(crate) fn axis_from_zero(field: &str, title: &str) -> Value {
    let mut axis = axis(field, title);
    axis["scale"]["zero"] = true.into();
    axis
}

/// An axis for these values: from zero, or logarithmic if they are all positive and the largest is
/// at least `span` times the least.
pub(crate) fn value_axis(field: &str, title: &str, values: &[f64], span: f64) -> Value {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(0.0, f64::max);
    match least > 0.0 && least.is_finite() && most / least >= span {
        true => logarithmic_axis(field, title),
        false => axis_from_zero(field, title),
    }
}

/// Values that span more than this are drawn on a logarithmic axis.
pub(crate) const DECADES: f64 = 30.0;

/// The colours of runs or traces, with or without a legend.
pub(crate) fn colour_channel(field: &str, labels: &[String], has_legend: bool) -> Value {
    let legend = if has_legend { legend(labels) } else { Value::Null };
    json!({"field": field, "type": "nominal", "title": null, "legend": legend,
           "scale": {"domain": labels, "range": colours::of(labels)}})
}

/// A rule at write amplification 1 across a view, where nothing is written but the host's own
/// pages.
pub(crate) fn rule_at_one() -> Value {
    json!({
        "data": {"values": [{}]},
        "mark": {"type": "rule", "strokeDash": [4, 3], "strokeWidth": 1.2},
        "encoding": {"y": {"datum": 1}},
    })
}

/// A logarithmic axis from the beginning to the end of the data.
pub(crate) fn logarithmic_axis(field: &str, title: &str) -> Value {
    json!({"field": field, "type": "quantitative", "title": title,
           "scale": {"type": "log", "nice": false}})
}

/// An axis of shares from zero to the end of the data, in percent.
pub(crate) fn share_axis(field: &str, title: &str) -> Value {
    let mut axis = axis_from_zero(field, title);
    axis["axis"] = json!({"format": "~%"});
    axis
}

/// Width of a legend, in characters.
const LEGEND_CHARACTERS: usize = 120;
/// Width of a legend's symbol and of the space between entries, in characters.
const LEGEND_SYMBOL: usize = 6;

/// A legend below a figure, with as many columns as fit.
pub(crate) fn legend(labels: &[String]) -> Value {
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    json!({"columns": (LEGEND_CHARACTERS / (longest + LEGEND_SYMBOL)).clamp(1, 4)})
}

/// Turns a text into a name that can be used as an id and as a file name.
pub(crate) fn slug(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = text.chars().map(safe).collect();
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slug_joins_words_by_dashes() {
        assert_eq!(slug("LAST-1 my-tpcc: 46 % below"), "last-1-my-tpcc-46-below");
    }

    #[test]
    fn a_legend_has_fewer_columns_if_labels_are_long() {
        let columns = |characters| legend(&["x".into(), "x".repeat(characters)])["columns"].clone();
        assert_eq!([0, 24, 25, 54, 55, 200].map(columns), [4, 4, 3, 2, 1, 1]);
    }

    #[test]
    fn a_spec_has_data_and_parts() {
        let spec = spec(vec![json!({"x": 1})], json!({"mark": "bar", "width": 80}));
        assert_eq!(spec["data"]["values"][0]["x"], 1);
        assert_eq!((spec["mark"].as_str(), spec["width"].as_u64()), (Some("bar"), Some(80)));
    }
}
