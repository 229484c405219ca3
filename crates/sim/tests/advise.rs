//! Advice on loads whose answers are known from theory.

use std::num::NonZeroUsize;

use sim::advise::answer::Answer;
use sim::advise::bench::Bench;
use sim::advise::subject::Choices;
use sim::advise::{Advice, Question, advise};
use sim::sizing::mean_field;
use sim::{Experiment, MemoryBudget, NoProgress};

/// The advice on a workload over a capacity of 64 MiB.
fn advised(trace: &str, target: f64) -> Advice {
    let experiment = Experiment {
        trace: Some(trace.into()),
        capacity_bytes: Some(64 << 20),
        ..Experiment::default()
    };
    let choices = Choices { experiment, ..Choices::default() };
    let memory = MemoryBudget::new(None);
    let monitor = |_: &str| -> Box<dyn sim::Progress> { Box::new(NoProgress) };
    let jobs = NonZeroUsize::new(2).unwrap();
    let bench = Bench { jobs, memory: &memory, monitor: &monitor };
    advise(&choices, &Question { target, depths: vec![1, 32] }, &bench).unwrap()
}

fn found<T>(answer: &Answer<T>) -> &T {
    answer.found().unwrap_or_else(|| panic!("refused: {:?}", answer.refused()))
}

fn assert_near(found: f64, expected: f64, share: f64, what: &str) {
    let off = found / expected - 1.0;
    assert!(off.abs() <= share, "{what}: {found}, expected {expected}");
}

/// The mean-field limit of greedy collection, as in docs/validation.md. One block of the extra ones
/// is open.
#[test]
fn uniform_writes_are_answered_as_theory_says() {
    let advice = advised("uniform:requests=200K", 2.0);
    let device = advice.device.as_ref().unwrap();
    let pages_per_block = (device.block_bytes / 4096) as u32;
    let (logical, extra) = (device.logical_blocks as f64, device.extra_blocks as f64);
    assert_eq!((pages_per_block, device.logical_blocks), (48, 342));
    let spare = found(&advice.spare);
    let theory = mean_field::greedy(pages_per_block, extra / logical);
    assert_near(spare.write_amplification, theory, 0.03, "write amplification");
    let share = mean_field::spare_of_greedy(pages_per_block, 2.0).unwrap();
    let least = spare.sizing.least.as_ref().unwrap().probe.extra_blocks as f64;
    let step = spare.step_blocks as f64;
    assert!((least - share * logical).abs() <= 2.0 * step, "{least} of {logical}, {share}");
    assert!(spare.half_cold < spare.write_amplification);

    let endurance = found(&advice.endurance);
    for class in &endurance.classes {
        let extra = spec::Share::parse(class.class.extra).unwrap().ceil_of(342) as f64;
        let cost = mean_field::greedy(pages_per_block, extra / logical);
        let writes = f64::from(endurance.cycles) * (1.0 + extra / logical) / cost;
        assert_near(class.drive_writes, writes, 0.03, class.class.name);
        assert_near(class.flash_dwpd, writes / 1825.0, 0.03, class.class.name);
    }

    let confidence = found(&advice.confidence);
    assert!(confidence.steady && confidence.spread < 0.05, "{confidence:?}");
    assert_eq!(confidence.seeds.as_ref().map(Vec::len), Some(2));
    let effects = found(&advice.effects);
    assert!(effects.discards.found().is_none(), "there are none");
    assert!(effects.streams[0].change.abs() < 0.1, "all requests have one size: {effects:?}");
    let bound = found(&advice.placement);
    let oracle = bound.oracle.last().unwrap().write_amplification;
    assert!(bound.schemes.iter().all(|scheme| scheme.write_amplification >= oracle));
}

#[test]
fn a_small_device_has_no_dies_for_a_latency() {
    let advice = advised("uniform:requests=100K", 3.0);
    let refused = advice.latency.refused().unwrap();
    assert!(refused.why.contains("too few for the dies"), "{refused:?}");
    assert!(refused.instead.contains("`--capacity`"), "{refused:?}");
}

#[test]
fn what_a_trace_cannot_tell_is_refused() {
    let why = |trace: &str| {
        let advice = advised(trace, 1.5);
        assert!(advice.spare.found().is_none() && advice.endurance.found().is_none(), "{trace}");
        let refused = advice.spare.refused().unwrap().clone();
        assert!(refused.instead.contains("blktrace"), "{trace}");
        refused.why
    };
    assert!(why("sequential:requests=16K").contains("does not reach collection"));
    assert!(why("uniform:requests=2K").contains("does not reach collection"));
    assert!(why("uniform:requests=2K,reads=100%").contains("only reads"));
}
