//! Figures of results side by side: where the time goes, how long requests take, what merges do,
//! how the flash wears, and how all of it goes along.
//!
//! Results are taken as JSON (`ftlab.run/1`), so that those of earlier runs can be drawn, too.

use serde_json::{Value, json};
use sim::clock::SERIAL_CAVEAT;
use sim::plan::drawing::Portrait;

use crate::figure::{Figure, Table, legend, slug, spec};
use crate::words::number;

/// A result and what it is called in the figures.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// Its name, such as the FTL's spec.
    pub label: &'a str,
    /// The result, as `ftlab run --json` writes it.
    pub result: &'a Value,
}

/// The causes in the order in which they are stacked.
const CAUSES: [(&str, &str); 9] = [
    ("host", "host pages"),
    ("rmw", "read-modify-write"),
    ("gc", "garbage collection"),
    ("merge", "merges"),
    ("map", "mapping in flash"),
    ("log", "sector log"),
    ("wear", "wear levelling"),
    ("meta", "bookkeeping"),
    ("dram", "DRAM"),
];

/// One hue a cause, the same in every figure; legible on light and dark ground.
const CAUSE_COLOURS: [&str; 9] = [
    "#7f8fa6", "#9c755f", "#e15759", "#f28e2b", "#59a14f", "#4e79a7", "#b07aa1", "#bab0ac",
    "#76b7b2",
];

/// The points of a curve that a page needs: more cannot be told apart.
const POINTS_MAX: usize = 400;

/// All figures that these results have something for, in the order of a report.
pub fn figures(runs: &[Run]) -> Vec<Figure> {
    let named = |name: &'static str| (name, format!("service times of {name}s"));
    let service = ["write", "read"].map(named);
    let mut figures = vec![time_by_cause(runs)];
    figures.extend(service.into_iter().filter_map(|(op, title)| service_times(runs, op, &title)));
    figures.extend(course(runs, "write_amplification", "Write amplification along the trace"));
    figures.extend(course(runs, "free_blocks", "Free blocks along the trace"));
    figures.extend(associated_blocks(runs));
    figures.extend(wear(runs));
    figures.extend(runs.iter().filter_map(gauges));
    figures
}

/// One figure of these results; none if they have nothing for it.
pub fn portrait(of: Portrait, runs: &[Run]) -> Option<Figure> {
    match of {
        Portrait::TimeByCause => Some(time_by_cause(runs)),
        Portrait::ServiceOfWrites => service_times(runs, "write", "service times of writes"),
        Portrait::ServiceOfReads => service_times(runs, "read", "service times of reads"),
        Portrait::AssociatedBlocks => associated_blocks(runs),
        Portrait::VictimUtilisation => victim_utilisation(runs),
        Portrait::WriteAmplification => course(runs, "write_amplification", "Write amplification"),
        Portrait::FreeBlocks => course(runs, "free_blocks", "Free blocks"),
        Portrait::ServiceCourse => course(runs, "mean_service_us", "Service time"),
        Portrait::Wear => wear(runs),
    }
}

