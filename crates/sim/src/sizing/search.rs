//! The least number of extra blocks from which on write amplification is at most a target.
//!
//! ```text
//! descend     most, most/2, most/4, …  until one misses the target
//! bracket     misses │ · · · │ meets   three runs between them at a time
//! confirm     the next numbers above the answer, and those below
//! ```
//! It begins with many extra blocks, because a run costs as much as it copies.
//!
//! Write amplification falls with the extra blocks, but not strictly. Uniform writes are noisy by
//! some tenths of a per cent. A short trace that is repeated can be in step with the collection:
//! then single numbers of extra blocks are far better or worse than their neighbours. So a number
//! that meets the target by chance is no answer. The answer is the least number that meets the
//! target together with all larger ones that were tried, among them the next four. If one of these
//! misses the target, the search goes on above it. The next three numbers below are tried as well:
//! those that meet the target show the noise.
//!
//! Which runs are made depends on the curve alone, not on the number of cores.

use std::collections::BTreeMap;

use crate::sizing::probe::Probe;

/// Numbers of extra blocks that may be tried: multiples of `step` up to `most`.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The resolution, at least 1.
    pub step: u64,
    /// The most extra blocks, at least one step.
    pub most: u64,
}

/// Numbers that are tried above the answer.
const ABOVE: u64 = 4;
/// Numbers that are tried below it.
const BELOW: u64 = 3;
/// Runs inside the bracket at a time.
const INSIDE: u64 = 3;

/// The runs that were made, by their extra blocks, and the answer.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    probes: BTreeMap<u64, Probe>,
    target: f64,
    step: u64,
    /// The index of the answer: its extra blocks divided by the step.
    least: Option<u64>,
}

impl Curve {
    /// All runs, by their extra blocks.
    pub fn probes(&self) -> impl Iterator<Item = &Probe> {
        self.probes.values()
    }

    /// The run that is the answer; none if the target is missed with the most extra blocks.
    pub fn least(&self) -> Option<&Probe> {
        self.probes.get(&self.least?)
    }

    /// The run with the most extra blocks.
    pub fn largest(&self) -> Option<&Probe> {
        self.probes.values().next_back()
    }

    /// The runs below the answer that meet the target.
    pub fn meets_below(&self) -> impl Iterator<Item = &Probe> {
        let below = self.probes.range(..self.least.unwrap_or(0)).map(|(_, probe)| probe);
        below.filter(|probe| probe.meets(self.target))
    }

    /// The greatest index that misses the target.
    fn missed(&self) -> Option<u64> {
        let mut missed = self.probes.iter().rev().filter(|(_, probe)| !probe.meets(self.target));
        missed.next().map(|(&index, _)| index)
    }

    /// The least index that meets the target together with all above it.
    fn met(&self) -> Option<u64> {
        let above = self.missed().map_or(0, |missed| missed + 1);
        self.probes.range(above..).next().map(|(&index, _)| index)
    }

    /// Tries these indices, unless they were tried before. Returns whether there were new ones.
    fn measure<E>(
        &mut self,
        indices: impl IntoIterator<Item = u64>,
        run: &mut impl FnMut(&[u64]) -> Result<Vec<Probe>, E>,
    ) -> Result<bool, E> {
        let mut new: Vec<u64> =
            indices.into_iter().filter(|index| !self.probes.contains_key(index)).collect();
        new.sort_unstable();
        new.dedup();
        let blocks: Vec<u64> = new.iter().map(|index| index * self.step).collect();
        if blocks.is_empty() {
            return Ok(false);
        }
        self.probes.extend(new.into_iter().zip(run(&blocks)?));
        Ok(true)
    }
}

/// Searches the answer. `run` makes runs with these numbers of extra blocks, in any
/// order or at the same time.
///
/// # Errors
/// The first error of `run`.
pub fn least_extra<E>(
    target: f64,
    grid: Grid,
    mut run: impl FnMut(&[u64]) -> Result<Vec<Probe>, E>,
) -> Result<Curve, E> {
    assert!(grid.step > 0 && grid.most >= grid.step, "{grid:?} has no numbers");
    let mut curve = Curve { target, step: grid.step, ..Curve::default() };
    let most = grid.most / grid.step;
    descend(&mut curve, most, &mut run)?;
    while let Some(met) = curve.met() {
        let inside = inside(&curve, met);
        let above = || (met + 1..=met + ABOVE).filter(|&index| index <= most).collect();
        let next: Vec<u64> = if inside.is_empty() { above() } else { inside };
        if !curve.measure(next, &mut run)? {
            curve.measure(met.saturating_sub(BELOW)..met, &mut run)?;
            curve.least = Some(met);
            break;
        }
    }
    Ok(curve)
}

/// Halves the number until the target is missed.
fn descend<E>(
    curve: &mut Curve,
    most: u64,
    run: &mut impl FnMut(&[u64]) -> Result<Vec<Probe>, E>,
) -> Result<(), E> {
    let mut next = most;
    loop {
        curve.measure([next, next / 2], run)?;
        let has_missed = curve.probes.values().any(|probe| !probe.meets(curve.target));
        if has_missed || next / 2 == 0 {
            return Ok(());
        }
        next /= 4;
    }
}

