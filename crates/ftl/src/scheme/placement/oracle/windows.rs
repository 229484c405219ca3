//! Death windows: which pages share a block, if it is known when each of them dies.
//!
//! ```text
//! now │ ─┬─┬─┬─┬──┬──┬───┬───┬─────┬─────┬─────────┬──── time of death
//!     │  windows are wider for pages that live longer, because few pages do
//! ```
//! Pages that die in the same window share a block, which is then dead without a copy. Windows lie
//! at fixed times: a window of 2^k host pages begins at a multiple of 2^k. Their widths follow from
//! what they cost in space. Let λ(r) be the share of writes whose page lives r, and w(r) the width
//! of the windows for them. A page that is dead waits w/2 on average for the end of its window, so
//! ½∫λw pages are stale. There are ∫1/w windows, and the block that each of them fills is half
//! empty on average, which are (Np/2)·∫1/w pages. The sum is least for
//!
//! ```text
//! w(r) = √(Np/λ(r))     both parts are then √Np/2 · I pages, with I/√Np windows, I = ∫√λ dr
//! ```
//! These are means. No page is ever copied if there is room for the worst case, in which a page
//! waits for a whole window and every open block is empty: **2·√Np·I** pages beyond those of the
//! host. For uniform writes to L pages λ(r) = e^(−r/L)/L, so I = 2√L, and this is 4·√(1/K) of the
//! capacity, where K = L/Np is the number of logical blocks. With half of it, 6 to 23 of 100
//! writes cost a copy. Widths are powers of two, so up to twice as many windows can be open. If
//! fewer blocks may be open than there are windows, all windows are wider by the same factor.

use crate::contract::foresight::{Lifespans, NEVER};

/// Widths beyond 2^50 host pages do not occur.
const LEVEL_MAX: f64 = 50.0;

/// A window: the pages that die before `end`, and not before the window of its width begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Window {
    /// The number of host pages written when all its pages are dead; [`NEVER`] for those that do
    /// not die.
    pub end: u64,
    /// The binary logarithm of its width.
    pub level: u8,
}

impl Window {
    /// The window of pages that never die.
    pub const OF_SURVIVORS: Window = Window { end: NEVER, level: 0 };

    /// The width in host pages.
    pub fn width(&self) -> u64 {
        1 << self.level
    }
}

/// The widths of windows by lifespan.
#[derive(Clone, Debug)]
pub struct Windows {
    /// The level of each bin of lifespans.
    levels: Vec<u8>,
    /// I, and the number of pages of a block.
    integral: f64,
    pages_per_block: f64,
}

impl Windows {
    /// Windows for pages with these lifespans, of which `open` can be filled at the same time.
    pub fn new(lifespans: &Lifespans, open: u32, pages_per_block: u32) -> Windows {
        let roots =
            Lifespans::bins().map(|bin| lifespans.density(bin).sqrt() * (bin.to - bin.from));
        let integral: f64 = roots.sum();
        let best = f64::from(pages_per_block).sqrt();
        let scale = best.max(integral / f64::from(open));
        let mut levels = Vec::new();
        let mut level = 0;
        for bin in Lifespans::bins() {
            let density = lifespans.density(bin);
            if density > 0.0 {
                let width = scale / density.sqrt();
                level = width.log2().round().clamp(0.0, LEVEL_MAX) as u8;
            }
            levels.resize(bin.number, level);
            levels.push(level);
        }
        Windows { levels, integral, pages_per_block: pages_per_block.into() }
    }

    /// The pages beyond those of the host with which no page needs to be copied, if as many blocks
    /// may be open as there are [windows](Self::needed_windows).
    pub fn needed_pages(&self) -> f64 {
        2.0 * self.pages_per_block.sqrt() * self.integral
    }

    /// The most windows that are open at the same time.
    pub fn needed_windows(&self) -> f64 {
        2.0 * self.integral / self.pages_per_block.sqrt()
    }

    /// The window of a page that is written after `now` host pages and dies at `death`.
    #[inline]
    pub fn of(&self, death: u64, now: u64) -> Window {
        if death == NEVER {
            return Window::OF_SURVIVORS;
        }
        let level = self.levels[Lifespans::bin_of(death - now)];
        Window { end: ((death >> level) + 1) << level, level }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lifespans of uniform writes to this many pages.
    fn exponential(mean: f64) -> Lifespans {
        let mut lifespans = Lifespans::default();
        let pages = 400_000;
        for nth in 0..pages {
            let rank = (f64::from(nth) + 0.5) / f64::from(pages);
            lifespans.add(Some((-mean * rank.ln()).ceil() as u64));
        }
        lifespans
    }

    #[test]
    fn windows_grow_with_the_lifespan_and_end_after_the_death() {
        let windows = Windows::new(&exponential(65_536.0), 1000, 64);
        // √(64·65536) is 2^11 for short lives; 4·2^11 at a lifespan of 65536·ln 16.
        assert_eq!(windows.of(1_000_100, 1_000_000).level, 11);
        assert_eq!(windows.of(1_000_000 + 181_000, 1_000_000).level, 13);
        for (death, now) in [(5, 4), (70_000, 12), (1 << 30, (1 << 30) - 9)] {
            let window = windows.of(death, now);
            assert!(window.end > death && window.end - death <= window.width(), "{window:?}");
        }
        assert_eq!(windows.of(NEVER, 7), Window::OF_SURVIVORS);
    }

    #[test]
    fn uniform_writes_need_four_roots_of_the_number_of_blocks() {
        let windows = Windows::new(&exponential(65_536.0), 64, 64);
        let spare = windows.needed_pages() / 65_536.0;
        assert!((spare / (4.0 / 1024_f64.sqrt()) - 1.0).abs() < 0.03, "{spare}");
        assert!((windows.needed_windows() / 128.0 - 1.0).abs() < 0.03);
    }

    #[test]
    fn fewer_open_blocks_make_wider_windows() {
        // With 2·√1024 = 64 windows none is wider than it must be.
        let level = |open| Windows::new(&exponential(65_536.0), open, 64).of(100, 0).level;
        assert_eq!((level(64), level(32), level(16), level(8)), (11, 12, 13, 14));
    }
}
