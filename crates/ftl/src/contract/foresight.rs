//! Knowledge of the future: when each page that the host writes will die.
//!
//! A page *dies* when the host overwrites or trims it. Only the replay of a trace can know this. A
//! scheme that [needs the future](super::scheme::Scheme::needs_future) is told. All times are
//! counted in pages that the host has written, from the first write to the device on.

use core::fmt::Debug;

use super::error::Result;

/// The death of a page that lives until the end.
pub const NEVER: u64 = u64::MAX;

/// Where knowledge of the future comes from. Each mount gets it from the beginning.
pub trait Foresight: Debug + Send + Sync {
    /// How long pages live that the host writes.
    fn lifespans(&self) -> &Lifespans;

    /// The deaths of all pages that the host will write, in the order of the writes.
    ///
    /// # Errors
    /// They cannot be read.
    fn deaths(&self) -> Result<Box<dyn Deaths>>;
}

/// Deaths of pages, in the order in which the host writes the pages.
pub trait Deaths: Send {
    /// The death of the next page that the host writes: the number of pages that the host will have
    /// written before the page is overwritten or trimmed, or [`NEVER`].
    ///
    /// # Errors
    /// It cannot be read, or the host writes more pages than were foreseen.
    fn next(&mut self) -> Result<u64>;
}

/// Bins to a doubling of the lifespan.
const BINS_PER_OCTAVE: u32 = 4;
/// Number of bins: lifespans have up to 64 bits.
const BINS: usize = 64 * BINS_PER_OCTAVE as usize;

/// How many pages live how long, in four bins to a doubling. Lifespans below 4 have a bin each.
#[derive(Clone, Debug)]
pub struct Lifespans {
    bins: Vec<u64>,
    /// All pages, those that never die included.
    pages: u64,
}

/// A bin: its number, the shortest lifespan in it, and the first one beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LifespanBin {
    /// Its number.
    pub number: usize,
    /// The shortest lifespan.
    pub from: f64,
    /// The first lifespan beyond.
    pub to: f64,
}

impl Default for Lifespans {
    fn default() -> Lifespans {
        Lifespans { bins: vec![0; BINS], pages: 0 }
    }
}

impl Lifespans {
    /// The number of the bin of a lifespan, which is at least 1.
    #[inline]
    pub fn bin_of(lifespan: u64) -> usize {
        let octave = lifespan.max(1).ilog2();
        let part = if octave < 2 { 0 } else { lifespan >> (octave - 2) & 3 };
        (octave * BINS_PER_OCTAVE) as usize + part as usize
    }

    /// Adds a page; none if it never dies.
    #[inline]
    pub fn add(&mut self, lifespan: Option<u64>) {
        self.pages += 1;
        if let Some(lifespan) = lifespan {
            self.bins[Lifespans::bin_of(lifespan)] += 1;
        }
    }

    /// All bins that a lifespan can be in, ascending.
    pub fn bins() -> impl Iterator<Item = LifespanBin> {
        (0..BINS).filter_map(|number| {
            let (octave, part) = (number as u32 / BINS_PER_OCTAVE, number as u32 % BINS_PER_OCTAVE);
            let start = (octave as f64).exp2();
            let (parts, is_there) = if octave < 2 { (1.0, part == 0) } else { (4.0, true) };
            let from = start * (1.0 + f64::from(part) / parts);
            is_there.then_some(LifespanBin { number, from, to: from + start / parts })
        })
    }

    /// The share of all pages whose lifespan is in a bin, for each host page of its width.
    pub fn density(&self, bin: LifespanBin) -> f64 {
        let pages = self.bins[bin.number] as f64;
        if self.pages == 0 { 0.0 } else { pages / self.pages as f64 / (bin.to - bin.from) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lifespan_is_in_the_bin_whose_limits_contain_it() {
        for lifespan in (1..200).chain([1 << 20, (1 << 20) + 1, (7 << 18) - 1, 1 << 52]) {
            let number = Lifespans::bin_of(lifespan);
            let bin = Lifespans::bins().find(|bin| bin.number == number).unwrap();
            let limits = bin.from..bin.to;
            assert!(limits.contains(&(lifespan as f64)), "{lifespan} is in {bin:?}");
        }
        let adjacent: Vec<_> = Lifespans::bins().collect();
        assert!(adjacent.windows(2).all(|pair| pair[0].to == pair[1].from));
    }

    #[test]
    fn densities_add_up_to_the_share_of_pages_that_die() {
        let mut lifespans = Lifespans::default();
        (1..=300).for_each(|lifespan| lifespans.add(Some(lifespan)));
        (0..100).for_each(|_| lifespans.add(None));
        let sum: f64 =
            Lifespans::bins().map(|bin| lifespans.density(bin) * (bin.to - bin.from)).sum();
        assert!((sum - 0.75).abs() < 1e-12, "{sum}");
    }
}
