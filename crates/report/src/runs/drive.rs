//! Figures of drives: where slow requests spent their time, responses over time, utilisation.

use serde_json::{Value, json};
use sim::clock::drive_times::PARTS;

use super::labelled_result::{LabelledResult, float, integer, labels};
use crate::curves::{drawn, panels};
use crate::figure::{
    DataTable, Figure, axis_from_zero, legend, logarithmic_axis, share_axis, spec,
};
use crate::number_format::number;

/// The colours of the parts of a response, in the order of [`PARTS`].
const COLOURS: [&str; 6] = ["#8a9bb0", "#4f9bd9", "#35a883", "#e8743b", "#e3b23c", "#cc79a7"];

/// The percentiles of response times: their fields in results, and their names.
const PERCENTILES: [(&str, &str); 4] =
    [("p50", "p50"), ("p90", "p90"), ("p99", "p99"), ("p999", "p99.9")];

/// Percentiles of the response times of each kind of request against the mean number of requests in
/// the drive, which is the queue depth of a closed loop. `None` with fewer than two depths.
pub(super) fn latency_against_depth(runs: &[LabelledResult]) -> Option<Figure> {
    let (mut values, mut rows, mut kinds) = (Vec::new(), Vec::new(), Vec::new());
    let groups = alike_but_for_depth(runs);
    let depth = |run: &LabelledResult| run.result["drive"]["mean_requests"].as_f64();
    let has_curve = |(_, runs): &(String, Vec<&LabelledResult>)| {
        let first = runs.iter().find_map(|run| depth(run));
        runs.iter().any(|run| depth(run).is_some_and(|depth| Some(depth) != first))
    };
    if !groups.iter().any(has_curve) {
        return None;
    }
    let of_groups = groups.iter().flat_map(|(name, runs)| runs.iter().map(move |run| (name, run)));
    for (name, run) in of_groups {
        let Some(depth) = depth(run) else { continue };
        for op in ["read", "write"] {
            let times = &run.result["response_us"][op];
            if integer(&times["count"]) == 0 {
                continue;
            }
            let kind = if name.is_empty() { format!("{op}s") } else { format!("{op}s, {name}") };
            let time = |(field, _): (&str, &str)| float(&times[field]);
            values.extend(PERCENTILES.map(|(field, name)| {
                json!({"run": run.label, "requests": kind, "depth": depth,
                       "percentile": name, "us": float(&times[field])})
            }));
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
            let figures = [depth].into_iter().chain(PERCENTILES.map(time)).map(number);
            rows.push([format!("{}, {op}s", run.label)].into_iter().chain(figures).collect());
        }
    }
    if kinds.is_empty() {
        return None;
    }
    kinds.sort_by_key(|kind| !kind.starts_with("reads"));
    let view = json!({
        "mark": {"type": "line", "point": true, "tooltip": true},
        "height": 280,
        "encoding": {
            "x": logarithmic_axis("depth", "mean number of requests in the drive"),
            "y": logarithmic_axis("us", "response time (µs)"),
        },
    });
    let names = PERCENTILES.map(|(_, name)| name.to_owned());
    let view = drawn("percentile", &names, view);
    let mut head = vec!["run".to_owned(), "requests in the drive".to_owned()];
    head.extend(PERCENTILES.map(|(_, name)| format!("{name},\u{a0}µs")));
    let parts = if kinds.len() == 1 { view } else { panels("requests", &kinds, view) };
    Some(Figure {
        id: "latency-against-depth".into(),
        title: "Latency against queue depth".into(),
        caption: "Percentiles of the response times in a drive against the mean number of \
                  requests in it. Each point is a run."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, rows)),
    })
}

