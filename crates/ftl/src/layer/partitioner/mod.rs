//! Adaptive partitioning: one budget of DRAM for a write buffer and the map (AP).
//!
//! ```text
//! DRAM   [ buffer: pages │ map: entries of dftl's cache, or of fast's log ]
//!                        │◀─ mapping share
//! ghosts   pages that the buffer evicted       entries that the map evicted
//!          a hit if the buffer were larger     a hit if the map were larger
//! ```
//! The best place of the boundary depends on the load. Each side has a *ghost*, which remembers
//! what left that side for lack of room. A hit of a ghost is a miss that more room would have
//! avoided. The scheme says what such a miss costs in flash operations (Table IV). After every
//! `interval` requests, the partitioner computes the savings per byte of each side: the cost of the
//! misses that the ghost's hits stand for, divided by the bytes that the ghost's entries would
//! take. The boundary moves towards the side that would save more per byte (Algorithm 1), by one
//! unit times the ratio of the two quotients.
//!
//! A ghost holds at most what would fit into the budget beside its own side, because its side can
//! never grow further. With a fixed share instead of `adaptive` the boundary stays where it is, and
//! there are no ghosts. This is the baseline.
//!
//! **Two ghosts.** The ghost of the buffer is a list of pages
//! ([`ghost_buffer`](super::ghost_buffer)). The ghost of the map is a bitmap ([`ghost_map`]),
//! because a list would have hundreds of thousands of entries.
//!
//! Choices: both limits, and those of the ghosts, are set before anything is evicted (Algorithm 1,
//! lines 16 to 20). Hits and misses that a move of the boundary itself causes count in no interval.
//! A step is at most `max_step`, and exactly that if the other side would save nothing: the paper
//! names no limit, and the ratio of two small numbers would throw the boundary from one end to the
//! other. A read that hits the ghost of the buffer makes the page the most recent one there, as it
//! would in the buffer. After a mount the boundary is in the middle again and the ghosts are empty.
//! If the buffer has no room for any page, each page that is written passes through it at once.

pub mod ghost_map;
pub mod sparse_set;

use core::ops::Range;

use nand::{ChipModel, Geometry, Lpn, Nand, Sink};
use spec::{Kind, Param, Params, Share};

use self::ghost_map::GhostMap;
use crate::contract::{
    Base, Entered, Extent, Ftl, LayerReport, Layered, MapBudget, MapEvent, Metric, MissCosts,
    MountConfig, Ram, Report, ResizableMap, Result, Run, Violation,
};
use crate::layer::definition::{Layer, LayerBlocks, LayerSetting, MountBelow, Stack};
use crate::layer::ghost_buffer::GhostBuffer;
use crate::layer::option::{LayerOption, LayerOptions};
use crate::layer::sector_log;
use crate::layer::write_buffer::{self, WriteBuffer};

/// Bytes of the budget per bit of the bitmap.
const BYTES_A_GHOST_BIT: u64 = 8;
/// The bits of the bitmap have numbers of 32 bits, and there is a power of two of them.
const DRAM_MAX: u64 = BYTES_A_GHOST_BIT << 31;
/// RAM of a page in the ghost of the buffer: its number and two links.
const GHOST_PAGE_BYTES: u64 = 12;

