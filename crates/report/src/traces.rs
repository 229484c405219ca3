//! Figures of traces side by side: where their writes go and come back to, and how large their
//! requests are.
//!
//! A trace is given as what was counted of it ([`mod@trace::analysis::survey`],
//! [`trace::analysis::locality`], [`trace::analysis::example_pages`]), so that a page about one
//! trace and a plan over many draw the same.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sim::input::trace_stats::TraceStats;
use sim::plan::drawing::TracePortrait;
use trace::analysis::locality::{Distribution, Frequency, PAGE_SIZES, TOP_PERCENTS};
use trace::analysis::survey::RequestSizes;

use crate::figure::{Figure, Table, legend, spec};
use crate::words::number;

/// A trace and what it is called in the figures.
#[derive(Clone, Copy, Debug)]
pub struct Traced<'a> {
    /// Its name.
    pub label: &'a str,
    /// What was counted of it.
    pub found: &'a TraceStats,
}

/// The points of a curve that a page needs: more cannot be told apart.
const POINTS_MAX: usize = 400;

/// All figures that these traces have something for, in the order of a report.
pub fn figures(traces: &[Traced]) -> Vec<Figure> {
    TracePortrait::ALL.iter().filter_map(|&of| portrait(of, traces)).collect()
}

/// One figure of these traces; none if they have nothing for it.
pub fn portrait(of: TracePortrait, traces: &[Traced]) -> Option<Figure> {
    let mut figure = match of {
        TracePortrait::AccessPattern => access_pattern(traces),
        TracePortrait::UpdateFrequency => update_frequency(traces),
        TracePortrait::WriteIntervals => write_intervals(traces),
        TracePortrait::HotWarmCold => hot_warm_cold(traces),
        TracePortrait::UpdatesBySize => updates_by_size(traces),
        TracePortrait::SubPageWrites => sub_page_writes(traces),
        TracePortrait::RequestSizes => request_sizes(traces),
    }?;
    figure.caption += &format!(" {}", provenance(traces));
    Some(figure)
}

/// What a caption says of where the numbers come from.
fn provenance(traces: &[Traced]) -> String {
    let one = |traced: &Traced| {
        let survey = &traced.found.survey;
        format!(
            "{}: {} requests, {} of them writes, in pages of {} bytes",
            traced.label,
            number(survey.requests as f64),
            number(survey.writes.requests() as f64),
            survey.page_bytes,
        )
    };
    let all: Vec<String> = traces.iter().map(one).collect();
    format!("Of {}.", all.join("; "))
}

fn labels(traces: &[Traced]) -> Vec<String> {
    traces.iter().map(|traced| traced.label.to_owned()).collect()
}

/// Colour by trace, in the order of the traces; one needs no legend.
fn trace_colour(traces: &[Traced]) -> Value {
    let labels = labels(traces);
    let legend = if traces.len() == 1 { Value::Null } else { legend(&labels) };
    json!({"field": "trace", "type": "nominal", "title": null, "sort": labels, "legend": legend})
}

/// One view as wide as the page for one trace, a panel each for several; their `independent`
/// scales are their own.
fn panels(traces: &[Traced], mark: Value, encoding: Value, independent: &[&str]) -> Value {
    let resolve: Value =
        independent.iter().map(|scale| ((*scale).to_owned(), json!("independent"))).collect();
    match traces.len() {
        1 => json!({"height": 300, "mark": mark, "encoding": encoding}),
        _ => json!({
            "facet": {"field": "trace", "type": "nominal", "title": null, "sort": labels(traces)},
            "columns": 2,
            "spec": {"width": 370, "height": 220, "mark": mark, "encoding": encoding},
            "resolve": {"scale": resolve},
        }),
    }
}