/// The runs that differ only in their replay, as groups with a name each: what the labels of a
/// group share, or the first of them. A single group has none.
fn alike_but_for_depth<'a>(
    runs: &'a [LabelledResult],
) -> Vec<(String, Vec<&'a LabelledResult<'a>>)> {
    let mut groups: Vec<(Vec<Value>, Vec<&LabelledResult>)> = Vec::new();
    for run in runs {
        let mut key: Vec<Value> =
            ["run", "ftl", "device", "layers"].map(|part| run.result[part].clone()).into();
        key.extend(
            [&run.result["trace"]["name"], &run.result["drive"]["profile"]].map(Clone::clone),
        );
        if let Some(options) = key[0].as_object_mut() {
            options.remove("replay");
        }
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, alike)) => alike.push(run),
            None => groups.push((key, vec![run])),
        }
    }
    let is_one = groups.len() == 1;
    let mut named: Vec<(String, Vec<&LabelledResult>)> = Vec::new();
    for (_, runs) in groups {
        let first = runs[0].label;
        let has = |label: &str, word: &str| label.split(' ').any(|own| own == word);
        let shared = first.split(' ').filter(|word| runs.iter().all(|run| has(run.label, word)));
        let shared = shared.collect::<Vec<_>>().join(" ");
        let is_taken = named.iter().any(|(known, _)| *known == shared);
        let name = match (is_one, shared.is_empty() || is_taken) {
            (true, _) => String::new(),
            (false, true) => first.to_owned(),
            (false, false) => shared,
        };
        named.push((name, runs));
    }
    named
}

/// Stacked bars: how requests of each class of response times spent their time. `None` without a
/// drive.
pub(super) fn parts_of_responses(runs: &[LabelledResult]) -> Option<Figure> {
    let values: Vec<Value> = runs.iter().flat_map(bars_of_classes).collect();
    if values.is_empty() {
        return None;
    }
    let view = json!({
        "mark": {"type": "bar", "tooltip": true, "binSpacing": 0},
        "height": 220,
        "encoding": {
            "x": logarithmic_axis("from", "response time (µs)"), "x2": {"field": "to"},
            "y": share_axis("share_from", "share of their time"), "y2": {"field": "share_to"},
            "color": {
                "field": "part", "type": "nominal", "title": null,
                "legend": legend(&PARTS.map(str::to_owned)),
                "scale": {"domain": PARTS, "range": COLOURS},
            },
        },
    });
    let mut head = vec!["run".to_owned(), "requests".to_owned(), "mean,\u{a0}µs".to_owned()];
    head.extend(PARTS.iter().map(|name| format!("{name},\u{a0}%")));
    let rows = runs.iter().flat_map(|run| [1.0, 0.01, 0.001].map(|share| slowest(run, share)));
    Some(Figure {
        id: "parts-of-responses".into(),
        title: "Where slow requests spent their time".into(),
        caption: "Requests of a drive by their response time, and the share of that time that \
                  they spent in each part. The table compares all requests with the slowest ones."
            .into(),
        spec: spec(values, each_run(runs, view)),
        table: Some(DataTable::new(head, rows.flatten())),
    })
}

/// One panel for each run, or a single view.
fn each_run(runs: &[LabelledResult], view: Value) -> Value {
    match runs {
        [_] => view,
        _ => panels("run", &labels(runs), view),
    }
}

/// The classes of response times: upper end in µs, requests, mean time in each part in µs.
fn classes(run: &LabelledResult) -> Vec<(f64, u64, [f64; 6])> {
    let of = &run.result["drive"]["by_response"];
    let ends = of["to_us"].as_array().into_iter().flatten().enumerate();
    let part = |class: usize, name: &str| float(&of["parts_us"][name][class]);
    ends.map(|(class, end)| {
        let parts = PARTS.map(|name| part(class, name));
        (float(end), integer(&of["requests"][class]), parts)
    })
    .collect()
}

/// The bars of a run. A class begins at four fifths of its end or above.
fn bars_of_classes(run: &LabelledResult) -> Vec<Value> {
    let mut values = Vec::new();
    for (to, requests, parts) in classes(run) {
        let sum: f64 = parts.iter().sum();
        let mut share_from = 0.0;
        for (name, part) in PARTS.iter().zip(parts) {
            let share_to = share_from + if sum > 0.0 { part / sum } else { 0.0 };
            values.push(json!({
                "run": run.label, "part": name, "from": class_start(to), "to": to,
                "requests": requests, "mean µs": part,
                "share_from": share_from, "share_to": share_to,
            }));
            share_from = share_to;
        }
    }
    values
}

