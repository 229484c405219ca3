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
//!
//! **Beyond the paper**, `rule=balanced` has no ghosts. It takes the share with which the requests
//! would have cost least ([`balance`]).

pub mod algorithm_1;
pub mod balance;
pub mod ghost_map;
pub mod sparse_set;

use core::ops::Range;

use nand::{ChipModel, Geometry, Lpn, Mode, Nand, Ppn, Sink};
use spec::{Kind, Param, Params};

use self::algorithm_1::{Algorithm1, CostBenefit, DRAM_MAX, Tuning};
use self::balance::Balance;
use crate::contract::{
    Base, BlockRole, Extent, Facet, FacetKind, Ftl, LayerReport, MapBudget, MapEvent, Metric,
    MountConfig, Ram, Report, ResizableMap, Result, Run, Scheme, Span, Tuner, Violation, base_is,
};
use crate::layer::definition::{Layer, LayerBlocks, LayerSetting, MountBelow, Stack};
use crate::layer::ghost_buffer::GhostBuffer;
use crate::layer::option::{LayerOption, LayerOptions};
use crate::layer::sector_log;
use crate::layer::write_buffer::{self, WriteBuffer};
use crate::part::rivals::{self, Rivals};

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
                  for dftl and 10,000 for fast, or 250 with rule=balanced",
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
        Param {
            name: "rule",
            kind: Kind::Choice(&["paper", "balanced"]),
            default: "",
            unit: "",
            doc: "how the boundary moves: paper: by Algorithm 1, which is the default; balanced: \
                  to the share at which the requests would have cost least",
        },
    ],
    corners: &[
        &[("dram", "2KiB"), ("split", "1%")],
        &[("dram", "4KiB"), ("split", "adaptive:interval=3,max_step=20%")],
        &[("dram", "1KiB"), ("split", "adaptive:interval=2,max_step=100%")],
        &[("dram", "4KiB"), ("split", "adaptive:interval=3,rule=balanced")],
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
    memory: simulation_memory,
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
        None if heeds_nothing(setting).is_some() => heeds_nothing(setting).map(str::to_owned),
        _ if params.count("alpha") == 0 => {
            Some("alpha=0 would never reset a bit; give 1 or more".to_owned())
        }
        _ => None,
    }
}

/// Says so if a key was given that the rule does not heed.
fn heeds_nothing(setting: &LayerSetting) -> Option<&'static str> {
    let split = setting.given.iter().find(|(name, _)| *name == "split");
    let names = |key: &str| split.is_some_and(|(_, text)| text.contains(key));
    let is_balanced = setting.params.opt_choice("rule") == Some("balanced");
    (is_balanced && (names("max_step=") || names("alpha="))).then_some(
        "`max_step` and `alpha` belong to Algorithm 1; with `rule=balanced` leave them out",
    )
}

/// Maximum number of bytes that a tuning moves.
fn max_step(params: &Params) -> u64 {
    params.share("max_step").floor_of(params.size("dram"))
}

/// The most bytes that the map and the buffer may get. A boundary that adapts may reach both ends.
fn most_bytes(params: &Params) -> [u64; 2] {
    let dram = params.size("dram");
    match params.opt_share("share") {
        Some(share) => [share.floor_of(dram), dram - share.floor_of(dram)],
        None => [dram, dram],
    }
}

/// The buffer and the part of the map at their largest, and the rule that moves the boundary.
fn simulation_memory(params: &Params, stack: &Stack, geometry: &Geometry, mode: Mode) -> u64 {
    let [mapping, buffer] = most_bytes(params);
    let (dram, budget) = (params.size("dram"), stack.scheme.map_budget.as_ref());
    let rule_bytes = match (params.opt_share("share"), params.opt_choice("rule")) {
        (Some(_), _) => 0,
        (None, Some("balanced")) => {
            let budget = budget.expect("a scheme without a resizable map is refused");
            let rival = |mapping| rival_memory(stack.scheme, mapping, dram - mapping, geometry);
            let mappings = balance::mappings(dram, budget, geometry, geometry.blocks());
            mappings.into_iter().map(rival).sum()
        }
        (None, _) => {
            let ghost_map = Algorithm1::ghost_bits(params).next_power_of_two() / 8;
            GhostBuffer::memory_bytes(geometry.pages()) + ghost_map
        }
    };
    WriteBuffer::memory_bytes(buffer, geometry, mode)
        + map_memory(stack.scheme, mapping, geometry, mode)
        + rule_bytes
}

/// A rival that divides the budget like this.
fn rival_memory(scheme: &Scheme, mapping: u64, buffer: u64, geometry: &Geometry) -> u64 {
    let params = spec::resolve(scheme.name, &[], scheme.params);
    let fixed = params.map_or(0, |params| (scheme.memory)(&params, geometry, Mode::Count));
    let ftl = fixed + map_memory(scheme, mapping, geometry, Mode::Count);
    rivals::memory_bytes(geometry, ftl + WriteBuffer::memory_bytes(buffer, geometry, Mode::Count))
}

