//! Notes on results that are not those of a device at work in a steady state.
//!
//! Write amplification of 1 on a device that never collected a block says nothing about the FTL,
//! but looks like a perfect result. These sentences say so, and what to do. They contain no counts
//! of the run, so that runs with the same fault share a sentence.

use crate::config::choices::Precondition;
use crate::config::setup::Setup;
use crate::result::evidence::Fifths;
use crate::result::run_result::RunResult;

const NEVER: &str = "No block was ever collected, so the cost of a write is that of an empty \
                     device. Take a smaller `--capacity` or `--extra`, a longer trace, or a \
                     larger `--warmup`.";
const NOT_MEASURED: &str = "No block was collected in the measured pass, so the cost of a write \
                            leaves out collection. Take a longer trace or a smaller `--capacity`.";
const NOT_FULL: &str = "Extra or log blocks were still unused when the measured pass began, so its \
                        first writes were cheap. Take a larger `--warmup` or `--measure-after`.";
const NOT_TURNED_OVER: &str = "Fewer blocks were erased, warm-up included, than the device has \
                               extra blocks: it is not in a steady state. Take a larger \
                               `--warmup`, a longer trace or a smaller `--capacity`.";
const NO_WRITES: &str = "The measured part of the trace has no writes, so there is no write \
                         amplification.";
/// The note on a trace that was repeated.
pub const REPEATED: &str = "The trace is shorter than the rounds and was repeated from its start, \
                            so pages that it does not write stayed cold.";

/// The note on rounds that did not become steady.
pub const NOT_STEADY: &str = "The device did not become steady: write amplification of the last \
                              five rounds still changes too much. Allow more rounds with `--until \
                              steady:rounds=N`.";
/// The note on rounds that a full drive ended.
pub const SWAMPED: &str = "The rounds ended before the device was steady, because millions of \
                           flash operations were waiting in the drive.";
const SPARSE: &str = "The trace touches less than half of the pages up to its highest address, and \
                      the device has room for all of them. `--fit compact` makes a device of the \
                      touched pages alone.";
pub(super) const UNMAPPED_READS: &str = "Some pages were read that had never been written. Reading \
                                         them took no time; `--precondition fill` writes every \
                                         page first.";

/// How the sentence on write amplification that still moves begins.
const MOVES: &str = "Write amplification was ";

/// Whether a note says that the device was not in a steady state.
pub(super) fn is_of_state(note: &str) -> bool {
    [NEVER, NOT_MEASURED, NOT_FULL, NOT_TURNED_OVER, NOT_STEADY, SWAMPED].contains(&note)
        || note.starts_with(MOVES)
}

/// A device whose free blocks shrink by more than this share of its extra blocks is still filling.
const FILLING: f64 = 0.05;

/// The sentences about a result, which is complete except for them.
pub fn notes(result: &RunResult, setup: &Setup) -> Vec<String> {
    let experiment = &setup.experiment;
    let writes = match result.trace.writes {
        0 => Some(NO_WRITES),
        _ => state(result),
    };
    let unmapped =
        experiment.precondition == Precondition::None && result.reads.host < result.host_pages.read;
    let moves = if writes.is_none() && result.steady.is_none() { moves(result) } else { None };
    let notes = writes.into_iter().chain(unmapped.then_some(UNMAPPED_READS)).map(str::to_owned);
    let notes = notes.chain(moves);
    let sparse = (writes.is_some() && is_sparse(result, setup)).then(|| SPARSE.to_owned());
    let notes = notes.chain(sparse);
    notes.chain(experiment.limit.into_iter().flat_map(|limit| cut(result, limit))).collect()
}

/// A sentence about write amplification that still moves at the end of the measured pass.
fn moves(result: &RunResult) -> Option<String> {
    let Fifths { first, last, .. } = result.evidence.fifths.filter(Fifths::still_moves)?;
    Some(format!(
        "{MOVES}{first:.4} in the first fifth of the pages written and {last:.4} in the last, so \
         the result depends on the length of the trace. Take a larger `--warmup`, or `--until \
         steady`."
    ))
}

/// The sentence about a trace that was read up to a limit of requests.
pub fn read_up_to(what: &str, limit: u64) -> String {
    format!("{what} was read up to `--limit {limit}`; it may be longer.")
}

/// A sentence for each trace that was read up to a limit of requests. Nobody has looked whether
/// there are more.
fn cut(result: &RunResult, limit: u64) -> Vec<String> {
    let sentence = |what: &str| read_up_to(what, limit);
    match &result.tenants {
        None => {
            let is_cut = result.evidence.requests_read == limit;
            is_cut.then(|| sentence("The trace")).into_iter().collect()
        }
        Some(tenants) => {
            let cut = tenants.iter().filter(|tenant| tenant.trace.requests == limit);
            cut.map(|tenant| sentence(&tenant.trace.name)).collect()
        }
    }
}

