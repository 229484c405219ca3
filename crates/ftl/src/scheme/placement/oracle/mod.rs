//! oracle: what placement could achieve if it knew when each page will die.
//!
//! ```text
//! death ─▶ window ─▶ open block     window 1 [a b c d e f]   when window 1 is over, the block is
//!                                   window 2 [g h i _ _ _]   dead: its erase costs no copy
//!                                   …
//!                                   never    [s t u v w _]
//! ```
//! A bound for all other schemes, not a scheme for a drive: only the replay of a trace knows the
//! deaths of pages. Pages that die in the same [window](windows) share a block. At most `open`
//! blocks are being filled, and each copy goes to the window of its own death. When a window is
//! over, its block is closed and dead.
//!
//! **When space is short**, there is a choice between a copy and a wrong window. A dead block is
//! collected first. If there is none, a page may go to the open block of the next later window, if
//! that ends at most one width later: its space is then stale for longer. Otherwise the victim is
//! the block with the highest
//!
//! ```text
//! benefit   (Np − v) · (end − now)     Np − v pages become free, which otherwise happens only at
//! ─────── = ──────────────────────     the end, when the last page of the block dies; v pages are
//!   cost              v                copied
//! ```
//! Ends that lie further away than twice the capacity count alike. Otherwise blocks with a single
//! page that never dies would be collected again and again.
//!
//! **When no more blocks may be open**, a page goes to the open window where it costs least. In a
//! later window its own space is stale for longer. In an earlier window all pages of that block
//! wait for it, or it is copied. Space that is stale for as many writes as there are spare pages is
//! worth one copy, because with S spare pages a page may be stale for S writes on average. There
//! are never more open blocks than extra blocks: they would take the space that makes blocks die.
//!
//! **Without knowledge of the future**, after a mount or where no trace is replayed, no death is
//! known. All pages are then in one window, and the scheme is `page` with one frontier. That is how
//! it survives power cuts.
//!
//! Invariant: at least `RESERVE` blocks are erased whenever no victim is being emptied.

pub mod windows;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use nand::{BlockId, Cause, ChipModel, Nand};
use spec::{Kind, Param, Params};

use crate::contract::foresight::{Deaths, Lifespans, NEVER};
use crate::contract::{
    Ftl, Lecture, Metric, MountConfig, Report, Result, Run, Scheme, Span, Violation, base_is,
    table_bytes,
};
use crate::part::map::frontier::Frontier;
use crate::part::page::page_map::PageMap;
use crate::part::page::victims::greedy;
use crate::part::recovery::page_kind;
use crate::part::recovery::survey;
use crate::scheme::placement::oracle::windows::{Window, Windows};

/// Erased blocks that only garbage collection may open.
const RESERVE: u32 = 1;

const PARAMS: &[Param] = &[Param {
    name: "open",
    kind: Kind::Count,
    default: "64",
    unit: "blocks",
    doc: "the number of blocks that may be open at the same time, each for pages that die at about \
          the same time",
}];

/// Placement by death time.
pub static SCHEME: Scheme = Scheme {
    name: "oracle",
    summary: "a bound, for simulations only: knows from the trace when each page dies, and lets \
              pages share a block that die together",
    source: "ftlab; the widths of its windows are derived in `oracle/windows.rs`",
    lecture: Lecture::of(file!(), include_str!("mod.rs")),
    params: PARAMS,
    refuses,
    least_extra: |_, _, _| RESERVE + 1,
    needs_future: true,
    open_blocks: Some(|params| params.count("open") as u32),
    memory: |_, geometry, _| table_bytes(geometry, 28, 24),
    mount,
    ..Scheme::PLAIN
};

fn refuses(params: &Params, _: &ChipModel) -> Option<String> {
    match params.count("open") {
        1..=65_536 => None,
        open => Some(format!("open={open}; 1 to 65536 are possible")),
    }
}

fn mount(nand: &mut Nand, device: &MountConfig) -> Result<Box<dyn Ftl>> {
    let map = PageMap::format(nand, device, &greedy::POLICY, 0);
    let open = device.params.count("open") as u32;
    let spare_pages = nand.geometry().pages() - map.logical_pages();
    let extra_blocks = spare_pages / nand.geometry().pages_per_block();
    let unknown = Lifespans::default();
    let lifespans = device.foresight.map_or(&unknown, |foresight| foresight.lifespans());
    let deaths = device.foresight.map(|foresight| foresight.deaths()).transpose()?;
    let ftl = Oracle {
        windows: Windows::new(lifespans, open, nand.geometry().pages_per_block()),
        deaths,
        dies_at: vec![NEVER; map.logical_pages() as usize],
        open: BTreeMap::new(),
        open_max: open.min(extra_blocks) as usize,
        spare_pages: spare_pages.into(),
        ends: vec![NEVER; nand.geometry().blocks() as usize],
        counts: OracleCounts::default(),
        map,
    };
    survey::mounted(nand, device, ftl, Oracle::recover)
}

