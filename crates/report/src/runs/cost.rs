//! What each run costs: write amplification, and serial time against RAM.

use serde_json::{Value, json};

use super::labelled_result::{LabelledResult, float, labels};
use crate::figure::{DataTable, Figure, axis_from_zero, spec};
use crate::number_format::number;

/// One bar per run; `None` if the hosts wrote nothing.
pub(super) fn write_amplification(runs: &[LabelledResult]) -> Option<Figure> {
    let found = |run: &LabelledResult| run.result["write_amplification"].as_f64();
    let value = |run: &LabelledResult| {
        let value = found(run)?;
        Some(json!({"run": run.label, "write amplification": value, "text": number(value)}))
    };
    let values: Vec<Value> = runs.iter().filter_map(value).collect();
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "height": 26 * values.len(),
        "encoding": {
            "y": {"field": "run", "type": "nominal", "sort": labels(runs), "title": null},
            "x": axis_from_zero("write amplification", TITLE),
        },
        "layer": [
            {"mark": {"type": "bar", "height": 16, "tooltip": true}},
            {"mark": {"type": "text", "align": "left", "dx": 5},
             "encoding": {"text": {"field": "text"}}},
        ],
    });
    let in_bytes = |run: &LabelledResult| float(&run.result["write_amplification_bytes"]);
    let row = |run: &LabelledResult| {
        let pages = found(run).map_or("–".into(), number);
        vec![run.label.to_owned(), pages, number(in_bytes(run))]
    };
    let head = ["run", "pages per host page", "bytes per host byte"];
    Some(Figure {
        id: "write-amplification".into(),
        title: "Write amplification".into(),
        caption: "Pages programmed per page that the host wrote, in the measured pass. At 1, \
                  nothing is written but the host's own pages."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, runs.iter().map(row))),
    })
}

const TITLE: &str = "write amplification (programs per host page)";

/// One point per run: its serial time over the RAM that it needs; `None` for less than two runs.
pub(super) fn time_against_ram(runs: &[LabelledResult]) -> Option<Figure> {
    let places: Vec<(&str, f64, f64)> = runs.iter().filter_map(place).collect();
    if places.len() < 2 {
        return None;
    }
    let times: Vec<f64> = places.iter().map(|place| place.2).collect();
    let longest = places.iter().map(|place| place.0.chars().count()).max().unwrap_or(0);
    let name_height = LINE * longest.div_ceil(NAME_LETTERS) as f64 + 1.0;
    let height = HEIGHT.max(name_height * places.len() as f64);
    let (scale, label_places) = (Scale::of(&times), label_places(&times, name_height / height));
    let ram_end = places.iter().map(|place| place.1).fold(0.0, f64::max);
    let value = |(&(run, ram, time), label): (&(&str, f64, f64), f64)| {
        json!({
            "run": run, "RAM": ram, "time": time, "label": label, "end": ram_end,
        })
    };
    let values: Vec<Value> = places.iter().zip(label_places).map(value).collect();
    let rams = Scale::of(&places.iter().map(|place| place.1).collect::<Vec<_>>());
    let along = |scale: &Scale, field: &str, title: &str| {
        json!({
            "field": field, "type": "quantitative", "scale": scale.json(), "title": title,
        })
    };
    let x = |field: &str| along(&rams, field, "RAM (KiB)");
    let y = |field: &str| along(&scale, field, "serial time (s)");
    let parts = json!({
        "height": height,
        "layer": [
            {"mark": {"type": "rule", "strokeDash": [2, 2], "opacity": 0.5},
             "encoding": {"x": x("RAM"), "y": y("time"), "x2": {"field": "end"},
                          "y2": {"field": "label"}}},
            {"mark": {"type": "point", "filled": true, "size": 70, "opacity": 1, "tooltip": true},
             "encoding": {"x": x("RAM"), "y": y("time")}},
            {"mark": {"type": "text", "align": "left", "dx": 6, "lineBreak": "\n"},
             "encoding": {"x": x("end"), "y": y("label"), "text": {"field": "run"}}},
        ],
    });
    let row =
        |&(run, ram, time): &(&str, f64, f64)| vec![run.to_owned(), number(ram), number(time)];
    let head = ["run", "RAM, KiB", "serial time, s"];
    Some(Figure {
        id: "time-against-ram".into(),
        title: "Cost against RAM".into(),
        caption: "Serial time of the measured pass, over the RAM that a controller needs for \
                  maps, caches and buffers. Further left and further down is better. A dotted \
                  line leads from each point to its name."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, places.iter().map(row))),
    })
}

