//! Figures of results side by side: where the time goes, how long requests take, what merges do,
//! how the flash wears, and how all of it goes along.
//!
//! Results are taken as JSON (`ftlab.run/1`), so that those of earlier runs can be drawn, too.
//!
//! * `run`     a result with its name, and what its figures have in common
//! * `times`   where the time goes, and how long requests take
//! * `courses` what changes along the trace
//! * `blocks`  what merges and collections meet, and wear

mod blocks;
mod courses;
mod run;
mod times;

use sim::plan::drawing::Portrait;

use crate::figure::Figure;
use blocks::{associated_blocks, victim_utilisation, wear};
use courses::{FREE_BLOCKS, SERVICE_COURSE, THROUGHPUT, WRITE_AMPLIFICATION, course, gauges};
use times::{INCREMENTS, SERVICE, time_by_cause, times};

pub use run::{Run, provenance};

/// All figures that these results have something for, in the order of a report.
pub fn figures(runs: &[Run]) -> Vec<Figure> {
    let mut figures = vec![time_by_cause(runs)];
    figures.extend(["write", "read"].into_iter().filter_map(|op| times(runs, &SERVICE, op)));
    figures.extend([WRITE_AMPLIFICATION, FREE_BLOCKS].iter().filter_map(|of| course(runs, of)));
    figures.extend(associated_blocks(runs));
    figures.extend(wear(runs));
    figures.extend(runs.iter().filter_map(gauges));
    figures
}

/// One figure of these results; none if they have nothing for it.
pub fn portrait(of: Portrait, runs: &[Run]) -> Option<Figure> {
    match of {
        Portrait::TimeByCause => Some(time_by_cause(runs)),
        Portrait::ServiceOfWrites => times(runs, &SERVICE, "write"),
        Portrait::ServiceOfReads => times(runs, &SERVICE, "read"),
        Portrait::IncrementsOfWrites => times(runs, &INCREMENTS, "write"),
        Portrait::IncrementsOfReads => times(runs, &INCREMENTS, "read"),
        Portrait::AssociatedBlocks => associated_blocks(runs),
        Portrait::VictimUtilisation => victim_utilisation(runs),
        Portrait::WriteAmplification => course(runs, &WRITE_AMPLIFICATION),
        Portrait::FreeBlocks => course(runs, &FREE_BLOCKS),
        Portrait::ServiceCourse => course(runs, &SERVICE_COURSE),
        Portrait::Throughput => course(runs, &THROUGHPUT),
        Portrait::Wear => wear(runs),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_was_measured_is_drawn() {
        let result = json!({
            "time_us": {"total": 3e6, "host": 2e6, "gc": 1e6, "merge": 0.0},
            "histograms": {"service_us": {"write": [[225.0, 10]], "read": []}},
            "service_us": {"write": {"mean": 225.0}},
            "series": null, "merges": null, "wear": {},
        });
        let figures = figures(&[Run { label: "page", result: &result }]);
        let ids: Vec<&str> = figures.iter().map(|figure| figure.id.as_str()).collect();
        assert_eq!(ids, ["time-by-cause", "service-write"]);
        let values = figures[0].spec["data"]["values"].as_array().unwrap();
        let causes: Vec<_> = values.iter().map(|value| value["cause"].as_str().unwrap()).collect();
        assert_eq!(causes, ["host pages", "garbage collection"]);
        let table = figures[0].table.as_ref().unwrap();
        assert_eq!(table.rows, [["page", "3", "2", "1"]]);
    }
}
