//! The least number of extra blocks from which on write amplification is at most a target.
//!
//! ```text
//! descend     most, most/2, most/4, …  until one misses the target
//! bracket     misses │ · · · │ meets   three quick runs between them at a time
//! settle      longer runs around it, outwards until one surely misses and one surely meets,
//!             then between those; the falling curve through them has the answer
//! ```
//! It begins with many extra blocks, because a run costs as much as it copies.
//!
//! Write amplification falls with the extra blocks, but what a run measures does not, strictly.
//! Uniform writes are noisy by some tenths of a per cent. A short trace that is repeated differs by
//! several per cent from repeat to repeat, it takes many repeats to forget how the device was
//! filled, and it can be in step with the collection: then single numbers of extra blocks are
//! better or worse than their neighbours. Quick runs find the place, and no more than that. The
//! answer is the first number at which the [falling curve](falling) that fits the longer runs best
//! meets the target. Its [range](Curve::range) says what their uncertainty leaves open.
//!
//! Which runs are made depends on the curve alone, not on the number of cores.

use std::collections::BTreeMap;

use crate::sizing::falling::falling;
use crate::sizing::probe::{Care, Probe};

/// Numbers of extra blocks that may be tried: multiples of `step` up to `most`.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    /// The resolution, at least 1.
    pub step: u64,
    /// The most extra blocks, at least one step.
    pub most: u64,
    /// Whether quick runs and settled ones are the same.
    pub is_fixed: bool,
}

/// Runs inside the bracket at a time.
const INSIDE: u64 = 3;
/// The most settled runs between one that surely misses the target and one that surely meets it.
const BETWEEN: u64 = 8;
/// A target that the quick run with the most extra blocks misses by at most this share may still be
/// met in the long run.
const NEAR: f64 = 0.05;

/// Runs, by their extra blocks divided by the step.
type Probes = BTreeMap<u64, Probe>;

/// The runs that were made, and the answer.
#[derive(Clone, Debug, Default)]
pub struct Curve {
    quick: Probes,
    settled: Probes,
    target: f64,
    step: u64,
    is_fixed: bool,
}

impl Curve {
    /// All runs, by their extra blocks, with their care; of two with the same number the settled
    /// one. The care is none if all runs are measured alike.
    pub fn probes(&self) -> impl Iterator<Item = (&Probe, Option<Care>)> {
        let of = |probes, care| {
            let care = (!self.is_fixed).then_some(care);
            Probes::iter(probes).map(move |(&at, probe)| (at, (probe, care)))
        };
        let all = of(&self.quick, Care::Quick).chain(of(&self.settled, Care::Settled));
        all.collect::<BTreeMap<_, _>>().into_values()
    }

    /// The run that is the answer; none if the target is missed with the most extra blocks.
    pub fn least(&self) -> Option<&Probe> {
        self.settled.get(&self.answer()?)
    }

    /// The numbers of extra blocks between which the answer is in the long run: above the last one
    /// that surely misses the target below all that may meet it, up to the first one above all that
    /// may miss it. The latter is none if the most extra blocks may miss it.
    pub fn range(&self) -> Option<(u64, Option<u64>)> {
        self.answer()?;
        let (below, above) = self.open();
        let least = below.map_or(0, |index| index * self.step + 1);
        Some((least, above.map(|index| index * self.step)))
    }

    /// The first index at which the falling curve that fits the settled runs meets the target.
    fn answer(&self) -> Option<u64> {
        let known = |(&index, probe): (&u64, &Probe)| Some((index, probe.write_amplification?));
        let (indices, values): (Vec<u64>, Vec<f64>) = self.settled.iter().filter_map(known).unzip();
        let at = falling(&values).iter().position(|&fitted| fitted <= self.target)?;
        Some(indices[at])
    }

    /// The settled runs around those of which it is not sure whether they meet the target: the last
    /// one below all that may meet it, and the first one above all that may miss it.
    fn open(&self) -> (Option<u64>, Option<u64>) {
        let may_meet = self.settled.iter().find(|(_, probe)| probe.may_meet(self.target));
        let may_miss = self.settled.iter().rfind(|(_, probe)| probe.may_miss(self.target));
        let end = may_meet.map_or(u64::MAX, |(&index, _)| index);
        let start = may_miss.map_or(0, |(&index, _)| index + 1);
        let below = self.settled.range(..end).next_back().map(|(&index, _)| index);
        let above = self.settled.range(start..).next().map(|(&index, _)| index);
        (below, above)
    }