fn head(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

fn percent(share: f64) -> String {
    format!("{:.1} %", 100.0 * share)
}

/// A row of cells behind the name of a trace.
fn row(traced: &Traced, cells: impl IntoIterator<Item = String>) -> Vec<String> {
    [traced.label.to_owned()].into_iter().chain(cells).collect()
}

// ---- Where writes go ----------------------------------------------------------------------------

/// Writes by their number and their address (FSTR Fig. 2a).
fn access_pattern(traces: &[Traced]) -> Option<Figure> {
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
    let end = format!("addresses end at, {unit}");
    (!values.is_empty()).then(|| Figure {
        id: "access-pattern".into(),
        title: "Where writes go".into(),
        caption: "Writes in the order in which they come, by the address where each begins; of \
                  long traces one write of each stretch, drawn by lot. Several devices of a trace \
                  lie over each other."
            .into(),
        spec: spec(values, panels(traces, mark, encoding, &["x", "y"])),
        table: Some(Table::new(head(&["trace", "writes", "drawn", &end, "devices"]), rows)),
    })
}

/// Pages from the most to the least written, and how often each is (FSTR Fig. 2b).
fn update_frequency(traces: &[Traced]) -> Option<Figure> {
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
                  "title": "pages written, from the most to the least written"},
            "y": {"field": "writes", "type": "quantitative", "scale": {"type": "log"},
                  "title": "writes of the page"},
            "color": trace_colour(traces),
        },
    });
    let cells = |traced: &Traced| {
        let found = &traced.found.locality;
        let counts = [found.page_writes, found.pages_written].map(|count| number(count as f64));
        let shares = found.top_shares.iter().map(|&share| percent(share));
        row(traced, counts.into_iter().chain(shares))
    };
    let mut head = head(&["trace", "page writes", "pages written"]);
    head.extend(TOP_PERCENTS.iter().map(|top| format!("to {top} %")));
    (!values.is_empty()).then(|| Figure {
        id: "update-frequency".into(),
        title: "How often pages are written".into(),
        caption: "Pages in the order of how often they are written; the table has the share of \
                  all page writes that go to the most written ones."
            .into(),
        spec: spec(values, parts),
        table: Some(Table::new(head, traces.iter().map(cells).collect())),
    })
}

/// The share of pages written at least so often, beside how often; thinned to what can be told
/// apart.
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

// ---- When writes come back ----------------------------------------------------------------------

/// How many page writes lie between the writes of a page (FSTR Fig. 2c).
fn write_intervals(traces: &[Traced]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    for traced in traces {
        let found = &traced.found.locality;
        let kinds = [(&found.mean_intervals, MEAN), (&found.intervals, EACH)];
        for (distribution, kind) in kinds {
            values.extend(distribution.cumulative().map(|(below, share)| {
                json!({"trace": traced.label, "interval": below, "share": share, "of": kind})
            }));
            let quantile = |percent: &u32| below(distribution, f64::from(*percent) / 100.0);
            let cells = [kind.to_owned()].into_iter().chain(QUANTILES.iter().map(quantile));
            rows.push(row(traced, cells));
        }
    }
    let parts = json!({
        "mark": {"type": "line", "point": {"size": 14}, "tooltip": true},
        "height": 280,
        "encoding": {
            "x": {"field": "interval", "type": "quantitative", "scale": {"type": "log"},
                  "axis": {"format": "~s"},
                  "title": "page writes to other pages in between, fewer than"},
            "y": {"field": "share", "type": "quantitative", "axis": {"format": "%"},
                  "title": "share of writes"},
            "color": trace_colour(traces),
            "strokeDash": {"field": "of", "type": "nominal", "title": null, "sort": [MEAN, EACH],
                           "legend": {"symbolType": "stroke", "symbolSize": 300}},
        },
    });
    let mut head = head(&["trace", "interval"]);
    head.extend(QUANTILES.iter().map(|percent| format!("{percent} % below")));
    (!values.is_empty()).then(|| Figure {
        id: "write-intervals".into(),
        title: "After how long pages are written again".into(),
        caption: "Write intervals, cumulative: how many page writes go to other pages between two \
                  writes of a page; counted to powers of two. The mean of its page stands for each \
                  write to a page that is written more than once, each rewrite for itself."
            .into(),
        spec: spec(values, parts),
        table: Some(Table { words: 2, ..Table::new(head, rows) }),
    })
}

