//! Figures that compare results: time by cause, times of requests, merges, wear, time series.
//!
//! Results are taken as JSON (`ftlab.run/1`), so that results of earlier runs can be drawn too.

mod blocks;
mod labelled_result;
mod series;
mod times;

use sim::plan::drawing::Portrait;

use crate::figure::Figure;
use blocks::{associated_blocks, victim_utilisation, wear};
use series::{FREE_BLOCKS, SERVICE_TIME, THROUGHPUT, WRITE_AMPLIFICATION, gauges, over_requests};
use times::{INCREMENTS, SERVICE, distribution, time_by_cause};

pub use labelled_result::{LabelledResult, capitalised, extra, preparation, provenance};

/// All figures for which the results have data, in the order of a report.
pub fn figures(runs: &[LabelledResult]) -> Vec<Figure> {
    let mut figures = vec![time_by_cause(runs)];
    figures.extend(["write", "read"].into_iter().filter_map(|op| distribution(runs, &SERVICE, op)));
    figures
        .extend([WRITE_AMPLIFICATION, FREE_BLOCKS].iter().filter_map(|of| over_requests(runs, of)));
    figures.extend(associated_blocks(runs));
    figures.extend(wear(runs));
    figures.extend(runs.iter().filter_map(gauges));
    figures
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
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_without_data_are_left_out() {
        let result = json!({
            "time_us": {"total": 3e6, "host": 2e6, "gc": 1e6, "merge": 0.0},
            "histograms": {"service_us": {"write": [[225.0, 10]], "read": []}},
            "service_us": {"write": {"mean": 225.0}},
            "series": null, "merges": null, "wear": {},
        });
        let figures = figures(&[LabelledResult { label: "page", result: &result }]);
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["time-by-cause", "service-write"]);
        let values = figures[0].spec["data"]["values"].as_array().unwrap();
        let causes: Vec<_> = values.iter().map(|value| value["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["host pages", "garbage collection"]);
        let table = figures[0].table.as_ref().unwrap();
        assert_eq!(table.rows, [["page", "3", "2", "1"]]);
    }
}
