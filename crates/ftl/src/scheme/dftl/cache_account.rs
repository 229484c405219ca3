//! An account of dftl's cache: its figures, and what a layer needs to know that divides DRAM
//! between the cache and a buffer (adaptive partitioning, §III.D and Table IV).
//!
//! Hit ratios and F_b, the mean number of entries that a batch cleans, count since the costs were
//! last asked for. T_two and T_dwo, what the reclaim of a block adds to each program, count since
//! the mount.

use nand::{Lpn, Timing};

use crate::contract::{MapEvent, Metric, MissCosts};

/// The purpose for which an entry is looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// A read.
    Read,
    /// A write or a trim.
    Write,
}

/// Counts, costs and events of the cache.
#[derive(Clone, Debug)]
pub struct CacheAccount {
    /// The chip's latencies.
    pub timing: Timing,
    pages_per_block: u32,
    /// Since the last reset.
    counts: Counts,
    /// Since the costs were last asked for.
    interval: LookUps,
    reclaimed: ReclaimCosts,
    /// The recorded events, if a layer watches the cache.
    events: Option<Vec<MapEvent>>,
}

/// Look-ups and batches.
#[derive(Clone, Copy, Debug, Default)]
struct LookUps {
    /// Hits and misses, by access.
    hits: [u64; 2],
    misses: [u64; 2],
    /// Evictions of dirty entries, and the number of entries that they cleaned.
    batches: u64,
    cleaned: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    look_ups: LookUps,
    data_victims: u64,
    translation_victims: u64,
    translation_copies: u64,
    /// Translation pages rewritten because garbage collection moved pages.
    updates: u64,
}

/// Number of reclaimed blocks and time of their reclaim, since the mount.
#[derive(Clone, Copy, Debug, Default)]
struct ReclaimCosts {
    data_blocks: u64,
    data_ns: u64,
    translation_blocks: u64,
    translation_ns: u64,
}

impl CacheAccount {
    /// An account without events.
    pub fn new(timing: Timing, pages_per_block: u32) -> CacheAccount {
        CacheAccount {
            timing,
            pages_per_block,
            counts: Counts::default(),
            interval: LookUps::default(),
            reclaimed: ReclaimCosts::default(),
            events: None,
        }
    }

    // ---- Events ---------------------------------------------------------------------------------

    /// An entry was looked up.
    #[inline]
    pub fn looked_up(&mut self, lpn: Lpn, access: Access, hit: bool) {
        for look_ups in [&mut self.counts.look_ups, &mut self.interval] {
            let counts = if hit { &mut look_ups.hits } else { &mut look_ups.misses };
            counts[access as usize] += 1;
        }
        if !hit {
            self.note(match access {
                Access::Read => MapEvent::ReadMissed(lpn),
                Access::Write => MapEvent::WriteMissed(lpn),
            });
        }
    }

    /// A dirty entry is evicted: its translation page was rewritten, which cleaned `entries`.
    pub fn rewrote(&mut self, entries: u32) {
        for look_ups in [&mut self.counts.look_ups, &mut self.interval] {
            look_ups.batches += 1;
            look_ups.cleaned += u64::from(entries);
        }
    }

    /// An entry was evicted.
    #[inline]
    pub fn left(&mut self, lpn: Lpn) {
        self.note(MapEvent::Left(lpn));
    }

    /// A translation block was emptied, with this number of copies, and erased.
    pub fn reclaimed_translation(&mut self, copies: u64) {
        self.counts.translation_victims += 1;
        self.counts.translation_copies += copies;
        self.reclaimed.translation_blocks += 1;
        self.reclaimed.translation_ns += self.rewrites_ns(copies) + self.timing.erase_ns;
    }

    /// A data block was emptied, with this number of copies and of rewritten translation pages, and
    /// erased.
    pub fn reclaimed_data(&mut self, copies: u64, updates: u64) {
        self.counts.data_victims += 1;
        self.counts.updates += updates;
        self.reclaimed.data_blocks += 1;
        self.reclaimed.data_ns += self.rewrites_ns(copies + updates) + self.timing.erase_ns;
    }

    /// Starts to record events.
    pub fn watch(&mut self) {
        self.events = Some(Vec::new());
    }

