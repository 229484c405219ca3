//! Figures that compare results: cost, times of requests, courses along the trace, merges, wear.
//!
//! Results are taken as JSON (`ftlab.run/1`), so that results of earlier runs can be drawn too.

mod blocks;
mod cost;
mod drive;
pub mod fleet;
mod labelled_result;
mod series;
mod times;

use serde_json::Value;
use sim::clock::{DRIVE_CAVEAT, SERIAL_CAVEAT};
use sim::plan::drawing::Portrait;
use sim::result::notes::{Concern, SharedNotes, concern};

use self::drive::{latency_against_depth, parts_of_responses, responses_over_time, utilisation};
use crate::captions::{NAMED_MAX, named, short_labels, short_name};
use crate::figure::Figure;
use crate::html_page::Section;
use crate::number_format::bytes;
use blocks::{associated_blocks, victim_utilisation, wear};
use cost::{time_against_ram, write_amplification};
use labelled_result::capacity_bytes;
use series::{FREE_BLOCKS, SERVICE_TIME, THROUGHPUT, WRITE_AMPLIFICATION, gauges, over_requests};
use times::{INCREMENTS, RESPONSE, SERVICE, distribution, time_by_cause};

pub use labelled_result::{LabelledResult, capitalised, ends, extra, preparation, provenance};

/// The title of a report: the trace, the runs if they are few, and the device.
pub fn title(runs: &[LabelledResult]) -> String {
    let first = runs.first().map_or(&Value::Null, |run| run.result);
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let what = match &*named(&labels) {
        many if labels.len() > NAMED_MAX => format!("{many} compared"),
        few => few.to_owned(),
    };
    let trace = short_name(first["trace"]["name"].as_str().unwrap_or_default());
    format!("{trace}: {what}{}", on_device(&first["device"]))
}

/// The device of a title; empty if it is not known.
fn on_device(device: &Value) -> String {
    let Some(chip) = device["chip"].as_str() else { return String::new() };
    format!(" on {} of {chip}", bytes(capacity_bytes(device)))
}

/// All figures for which the results have data, as the sections of a report. What is to be known
/// about their numbers stands below the figures that it concerns.
pub fn sections(runs: &[LabelledResult]) -> Vec<Section> {
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let names = short_labels(&labels);
    let runs: Vec<LabelledResult> =
        names.iter().zip(runs).map(|(label, run)| LabelledResult { label, ..*run }).collect();
    let runs = &runs[..];
    let cost = [
        write_amplification(runs),
        over_requests(runs, &WRITE_AMPLIFICATION),
        time_against_ram(runs),
    ];
    let times = ["write", "read"].into_iter().filter_map(|op| distribution(runs, &SERVICE, op));
    let times = [time_by_cause(runs)].into_iter().chain(times);
    let responses = ["write", "read", "trim", "flush"];
    let responses = responses.into_iter().filter_map(|op| distribution(runs, &RESPONSE, op));
    let drive = [parts_of_responses(runs), responses_over_time(runs), utilisation(runs)];
    let drive = responses.chain(drive.into_iter().flatten());
    let blocks = [wear(runs), associated_blocks(runs), over_requests(runs, &FREE_BLOCKS)];
    let of_drive = notes(runs, |concern| concern == Concern::Times);
    let has_drive = runs.iter().any(|run| !run.result["drive"].is_null());
    let (of_times, of_drive) =
        if has_drive { (Vec::new(), of_drive) } else { (of_drive, Vec::new()) };
    let of_cost = notes(runs, |concern| concern != Concern::Times);
    let all: [(&str, Vec<Figure>, Vec<String>); 5] = [
        ("What a write costs", cost.into_iter().flatten().collect(), of_cost),
        ("Where the time goes", times.collect(), [vec![SERIAL_CAVEAT.into()], of_times].concat()),
        ("Times in the drive", drive.collect(), [vec![DRIVE_CAVEAT.into()], of_drive].concat()),
        ("Blocks", blocks.into_iter().flatten().collect(), Vec::new()),
        ("Gauges of the schemes", runs.iter().filter_map(gauges).collect(), Vec::new()),
    ];
    let section = |(title, figures, notes): (&str, Vec<Figure>, Vec<String>)| Section {
        notes,
        ..Section::of_figures(title, figures)
    };
    let is_needed = |section: &Section| {
        let is_of_cost = section.title == "What a write costs" && !section.notes.is_empty();
        !section.figures.is_empty() || is_of_cost
    };
    all.map(section).into_iter().filter(is_needed).collect()
}

