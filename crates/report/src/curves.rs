//! Figures of sweeps: what rows show, and what is published, over the parameter that varies.
//!
//! The parameter at the axis is the one that takes the most values that are numbers, three at
//! least; what else varies makes the curves. A row whose value is no number there, such as a share
//! that adapts, is a level across. Where no parameter is a number, each point is a bar.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Map, Value, json};
use sim::plan::claim::Wanted;

use crate::figure::spec;
use crate::words;

/// A row's figure, and what is published of it.
#[derive(Clone, Debug)]
pub struct Point {
    label: String,
    settings: Vec<(String, String)>,
    /// What the row sets as it is written, keys inside specs and all.
    whole: Map<String, Value>,
    measured: Option<f64>,
    published: [Option<f64>; 2],
}

impl Point {
    /// The figure of a row that sets what `varied` says; the label names it where it is a bar.
    pub fn new(label: String, varied: &Map<String, Value>, measured: Option<f64>) -> Point {
        let (settings, whole) = (flat(varied), varied.clone());
        Point { label, settings, whole, measured, published: [None; 2] }
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

    /// The same in another unit.
    #[must_use]
    pub fn times(self, factor: f64) -> Point {
        let times = |figure: f64| figure * factor;
        let published = self.published.map(|end| end.map(times));
        Point { measured: self.measured.map(times), published, ..self }
    }

    /// Whether something is published.
    pub fn is_published(&self) -> bool {
        self.published != [None; 2]
    }

    /// The value of a parameter by which panels are told: all of a spec, or one key inside it.
    fn panel(&self, key: &str) -> &str {
        let whole = self.whole.get(key).and_then(Value::as_str);
        whole.or_else(|| self.setting(key)).unwrap_or("–")
    }

    fn setting(&self, key: &str) -> Option<&str> {
        let found = self.settings.iter().find(|(name, _)| name == key);
        found.map(|(_, value)| value.as_str())
    }
}

/// How points are laid out; by default as they suggest themselves.
#[derive(Clone, Copy, Debug, Default)]
pub struct Layout<'a> {
    /// The parameter at the axis.
    pub along: Option<&'a str>,
    /// The parameter of whose values each has a panel of its own.
    pub each: Option<&'a str>,
}

/// The spec of a figure of these points; `title` stands at the axis of their figures.
pub fn draw(points: &[Point], title: &str, layout: Layout) -> Value {
    let (values, parts) = match Axis::choose(points, layout) {
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
    if text == "none" {
        return Some(0.0);
    }
    if let Some(share) = text.strip_suffix('%') {
        return share.trim().parse().ok();
    }
    let blocks = text.strip_suffix("blocks").unwrap_or(text);
    let count = |text| spec::parse_count(text).ok().map(|count| count as f64);
    let size = |text| spec::parse_size(text).ok().map(|bytes| bytes as f64);
    blocks.parse().ok().or_else(|| count(blocks)).or_else(|| size(blocks))
}

/// Whether people write a size in powers of two.
fn is_binary(text: &str) -> bool {
    text.ends_with("iB") && spec::parse_size(text).is_ok()
}

/// Values a parameter must take to be an axis.
const VALUES_MIN: usize = 3;
/// The most ticks of an axis that stand at points.
const TICKS_MAX: usize = 12;
/// A size at an axis, of those that people write in KiB and MiB.
const BINARY: &str = "datum.value < 1048576 ? format(datum.value / 1024, '.3~r') + ' KiB' \
                      : format(datum.value / 1048576, '.3~r') + ' MiB'";
/// From this ratio of the ends on, an axis is logarithmic.
const DECADES_FROM: f64 = 30.0;

/// The parameter at the horizontal axis.
struct Axis<'a> {
    key: String,
    is_logarithmic: bool,
    each: Option<&'a str>,
}