/// What a caption says of where the numbers come from.
pub fn provenance(runs: &[Run]) -> String {
    let Some(Run { result, .. }) = runs.first() else { return String::new() };
    let (device, run, trace) = (&result["device"], &result["run"], &result["trace"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (blocks, pages) = (integer(&device["logical_blocks"]), integer(&device["pages_per_block"]));
    let mebibytes = (blocks * pages * integer(&device["page_bytes"])) as f64 / f64::from(1 << 20);
    format!(
        "Trace {}: {} requests, {} of them writes. Device: {} of {} MiB with {} extra blocks. \
         Preconditioned by {}, trace replayed {} × before it is measured, seed {}.",
        text(&trace["name"]),
        number(float(&trace["requests"])),
        number(float(&trace["writes"])),
        text(&device["chip"]),
        number(mebibytes),
        number(float(&device["extra_blocks"])),
        text(&run["precondition"]),
        integer(&run["warmup"]),
        integer(&run["seed"]),
    )
}

fn integer(value: &Value) -> u64 {
    value.as_u64().unwrap_or(0)
}

fn float(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn labels(runs: &[Run]) -> Vec<String> {
    runs.iter().map(|run| run.label.to_owned()).collect()
}

// ---- Time -------------------------------------------------------------------------------------

/// Stacked bars: a bar a run, a part a cause.
fn time_by_cause(runs: &[Run]) -> Figure {
    let seconds = |run: &Run, cause: &str| float(&run.result["time_us"][cause]) / 1e6;
    let spent = |cause: &str| runs.iter().any(|run| seconds(run, cause) > 0.0);
    let causes: Vec<usize> = (0..CAUSES.len()).filter(|&at| spent(CAUSES[at].0)).collect();
    let mut values = Vec::new();
    for run in runs {
        for &at in &causes {
            let (cause, words) = CAUSES[at];
            values.push(json!({
                "run": run.label, "cause": words, "order": at, "seconds": seconds(run, cause),
            }));
        }
    }
    let parts = json!({
        "mark": {"type": "bar", "tooltip": true},
        "height": 28 * runs.len(),
        "encoding": {
            "y": {"field": "run", "type": "nominal", "sort": labels(runs), "title": null},
            "x": {"field": "seconds", "type": "quantitative", "title": "serial time (s)"},
            "color": {
                "field": "cause", "type": "nominal", "title": "cause",
                "scale": {
                    "domain": causes.iter().map(|&at| CAUSES[at].1).collect::<Vec<_>>(),
                    "range": causes.iter().map(|&at| CAUSE_COLOURS[at]).collect::<Vec<_>>(),
                },
            },
            "order": {"field": "order", "type": "quantitative"},
        },
    });
    let mut head = vec!["run".to_owned(), "in all, s".to_owned()];
    head.extend(causes.iter().map(|&at| format!("{}, s", CAUSES[at].1)));
    let row = |run: &Run| {
        let parts = causes.iter().map(|&at| number(seconds(run, CAUSES[at].0)));
        let all = number(seconds(run, "total"));
        [run.label.to_owned(), all].into_iter().chain(parts).collect()
    };
    Figure {
        id: "time-by-cause".into(),
        title: "Where the time goes".into(),
        caption: format!(
            "Serial time of all flash operations of the measured pass (count × latency), by what \
             caused them. {} {SERIAL_CAVEAT}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(Table::new(head, runs.iter().map(row).collect())),
    }
}

/// Cumulative distribution of service times, both axes logarithmic: the upper one by the share that
/// takes longer, so that each of the nines has its room. None if nothing of the kind was served.
fn service_times(runs: &[Run], op: &str, title: &str) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let buckets = run.result["histograms"]["service_us"][op].as_array();
        let points = cumulative(buckets.map_or(&[][..], Vec::as_slice));
        values.extend(points.into_iter().map(|(us, longer)| {
            json!({"run": run.label, "us": us, "share": 1.0 - longer, "longer": longer})
        }));
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "mark": {"type": "line", "interpolate": "step-after", "clip": true, "tooltip": true},
        "height": 280,
        "encoding": {
            "x": {
                "field": "us", "type": "quantitative", "scale": {"type": "log", "nice": false},
                "title": format!("service time of {op}s (µs)"),
            },
            "y": {
                "field": "longer", "type": "quantitative",
                "scale": {"type": "log", "reverse": true, "nice": false},
                "axis": {"values": NINES, "labelExpr": "format(1 - datum.value, '.6~%')"},
                "title": format!("share of {op}s served by then"),
            },
            "color": run_colour(runs),
        },
    });
    let columns = ["mean", "stddev", "p50", "p90", "p99", "p999", "max"];
    let row = |run: &Run| {
        let figures = &run.result["service_us"][op];
        let cells = columns.iter().map(|&column| number(float(&figures[column])));
        [run.label.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["run"].into_iter().chain(columns).map(|name| match name {
        "run" => name.to_owned(),
        name => format!("{name}, µs"),
    });
    Some(Figure {
        id: format!("service-{op}"),
        title: format!("{}{}", title[..1].to_uppercase(), &title[1..]),
        caption: format!(
            "How many {op}s were served within a time, from the sum of all flash operations that \
             each set off. {} {SERIAL_CAVEAT}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(Table::new(head.collect(), runs.iter().map(row).collect())),
    })
}

/// Shares that take longer than what stands at the axis: 50 %, 90 %, 99 % … are served.
const NINES: [f64; 8] = [1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6];

/// Colour by run, in the order of the runs.
fn run_colour(runs: &[Run]) -> Value {
    let labels = labels(runs);
    json!({
        "field": "run", "type": "nominal", "title": null, "legend": legend(&labels),
        "scale": {"domain": labels},
    })
}

/// The share of requests that take longer than each time, thinned to what can be told apart. Times
/// of zero have no place on a logarithmic axis; their share is where the curve begins. A share of
/// zero has none either: the slowest request stands at half a request.
fn cumulative(buckets: &[Value]) -> Vec<(f64, f64)> {
    let bucket = |value: &Value| Some((value.get(0)?.as_f64()?, value.get(1)?.as_u64()?));
    let buckets: Vec<(f64, u64)> = buckets.iter().filter_map(bucket).collect();
    let total: u64 = buckets.iter().map(|(_, requests)| requests).sum();
    let (mut points, mut seen, mut drawn) = (Vec::new(), 0, 2.0);
    for &(us, requests) in &buckets {
        if us > 0.0 && points.is_empty() {
            points.push((us, (total - seen) as f64 / total as f64));
        }
        seen += requests;
        let longer = ((total - seen) as f64).max(0.5) / total as f64;
        let shows = drawn - longer >= 1.0 / POINTS_MAX as f64 || longer <= 0.95 * drawn;
        if us > 0.0 && (shows || seen == total) {
            points.push((us, longer));
            drawn = longer;
        }
    }
    points
}

// ---- Along the trace ----------------------------------------------------------------------------

/// A figure of the series over the requests served; none if no run took samples.
fn course(runs: &[Run], name: &str, title: &str) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let series = &run.result["series"];
        for (requests, value) in samples(series, &series[name]) {
            values.push(json!({"run": run.label, "requests": requests, "value": value}));
        }
    }
    if values.is_empty() {
        return None;
    }
    let words = match name {
        "mean_service_us" => "mean service time (µs)".to_owned(),
        name => name.replace('_', " "),
    };
    let parts = json!({
        "mark": {"type": "line", "tooltip": true},
        "height": 220,
        "encoding": {
            "x": {"field": "requests", "type": "quantitative", "title": "requests served"},
            "y": {"field": "value", "type": "quantitative", "title": words},
            "color": run_colour(runs),
        },
    });
    let every = float(&runs[0].result["series"]["every"]);
    Some(Figure {
        id: slug(title),
        title: title.to_owned(),
        caption: format!(
            "The {words} of the measured pass, a sample every {} requests{}. {}{}",
            number(every),
            match name {
                "free_blocks" => "",
                _ => ", each over the requests since the last",
            },
            provenance(runs),
            if name.contains("_us") { format!(" {SERIAL_CAVEAT}") } else { String::new() },
        ),
        spec: spec(values, parts),
        table: None,
    })
}

/// Samples of a list beside the requests served; at most so many as can be told apart.
fn samples(series: &Value, list: &Value) -> Vec<(u64, f64)> {
    let empty = Vec::new();
    let requests = series["requests"].as_array().unwrap_or(&empty);
    let values = list.as_array().unwrap_or(&empty);
    let step = requests.len().div_ceil(POINTS_MAX).max(1);
    let pairs = requests.iter().zip(values).step_by(step);
    pairs.filter_map(|(at, value)| Some((at.as_u64()?, value.as_f64()?))).collect()
}

/// What a scheme regulates or watches, a small figure each; none if it has no gauges or no samples.
fn gauges(run: &Run) -> Option<Figure> {
    let series = &run.result["series"];
    let gauges = series["scheme"].as_object()?;
    let mut values = Vec::new();
    for (gauge, list) in gauges {
        for (requests, value) in samples(series, list) {
            values.push(json!({"gauge": gauge, "requests": requests, "value": value}));
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "facet": {"field": "gauge", "type": "nominal", "title": null, "sort": null},
        "columns": 3,
        "spec": {
            "width": 220, "height": 90,
            "mark": {"type": "line", "tooltip": true},
            "encoding": {
                "x": {"field": "requests", "type": "quantitative", "title": null,
                      "axis": {"tickCount": 3, "format": "~s"}},
                "y": {"field": "value", "type": "quantitative", "title": null,
                      "axis": {"tickCount": 3}},
            },
        },
        "resolve": {"scale": {"y": "independent"}},
    });
    let title = format!("What {} watches and regulates", run.label);
    Some(Figure {
        id: slug(&title),
        caption: format!(
            "The scheme's own gauges over the requests served. {}",
            provenance(std::slice::from_ref(run))
        ),
        title,
        spec: spec(values, parts),
        table: None,
    })
}

// ---- Merges and wear ----------------------------------------------------------------------------

/// How many data blocks a full merge concerns; none if there were no full merges.
fn associated_blocks(runs: &[Run]) -> Option<Figure> {
    let mut values = Vec::new();
    let mut rows = Vec::new();
    for run in runs {
        let counts = run.result["merges"]["associated_blocks"].as_array();
        let counts: Vec<u64> = counts.into_iter().flatten().map(integer).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            continue;
        }
        let weighted: f64 = (0..).zip(&counts).map(|(na, &n)| f64::from(na) * n as f64).sum();
        rows.push(vec![run.label.into(), number(total as f64), number(weighted / total as f64)]);
        for (na, &count) in counts.iter().enumerate().filter(|(_, count)| **count > 0) {
            let share = count as f64 / total as f64;
            values.push(json!({"run": run.label, "Na": na, "merges": count, "share": share}));
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "facet": {"row": {"field": "run", "type": "nominal", "sort": labels(runs), "title": null}},
        "spec": {
            "width": 620, "height": 70,
            "mark": {"type": "bar", "tooltip": true},
            "encoding": {
                "x": {"field": "Na", "type": "quantitative", "bin": {"binned": true, "step": 1},
                      "title": "data blocks associated with the log block, Na"},
                "y": {"field": "share", "type": "quantitative", "title": null,
                      "axis": {"format": "%", "tickCount": 3}},
            },
        },
    });
    let head = ["run", "full merges", "mean Na"].map(str::to_owned).to_vec();
    Some(Figure {
        id: "associated-blocks".into(),
        title: "What full merges concern".into(),
        caption: format!(
            "Share of full merges by the number of data blocks whose pages the log block held. {}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(Table::new(head, rows)),
    })
}

/// How many pages of a victim are programmed, cumulatively; none if no victim was counted.
fn victim_utilisation(runs: &[Run]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for run in runs {
        let counts = run.result["scheme"]["victim_utilisation"].as_array();
        let counts: Vec<u64> = counts.into_iter().flatten().map(integer).collect();
        let total: u64 = counts.iter().sum();
        if total == 0 {
            continue;
        }
        let full = counts.len() - 1;
        let mut seen = 0;
        for (pages, &count) in counts.iter().enumerate() {
            seen += count;
            let (used, share) = (pages as f64 / full as f64, seen as f64 / total as f64);
            values.push(json!({"run": run.label, "used": used, "share": share}));
        }
        let open = (total - counts[full]) as f64 / total as f64;
        rows.push(vec![run.label.into(), number(total as f64), number(100.0 * open)]);
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "mark": {"type": "line", "interpolate": "step-after", "tooltip": true},
        "height": 240,
        "encoding": {
            "x": {"field": "used", "type": "quantitative", "axis": {"format": "%"},
                  "title": "programmed pages of a victim"},
            "y": {"field": "share", "type": "quantitative", "axis": {"format": "%"},
                  "title": "share of victims with no more"},
            "color": run_colour(runs),
        },
    });
    let head = ["run", "victims", "with free pages, %"].map(str::to_owned).to_vec();
    Some(Figure {
        id: "victim-utilisation".into(),
        title: "What victims hold".into(),
        caption: format!(
            "Share of victims by how many of their pages are programmed, cumulative. {}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(Table::new(head, rows)),
    })
}

/// Cells of the wear map side by side.
const WEAR_COLUMNS: usize = 32;

/// A map of the blocks by erases; none if the results have no map.
fn wear(runs: &[Run]) -> Option<Figure> {
    let mut values = Vec::new();
    for run in runs {
        let map = &run.result["wear"]["map"];
        let (all, step) = (integer(&map["blocks"]), integer(&map["blocks_per_cell"]));
        for (cell, erases) in map["erases"].as_array().into_iter().flatten().enumerate() {
            let first = cell as u64 * step;
            let blocks = step.min(all - first);
            values.push(json!({
                "run": run.label, "row": cell / WEAR_COLUMNS, "column": cell % WEAR_COLUMNS,
                "first block": first, "blocks": blocks, "erases": float(erases) / blocks as f64,
            }));
        }
    }
    if values.is_empty() {
        return None;
    }
    let parts = json!({
        "facet": {"field": "run", "type": "nominal", "title": null, "sort": labels(runs)},
        "columns": 3,
        "spec": {
            "width": 230, "height": {"step": 8},
            "mark": {"type": "rect", "tooltip": true},
            "encoding": {
                "x": {"field": "column", "type": "ordinal", "axis": null},
                "y": {"field": "row", "type": "ordinal", "axis": null},
                "color": {"field": "erases", "type": "quantitative",
                          "scale": {"scheme": "viridis"}, "title": "erases a block"},
            },
        },
    });
    let columns = ["min", "max", "mean", "stddev"];
    let row = |run: &Run| {
        let cells = columns.iter().map(|&column| number(float(&run.result["wear"][column])));
        [run.label.to_owned()].into_iter().chain(cells).collect()
    };
    let head = ["run", "least erases", "most", "mean", "standard deviation"];
    Some(Figure {
        id: "wear".into(),
        title: "Wear of the blocks".into(),
        caption: format!(
            "Erases since birth, precondition and warm-up included; blocks in the order of their \
             numbers, row by row, those of a cell taken together. {}",
            provenance(runs)
        ),
        spec: spec(values, parts),
        table: Some(Table::new(head.map(str::to_owned).to_vec(), runs.iter().map(row).collect())),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_are_cumulative_and_begin_above_requests_that_took_no_time() {
        let buckets = [json!([0.0, 25]), json!([100.0, 50]), json!([2000.0, 25])];
        assert_eq!(cumulative(&buckets), [(100.0, 0.75), (100.0, 0.25), (2000.0, 0.005)]);
        assert_eq!(cumulative(&[]), []);
    }

    #[test]
    fn many_buckets_are_thinned_and_the_last_one_stays() {
        let buckets: Vec<Value> = (1..=10_000).map(|us| json!([f64::from(us), 1])).collect();
        let points = cumulative(&buckets);
        let thinned = POINTS_MAX * 9 / 10..=POINTS_MAX * 3 / 2;
        assert!(thinned.contains(&points.len()), "{}", points.len());
        assert_eq!(points.last(), Some(&(10_000.0, 0.000_05)));
    }

    #[test]
    fn only_what_was_measured_is_drawn() {
        let result = json!({
            "time_us": {"total": 3e6, "host": 2e6, "gc": 1e6, "merge": 0.0},
            "histograms": {"service_us": {"write": [[225.0, 10]], "read": []}},
            "service_us": {"write": {"mean": 225.0}},
            "series": null, "merges": null, "wear": {},
        });
        let figures = figures(&[Run { label: "page", result: &result }]);
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["time-by-cause", "service-write"]);
        let values = figures[0].spec["data"]["values"].as_array().unwrap();
        let causes: Vec<_> = values.iter().map(|value| value["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["host pages", "garbage collection"]);
        let table = figures[0].table.as_ref().unwrap();
        assert_eq!(table.rows, [["page", "3", "2", "1"]]);
    }
}