    /// The greatest index whose quick run misses the target.
    fn missed(&self) -> Option<u64> {
        let mut missed = self.quick.iter().rev().filter(|(_, probe)| !probe.meets(self.target));
        missed.next().map(|(&index, _)| index)
    }

    /// The least index whose quick run meets the target together with all above it.
    fn met(&self) -> Option<u64> {
        let above = self.missed().map_or(0, |missed| missed + 1);
        self.quick.range(above..).next().map(|(&index, _)| index)
    }
}

/// A search that goes on.
struct Search<R> {
    curve: Curve,
    grid: Grid,
    run: R,
}

/// Searches the answer. `run` makes runs with this care and these numbers of extra blocks, in any
/// order or at the same time.
///
/// # Errors
/// The first error of `run`.
pub fn least_extra<E>(
    target: f64,
    grid: Grid,
    run: impl FnMut(Care, &[u64]) -> Result<Vec<Probe>, E>,
) -> Result<Curve, E> {
    assert!(grid.step > 0 && grid.most >= grid.step, "{grid:?} has no numbers");
    let Grid { step, is_fixed, .. } = grid;
    let curve = Curve { target, step, is_fixed, ..Curve::default() };
    let mut search = Search { curve, grid, run };
    search.descend()?;
    search.narrow()?;
    if let Some(start) = search.start() {
        search.widen(start)?;
        search.fill()?;
    }
    Ok(search.curve)
}

impl<R> Search<R> {
    /// The greatest index.
    fn most(&self) -> u64 {
        self.grid.most / self.grid.step
    }

    /// Where settled runs begin; none if the target is far from what is reached.
    fn start(&self) -> Option<u64> {
        let near = |probe: &Probe| probe.meets(self.curve.target * (1.0 + NEAR));
        let largest = self.curve.quick.values().next_back().filter(|largest| near(largest));
        self.curve.met().or(largest.map(|_| self.most()))
    }
}

impl<E, R: FnMut(Care, &[u64]) -> Result<Vec<Probe>, E>> Search<R> {
    /// Tries these indices, unless they were tried with this care. Returns whether any was new.
    fn measure(&mut self, care: Care, indices: impl IntoIterator<Item = u64>) -> Result<bool, E> {
        let known = match care {
            Care::Quick => &self.curve.quick,
            Care::Settled => &self.curve.settled,
        };
        let mut new: Vec<u64> =
            indices.into_iter().filter(|index| !known.contains_key(index)).collect();
        new.sort_unstable();
        new.dedup();
        let is_new = !new.is_empty();
        if care == Care::Settled && self.grid.is_fixed {
            let quick = &self.curve.quick;
            let same = new.iter().filter_map(|index| Some((*index, quick.get(index)?.clone())));
            self.curve.settled.extend(same);
            new.retain(|index| !quick.contains_key(index));
        }
        let blocks: Vec<u64> = new.iter().map(|index| index * self.grid.step).collect();
        if !blocks.is_empty() {
            let found = new.into_iter().zip((self.run)(care, &blocks)?);
            match care {
                Care::Quick => self.curve.quick.extend(found),
                Care::Settled => self.curve.settled.extend(found),
            }
        }
        Ok(is_new)
    }

    /// Halves the number until the target is missed.
    fn descend(&mut self) -> Result<(), E> {
        let mut next = self.most();
        loop {
            self.measure(Care::Quick, [next, next / 2])?;
            if self.curve.missed().is_some() || next / 2 == 0 {
                return Ok(());
            }
            next /= 4;
        }
    }

    /// Closes the bracket between one that meets the target and the next lower one, which misses
    /// it.
    fn narrow(&mut self) -> Result<(), E> {
        while let (Some(met), Some(missed)) = (self.curve.met(), self.curve.missed()) {
            if !self.measure(Care::Quick, between(missed, met, INSIDE))? {
                break;
            }
        }
        Ok(())
    }

    /// Tries ever more distant numbers, until the least surely misses the target and the greatest
    /// surely meets it.
    fn widen(&mut self, start: u64) -> Result<(), E> {
        let (most, target) = (self.most(), self.curve.target);
        self.measure(Care::Settled, start.saturating_sub(1)..=(start + 1).min(most))?;
        let mut stride = 1;
        loop {
            let ends = self.curve.settled.iter();
            let least = ends.clone().next().filter(|(_, probe)| probe.may_meet(target));
            let greatest = ends.clone().next_back().filter(|(_, probe)| probe.may_miss(target));
            let lower = least.map(|(&index, _)| index.saturating_sub(stride));
            let higher = greatest.map(|(&index, _)| (index + stride).min(most));
            if !self.measure(Care::Settled, lower.into_iter().chain(higher))? {
                return Ok(());
            }
            stride *= 2;
        }
    }