/// One budget for a write buffer and the map.
pub static LAYER: Layer = Layer {
    name: "split",
    summary: "one DRAM budget (`--dram`) for a write buffer and the map; their shares are fixed \
              or adaptive",
    source: "Shim, Seo, Kim, Maeng: An adaptive partitioning scheme for DRAM-based cache in solid \
             state drives, MSST 2010 (§III): ghost caches, Table IV, Algorithm 1",
    params: &[
        Param {
            name: "dram",
            kind: Kind::Size,
            default: "",
            unit: "bytes",
            doc: "the budget, given by the option `--dram`",
        },
        Param {
            name: "share",
            kind: Kind::Share,
            default: "",
            unit: "",
            doc: "the fixed share of the map; absent if the split is adaptive, written \
                  `adaptive[:key=value…]`",
        },
        Param {
            name: "interval",
            kind: Kind::Count,
            default: "0",
            unit: "requests",
            doc: "the number of requests from one tuning to the next; 0: as in the paper, 1000 \
                  for dftl and 10,000 for fast",
        },
        Param {
            name: "max_step",
            kind: Kind::Share,
            default: "0.5%",
            unit: "",
            doc: "the largest part of the budget that one tuning moves",
        },
        Param {
            name: "alpha",
            kind: Kind::Count,
            default: "3",
            unit: "entries",
            doc: "α: if the ghost of the map has fewer than 1/α bits set per entry, no more bits \
                  are reset (§IV.A)",
        },
    ],
    corners: &[
        &[("dram", "2KiB"), ("split", "1%")],
        &[("dram", "4KiB"), ("split", "adaptive:interval=3,max_step=20%")],
        &[("dram", "1KiB"), ("split", "adaptive:interval=2,max_step=100%")],
    ],
    options: &[
        LayerOption {
            name: "dram",
            kind: Kind::Size,
            default: "",
            value_name: "SIZE",
            help: "One DRAM budget for a write buffer and the map of dftl or fast",
        },
        LayerOption {
            name: "split",
            kind: Kind::Text,
            default: "",
            value_name: "SHARE|adaptive",
            help: "Share of the map in the DRAM budget: a fixed share such as 30%, or \
                   adaptive[:key=value…], which is the default; see `ftlab list layers`",
        },
    ],
    read,
    refuses,
    blocks: |_, _| LayerBlocks::default(),
    memory: |params, geometry, _| {
        let pages = params.size("dram") / u64::from(geometry.page_bytes());
        150 * pages.min(geometry.pages().into())
    },
    mount,
    laws: |_| Ok(()),
};

/// Reads `SHARE`, or `adaptive[:key=value…]`, and the budget.
fn read(options: &LayerOptions) -> Result<Params> {
    let [dram, split] = [&LAYER.options[0], &LAYER.options[1]].map(|option| options.get(option));
    let mut pairs = vec![("dram".to_owned(), dram.unwrap_or("0").to_owned())];
    let split = split.unwrap_or("adaptive");
    match split.split_once(':').unwrap_or((split, "")) {
        ("adaptive", "") => {}
        ("adaptive", settings) => pairs.extend(spec::parse_pairs(settings)?),
        _ => pairs.push(("share".to_owned(), split.to_owned())),
    }
    Ok(spec::resolve(LAYER.name, &pairs, LAYER.params)?)
}

/// The contradiction among the options, or with those of other layers, if there is one.
fn contradicts(setting: &LayerSetting, stack: &Stack) -> Option<&'static str> {
    let has = |layer: &Layer| stack.layers.named(layer.name).is_some();
    if !setting.is_given("dram") {
        Some("`--dram` is missing; it is the budget that `--split` divides")
    } else if has(&write_buffer::LAYER) {
        Some("`--dram` includes a write buffer; leave `--buffer` out")
    } else if has(&sector_log::LAYER) {
        Some("`--dram` cannot be combined with a sector log; use `--buffer`")
    } else {
        None
    }
}

/// The reason why such a budget cannot be divided above this scheme, if there is one.
fn refuses(setting: &LayerSetting, stack: &Stack, chip: &ChipModel) -> Option<String> {
    let (params, Stack { scheme, given, .. }) = (&setting.params, *stack);
    if let Some(why) = contradicts(setting, stack) {
        return Some(why.to_owned());
    }
    let (dram, page) = (params.size("dram"), u64::from(chip.page_bytes));
    let Some(budget) = &scheme.map_budget else {
        return Some(format!(
            "the map of {} has a fixed size, so `--dram` cannot be divided between it and a write \
             buffer; use `--buffer` for a write buffer alone",
            scheme.name
        ));
    };
    if given.iter().any(|key| key == budget.replaces) {
        let key = budget.replaces;
        return Some(format!(
            "`{key}` of {} follows from `--dram` and `--split`; leave it out",
            scheme.name
        ));
    }
    if dram < page {
        return Some(format!("{dram} bytes of DRAM are less than a page of {page} bytes"));
    }
    if dram > DRAM_MAX {
        return Some(format!("{dram} bytes of DRAM are more than {DRAM_MAX}"));
    }
    match params.opt_share("share") {
        Some(share) if share.exceeds_whole() => Some(format!("a share of {share} is above 100%")),
        None if max_step(params) == 0 => {
            Some("max_step is below one byte, so the boundary would never move".to_owned())
        }
        _ if params.count("alpha") == 0 => {
            Some("alpha=0 would never reset a bit; give 1 or more".to_owned())
        }
        _ => None,
    }
}

