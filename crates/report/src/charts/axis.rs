//! Curves over a numeric parameter.

use std::collections::{BTreeSet, HashMap};

use serde_json::{Value, json};

use super::point::{Point, are_shares, is_binary_size, per_cent, quantity};
use crate::axis_labels;
use crate::colours;
use crate::curves::{SHAPES, TOGETHER_MAX, panels};

/// A parameter on the axis must have at least this many numeric values.
const VALUES_MIN: usize = 3;
/// With more distinct values than this, the ticks are not placed at the points.
const TICKS_MAX: usize = 12;
/// More curves than this are drawn alike in one view: what they have in common still shows, and
/// the table has each of them.
const PANELS_MAX: usize = 24;
/// Tick label of a size in kB or MB.
const DECIMAL: &str = "format(datum.value, '.3~s') + 'B'";
/// Tick label of a size in KiB or MiB.
const BINARY: &str = "datum.value < 1048576 ? format(datum.value / 1024, '.3~r') + ' KiB' \
                      : format(datum.value / 1048576, '.3~r') + ' MiB'";
/// An axis is logarithmic if its largest value is at least this many times its smallest.
const LOGARITHMIC_FROM: f64 = 30.0;

/// The parameter on the horizontal axis.
pub struct Axis<'a> {
    key: String,
    /// Whether it has shares, which are shown in per cent.
    is_share: bool,
    is_logarithmic: bool,
    each: Option<&'a str>,
}

impl<'a> Axis<'a> {
    /// Chooses the parameter with the most numeric values, or `along` if it is given. The parameter
    /// `each` cannot be on the axis, because each of its values has a panel of its own.
    pub fn choose(
        points: &[Point],
        along: Option<&str>,
        each: Option<&'a str>,
    ) -> Option<Axis<'a>> {
        let keys: BTreeSet<&String> =
            points.iter().flat_map(|point| point.settings.iter().map(|(key, _)| key)).collect();
        let is_asked = |key: &&String| along.is_none_or(|along| along == key.as_str());
        let is_free = |key: &&String| each != Some(key.as_str());
        // Keys inside specs are comparable only if all specs have the same name.
        let is_comparable = |key: &&String| match key.split_once('.') {
            None => true,
            Some((spec, _)) => {
                let first = points.first().and_then(|point| point.setting(spec));
                points.iter().all(|point| point.setting(spec) == first)
            }
        };
        let keys = keys.into_iter().filter(is_asked).filter(is_free).filter(is_comparable);
        let axes = keys.filter_map(|key| Some((key, quantities(points, key)?)));
        let (key, numbers) = axes
            .filter(|(_, numbers)| numbers.len() >= VALUES_MIN)
            .max_by_key(|(_, numbers)| numbers.len())?;
        let (low, high) = (numbers[0], numbers[numbers.len() - 1]);
        let is_logarithmic = low > 0.0 && high / low >= LOGARITHMIC_FROM;
        let is_share = is_share(points, key);
        Some(Axis { key: key.clone(), is_share, is_logarithmic, each })
    }

    /// The parameters that name the curves: those that vary, apart from axis and panel, and whose
    /// value does not follow from the axis, the panel or each other.
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

    /// The name of the curve that a point belongs to. A horizontal line is named by its value on
    /// the axis.
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
        point.setting(&self.key).and_then(if self.is_share { per_cent } else { quantity })
    }

    /// Places the ticks at the points, unless there are too many.
    fn ticks(&self, points: &[Point]) -> Value {
        let mut numbers: Vec<f64> = points.iter().filter_map(|point| self.x(point)).collect();
        numbers.sort_by(f64::total_cmp);
        numbers.dedup();
        let mut axis = match numbers.len() > TICKS_MAX {
            true => json!({}),
            false => json!({"values": numbers}),
        };
        if points.iter().filter_map(|point| point.setting(&self.key)).any(is_binary_size) {
            axis["labelExpr"] = BINARY.into();
        } else if points.iter().filter_map(|point| point.setting(&self.key)).any(is_size) {
            axis["labelExpr"] = DECIMAL.into();
        }
        axis
    }

    /// Curves of the measured values, hollow published points, and dashed horizontal lines.
    pub fn curves(&self, points: &[Point], title: &str) -> (Vec<Value>, Value) {
        let values = self.values(points);
        let mut layer = self.layers(points, &values);
        let mut names: Vec<&str> =
            values.iter().filter_map(|value| value["curve"].as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let has_levels = values.iter().any(|value| value["what"] == "level");
        let has_panels = self.each.is_none()
            && !has_levels
            && (TOGETHER_MAX + 1..=PANELS_MAX).contains(&names.len());
        let mut encoding = json!({
            "y": {"field": "y", "type": "quantitative", "title": title, "scale": {"nice": false}},
        });
        if names.len() > 1 && !has_panels {
            let is_crowd = names.len() > PANELS_MAX;
            tell_apart(is_crowd, &names, &mut encoding, &mut layer[0]["encoding"]);
        }
        let view = json!({"height": 300, "encoding": encoding, "layer": layer});
        let names: Vec<String> = names.into_iter().map(str::to_owned).collect();
        let parts = match has_panels {
            true => panels("curve", &names, view),
            false if self.each.is_some() => each_panel(view),
            false => view,
        };
        (values, parts)
    }

    /// Curves of measured values; horizontal lines and published points, if there are any.
    fn layers(&self, points: &[Point], values: &[Value]) -> Vec<Value> {
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
        layer
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
        let is_count = |point: &Point| {
            let value = point.setting(&self.key).unwrap_or("");
            value.ends_with("blocks") || is_size(value)
        };
        match !self.is_share && points.iter().any(is_count) {
            // Ticks in blocks, and ticks with units of their own, need no unit in the title.
            true => axis_labels::without_unit(axis_labels::label(&self.key)),
            false => axis_labels::label(&self.key),
        }
    }
}

