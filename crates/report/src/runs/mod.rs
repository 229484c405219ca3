//! Figures that compare results: cost, times of requests, courses along the trace, merges, wear.
//!
//! Results are taken as JSON (`ftlab.run/1`), so that results of earlier runs can be drawn too.

mod blocks;
mod cost;
mod drive;
mod labelled_result;
mod series;
mod times;

use sim::plan::drawing::Portrait;

use self::drive::{latency_against_depth, parts_of_responses, responses_over_time, utilisation};
use crate::captions::{NAMED_MAX, named, short_name};
use crate::figure::Figure;
use crate::html_page::Section;
use blocks::{associated_blocks, victim_utilisation, wear};
use cost::{time_against_ram, write_amplification};
use series::{FREE_BLOCKS, SERVICE_TIME, THROUGHPUT, WRITE_AMPLIFICATION, gauges, over_requests};
use times::{INCREMENTS, RESPONSE, SERVICE, distribution, time_by_cause};

pub use labelled_result::{LabelledResult, capitalised, extra, preparation, provenance};

/// The title of a report: the trace, and the runs if they are few.
pub fn title(runs: &[LabelledResult]) -> String {
    let trace = runs.first().and_then(|run| run.result["trace"]["name"].as_str());
    let labels: Vec<&str> = runs.iter().map(|run| run.label).collect();
    let what = match &*named(&labels) {
        many if labels.len() > NAMED_MAX => format!("{many} compared"),
        few => few.to_owned(),
    };
    format!("{}: {what}", short_name(trace.unwrap_or_default()))
}

/// All figures for which the results have data, as the sections of a report.
pub fn sections(runs: &[LabelledResult]) -> Vec<Section> {
    let mut cost: Vec<Figure> = write_amplification(runs).into_iter().collect();
    cost.extend(time_against_ram(runs));
    cost.push(time_by_cause(runs));
    let times = ["write", "read"].into_iter().filter_map(|op| distribution(runs, &SERVICE, op));
    let responses = ["write", "read", "trim", "flush"];
    let responses = responses.into_iter().filter_map(|op| distribution(runs, &RESPONSE, op));
    let drive = [parts_of_responses(runs), responses_over_time(runs), utilisation(runs)];
    let drive = responses.chain(drive.into_iter().flatten());
    let courses = [WRITE_AMPLIFICATION, FREE_BLOCKS];
    let courses = courses.iter().filter_map(|of| over_requests(runs, of));
    let blocks = [associated_blocks(runs), wear(runs)];
    let all: [(&str, Vec<Figure>); 6] = [
        ("Cost compared", cost),
        ("Distributions of service times", times.collect()),
        ("Response times and the drive", drive.collect()),
        ("Along the trace", courses.collect()),
        ("Blocks", blocks.into_iter().flatten().collect()),
        ("Gauges of the schemes", runs.iter().filter_map(gauges).collect()),
    ];
    let with_figures = all.into_iter().filter(|(_, figures)| !figures.is_empty());
    let section = |(title, figures): (&str, _)| Section::of_figures(title.to_owned(), figures);
    with_figures.map(section).collect()
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
        assert_eq!(titles, ["Cost compared"], "all writes take the same time: no distribution");
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