/// What the scheme takes for a resizable part of these bytes, beyond what it states with its
/// default. Without a parameter for that part, its memory is independent of the budget.
fn map_memory(scheme: &Scheme, mapping: u64, geometry: &Geometry, mode: Mode) -> u64 {
    let replaced = scheme.map_budget.as_ref().map_or("", |budget| budget.replaces);
    let memory = |pairs: &[(String, String)]| {
        let params = spec::resolve(scheme.name, pairs, scheme.params);
        params.map_or(0, |params| (scheme.memory)(&params, geometry, mode))
    };
    match replaced {
        "" => 0,
        _ => memory(&[(replaced.to_owned(), mapping.to_string())]).saturating_sub(memory(&[])),
    }
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
    let dram = params.size("dram");
    if let Some(share) = params.opt_share("share") {
        let (ftl, mapping) = (below(nand, config)?, share.floor_of(dram));
        return Ok(Box::new(Partitioner::fixed(ftl, budget, nand, config, dram, mapping)?));
    }
    let mut partitioner = Partitioner::new(below(nand, config)?, budget, nand, config, [dram; 2]);
    let rule = match params.opt_choice("rule") {
        Some("balanced") => balanced(dram, budget, nand, config, below)?,
        _ => partitioner.algorithm_1(budget, nand.geometry(), config, params),
    };
    let interval = match (params.count("interval"), &rule) {
        (0, Rule::Balanced(_)) => balance::INTERVAL,
        (0, Rule::Paper(_)) => budget.interval,
        (requests, _) => requests,
    };
    let mapping = match &rule {
        Rule::Balanced(balance) => balance.mapping(),
        Rule::Paper(_) => dram / 2,
    };
    partitioner.tuner = Some(Adaptation { rule, interval });
    partitioner.place_boundary(nand, mapping)?;
    partitioner.forget_hits();
    Ok(Box::new(partitioner))
}

/// The rule that follows rivals. Each is mounted like the device itself.
fn balanced(
    dram: u64,
    budget: &MapBudget,
    nand: &Nand,
    config: &MountConfig,
    below: MountBelow,
) -> Result<Rule> {
    let mappings = balance::mappings(dram, budget, nand.geometry(), config.logical_blocks);
    let rival = |mapping, nand: &mut Nand| {
        let ftl = below(nand, config)?;
        Partitioner::fixed(ftl, budget, nand, config, dram, mapping)
    };
    Ok(Rule::Balanced(Balance::new(dram, mappings, nand, config.timing, rival)?))
}

/// A buffer, the map below it, and the boundary between the two.
struct Partitioner {
    buffer: WriteBuffer,
    /// The tuner of the boundary; none if the boundary is fixed.
    tuner: Option<Adaptation>,
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

/// What moves the boundary, and how often.
struct Adaptation {
    rule: Rule,
    interval: u64,
}

enum Rule {
    Paper(Algorithm1),
    Balanced(Balance<Partitioner>),
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

impl Partitioner {
    /// A budget of `dram` bytes, of which the buffer gets `most` at most. The boundary has no place
    /// yet.
    fn new(
        below: Box<dyn Ftl>,
        budget: &MapBudget,
        nand: &Nand,
        device: &MountConfig,
        [dram, most]: [u64; 2],
    ) -> Partitioner {
        Partitioner {
            buffer: WriteBuffer::of_a_share(below, nand, device, most),
            tuner: None,
            dram,
            mapping: 0,
            map_bytes: 0,
            page_bytes: nand.geometry().page_bytes().into(),
            entry_bytes: budget.entry_bytes,
            requests: 0,
            events: Vec::new(),
            figures: Figures::default(),
        }
    }

    /// A boundary that stays where it is: the map has `mapping` bytes.
    fn fixed(
        below: Box<dyn Ftl>,
        budget: &MapBudget,
        nand: &mut Nand,
        device: &MountConfig,
        dram: u64,
        mapping: u64,
    ) -> Result<Partitioner> {
        let mut partitioner = Partitioner::new(below, budget, nand, device, [dram, dram - mapping]);
        partitioner.place_boundary(nand, mapping)?;
        Ok(partitioner)
    }

    /// The rule of the paper, with ghosts for the buffer and the map.
    fn algorithm_1(
        &mut self,
        budget: &MapBudget,
        geometry: &Geometry,
        device: &MountConfig,
        params: &Params,
    ) -> Rule {
        self.map().watch();
        let pages = device.logical_blocks * geometry.pages_per_block();
        self.buffer.ghost = Some(GhostBuffer::new(pages));
        Rule::Paper(Algorithm1::new(budget, geometry, device, params, max_step(params)))
    }