const MEAN: &str = "mean of its page";
const EACH: &str = "each rewrite";
const QUANTILES: [u32; 6] = [10, 25, 50, 75, 90, 99];

/// The least power of two below which so much lies.
fn below(distribution: &Distribution, part: f64) -> String {
    let found = distribution.cumulative().find(|&(_, share)| share >= part);
    found.map_or("–".into(), |(below, _)| number(below as f64))
}

/// The intervals between the writes of single pages (FSTR Fig. 3).
fn hot_warm_cold(traces: &[Traced]) -> Option<Figure> {
    let (mut values, mut rows, mut longest) = (Vec::new(), Vec::new(), 1);
    let mut order = Vec::new();
    for traced in traces {
        for course in &traced.found.page_intervals {
            let (heat, of) = (course.example.heat.word(), &course.example);
            let panel = match traces.len() {
                1 => heat.to_owned(),
                _ => format!("{heat}\n{}", traced.label),
            };
            for &(number, interval) in course.intervals.kept() {
                longest = longest.max(interval);
                // None at all has no place on a logarithmic axis.
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
    let head = head(&["trace", "page", "number", "writes", "mean interval"]);
    (!values.is_empty()).then(|| Figure {
        id: "hot-warm-and-cold-pages".into(),
        title: "A hot, a warm and a cold page".into(),
        caption: "Page writes to other pages between two writes of a page, for three pages of \
                  those written three times at least: one written most often, one as often as the \
                  page of the middle write, one least often. Of many writes one of each stretch, \
                  drawn by lot."
            .into(),
        spec: spec(values, course_panels(&order, longest)),
        table: Some(Table { words: 2, ..Table::new(head, rows) }),
    })
}

/// A panel a page, three side by side; all intervals on one scale.
fn course_panels(order: &[String], longest: u64) -> Value {
    let decades = (0..20).map(|power| 10_u64.pow(power));
    let decades = decades.take_while(|&decade| decade / 10 < longest);
    let ticks: Vec<f64> = [ZERO].into_iter().chain(decades.map(|decade| decade as f64)).collect();
    json!({
        "facet": {
            "field": "panel", "type": "nominal", "title": null, "sort": order,
            "header": {"labelExpr": "split(datum.label, '\\n')", "labelLimit": 230},
        },
        "columns": 3,
        "spec": {
            "width": 235, "height": 180,
            "mark": {"type": "line", "strokeWidth": 1, "point": {"size": 10}, "tooltip": true},
            "encoding": {
                "x": {"field": "write", "type": "quantitative", "title": "write of the page",
                      "scale": {"zero": false}, "axis": {"tickMinStep": 1, "tickCount": 4}},
                "y": {"field": "drawn", "type": "quantitative", "title": "write interval",
                      "scale": {"type": "log", "domain": [ZERO, ticks[ticks.len() - 1]]},
                      "axis": {"values": ticks, "labelExpr": ZERO_LABEL}},
            },
        },
        "resolve": {"scale": {"x": "independent"}},
    })
}

/// Where an interval of nothing stands on a logarithmic axis.
const ZERO: f64 = 0.5;
const ZERO_LABEL: &str = "datum.value < 1 ? '0' : format(datum.value, '~s')";

// ---- Sizes --------------------------------------------------------------------------------------

/// How often what requests of a size write had been written before (LAST Fig. 5a).
fn updates_by_size(traces: &[Traced]) -> Option<Figure> {
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
    let parts = json!({
        "mark": {"type": "line", "point": true, "tooltip": true},
        "height": 260,
        "encoding": {
            "x": {"field": "sectors", "type": "quantitative", "scale": {"type": "log", "base": 2},
                  "axis": {"format": "d"}, "title": "request size, up to (sectors)"},
            "y": {"field": "updates", "type": "quantitative",
                  "title": "earlier writes of a page written"},
            "color": trace_colour(traces),
        },
    });
    let head =
        head(&["trace", "sectors up to", "requests", "pages", "rewritten", "earlier writes"]);
    (!values.is_empty()).then(|| Figure {
        id: "updates-by-request-size".into(),
        title: "Updates by request size".into(),
        caption: "How often the pages that a request writes had been written before, on average, \
                  by the size of the request."
            .into(),
        spec: spec(values, parts),
        table: Some(Table::new(head, rows)),
    })
}

/// Page writes that cover part of their page, by the page size (SL Fig. 2 without a buffer).
fn sub_page_writes(traces: &[Traced]) -> Option<Figure> {
    let mut values = Vec::new();
    for traced in traces.iter().filter(|traced| traced.found.locality.page_writes > 0) {
        let shares = PAGE_SIZES.iter().zip(&traced.found.locality.sub_page_shares);
        values.extend(shares.map(
            |(bytes, share)| json!({"trace": traced.label, "page": bytes / 1024, "share": share}),
        ));
    }
    let parts = json!({
        "mark": {"type": "line", "point": true, "tooltip": true},
        "height": 260,
        "encoding": {
            "x": {"field": "page", "type": "quantitative", "scale": {"type": "log", "base": 2},
                  "axis": {"values": PAGE_SIZES.map(|bytes| bytes / 1024)},
                  "title": "page size (KiB)"},
            "y": {"field": "share", "type": "quantitative", "axis": {"format": "%"},
                  "scale": {"domain": [0, 1]}, "title": "page writes that cover a part"},
            "color": trace_colour(traces),
        },
    });
    let cells = |traced: &Traced| {
        let shares = &traced.found.locality.sub_page_shares;
        row(traced, shares.iter().map(|&share| percent(share)))
    };
    let mut head = head(&["trace"]);
    head.extend(PAGE_SIZES.iter().map(|bytes| format!("{} KiB", bytes / 1024)));
    (!values.is_empty()).then(|| Figure {
        id: "sub-page-writes".into(),
        title: "Writes smaller than a page".into(),
        caption: "Share of page writes that cover only a part of their page, by page size, before \
                  any buffer."
            .into(),
        spec: spec(values, parts),
        table: Some(Table::new(head, traces.iter().map(cells).collect())),
    })
}

/// How large reads and writes are.
fn request_sizes(traces: &[Traced]) -> Option<Figure> {
    let (mut values, mut rows) = (Vec::new(), Vec::new());
    let mut sizes_seen = BTreeSet::new();
    for traced in traces {
        let survey = &traced.found.survey;
        for (op, sizes) in [("reads", &survey.reads), ("writes", &survey.writes)] {
            if sizes.requests() == 0 {
                continue;
            }
            sizes_seen.extend(sizes.buckets().iter().map(|bucket| bucket.first));
            values.extend(sizes.buckets().iter().map(|bucket| {
                json!({
                    "trace": traced.label, "op": op, "sectors": bucket.label(),
                    "order": bucket.first, "requests": bucket.requests,
                    "share": bucket.requests as f64 / sizes.requests() as f64,
                })
            }));
            rows.push(row(traced, [op.to_owned()].into_iter().chain(size_figures(sizes))));
        }
    }
    // A bar or two are not as wide as the page.
    let padding = BARS_MIN.saturating_sub(sizes_seen.len()) as f64 / 2.0;
    let encoding = json!({
        "x": {"field": "sectors", "type": "nominal", "sort": {"field": "order", "op": "min"},
              "axis": {"labelAngle": -45},
              "scale": {"paddingOuter": padding.max(0.2)}, "title": "request size (sectors)"},
        "xOffset": {"field": "op"},
        "y": {"field": "share", "type": "quantitative", "axis": {"format": "%"},
              "title": "share of requests"},
        "color": {"field": "op", "type": "nominal", "title": null},
    });
    let mark = json!({"type": "bar", "tooltip": true});
    let head = head(&["trace", "op", "requests", "mean sectors", "median", "below 8", "MiB"]);
    (!values.is_empty()).then(|| Figure {
        id: "request-sizes".into(),
        title: "Sizes of requests".into(),
        caption: "Share of reads, and of writes, by size: single sizes up to 8 sectors of 512 \
                  bytes, then powers of two and what lies between."
            .into(),
        spec: spec(values, panels(traces, mark, encoding, &["x"])),
        table: Some(Table { words: 2, ..Table::new(head, rows) }),
    })
}

/// The room of so many bars is taken at least.
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

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use sim::Experiment;

    fn surveyed(trace: &str) -> TraceStats {
        let experiment = Experiment {
            trace: Some(trace.to_owned()),
            capacity_bytes: Some(16 << 20),
            ..Experiment::default()
        };
        TraceStats::of(&experiment).unwrap()
    }

    fn values(figure: &Figure) -> &Vec<Value> {
        figure.spec["data"]["values"].as_array().unwrap()
    }

    #[test]
    fn every_portrait_is_drawn_of_one_trace_and_of_several() {
        let [skew, mixed] = ["skew:writes=20K,pages=2K", "mixed:writes=3K"].map(surveyed);
        let traces = [("skew", &skew), ("mixed", &mixed)];
        let traces = traces.map(|(label, found)| Traced { label, found });
        for traces in [&traces[..1], &traces[..]] {
            let figures = figures(traces);
            assert_eq!(figures.len(), TracePortrait::ALL.len());
            for figure in &figures {
                assert!(figure.caption.contains("skew: 20\u{202f}000 requests"), "{}", figure.id);
                let table = figure.table.as_ref().unwrap();
                assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
                let named = |name: &&Traced| table.rows.iter().any(|row| row[0] == name.label);
                assert!(traces.iter().all(|traced| named(&traced)), "{}", figure.id);
                let is_bounded = values(figure).len() <= 4000 * traces.len();
                assert!(is_bounded && !values(figure).is_empty(), "{}", figure.id);
            }
        }
    }

    #[test]
    fn a_trace_without_writes_has_the_sizes_of_its_reads_and_no_more() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "0,0,4096,R,0.0\n0,64,512,R,0.5").unwrap();
        let reads = surveyed(file.path().to_str().unwrap());
        let figures = figures(&[Traced { label: "reads", found: &reads }]);
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["request-sizes"]);
        let sizes: Vec<&Value> =
            values(&figures[0]).iter().map(|value| &value["sectors"]).collect();
        assert_eq!(sizes, ["1", "8"]);
    }

    #[test]
    fn pages_are_ranked_from_the_most_written_and_thinned() {
        let of = |writes, pages| Frequency { writes, pages };
        let found = ranked(&[of(100, 1), of(99, 1), of(50, 1), of(1, 997)]);
        assert_eq!(found, [(0.0, 100), (0.003, 50), (1.0, 1)]);
        let many: Vec<Frequency> = (1..100_000).rev().map(|writes| of(writes, 1)).collect();
        assert!(ranked(&many).len() <= 2 * POINTS_MAX);
        assert_eq!(ranked(&[]), []);
    }

    #[test]
    fn the_table_has_the_shares_that_the_trace_was_made_with() {
        let skew = surveyed("skew:writes=200K,pages=2K,hot=70/30");
        let figure =
            portrait(TracePortrait::UpdateFrequency, &[Traced { label: "skew", found: &skew }]);
        let table = figure.unwrap().table.unwrap();
        let at = table.head.iter().position(|name| name == "to 30 %").unwrap();
        let share: f64 = table.rows[0][at].trim_end_matches(" %").parse().unwrap();
        assert!((69.0..71.0).contains(&share), "{share} %");
    }
}
