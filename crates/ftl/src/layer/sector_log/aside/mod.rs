//! A sector log that stands aside while it does not pay.
//!
//! ```text
//! used    write buffer ─▶ log ─▶ scheme          the log has its blocks
//! aside   write buffer ────────▶ scheme + blocks  the scheme has them as extra blocks
//!
//! host ──▶ device
//!      └─▶ sample ─▶ miniature with a log      ─▶ time ─┐
//!                 └▶ miniature without a log   ─▶ time ─┴▶ regret ─▶ change
//! ```
//! Whether a log pays depends on both sides. The log saves writes of partial pages. As extra
//! blocks, its blocks save copies of garbage collection. The second is hard to predict by a
//! formula, because it depends on the scheme and on how the writes are distributed. So both are
//! tried: two [miniatures](miniature) of the device, one of each kind, serve a [sample](sample) of
//! the host's steps. They only count their operations (miniature simulation: Waldspurger,
//! Saemundsson, Ahmad and Park, ATC 2017). When the present choice has cost so much more than the
//! other one that a change would have paid for itself, the log [changes](regret).
//!
//! **Standing aside.** The log is cleaned until it is empty, and its waiting sectors are written to
//! the scheme. Then the scheme gets all its blocks as extra blocks, and every write passes to it.
//! To use the log again, the scheme collects victims until it has given back as many blocks. On a
//! new chip the log is used.
//!
//! **Recovery.** A log programs its first page only while it has all its blocks. So if a mount
//! finds a page that counts in the log, all blocks of the log are its own; otherwise the scheme
//! gets all blocks, and the log begins aside. Miniatures are lost with the power; a mount fills new
//! ones with the pages that are mapped.
//!
//! The RAM of the miniatures is reported, and is not taken from a write buffer above the log. With
//! a scale of 1, which small devices have, each takes more than the maps of the device itself.
//!
//! A miniature has a write buffer if the device has one, because the sector map takes DRAM from it.
//! The buffer [shows](crate::contract::Observer) each of the host's steps to the log.
//!
//! Choice: parameters of the scheme that are numbers of pages are not scaled.

mod changes;
pub(super) mod miniature;
mod regret;
mod sample;
mod scale;

use nand::{Geometry, Lpn};
use spec::Params;

use self::miniature::{Miniature, Original};
use self::regret::Regret;
use self::sample::Sample;
use self::scale::Scale;
use crate::contract::{Ftl, Metric, Result, Run, Step, Violation};
use crate::layer::definition::{MountBelow, Stack};
use crate::layer::write_buffer;

/// How often the blocks of the log would have been erased as extra blocks when the log is no longer
/// waited for.
const TURNS_MAX: u64 = 4;

/// How a log decides whether it is used.
#[derive(Clone, Debug)]
pub struct AsideChoice {
    /// By miniatures; otherwise by turns.
    is_auto: bool,
    /// Blocks that the scheme keeps open.
    open_blocks: u32,
    /// The parameters of a write buffer above the log.
    buffer: Option<Params>,
}

impl AsideChoice {
    /// The choice by the parameters of the log; none if it is always used. `of_scheme` are the
    /// parameters of the scheme.
    pub fn of(log: &Params, stack: &Stack, of_scheme: &Params) -> Option<AsideChoice> {
        let is_auto = log.opt_choice("aside")? == "auto";
        let open_blocks = stack.scheme.open_blocks.map_or(0, |open_blocks| open_blocks(of_scheme));
        let buffer = stack.layers.named(write_buffer::LAYER.name);
        let buffer = buffer.map(|buffer| buffer.params.clone());
        Some(AsideChoice { is_auto, open_blocks, buffer })
    }
}

/// Memory of both miniatures of a device with a log of so many bytes.
pub(super) fn memory_bytes(geometry: &Geometry, log_bytes: u64) -> u64 {
    let log_blocks = log_bytes.div_ceil(geometry.block_bytes());
    let log_blocks = log_blocks.min(geometry.blocks().into()) as u32;
    let pages = Scale::largest(geometry.blocks(), log_blocks);
    let scale = Scale::new(pages, geometry.pages_per_block());
    let (pages, blocks) = (geometry.pages() / scale.pages, scale.blocks(geometry.blocks()));
    2 * (24 * u64::from(pages) + 100 * u64::from(blocks))
}

/// Decides whether the log is used.
pub(super) struct Aside {
    decision: Decision,
    /// Whether a write buffer above the log shows the host's steps.
    is_shown: bool,
    /// Changes since the last reset.
    changes: u64,
}

enum Decision {
    /// Two miniatures are compared.
    Auto(Box<Trial>),
    /// The choice changes whenever the host has written so many pages. For tests.
    Alternate { period: u64, written: u64 },
}

/// Two miniatures that serve the same steps.
struct Trial {
    sample: Sample,
    with_log: Miniature,
    without_log: Miniature,
    regret: Regret,
    /// Blocks of the log of a miniature.
    log_blocks: u64,
    /// Times of the miniatures at the last reset.
    before_ns: [u64; 2],
}

impl Trial {
    fn new(original: &Original, mount: &mut MountBelow) -> Result<Trial> {
        let geometry = original.geometry;
        let logical_pages = original.size.logical_blocks * geometry.pages_per_block();
        let sample = Sample::new(original.scale(), logical_pages, geometry.full_mask());
        Ok(Trial {
            with_log: original.with_log(&sample, mount)?,
            without_log: original.without_log(&sample, mount)?,
            regret: Regret::undecided(original.copy_ns(&sample)),
            before_ns: [0; 2],
            log_blocks: original.log_blocks(&sample),
            sample,
        })
    }