/// Tells the curves of a view apart by colours and by the shapes of measured points, unless they
/// are a crowd.
fn tell_apart(is_crowd: bool, names: &[&str], all: &mut Value, measured: &mut Value) {
    let channel = json!({"field": "curve", "type": "nominal", "title": null});
    if is_crowd {
        all["detail"] = channel;
        return;
    }
    all["color"] = channel.clone();
    all["color"]["scale"] = json!({"domain": names, "range": colours::of(names)});
    measured["shape"] = channel;
    measured["shape"]["scale"] = json!({"domain": names, "range": SHAPES});
}

/// One panel for each value of the option that has panels, with its own scales.
fn each_panel(mut view: Value) -> Value {
    view["width"] = 290.into();
    view["height"] = 200.into();
    json!({
        "facet": {"field": "panel", "type": "nominal", "title": null, "sort": null},
        "columns": 2,
        "spec": view,
        "resolve": {"scale": {"x": "independent", "y": "independent"}},
    })
}

/// Whether the text is a size with a unit.
fn is_size(text: &str) -> bool {
    text.ends_with('B') && spec::parse_size(text).is_ok()
}

/// Whether points with the same `from` always have the same value of `key`.
fn follows(points: &[Point], key: &str, from: impl Fn(&Point) -> Vec<String>) -> bool {
    let mut seen: HashMap<Vec<String>, Option<&str>> = HashMap::new();
    let is_same =
        |point| *seen.entry(from(point)).or_insert(point.setting(key)) == point.setting(key);
    points.iter().all(is_same)
}

/// Whether a parameter has shares.
fn is_share(points: &[Point], key: &str) -> bool {
    are_shares(key, points.iter().filter_map(|point| point.setting(key)))
}

