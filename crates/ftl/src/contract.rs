//! What every flash translation layer promises, and what it may ask.
//!
//! The unit is a [`Run`]: consecutive logical pages of one request. Not single pages, because some
//! schemes judge by the request's size (last), by its extent (block, lsb) or by sequence (fast).
//!
//! The chip is lent and owned by nobody below: dropping an FTL and mounting another on the same
//! chip is a power cycle. An FTL sees neither time nor statistics; ages are counted in writes.

use core::fmt;
use core::ops::Range;

use nand::{BlockId, ChipModel, Data, Geometry, Lpn, Nand, SectorMask, Sink, Timing};
use spec::{Param, Params};

/// Consecutive logical pages of one request.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    /// The first page.
    pub first: Lpn,
    /// How many pages, at least one.
    pub pages: u32,
    /// The sectors concerned in the first page.
    pub head: SectorMask,
    /// The sectors concerned in the last page; equal to `head` in a run of one page. Pages between
    /// are concerned whole.
    pub tail: SectorMask,
    /// Bytes of the request that the run is part of, as the host sent it.
    pub request_bytes: u64,
    /// For writes: the host's data, starting with the first page.
    pub data: Data<'a>,
}

impl<'a> Run<'a> {
    /// A run of whole pages.
    pub fn whole(first: Lpn, pages: u32, page_bytes: u32, data: Data<'a>) -> Run<'a> {
        let full = u64::MAX >> (64 - page_bytes / nand::geometry::SECTOR_BYTES);
        let request_bytes = u64::from(pages) * u64::from(page_bytes);
        Run { first, pages, head: full, tail: full, request_bytes, data }
    }

    /// The sectors concerned in page `index`; `full` is the mask of a whole page.
    #[inline]
    pub fn mask(&self, index: u32, full: SectorMask) -> SectorMask {
        match index {
            0 => self.head,
            _ if index + 1 == self.pages => self.tail,
            _ => full,
        }
    }

    /// How many pages from `index` on are concerned whole.
    #[inline]
    pub fn whole_pages_from(&self, index: u32, full: SectorMask) -> u32 {
        if index == 0 && self.head != full {
            return 0;
        }
        self.pages - index - u32::from(self.tail != full)
    }

    /// The run of some of its pages, which says that it belongs to the same request.
    pub fn part(&self, pages: Range<u32>, full: SectorMask, page_bytes: u32) -> Run<'a> {
        Run {
            first: self.first.plus(pages.start),
            pages: pages.end - pages.start,
            head: self.mask(pages.start, full),
            tail: self.mask(pages.end - 1, full),
            request_bytes: self.request_bytes,
            data: self.data.from_page(pages.start, page_bytes),
        }
    }

    /// The last page.
    pub fn last(&self) -> Lpn {
        self.first.plus(self.pages - 1)
    }
}

/// A flash translation layer.
///
/// Callers guarantee that runs lie within the capacity and that the chip is the one it was mounted
/// on. After an error the FTL may only be dropped.
pub trait Ftl {
    /// Hands the newest sectors of the run to the sink, which the caller has cleared: pages never
    /// written, or trimmed, are not put. One read of the flash a mapped page, cause host.
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()>;

    /// Writes a run. When this returns, `read` sees it; after `flush`, so does a fresh mount. One
    /// program of cause host a page, whatever else the scheme must do.
    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()>;

    /// Forgets whole pages: they read zero from now on and, after `flush` under
    /// [`Durability::Full`], after every mount. Pages that nothing maps are no error.
    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()>;

    /// Makes all that was answered survive a power cut.
    fn flush(&mut self, nand: &mut Nand) -> Result<()>;

    /// Makes a run that was just written survive a power cut (forced unit access).
    fn flush_run(&mut self, nand: &mut Nand, _run: &Run) -> Result<()> {
        self.flush(nand)
    }

    /// Called after each request of the host, however many runs it was cut into: what regulates
    /// itself by requests does so now. Layers alone need to hear of it.
    fn end_request(&mut self, _nand: &mut Nand) -> Result<()> {
        Ok(())
    }

    /// A hint that this run comes soon: a chance to bring map entries into the cache.
    fn prefetch(&self, _run: &Run) {}

    /// The version of a page, at mount, for the layers above; none if it is unmapped.
    fn version(&self, nand: &mut Nand, lpn: Lpn) -> Result<Option<u64>>;

    /// Erased blocks that are not open.
    fn free_blocks(&self) -> u32;

    /// Walks all that the FTL believes and compares it with itself and with the chip: no two
    /// logical pages on one physical one, each block in exactly one list, counts equal a recount.
    /// Costs no operation and must not change anything.
    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation>;

    /// What a controller would hold in RAM, as the papers count it.
    fn ram(&self) -> Ram;

