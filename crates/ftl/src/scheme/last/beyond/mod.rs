//! Three tuners beyond the paper, all off by default. Its conclusion (LAST §5) leaves the first two
//! as future work.
//!
//! * `sequential=adaptive` sizes the sequential log by what one more block would save on either
//!   part of the log ([`earnings`]): after every log·Np pages written to the log, one block (or a
//!   256th of a large log) goes to the part that would save more.
//! * `detector=streams` also recognises sequential streams of small writes: a run that continues a
//!   stream is sequential if the stream including this run is larger than the threshold
//!   ([`stream_table`]). This holds for runs of one page too.
//! * `threshold=auto` chooses the threshold by the costs of rivals ([`threshold`]).
//!
//! The scheme tells [`Tuners`] what happens to its log, and asks it for the size of the sequential
//! log. Without a tuner nothing changes. The automatic threshold holds the scheme instead.

pub mod earnings;
pub mod stream_table;
pub mod threshold;

use nand::Lpn;
use spec::Params;

use self::earnings::Earnings;
use self::stream_table::StreamTable;
use super::merge_costs::MergeCosts;
use super::random_victim::RandomVictim;
use crate::contract::Run;
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge::MergePlan;

/// The tuners that are on.
pub struct Tuners {
    earnings: Option<Earnings>,
    streams: Option<StreamTable>,
}

impl Tuners {
    /// The tuners that the parameters name, for at most `log_blocks` log blocks.
    pub fn new(params: &Params, map: &LogMap<MergeCosts>, log_blocks: u32) -> Tuners {
        let (sizes, streams) = (params.choice("sequential"), params.choice("detector"));
        let pages = map.pages_per_block();
        Tuners {
            earnings: (sizes == "adaptive").then(|| Earnings::new(log_blocks, pages)),
            streams: (streams == "streams").then(StreamTable::default),
        }
    }

    // ---- Detector -------------------------------------------------------------------------------

    /// Whether a run continues a stream that, including this run, is larger than the threshold.
    #[inline]
    pub fn continues_stream(&mut self, run: &Run, threshold_bytes: u64, page_bytes: u32) -> bool {
        let stream = self.streams.as_mut().and_then(|it| it.extend(run.first, run.pages));
        stream.is_some_and(|pages| pages * u64::from(page_bytes) > threshold_bytes)
    }

    // ---- The log --------------------------------------------------------------------------------

    /// A logical block gets a sequential log block, for a run that starts at `lpn`.
    pub fn opened(&mut self, map: &LogMap<MergeCosts>, lpn: Lpn) {
        if let Some(earnings) = &mut self.earnings {
            let lbn = map.lbn_of(lpn);
            earnings.note_opened(lbn, lpn.0 - lbn * map.pages_per_block());
        }
    }

    /// The sequential log block of a logical block was merged as planned, for lack of room.
    pub fn evicted(&mut self, lbn: Lbn, plan: MergePlan) {
        if let (Some(earnings), MergePlan::Partial { from }) = (&mut self.earnings, plan) {
            earnings.note_merged(lbn, from);
        }
    }

    /// A random victim is about to be merged.
    pub fn takes(&mut self, map: &LogMap<MergeCosts>, victim: &RandomVictim) {
        if let Some(earnings) = &mut self.earnings {
            earnings.note_victim(map, &victim.pages);
        }
    }

    // ---- Sizes ----------------------------------------------------------------------------------

    /// Whether the size of the sequential log changes.
    pub fn resizes(&self) -> bool {
        self.earnings.is_some()
    }

    /// The maximum number of pages to be written at a time, so that sizes are re-evaluated in time.
    #[inline]
    pub fn pages_max(&self) -> u32 {
        self.earnings.as_ref().map_or(u32::MAX, Earnings::pages_left)
    }

    /// Counts pages written to the log. Returns the new size of the sequential log when it is
    /// re-evaluated.
    #[inline]
    pub fn resize(&mut self, pages: u32, sequential_blocks: u32) -> Option<u32> {
        self.earnings.as_mut().and_then(|earnings| earnings.resize(pages, sequential_blocks))
    }

    // ---- Queries --------------------------------------------------------------------------------

    /// Bytes of RAM.
    pub fn ram_bytes(&self) -> u64 {
        self.streams.as_ref().map_or(0, |_| 8 * stream_table::ENDS as u64)
    }
}
