//! After how many other writes pages are written again.

use serde_json::{Value, json};
use trace::analysis::locality::Distribution;

use super::labelled_trace::{LabelledTrace, labels, row, views};
use crate::curves::panels;
use crate::figure::{DataTable, Figure, axis, logarithmic_axis, share_axis, spec};
use crate::number_format::number;

/// The distribution of write intervals: the number of page writes between two writes of a page
/// (FSTR Fig. 2c).
pub fn write_intervals(traces: &[LabelledTrace]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for traced in traces {
        let found = &traced.found.locality;
        let kinds = [(&found.intervals.page_means, MEAN), (&found.intervals.all, EACH)];
        for (distribution, kind) in kinds {
            values.extend(distribution.cumulative().map(|(below, share)| {
                json!({"trace": traced.label, "interval": below, "share": share, "of": kind})
            }));
            let quantile = |percent: &u32| below(distribution, f64::from(*percent) / 100.0);
            let cells = [kind.to_owned()].into_iter().chain(QUANTILES.iter().map(quantile));
            rows.push(row(traced, cells));
        }
    }
    let view = json!({
        "mark": {"type": "line", "point": {"size": 14}, "tooltip": true},
        "height": 280,
        "encoding": {
            "x": logarithmic_axis(
                "interval", "fewer than this many writes to other pages in between",
            ),
            "y": share_axis("share", "share of writes"),
            "strokeDash": {"field": "of", "type": "nominal", "title": null, "sort": [MEAN, EACH],
                           "legend": {"symbolType": "stroke", "symbolSize": 300}},
        },
    });
    let mut head = ["trace", "interval"].map(str::to_owned).to_vec();
    head.extend(QUANTILES.iter().map(|percent| format!("{percent} % below")));
    (!values.is_empty()).then(|| Figure {
        id: "write-intervals".into(),
        title: "Write intervals".into(),
        caption: "Cumulative distribution of write intervals, in classes of powers of two. The \
                  interval is the number of writes to other pages between two writes of a page. \
                  One curve counts each rewrite with its own interval. The other counts each \
                  write of a rewritten page with the mean interval of that page."
            .into(),
        spec: spec(values, views("trace", &labels(traces), view, &[])),
        table: Some(DataTable { text_columns: 2, ..DataTable::new(head, rows) }),
    })
}

const MEAN: &str = "mean of the page";
const EACH: &str = "each rewrite";
const QUANTILES: [u32; 6] = [10, 25, 50, 75, 90, 99];

/// The smallest power of two that this part of the distribution lies below.
fn below(distribution: &Distribution, part: f64) -> String {
    let found = distribution.cumulative().find(|&(_, share)| share >= part);
    found.map_or("–".into(), |(below, _)| number(below as f64))
}

/// The write intervals of three single pages (FSTR Fig. 3).
pub fn hot_warm_cold(traces: &[LabelledTrace]) -> Option<Figure> {
    let (mut values, mut rows, mut longest) = (Vec::new(), Vec::new(), 1);
    let mut order = Vec::new();
    for traced in traces {
        for page in &traced.found.page_intervals {
            let (heat, of) = (page.example.heat.word(), &page.example);
            let panel = match traces.len() {
                1 => heat.to_owned(),
                _ => format!("{}: {heat}", traced.label),
            };
            for &(number, interval) in page.intervals.kept() {
                longest = longest.max(interval);
                // A logarithmic axis has no zero.
                let drawn = (interval as f64).max(ZERO);
                values.push(json!({
                    "panel": panel, "write": number + 2, "interval": interval, "drawn": drawn,
                }));
            }
            order.push(panel);
            let figures = [of.writes as f64, of.mean_interval()].map(number);
            let page = [heat.to_owned(), number(of.page as f64)];
            rows.push(row(traced, page.into_iter().chain(figures)));
        }
    }
    let head = ["trace", "page", "number", "writes", "mean interval"];
    (!values.is_empty()).then(|| Figure {
        id: "hot-warm-and-cold-pages".into(),
        title: "A hot, a warm and a cold page".into(),
        caption: "The number of writes to other pages between two writes of a page, for three \
                  pages that are written at least three times. The hot page is written most \
                  often, the cold one least often; the warm page is written as often as the page \
                  that receives the median write. Many writes are sampled: one is drawn at \
                  random from each stretch."
            .into(),
        spec: spec(values, page_panels(&order, longest)),
        table: Some(DataTable { text_columns: 2, ..DataTable::new(head, rows) }),
    })
}

/// One panel per page, three side by side, with one scale for all intervals.
fn page_panels(order: &[String], longest: u64) -> Value {
    let decades = (0..20).map(|power| 10_u64.pow(power));
    let decades = decades.take_while(|&decade| decade <= longest);
    let ticks: Vec<f64> = [ZERO].into_iter().chain(decades.map(|decade| decade as f64)).collect();
    let mut x = axis("write", "write of the page (number)");
    x["axis"] = json!({"tickMinStep": 1, "tickCount": 4});
    let view = json!({
        "mark": {"type": "line", "strokeWidth": 1, "point": {"size": 10}, "tooltip": true},
        "encoding": {
            "x": x,
            "y": {"field": "drawn", "type": "quantitative",
                  "title": "write interval (writes to other pages)",
                  "scale": {"type": "log", "domain": [ZERO, longest]},
                  "axis": {"values": ticks, "labelExpr": ZERO_LABEL}},
        },
    });
    let mut parts = panels("panel", order, view);
    parts["resolve"]["scale"] = json!({"x": "independent"});
    parts["spec"]["height"] = 180.into();
    parts
}

/// The place of the interval zero on a logarithmic axis.
const ZERO: f64 = 0.5;
const ZERO_LABEL: &str = "datum.value < 1 ? '0' : format(datum.value, ',')";