    /// The scheme's own figures since the last reset.
    fn report(&self) -> Report;

    /// Sets the scheme's own figures to zero, and nothing else; those of layers above it too.
    fn reset_report(&mut self);

    /// Figures of the layers above the scheme, the topmost first.
    fn layers(&self) -> Vec<LayerReport> {
        Vec::new()
    }

    /// Pages that entered the scheme since the last reset; none where no layer stands above it, so
    /// that all pages did that this FTL was given.
    fn entered(&self) -> Option<Entered> {
        None
    }

    /// Bytes that it takes out of the budget of a buffer above it (the map of a sector log).
    fn borrows(&self) -> u64 {
        0
    }

    /// Pages put into or taken out of the DRAM of layers since the last reset.
    fn dram_accesses(&self) -> u64 {
        0
    }

    /// What the scheme regulates or watches, as it stands now: a series samples it. Always the same
    /// names in the same order.
    fn gauges(&self) -> Vec<(&'static str, f64)> {
        Vec::new()
    }

    /// Sets how many bytes of RAM the part of the map may take that can grow and shrink at run
    /// time: cached entries (dftl), the map of the log (fast). Schemes without such a part ignore
    /// it. Shrinking may cost flash operations at once.
    fn set_map_budget(&mut self, _nand: &mut Nand, _bytes: u64) -> Result<()> {
        Ok(())
    }

    /// Bytes of RAM that the part of the map takes whose size can be set.
    fn map_budget(&self) -> u64 {
        0
    }

    /// From now on keeps what happens to that part of the map, for [`take_map_events`].
    ///
    /// [`take_map_events`]: Self::take_map_events
    fn watch_map(&mut self) {}

    /// Appends what happened to that part of the map since the last call, in order.
    fn take_map_events(&mut self, _events: &mut Vec<MapEvent>) {}

    /// What misses cost, by what was seen since the last call. Only of a map that is watched.
    fn miss_costs(&mut self) -> MissCosts {
        MissCosts::default()
    }

    /// Gives the erased block that is next in turn to a layer above, which returns one of its own
    /// by [`give_block`](Self::give_block) before anything else happens; so its wear is levelled
    /// with that of all others. None if no block is free.
    ///
    /// # Errors
    /// The power fails.
    fn take_block(&mut self, _nand: &mut Nand) -> Result<Option<BlockId>> {
        Ok(None)
    }

    /// Takes a block that a layer above has just erased, in return for the one that it took: the
    /// last of the free ones.
    fn give_block(&mut self, block: BlockId) {
        unreachable!("{block:?} is returned to an FTL that gives no blocks");
    }
}

/// What an FTL is mounted with.
#[derive(Clone, Copy, Debug)]
pub struct Device<'a> {
    /// The scheme's parameters.
    pub params: &'a Params,
    /// Exported capacity in blocks.
    pub logical_blocks: u32,
    /// The blocks that the FTL may use, ascending: logical, extra and, last, system blocks.
    pub blocks: &'a [BlockId],
    /// Whether trims must survive a power cut.
    pub durability: Durability,
    /// Seed of whatever the scheme draws at random.
    pub seed: u64,
    /// The chip's latencies, for schemes that weigh costs in time.
    pub timing: Timing,
}

/// What must survive a power cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// What the papers' schemes write, and not a page more: trims may come back.
    Paper,
    /// Everything that was flushed, trims too (tombstones in system blocks).
    Full,
}

impl Durability {
    /// The names that users write, in the order of the variants.
    pub const NAMES: &'static [&'static str] = &["paper", "full"];

    /// The name that users write.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// A scheme as the registry lists it.
#[derive(Debug)]
pub struct Scheme {
    /// The name that users write.
    pub name: &'static str,
    /// What it is, in one line.
    pub summary: &'static str,
    /// Where it was published.
    pub source: &'static str,
    /// Its parameters.
    pub params: &'static [Param],
    /// Settings, such as `cmt=8`, under which a tiny device does what others do at their size; the
    /// tests attack these forms too.
    pub corners: &'static [&'static str],
    /// Refuses parameters that contradict each other or the chip, with the sentence that says why.
    pub refuses: fn(&Params, &ChipModel) -> Option<String>,
    /// How the part of its map grows and shrinks that can; none if nothing can.
    pub map_budget: Option<MapBudget>,
    /// The fewest extra blocks it works with.
    pub least_extra: fn(&Params, &ChipModel, logical_blocks: u32) -> u32,
    /// Comes back from whatever is on the flash; a factory-new chip is formatted.
    pub mount: fn(&mut Nand, &Device) -> Result<Box<dyn Ftl>>,
}

