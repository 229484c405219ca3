//! Results side by side: groups of quantities, one column per result.
//!
//! Rows without information are left out: rows of zeros, and rows equal to the row above. For
//! example, bytes per host byte equal the write amplification if all requests are whole pages.

use nand::Cause;
use report::number_format::{bytes, count, decimals};
use sim::RunResult;
use sim::result::trace_part::TenantPart;

/// Rows that belong together.
#[derive(Debug, PartialEq, Eq)]
pub struct Group {
    /// What the rows are about.
    pub title: String,
    /// The cells of each row; the first one names the quantity.
    pub rows: Vec<Vec<String>>,
}

/// Explains the marks in the groups, and the rows that are left out.
pub const LEGEND: &str =
    "* best of its row. Rows of zeros, and rows equal to the row above, are left out.";

/// The groups that have something to say about these results.
pub fn groups(results: &[RunResult]) -> Vec<Group> {
    let runs: Vec<&RunResult> = results.iter().collect();
    let groups = GROUPS.iter().map(|(title, quantities)| Group::of(title, quantities, &runs));
    groups.chain(loads(results)).filter(|group| !group.rows.is_empty()).collect()
}

/// A group for each of several loads.
fn loads(results: &[RunResult]) -> Vec<Group> {
    let tenants: Vec<&[TenantPart]> =
        results.iter().filter_map(|result| result.tenants.as_deref()).collect();
    let group = |load: usize| {
        let parts: Vec<&TenantPart> = tenants.iter().map(|tenants| &tenants[load]).collect();
        Group::of(&format!("load {}: {}", load + 1, parts[0].label()), LOAD, &parts)
    };
    (0..tenants.first().map_or(0, |tenants| tenants.len())).map(group).collect()
}

impl Group {
    fn of<T>(title: &str, quantities: &[Quantity<T>], results: &[&T]) -> Group {
        let mut rows: Vec<Vec<String>> = Vec::new();
        let mut above = Vec::new();
        for quantity in quantities {
            let cells = quantity.cells(results);
            if quantity.says_something(results) && cells != above {
                rows.push(quantity.row(results, &cells));
                above = cells;
            }
        }
        Group { title: title.to_owned(), rows }
    }
}

/// A quantity by which results, or the same loads of results, are compared.
struct Quantity<T = RunResult> {
    name: &'static str,
    value: fn(&T) -> Option<f64>,
    unit: Unit,
    best: Best,
}

/// How a quantity is printed.
#[derive(Clone, Copy)]
enum Unit {
    /// A count.
    Count,
    /// A number with this many decimals.
    Decimals(usize),
    /// Microseconds, printed as seconds.
    Seconds,
    /// A size.
    Bytes,
}

/// Which value of a row is the best.
#[derive(Clone, Copy, PartialEq)]
enum Best {
    Least,
    Most,
    /// No value is the best: the quantity is neither good nor bad, or only a part of one that is.
    Neither,
}

impl<T> Quantity<T> {
    fn text(&self, value: Option<f64>) -> String {
        let Some(value) = value else { return "–".to_owned() };
        match self.unit {
            Unit::Count => count(value as u64),
            Unit::Decimals(places) => decimals(value, places),
            Unit::Seconds => decimals(value / 1e6, 3),
            Unit::Bytes => bytes(value as u64),
        }
    }

    fn cells(&self, results: &[&T]) -> Vec<String> {
        results.iter().map(|result| self.text((self.value)(result))).collect()
    }

    fn says_something(&self, results: &[&T]) -> bool {
        results.iter().filter_map(|result| (self.value)(result)).any(|value| value != 0.0)
    }

    /// The name and the cells. The best are marked, unless more than half are as good.
    fn row(&self, results: &[&T], cells: &[String]) -> Vec<String> {
        let best = self.best(results).map(|best| self.text(Some(best)));
        let as_good = cells.iter().filter(|cell| Some(*cell) == best.as_ref()).count();
        let best = best.filter(|_| 2 * as_good <= cells.len());
        let marked = |cell: &String| match best.as_ref() == Some(cell) {
            true => format!("*{cell}"),
            false => cell.clone(),
        };
        std::iter::once(self.name.to_owned()).chain(cells.iter().map(marked)).collect()
    }

    fn best(&self, results: &[&T]) -> Option<f64> {
        let values = results.iter().filter_map(|result| (self.value)(result));
        match self.best {
            Best::Least => values.min_by(f64::total_cmp),
            Best::Most => values.max_by(f64::total_cmp),
            Best::Neither => None,
        }
    }
}

const fn row<T>(
    name: &'static str,
    unit: Unit,
    best: Best,
    value: fn(&T) -> Option<f64>,
) -> Quantity<T> {
    Quantity { name, value, unit, best }
}