impl<'a> Axis<'a> {
    fn choose(points: &[Point], layout: Layout<'a>) -> Option<Axis<'a>> {
        let keys: BTreeSet<&String> =
            points.iter().flat_map(|point| point.settings.iter().map(|(key, _)| key)).collect();
        let asked = |key: &&String| layout.along.is_none_or(|along| along == key.as_str());
        let free = |key: &&String| layout.each != Some(key.as_str());
        // A key inside a spec is the same parameter only where the specs have the same name.
        let alike = |key: &&String| match key.split_once('.') {
            None => true,
            Some((spec, _)) => {
                let first = points.first().and_then(|point| point.setting(spec));
                points.iter().all(|point| point.setting(spec) == first)
            }
        };
        let keys = keys.into_iter().filter(asked).filter(free).filter(alike);
        let axes = keys.filter_map(|key| Some((key, quantities(points, key)?)));
        let (key, numbers) = axes
            .filter(|(_, numbers)| numbers.len() >= VALUES_MIN)
            .max_by_key(|(_, numbers)| numbers.len())?;
        let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
        let is_logarithmic = low > 0.0 && high / low >= DECADES_FROM;
        Some(Axis { key: key.clone(), is_logarithmic, each: layout.each })
    }

    /// The keys that name curves: what varies beside axis and panel, and does not follow from them
    /// or from each other.
    fn naming(&self, points: &[Point]) -> Vec<String> {
        let (mut known, mut naming): (Vec<&str>, _) = (Vec::new(), Vec::new());
        let mut keys: Vec<&str> = Vec::new();
        for (key, _) in points.iter().flat_map(|point| &point.settings) {
            if !keys.contains(&key.as_str()) {
                keys.push(key);
            }
        }
        for key in keys {
            let axis = |point: &'_ Point| vec![point.setting(&self.key).unwrap_or("").to_owned()];
            let panel_and_known = |point: &'_ Point| {
                let panel = self.each.map(|each| point.panel(each));
                let others = known.iter().map(|other| point.setting(other).unwrap_or(""));
                panel.into_iter().chain(others).map(str::to_owned).collect()
            };
            let follows = follows(points, key, axis) || follows(points, key, panel_and_known);
            if key != self.key && !follows {
                known.push(key);
                naming.push(key.to_owned());
            }
        }
        naming
    }

    /// The curve that a point belongs to; a level is named by what it has in the place of a number.
    fn curve(&self, point: &Point, naming: &[String]) -> String {
        let is_level = self.x(point).is_none();
        let names = |key: &str| {
            naming.iter().any(|name| name == key) || is_level && key.starts_with(&self.key)
        };
        let part = |(key, value): &(String, String)| match key.as_str() {
            "ftl" | "trace" | "split" => value.clone(),
            key => format!("{}={value}", key.rsplit('.').next().unwrap_or(key)),
        };
        let parts = point.settings.iter().filter(|(key, _)| names(key));
        match parts.map(part).collect::<Vec<_>>().join(" ") {
            name if name.is_empty() => "measured".to_owned(),
            name => name,
        }
    }

    fn x(&self, point: &Point) -> Option<f64> {
        point.setting(&self.key).and_then(quantity)
    }

    /// Ticks where there are points, unless there are too many.
    fn ticks(&self, points: &[Point]) -> Value {
        let mut numbers: Vec<f64> = points.iter().filter_map(|point| self.x(point)).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let is_size = |point: &Point| {
            let value = point.setting(&self.key).unwrap_or("");
            value.ends_with('B') && spec::parse_size(value).is_ok()
        };
        let mut axis = match numbers.len() > TICKS_MAX {
            true => json!({}),
            false => json!({"values": numbers}),
        };
        if points.iter().filter_map(|point| point.setting(&self.key)).any(is_binary) {
            axis["labelExpr"] = BINARY.into();
        } else if points.iter().any(is_size) {
            axis["format"] = "~s".into();
        }
        axis
    }