/// Of a scheme whose map has a part that can grow and shrink at run time: how that goes.
#[derive(Clone, Copy, Debug)]
pub struct MapBudget {
    /// The parameter that a budget takes the place of; empty if there is none.
    pub replaces: &'static str,
    /// Bytes by which the part is tuned: what it is made of.
    pub unit_bytes: fn(&Geometry) -> u64,
    /// Bytes of what it keeps for one page.
    pub entry_bytes: u64,
    /// Requests from one tuning to the next.
    pub interval: u64,
}

/// What happens to the part of a map whose size can be set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapEvent {
    /// A page was to be read, and the part held nothing of it.
    ReadMissed(Lpn),
    /// A page was written, and the part held nothing of it.
    WriteMissed(Lpn),
    /// Want of room drove a page out of the part.
    Left(Lpn),
}

/// What one page costs more because there was no room for it, in nanoseconds (adaptive
/// partitioning, Table IV).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct MissCosts {
    /// A read that misses the map's part.
    pub map_read_ns: f64,
    /// A write that misses it.
    pub map_write_ns: f64,
    /// A read that misses a buffer above the scheme.
    pub buffer_read_ns: f64,
    /// A write that misses it.
    pub buffer_write_ns: f64,
}

/// RAM of a controller, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ram {
    /// Mapping tables.
    pub map: u64,
    /// Cached parts of mapping tables that live in flash.
    pub cache: u64,
    /// Pages of a write buffer.
    pub buffer: u64,
    /// The map of a sector log.
    pub sector_map: u64,
    /// Whatever else: valid counts, lists.
    pub other: u64,
}

/// Merges of a log-block scheme.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merges {
    /// The log block became the data block.
    pub switch: u64,
    /// The same, after the rest was copied in.
    pub partial: u64,
    /// All associated data blocks were gathered into free ones.
    pub full: u64,
    /// The log block held no valid page.
    pub dead: u64,
    /// Full merges by number of associated data blocks.
    pub associated_blocks: Vec<u64>,
}

/// A figure that only the scheme knows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Figure {
    /// An exact count.
    Count(u64),
    /// A ratio or mean.
    Real(f64),
    /// Exact counts by index.
    Counts(Vec<u64>),
}

/// What a scheme says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Merges, for log-block schemes.
    pub merges: Option<Merges>,
    /// The scheme's own figures by name.
    pub figures: Vec<(&'static str, Figure)>,
}

/// What a layer says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayerReport {
    /// The layer's name.
    pub layer: &'static str,
    /// Its figures by name.
    pub figures: Vec<(&'static str, Figure)>,
}

/// Pages that entered a scheme.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entered {
    /// Pages of reads, mapped or not.
    pub read: u64,
    /// Pages of writes, in part or whole.
    pub written: u64,
    /// Pages of trims.
    pub trimmed: u64,
}

/// A contradiction that an audit found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation(pub String);

impl fmt::Display for Violation {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(&self.0)
    }
}

/// Returns a [`Violation`] unless the condition holds.
#[macro_export]
macro_rules! ensure {
    ($condition:expr, $($sentence:tt)+) => {
        if !$condition {
            return Err($crate::contract::Violation(format!($($sentence)+)));
        }
    };
}

/// What can go wrong between an FTL and its chip.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The chip could not do it.
    #[error(transparent)]
    Chip(#[from] nand::Error),
    /// The device has used up its reserves and takes no more writes; all data can be read.
    #[error("the device is read-only: it has no good blocks left to write to")]
    ReadOnly,
    /// Collecting garbage takes more pages than it gives back: superblocks whose map, in spare
    /// areas, must be written anew for nearly every page that moves.
    #[error(
        "no room can be made: moving a block's pages takes up to {needs} programs, {room} pages \
         are free; more extra blocks or smaller superblocks help"
    )]
    NoRoom {
        /// Programs that a victim may take.
        needs: u32,
        /// Free pages that there are for them.
        room: u32,
    },
    /// A spec that does not parse.
    #[error(transparent)]
    Spec(#[from] spec::Error),
    /// A device that the scheme cannot work on.
    #[error("{scheme} needs at least {needs} extra blocks, this device has {has}")]
    TooFewExtra {
        /// The scheme.
        scheme: &'static str,
        /// The fewest it works with.
        needs: u32,
        /// What the device has.
        has: u32,
    },
    /// Parameters that contradict each other or the chip.
    #[error("{scheme}: {why}")]
    Refused {
        /// The scheme.
        scheme: &'static str,
        /// The contradiction.
        why: String,
    },
    /// The flash holds what no sequence of writes and cuts can have left there.
    #[error("this flash cannot be mounted: {0}")]
    Unmountable(String),
}

/// Results of an FTL.
pub type Result<T> = core::result::Result<T, Error>;