/// The numeric values of a parameter, if all points set it and most values are numbers.
fn quantities(points: &[Point], key: &str) -> Option<Vec<f64>> {
    let set: Vec<&str> = points.iter().map(|point| point.setting(key)).collect::<Option<_>>()?;
    let number = if is_share(points, key) { per_cent } else { quantity };
    let mut numbers: Vec<f64> = set.into_iter().filter_map(number).collect();
    if 2 * numbers.len() <= points.len() {
        return None;
    }
    numbers.sort_by(f64::total_cmp);
    numbers.dedup();
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use sim::plan::claim::Wanted;

    use super::*;

    #[test]
    fn a_parameter_that_follows_from_axis_or_panel_names_no_curve() {
        let point = |row: usize| {
            let (capacity, extra) =
                (["9MiB", "8MiB", "7MiB"][row % 3], ["1%", "2%", "3%"][row % 3]);
            let trace = ["skew:writes=10", "mixed:writes=20"][row / 3];
            let varied = json!({"capacity": capacity, "extra": extra, "trace": trace});
            Point::new(String::new(), varied.as_object().unwrap(), Some(1.0))
        };
        let points: Vec<Point> = (0..6).map(point).collect();
        let axis = |each| Axis::choose(&points, Some("extra"), each).unwrap();
        assert_eq!(axis(None).naming(&points), ["trace"]);
        assert!(axis(Some("trace")).naming(&points).is_empty());
    }

    #[test]
    fn the_parameter_with_most_numbers_is_the_axis_and_the_others_name_curves() {
        let point = |row: usize| {
            let (ftl, extra) = (["fast", "page"][row / 3], ["3%", "5%", "10%"][row % 3]);
            let varied = json!({"ftl": ftl, "extra": extra, "seed": 1});
            let point = Point::new(String::new(), varied.as_object().unwrap(), Some(row as f64));
            point.against(Wanted::About(1.0))
        };
        let points: Vec<Point> = (0..6).map(point).collect();
        let axis = Axis::choose(&points, None, None).unwrap();
        assert_eq!((axis.key.as_str(), axis.is_logarithmic), ("extra", false));
        assert_eq!(axis.naming(&points), ["ftl"]);
        assert_eq!(axis.curve(&points[4], &["ftl".to_owned()]), "page");
        let values = axis.values(&points);
        let measured = values.iter().filter(|value| value["what"] == "measured").count();
        assert_eq!((values.len(), measured), (12, 6));
        assert_eq!(values[8], json!({"x": 5.0, "y": 4.0, "curve": "page", "what": "measured"}));
        assert!(Axis::choose(&points[..2], None, None).is_none(), "two values are too few");
    }

    #[test]
    fn an_axis_of_several_magnitudes_is_logarithmic_and_sizes_have_their_units() {
        let axis = |sizes: [&str; 3]| {
            let point = |size: &&str| {
                let varied = json!({"buffer": size});
                Point::new(String::new(), varied.as_object().unwrap(), Some(1.0))
            };
            let points: Vec<Point> = sizes.iter().map(point).collect();
            Axis::choose(&points, None, None).unwrap().encoding(&points)
        };
        let wide = axis(["4KiB", "64KiB", "1MiB"]);
        assert_eq!(
            (&wide["scale"]["type"], &wide["title"]),
            (&json!("log"), &json!("write buffer"))
        );
        assert_eq!(wide["axis"]["labelExpr"], BINARY);
        let narrow = axis(["1MB", "2MB", "4MB"]);
        assert_eq!(narrow["scale"].get("type"), None);
        assert_eq!(narrow["axis"]["labelExpr"], DECIMAL);
    }

    #[test]
    fn a_few_curves_differ_by_shape_and_more_have_a_panel_each() {
        let drawn = |ftls: &[&str]| {
            let point = |row: usize| {
                let (ftl, extra) = (ftls[row / 3], ["3%", "5%", "10%"][row % 3]);
                let varied = json!({"ftl": ftl, "extra": extra});
                Point::new(String::new(), varied.as_object().unwrap(), Some(row as f64))
            };
            let points: Vec<Point> = (0..3 * ftls.len()).map(point).collect();
            Axis::choose(&points, Some("extra"), None).unwrap().curves(&points, "time (s)").1
        };
        let few = drawn(&["page", "fast"]);
        assert_eq!(few["layer"][0]["encoding"]["shape"]["field"], "curve");
        let colours = &few["encoding"]["color"]["scale"];
        assert_eq!(colours["domain"], json!(["fast", "page"]));
        assert_eq!(colours["range"], json!([colours::of_one("fast"), colours::of_one("page")]));
        let many: Vec<String> = (1..10).map(|at| format!("ftl{at}")).collect();
        let many = drawn(&many.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(many["facet"]["sort"].as_array().unwrap().len(), 9);
        assert!(many["spec"]["encoding"].get("color").is_none());
        let ftls: Vec<String> = (0..30).map(|at| format!("ftl{at}")).collect();
        let crowd = drawn(&ftls.iter().map(String::as_str).collect::<Vec<_>>());
        assert_eq!(crowd["encoding"]["detail"]["field"], "curve");
        assert!(crowd.get("facet").is_none() && crowd["encoding"].get("color").is_none());
    }

    #[test]
    fn a_row_without_a_number_on_the_axis_is_a_horizontal_line() {
        let point = |row: usize| {
            let (split, trace) = (["0%", "50%", "100%", "adaptive"][row % 4], ["a", "b"][row / 4]);
            let varied = json!({"split": split, "trace": trace});
            Point::new(String::new(), varied.as_object().unwrap(), Some(row as f64))
        };
        let points: Vec<Point> = (0..8).map(point).collect();
        assert!(Axis::choose(&points, Some("trace"), None).is_none());
        let values = Axis::choose(&points, None, Some("trace")).unwrap().values(&points);
        let level = json!({"y": 7.0, "curve": "adaptive", "what": "level", "panel": "b"});
        assert_eq!(values[7], level);
        let measured =
            json!({"x": 50.0, "y": 1.0, "curve": "measured", "what": "measured", "panel": "a"});
        assert_eq!(values[1], measured);
    }

    /// Blocks have no place on an axis of shares.
    #[test]
    fn fractions_and_per_cents_share_an_axis_and_blocks_are_a_line() {
        let of = |settings: [&str; 4]| {
            let point = |extra: &&str| {
                let varied = json!({"extra": extra});
                Point::new(String::new(), varied.as_object().unwrap(), Some(1.0))
            };
            let points: Vec<Point> = settings.iter().map(point).collect();
            let axis = Axis::choose(&points, None, None).unwrap();
            let values = axis.values(&points).into_iter().map(|value| value["x"].as_f64());
            (values.collect::<Vec<_>>(), axis.title(&points).to_owned())
        };
        let per_cent = "extra blocks (% of logical blocks)";
        let fractions = of(["0.07", "15%", "0.28", "40%"]);
        assert_eq!(fractions, ([7.0, 15.0, 28.0, 40.0].map(Some).into(), per_cent.to_owned()));
        let blocks = of(["0.07", "0.15", "28%", "20blocks"]);
        assert_eq!(blocks, (vec![Some(7.0), Some(15.0), Some(28.0), None], per_cent.to_owned()));
        let (all, title) = of(["10blocks", "20blocks", "30blocks", "40blocks"]);
        assert_eq!((all[3], title.as_str()), (Some(40.0), "extra blocks"));
    }

    #[test]
    fn sizes_on_the_axis_keep_the_kind_of_unit_they_are_written_in() {
        let of = |sizes: [&str; 3]| {
            let point = |size: &&str| {
                let varied = json!({"buffer": size});
                Point::new(String::new(), varied.as_object().unwrap(), Some(1.0))
            };
            let points: Vec<Point> = sizes.iter().map(point).collect();
            let axis = Axis::choose(&points, None, None).unwrap().ticks(&points);
            (axis["format"].clone(), axis["labelExpr"].clone())
        };
        assert_eq!(of(["1MB", "2MB", "16MB"]), (Value::Null, DECIMAL.into()));
        assert_eq!(of(["1KiB", "2KiB", "16MiB"]), (Value::Null, BINARY.into()));
        assert_eq!(of(["3%", "5%", "10%"]), (Value::Null, Value::Null));
    }
}