struct Oracle {
    map: PageMap,
    windows: Windows,
    /// The deaths of the pages that the host will write; none without knowledge of the future.
    deaths: Option<Box<dyn Deaths>>,
    /// The death of each page, in host pages written.
    dies_at: Vec<u64>,
    /// The open blocks, which all have room, by window.
    open: BTreeMap<Window, Frontier>,
    open_max: usize,
    /// The pages of the device beyond those of the host.
    spare_pages: u64,
    /// When the last page of each block dies. Of blocks that a mount found it is not known.
    ends: Vec<u64>,
    counts: OracleCounts,
}

/// Counts since the last reset.
#[derive(Default)]
struct OracleCounts {
    victims: u64,
    /// Pages that went to another window than their own.
    misplaced: u64,
    /// The most blocks that were open at the same time.
    most_open: u64,
}

impl Oracle {
    // ---- Windows ------------------------------------------------------------------------------

    /// Closes the blocks of windows that are over: all their pages are dead.
    fn close_past_windows(&mut self, nand: &Nand) {
        let now = self.map.written();
        while let Some((&window, _)) = self.open.first_key_value().filter(|(w, _)| w.end <= now) {
            let frontier = self.open.remove(&window).expect("it is the first");
            self.map.close(frontier, nand.geometry());
        }
    }

    /// The open window in which a page costs least, of equals the one that ends last. If none is
    /// open, there is none.
    fn nearest(&self, nand: &Nand, own: Window) -> Option<Window> {
        let cost = |(&window, frontier): (&Window, &Frontier)| {
            let written = u64::from(nand.geometry().offset_of(frontier.next()));
            (self.cost_of_misplacing(own, window, written), Reverse(window))
        };
        let later = self.open.range(own..).next();
        let least = self.open.range(..own).chain(later).map(cost).min();
        least.map(|(_, Reverse(window))| window)
    }

    /// The open window that ends next after this one.
    fn later(&self, own: Window) -> Option<Window> {
        self.open.range(own..).next().map(|(&window, _)| window)
    }

    /// The cost of putting a page into the block of another window, which has `written` pages, in
    /// pages that are stale for one host write.
    fn cost_of_misplacing(&self, own: Window, window: Window, written: u64) -> u64 {
        let far = self.far();
        let (own_end, end) = (own.end.min(far), window.end.min(far));
        match own_end.checked_sub(end) {
            Some(wait) => written.saturating_mul(wait).min(self.spare_pages),
            None => end - own_end,
        }
    }

    /// Ends beyond this time count alike.
    fn far(&self) -> u64 {
        self.map.written() + 2 * u64::from(self.map.logical_pages())
    }

    /// The open window for a page that the host writes. Makes room if there must be some.
    fn host_window(&mut self, nand: &mut Nand, own: Window) -> Result<Window> {
        loop {
            if let Some(window) = self.open_or_full(nand, own, RESERVE)? {
                return Ok(window);
            }
            let nearest = self.nearest(nand, own);
            let Some(victim) = self.victim(nand) else {
                let window = nearest.expect("a device without full blocks has open ones");
                return Ok(self.misplaced(window));
            };
            let valid = self.map.valid_pages_of_full(victim).unwrap_or_default();
            let is_near = |window: &Window| window.end.saturating_sub(own.end) <= own.width();
            let later = self.later(own).filter(is_near);
            let instead = if valid == self.pages_per_block(nand) { nearest } else { later };
            match instead {
                Some(window) if valid > 0 => return Ok(self.misplaced(window)),
                _ => self.collect(nand, victim, Cause::Gc)?,
            }
        }
    }

    /// The open window for a copy. If no block is erased, any open one must do; there is one,
    /// because an erased block was left when the victim was taken, and the victim has a dead page.
    fn copy_window(&mut self, nand: &mut Nand, own: Window) -> Result<Window> {
        if let Some(window) = self.open_or_full(nand, own, 0)? {
            return Ok(window);
        }
        let nearest =
            self.nearest(nand, own).expect("the block opened last has room for all copies");
        Ok(self.misplaced(nearest))
    }

    /// The window itself, if it is open or can be opened with more than `reserve` erased blocks; a
    /// near one if no more may be open.
    fn open_or_full(
        &mut self,
        nand: &mut Nand,
        own: Window,
        reserve: u32,
    ) -> Result<Option<Window>> {
        if self.open.contains_key(&own) {
            return Ok(Some(own));
        }
        if self.open.len() >= self.open_max {
            let nearest = self.nearest(nand, own).expect("at least one block may be open");
            return Ok(Some(self.misplaced(nearest)));
        }
        if self.map.flat.pool.len() <= reserve {
            return Ok(None);
        }
        let frontier = self.map.open(nand)?;
        self.ends[nand.geometry().block_of(frontier.next()).0 as usize] = 0;
        self.open.insert(own, frontier);
        self.counts.most_open = self.counts.most_open.max(self.open.len() as u64);
        Ok(Some(own))
    }