    /// Measured curves, published points hollow, levels dashed.
    fn curves(&self, points: &[Point], title: &str) -> (Vec<Value>, Value) {
        let values = self.values(points);
        let mut layer = vec![json!({
            "transform": [{"filter": "datum.what == 'measured'"}],
            "mark": {"type": "line", "point": true, "tooltip": true},
            "encoding": {"x": self.encoding(points)},
        })];
        if values.iter().any(|value| value["what"] == "level") {
            layer.push(json!({
                "transform": [{"filter": "datum.what == 'level'"}],
                "mark": {"type": "rule", "strokeDash": [6, 3], "strokeWidth": 1.8, "tooltip": true},
            }));
        }
        if points.iter().any(Point::is_published) {
            layer.push(json!({
                "transform": [{"filter": "datum.what == 'published'"}],
                "mark": {"type": "point", "shape": "diamond", "size": 90, "filled": false,
                         "strokeWidth": 1.8, "tooltip": true},
                "encoding": {"x": self.encoding(points)},
            }));
        }
        let mut colour = json!({"field": "curve", "type": "nominal", "title": null});
        if values.iter().all(|value| value["curve"] == values[0]["curve"]) {
            colour["legend"] = Value::Null;
        }
        let encoding = json!({
            "y": {"field": "y", "type": "quantitative", "title": title,
                  "axis": {"titleLimit": 280}},
            "color": colour,
        });
        let parts = match self.each {
            None => json!({"height": 300, "encoding": encoding, "layer": layer}),
            Some(_) => json!({
                "facet": {"field": "panel", "type": "nominal", "title": null, "sort": null},
                "columns": 2,
                "spec": {"width": 290, "height": 200, "encoding": encoding, "layer": layer},
                "resolve": {"scale": {"x": "independent", "y": "independent"}},
            }),
        };
        (values, parts)
    }

    fn values(&self, points: &[Point]) -> Vec<Value> {
        let (mut values, naming) = (Vec::new(), self.naming(points));
        for point in points {
            let (x, curve) = (self.x(point), self.curve(point, &naming));
            let panel = self.each.map(|each| point.panel(each));
            let mut put = |what: &str, y: Option<f64>| {
                let Some(y) = y else { return };
                let mut value = json!({"y": y, "curve": curve, "what": what});
                if let Some(x) = x {
                    value["x"] = x.into();
                }
                if let Some(panel) = panel {
                    value["panel"] = panel.into();
                }
                values.push(value);
            };
            put(if x.is_some() { "measured" } else { "level" }, point.measured);
            let published = point.published.iter().filter(|_| x.is_some());
            published.for_each(|&end| put("published", end));
        }
        values
    }

    fn encoding(&self, points: &[Point]) -> Value {
        let scale = match self.is_logarithmic {
            true => json!({"type": "log"}),
            false => json!({"zero": false}),
        };
        json!({
            "field": "x", "type": "quantitative", "scale": scale,
            "axis": self.ticks(points), "title": self.title(points),
        })
    }

    fn title(&self, points: &[Point]) -> &str {
        let is_count =
            |point: &Point| point.setting(&self.key).is_some_and(|value| value.ends_with("blocks"));
        match points.iter().any(is_count) {
            true => words::without_unit(words::of(&self.key)),
            false => words::of(&self.key),
        }
    }
}

/// Whether the value of a key is the same wherever something else is.
fn follows(points: &[Point], key: &str, from: impl Fn(&Point) -> Vec<String>) -> bool {
    let mut seen: HashMap<Vec<String>, Option<&str>> = HashMap::new();
    let is_same =
        |point| *seen.entry(from(point)).or_insert(point.setting(key)) == point.setting(key);
    points.iter().all(is_same)
}