/// The label of a run, its RAM in KiB and its serial time in seconds.
fn place<'a>(run: &LabelledResult<'a>) -> Option<(&'a str, f64, f64)> {
    let (time, ram) = (&run.result["time_us"]["total"], &run.result["ram_bytes"]["total"]);
    let (seconds, kibibytes) = (time.as_f64()? / 1e6, ram.as_f64()? / 1024.0);
    (kibibytes > 0.0 && seconds > 0.0).then_some((run.label, kibibytes, seconds))
}

/// The least height of the view, in pixels.
const HEIGHT: f64 = 320.0;
/// A name is broken into lines of at least this many letters.
const NAME_LETTERS: usize = 18;
/// Height of a line of a name, in pixels.
const LINE: f64 = 14.0;

/// A scale from the smallest to the largest value, logarithmic for values of several magnitudes.
struct Scale {
    low: f64,
    high: f64,
    is_logarithmic: bool,
}

impl Scale {
    /// The scale of positive values. If they are all equal, it reaches a tenth to both sides.
    fn of(values: &[f64]) -> Scale {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(0.0, f64::max);
        match high > low {
            true => Scale { low, high, is_logarithmic: high / low >= 5.0 },
            false => Scale { low: 0.9 * low, high: 1.1 * high, is_logarithmic: false },
        }
    }

    fn json(&self) -> Value {
        let kind = if self.is_logarithmic { "log" } else { "linear" };
        json!({"type": kind, "nice": false, "domain": [self.low, self.high]})
    }

    /// The share of the scale that lies below a value.
    fn share(&self, value: f64) -> f64 {
        match self.is_logarithmic {
            true => (value / self.low).ln() / (self.high / self.low).ln(),
            false => (value - self.low) / (self.high - self.low),
        }
    }

    /// The value above this share of the scale.
    fn value(&self, share: f64) -> f64 {
        match self.is_logarithmic {
            true => self.low * (self.high / self.low).powf(share),
            false => self.low + share * (self.high - self.low),
        }
    }
}

/// Where the names stand at the right edge, as values of the vertical axis: as near to their points
/// as they can be if they are `step` apart, as a share of the axis.
fn label_places(values: &[f64], step: f64) -> Vec<f64> {
    let scale = Scale::of(values);
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]).then(b.cmp(&a)));
    let mut shares: Vec<f64> = order.iter().map(|&at| scale.share(values[at])).collect();
    // Upwards each name stands above the one before; downwards, what is pushed beyond the top
    // comes back.
    for at in 1..shares.len() {
        shares[at] = shares[at].max(shares[at - 1] + step);
    }
    let mut top: f64 = 1.0;
    for share in shares.iter_mut().rev() {
        *share = share.min(top);
        top = *share - step;
    }
    let mut places = vec![0.0; values.len()];
    order.into_iter().zip(shares).for_each(|(at, share)| places[at] = scale.value(share));
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_keep_their_distance_and_stay_inside() {
        for values in [vec![1.0; 11], vec![1.0, 1.01, 1.02, 20.0, 20.0], vec![3.0, 1.0]] {
            let scale = Scale::of(&values);
            let mut shares: Vec<f64> =
                label_places(&values, 0.1).into_iter().map(|place| scale.share(place)).collect();
            shares.sort_by(f64::total_cmp);
            let (first, last) = (shares[0], shares[shares.len() - 1]);
            assert!(first > -1e-9 && last < 1.0 + 1e-9, "{values:?}: {shares:?}");
            assert!(shares.windows(2).all(|pair| pair[1] - pair[0] > 0.099), "{shares:?}");
        }
    }

    fn result(time: f64, ram: u64, amplification: Option<f64>) -> Value {
        json!({
            "time_us": {"total": time}, "ram_bytes": {"total": ram},
            "write_amplification": amplification, "write_amplification_bytes": amplification,
        })
    }

    #[test]
    fn a_run_without_writes_has_no_bar_and_one_run_alone_no_comparison_of_ram() {
        let [page, reads] = [result(2e6, 4096, Some(1.5)), result(1e6, 2048, None)];
        let runs = [("page", &page), ("reads", &reads)];
        let runs = runs.map(|(label, result)| LabelledResult { label, result });
        let figure = write_amplification(&runs).unwrap();
        assert_eq!(figure.spec["data"]["values"].as_array().unwrap().len(), 1);
        assert_eq!(figure.table.unwrap().rows, [["page", "1.5", "1.5"], ["reads", "–", "0"]]);
        assert!(write_amplification(&runs[1..]).is_none());
        assert!(time_against_ram(&runs[..1]).is_none());
        let table = time_against_ram(&runs).unwrap().table.unwrap();
        assert_eq!(table.rows, [["page", "4", "2"], ["reads", "2", "1"]]);
    }
}