/// The indices to try between one that meets the target and the next lower one that was tried,
/// which misses it.
fn inside(curve: &Curve, met: u64) -> Vec<u64> {
    let Some(missed) = curve.missed() else { return Vec::new() };
    let parts = INSIDE.min(met - missed - 1);
    let at = |part: u64| missed + (part * (met - missed)).div_ceil(parts + 1);
    (1..=parts).map(at).filter(|&index| index < met).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(extra_blocks: u64, write_amplification: Option<f64>) -> Probe {
        Probe {
            extra_blocks,
            write_amplification,
            write_amplification_bytes: write_amplification,
            steady: None,
            refused: None,
            notes: Vec::new(),
        }
    }

    /// Searches on a curve of 1,000 logical blocks. Returns the answer and the number of runs.
    fn searched(
        target: f64,
        grid: Grid,
        curve: impl Fn(u64) -> Option<f64>,
    ) -> (Option<u64>, Vec<u64>) {
        let mut tried = Vec::new();
        let run = |blocks: &[u64]| {
            tried.extend_from_slice(blocks);
            let probes = blocks.iter().map(|&extra| probe(extra, curve(extra)));
            Ok::<_, ()>(probes.collect())
        };
        let found = least_extra(target, grid, run).unwrap();
        (found.least().map(|probe| probe.extra_blocks), tried)
    }

    /// A curve like that of uniform writes; the FTL needs two blocks.
    fn smooth(extra: u64) -> Option<f64> {
        let share = extra as f64 / 1000.0;
        (extra >= 2).then(|| (1.0 + share) / (2.0 * share))
    }

    /// The least number from which on all meet the target.
    fn least_of(target: f64, most: u64, curve: impl Fn(u64) -> Option<f64>) -> Option<u64> {
        let meets = |extra: &u64| curve(*extra).is_some_and(|it| it <= target);
        (0..=most).rev().take_while(meets).last()
    }

    const FINE: Grid = Grid { step: 1, most: 1000 };

    #[test]
    fn the_answer_is_that_of_a_fine_sweep() {
        for target in [1.0, 1.001, 1.05, 1.5, 2.0, 3.3, 7.0, 50.0, 249.0, 250.5, 1e9] {
            let (found, tried) = searched(target, FINE, smooth);
            assert_eq!(found, least_of(target, 1000, smooth), "{target}");
            assert!(tried.len() <= 32, "{target}: {} runs", tried.len());
            let mut once = tried.clone();
            once.sort_unstable();
            once.dedup();
            assert_eq!(once.len(), tried.len(), "no run is made twice");
        }
        for most in 1..40 {
            for target in [13.1, 20.0, 100.0, 300.0] {
                let found = searched(target, Grid { step: 1, most }, smooth).0;
                assert_eq!(found, least_of(target, most, smooth), "{target} up to {most}");
            }
        }
    }

    #[test]
    fn only_multiples_of_the_resolution_are_tried() {
        let (found, tried) = searched(2.0, Grid { step: 50, most: 1000 }, smooth);
        assert_eq!(found, Some(350), "334 blocks meet the target");
        assert!(tried.iter().all(|extra| extra.is_multiple_of(50)) && tried.len() <= 12);
    }

    #[test]
    fn expensive_runs_far_below_the_answer_are_not_made() {
        let (_, tried) = searched(2.0, FINE, smooth);
        assert!(tried.iter().all(|&extra| extra >= 125), "{tried:?}");
    }

    #[test]
    fn an_unreachable_target_takes_two_runs() {
        let (found, tried) = searched(0.99, FINE, smooth);
        assert_eq!((found, tried), (None, vec![500, 1000]));
        assert_eq!(searched(2.0, FINE, |_| None).0, None, "no device works");
    }

    /// Every fourth number is better than its neighbours.
    #[test]
    fn a_number_that_meets_the_target_by_chance_is_no_answer() {
        for chance in 0..4 {
            let noisy = |extra: u64| {
                let noise = if extra % 4 == chance { -0.02 } else { 0.0 };
                smooth(extra).map(|it| it + noise)
            };
            let run = |blocks: &[u64]| {
                Ok::<_, ()>(blocks.iter().map(|&extra| probe(extra, noisy(extra))).collect())
            };
            let curve = least_extra(2.0, FINE, run).unwrap();
            let least = curve.least().unwrap().extra_blocks;
            assert_eq!(Some(least), least_of(2.0, 1000, noisy), "{chance}");
            assert!(curve.meets_below().all(|probe| probe.extra_blocks % 4 == chance));
            assert!(curve.probes().count() < 45, "{} runs", curve.probes().count());
        }
    }

    /// A gap of five numbers that miss the target, above five that meet it.
    #[test]
    fn a_gap_is_crossed() {
        let gap = |extra: u64| match extra {
            ..=333 => Some(2.5),
            338..=342 => Some(2.1),
            _ => Some(1.9),
        };
        assert_eq!(searched(2.0, FINE, gap).0, Some(343));
    }

    #[test]
    fn errors_end_the_search() {
        let error = least_extra(2.0, FINE, |_| Err::<Vec<Probe>, _>("broken")).unwrap_err();
        assert_eq!(error, "broken");
    }
}