/// The numbers that a parameter takes, if all points set it and most of them to a number.
fn quantities(points: &[Point], key: &str) -> Option<Vec<f64>> {
    let set: Vec<&str> = points.iter().map(|point| point.setting(key)).collect::<Option<_>>()?;
    let mut numbers: Vec<f64> = set.into_iter().filter_map(quantity).collect();
    if 2 * numbers.len() <= points.len() {
        return None;
    }
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    Some(numbers)
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
    // Named, not null: bars of runs that found nothing would come last.
    let order: Vec<&str> = points.iter().map(|point| point.label.as_str()).collect();
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
            "y": {"field": "runs", "type": "nominal", "sort": order, "title": null,
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
    fn what_follows_from_axis_or_name_names_no_curve() {
        let point = |row: usize| {
            let (capacity, extra) =
                (["9MiB", "8MiB", "7MiB"][row % 3], ["1%", "2%", "3%"][row % 3]);
            let trace = ["skew:writes=10", "mixed:writes=20"][row / 3];
            let varied = json!({"capacity": capacity, "extra": extra, "trace": trace});
            Point::new(String::new(), varied.as_object().unwrap(), Some(1.0))
        };
        let points: Vec<Point> = (0..6).map(point).collect();
        let layout = Layout { along: Some("extra"), each: None };
        assert_eq!(Axis::choose(&points, layout).unwrap().naming(&points), ["trace"]);
        let layout = Layout { along: Some("extra"), each: Some("trace") };
        assert!(Axis::choose(&points, layout).unwrap().naming(&points).is_empty());
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
        let axis = Axis::choose(&points, Layout::default()).unwrap();
        assert_eq!((axis.key.as_str(), axis.is_logarithmic), ("extra", false));
        assert_eq!(axis.naming(&points), ["ftl"]);
        assert_eq!(axis.curve(&points[4], &["ftl".to_owned()]), "page");
        let values = axis.values(&points);
        let measured = values.iter().filter(|value| value["what"] == "measured").count();
        assert_eq!((values.len(), measured), (12, 6));
        assert_eq!(values[8], json!({"x": 5.0, "y": 4.0, "curve": "page", "what": "measured"}));
        assert!(Axis::choose(&points[..2], Layout::default()).is_none(), "two are no axis");
    }

    #[test]
    fn what_is_no_number_at_the_axis_is_a_level_and_panels_are_no_curves() {
        let point = |row: usize| {
            let (split, trace) = (["0%", "50%", "100%", "adaptive"][row % 4], ["a", "b"][row / 4]);
            let varied = json!({"split": split, "trace": trace});
            Point::new(String::new(), varied.as_object().unwrap(), Some(row as f64))
        };
        let points: Vec<Point> = (0..8).map(point).collect();
        assert!(Axis::choose(&points, Layout { along: Some("trace"), each: None }).is_none());
        let layout = Layout { along: None, each: Some("trace") };
        let values = Axis::choose(&points, layout).unwrap().values(&points);
        let level = json!({"y": 7.0, "curve": "adaptive", "what": "level", "panel": "b"});
        assert_eq!(values[7], level);
        let measured =
            json!({"x": 50.0, "y": 1.0, "curve": "measured", "what": "measured", "panel": "a"});
        assert_eq!(values[1], measured);
    }

    #[test]
    fn sizes_at_the_axis_have_the_units_that_people_write() {
        let of = |sizes: [&str; 3]| {
            let point = |size: &&str| {
                let varied = json!({"buffer": size});
                Point::new(String::new(), varied.as_object().unwrap(), Some(1.0))
            };
            let points: Vec<Point> = sizes.iter().map(point).collect();
            let axis = Axis::choose(&points, Layout::default()).unwrap().ticks(&points);
            (axis["format"].clone(), axis["labelExpr"].clone())
        };
        assert_eq!(of(["1MB", "2MB", "16MB"]), ("~s".into(), Value::Null));
        assert_eq!(of(["1KiB", "2KiB", "16MiB"]), (Value::Null, BINARY.into()));
        assert_eq!(of(["3%", "5%", "10%"]), (Value::Null, Value::Null));
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
