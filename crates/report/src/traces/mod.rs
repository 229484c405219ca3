//! Figures of one or several traces: their load over time, the places of reads and writes, the
//! intervals between two writes of a page, and the sizes of requests.
//!
//! The statistics come from [`sim::input::trace_stats`], so that a page about one trace and a plan
//! with many traces draw the same figures.

mod labelled_trace;
mod over_time;
mod request_sizes;
mod tiles;
mod write_intervals;
mod write_locality;

use sim::plan::drawing::TracePortrait;

use crate::figure::{DataTable, Figure};
use crate::html_page::Section;
use over_time::{byte_rate, request_rate};
use request_sizes::{request_sizes, sub_page_writes, updates_by_size};
use write_intervals::{hot_warm_cold, write_intervals};
use write_locality::{access_pattern, read_pattern, update_frequency};

pub use labelled_trace::LabelledTrace;
pub use tiles::tiles;

/// All figures for which the traces have data, as the sections of a report.
pub fn sections(traces: &[LabelledTrace]) -> Vec<Section> {
    use TracePortrait as Of;
    let all: [(&str, &[Of]); 4] = [
        ("Over time", &[Of::RequestRate, Of::ByteRate]),
        ("Places", &[Of::AccessPattern, Of::ReadPattern]),
        ("Rewrites", &[Of::UpdateFrequency, Of::WriteIntervals, Of::HotWarmCold]),
        ("Sizes", &[Of::RequestSizes, Of::UpdatesBySize, Of::SubPageWrites]),
    ];
    let section = |(title, portraits): (&str, &[Of])| {
        let figures = portraits.iter().filter_map(|&of| portrait(of, traces)).collect();
        Section::of_figures(title.to_owned(), figures)
    };
    all.map(section).into_iter().filter(|section| !section.figures.is_empty()).collect()
}

/// One figure of these traces; `None` if they have no data for it.
pub fn portrait(of: TracePortrait, traces: &[LabelledTrace]) -> Option<Figure> {
    let mut figure = match of {
        TracePortrait::AccessPattern => access_pattern(traces),
        TracePortrait::ReadPattern => read_pattern(traces),
        TracePortrait::RequestRate => request_rate(traces),
        TracePortrait::ByteRate => byte_rate(traces),
        TracePortrait::UpdateFrequency => update_frequency(traces),
        TracePortrait::WriteIntervals => write_intervals(traces),
        TracePortrait::HotWarmCold => hot_warm_cold(traces),
        TracePortrait::UpdatesBySize => updates_by_size(traces),
        TracePortrait::SubPageWrites => sub_page_writes(traces),
        TracePortrait::RequestSizes => request_sizes(traces),
    }?;
    if let ([_], Some(table)) = (traces, &mut figure.table) {
        leave_out_trace(table);
    }
    Some(figure)
}

/// Leaves out the first column. If there is one trace, it says the same in every row.
fn leave_out_trace(table: &mut DataTable) {
    table.head.remove(0);
    table.rows.iter_mut().for_each(|row| drop(row.remove(0)));
    table.text_columns -= 1;
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use serde_json::Value;
    use sim::Experiment;
    use sim::input::trace_stats::TraceStats;

    use super::*;

    fn statistics(trace: &str) -> TraceStats {
        let experiment = Experiment {
            trace: Some(trace.to_owned()),
            capacity_bytes: Some(16 << 20),
            ..Experiment::default()
        };
        TraceStats::of(&experiment).unwrap()
    }

    fn figures(traces: &[LabelledTrace]) -> Vec<Figure> {
        sections(traces).into_iter().flat_map(|section| section.figures).collect()
    }

    fn values(figure: &Figure) -> &Vec<Value> {
        figure.spec["data"]["values"].as_array().unwrap()
    }

    #[test]
    fn every_figure_can_be_drawn_for_one_trace_and_for_several() {
        let [skew, mixed] =
            ["skew:writes=20K,pages=2K,reads=20%,interarrival=1ms", "mixed:writes=3K,reads=10%"]
                .map(statistics);
        let traces = [("skew", &skew), ("mixed", &mixed)];
        let traces = traces.map(|(label, found)| LabelledTrace { label, found });
        for traces in [&traces[..1], &traces[..]] {
            let figures = figures(traces);
            assert_eq!(figures.len(), TracePortrait::ALL.len());
            for figure in &figures {
                let table = figure.table.as_ref().unwrap();
                assert!(table.rows.iter().all(|row| row.len() == table.head.len()));
                let named = |traced: &&LabelledTrace| {
                    traces.len() == 1 || table.rows.iter().any(|row| row[0] == traced.label)
                };
                assert!(traces.iter().all(|traced| named(&traced)), "{}", figure.id);
                assert_eq!(table.head.contains(&"trace".to_owned()), traces.len() > 1);
                let is_bounded = values(figure).len() <= 4000 * traces.len();
                assert!(is_bounded && !values(figure).is_empty(), "{}", figure.id);
            }
        }
    }

    #[test]
    fn a_trace_without_writes_has_figures_of_its_reads_only() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "0,0,4096,R,0.0\n0,64,512,R,0.5").unwrap();
        let reads = statistics(file.path().to_str().unwrap());
        let figures = figures(&[LabelledTrace { label: "reads", found: &reads }]);
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        let wanted = ["iops-over-time", "throughput-over-time", "read-pattern", "request-sizes"];
        assert_eq!(ids, wanted);
        let sizes: Vec<&Value> =
            values(&figures[3]).iter().map(|value| &value["sectors"]).collect();
        assert_eq!(sizes, ["1", "8"]);
    }

    #[test]
    fn the_table_shows_the_skew_that_the_workload_was_made_with() {
        let skew = statistics("skew:writes=200K,pages=2K,hot=70/30");
        let figure = portrait(
            TracePortrait::UpdateFrequency,
            &[LabelledTrace { label: "skew", found: &skew }],
        );
        let table = figure.unwrap().table.unwrap();
        let at = table.head.iter().position(|name| name == "to top 30\u{a0}%").unwrap();
        let share: f64 = table.rows[0][at].trim_end_matches(" %").parse().unwrap();
        assert!((69.0..71.0).contains(&share), "{share} %");
    }
}