/// Maximum number of bytes that a tuning moves.
fn max_step(params: &Params) -> u64 {
    params.share("max_step").floor_of(params.size("dram"))
}

/// Puts a buffer above an FTL and divides DRAM between its pages and the FTL's map.
fn mount(
    params: &Params,
    stack: &Stack,
    nand: &mut Nand,
    config: &MountConfig,
    below: MountBelow,
) -> Result<Box<dyn Ftl>> {
    let budget = stack.scheme.map_budget.as_ref();
    let budget = budget.expect("a scheme without a resizable map is refused");
    let below = below(nand, config)?;
    let mut partitioner = Partitioner::new(below, budget, nand, config, params);
    let share = params.opt_share("share");
    let half = Share::parse("50%").expect("a share");
    let mapping = share.unwrap_or(half).floor_of(partitioner.dram);
    partitioner.place_boundary(nand, mapping)?;
    partitioner.forget_hits();
    Ok(Box::new(partitioner))
}

/// A buffer, the map below it, and the boundary between the two.
struct Partitioner {
    buffer: WriteBuffer,
    /// The tuner of the boundary; none if the boundary is fixed.
    tuner: Option<Tuner>,
    /// The budget.
    dram: u64,
    /// The part of the budget that belongs to the map, in bytes.
    mapping: u64,
    /// Bytes that the map takes of its part: whole entries, and never less than the scheme needs.
    map_bytes: u64,
    page_bytes: u64,
    entry_bytes: u64,
    /// Number of requests since the mount.
    requests: u64,
    /// Events of the map; empty between two calls, reused to save allocations.
    events: Vec<MapEvent>,
    figures: Figures,
}

/// The ghost of the map, and the steps of the boundary. The buffer has its own ghost.
struct Tuner {
    ghost: GhostMap,
    interval: u64,
    unit: u64,
    max_step: u64,
}

/// Counts since the last reset.
#[derive(Clone, Copy, Debug, Default)]
struct Figures {
    tunings: u64,
    map_grew: u64,
    buffer_grew: u64,
    /// Sum of the map's part over all intervals, in bytes.
    mapping: u128,
    ghost_buffer_read_hits: u64,
    ghost_buffer_write_hits: u64,
    ghost_map_read_hits: u64,
    ghost_map_write_hits: u64,
}

/// The result of a tuning, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tuning {
    Stay,
    MapGrows(u64),
    BufferGrows(u64),
}

/// The cost-benefit ratio of both sides: saved nanoseconds per byte of their ghosts.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CostBenefit {
    buffer: f64,
    map: f64,
}

impl CostBenefit {
    /// Computes both ratios from the read and write hits in ghosts of these sizes.
    fn new(
        costs: &MissCosts,
        [buffer_reads, buffer_writes]: [u64; 2],
        buffer_bytes: u64,
        [map_reads, map_writes]: [u64; 2],
        map_bytes: u64,
    ) -> CostBenefit {
        let profit = |reads: u64, read_ns, writes: u64, write_ns| {
            reads as f64 * read_ns + writes as f64 * write_ns
        };
        let by = |profit: f64, bytes: u64| if bytes == 0 { 0.0 } else { profit / bytes as f64 };
        let MissCosts { map_read_ns, map_write_ns, buffer_read_ns, buffer_write_ns } = *costs;
        let buffer = profit(buffer_reads, buffer_read_ns, buffer_writes, buffer_write_ns);
        let map = profit(map_reads, map_read_ns, map_writes, map_write_ns);
        CostBenefit { buffer: by(buffer, buffer_bytes), map: by(map, map_bytes) }
    }
}

impl Tuner {
    /// Algorithm 1: which side grows, and by how much, within the room that is left.
    fn decide(&self, earns: CostBenefit, mapping: u64, dram: u64) -> Tuning {
        let CostBenefit { buffer, map } = earns;
        if map > buffer {
            Tuning::MapGrows(self.step(map / buffer).min(dram - mapping))
        } else if buffer > map {
            Tuning::BufferGrows(self.step(buffer / map).min(mapping))
        } else {
            Tuning::Stay
        }
    }

