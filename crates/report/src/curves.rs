//! Figures of sweeps: what rows show, and what is published, over the parameter that varies.
//!
//! The parameter at the axis is the one that takes the most values that are numbers, three at
//! least; what else varies makes the curves. Where no parameter is a number, each point is a bar.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sim::plan::claim::Wanted;

use crate::figure::spec;
use crate::words;

/// A row's figure, and what is published of it.
#[derive(Clone, Debug)]
pub struct Point {
    label: String,
    settings: Vec<(String, String)>,
    measured: Option<f64>,
    published: [Option<f64>; 2],
}

impl Point {
    /// The figure of a row that sets what `varied` says; the label names it where it is a bar.
    pub fn new(label: String, varied: &Map<String, Value>, measured: Option<f64>) -> Point {
        Point { label, settings: flat(varied), measured, published: [None; 2] }
    }

    /// The same with what is published: a figure, or the ends of a range that are finite.
    #[must_use]
    pub fn against(self, wanted: Wanted) -> Point {
        let finite = |end: f64| Some(end).filter(|end| end.is_finite());
        let published = match wanted {
            Wanted::About(figure) => [finite(figure), None],
            Wanted::Between(low, high) => [finite(low), finite(high)],
            Wanted::Below(_) | Wanted::Above(_) => [None; 2],
        };
        Point { published, ..self }
    }

    /// Whether something is published.
    pub fn is_published(&self) -> bool {
        self.published != [None; 2]
    }

