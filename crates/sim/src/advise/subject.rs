//! The device and the way of measuring that a trace gets.
//!
//! ```text
//! log ─► requests in memory ─► look ─► device of the touched pages ─► rounds of whole passes
//! ```
//! **The device** has a drive's blocks, made smaller until there are enough of them. It consists of
//! the pages that the trace touches: pages that nobody writes are cold, and a device full of them
//! would be better than the load deserves.
//!
//! **Whole passes are measured**, because parts of a trace differ. The trace is repeated in rounds
//! of whole passes that write the device at least once, until they are steady: the best line
//! through five rounds rises or falls by at most 3 %. What the answer is about is measured in
//! longer rounds if the trace is short: there are few blocks, so that single rounds differ, and the
//! device forgets only slowly how it was filled.

use std::sync::Arc;

use nand::ChipModel;
use trace::{RequestTable, TableBuilder};

use crate::advise::bench::Bench;
use crate::advise::look::Look;
use crate::config::choices::Fit;
use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::config::until::SteadyRule;
use crate::config::values::Extra;
use crate::device::logical_blocks;
use crate::error::{Error, Result};
use crate::input::Input;
use crate::input::source::RequestSource;
use crate::progress::{Progress, Stage};
use crate::sizing::probe::{Care, with_care};

/// What the user chose; everything else is chosen here.
#[derive(Clone, Debug, Default)]
pub struct Choices {
    /// The trace and how it is read, the FTL, the capacity, the extra blocks, the drive, the seed.
    pub experiment: Experiment,
    /// Whether the chip is the user's.
    pub has_chip: bool,
    /// Whether the treatment of addresses is the user's.
    pub has_fit: bool,
    /// Requests in memory, in place of a log.
    pub requests: Option<Arc<RequestTable>>,
}

impl Choices {
    /// The chip that the user chose.
    ///
    /// # Errors
    /// There is no such chip.
    pub fn chip(&self) -> Result<ChipModel> {
        let chip = self.experiment.chip.clone();
        Ok(Setup::new(&Experiment { chip, ..Experiment::default() })?.chip)
    }
}

/// Over-provisioning of the drive that is asked about: 960 GB of 1 TiB of flash.
pub const OWN_EXTRA: &str = "14.53%";
/// The flash of today, in the unit in which drives map.
const CHIP: &str = "tlc-3d:page=4KiB,pages_per_block=";
/// Pages of a block, largest first.
const BLOCK_PAGES: [u64; 7] = [3072, 1536, 768, 384, 192, 96, 48];
/// The least number of logical blocks for which a larger block is taken.
const BLOCKS_MIN: u64 = 200;
/// The most rounds.
const ROUNDS_MAX: u32 = 21;
/// The most pages of a round whose run is short enough to be measured with care.
const CAREFUL_PAGES_MAX: u64 = 400_000;
/// How often the device is written before a single pass is measured.
const WRITES_BEFORE: u64 = 3;

/// A trace with its device.
pub struct Subject {
    /// What the trace does.
    pub look: Look,
    /// The requests.
    pub table: Arc<RequestTable>,
    /// The requests on the device.
    pub input: Input,
    /// A run on the device with the drive's own extra blocks.
    pub setup: Setup,
    /// The size of the device, in blocks and pages.
    pub logical_blocks: u64,
    /// Passes of a round: it writes the device at least once.
    pub round_passes: u64,
    /// What the user chose.
    given: Experiment,
}

/// The requests of a log, read once.
///
/// # Errors
/// The log cannot be read.
pub fn requests(choices: &Choices, progress: &dyn Progress) -> Result<Arc<RequestTable>> {
    if let Some(requests) = &choices.requests {
        return Ok(requests.clone());
    }
    // A workload is generated for the pages of its chip.
    let chip = provisional_chip(choices);
    let experiment = Experiment { drive: None, chip, ..choices.experiment.clone() };
    let source = RequestSource::open(&Setup::new(&experiment)?)?;
    let length = source.length();
    let report = |position| progress.report(Stage::Survey, position, length);
    Ok(Arc::new(source.trace().to_table::<Error>(report)?))
}

/// The requests from one row to before another.
pub fn part(table: &RequestTable, from: u64, to: u64) -> Arc<RequestTable> {
    let (mut builder, mut batch) = (TableBuilder::new(table.name()), Vec::new());
    let mut row = from;
    while row < to {
        let wanted = (to - row).min(4096) as usize;
        row += table.copy_rows(row, &mut batch, wanted) as u64;
        batch.drain(..).for_each(|request| builder.push(&request));
    }
    Arc::new(builder.finish_replay(table.report().clone()))
}

impl Subject {
    /// The device for requests, of which a look was taken.
    ///
    /// # Errors
    /// The requests touch nothing, or the device cannot exist.
    pub fn of(
        choices: &Choices,
        look: Look,
        table: Arc<RequestTable>,
        bench: &Bench,
    ) -> Result<Subject> {
        let base = base(choices)?;
        let open = |experiment: &Experiment| Setup::new(experiment)?.with_requests(&table);
        let progress = (bench.monitor)("trace");
        let input = Input::open(&open(&base)?, &*progress)?;
        let bytes = base.capacity_bytes.unwrap_or(input.needed_bytes());
        let base = match choices.has_chip {
            true => base,
            false => Experiment { chip: chip_for(bytes), ..base },
        };
        let setup = open(&base)?;
        let logical_blocks = logical_blocks(&setup.chip, bytes)?;
        let pages = logical_blocks * u64::from(setup.chip.pages_per_block);
        let round_passes = pages.div_ceil(look.page_writes.max(1));
        let given = choices.experiment.clone();
        let mut subject =
            Subject { look, table, input, setup, logical_blocks, round_passes, given };
        subject.setup.experiment.until = Some(subject.rounds()?);
        subject.setup.experiment.warmup = 0;
        Ok(subject)
    }