    fn misplaced(&mut self, window: Window) -> Window {
        self.counts.misplaced += 1;
        window
    }

    /// Takes the frontier of an open window, whose next page will die at this time.
    fn take(&mut self, nand: &Nand, window: Window, death: u64) -> Frontier {
        let frontier = self.open.remove(&window).expect("the window is open");
        let end = &mut self.ends[nand.geometry().block_of(frontier.next()).0 as usize];
        *end = death.max(*end);
        frontier
    }

    fn put_back(&mut self, window: Window, frontier: Frontier) {
        if frontier.room() > 0 {
            self.open.insert(window, frontier);
        }
    }

    // ---- Garbage collection -------------------------------------------------------------------

    fn pages_per_block(&self, nand: &Nand) -> u16 {
        nand.geometry().pages_per_block() as u16
    }

    /// A dead block if there is one, else the block with the highest benefit for its cost; none if
    /// no block is full.
    fn victim(&mut self, nand: &Nand) -> Option<BlockId> {
        let fewest = self.map.fewest_valid()?;
        if self.map.valid_pages_of_full(fewest) == Some(0) {
            return Some(fewest);
        }
        let (now, np) = (self.map.written(), self.pages_per_block(nand));
        let far = self.far();
        let score = |block: BlockId| {
            let valid = self.map.valid_pages_of_full(block).filter(|&valid| valid < np)?;
            // Valid pages decide between blocks whose ends are past.
            let left = self.ends[block.0 as usize].min(far).saturating_sub(now).max(1);
            let benefit = u64::from(np - valid) * left;
            Some(benefit as f64 / f64::from(valid))
        };
        let scored =
            (0..nand.geometry().blocks()).map(BlockId).filter_map(|b| Some((b, score(b)?)));
        let better = |best: (BlockId, f64), other: (BlockId, f64)| {
            if other.1 > best.1 { other } else { best }
        };
        Some(scored.reduce(better).map_or(fewest, |best| best.0))
    }

    /// Empties a victim and erases it.
    fn collect(&mut self, nand: &mut Nand, victim: BlockId, cause: Cause) -> Result<()> {
        self.counts.victims += u64::from(cause == Cause::Gc);
        let pages = self.map.gather(nand, victim).to_vec();
        for ppn in pages {
            let death = self.dies_at[nand.owner(ppn).0 as usize];
            let own = self.windows.of(death, self.map.written());
            let window = self.copy_window(nand, own)?;
            let mut frontier = self.take(nand, window, death);
            self.map.copy(nand, &[ppn], &mut frontier, None, cause, &mut |_, _| {})?;
            self.put_back(window, frontier);
        }
        self.map.erase(nand, victim, cause)
    }

    // ---- Writing and recovery -----------------------------------------------------------------

    /// Writes page `index` of a run.
    fn write_page(&mut self, nand: &mut Nand, run: &Run, index: u32) -> Result<()> {
        let lpn = run.first.plus(index);
        let death = self.deaths.as_mut().map_or(Ok(NEVER), |deaths| deaths.next())?;
        self.close_past_windows(nand);
        let own = self.windows.of(death, self.map.written());
        let window = self.host_window(nand, own)?;
        self.dies_at[lpn.0 as usize] = death;
        let mut frontier = self.take(nand, window, death);
        let written = self.map.write(nand, run, index, 1, &mut frontier, page_kind::DATA);
        self.put_back(window, frontier);
        written.map(drop)
    }

    fn recover(&mut self, nand: &mut Nand, device: &MountConfig) -> Result<()> {
        let recovered = self.map.recover(nand, device, |_| Ok(()))?;
        if let Some(block) = recovered.endangered {
            self.collect(nand, block, Cause::Meta)?;
        }
        self.map.commit_recovery(nand, &recovered)
    }
}

impl Ftl for Oracle {
    base_is!(self.map);

    fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
        self.map.flat.check_bases(nand, run)?;
        (0..run.pages).try_for_each(|index| self.write_page(nand, run, index))?;
        Ok(0)
    }

    fn audit(&self, nand: &Nand) -> core::result::Result<(), Violation> {
        let frontiers: Vec<Frontier> = self.open.values().copied().collect();
        self.map.audit(nand, &frontiers, RESERVE)
    }

    /// Knowledge of the future has no price in RAM.
    fn report(&self) -> Report {
        let pages = f64::from(self.map.logical_pages());
        let figures = vec![
            ("gc_victims", Metric::Count(self.counts.victims)),
            ("misplaced_pages", Metric::Count(self.counts.misplaced)),
            ("most_open_blocks", Metric::Count(self.counts.most_open)),
            // Spare and windows from which on nothing is copied, by the law.
            ("needed_spare", Metric::Real(self.windows.needed_pages() / pages)),
            ("needed_windows", Metric::Real(self.windows.needed_windows())),
        ];
        Report { figures, ..self.map.report() }
    }

    fn reset_report(&mut self) {
        self.counts = OracleCounts::default();
    }
}
