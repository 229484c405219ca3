//! Three tuners beyond the paper, all off by default. Its conclusion (LAST §5) leaves the first two
//! as future work.
//!
//! * `sequential=adaptive` sizes the sequential log by what one more block would save on either
//!   part of the log ([`earnings`]): after every log·Np pages written to the log, one block (or a
//!   256th of a large log) goes to the part that would save more.
//! * `detector=streams` also recognises sequential streams of small writes: a run that continues a
//!   stream is sequential if the stream including this run is larger than the threshold
//!   ([`stream_table`]). This holds for runs of one page too.
//! * `threshold=auto` chooses the threshold by what requests of each size cost in either log
//!   ([`threshold`]).
//!
//! The scheme tells [`Tuners`] what happens to its log, and asks it for the threshold and the size
//! of the sequential log. Without a tuner nothing changes.

pub mod earnings;
pub mod stream_table;
pub mod threshold;

use nand::{Geometry, Lpn};
use spec::{Params, Value};

use self::earnings::Earnings;
use self::stream_table::StreamTable;
use self::threshold::AutoThreshold;
use super::merge_costs::MergeCosts;
use super::random_partition::RandomPartitions;
use super::random_victim::RandomVictim;
use super::sequential_log::Appended;
use crate::contract::{Run, Violation};
use crate::part::log::log_map::{Lbn, LogMap};
use crate::part::log::merge::MergePlan;

/// The tuners that are on.
pub struct Tuners {
    earnings: Option<Earnings>,
    threshold: Option<AutoThreshold>,
    streams: Option<StreamTable>,
}

impl Tuners {
    /// The tuners that the parameters name, for at most `log_blocks` log blocks.
    pub fn new(params: &Params, map: &LogMap<MergeCosts>, log_blocks: u32) -> Tuners {
        let (pages, logical_blocks) = (map.pages_per_block(), map.logical_blocks());
        let (sizes, streams) = (params.choice("sequential"), params.choice("detector"));
        let is_auto = !matches!(params.get("threshold"), Some(Value::Size(_)));
        Tuners {
            earnings: (sizes == "adaptive").then(|| Earnings::new(log_blocks, pages)),
            threshold: is_auto.then(|| AutoThreshold::new(logical_blocks, log_blocks, pages)),
            streams: (streams == "streams").then(StreamTable::default),
        }
    }

    // ---- Detector -------------------------------------------------------------------------------

    /// The threshold for a run; none if it is fixed.
    #[inline]
    pub fn threshold_bytes(&self, map: &LogMap<MergeCosts>, run: &Run) -> Option<u64> {
        self.threshold.as_ref().map(|auto| auto.bytes_for(map.lbn_of(run.first)))
    }

    /// Whether a run continues a stream that, including this run, is larger than the threshold.
    #[inline]
    pub fn continues_stream(&mut self, run: &Run, threshold_bytes: u64, page_bytes: u32) -> bool {
        let stream = self.streams.as_mut().and_then(|it| it.extend(run.first, run.pages));
        stream.is_some_and(|pages| pages * u64::from(page_bytes) > threshold_bytes)
    }

    // ---- The sequential log ---------------------------------------------------------------------

    /// A logical block gets a sequential log block, for a run that starts at `lpn`.
    pub fn opened(&mut self, map: &LogMap<MergeCosts>, lpn: Lpn) {
        if let Some(earnings) = &mut self.earnings {
            let lbn = map.lbn_of(lpn);
            earnings.note_opened(lbn, lpn.0 - lbn * map.pages_per_block());
        }
    }

    /// Pages of a run, from page `index` on, were written to the sequential log.
    #[inline]
    pub fn wrote_sequential(
        &mut self,
        map: &LogMap<MergeCosts>,
        run: &Run,
        index: u32,
        appended: Appended,
    ) {
        if let Some(auto) = &mut self.threshold {
            let lbn = map.lbn_of(run.first.plus(index));
            auto.wrote_sequential(lbn, run.request_bytes, appended.filled_in);
            auto.count(appended.pages);
        }
    }

    /// The sequential log block of a logical block was merged as planned.
    pub fn merged(&mut self, lbn: Lbn, plan: MergePlan) {
        if let Some(auto) = &mut self.threshold {
            auto.settle_sequential(lbn, plan);
        }
    }

    /// The same happened for lack of room.
    pub fn evicted(&mut self, lbn: Lbn, plan: MergePlan) {
        if let (Some(earnings), MergePlan::Partial { from }) = (&mut self.earnings, plan) {
            earnings.note_merged(lbn, from);
        }
    }

    // ---- The random log -------------------------------------------------------------------------

    /// Page `index` of a run was written to a place of the random log.
    #[inline]
    pub fn wrote_random(&mut self, run: &Run, index: u32, place: usize) {
        if let Some(auto) = &mut self.threshold {
            auto.wrote_random(run, index, place);
            auto.count(1);
        }
    }

    /// A random victim is about to be merged.
    pub fn takes(
        &mut self,
        geometry: &Geometry,
        map: &LogMap<MergeCosts>,
        random: &RandomPartitions,
        victim: &RandomVictim,
    ) {
        if let Some(earnings) = &mut self.earnings {
            earnings.note_victim(map, &victim.pages);
        }
        let Some(auto) = &mut self.threshold else { return };
        auto.settle_random(random.places_of(geometry, victim.block));
        for pages in victim.pages.chunk_by(|one, other| map.lbn_of(*one) == map.lbn_of(*other)) {
            auto.charge_random(random.place_of(geometry, map.flat.entry(pages[0].0)));
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
        let streams = self.streams.as_ref().map_or(0, |_| 8 * stream_table::ENDS as u64);
        streams + self.threshold.as_ref().map_or(0, AutoThreshold::ram_bytes)
    }

    /// The automatic threshold.
    pub fn gauge(&self) -> Option<(&'static str, f64)> {
        self.threshold.as_ref().map(|auto| ("threshold_bytes", auto.bytes() as f64))
    }

    /// Checks that only logical blocks with a sequential log block have an account there.
    ///
    /// # Errors
    /// The first that has one without such a block.
    pub fn audit(&self, serves: impl Fn(Lbn) -> bool) -> Result<(), Violation> {
        self.threshold.as_ref().map_or(Ok(()), |auto| auto.audit(serves))
    }
}
