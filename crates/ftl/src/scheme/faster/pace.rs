//! The pace at which FASTer's firmware (Lim 2011) merges isolated pages while the area has room. It
//! tunes itself.
//!
//! A merge is due after every 2·*interval* pages of the host. When the host has written an eighth
//! of the log, the interval is looked at:
//!
//! ```text
//! one block of the area is full           the interval grows by a page: merges came too fast
//! the area was crowded since last time    the base shrinks by a page and becomes the interval
//! ```
//! Interval and base begin at a quarter of a block. The base only shrinks, so merges come faster
//! each time the area was crowded. A base of one page goes back to where it began. The interval is
//! a whole number, so the pace at which it comes to rest depends on the history.

/// The pace of merges, in pages of the host.
#[derive(Clone, Debug)]
pub struct Pace {
    interval: u64,
    base: u64,
    /// Where interval and base begin.
    first: u64,
    /// Pages since the last merge at this pace.
    waited: u64,
    /// Pages since the interval was looked at.
    written: u64,
    /// Pages after which it is looked at.
    period: u64,
    was_crowded: bool,
}

impl Pace {
    /// The pace after a mount, for a log of `log_pages` beside the isolation area.
    pub fn new(pages_per_block: u32, log_pages: u64) -> Pace {
        let first = u64::from(pages_per_block / 4).max(1);
        Pace {
            interval: first,
            base: first,
            first,
            waited: 0,
            written: 0,
            period: log_pages / 8,
            was_crowded: false,
        }
    }

    /// Notes that the area is crowded.
    pub fn note_crowded(&mut self) {
        self.was_crowded = true;
    }

    /// Counts a page that a merge may follow. Returns whether one is due.
    pub fn is_due(&mut self) -> bool {
        self.waited += 1;
        let is_due = self.waited >= 2 * self.interval;
        if is_due {
            self.waited = 0;
        }
        is_due
    }

    /// Counts pages of the host. Tunes the interval if it is time and some block of the area is
    /// full; `full` is their number.
    pub fn tune(&mut self, pages: u32, full: u32) {
        self.written += u64::from(pages);
        if self.written < self.period || full == 0 {
            return;
        }
        self.written = 0;
        if self.base == 1 {
            self.base = self.first;
        }
        if full == 1 {
            self.interval += 1;
        } else if self.was_crowded {
            self.base = (self.base - 1).max(1);
            self.interval = self.base;
            self.was_crowded = false;
        }
    }
}
