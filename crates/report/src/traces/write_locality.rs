//! Where writes go, and how often pages are written.

use serde_json::json;
use trace::analysis::locality::{Frequency, TOP_PERCENTS};

use super::labelled_trace::{LabelledTrace, head, panels, percent, row, trace_colour};
use crate::figure::{DataTable, Figure, POINTS_MAX, spec};
use crate::number_format::number;

/// The address of each write over its number (FSTR Fig. 2a).
pub fn access_pattern(traces: &[LabelledTrace]) -> Option<Figure> {
    let end = traces.iter().map(|traced| traced.found.survey.end_bytes()).max()?;
    let (unit, unit_bytes) = if end < 4 << 30 { ("MiB", 1 << 20) } else { ("GiB", 1 << 30) };
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for traced in traces {
        let places = &traced.found.locality.write_starts;
        values.extend(places.kept().iter().map(|(number, place)| {
            let address = place.offset as f64 / f64::from(unit_bytes);
            json!({
                "trace": traced.label, "write": number, "address": address,
                "device": place.device,
            })
        }));
        let survey = &traced.found.survey;
        let figures = [
            places.seen() as f64,
            places.kept().len() as f64,
            survey.end_bytes() as f64 / f64::from(unit_bytes),
            survey.devices.len() as f64,
        ];
        rows.push(row(traced, figures.map(number)));
    }
    let encoding = json!({
        "x": {"field": "write", "type": "quantitative", "title": "write request",
              "axis": {"format": "~s"}},
        "y": {"field": "address", "type": "quantitative", "title": format!("address ({unit})")},
    });
    let mark = json!({"type": "circle", "size": 8, "opacity": 0.9, "tooltip": true});
    let end = format!("end of addresses, {unit}");
    (!values.is_empty()).then(|| Figure {
        id: "access-pattern".into(),
        title: "Where writes go".into(),
        caption: "The address at which each write begins, in the order of the writes. A long \
                  trace is sampled: one write is drawn at random from each stretch. The devices \
                  of a trace are drawn over each other."
            .into(),
        spec: spec(values, panels(traces, mark, encoding, &["x", "y"])),
        table: Some(DataTable::new(head(&["trace", "writes", "drawn", &end, "devices"]), rows)),
    })
}

/// The number of writes of each page, from the most to the least written (FSTR Fig. 2b).
pub fn update_frequency(traces: &[LabelledTrace]) -> Option<Figure> {
    let mut values = Vec::new();
    for traced in traces {
        let points = ranked(&traced.found.locality.frequencies);
        values.extend(points.into_iter().map(
            |(share, writes)| json!({"trace": traced.label, "pages": share, "writes": writes}),
        ));
    }
    let parts = json!({
        "mark": {"type": "line", "interpolate": "step-before", "tooltip": true},
        "height": 280,
        "encoding": {
            "x": {"field": "pages", "type": "quantitative", "axis": {"format": "%"},
                  "scale": {"domain": [0, 1]},
                  "title": "share of the written pages, from the most to the least written"},
            "y": {"field": "writes", "type": "quantitative", "scale": {"type": "log"},
                  "title": "writes per page"},
            "color": trace_colour(traces),
        },
    });
    let cells = |traced: &LabelledTrace| {
        let found = &traced.found.locality;
        let counts = [found.page_writes, found.pages_written].map(|count| number(count as f64));
        let shares = found.top_shares.iter().map(|&share| percent(share));
        row(traced, counts.into_iter().chain(shares))
    };
    let mut head = head(&["trace", "page writes", "pages written"]);
    head.extend(TOP_PERCENTS.iter().map(|top| format!("to top {top} %")));
    (!values.is_empty()).then(|| Figure {
        id: "update-frequency".into(),
        title: "How often pages are written".into(),
        caption: "Pages sorted by the number of their writes. The table gives the share of all \
                  page writes that go to the most written pages."
            .into(),
        spec: spec(values, parts),
        table: Some(DataTable::new(head, traces.iter().map(cells).collect())),
    })
}

/// For each number of writes, the share of pages with at least as many. Points that could not be
/// told apart are left out.
fn ranked(frequencies: &[Frequency]) -> Vec<(f64, u64)> {
    let all: u64 = frequencies.iter().map(|frequency| frequency.pages).sum();
    let Some(most) = frequencies.first() else { return Vec::new() };
    let (mut points, mut pages) = (vec![(0.0, most.writes)], 0);
    for frequency in frequencies {
        pages += frequency.pages;
        let share = pages as f64 / all as f64;
        let (drawn, writes) = points[points.len() - 1];
        let advances = share - drawn >= 1.0 / POINTS_MAX as f64;
        let falls = frequency.writes as f64 <= 0.95 * writes as f64;
        if advances || falls || pages == all {
            points.push((share, frequency.writes));
        }
    }
    points
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_ranked_from_the_most_written_and_thinned() {
        let of = |writes, pages| Frequency { writes, pages };
        let found = ranked(&[of(100, 1), of(99, 1), of(50, 1), of(1, 997)]);
        assert_eq!(found, [(0.0, 100), (0.003, 50), (1.0, 1)]);
        let many: Vec<Frequency> = (1..100_000).rev().map(|writes| of(writes, 1)).collect();
        assert!(ranked(&many).len() <= 2 * POINTS_MAX);
        assert_eq!(ranked(&[]), []);
    }
}