    /// Serves a step in both miniatures, while the device stands aside or not.
    fn serve(&mut self, step: &Step, is_aside: bool) -> Result<()> {
        let Some(step) = self.sample.of(step) else { return Ok(()) };
        let (with_log, without_log) = (self.with_log.serve(&step)?, self.without_log.serve(&step)?);
        if !self.is_warm() {
            return Ok(());
        }
        let (present, other) =
            if is_aside { (without_log, with_log) } else { (with_log, without_log) };
        self.regret.note(present, other);
        Ok(())
    }

    /// Whether the miniatures have got over their beginning. An empty log needs no cleaning, so it
    /// looks better than it is until its blocks were erased once; empty extra blocks need no
    /// garbage collection. A log that is hardly used is not waited for.
    fn is_warm(&self) -> bool {
        let of_scheme = self.without_log.erases();
        let of_log = self.with_log.erases_of_log();
        of_scheme.min(of_log) >= self.log_blocks || of_scheme >= TURNS_MAX * self.log_blocks
    }

    fn figures(&self) -> [(&'static str, Metric); 3] {
        let [with_log, without_log] = self.times_ns();
        let [with_log, without_log] =
            [with_log - self.before_ns[0], without_log - self.before_ns[1]];
        [
            ("miniature_scale", Metric::Count(self.sample.scale().pages.into())),
            ("miniature_bytes", Metric::Count(self.ram_bytes())),
            ("miniature_time_ratio", Metric::Real(with_log as f64 / without_log as f64)),
        ]
    }

    fn times_ns(&self) -> [u64; 2] {
        [self.with_log.spent_ns, self.without_log.spent_ns]
    }

    fn ram_bytes(&self) -> u64 {
        self.with_log.ram_bytes() + self.without_log.ram_bytes()
    }
}

fn pages_written(step: &Step) -> u32 {
    match step {
        Step::Write(run) => run.pages,
        _ => 0,
    }
}

impl Aside {
    /// Compares miniatures of a device. They have the pages that are mapped in `ftl`.
    ///
    /// # Errors
    /// The scheme refuses a miniature.
    pub(super) fn auto(
        original: &Original,
        ftl: &dyn Ftl,
        mount: &mut MountBelow,
    ) -> Result<Aside> {
        let mut trial = Trial::new(original, mount)?;
        let pages = original.size.logical_blocks * original.geometry.pages_per_block();
        let page_bytes = original.geometry.page_bytes();
        let mut at = 0;
        while at < pages {
            let extent = ftl.extent(at..pages);
            if extent.is_mapped {
                let run = Run::whole(Lpn(at), extent.pages, page_bytes, nand::Data::None);
                trial.serve(&Step::Write(run), true)?;
            }
            at += extent.pages;
        }
        let is_new = trial.times_ns() == [0; 2];
        if !is_new {
            trial.regret.reset();
        }
        trial.before_ns = trial.times_ns();
        Ok(Aside::of(Decision::Auto(Box::new(trial)), original.buffer.is_some()))
    }

    /// Changes whenever the host has written `period` pages.
    fn alternate(period: u64, is_shown: bool) -> Aside {
        Aside::of(Decision::Alternate { period, written: 0 }, is_shown)
    }

    fn of(decision: Decision, is_shown: bool) -> Aside {
        Aside { decision, is_shown, changes: 0 }
    }

    /// Notes a step of the host.
    fn note(&mut self, step: &Step, is_aside: bool) -> Result<()> {
        match &mut self.decision {
            Decision::Auto(trial) => trial.serve(step, is_aside),
            Decision::Alternate { written, .. } => {
                *written += u64::from(pages_written(step));
                Ok(())
            }
        }
    }

    fn is_due(&self) -> bool {
        match &self.decision {
            Decision::Auto(trial) => trial.regret.is_due(),
            Decision::Alternate { period, written } => written >= period,
        }
    }

    fn begin_change(&mut self) {
        self.changes += 1;
        match &mut self.decision {
            Decision::Auto(trial) => trial.regret.reset(),
            Decision::Alternate { written, .. } => *written = 0,
        }
    }

    /// Bytes of RAM that the decision takes.
    pub(super) fn ram_bytes(&self) -> u64 {
        match &self.decision {
            Decision::Auto(trial) => trial.ram_bytes(),
            Decision::Alternate { .. } => 0,
        }
    }

    pub(super) fn reset_report(&mut self) {
        self.changes = 0;
        if let Decision::Auto(trial) = &mut self.decision {
            trial.before_ns = trial.times_ns();
        }
    }

    pub(super) fn figures(&self) -> Vec<(&'static str, Metric)> {
        let changes = [("aside_changes", Metric::Count(self.changes))];
        let of_trial = match &self.decision {
            Decision::Auto(trial) => trial.figures().to_vec(),
            Decision::Alternate { .. } => Vec::new(),
        };
        changes.into_iter().chain(of_trial).collect()
    }

    fn audit(&self) -> core::result::Result<(), Violation> {
        let Decision::Auto(trial) = &self.decision else { return Ok(()) };
        trial.with_log.audit()?;
        trial.without_log.audit()
    }
}