/// The notes of the results about this. One that not all results share names its runs.
fn notes(runs: &[LabelledResult], is_about: impl Fn(Concern) -> bool) -> Vec<String> {
    let mut notes = SharedNotes::default();
    for run in runs {
        let own = run.result["notes"].as_array().into_iter().flatten();
        notes.add(own.filter_map(Value::as_str).filter(|note| is_about(concern(note))));
    }
    notes.sentences(|some| some.iter().map(|&at| runs[at].label).collect::<Vec<_>>().join(", "))
}

/// One figure of these results; `None` if they have no data for it.
pub fn portrait(of: Portrait, runs: &[LabelledResult]) -> Option<Figure> {
    match of {
        Portrait::TimeByCause => Some(time_by_cause(runs)),
        Portrait::ServiceOfWrites => distribution(runs, &SERVICE, "write"),
        Portrait::ServiceOfReads => distribution(runs, &SERVICE, "read"),
        Portrait::IncrementsOfWrites => distribution(runs, &INCREMENTS, "write"),
        Portrait::IncrementsOfReads => distribution(runs, &INCREMENTS, "read"),
        Portrait::AssociatedBlocks => associated_blocks(runs),
        Portrait::VictimUtilisation => victim_utilisation(runs),
        Portrait::WriteAmplification => over_requests(runs, &WRITE_AMPLIFICATION),
        Portrait::FreeBlocks => over_requests(runs, &FREE_BLOCKS),
        Portrait::ServiceCourse => over_requests(runs, &SERVICE_TIME),
        Portrait::Throughput => over_requests(runs, &THROUGHPUT),
        Portrait::Wear => wear(runs),
        Portrait::ResponseOfWrites => distribution(runs, &RESPONSE, "write"),
        Portrait::ResponseOfReads => distribution(runs, &RESPONSE, "read"),
        Portrait::LatencyAgainstDepth => latency_against_depth(runs),
        Portrait::PartsOfResponses => parts_of_responses(runs),
        Portrait::ResponsesOverTime => responses_over_time(runs),
        Portrait::Utilisation => utilisation(runs),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_title_names_the_trace_and_a_few_runs() {
        let result = json!({"trace": {"name": "traces/web.trace"}});
        let titled = |labels: &[&str]| {
            let run = |label| LabelledResult { label, result: &result };
            title(&labels.iter().copied().map(run).collect::<Vec<_>>())
        };
        assert_eq!(titled(&["page"]), "web.trace: page");
        assert_eq!(titled(&["page", "fast", "last"]), "web.trace: page, fast and last");
        assert_eq!(titled(&["a", "b", "c", "d"]), "web.trace: 4 FTLs compared");
        let device = json!({"chip": "slc-fast2010", "logical_blocks": 8, "pages_per_block": 64,
                            "page_bytes": 2048});
        let result = json!({"trace": {"name": "a/web.trace"}, "device": device});
        let page = LabelledResult { label: "page", result: &result };
        assert_eq!(title(&[page]), "web.trace: page on 1.00 MiB of slc-fast2010");
    }

    #[test]
    fn a_note_stands_in_the_section_of_its_numbers() {
        let moves = "Write amplification was 1.0 in the first fifth";
        let time = json!({"total": 1.0});
        let result =
            |notes: &[&str]| json!({"notes": notes, "write_amplification": 2.0, "time_us": time});
        let results = [result(&[moves, "The cache of the map holds 1 %"]), result(&[])];
        let runs = ["page", "dftl:cmt=4KiB"].iter().zip(&results);
        let runs: Vec<_> = runs.map(|(label, result)| LabelledResult { label, result }).collect();
        let sections = sections(&runs);
        assert_eq!(sections[0].notes, [format!("page: {moves}")]);
        let of_times = &sections[1].notes;
        assert_eq!(of_times[..], [SERIAL_CAVEAT, "page: The cache of the map holds 1 %"]);
    }

    #[test]
    fn figures_without_data_are_left_out() {
        let result = json!({
            "time_us": {"total": 3e6, "host": 2e6, "gc": 1e6, "merge": 0.0},
            "histograms": {"service_us": {"write": [[225.0, 10]], "read": []}},
            "service_us": {"write": {"mean": 225.0}},
            "series": null, "merges": null, "wear": {},
        });
        let sections = sections(&[LabelledResult { label: "page", result: &result }]);
        let titles: Vec<&str> = sections.iter().map(|section| section.title.as_str()).collect();
        assert_eq!(
            titles,
            ["Where the time goes"],
            "all writes take the same time: no distribution"
        );
        let figures = &sections[0].figures;
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["time-by-cause"]);
        let values = figures[0].spec["data"]["values"].as_array().unwrap();
        let causes: Vec<_> = values.iter().map(|value| value["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["H host pages", "G garbage collection"]);
        let table = figures[0].table.as_ref().unwrap();
        assert_eq!(table.rows, [["page", "3", "2", "1"]]);
    }
}
