//! Curves that end side by side are named at their ends; all others have a legend.
//!
//! Whoever reads a name beside its curve need not search a legend. Names that would cover each
//! other move apart a little; where that is not enough, or curves end far from each other, the
//! legend stays.

use serde_json::{Map, Value, json};

use super::places::extent;

/// The longest name, in characters: longer ones would leave no room for the curves on a phone.
const NAME_MAX: usize = 14;
/// The distance of two names, and how far a name may be from its curve, in pixels.
const DISTANCE: f64 = 13.0;
const MOVED_MAX: f64 = 11.0;
/// Ends may differ by this share of the horizontal axis.
const END_WIDTH: f64 = 0.03;
/// The height of a view that does not say its own, in pixels.
const HEIGHT: f64 = 200.0;

/// Names the curves of a spec with these values at their ends, if it has curves and the names fit.
pub(crate) fn put_at_ends(values: &[Value], parts: &mut Value) {
    let Some(names) = Curves::find(values, parts).and_then(|curves| curves.names()) else { return };
    if parts.get("layer").is_none() {
        let mut own = Map::new();
        for key in ["mark", "encoding", "transform"] {
            let taken = parts.as_object_mut().and_then(|parts| parts.remove(key));
            own.extend(taken.map(|taken| (key.to_owned(), taken)));
        }
        parts["layer"] = json!([own]);
    }
    without_legends(parts);
    if let Some(layers) = parts["layer"].as_array_mut() {
        layers.iter_mut().for_each(without_legends);
        layers.push(names);
    }
}

fn without_legends(view: &mut Value) {
    for channel in ["color", "strokeDash", "shape"] {
        if let Some(channel) = view.pointer_mut(&format!("/encoding/{channel}")) {
            channel["legend"] = Value::Null;
        }
    }
}

/// The curves of a view.
struct Curves<'a> {
    /// What the axes and the colour of the line show.
    x: &'a Value,
    y: &'a Value,
    colour: &'a Value,
    /// The names, in the order of their colours.
    labels: Vec<&'a str>,
    /// The values of the line, of which each has a label.
    drawn: Vec<&'a Value>,
    /// The ends of the vertical axis, in its coordinate.
    ends: [f64; 2],
    height: f64,
}

impl<'a> Curves<'a> {
    /// The curves that a spec draws in one view, if there are at least two.
    fn find(values: &'a [Value], parts: &'a Value) -> Option<Curves<'a>> {
        let is_line = |view: &&Value| view["mark"]["type"] == "line";
        let layers = parts["layer"].as_array();
        let line = layers.map_or(Some(parts), |layers| layers.first()).filter(is_line)?;
        let channel =
            |name: &str| [line, parts].into_iter().find_map(|view| view["encoding"].get(name));
        let (x, y, colour) = (channel("x")?, channel("y")?, channel("color")?);
        let labels = colour["scale"]["domain"].as_array()?.iter().map(Value::as_str);
        let labels = labels.collect::<Option<Vec<&str>>>()?;
        if labels.len() < 2 || labels.iter().any(|label| label.chars().count() > NAME_MAX) {
            return None;
        }
        let wanted = filter(line);
        let is_drawn = |value: &&Value| wanted.is_none_or(|(key, text)| value[key] == *text);
        let drawn = values.iter().filter(is_drawn).collect();
        let datums = layers.into_iter().flatten().map(|layer| &layer["encoding"]["y"]["datum"]);
        let zero = json!(0);
        let zero = (y["scale"]["type"] != "log" && y["scale"]["zero"] != false).then_some(&zero);
        let named = y["field"].as_str()?;
        let all = values.iter().map(|value| &value[named]).chain(datums).chain(zero);
        let ends = match y["scale"]["domain"].as_array() {
            Some(domain) => extent(domain.iter().filter_map(|end| coordinate(y, end))),
            None => extent(all.filter_map(|value| coordinate(y, value))),
        };
        let height = parts["height"].as_f64().unwrap_or(HEIGHT);
        Some(Curves { x, y, colour, labels, drawn, ends, height })
    }

    /// The layer with the names, if they fit.
    fn names(&self) -> Option<Value> {
        let x = |value: &Value| coordinate(self.x, &value[self.x["field"].as_str()?]);
        let y = |value: &Value| coordinate(self.y, &value[self.y["field"].as_str()?]);
        let field = self.colour["field"].as_str()?;
        let [first, last] = extent(self.drawn.iter().filter_map(|value| x(value)));
        let end = |label: &&str| {
            let own = self.drawn.iter().filter(|value| value[field] == **label);
            let found = own.filter_map(|value| Some((x(value)?, y(value)?, *value)));
            found.max_by(|a, b| a.0.total_cmp(&b.0))
        };
        let found: Vec<(f64, f64, &Value)> = self.labels.iter().map(end).collect::<Option<_>>()?;
        let is_beside = |x: f64| last - x <= END_WIDTH * (last - first);
        if first >= last || !found.iter().all(|&(x, ..)| is_beside(x)) {
            return None;
        }
        let [low, high] = self.ends;
        let is_reversed = self.y["scale"]["reverse"] == true;
        let down = |y: f64| if is_reversed { y - low } else { high - y };
        let share = |y: f64| down(y) / (high - low).max(f64::MIN_POSITIVE);
        let heights: Vec<f64> = found.iter().map(|&(_, y, _)| share(y) * self.height).collect();
        let moved = apart(&heights, DISTANCE);
        if moved.iter().any(|by| by.abs() > MOVED_MAX) {
            return None;
        }
        let name = |(&(.., end), dy): (&(f64, f64, &Value), &f64)| {
            let mut named = end.clone();
            named["dy"] = dy.round().into();
            named
        };
        let named: Vec<Value> = found.iter().zip(&moved).map(name).collect();
        let mut colour = self.colour.clone();
        colour["legend"] = Value::Null;
        Some(json!({
            "data": {"values": named},
            "mark": {"type": "text", "align": "left", "dx": 7, "dy": {"expr": "datum.dy"},
                     "fontWeight": "bold"},
            "encoding": {"x": self.x, "y": self.y, "color": colour, "text": {"field": field}},
        }))
    }
}

