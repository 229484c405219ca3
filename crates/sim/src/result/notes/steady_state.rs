//! Notes on results that are not those of a device at work in a steady state.
//!
//! Write amplification of 1 on a device that never collected a block says nothing about the FTL,
//! but looks like a perfect result. These sentences say so, and what to do. They contain no counts
//! of the run, so that runs with the same fault share a sentence.

use crate::config::choices::Precondition;
use crate::config::experiment::Experiment;
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
const UNMAPPED_READS: &str = "Some pages were read that had never been written. Reading them took \
                              no time; `--precondition fill` writes every page first.";

/// A device whose free blocks shrink by more than this share of its extra blocks is still filling.
const FILLING: f64 = 0.05;

/// The sentences about a result, which is complete except for them.
pub fn notes(result: &RunResult, experiment: &Experiment) -> Vec<String> {
    let writes = match result.trace.writes {
        0 => Some(NO_WRITES),
        _ => state(result),
    };
    let unmapped =
        experiment.precondition == Precondition::None && result.reads.host < result.host_pages.read;
    let moves = if writes.is_none() && result.steady.is_none() { moves(result) } else { None };
    let notes = writes.into_iter().chain(unmapped.then_some(UNMAPPED_READS)).map(str::to_owned);
    let notes = notes.chain(moves);
    notes.chain(experiment.limit.into_iter().flat_map(|limit| cut(result, limit))).collect()
}

/// A sentence about write amplification that still moves at the end of the measured pass.
fn moves(result: &RunResult) -> Option<String> {
    let Fifths { first, last, .. } = result.evidence.fifths.filter(Fifths::still_moves)?;
    Some(format!(
        "Write amplification was {first:.4} in the first fifth of the pages written and {last:.4} \
         in the last, so the result depends on the length of the trace. Take a larger `--warmup`, \
         or `--until steady`."
    ))
}

/// A sentence for each trace that a limit of requests ended.
fn cut(result: &RunResult, limit: u64) -> Vec<String> {
    let sentence = |what: &str| format!("`--limit {limit}` ended {what}.");
    match &result.tenants {
        None => {
            let is_cut = result.evidence.requests_read == limit;
            is_cut.then(|| sentence("the trace")).into_iter().collect()
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

fn is_filling(result: &RunResult) -> bool {
    let evidence = &result.evidence;
    let used = evidence.free_blocks_before.saturating_sub(evidence.free_blocks_after);
    f64::from(used) > FILLING * f64::from(result.device.extra_blocks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::setup::Setup;
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
        assert_eq!(reads, [NO_WRITES, "`--limit 20` ended the trace."]);
        let reads = noted("uniform:writes=20K,reads=50%", |it| {
            (it.precondition, it.warmup) = (Precondition::None, 0);
        });
        assert_eq!(reads.last().map(String::as_str), Some(UNMAPPED_READS));
    }
}