    /// The size of a step: the unit times the ratio, rounded down. It is at most `max_step`, and
    /// exactly that if the other side would save nothing.
    fn step(&self, ratio: f64) -> u64 {
        (self.unit as f64 * ratio.floor()).min(self.max_step as f64) as u64
    }
}

impl Partitioner {
    fn new(
        below: Box<dyn Ftl>,
        budget: &MapBudget,
        nand: &Nand,
        device: &MountConfig,
        params: &Params,
    ) -> Partitioner {
        let (geometry, dram) = (nand.geometry(), params.size("dram"));
        let adapts = params.opt_share("share").is_none();
        let mut buffer = WriteBuffer::of_a_share(below, nand, device, dram);
        if adapts {
            resizable_map(&mut buffer).watch();
            let pages = device.logical_blocks * geometry.pages_per_block();
            buffer.ghost = Some(GhostBuffer::new(pages));
        }
        Partitioner {
            buffer,
            tuner: adapts.then(|| Tuner::new(budget, geometry, device, params)),
            dram,
            mapping: 0,
            map_bytes: 0,
            page_bytes: geometry.page_bytes().into(),
            entry_bytes: budget.entry_bytes,
            requests: 0,
            events: Vec::new(),
            figures: Figures::default(),
        }
    }

    /// The map below.
    fn map(&mut self) -> &mut dyn ResizableMap {
        resizable_map(&mut self.buffer)
    }

    // ---- The boundary -------------------------------------------------------------------------

    /// Gives the map this part of the budget and the buffer the rest. The side that grows does so
    /// before the other one shrinks.
    fn place_boundary(&mut self, nand: &mut Nand, mapping: u64) -> Result<()> {
        let grows = mapping > self.mapping;
        self.mapping = mapping;
        let rest = self.dram - mapping;
        if let (Some(ghost), Some(tuner)) = (&mut self.buffer.ghost, &mut self.tuner) {
            ghost.set_capacity((mapping / self.page_bytes) as u32);
            tuner.ghost.set_capacity(rest / self.entry_bytes);
        }
        if grows {
            self.map_bytes = self.map().resize(nand, mapping)?;
            self.buffer.set_budget(nand, rest)?;
        } else {
            self.buffer.set_budget(nand, rest)?;
            self.map_bytes = self.map().resize(nand, mapping)?;
        }
        self.listen();
        Ok(())
    }

    fn tune(&mut self, nand: &mut Nand) -> Result<()> {
        let costs = self.map().miss_costs();
        let (Some(tuner), Some(ghost)) = (&self.tuner, &self.buffer.ghost) else { return Ok(()) };
        let earns = CostBenefit::new(
            &costs,
            [ghost.read_hits, ghost.write_hits],
            u64::from(ghost.len()) * self.page_bytes,
            [tuner.ghost.read_hits, tuner.ghost.write_hits],
            tuner.ghost.entries() * self.entry_bytes,
        );
        let tuning = tuner.decide(earns, self.mapping, self.dram);
        self.count(tuning);
        match tuning {
            Tuning::Stay => {}
            Tuning::MapGrows(bytes) => self.place_boundary(nand, self.mapping + bytes)?,
            Tuning::BufferGrows(bytes) => self.place_boundary(nand, self.mapping - bytes)?,
        }
        self.forget_hits();
        Ok(())
    }

    fn count(&mut self, tuning: Tuning) {
        let (Some(tuner), Some(ghost)) = (&self.tuner, &self.buffer.ghost) else { return };
        let figures = &mut self.figures;
        figures.tunings += 1;
        figures.mapping += u128::from(self.mapping);
        figures.map_grew += u64::from(matches!(tuning, Tuning::MapGrows(_)));
        figures.buffer_grew += u64::from(matches!(tuning, Tuning::BufferGrows(_)));
        figures.ghost_buffer_read_hits += ghost.read_hits;
        figures.ghost_buffer_write_hits += ghost.write_hits;
        figures.ghost_map_read_hits += tuner.ghost.read_hits;
        figures.ghost_map_write_hits += tuner.ghost.write_hits;
    }