    /// The map below.
    fn map(&mut self) -> &mut dyn ResizableMap {
        resizable_map(&mut self.buffer)
    }

    /// Shows a request to the rivals, if there are any.
    fn show(&mut self, request: impl FnOnce(&mut Rivals<Partitioner>) -> Result<()>) -> Result<()> {
        match &mut self.tuner {
            Some(Adaptation { rule: Rule::Balanced(balance), .. }) => request(&mut balance.rivals),
            _ => Ok(()),
        }
    }

    // ---- The boundary -------------------------------------------------------------------------

    /// Gives the map this part of the budget and the buffer the rest. The side that grows does so
    /// before the other one shrinks.
    fn place_boundary(&mut self, nand: &mut Nand, mapping: u64) -> Result<()> {
        let grows = mapping > self.mapping;
        self.mapping = mapping;
        let rest = self.dram - mapping;
        if let (Some(ghost), Some(rule)) = (&mut self.buffer.ghost, paper_mut(&mut self.tuner)) {
            ghost.set_capacity((mapping / self.page_bytes) as u32);
            rule.ghost.set_capacity(rest / self.entry_bytes);
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
        let tuning = match &mut self.tuner {
            Some(Adaptation { rule: Rule::Paper(_), .. }) => self.compare_ghosts(),
            Some(Adaptation { rule: Rule::Balanced(balance), .. }) => {
                balance.tune();
                Tuning::towards(balance.mapping(), self.mapping)
            }
            None => return Ok(()),
        };
        self.count(tuning);
        match tuning {
            Tuning::Stay => {}
            Tuning::MapGrows(bytes) => {
                self.place_boundary(nand, self.mapping + bytes)?;
                // The paper does not say that its rule does this.
                if paper(&self.tuner).is_none() {
                    self.map().fill(nand)?;
                }
            }
            Tuning::BufferGrows(bytes) => self.place_boundary(nand, self.mapping - bytes)?,
        }
        self.forget_hits();
        Ok(())
    }

    /// What the ghosts say, by Algorithm 1.
    fn compare_ghosts(&mut self) -> Tuning {
        let costs = self.map().miss_costs();
        let (Some(ghost), Some(rule)) = (&self.buffer.ghost, paper(&self.tuner)) else {
            return Tuning::Stay;
        };
        let earns = CostBenefit::new(
            &costs,
            [ghost.read_hits, ghost.write_hits],
            u64::from(ghost.len()) * self.page_bytes,
            [rule.ghost.read_hits, rule.ghost.write_hits],
            rule.ghost.entries() * self.entry_bytes,
        );
        rule.decide(earns, self.mapping, self.dram)
    }

    fn count(&mut self, tuning: Tuning) {
        let figures = &mut self.figures;
        figures.tunings += 1;
        figures.mapping += u128::from(self.mapping);
        figures.map_grew += u64::from(matches!(tuning, Tuning::MapGrows(_)));
        figures.buffer_grew += u64::from(matches!(tuning, Tuning::BufferGrows(_)));
        if let (Some(ghost), Some(rule)) = (&self.buffer.ghost, paper(&self.tuner)) {
            figures.ghost_buffer_read_hits += ghost.read_hits;
            figures.ghost_buffer_write_hits += ghost.write_hits;
            figures.ghost_map_read_hits += rule.ghost.read_hits;
            figures.ghost_map_write_hits += rule.ghost.write_hits;
        }
    }

    /// Begins a new interval.
    fn forget_hits(&mut self) {
        if let (Some(ghost), Some(rule)) = (&mut self.buffer.ghost, paper_mut(&mut self.tuner)) {
            (ghost.read_hits, ghost.write_hits) = (0, 0);
            (rule.ghost.read_hits, rule.ghost.write_hits) = (0, 0);
            self.map().miss_costs();
        }
    }

    /// Passes the events of the map to its ghost.
    fn listen(&mut self) {
        let Some(Algorithm1 { ghost, .. }) = paper_mut(&mut self.tuner) else { return };
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
        if self.tuner.is_some() {
            let mean = self.share(f.mapping as f64 / f.tunings as f64);
            figures.extend([
                ("mean_map_share", Metric::Real(mean)),
                ("tunings", Metric::Count(f.tunings)),
                ("map_grew", Metric::Count(f.map_grew)),
                ("buffer_grew", Metric::Count(f.buffer_grew)),
            ]);
        }
        if let Some(Adaptation { rule: Rule::Balanced(balance), .. }) = &self.tuner {
            figures.push(balance.rivals.times());
        }
        if let (Some(ghost), Some(rule)) = (&self.buffer.ghost, paper(&self.tuner)) {
            figures.extend([
                ("ghost_buffer_pages", Metric::Count(ghost.len().into())),
                ("ghost_buffer_read_hits", Metric::Count(f.ghost_buffer_read_hits)),
                ("ghost_buffer_write_hits", Metric::Count(f.ghost_buffer_write_hits)),
                ("ghost_map_entries", Metric::Count(rule.ghost.entries())),
                ("ghost_map_bits_set", Metric::Count(rule.ghost.bits_set())),
                ("ghost_map_read_hits", Metric::Count(f.ghost_map_read_hits)),
                ("ghost_map_write_hits", Metric::Count(f.ghost_map_write_hits)),
            ]);
        }
        figures
    }

    /// RAM of the rule. That of Algorithm 1 is the list of the buffer's ghost at its maximum, and
    /// the bitmap of the map's ghost.
    fn rule_bytes(&self) -> u64 {
        match self.tuner.as_ref().map(|tuner| &tuner.rule) {
            Some(Rule::Paper(rule)) => {
                self.mapping / self.page_bytes * GHOST_PAGE_BYTES + rule.ghost.bits() / 8
            }
            Some(Rule::Balanced(balance)) => balance.rivals.ram_bytes(),
            None => 0,
        }
    }
}

/// Algorithm 1, if it is the rule.
fn paper(tuner: &Option<Adaptation>) -> Option<&Algorithm1> {
    match tuner {
        Some(Adaptation { rule: Rule::Paper(rule), .. }) => Some(rule),
        _ => None,
    }
}

/// Algorithm 1, if it is the rule.
fn paper_mut(tuner: &mut Option<Adaptation>) -> Option<&mut Algorithm1> {
    match tuner {
        Some(Adaptation { rule: Rule::Paper(rule), .. }) => Some(rule),
        _ => None,
    }
}

/// The map of the scheme below the buffer; a scheme that declares a [`MapBudget`] has one.
fn resizable_map(buffer: &mut WriteBuffer) -> &mut dyn ResizableMap {
    let map = buffer.below.ftl.resizable_map();
    map.expect("a scheme that declares a map budget can resize its map")
}

impl Base for Partitioner {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> Result<()> {
        self.show(|rivals| rivals.read(run))?;
        for index in 0..run.pages {
            self.buffer.read_page(nand, run, index, sink)?;
            self.listen();
        }
        Ok(())
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> Result<()> {
        self.show(|rivals| rivals.trim(first, pages))?;
        self.buffer.trim(nand, first, pages)?;
        self.listen();
        Ok(())
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> Result<()> {
        self.show(|rivals| rivals.flush(only))?;
        self.buffer.flush(nand, only)?;
        self.listen();
        Ok(())
    }

    fn prefetch(&self, spans: &[Span], read_from: Option<&Nand>) {
        self.buffer.prefetch(spans, read_from);
    }

    fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
        self.buffer.place(nand, lpn)
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        self.buffer.extent(lpns)
    }

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Tuner => Some(Facet::Tuner(self)),
            _ => Base::facet(&mut self.buffer, kind),
        }
    }
}

impl Tuner for Partitioner {
    fn end_request(&mut self, nand: &mut Nand) -> Result<()> {
        self.requests += 1;
        match &self.tuner {
            Some(tuner) if self.requests.is_multiple_of(tuner.interval) => self.tune(nand),
            _ => Ok(()),
        }
    }
}

impl Ftl for Partitioner {
    base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.show(|rivals| rivals.write(run))?;
        for index in 0..run.pages {
            self.buffer.write_page(nand, run, index)?;
            self.listen();
        }
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        if let Some(rule) = paper(&self.tuner) {
            rule.ghost.audit()?;
        }
        self.buffer.audit(nand)
    }

    fn roles(&self, nand: &Nand, roles: &mut Vec<BlockRole>) {
        self.buffer.roles(nand, roles);
    }

    /// All pages pass through the buffer first. What it hands down goes on to the map unchanged, so
    /// the partitioner's report follows the buffer's. RAM that the budget pays for is reported
    /// under its own names; all other parts of the map are `other`.
    fn report(&self) -> Report {
        let mut report = self.buffer.report();
        let own = LayerReport {
            layer: LAYER.name,
            figures: self.figures(),
            went_down: self.buffer.below.went_down,
        };
        report.layers.insert(1, own);
        report.gauges.push(("map_share", self.share(self.mapping as f64)));
        let (all, paid) = (report.ram, self.map_bytes);
        let besides = all.map + all.cache - paid;
        let (map, cache) = if all.cache > 0 { (0, paid) } else { (paid, 0) };
        report.ram = Ram { map, cache, other: all.other + besides + self.rule_bytes(), ..all };
        report
    }

    fn reset_report(&mut self) {
        self.figures = Figures::default();
        self.buffer.reset_report();
        if let Some(Adaptation { rule: Rule::Balanced(balance), .. }) = &mut self.tuner {
            balance.rivals.reset_times();
        }
    }
}
