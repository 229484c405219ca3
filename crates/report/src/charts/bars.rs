//! Bars, for rows without a numeric parameter.

use serde_json::{Value, json};

use super::point::Point;
use crate::colours;

/// One bar per point, with ticks at the published values.
pub fn bars(points: &[Point], title: &str) -> (Vec<Value>, Value) {
    let mut values = Vec::new();
    for point in points {
        let [low, high] = point.published;
        values.push(json!({
            "runs": point.label, "measured": point.measured, "low": low, "high": high,
        }));
    }
    // The order is explicit because Vega-Lite would move bars without a value to the end.
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
        "params": [{"name": "published", "value": colours::NEUTRAL}],
        "height": 26 * points.len(),
        "encoding": {
            "y": {"field": "runs", "type": "nominal", "sort": order, "title": null},
        },
        "layer": [
            {
                "mark": {"type": "bar", "tooltip": true, "height": 14},
                "encoding": {"x": {"field": "measured", "type": "quantitative", "title": title,
                                   "scale": {"nice": false}}},
            },
        ],
    });
    for (end, field) in ["low", "high"].into_iter().enumerate() {
        if points.iter().any(|point| point.published[end].is_some()) {
            parts["layer"].as_array_mut().expect("layers are a list").push(tick(field));
        }
    }
    (values, parts)
}
