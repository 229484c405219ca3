//! The load of traces over time: requests and bytes per second.

use serde_json::json;
use trace::analysis::load::{Load, OpLoad, StretchLoad};

use super::labelled_trace::{LabelledTrace, op_panel, row, views};
use crate::curves::drawn;
use crate::figure::{DataTable, Figure, axis, axis_from_zero, spec};
use crate::number_format::number;

/// What is drawn over time.
struct Rate {
    title: &'static str,
    /// Label of the vertical axis.
    label: &'static str,
    unit: &'static str,
    of: fn(OpLoad) -> f64,
}

/// Reads and writes per second over time; `None` for traces without times.
pub fn request_rate(traces: &[LabelledTrace]) -> Option<Figure> {
    let rate = Rate {
        title: "IOPS over time",
        label: "requests per second (IOPS)",
        unit: "IOPS",
        of: |load| load.requests as f64,
    };
    over_time(traces, &rate).map(|figure| Figure { id: "iops-over-time".into(), ..figure })
}

/// Bytes read and written per second over time; `None` for traces without times.
pub fn byte_rate(traces: &[LabelledTrace]) -> Option<Figure> {
    let rate = Rate {
        title: "Throughput over time",
        label: "throughput (MB/s)",
        unit: "MB/s",
        of: |load| load.bytes as f64 / 1e6,
    };
    over_time(traces, &rate).map(|figure| Figure { id: "throughput-over-time".into(), ..figure })
}

/// The reads or the writes of a stretch.
type OfOp = fn(&StretchLoad) -> OpLoad;
const OPS: [(&str, OfOp); 2] =
    [("reads", |stretch| stretch.reads), ("writes", |stretch| stretch.writes)];

fn over_time(traces: &[LabelledTrace], rate: &Rate) -> Option<Figure> {
    let longest = traces.iter().map(|traced| traced.found.survey.span_ns).max()?;
    let (unit, unit_ns) = time_unit(longest);
    let (mut values, mut rows, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    for traced in traces.iter().filter(|traced| traced.found.survey.span_ns > 0) {
        let load = &traced.found.load;
        for (op, of) in OPS {
            let rates = rates(load, traced.found.survey.span_ns, |stretch| (rate.of)(of(stretch)));
            if rates.iter().all(|(_, rate)| *rate == 0.0) {
                continue;
            }
            let panel = op_panel(traces, traced, op);
            values.extend(rates.iter().map(|(from_ns, rate)| {
                json!({"panel": panel, "time": *from_ns as f64 / unit_ns, "rate": rate})
            }));
            panels.push(panel);
            rows.push(row(traced, [op.to_owned()].into_iter().chain(summary(traced, rate, of))));
        }
    }
    let view = json!({
        "mark": {"type": "line", "interpolate": "step-after", "strokeWidth": 1.2, "tooltip": true},
        "height": 200,
        "encoding": {
            "x": axis("time", &format!("time ({unit})")),
            "y": axis_from_zero("rate", rate.label),
        },
    });
    let head = ["trace", "op", "mean", "busiest stretch", "unit"];
    let stretches = traces.iter().map(|traced| traced.found.load.stretch_ns);
    let caption = format!(
        "Each step is the mean of a stretch of {}. The mean in the table is that of the whole \
         trace.",
        stretches.max().map_or(String::new(), duration),
    );
    (!values.is_empty()).then(|| Figure {
        title: rate.title.into(),
        caption,
        spec: spec(
            values,
            match traces {
                [_] => drawn("panel", &panels, view),
                _ => views("panel", &panels, view, &["x"]),
            },
        ),
        table: Some(DataTable { text_columns: 2, ..DataTable::new(head, rows) }),
        ..Figure::default()
    })
}

/// The beginning of each stretch and its rate per second, and the end of the trace. A last stretch
/// of which less than half lies in the trace would tell too little: it is a part of the one before.
fn rates(load: &Load, span_ns: u64, of: impl Fn(&StretchLoad) -> f64) -> Vec<(u64, f64)> {
    let mut steps: Vec<(u64, f64)> =
        (0..).zip(&load.stretches).map(|(at, it)| (at * load.stretch_ns, of(it))).collect();
    if let [.., before, last] = &mut steps[..]
        && span_ns.saturating_sub(last.0) < load.stretch_ns / 2
    {
        before.1 += last.1;
        steps.pop();
    }
    let ends: Vec<u64> = steps.iter().skip(1).map(|step| step.0).chain([span_ns]).collect();
    for (step, end_ns) in steps.iter_mut().zip(ends) {
        step.1 *= 1e9 / end_ns.saturating_sub(step.0).max(1) as f64;
    }
    let last = steps.last().map(|&(_, rate)| (span_ns, rate));
    steps.into_iter().chain(last).collect()
}

fn summary(traced: &LabelledTrace, rate: &Rate, of: OfOp) -> [String; 3] {
    let (load, span_ns) = (&traced.found.load, traced.found.survey.span_ns);
    let all: f64 = load.stretches.iter().map(|stretch| (rate.of)(of(stretch))).sum();
    let rates = rates(load, span_ns, |stretch| (rate.of)(of(stretch)));
    let busiest = rates.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    [number(all * 1e9 / span_ns as f64), number(busiest), rate.unit.to_owned()]
}

/// The unit of a time axis of this length, and its nanoseconds.
fn time_unit(longest_ns: u64) -> (&'static str, f64) {
    let units =
        [("µs", 1e3), ("ms", 1e6), ("s", 1e9), ("min", 60e9), ("h", 3600e9), ("d", 86_400e9)];
    let fits = |unit: &&(&str, f64)| longest_ns as f64 >= unit.1;
    units.iter().rev().find(fits).copied().unwrap_or(units[0])
}

/// A duration in a unit that suits it.
pub fn duration(ns: u64) -> String {
    let (unit, unit_ns) = time_unit(ns);
    format!("{} {unit}", number(ns as f64 / unit_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_stretch_ends_with_the_trace() {
        let one = StretchLoad { reads: OpLoad { requests: 2, bytes: 0 }, ..StretchLoad::default() };
        let load = Load { stretch_ns: 1_000_000_000, stretches: vec![one, one] };
        let found = |span_ns| rates(&load, span_ns, |stretch| stretch.reads.requests as f64);
        assert_eq!(found(1_500_000_000), [(0, 2.0), (1_000_000_000, 4.0), (1_500_000_000, 4.0)]);
        assert_eq!(found(1_250_000_000), [(0, 3.2), (1_250_000_000, 3.2)], "too short alone");
    }

    #[test]
    fn times_have_a_unit_that_suits_them() {
        let shown = [0, 20_000, 2_000_000_000, 60_000_000_000, 86_400_000_000_000].map(duration);
        assert_eq!(shown, ["0 µs", "20 µs", "2 s", "1 min", "1 d"]);
    }
}
