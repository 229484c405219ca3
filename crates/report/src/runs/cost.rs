//! What each run costs: write amplification, and serial time against RAM.

use serde_json::{Value, json};

use super::labelled_result::{LabelledResult, ends, float};
use crate::figure::{DataTable, Figure, colour_channel, spec, value_axis};
use crate::names::places::{Place, Side, extent, places};
use crate::number_format::number;

/// One bar for each of several runs, the cheapest first; `None` if fewer than two wrote anything.
///
/// A bar begins at 1, where nothing is written but the host's own pages, so that its length is what
/// the FTL adds, on a logarithmic axis as on a linear one.
pub(super) fn write_amplification(runs: &[LabelledResult]) -> Option<Figure> {
    let found = |run: &LabelledResult| run.result["write_amplification"].as_f64();
    let mut costs: Vec<(&str, f64, [f64; 2])> = Vec::new();
    for run in runs {
        let Some(cost) = found(run) else { continue };
        costs.push((run.label, cost, ends(run.result).unwrap_or([cost; 2])));
    }
    if costs.len() < 2 {
        return None;
    }
    costs.sort_by(|a, b| a.1.total_cmp(&b.1));
    let value = |&(run, cost, [low, high]): &(&str, f64, [f64; 2])| {
        json!({"run": run, "write amplification": cost, "text": number(cost),
               "low": low, "high": high, "end": cost.max(high)})
    };
    let values: Vec<Value> = costs.iter().map(value).collect();
    let names: Vec<String> = costs.iter().map(|it| it.0.to_owned()).collect();
    let all = costs.iter().flat_map(|&(_, cost, [low, high])| [cost, low, high]).chain([1.0]);
    let scale = from_one(all);
    let x = |field: &str| {
        let scale = scale.clone();
        json!({"field": field, "type": "quantitative", "title": TITLE, "scale": scale})
    };
    let parts = json!({
        "height": 30 * values.len(),
        "encoding": {"y": {"field": "run", "type": "nominal", "sort": names, "title": null}},
        "layer": [
            {"mark": {"type": "bar", "height": 16, "tooltip": true},
             "encoding": {"x": x("write amplification"), "x2": {"datum": 1},
                          "color": colour_channel("run", &names, false)}},
            {"mark": {"type": "rule", "strokeWidth": 1.5},
             "encoding": {"x": x("low"), "x2": {"field": "high"}}},
            {"mark": {"type": "text", "align": "left", "dx": 6, "fontWeight": "bold"},
             "encoding": {"x": x("end"), "text": {"field": "text"}}},
        ],
    });
    let in_bytes = |run: &LabelledResult| float(&run.result["write_amplification_bytes"]);
    let row = |run: &LabelledResult| {
        let pages = found(run).map_or("–".into(), number);
        let seen = ends(run.result)
            .map_or("–".into(), |[low, high]| format!("{} to {}", number(low), number(high)));
        vec![run.label.to_owned(), pages, seen, number(in_bytes(run))]
    };
    let head = ["run", "pages per host page", "seen", "bytes per host byte"];
    Some(Figure {
        id: "write-amplification".into(),
        title: "Write amplification".into(),
        caption: "Pages programmed for each page that the host wrote. Bars begin at 1, where \
                  nothing is written but the host's own pages. The thin line is the range in \
                  which it was seen."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, runs.iter().map(row))),
    })
}

const TITLE: &str = "write amplification (programs per host page)";

/// A scale that contains 1; logarithmic if the values span a decade.
fn from_one(values: impl Iterator<Item = f64>) -> Value {
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), it| (low.min(it), high.max(it)));
    let is_logarithmic = low > 0.0 && high / low >= 10.0;
    let domain = [low, high.max(1.01 * low)];
    match is_logarithmic {
        true => json!({"type": "log", "nice": false, "domain": domain}),
        false => json!({"type": "linear", "nice": false, "zero": false, "domain": domain}),
    }
}