/// The start of the class with this end: classes are quarters of the way from one power of two (in
/// ns) to the next.
fn class_start(to_us: f64) -> f64 {
    let to_ns = to_us * 1000.0;
    let mut octave = 2f64.powi(to_ns.log2().floor() as i32);
    if octave == to_ns {
        octave /= 2.0;
    }
    (to_ns - octave / 4.0) / 1000.0
}

/// A row of the table: the slowest requests of a run, at least this share of all; none without
/// a drive.
fn slowest(run: &LabelledResult, share: f64) -> Option<Vec<String>> {
    let classes = classes(run);
    let all: u64 = classes.iter().map(|(_, requests, _)| requests).sum();
    let least = (share * all as f64).ceil().max(1.0) as u64;
    let (mut requests, mut sums) = (0, [0.0; 6]);
    for (_, of_class, parts) in classes.iter().rev() {
        if requests >= least {
            break;
        }
        requests += of_class;
        for (sum, part) in sums.iter_mut().zip(parts) {
            *sum += part * *of_class as f64;
        }
    }
    let whole: f64 = sums.iter().sum();
    let name = match share {
        1.0 => format!("{}, all", run.label),
        share => format!("{}, slowest {} %", run.label, number(100.0 * share)),
    };
    let figures = [number(requests as f64), number(whole / requests as f64)];
    let shares = sums.map(|sum| number(100.0 * sum / whole.max(f64::MIN_POSITIVE)));
    (all > 0).then(|| [name].into_iter().chain(figures).chain(shares).collect())
}

/// A heat map of the response times over time; `None` without a series of a drive.
pub(super) fn responses_over_time(runs: &[LabelledResult]) -> Option<Figure> {
    let values: Vec<Value> = runs.iter().flat_map(cells).collect();
    if values.is_empty() {
        return None;
    }
    let view = json!({
        "mark": {"type": "rect", "tooltip": true},
        "height": 240,
        "encoding": {
            "x": axis_from_zero("since", "time (s)"), "x2": {"field": "until"},
            "y": logarithmic_axis("from", "response time (µs)"), "y2": {"field": "to"},
            "color": {"field": "requests", "type": "quantitative", "title": "requests",
                      "scale": {"type": "log", "scheme": "viridis"}},
        },
    });
    let row = |run: &LabelledResult| {
        let series = &run.result["drive"]["series"];
        let slices = series["requests"].as_array()?;
        let longest = series["max_us"].as_array()?.iter().map(float).fold(0.0, f64::max);
        let every_ms = float(&series["every_us"]) / 1000.0;
        let figures = [slices.len() as f64, every_ms, longest].map(number);
        Some([run.label.to_owned()].into_iter().chain(figures).collect())
    };
    let head = ["run", "slices", "length,\u{a0}ms", "longest response,\u{a0}µs"];
    Some(Figure {
        id: "responses-over-time".into(),
        title: "Response times over time".into(),
        caption: "Requests of a drive by the time at which they were answered and by their \
                  response time. The colour is the number of requests."
            .into(),
        spec: spec(values, each_run(runs, view)),
        table: Some(DataTable::new(head, runs.iter().filter_map(row))),
    })
}

/// The cells of a run's heat map that have requests.
fn cells(run: &LabelledResult) -> Vec<Value> {
    let series = &run.result["drive"]["series"];
    let seconds = float(&series["every_us"]) / 1e6;
    let mut values = Vec::new();
    for (slice, counts) in (0u32..).zip(series["counts"].as_array().into_iter().flatten()) {
        for (class, count) in counts.as_array().into_iter().flatten().enumerate() {
            if integer(count) > 0 {
                let (to, since) = (float(&series["to_us"][class]), f64::from(slice) * seconds);
                values.push(json!({
                    "run": run.label, "since": since, "until": since + seconds,
                    "from": class_start(to), "to": to, "requests": count,
                }));
            }
        }
    }
    values
}

