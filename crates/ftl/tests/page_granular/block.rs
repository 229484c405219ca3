//! The scheme block, compared with a naive model.

use rand_core::SeedableRng;
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::device::{Counts, LOGICAL_BLOCKS, Real, step};

/// `block` under a program order: the state of each page of each data block.
struct NaiveBlock {
    order: &'static str,
    np: usize,
    /// The pages of each data block: erased (`None`), dead (`false`) or valid (`true`).
    data: Vec<Option<Vec<Option<bool>>>>,
    counts: Counts,
}

impl NaiveBlock {
    fn write(&mut self, lbn: usize, pages: std::ops::Range<usize>, partial: &[usize]) {
        let np = self.np;
        let sequential = self.order == "sequential";
        self.counts.host += pages.len() as u64;
        let slots = self.data[lbn].get_or_insert_with(|| vec![None; np]);
        let top = slots.iter().rposition(Option::is_some).map_or(0, |at| at + 1);
        let in_place = match self.order {
            "any" => pages.clone().all(|at| slots[at].is_none()),
            "ascending" => pages.start >= top,
            _ => pages.start == top || top == 0,
        };
        if in_place {
            if sequential {
                (top..pages.start).for_each(|at| slots[at] = Some(false));
                self.counts.padding += (pages.start - top) as u64;
            }
        } else {
            self.counts.rmw += partial.iter().filter(|&&at| slots[at] == Some(true)).count() as u64;
            let kept: Vec<usize> =
                (0..np).filter(|at| slots[*at] == Some(true) && !pages.contains(at)).collect();
            let end = kept.iter().copied().chain([pages.end - 1]).max().unwrap() + 1;
            let written = |at: &usize| kept.contains(at) || pages.contains(at);
            let mut fresh = vec![None; np];
            for (at, slot) in fresh.iter_mut().enumerate().take(end) {
                if written(&at) {
                    *slot = Some(true);
                } else if sequential {
                    *slot = Some(false);
                    self.counts.padding += 1;
                }
            }
            *slots = fresh;
            self.counts.copies += kept.len() as u64;
            self.counts.erases += 1;
        }
        pages.for_each(|at| slots[at] = Some(true));
    }
}

#[test]
fn block_counts_as_the_naive_model_counts() {
    for order in ["any", "ascending", "sequential"] {
        for (extra, np) in [(1, 4), (2, 6)] {
            let mut real = Real::new("block", order, np, extra);
            let data = vec![None; LOGICAL_BLOCKS as usize];
            let mut naive = NaiveBlock { order, np, data, counts: Counts::default() };
            let mut rng = Xoshiro256PlusPlus::seed_from_u64(4);
            for round in 0..3000 {
                let step = step(&mut rng, np);
                step.run_on(&mut real);
                let mut at = 0;
                while at < step.pages {
                    let (lbn, start) = ((step.first + at) / np, (step.first + at) % np);
                    let end = np.min(start + step.pages - at);
                    if step.trim {
                        let slots = naive.data[lbn].iter_mut().flat_map(|s| &mut s[start..end]);
                        slots.filter(|slot| slot.is_some()).for_each(|slot| *slot = Some(false));
                    } else {
                        let partial: Vec<usize> =
                            (start..end).filter(|o| step.is_partial(at + o - start)).collect();
                        naive.write(lbn, start..end, &partial);
                    }
                    at += end - start;
                }
                assert_eq!(real.counts(), naive.counts, "{order}, Np {np}, step {round}");
            }
            assert!(naive.counts.copies > 1000 && naive.counts.rmw > 100, "{:?}", naive.counts);
        }
    }
}