    fn setting(&self, key: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// The spec of a figure of these points; `title` stands at the axis of their figures.
pub fn draw(points: &[Point], title: &str) -> Value {
    let (values, parts) = match Axis::choose(points) {
        Some(axis) => axis.curves(points, title),
        None => bars(points, title),
    };
    spec(values, parts)
}

/// What a row sets, with the keys inside a spec apart: `ftl=lsb:blocks=64` sets `ftl` to `lsb` and
/// `ftl.blocks` to 64.
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

/// The number that a setting is, in the unit that people write it in; none if it is none.
fn quantity(text: &str) -> Option<f64> {
    if let Some(share) = text.strip_suffix('%') {
        return share.trim().parse().ok();
    }
    let blocks = text.strip_suffix("blocks").unwrap_or(text);
    let count = |text| spec::parse_count(text).ok().map(|count| count as f64);
    let size = |text| spec::parse_size(text).ok().map(|bytes| bytes as f64);
    blocks.parse().ok().or_else(|| count(blocks)).or_else(|| size(blocks))
}

/// Values a parameter must take to be an axis.
const VALUES_MIN: usize = 3;
/// The most ticks of an axis that stand at points.
const TICKS_MAX: usize = 12;
/// From this ratio of the ends on, an axis is logarithmic.
const DECADES_FROM: f64 = 30.0;

/// The parameter at the horizontal axis.
struct Axis {
    key: String,
    is_logarithmic: bool,
}

impl Axis {
    fn choose(points: &[Point]) -> Option<Axis> {
        let keys: BTreeSet<&String> =
            points.iter().flat_map(|point| point.settings.iter().map(|(key, _)| key)).collect();
        let numbers = |key: &str| -> Option<Vec<f64>> {
            let of = |point: &Point| point.setting(key).and_then(quantity);
            let mut numbers: Vec<f64> = points.iter().map(of).collect::<Option<_>>()?;
            numbers.sort_by(f64::total_cmp);
            numbers.dedup();
            Some(numbers)
        };
        let axes = keys.into_iter().filter_map(|key| Some((key, numbers(key)?)));
        let (key, numbers) = axes
            .filter(|(_, numbers)| numbers.len() >= VALUES_MIN)
            .max_by_key(|(_, numbers)| numbers.len())?;
        let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
        Some(Axis { key: key.clone(), is_logarithmic: low > 0.0 && high / low >= DECADES_FROM })
    }

    /// What else varies names the curve that a point belongs to.
    fn curve(&self, point: &Point, points: &[Point]) -> String {
        let varies = |key: &str| {
            let first = points[0].setting(key);
            points.iter().any(|other| other.setting(key) != first)
        };
        let other = |(key, _): &&(String, String)| *key != self.key && varies(key);
        let parts = point.settings.iter().filter(other);
        let part = |(key, value): &(String, String)| match key.as_str() {
            "ftl" | "trace" => value.clone(),
            key => format!("{}={value}", key.rsplit('.').next().unwrap_or(key)),
        };
        parts.map(part).collect::<Vec<_>>().join(" ")
    }

    /// Ticks where there are points, unless there are too many.
    fn ticks(&self, points: &[Point]) -> Value {
        let of = |point: &Point| point.setting(&self.key).and_then(quantity);
        let mut numbers: Vec<f64> = points.iter().filter_map(of).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        match numbers.len() > TICKS_MAX {
            true => json!({}),
            false => json!({"values": numbers}),
        }
    }

    /// Measured curves, published points hollow.
    fn curves(&self, points: &[Point], title: &str) -> (Vec<Value>, Value) {
        let mut values = Vec::new();
        for point in points {
            let x = point.setting(&self.key).and_then(quantity);
            let curve = self.curve(point, points);
            let mut put = |what: &str, y: Option<f64>| {
                if let Some(y) = y {
                    values.push(json!({"x": x, "y": y, "curve": curve, "what": what}));
                }
            };
            put("measured", point.measured);
            point.published.iter().for_each(|&end| put("published", end));
        }
        let mut colour = json!({"field": "curve", "type": "nominal", "title": null});
        if values.iter().all(|value| value["curve"] == values[0]["curve"]) {
            colour["legend"] = Value::Null;
        }
        let ticks = self.ticks(points);
        let scale = match self.is_logarithmic {
            true => json!({"type": "log"}),
            false => json!({"zero": false}),
        };
        let mut parts = json!({
            "height": 300,
            "encoding": {
                "x": {"field": "x", "type": "quantitative", "scale": scale,
                      "axis": ticks, "title": words::of(&self.key)},
                "y": {"field": "y", "type": "quantitative", "title": title},
                "color": colour,
            },
            "layer": [
                {
                    "transform": [{"filter": "datum.what == 'measured'"}],
                    "mark": {"type": "line", "point": true, "tooltip": true},
                },
            ],
        });
        if points.iter().any(Point::is_published) {
            let published = json!({
                "transform": [{"filter": "datum.what == 'published'"}],
                "mark": {"type": "point", "shape": "diamond", "size": 90, "filled": false,
                         "strokeWidth": 1.8, "tooltip": true},
            });
            add_layer(&mut parts, published);
        }
        (values, parts)
    }
}

fn add_layer(parts: &mut Value, layer: Value) {
    parts["layer"].as_array_mut().expect("a figure in layers").push(layer);
}

/// A bar a point, what is published as ticks.
fn bars(points: &[Point], title: &str) -> (Vec<Value>, Value) {
    let mut values = Vec::new();
    for point in points {
        let [low, high] = point.published;
        values.push(json!({
            "runs": point.label, "measured": point.measured, "low": low, "high": high,
        }));
    }
    let tick = |field: &str| {
        json!({
            "transform": [{"filter": format!("isValid(datum.{field})")}],
            "mark": {"type": "tick", "thickness": 3, "size": 20, "tooltip": true,
                     "color": {"expr": "published"}},
            "encoding": {"x": {"field": field, "type": "quantitative"}},
        })
    };
    let mut parts = json!({
        "params": [{"name": "published", "value": "#d62728"}],
        "height": 26 * points.len(),
        "encoding": {
            "y": {"field": "runs", "type": "nominal", "sort": null, "title": null,
                  "axis": {"labelLimit": 360}},
        },
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": true, "height": 14},
                "encoding": {"x": {"field": "measured", "type": "quantitative", "title": title}},
            },
        ],
    });
    for (end, field) in ["low", "high"].into_iter().enumerate() {
        if points.iter().any(|point| point.published[end].is_some()) {
            add_layer(&mut parts, tick(field));
        }
    }
    (values, parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|&(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    #[test]
    fn what_stands_inside_a_spec_is_a_parameter_of_its_own() {
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
    fn shares_sizes_counts_and_blocks_are_quantities() {
        let found = ["3%", "10.5%", "4KiB", "64", "4M", "2048blocks", "fast"].map(quantity);
        let wanted = [3.0, 10.5, 4096.0, 64.0, 4e6, 2048.0].map(Some);
        assert_eq!(found[..6], wanted);
        assert_eq!(found[6], None);
    }

    #[test]
    fn the_axis_is_the_number_with_most_values_and_the_rest_names_curves() {
        let point = |row: usize| {
            let (ftl, extra) = (["fast", "page"][row / 3], ["3%", "5%", "10%"][row % 3]);
            let varied = json!({"ftl": ftl, "extra": extra, "seed": 1});
            let point = Point::new(String::new(), varied.as_object().unwrap(), Some(row as f64));
            point.against(Wanted::About(1.0))
        };
        let points: Vec<Point> = (0..6).map(point).collect();
        let axis = Axis::choose(&points).unwrap();
        assert_eq!((axis.key.as_str(), axis.is_logarithmic), ("extra", false));
        assert_eq!(axis.curve(&points[4], &points), "page");
        let (values, _) = axis.curves(&points, "y");
        let measured = values.iter().filter(|value| value["what"] == "measured").count();
        assert_eq!((values.len(), measured), (12, 6));
        assert_eq!(values[8], json!({"x": 5.0, "y": 4.0, "curve": "page", "what": "measured"}));
        assert!(Axis::choose(&points[..2]).is_none(), "two values are no axis");
    }

    #[test]
    fn ends_of_a_range_that_are_infinite_are_not_drawn() {
        let point = Point::new("one".into(), &Map::new(), Some(0.3));
        assert!(!point.is_published());
        let point = point.against(Wanted::Between(f64::NEG_INFINITY, 0.5));
        assert!(point.is_published());
        let (values, _) = bars(&[point], "x");
        assert_eq!(values[0], json!({"runs": "one", "measured": 0.3, "low": null, "high": 0.5}));
    }
}
