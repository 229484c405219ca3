//! Sizes of requests, and how updates and partial writes depend on sizes.

use std::collections::BTreeSet;

use serde_json::json;
use trace::analysis::locality::PAGE_SIZES;
use trace::analysis::survey::RequestSizes;

use super::labelled_trace::{LabelledTrace, labels, op_panel, percent, row, views};
use crate::curves::drawn;
use crate::figure::{DataTable, Figure, axis_from_zero, logarithmic_axis, share_axis, spec};
use crate::number_format::number;

/// The mean number of earlier writes of the pages written, by request size (LAST Fig. 5a).
pub fn updates_by_size(traces: &[LabelledTrace]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for traced in traces {
        for class in &traced.found.locality.updates {
            let pages = class.page_writes as f64;
            let mean = class.earlier_writes as f64 / pages;
            values.push(json!({
                "trace": traced.label, "sectors": class.sectors_max, "updates": mean,
                "requests": class.requests,
            }));
            let counts = [class.sectors_max as f64, class.requests as f64, pages];
            let shares = [percent(class.rewrites as f64 / pages), number(mean)];
            rows.push(row(traced, counts.map(number).into_iter().chain(shares)));
        }
    }
    let mut x = logarithmic_axis("sectors", "largest request size of the class (sectors)");
    x["scale"]["base"] = 2.into();
    x["axis"] = json!({"format": ",d"});
    let view = json!({
        "mark": {"type": "line", "point": true, "tooltip": true},
        "height": 260,
        "encoding": {
            "x": x, "y": axis_from_zero("updates", "earlier writes of a page (mean number)"),
        },
    });
    let head = ["trace", "sectors up to", "requests", "pages", "rewritten", "earlier writes"];
    (!values.is_empty()).then(|| Figure {
        id: "updates-by-request-size".into(),
        title: "Updates by request size".into(),
        caption: "How often the pages that a request writes were written before, on average, by \
                  the size of the request."
            .into(),
        spec: spec(values, drawn("trace", &labels(traces), view)),
        table: Some(DataTable::new(head, rows)),
    })
}

/// The share of page writes that cover part of a page, by page size (SL Fig. 2 without a buffer).
/// `None` if all writes cover whole pages of every size.
pub fn sub_page_writes(traces: &[LabelledTrace]) -> Option<Figure> {
    let is_partial = |traced: &LabelledTrace| {
        traced.found.locality.sub_page_shares.iter().any(|share| *share > 0.0)
    };
    if !traces.iter().any(is_partial) {
        return None;
    }
    let mut values = Vec::new();
    for traced in traces.iter().filter(|traced| traced.found.locality.page_writes > 0) {
        let shares = PAGE_SIZES.iter().zip(&traced.found.locality.sub_page_shares);
        values.extend(shares.map(
            |(bytes, share)| json!({"trace": traced.label, "page": bytes / 1024, "share": share}),
        ));
    }
    let view = json!({
        "mark": {"type": "line", "point": true, "tooltip": true},
        "height": 260,
        "encoding": {
            "x": {"field": "page", "type": "quantitative", "scale": {"type": "log", "base": 2},
                  "axis": {"values": PAGE_SIZES.map(|bytes| bytes / 1024)},
                  "title": "page size (KiB)"},
            "y": share_axis("share", "share of partial page writes"),
        },
    });
    let cells = |traced: &LabelledTrace| {
        let shares = &traced.found.locality.sub_page_shares;
        row(traced, shares.iter().map(|&share| percent(share)))
    };
    let sizes = PAGE_SIZES.iter().map(|bytes| format!("{} KiB", bytes / 1024));
    let head = ["trace".to_owned()].into_iter().chain(sizes);
    (!values.is_empty()).then(|| Figure {
        id: "sub-page-writes".into(),
        title: "Writes smaller than a page".into(),
        caption: "Share of page writes that cover only part of their page, by page size, without \
                  a write buffer."
            .into(),
        spec: spec(values, drawn("trace", &labels(traces), view)),
        table: Some(DataTable::new(head, traces.iter().map(cells))),
    })
}

/// The sizes of reads and writes.
pub fn request_sizes(traces: &[LabelledTrace]) -> Option<Figure> {
    let (mut values, mut rows, mut panels) = (Vec::new(), Vec::new(), Vec::new());
    let mut sizes_seen = BTreeSet::new();
    for traced in traces {
        let survey = &traced.found.survey;
        for (op, sizes) in [("reads", &survey.reads), ("writes", &survey.writes)] {
            if sizes.requests() == 0 {
                continue;
            }
            let panel = op_panel(traces, traced, op);
            sizes_seen.extend(sizes.buckets().iter().map(|bucket| bucket.first));
            values.extend(sizes.buckets().iter().map(|bucket| {
                json!({
                    "panel": panel, "sectors": bucket.label(), "order": bucket.first,
                    "requests": bucket.requests,
                    "share": bucket.requests as f64 / sizes.requests() as f64,
                })
            }));
            panels.push(panel);
            rows.push(row(traced, [op.to_owned()].into_iter().chain(size_figures(sizes))));
        }
    }
    // A few bars alone must not become as wide as the page.
    let padding = BARS_MIN.saturating_sub(sizes_seen.len()) as f64 / 2.0;
    let view = json!({
        "mark": {"type": "bar", "tooltip": true},
        "height": 200,
        "encoding": {
            "x": {"field": "sectors", "type": "nominal", "sort": {"field": "order", "op": "min"},
                  "axis": {"labelAngle": -90, "labelOverlap": true},
                  "scale": {"paddingOuter": padding.max(0.2)}, "title": "request size (sectors)"},
            "y": share_axis("share", "share of requests"),
        },
    });
    let head = ["trace", "op", "requests", "mean sectors", "median", "below 8", "MiB"];
    (!values.is_empty()).then(|| Figure {
        id: "request-sizes".into(),
        title: "Sizes of requests".into(),
        caption: "Share of reads and share of writes by size. Sizes up to 8 sectors of 512 bytes \
                  are shown one by one, larger ones as powers of two and the ranges between them."
            .into(),
        spec: spec(values, views("panel", &panels, view, &[])),
        table: Some(DataTable { text_columns: 2, ..DataTable::new(head, rows) }),
    })
}

/// The axis has room for at least this many bars.
const BARS_MIN: usize = 12;

fn size_figures(sizes: &RequestSizes) -> [String; 5] {
    [
        number(sizes.requests() as f64),
        number(sizes.mean_sectors()),
        number(sizes.median_sectors()),
        percent(sizes.below_sectors(8) as f64 / sizes.requests() as f64),
        number(sizes.bytes() as f64 / 1_048_576.0),
    ]
}