/// Bars: the utilisation of every die and channel; `None` without a drive.
pub(super) fn utilisation(runs: &[LabelledResult]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for run in runs {
        // Channels stand to the right of the dies.
        let mut first = 0.0;
        for (kind, field) in [("die", "dies"), ("channel", "channels")] {
            let of = &run.result["drive"]["utilisation"][field];
            let shares: Vec<f64> = of.as_array().into_iter().flatten().map(float).collect();
            if shares.is_empty() {
                continue;
            }
            for (number, share) in shares.iter().enumerate() {
                let from = first + number as f64;
                values.push(json!({
                    "run": run.label, "kind": kind, "number": number, "share": share,
                    "from": from, "to": from + 0.8,
                }));
            }
            first += shares.len() as f64 + 1.0;
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
            let most = shares.iter().copied().fold(0.0, f64::max);
            let figures = [mean, least, most].map(|share| number(100.0 * share));
            let name = format!("{}, {field}", run.label);
            rows.push([name].into_iter().chain(figures).collect());
        }
    }
    let mut x = axis_from_zero("from", "dies, then channels, by number");
    x["axis"] = json!({"labels": false, "ticks": false, "grid": false});
    let view = json!({
        "mark": {"type": "bar", "tooltip": true},
        "height": 200,
        "encoding": {
            "x": x, "x2": {"field": "to"},
            "y": share_axis("share", "share of the time"), "y2": {"datum": 0},
            "color": {"field": "kind", "type": "nominal", "title": null,
                      "scale": {"domain": ["die", "channel"], "range": ["#4f9bd9", "#e8743b"]}},
        },
    });
    let head = ["run", "mean,\u{a0}%", "least,\u{a0}%", "most,\u{a0}%"];
    (!values.is_empty()).then(|| Figure {
        id: "utilisation".into(),
        title: "Utilisation of dies and channels".into(),
        caption: "The share of the time in which each die and each channel was occupied. A die is \
                  also occupied while its page waits for the channel."
            .into(),
        spec: spec(values, each_run(runs, view)),
        table: Some(DataTable::new(head, rows)),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result() -> Value {
        let parts = |queue: [f64; 2], array: [f64; 2]| {
            let zero = [0.0; 2];
            json!({"queue": queue, "array": array, "transfer": zero, "collection": zero,
                   "buffer": zero, "firmware": zero})
        };
        json!({"drive": {
            "utilisation": {"dies": [0.5, 0.7], "channels": [0.1]},
            "by_response": {"to_us": [57.344, 163.84], "requests": [999, 1],
                            "parts_us": parts([0.0, 100.0], [50.0, 50.0])},
            "series": {"every_us": 2000.0, "requests": [1000, 0], "mean_us": [50.1, null],
                       "max_us": [150.0, null], "to_us": [57.344, 163.84],
                       "counts": [[999, 1], [0, 0]]},
        }})
    }

    #[test]
    fn the_table_shows_what_makes_slow_requests_slow() {
        let result = result();
        let figure = parts_of_responses(&[LabelledResult { label: "a", result: &result }]).unwrap();
        let rows = figure.table.unwrap().rows;
        assert_eq!(rows.len(), 3);
        assert_eq!(rows[0][..5], ["a, all", "1,000", "50.1", "0.1996", "99.8"]);
        assert_eq!(rows[2][..5], ["a, slowest 0.1 %", "1", "150", "66.67", "33.33"]);
        let values = figure.spec["data"]["values"].as_array().unwrap();
        assert_eq!(values.len(), 12);
        assert_eq!((&values[0]["from"], &values[0]["to"]), (&json!(49.152), &json!(57.344)));
    }

    #[test]
    fn the_parts_of_a_class_follow_each_other_up_to_all_of_its_time() {
        let result = result();
        let values = bars_of_classes(&LabelledResult { label: "a", result: &result });
        for class in values.chunks(PARTS.len()) {
            let place = |at: usize, key: &str| class[at][key].as_f64().unwrap();
            assert_eq!((place(0, "share_from"), place(5, "share_to")), (0.0, 1.0));
            for at in 1..PARTS.len() {
                assert_eq!(place(at, "share_from"), place(at - 1, "share_to"), "{at}");
            }
        }
    }

    #[test]
    fn bars_of_dies_and_channels_stand_beside_each_other() {
        let result = result();
        let figure = utilisation(&[LabelledResult { label: "a", result: &result }]).unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let place = |at: usize, key: &str| values[at][key].as_f64().unwrap();
        assert!((1..3).all(|at| place(at - 1, "to") < place(at, "from")), "{values:?}");
    }

    #[test]
    fn classes_begin_where_the_ones_before_them_end() {
        for (to_us, from_us) in [(65.536, 57.344), (81.92, 65.536), (98.304, 81.92), (0.005, 0.004)]
        {
            assert!((class_start(to_us) - from_us).abs() < 1e-9, "{to_us}");
        }
    }

    #[test]
    fn a_heat_map_has_cells_with_requests_only() {
        let result = result();
        let runs = [LabelledResult { label: "a", result: &result }];
        let figure = responses_over_time(&runs).unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap();
        assert_eq!(values.len(), 2);
        assert_eq!((&values[0]["since"], &values[0]["until"]), (&json!(0.0), &json!(0.002)));
        assert_eq!(figure.table.unwrap().rows, [["a", "2", "2", "150"]]);
        let rows = utilisation(&runs).unwrap().table.unwrap().rows;
        assert_eq!(rows, [["a, dies", "60", "50", "70"], ["a, channels", "10", "10", "10"]]);
    }

    #[test]
    fn latency_is_drawn_against_depth_if_there_are_two_depths() {
        let run = |depth: f64| {
            let read = json!({"count": 9, "p50": 80.0, "p90": 90.0, "p99": 99.0, "p999": 120.0});
            json!({"drive": {"mean_requests": depth}, "response_us": {"read": read}})
        };
        let results = [run(1.0), run(31.9)];
        let runs: Vec<LabelledResult> =
            results.iter().map(|result| LabelledResult { label: "a", result }).collect();
        assert_eq!(latency_against_depth(&runs[..1]), None);
        let figure = latency_against_depth(&runs).unwrap();
        assert_eq!(figure.spec["data"]["values"].as_array().unwrap().len(), 8);
        let rows = figure.table.unwrap().rows;
        assert_eq!(rows[1], ["a, reads", "31.9", "80", "90", "99", "120"]);
    }

    #[test]
    fn runs_that_differ_in_more_than_depth_have_panels_of_their_own() {
        let run = |ftl: &str, depth: f64| {
            let read = json!({"count": 9, "p50": 80.0, "p90": 90.0, "p99": 99.0, "p999": 120.0});
            json!({"run": {"replay": format!("closed:depth={depth}")}, "ftl": {"name": ftl},
                   "drive": {"mean_requests": depth}, "response_us": {"read": read}})
        };
        let results = [run("page", 1.0), run("page", 4.0), run("dac", 1.0), run("dac", 4.0)];
        let labels = ["ftl=page depth=1", "ftl=page depth=4", "dac@1", "dac@4"];
        let labelled = |(label, result)| LabelledResult { label, result };
        let runs: Vec<LabelledResult> = labels.into_iter().zip(&results).map(labelled).collect();
        let figure = latency_against_depth(&runs).unwrap();
        let values = figure.spec["data"]["values"].as_array().unwrap();
        let panels: Vec<&Value> = values.iter().map(|value| &value["requests"]).collect();
        assert_eq!([panels[0], panels[4]], ["reads, ftl=page", "reads, ftl=page"]);
        assert_eq!([panels[8], panels[12]], ["reads, dac@1", "reads, dac@1"]);
        assert_eq!(latency_against_depth(&[runs[0], runs[2]]), None, "no curve has two points");
    }

    #[test]
    fn serial_results_have_no_figures_of_a_drive() {
        let result = json!({"drive": null});
        let runs = [LabelledResult { label: "a", result: &result }];
        assert_eq!(parts_of_responses(&runs), None);
        assert_eq!(responses_over_time(&runs), None);
        assert_eq!(utilisation(&runs), None);
    }
}