/// The key and the text that a layer wants of its values.
fn filter(layer: &Value) -> Option<(&str, &str)> {
    let (key, text) = layer["transform"][0]["filter"].as_str()?.split_once(" ==")?;
    Some((key.strip_prefix("datum.")?, text.trim_matches(['=', ' ', '\''])))
}

/// Where a value stands on the axis of this channel: its logarithm, if that is logarithmic.
fn coordinate(channel: &Value, value: &Value) -> Option<f64> {
    let value = value.as_f64()?;
    if channel["scale"]["type"] == "log" { (value > 0.0).then(|| value.ln()) } else { Some(value) }
}

/// How far each of these heights has to move so that all are at least `distance` apart, moving as
/// little as possible: without the distances, heights in ascending order that are too close become
/// their mean.
fn apart(heights: &[f64], distance: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..heights.len()).collect();
    order.sort_by(|&a, &b| heights[a].total_cmp(&heights[b]));
    let mut groups: Vec<(f64, usize)> = Vec::new();
    for (rank, &at) in order.iter().enumerate() {
        groups.push((heights[at] - rank as f64 * distance, 1));
        while let [.., before, last] = groups[..]
            && before.0 > last.0
        {
            groups.truncate(groups.len() - 2);
            let size = before.1 + last.1;
            let sum = before.0 * before.1 as f64 + last.0 * last.1 as f64;
            groups.push((sum / size as f64, size));
        }
    }
    let level = groups.iter().flat_map(|&(level, size)| std::iter::repeat_n(level, size));
    let mut moved = vec![0.0; heights.len()];
    for ((rank, at), level) in order.into_iter().enumerate().zip(level) {
        moved[at] = level + rank as f64 * distance - heights[at];
    }
    moved
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two curves that end at these heights, of 100.
    fn curves(ends: [f64; 2], second_x: f64) -> (Vec<Value>, Value) {
        let point = |run: &str, x: f64, y: f64| json!({"run": run, "x": x, "y": y});
        let [a, b] = ends;
        let values = vec![
            point("page", 1.0, 100.0),
            point("page", 9.0, a),
            point("fast", 1.0, 50.0),
            point("fast", second_x, b),
        ];
        let runs = json!({"field": "run", "legend": {}, "scale": {"domain": ["page", "fast"]}});
        let parts = json!({
            "mark": {"type": "line"}, "height": 100,
            "encoding": {
                "x": {"field": "x", "scale": {"zero": false}},
                "y": {"field": "y", "scale": {"zero": true}},
                "color": runs, "strokeDash": runs,
            },
        });
        (values, parts)
    }

    #[test]
    fn curves_are_named_where_they_end() {
        let (values, mut parts) = curves([60.0, 20.0], 9.0);
        put_at_ends(&values, &mut parts);
        let names = &parts["layer"][1]["data"]["values"];
        assert_eq!(names[0], json!({"run": "page", "x": 9.0, "y": 60.0, "dy": 0.0}));
        assert_eq!(names[1]["y"], 20.0);
        assert!(parts["layer"][0]["encoding"]["color"]["legend"].is_null());
        assert!(parts["layer"][0]["encoding"]["strokeDash"]["legend"].is_null());
        assert!(parts.get("mark").is_none() && parts["height"] == 100);
    }

    #[test]
    fn names_that_are_close_move_apart_and_equal_ones_have_a_legend() {
        let (values, mut parts) = curves([60.0, 55.0], 9.0);
        put_at_ends(&values, &mut parts);
        let names = &parts["layer"][1]["data"]["values"];
        assert_eq!([&names[0]["dy"], &names[1]["dy"]], [-4.0, 4.0]);
        let (_, before) = curves([60.0, 60.0], 4.0);
        let (values, mut parts) = curves([60.0, 60.0], 4.0);
        put_at_ends(&values, &mut parts);
        assert_eq!(parts, before, "one ends in the middle");
    }

    #[test]
    fn only_the_values_of_the_line_count() {
        let (mut values, mut parts) = curves([60.0, 20.0], 9.0);
        values.iter_mut().for_each(|value| value["what"] = "measured".into());
        values.push(json!({"run": "page", "x": 99.0, "y": 99.0, "what": "published"}));
        parts["transform"] = json!([{"filter": "datum.what == 'measured'"}]);
        put_at_ends(&values, &mut parts);
        assert_eq!(parts["layer"][1]["data"]["values"][0]["x"], 9.0);
    }

    #[test]
    fn heights_move_as_little_as_possible() {
        assert_eq!(apart(&[0.0, 40.0, 20.0], 10.0), [0.0, 0.0, 0.0]);
        assert_eq!(apart(&[5.0, 5.0, 5.0], 10.0), [-10.0, 0.0, 10.0]);
        assert_eq!(apart(&[0.0, 4.0, 30.0, 31.0], 10.0), [-3.0, 3.0, -4.5, 4.5]);
    }
}
