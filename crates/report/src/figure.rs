//! A figure: a Vega-Lite spec with its data, a caption, and a table of its numbers.

use serde::Serialize;
use serde_json::{Value, json};

/// What a page, a notebook or a printer draws.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figure {
    /// Its name in the page, and of the files saved from it.
    pub id: String,
    /// What it shows, in a few words.
    pub title: String,
    /// What it shows, in sentences, and from which runs.
    pub caption: String,
    /// Vega-Lite, version 6; the data is inline under `data.values`.
    pub spec: Value,
    /// Its numbers, or those worth reading.
    pub table: Option<Table>,
}

/// Numbers beside a figure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Table {
    /// The columns.
    pub head: Vec<String>,
    /// The rows, as many cells each.
    pub rows: Vec<Vec<String>>,
    /// How many columns, from the first on, are words and not numbers.
    pub words: usize,
}

impl Table {
    /// A table whose first column says what each row is.
    pub fn new(head: Vec<String>, rows: Vec<Vec<String>>) -> Table {
        Table { head, rows, words: 1 }
    }
}

/// The schema that specs name.
const SCHEMA: &str = "https://vega.github.io/schema/vega-lite/v6.json";

/// A spec over these values: what `parts` says, and what all figures have in common. A figure of
/// one view is as wide as its page; those of several have widths of their own.
pub(crate) fn spec(values: Vec<Value>, parts: Value) -> Value {
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

/// Characters of a legend that stand side by side on a page.
const LEGEND_CHARACTERS: usize = 120;
/// What the symbol of an entry takes, and the room behind it.
const LEGEND_SYMBOL: usize = 6;

/// A legend below a figure with as many columns as there is room for.
pub(crate) fn legend(labels: &[String]) -> Value {
    let longest = labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    json!({"columns": (LEGEND_CHARACTERS / (longest + LEGEND_SYMBOL)).clamp(1, 4)})
}

/// A name that is safe as an id and as a file's name.
pub(crate) fn slug(text: &str) -> String {
    let safe = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let words: String = text.chars().map(safe).collect();
    words.split('-').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_words_joined_by_dashes() {
        assert_eq!(slug("LAST-1 my-tpcc: 46 % below"), "last-1-my-tpcc-46-below");
    }

    #[test]
    fn long_labels_stand_below_each_other() {
        let columns = |characters| legend(&["x".into(), "x".repeat(characters)])["columns"].clone();
        assert_eq!([0, 24, 25, 54, 55, 200].map(columns), [4, 4, 3, 2, 1, 1]);
    }

    #[test]
    fn a_spec_keeps_its_data_apart_from_what_is_drawn() {
        let spec = spec(vec![json!({"x": 1})], json!({"mark": "bar", "width": 80}));
        assert_eq!(spec["data"]["values"][0]["x"], 1);
        assert_eq!((spec["mark"].as_str(), spec["width"].as_u64()), (Some("bar"), Some(80)));
    }
}