/// All groups with their quantities, in the order in which they are shown.
const GROUPS: &[(&str, &[Quantity])] = &[
    ("cost of a write", COST),
    ("flash operations", OPERATIONS),
    ("time in the drive", DRIVE),
    ("response time of requests", RESPONSE),
    ("serial time", TIME),
    ("service time of requests", SERVICE),
    ("wear and memory", WEAR),
];

const COST: &[Quantity] = &[
    row("write amplification", Unit::Decimals(4), Best::Least, |it| it.write_amplification),
    row("bytes per host byte", Unit::Decimals(4), Best::Least, |it| it.write_amplification_bytes),
    row("rounds until steady", Unit::Count, Best::Neither, rounds_until_steady),
];

/// None for a device that did not become steady, and for a run without rounds.
fn rounds_until_steady(result: &RunResult) -> Option<f64> {
    let steady = result.steady.as_ref().filter(|steady| steady.reached)?;
    Some(f64::from(steady.rounds))
}

const OPERATIONS: &[Quantity] = &[
    row("host pages written", Unit::Count, Best::Neither, |it| of(it.host_pages.written)),
    row("programs", Unit::Count, Best::Least, |it| of(it.programs.total)),
    row("reads", Unit::Count, Best::Least, |it| of(it.reads.total)),
    row("spare reads", Unit::Count, Best::Least, |it| of(it.spare_reads.total)),
    row("erases", Unit::Count, Best::Least, |it| of(it.erases.total)),
    row("copies", Unit::Count, Best::Least, |it| of(it.copies.total)),
];