    /// Tries numbers of which it is not sure whether they meet the target, then all next to the
    /// answer.
    fn fill(&mut self) -> Result<(), E> {
        if let (Some(below), above) = self.curve.open() {
            let above = above.unwrap_or(self.most());
            self.measure(Care::Settled, between(below, above, BETWEEN))?;
        }
        while let Some(answer) = self.curve.answer() {
            let below = self.curve.settled.range(..answer).next_back().map(|(&index, _)| index);
            let next = below.map_or(Vec::new(), |below| between(below, answer, INSIDE));
            if !self.measure(Care::Settled, next)? {
                break;
            }
        }
        Ok(())
    }
}

/// At most so many indices between two, evenly spaced.
fn between(low: u64, high: u64, most: u64) -> Vec<u64> {
    let parts = most.min(high.saturating_sub(low + 1));
    let at = |part: u64| low + (part * (high - low)).div_ceil(parts + 1);
    (1..=parts).map(at).filter(|&index| index < high).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run with this write amplification and uncertainty.
    fn probe(extra_blocks: u64, write_amplification: Option<f64>, uncertainty: f64) -> Probe {
        Probe {
            extra_blocks,
            write_amplification,
            uncertainty: Some(uncertainty),
            ..Probe::default()
        }
    }

    /// Searches on a curve of 1,000 logical blocks, whose quick runs are `bias` off. Returns the
    /// curve that was found, and what was tried.
    fn searched(
        target: f64,
        grid: Grid,
        [bias, uncertainty]: [f64; 2],
        curve: impl Fn(u64) -> Option<f64>,
    ) -> (Curve, Vec<(Care, u64)>) {
        let mut tried = Vec::new();
        let run = |care, blocks: &[u64]| {
            tried.extend(blocks.iter().map(|&extra| (care, extra)));
            let off = if care == Care::Quick { bias } else { 0.0 };
            let of = |&extra: &u64| probe(extra, curve(extra).map(|it| it + off), uncertainty);
            Ok::<_, ()>(blocks.iter().map(of).collect())
        };
        let found = least_extra(target, grid, run).unwrap();
        let mut once = tried.clone();
        once.sort_unstable_by_key(|&(care, extra)| (care == Care::Quick, extra));
        once.dedup();
        assert_eq!(once.len(), tried.len(), "no run is made twice");
        (found, tried)
    }

    fn least(curve: &Curve) -> Option<u64> {
        curve.least().map(|probe| probe.extra_blocks)
    }

    /// A curve like that of uniform writes; the FTL needs two blocks.
    fn smooth(extra: u64) -> Option<f64> {
        let share = extra as f64 / 1000.0;
        (extra >= 2).then(|| (1.0 + share) / (2.0 * share))
    }

    /// The least number whose value on a falling curve meets the target.
    fn least_of(target: f64, most: u64, curve: impl Fn(u64) -> Option<f64>) -> Option<u64> {
        (0..=most).find(|&extra| curve(extra).is_some_and(|it| it <= target))
    }

    const FINE: Grid = Grid { step: 1, most: 1000, is_fixed: false };
    const EXACT: [f64; 2] = [0.0, 0.0];

    #[test]
    fn the_answer_is_that_of_a_fine_sweep() {
        for target in [1.0, 1.001, 1.05, 1.5, 2.0, 3.3, 7.0, 50.0, 249.0, 250.5, 1e9] {
            let (found, tried) = searched(target, FINE, EXACT, smooth);
            assert_eq!(least(&found), least_of(target, 1000, smooth), "{target}");
            let sure = least(&found).map(|it| (it, Some(it)));
            assert_eq!(found.range(), sure, "{target}");
            assert!(tried.len() <= 32, "{target}: {} runs", tried.len());
        }
        for most in 1..40 {
            for target in [13.1, 20.0, 100.0, 300.0] {
                let grid = Grid { most, ..FINE };
                let found = searched(target, grid, EXACT, smooth).0;
                assert_eq!(least(&found), least_of(target, most, smooth), "{target} up to {most}");
            }
        }
    }

    #[test]
    fn only_multiples_of_the_resolution_are_tried() {
        let grid = Grid { step: 50, ..FINE };
        let (found, tried) = searched(2.0, grid, EXACT, smooth);
        assert_eq!(least(&found), Some(350), "334 blocks meet the target");
        assert_eq!(found.range(), Some((301, Some(350))));
        assert!(tried.iter().all(|(_, extra)| extra.is_multiple_of(50)) && tried.len() <= 12);
    }

    #[test]
    fn expensive_runs_far_below_the_answer_are_not_made() {
        let (_, tried) = searched(2.0, FINE, EXACT, smooth);
        assert!(tried.iter().all(|(_, extra)| *extra >= 125), "{tried:?}");
        let settled = tried.iter().filter(|(care, _)| *care == Care::Settled).count();
        assert!(settled <= 4, "long runs are few: {tried:?}");
    }

    #[test]
    fn an_unreachable_target_takes_two_runs() {
        let (found, tried) = searched(0.9, FINE, EXACT, smooth);
        assert_eq!((least(&found), found.range(), tried.len()), (None, None, 2));
        assert_eq!(least(&searched(2.0, FINE, EXACT, |_| None).0), None, "no device works");
    }

    #[test]
    fn fixed_runs_are_not_made_again() {
        let grid = Grid { is_fixed: true, ..FINE };
        let (found, mut tried) = searched(2.0, grid, EXACT, smooth);
        assert_eq!(least(&found), Some(334));
        tried.sort_unstable_by_key(|&(_, extra)| extra);
        tried.dedup_by_key(|&mut (_, extra)| extra);
        assert_eq!(tried.len(), found.probes().count());
    }

    /// Quick runs see a device that still remembers how it was filled.
    #[test]
    fn quick_runs_only_find_the_place() {
        for bias in [-0.1, -0.01, 0.01, 0.1, 0.4] {
            let (found, _) = searched(2.0, FINE, [bias, 0.0], smooth);
            assert_eq!(least(&found), Some(334), "{bias}");
        }
        // With the most blocks, quick runs miss the target and settled ones meet it.
        let (found, _) = searched(1.0, FINE, [0.01, 0.0], smooth);
        assert_eq!((least(&found), found.range()), (Some(1000), Some((1000, Some(1000)))));
    }

    /// Every fourth number is better or worse than its neighbours.
    #[test]
    fn the_range_has_the_answer_of_a_curve_without_noise() {
        for chance in 0..4 {
            for noise in [-0.02, 0.02] {
                let noisy = |extra: u64| {
                    let noise = if extra % 4 == chance { noise } else { 0.0 };
                    smooth(extra).map(|it| it + noise)
                };
                let (found, tried) = searched(2.0, FINE, [0.0, 0.02], noisy);
                let (from, to) = found.range().unwrap();
                assert!(from <= 334 && to.unwrap() >= 334, "{chance}: {from} to {to:?}");
                assert!(from >= 320 && to.unwrap() <= 350, "{chance}: {from} to {to:?}");
                let least = found.least().unwrap();
                assert!(least.meets(2.0) && least.extra_blocks.abs_diff(334) <= 5, "{least:?}");
                assert!(tried.len() <= 45, "{} runs", tried.len());
            }
        }
    }

    /// All hot pages fit from a number on.
    #[test]
    fn the_answer_may_be_a_step_of_the_curve() {
        for step in [5, 137, 138, 500, 999, 1000] {
            let stepped = |extra: u64| Some(if extra < step { 2.5 } else { 1.2 });
            let (found, _) = searched(2.0, FINE, [0.0, 0.05], stepped);
            assert_eq!((least(&found), found.range()), (Some(step), Some((step, Some(step)))));
        }
    }

    /// The most extra blocks may be too few.
    #[test]
    fn a_range_may_have_no_end() {
        let grid = Grid { most: 335, ..FINE };
        let (found, _) = searched(2.0, grid, [0.0, 0.01], smooth);
        let (from, to) = found.range().unwrap();
        assert!(least(&found) == Some(334) && from < 334 && to.is_none(), "{from} to {to:?}");
    }

    #[test]
    fn errors_end_the_search() {
        let error = least_extra(2.0, FINE, |_, _| Err::<Vec<Probe>, _>("broken")).unwrap_err();
        assert_eq!(error, "broken");
    }
}