    /// Begins a new interval.
    fn forget_hits(&mut self) {
        if let (Some(ghost), Some(tuner)) = (&mut self.buffer.ghost, &mut self.tuner) {
            (ghost.read_hits, ghost.write_hits) = (0, 0);
            (tuner.ghost.read_hits, tuner.ghost.write_hits) = (0, 0);
            self.map().miss_costs();
        }
    }

    /// Passes the events of the map to its ghost.
    fn listen(&mut self) {
        let Some(Tuner { ghost, .. }) = &mut self.tuner else { return };
        resizable_map(&mut self.buffer).take_events(&mut self.events);
        for event in self.events.drain(..) {
            match event {
                MapEvent::ReadMissed(lpn) => ghost.read(lpn),
                MapEvent::WriteMissed(lpn) => ghost.write(lpn),
                MapEvent::Left(lpn) => ghost.enter(lpn),
            }
        }
    }

    fn share(&self, mapping: f64) -> f64 {
        mapping / self.dram as f64
    }

    fn figures(&self) -> Vec<(&'static str, Metric)> {
        let f = &self.figures;
        let mut figures = vec![("map_share", Metric::Real(self.share(self.mapping as f64)))];
        if let (Some(tuner), Some(ghost)) = (&self.tuner, &self.buffer.ghost) {
            let mean = self.share(f.mapping as f64 / f.tunings as f64);
            figures.extend([
                ("mean_map_share", Metric::Real(mean)),
                ("tunings", Metric::Count(f.tunings)),
                ("map_grew", Metric::Count(f.map_grew)),
                ("buffer_grew", Metric::Count(f.buffer_grew)),
                ("ghost_buffer_pages", Metric::Count(ghost.len().into())),
                ("ghost_buffer_read_hits", Metric::Count(f.ghost_buffer_read_hits)),
                ("ghost_buffer_write_hits", Metric::Count(f.ghost_buffer_write_hits)),
                ("ghost_map_entries", Metric::Count(tuner.ghost.entries())),
                ("ghost_map_bits_set", Metric::Count(tuner.ghost.bits_set())),
                ("ghost_map_read_hits", Metric::Count(f.ghost_map_read_hits)),
                ("ghost_map_write_hits", Metric::Count(f.ghost_map_write_hits)),
            ]);
        }
        figures
    }

    /// RAM of the ghosts: the list of the buffer's ghost at its maximum, and the bitmap of the
    /// map's.
    fn ghost_bytes(&self) -> u64 {
        let Some(tuner) = &self.tuner else { return 0 };
        self.mapping / self.page_bytes * GHOST_PAGE_BYTES + tuner.ghost.bits() / 8
    }
}

/// The map of the scheme below the buffer; a scheme that declares a [`MapBudget`] has one.
fn resizable_map(buffer: &mut WriteBuffer) -> &mut dyn ResizableMap {
    let map = buffer.resizable_map();
    map.expect("a scheme that declares a map budget can resize its map")
}

impl Tuner {
    fn new(
        budget: &MapBudget,
        geometry: &Geometry,
        device: &MountConfig,
        params: &Params,
    ) -> Tuner {
        let bits = params.size("dram") / BYTES_A_GHOST_BIT;
        Tuner {
            ghost: GhostMap::new(bits, params.count("alpha"), device.seed),
            interval: match params.count("interval") {
                0 => budget.interval,
                requests => requests,
            },
            unit: (budget.unit_bytes)(geometry),
            max_step: max_step(params),
        }
    }
}

impl Ftl for Partitioner {
    fn base(&self) -> &dyn Base {
        &self.buffer.below
    }