    /// Appends the events since the last call.
    pub fn take_events(&mut self, events: &mut Vec<MapEvent>) {
        if let Some(own) = &mut self.events {
            events.append(own);
        }
    }

    #[inline]
    fn note(&mut self, event: MapEvent) {
        if let Some(events) = &mut self.events {
            events.push(event);
        }
    }

    // ---- Costs ----------------------------------------------------------------------------------

    /// The costs of misses (Table IV).
    pub fn miss_costs(&mut self) -> MissCosts {
        let (seen, timing) = (core::mem::take(&mut self.interval), self.timing);
        let (read, program) = (timing.read_ns as f64, timing.program_ns as f64);
        let overhead = self.translation_overhead_ns();
        let entry_write = (read + program + overhead) / seen.batch_factor();
        let data_overhead = self.data_overhead_ns();
        MissCosts {
            map_read_ns: read,
            map_write_ns: entry_write,
            buffer_read_ns: read + read * seen.miss_ratio(Access::Read),
            buffer_write_ns: program + data_overhead + entry_write * seen.miss_ratio(Access::Write),
        }
    }

    /// T_two: what reclaiming a block adds to each program of a translation page, in nanoseconds.
    fn translation_overhead_ns(&self) -> f64 {
        let ReclaimCosts { translation_ns, translation_blocks, .. } = self.reclaimed;
        ratio(translation_ns, translation_blocks, 0.0) / f64::from(self.pages_per_block)
    }

    /// T_dwo: the same for a data page.
    fn data_overhead_ns(&self) -> f64 {
        let ReclaimCosts { data_ns, data_blocks, .. } = self.reclaimed;
        ratio(data_ns, data_blocks, 0.0) / f64::from(self.pages_per_block)
    }

    /// Time of `pages` reads and `pages` programs.
    fn rewrites_ns(&self, pages: u64) -> u64 {
        pages * (self.timing.read_ns + self.timing.program_ns)
    }

    // ---- Figures --------------------------------------------------------------------------------

    /// The figures, with the number of entries in the cache.
    pub fn figures(&self, entries: u32) -> Vec<(&'static str, Metric)> {
        let (counts, look_ups) = (&self.counts, &self.counts.look_ups);
        let us = |ns: f64| Metric::Real(ns / 1000.0);
        let [read_hits, write_hits] = [0, 1].map(|access| {
            let (hits, misses) = (look_ups.hits[access], look_ups.misses[access]);
            Metric::Real(ratio(hits, hits + misses, f64::NAN))
        });
        vec![
            ("cmt_entries", Metric::Count(entries.into())),
            ("cmt_read_hit_ratio", read_hits),
            ("cmt_write_hit_ratio", write_hits),
            ("cmt_read_misses", Metric::Count(look_ups.misses[Access::Read as usize])),
            ("cmt_write_misses", Metric::Count(look_ups.misses[Access::Write as usize])),
            ("batches", Metric::Count(look_ups.batches)),
            ("F_b", Metric::Real(look_ups.batch_factor())),
            ("T_two", us(self.translation_overhead_ns())),
            ("T_dwo", us(self.data_overhead_ns())),
            ("data_victims", Metric::Count(counts.data_victims)),
            ("translation_victims", Metric::Count(counts.translation_victims)),
            ("translation_copies", Metric::Count(counts.translation_copies)),
            ("translation_updates", Metric::Count(counts.updates)),
        ]
    }

    /// Sets the figures to zero.
    pub fn reset_counts(&mut self) {
        self.counts = Counts::default();
    }
}

impl LookUps {
    /// F_b: the mean size of a batch; 1 if there was none.
    fn batch_factor(&self) -> f64 {
        ratio(self.cleaned, self.batches, 1.0)
    }

    fn miss_ratio(&self, access: Access) -> f64 {
        let (hits, misses) = (self.hits[access as usize], self.misses[access as usize]);
        ratio(misses, hits + misses, 0.0)
    }
}

/// `a / b`, or `otherwise` if b is 0.
fn ratio(a: u64, b: u64, otherwise: f64) -> f64 {
    if b == 0 { otherwise } else { a as f64 / b as f64 }
}