/// One point per run: its serial time over the RAM that it needs; `None` for less than two runs.
pub(super) fn time_against_ram(runs: &[LabelledResult]) -> Option<Figure> {
    let found: Vec<(&str, f64, f64)> = runs.iter().filter_map(place).collect();
    if found.len() < 2 {
        return None;
    }
    let x = Scale::of("RAM", "RAM (KiB)", found.iter().map(|it| it.1));
    let y = Scale::of("time", "serial time (s)", found.iter().map(|it| it.2));
    let point = |&(name, ram, time): &(&str, f64, f64)| Place {
        name: name.to_owned(),
        x: x.coordinate(ram),
        y: y.coordinate(time),
    };
    let points: Vec<Place> = found.iter().map(point).collect();
    let sides = places(&points, x.ends, y.ends, HEIGHT);
    let value = |(&(run, ram, time), side): (&(&str, f64, f64), Side)| {
        json!({"run": run, "RAM": ram, "time": time,
               "align": side.align, "dx": side.dx, "dy": side.dy})
    };
    let values: Vec<Value> = found.iter().zip(sides).map(value).collect();
    let names: Vec<String> = found.iter().map(|it| it.0.to_owned()).collect();
    let expression = |field: &str| json!({"expr": format!("datum.{field}")});
    let parts = json!({
        "height": HEIGHT,
        "encoding": {"x": x.axis, "y": y.axis},
        "layer": [
            {"mark": {"type": "point", "filled": true, "size": 90, "opacity": 1, "tooltip": true},
             "encoding": {"color": colour_channel("run", &names, false)}},
            {"mark": {"type": "text", "align": expression("align"), "dx": expression("dx"),
                      "dy": expression("dy")},
             "encoding": {"text": {"field": "run"}}},
        ],
    });
    let row =
        |&(name, ram, time): &(&str, f64, f64)| vec![name.to_owned(), number(ram), number(time)];
    let head = ["run", "RAM, KiB", "serial time, s"];
    Some(Figure {
        id: "time-against-ram".into(),
        title: "Cost against RAM".into(),
        caption: "Serial time over the RAM that a controller needs for maps, caches and buffers. \
                  Further left and further down is better."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, found.iter().map(row))),
    })
}

/// An axis with its ends in coordinates: logarithms, if it is logarithmic.
struct Scale {
    axis: Value,
    ends: [f64; 2],
    is_logarithmic: bool,
}

impl Scale {
    /// The axis of positive values, logarithmic if the largest is five times the least.
    fn of(field: &str, title: &str, values: impl Iterator<Item = f64>) -> Scale {
        let values: Vec<f64> = values.collect();
        let [low, high] = extent(values.iter().copied());
        let is_logarithmic = high / low >= NARROW_SPAN;
        let axis = value_axis(field, title, &values, NARROW_SPAN);
        let ends = if is_logarithmic { [low.ln(), high.ln()] } else { [0.0, high] };
        Scale { axis, ends, is_logarithmic }
    }

    fn coordinate(&self, value: f64) -> f64 {
        if self.is_logarithmic { value.ln() } else { value }
    }
}

/// An axis is logarithmic from this quotient of its ends on.
const NARROW_SPAN: f64 = 5.0;

/// The label of a run, its RAM in KiB and its serial time in seconds.
fn place<'a>(run: &LabelledResult<'a>) -> Option<(&'a str, f64, f64)> {
    let (time, ram) = (&run.result["time_us"]["total"], &run.result["ram_bytes"]["total"]);
    let (seconds, kibibytes) = (time.as_f64()? / 1e6, ram.as_f64()? / 1024.0);
    (kibibytes > 0.0 && seconds > 0.0).then_some((run.label, kibibytes, seconds))
}

/// The height of the view, in pixels.
const HEIGHT: f64 = 320.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn result(time: f64, ram: u64, amplification: Option<f64>) -> Value {
        json!({
            "time_us": {"total": time}, "ram_bytes": {"total": ram},
            "write_amplification": amplification, "write_amplification_bytes": amplification,
        })
    }

    #[test]
    fn a_run_without_writes_has_no_bar_and_one_run_alone_no_comparison() {
        let results =
            [result(2e6, 4096, Some(2.5)), result(1e6, 2048, None), result(3e6, 512, Some(1.5))];
        let runs: Vec<LabelledResult> = ["page", "reads", "dac"]
            .iter()
            .zip(&results)
            .map(|(label, result)| LabelledResult { label, result })
            .collect();
        let figure = write_amplification(&runs).unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let names: Vec<&Value> = values.iter().map(|it| &it["run"]).collect();
        assert_eq!(names, ["dac", "page"], "the cheapest first");
        let rows = figure.table.unwrap().rows;
        assert_eq!(rows[..2], [["page", "2.5", "–", "2.5"], ["reads", "–", "–", "0"]]);
        assert!(write_amplification(&runs[..2]).is_none());
        assert!(time_against_ram(&runs[..1]).is_none());
        let table = time_against_ram(&runs[..2]).unwrap().table.unwrap();
        assert_eq!(table.rows, [["page", "4", "2"], ["reads", "2", "1"]]);
    }

    #[test]
    fn decades_have_a_logarithmic_scale_that_contains_one() {
        let near = from_one([2.0, 3.0, 1.0].into_iter());
        assert_eq!((&near["type"], &near["domain"]), (&json!("linear"), &json!([1.0, 3.0])));
        let far = from_one([0.5, 51.0, 1.0].into_iter());
        assert_eq!((&far["type"], &far["domain"]), (&json!("log"), &json!([0.5, 51.0])));
        assert_eq!(from_one([1.0, 1.0].into_iter())["domain"], json!([1.0, 1.01]));
    }
}