/// What keeps a device with writes from a steady state, if anything does.
fn state(result: &RunResult) -> Option<&'static str> {
    let (erased, ever) = (result.erases.total, result.evidence.erases_since_birth);
    match (ever, erased) {
        (0, _) => Some(NEVER),
        (_, 0) => Some(NOT_MEASURED),
        _ if is_filling(result) => Some(NOT_FULL),
        _ if ever < u64::from(result.device.extra_blocks) => Some(NOT_TURNED_OVER),
        _ => None,
    }
}

/// Whether the addresses of a trace make the device large, and few of its pages are touched.
fn is_sparse(result: &RunResult, setup: &Setup) -> bool {
    let device = &result.device;
    let touched = result.trace.footprint_pages.div_ceil(device.pages_per_block.into());
    setup.is_sized_by_addresses() && 2 * touched < u64::from(device.logical_blocks)
}

fn is_filling(result: &RunResult) -> bool {
    let evidence = &result.evidence;
    let used = evidence.free_blocks_before.saturating_sub(evidence.free_blocks_after);
    f64::from(used) > FILLING * f64::from(result.device.extra_blocks)
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;
    use crate::config::choices::Fit;
    use crate::config::experiment::Experiment;
    use crate::run::{RunOptions, run};

    /// The notes on a run on a device of 512 logical and 36 extra blocks.
    fn noted(trace: &str, change: impl Fn(&mut Experiment)) -> Vec<String> {
        let mut experiment = Experiment {
            trace: Some(trace.into()),
            capacity_bytes: Some(64 << 20),
            ..Experiment::default()
        };
        change(&mut experiment);
        run(&Setup::new(&experiment).unwrap(), RunOptions::default()).unwrap().notes
    }

    #[test]
    fn a_device_that_works_steadily_needs_no_note() {
        for ftl in ["page", "dftl", "superblock", "fast", "faster", "last", "bast", "nftl"] {
            let steady = |it: &mut Experiment| (it.ftl, it.warmup) = (ftl.into(), 5);
            let notes = noted("uniform:writes=20K", steady);
            assert!(notes.is_empty(), "{ftl}: {notes:?}");
        }
    }

    #[test]
    fn write_amplification_that_still_moves_is_noted() {
        let moving = noted("uniform:writes=20K", |it| it.ftl = "dftl".into());
        assert_eq!(moving.len(), 1, "{moving:?}");
        assert!(moving[0].starts_with("Write amplification was 6.6"), "{moving:?}");
        assert!(moving[0].contains(" in the last, so the result depends"), "{moving:?}");
    }

    #[test]
    fn collection_that_never_ran_is_noted() {
        for ftl in ["page", "dftl", "bast"] {
            let few = noted("uniform:writes=15", |it| it.ftl = ftl.into());
            assert_eq!(few, [NEVER], "{ftl}");
        }
        assert_eq!(noted("uniform:writes=20K", |it| it.measure_after = 19_999), [NOT_MEASURED]);
    }

    /// A device as large as the highest address is never full, whatever its trace does.
    #[test]
    fn a_trace_that_touches_few_of_many_pages_is_told_of_compact() {
        for (op, first) in [("R", NO_WRITES), ("W", NEVER)] {
            let mut file = tempfile::NamedTempFile::new().unwrap();
            writeln!(file, "0,0,4096,{op},0.1\n0,65536,4096,{op},0.2").unwrap();
            let path = file.path().to_str().unwrap();
            let sparse = |it: &mut Experiment| it.capacity_bytes = None;
            assert_eq!(noted(path, sparse), [first, SPARSE]);
            assert_eq!(noted(path, |_| ()), [first], "the user chose the capacity");
            let compact = noted(path, |it| (it.capacity_bytes, it.fit) = (None, Fit::Compact));
            assert_eq!(compact, [first]);
        }
    }

    #[test]
    fn a_log_that_is_not_full_when_counting_begins_is_noted() {
        for ftl in ["page", "fast", "faster", "last", "bast", "nftl"] {
            let cold = |it: &mut Experiment| (it.ftl, it.warmup) = (ftl.into(), 0);
            assert_eq!(noted("uniform:writes=20K", cold), [NOT_FULL], "{ftl}");
        }
        let empty = noted("uniform:writes=40K", |it| {
            (it.precondition, it.warmup) = (Precondition::None, 0);
        });
        assert_eq!(empty, [NOT_FULL]);
    }

    #[test]
    fn a_pass_too_short_for_a_steady_state_is_noted() {
        let short = noted("uniform:writes=2500", |it| (it.warmup, it.measure_after) = (0, 2400));
        assert_eq!(short, [NOT_TURNED_OVER]);
    }

    #[test]
    fn reads_alone_and_reads_of_nothing_are_noted() {
        let reads = noted("uniform:writes=100,reads=99%", |it| it.limit = Some(20));
        assert_eq!(reads, [NO_WRITES, "The trace was read up to `--limit 20`; it may be longer."]);
        let reads = noted("uniform:writes=20K,reads=50%", |it| {
            (it.precondition, it.warmup) = (Precondition::None, 0);
        });
        assert_eq!(reads.last().map(String::as_str), Some(UNMAPPED_READS));
    }
}
