//! Where reads and writes go, and how often pages are written.

use serde_json::json;
use trace::analysis::density::Density;
use trace::analysis::locality::{Frequency, TOP_PERCENTS};

use super::labelled_trace::{LabelledTrace, labels, percent, row, views};
use crate::curves::drawn;
use crate::figure::{DataTable, Figure, POINTS_MAX, axis, logarithmic_axis, share_axis, spec};
use crate::number_format::number;

/// The address of each write over its number (FSTR Fig. 2a).
pub fn access_pattern(traces: &[LabelledTrace]) -> Option<Figure> {
    let figure = places(traces, "write", |traced| &traced.found.locality.writes.starts)?;
    Some(Figure { id: "access-pattern".into(), title: "Where writes go".into(), ..figure })
}

/// The address of each read over its number.
pub fn read_pattern(traces: &[LabelledTrace]) -> Option<Figure> {
    let figure = places(traces, "read", |traced| &traced.found.locality.reads.starts)?;
    Some(Figure { id: "read-pattern".into(), title: "Where reads go".into(), ..figure })
}

/// How densely the requests of a trace lie.
type Places = for<'a> fn(&LabelledTrace<'a>) -> &'a Density;

fn places(traces: &[LabelledTrace], op: &str, of: Places) -> Option<Figure> {
    let end = traces.iter().map(|traced| traced.found.survey.end_bytes()).max()?;
    let (unit, unit_bytes) = if end < 4 << 30 { ("MiB", 1 << 20) } else { ("GiB", 1 << 30) };
    let in_units = |bytes: u64| bytes as f64 / f64::from(unit_bytes);
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for traced in traces {
        let (places, end) = (of(traced), traced.found.survey.end_bytes());
        values.extend(places.cells().iter().map(|cell| {
            let [from, until] = cell.numbers.map(|number| number.min(places.seen()));
            let [low, high] = cell.bytes.map(|byte| in_units(byte.min(end)));
            json!({"trace": traced.label, "from": from, "until": until, "low": low, "high": high,
                   "requests": cell.requests})
        }));
        let devices = traced.found.survey.devices.len();
        rows.push(row(traced, [places.seen() as f64, in_units(end), devices as f64].map(number)));
    }
    let view = json!({
        "mark": {"type": "rect", "tooltip": true},
        "height": 300,
        "encoding": {
            "x": axis("from", &format!("{op} request (number)")), "x2": {"field": "until"},
            "y": axis("low", &format!("address ({unit})")), "y2": {"field": "high"},
            "color": {"field": "requests", "type": "quantitative", "title": format!("{op}s"),
                      "scale": {"type": "log", "scheme": "viridis"}},
        },
    });
    let end = format!("end of addresses, {unit}");
    (!values.is_empty()).then(|| Figure {
        caption: format!(
            "All {op}s by their number and the address at which they begin. The colour is the \
             number of {op}s in a cell; a cell without any has none. The devices of a trace are \
             drawn over each other."
        ),
        spec: spec(values, views("trace", &labels(traces), view, &["x", "y"])),
        table: Some(DataTable::new(["trace", &format!("{op}s"), &end, "devices"], rows)),
        ..Figure::default()
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
    let view = json!({
        "mark": {"type": "line", "interpolate": "step-before", "tooltip": true},
        "height": 280,
        "encoding": {
            "x": share_axis(
                "pages", "share of the written pages, from the most to the least written",
            ),
            "y": logarithmic_axis("writes", "writes per page"),
        },
    });
    let cells = |traced: &LabelledTrace| {
        let found = &traced.found.locality;
        let counts = [found.page_writes, found.pages_written].map(|count| number(count as f64));
        let shares = found.top_shares.iter().map(|&share| percent(share));
        row(traced, counts.into_iter().chain(shares))
    };
    let mut head = ["trace", "page writes", "pages written"].map(str::to_owned).to_vec();
    head.extend(TOP_PERCENTS.iter().map(|top| format!("to top {top}\u{a0}%")));
    (!values.is_empty()).then(|| Figure {
        id: "update-frequency".into(),
        title: "How often pages are written".into(),
        caption: "Pages sorted by the number of their writes. The table gives the share of all \
                  page writes that go to the most written pages."
            .into(),
        spec: spec(values, drawn("trace", &labels(traces), view)),
        table: Some(DataTable::new(head, traces.iter().map(cells))),
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