    /// Logical pages.
    pub fn pages(&self) -> u64 {
        self.logical_blocks * u64::from(self.setup.chip.pages_per_block)
    }

    /// Bytes that the host sees.
    pub fn capacity_bytes(&self) -> u64 {
        self.pages() * u64::from(self.setup.chip.page_bytes)
    }

    /// Blocks that the drive of this setup has beyond its capacity.
    pub fn extra_blocks(&self) -> u64 {
        Extra::of(self.setup.experiment.extra, self.logical_blocks)
    }

    /// Pages of the extra blocks.
    pub fn extra_pages(&self) -> u64 {
        self.extra_blocks() * u64::from(self.setup.chip.pages_per_block)
    }

    /// The same setup with other options.
    ///
    /// # Errors
    /// The options contradict each other.
    pub fn with(&self, change: impl FnOnce(&mut Experiment)) -> Result<Setup> {
        let mut experiment = self.setup.experiment.clone();
        change(&mut experiment);
        experiment.trace = None;
        Setup::new(&experiment)?.with_requests(&self.table)
    }

    /// A setup as the user would give it: the requests are those of the log, read as it was.
    pub fn on_the_log(&self, setup: Setup) -> Setup {
        let Experiment { format, skip_bad, sort, limit, volume, .. } = self.given.clone();
        let experiment =
            Experiment { format, skip_bad, sort, limit, volume, ..setup.experiment.clone() };
        Setup { experiment, ..setup }
    }

    /// The same setup with other options, measured with care if the trace is short.
    ///
    /// # Errors
    /// The options contradict each other.
    pub fn careful(&self, change: impl FnOnce(&mut Experiment)) -> Result<Setup> {
        let setup = self.with(change)?;
        let is_short = self.round_passes * self.look.page_writes <= CAREFUL_PAGES_MAX;
        Ok(if is_short { with_care(&setup, Care::Settled) } else { setup })
    }

    /// Passes after which one is measured, where rounds cannot be: so many that the device is
    /// written `WRITES_BEFORE` times, but at most this number.
    pub fn passes_before(&self, most: u64) -> u32 {
        let page_writes = self.look.page_writes.max(1);
        (WRITES_BEFORE * self.pages()).div_ceil(page_writes).min(most) as u32
    }

    /// The rule by which rounds of whole passes end.
    fn rounds(&self) -> Result<SteadyRule> {
        let share = exact_share(self.round_passes * self.look.page_writes.max(1), self.pages());
        Ok(format!("steady:rounds={ROUNDS_MAX},round={share},range=10%,slope=3%").parse()?)
    }
}

/// A share of `pages` that gives `part` of them when it is rounded up.
fn exact_share(part: u64, pages: u64) -> String {
    const DIGITS: u128 = 1_000_000;
    let millionths = u128::from(part) * 100 * DIGITS / u128::from(pages);
    format!("{}.{:06}%", millionths / DIGITS, millionths % DIGITS)
}

/// The options of all runs, with a provisional chip.
fn base(choices: &Choices) -> Result<Experiment> {
    let given = &choices.experiment;
    let is_free = !choices.has_fit && given.capacity_bytes.is_none();
    Ok(Experiment {
        ftl: given.ftl.clone(),
        capacity_bytes: given.capacity_bytes,
        seed: given.seed,
        extra: Some(given.extra.unwrap_or(OWN_EXTRA.parse()?)),
        fit: if is_free { Fit::Compact } else { given.fit },
        chip: provisional_chip(choices),
        ..Experiment::default()
    })
}

/// The chip before the size of the device is known, unless it is given.
fn provisional_chip(choices: &Choices) -> String {
    let given = &choices.experiment;
    match (choices.has_chip, given.capacity_bytes) {
        (true, _) => given.chip.clone(),
        (false, Some(bytes)) => chip_for(bytes),
        (false, None) => chip_with(BLOCK_PAGES[0]),
    }
}

/// The chip whose blocks are as large as possible while the device has enough of them.
fn chip_for(capacity_bytes: u64) -> String {
    const PAGE_BYTES: u64 = 4096;
    let pages = capacity_bytes.div_ceil(PAGE_BYTES);
    let fitting = BLOCK_PAGES.into_iter().find(|&block| pages / block >= BLOCKS_MIN);
    chip_with(fitting.unwrap_or(BLOCK_PAGES[BLOCK_PAGES.len() - 1]))
}

fn chip_with(pages_per_block: u64) -> String {
    format!("{CHIP}{pages_per_block}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_round_ends_with_a_pass() {
        for (part, pages) in [(1200, 1000), (1_234_567, 1_000_003), (7, 7), (1_999_999, 999_983)] {
            let share = spec::Share::parse(&exact_share(part, pages)).unwrap();
            assert_eq!(share.ceil_of(pages), part, "{share}");
        }
    }

    #[test]
    fn blocks_are_as_large_as_there_are_enough_of_them() {
        let chip = |mib: u64| chip_for(mib << 20);
        assert!(chip(4096).ends_with("=3072"), "341 blocks of 12 MiB");
        assert!(chip(485).ends_with("=384"), "323 blocks of 1.5 MiB");
        assert!(chip(1).ends_with("=48"));
    }
}