const TIME: &[Quantity] = &[
    row("total, s", Unit::Seconds, Best::Least, |it| Some(it.time_us.total)),
    row("  host, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Host))),
    row("  rmw, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Rmw))),
    row("  gc, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Gc))),
    row("  merge, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Merge))),
    row("  map, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Map))),
    row("  log, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Log))),
    row("  wear, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Wear))),
    row("  meta, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Meta))),
    row("  media, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.get(Cause::Media))),
    row("  dram, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us.dram)),
    row("IOPS", Unit::Decimals(0), Best::Most, |it| without_drive(it)?.serial_iops()),
    row("MB/s", Unit::Decimals(2), Best::Most, |it| without_drive(it)?.serial_mb_per_s()),
];

/// The result, if the drive's own rates are not what counts.
fn without_drive(result: &RunResult) -> Option<&RunResult> {
    result.drive.is_none().then_some(result)
}

const SERVICE: &[Quantity] = &[
    row("read mean, µs", Unit::Decimals(1), Best::Least, |it| it.service_us.read.mean),
    row("read p99, µs", Unit::Decimals(1), Best::Least, |it| it.service_us.read.p99),
    row("write mean, µs", Unit::Decimals(1), Best::Least, |it| it.service_us.write.mean),
    row("write stddev, µs", Unit::Decimals(1), Best::Least, |it| it.service_us.write.stddev),
    row("write p99, µs", Unit::Decimals(1), Best::Least, |it| it.service_us.write.p99),
    row("write max, µs", Unit::Decimals(1), Best::Least, |it| it.service_us.write.max),
];

const DRIVE: &[Quantity] = &[
    row("IOPS", Unit::Decimals(0), Best::Most, |it| it.drive.as_ref()?.iops),
    row("MB/s", Unit::Decimals(2), Best::Most, |it| it.drive.as_ref()?.mb_per_s),
    row("suspensions", Unit::Count, Best::Neither, |it| of(it.drive.as_ref()?.suspensions)),
];

const RESPONSE: &[Quantity] = &[
    row("read mean, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.as_ref()?.read.mean),
    row("read p99, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.as_ref()?.read.p99),
    row("write mean, µs", Unit::Decimals(1), Best::Least, |it| {
        it.response_us.as_ref()?.write.mean
    }),
    row("write p99, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.as_ref()?.write.p99),
    row("write max, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.as_ref()?.write.max),
];

/// Quantities of one of several loads.
const LOAD: &[Quantity<TenantPart>] = &[
    row("requests served", Unit::Count, Best::Neither, |it| of(it.served())),
    row("requests left", Unit::Count, Best::Neither, |it| of(it.not_served())),
    row("serial time, s", Unit::Seconds, Best::Neither, |it| Some(it.time_us)),
    row("read response mean, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.read.mean),
    row("read response p99, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.read.p99),
    row("write response mean, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.write.mean),
    row("write response p99, µs", Unit::Decimals(1), Best::Least, |it| it.response_us.write.p99),
];

const WEAR: &[Quantity] = &[
    row("erases of a block, mean", Unit::Decimals(2), Best::Least, |it| Some(it.wear.mean)),
    row("erases of a block, stddev", Unit::Decimals(2), Best::Least, |it| Some(it.wear.stddev)),
    row("drive writes", Unit::Decimals(0), Best::Most, |it| it.endurance.drive_writes),
    // A guest that reports no RAM has some all the same.
    row("RAM", Unit::Bytes, Best::Least, |it| {
        of(it.ram_bytes.total).filter(|_| it.ram_bytes.total > 0)
    }),
];

fn of(count: u64) -> Option<f64> {
    Some(count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::config::choices::Timing;
    use sim::{Experiment, RunOptions, Setup};

    /// Results of a short workload of whole pages on a small device.
    fn results(ftls: &[&str]) -> Vec<RunResult> {
        let run = |ftl: &&str| {
            let experiment = Experiment {
                trace: Some("uniform:writes=3K".into()),
                ftl: (*ftl).into(),
                capacity_bytes: Some(4 << 20),
                ..Experiment::default()
            };
            sim::run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
        };
        ftls.iter().map(run).collect()
    }

    fn rows(groups: &[Group]) -> Vec<&Vec<String>> {
        groups.iter().flat_map(|group| &group.rows).collect()
    }

    #[test]
    fn the_best_of_a_row_is_marked_and_rows_that_say_nothing_are_left_out() {
        let groups = groups(&results(&["page", "block"]));
        let rows = rows(&groups);
        let named = |name: &str| rows.iter().find(|row| row[0] == name);
        for (name, marks) in [
            ("write amplification", [true, false]),
            ("IOPS", [true, false]),
            ("RAM", [false, true]),
            ("host pages written", [false, false]),
        ] {
            let cells = &named(name).unwrap_or_else(|| panic!("no {name}"))[1..];
            let found: Vec<bool> = cells.iter().map(|cell| cell.starts_with('*')).collect();
            assert_eq!(found, marks, "{name}: {cells:?}");
        }
        // All requests are writes of whole pages, and neither scheme has a map in flash.
        for name in ["bytes per host byte", "  map, s", "  rmw, s", "read mean, µs", "spare reads"]
        {
            assert!(named(name).is_none(), "{name} says nothing");
        }
        assert!(rows.iter().all(|row| row[1..].iter().any(|cell| cell != "–")));
    }

    #[test]
    fn rounds_are_shown_if_a_run_has_them() {
        let run = |rule: &str| {
            let experiment = Experiment {
                trace: Some("skew:writes=3K".into()),
                capacity_bytes: Some(4 << 20),
                until: Some(rule.parse().unwrap()),
                ..Experiment::default()
            };
            sim::run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
        };
        let groups = groups(&["steady", "steady:rounds=6,range=0.01%"].map(run));
        let rows = rows(&groups);
        let shown = rows.iter().find(|row| row[0] == "rounds until steady").expect("a row");
        assert_eq!(shown[1..], ["6", "–"], "the second device does not become steady");
    }

    #[test]
    fn the_drives_rates_come_first_and_stand_alone() {
        let run = |ftl: &str| {
            let experiment = Experiment {
                trace: Some("uniform:writes=3K".into()),
                ftl: ftl.into(),
                capacity_bytes: Some(4 << 20),
                timing: Timing::Drive,
                ..Experiment::default()
            };
            sim::run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
        };
        let groups = groups(&["page", "block"].map(run));
        let place = |title: &str| groups.iter().position(|group| group.title == title).unwrap();
        assert!(place("time in the drive") < place("serial time"));
        assert_eq!(rows(&groups).iter().filter(|row| row[0] == "IOPS").count(), 1);
    }

    #[test]
    fn each_load_has_a_group() {
        let run = |ftl: &str| {
            let experiment = Experiment {
                load: ["uniform:writes=3K", "sequential:writes=9@closed:depth=2"]
                    .map(|text| text.parse().unwrap())
                    .to_vec(),
                ftl: ftl.into(),
                capacity_bytes: Some(4 << 20),
                ..Experiment::default()
            };
            sim::run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap()
        };
        let groups = groups(&["page", "block"].map(run));
        let named = |title: &str| groups.iter().find(|group| group.title == title);
        let first = named("load 1: uniform:writes=3K@closed").expect("a group");
        assert_eq!(first.rows[0], ["requests served", "5", "5"]);
        assert_eq!(first.rows[1], ["requests left", "2,995", "2,995"]);
        let second = named("load 2: sequential:writes=9@closed:depth=2").expect("a group");
        assert_eq!(second.rows[0], ["requests served", "9", "9"]);
        assert!(second.rows.iter().any(|row| row[0] == "write response mean, µs"));
        assert!(named("response time of requests").is_some());
    }

    #[test]
    fn equal_values_have_no_best() {
        let groups = groups(&results(&["page", "page"]));
        assert!(!rows(&groups).iter().any(|row| row.iter().any(|cell| cell.starts_with('*'))));
    }
}