    fn base_mut(&mut self) -> &mut dyn Base {
        &mut self.buffer.below
    }

    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        for index in 0..run.pages {
            self.buffer.read_page(nand, run, index, sink)?;
            self.listen();
        }
        Ok(())
    }

    fn write(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        for index in 0..run.pages {
            self.buffer.write_page(nand, run, index)?;
            self.listen();
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.buffer.trim(nand, first, pages)?;
        self.listen();
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand) -> Result<()> {
        self.buffer.flush(nand)?;
        self.listen();
        Ok(())
    }

    fn flush_run(&mut self, nand: &mut Nand, run: &Run) -> Result<()> {
        self.buffer.flush_run(nand, run)?;
        self.listen();
        Ok(())
    }

    fn end_request(&mut self, nand: &mut Nand) -> Result<()> {
        self.requests += 1;
        match &self.tuner {
            Some(tuner) if self.requests.is_multiple_of(tuner.interval) => self.tune(nand),
            _ => Ok(()),
        }
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.buffer.extent(lpns)
    }

    fn prefetch(&self, run: &Run) {
        self.buffer.prefetch(run);
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        self.tuner.as_ref().map_or(Ok(()), |tuner| tuner.ghost.audit())?;
        self.buffer.audit(nand)
    }

    /// What the budget pays for is reported under its own names; all other parts of the map are
    /// `other`.
    fn ram(&self) -> Ram {
        let (all, paid) = (self.buffer.ram(), self.map_bytes);
        let besides = all.map + all.cache - paid;
        let (map, cache) = if all.cache > 0 { (0, paid) } else { (paid, 0) };
        Ram { map, cache, other: all.other + besides + self.ghost_bytes(), ..all }
    }

    fn report(&self) -> Report {
        self.buffer.report()
    }

    fn reset_report(&mut self) {
        self.figures = Figures::default();
        self.buffer.reset_report();
    }

    fn gauges(&self) -> Vec<(&'static str, f64)> {
        let own = [("map_share", self.share(self.mapping as f64))];
        self.buffer.gauges().into_iter().chain(own).collect()
    }

    fn layered(&self) -> Option<&dyn Layered> {
        Some(self)
    }
}

impl Layered for Partitioner {
    /// All pages pass through the buffer first. What it hands down goes on to the map unchanged, so
    /// the partitioner's report follows the buffer's.
    fn reports(&self) -> Vec<LayerReport> {
        let (figures, went_down) = (self.figures(), self.buffer.below.went_down);
        let mut reports = self.buffer.reports();
        reports.insert(1, LayerReport { layer: LAYER.name, figures, went_down });
        reports
    }

    fn entered(&self) -> Entered {
        self.buffer.entered()
    }

    fn borrowed_bytes(&self) -> u64 {
        self.buffer.borrowed_bytes()
    }

    fn dram_accesses(&self) -> u64 {
        self.buffer.dram_accesses()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuner(unit: u64, max_step: u64) -> Tuner {
        Tuner { ghost: GhostMap::new(2, 3, 0), interval: 1, unit, max_step }
    }

    #[test]
    fn profits_are_hits_times_costs_over_the_bytes_of_the_ghost() {
        let costs = MissCosts {
            map_read_ns: 10.0,
            map_write_ns: 20.0,
            buffer_read_ns: 30.0,
            buffer_write_ns: 40.0,
        };
        let earns = CostBenefit::new(&costs, [1, 2], 110, [3, 4], 220);
        assert_eq!(earns, CostBenefit { buffer: 1.0, map: 0.5 });
        let empty = CostBenefit::new(&costs, [1, 2], 0, [3, 4], 0);
        assert_eq!(empty, CostBenefit { buffer: 0.0, map: 0.0 });
    }

    #[test]
    fn the_side_where_a_byte_earns_more_grows_by_whole_units() {
        let decide =
            |buffer, map, mapping| tuner(8, 100).decide(CostBenefit { buffer, map }, mapping, 1000);
        assert_eq!(decide(1.0, 1.0, 500), Tuning::Stay);
        assert_eq!(decide(0.0, 0.0, 500), Tuning::Stay);
        assert_eq!(decide(1.0, 2.9, 500), Tuning::MapGrows(16));
        assert_eq!(decide(3.0, 2.9, 500), Tuning::BufferGrows(8));
        // A tuning moves at most a step, also if the ratio is infinite, and never beyond an end.
        assert_eq!(decide(1.0, 1e9, 500), Tuning::MapGrows(100));
        assert_eq!(decide(0.5, 0.0, 500), Tuning::BufferGrows(100));
        assert_eq!(decide(0.5, 0.0, 30), Tuning::BufferGrows(30));
        assert_eq!(decide(0.0, 0.5, 990), Tuning::MapGrows(10));
    }

    #[test]
    fn a_maximum_below_one_unit_is_the_step() {
        let earns = CostBenefit { buffer: 1.0, map: 5.0 };
        assert_eq!(tuner(256, 81).decide(earns, 0, 1000), Tuning::MapGrows(81));
    }
}
