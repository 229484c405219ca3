//! Flash that fails: blocks that come bad from the factory, operations that fail, blocks that wear
//! out, and the blocks in reserve that take their place.
//!
//! ```text
//! blocks of the FTL    0   1   2   3   4   5        each stands for a block of the chip
//!                      │   │   ╳   │   │   │
//! blocks of the chip   0   1  (2)  3   4   5 │ 6   7        in reserve: 6 and 7
//!                              └────────────── 6            2 has failed; 6 has its pages now
//! ```
//! It lies below the FTL, which keeps its block numbers: a block that fails is replaced by one of
//! the same die, and the pages that it held are moved. When a die has no block left in reserve, the
//! device can only be read.
//!
//! As pages keep their numbers, the flash array needs no translation. Only what a block of the chip
//! brings along changes with it: its erases, and the erase with which it will fail. A chip on an
//! image needs the list of moves on flash, and does not have it yet.

pub mod model;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

use crate::address::BlockId;
use crate::error::{Error, Result};
use crate::geometry::Geometry;
use model::MediaModel;

/// What happened to the blocks so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Blocks that came bad from the factory.
    pub factory_bad: u64,
    /// Programs that failed.
    pub program_failures: u64,
    /// Erases that failed before the block was worn out.
    pub erase_failures: u64,
    /// Erases that failed because the block was worn out.
    pub worn_out: u64,
    /// Pages that were moved from blocks that failed.
    pub moved_pages: u64,
}

impl MediaCounts {
    /// Blocks that were in use and had to be replaced.
    pub fn retired(&self) -> u64 {
        self.program_failures + self.erase_failures + self.worn_out
    }
}

/// A block in reserve, or one that takes the place of another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GoodBlock {
    /// The erases that it can take.
    limit: u32,
}

/// Why an erase fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EraseFailure {
    ByChance,
    WornOut,
}

/// The blocks of a chip, and their misfortunes, which are all drawn from a seed.
#[derive(Debug)]
pub struct Media {
    /// Programs that will succeed before the next one that fails.
    pub(crate) quiet_programs: u64,
    quiet_erases: u64,
    /// The erases that the block can take which stands behind each block of the FTL.
    limits: Vec<u32>,
    /// Good blocks, by die.
    reserve: Vec<Vec<GoodBlock>>,
    rng: Xoshiro256PlusPlus,
    program_fail: f64,
    erase_fail: f64,
    counts: MediaCounts,
    reserve_blocks: u32,
    retired_erases: u64,
    list_erases: u64,
    /// The die that has no block left in reserve.
    exhausted: Option<u32>,
    /// Records in the block of the list of moves that is written now.
    records: u32,
}

impl Media {
    /// The media of a factory-new chip, with further blocks in reserve, spread over the dies.
    ///
    /// # Errors
    /// A die has more bad blocks than blocks in reserve.
    pub fn new(
        model: &MediaModel,
        geometry: &Geometry,
        reserve_blocks: u32,
        seed: u64,
    ) -> Result<Media> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let (dies, blocks) = (geometry.dies(), geometry.blocks());
        let cycles = f64::from(model.endurance);
        let mut drawn = |is_first: bool| {
            let limit = cycles * (1.0 + model.spread.as_f64() * normal(&mut rng));
            let limit = limit.round().clamp(1.0, f64::from(u32::MAX)) as u32;
            // The maker guarantees that block 0 is good.
            let is_bad = !is_first && model.factory_bad.as_f64() > uniform(&mut rng);
            (!is_bad).then_some(GoodBlock { limit })
        };
        let in_use: Vec<Option<GoodBlock>> = (0..blocks).map(|at| drawn(at == 0)).collect();
        let in_reserve: Vec<Option<GoodBlock>> =
            (0..reserve_blocks).map(|_| drawn(false)).collect();
        let mut reserve: Vec<Vec<GoodBlock>> = vec![Vec::new(); dies as usize];
        for (at, block) in in_reserve.iter().enumerate() {
            reserve[at % dies as usize].extend(*block);
        }
        let bad = in_use.iter().chain(&in_reserve).filter(|block| block.is_none()).count();
        let mut limits = Vec::with_capacity(blocks as usize);
        for (at, block) in in_use.into_iter().enumerate() {
            let die = geometry.die_of(BlockId(at as u32));
            let good = block.or_else(|| reserve[die as usize].pop());
            limits.push(good.ok_or_else(|| too_many_bad(bad, die))?.limit);
        }
        let mut media = Media {
            quiet_programs: 0,
            quiet_erases: 0,
            limits,
            reserve,
            program_fail: model.program_fail.as_f64(),
            erase_fail: model.erase_fail.as_f64(),
            rng,
            counts: MediaCounts { factory_bad: bad as u64, ..MediaCounts::default() },
            reserve_blocks,
            retired_erases: 0,
            list_erases: 0,
            exhausted: None,
            records: 0,
        };
        media.quiet_programs = gap(&mut media.rng, media.program_fail);
        media.quiet_erases = gap(&mut media.rng, media.erase_fail);
        Ok(media)
    }

    /// What happened to the blocks so far.
    pub fn counts(&self) -> MediaCounts {
        self.counts
    }

    /// Blocks that were in reserve at first, bad ones too.
    pub fn reserve_blocks(&self) -> u64 {
        self.reserve_blocks.into()
    }

    /// Blocks that are left in reserve.
    pub fn in_reserve(&self) -> u64 {
        self.reserve.iter().map(|blocks| blocks.len() as u64).sum()
    }

    /// Whether nothing can be programmed or erased any more.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted.is_some()
    }

    /// Whether the next programs succeed, this number of them. They are taken as done if they do.
    #[inline(always)]
    pub(crate) fn are_quiet_for(&mut self, programs: u32) -> bool {
        let left = self.quiet_programs.checked_sub(programs.into());
        self.quiet_programs = left.unwrap_or(self.quiet_programs);
        left.is_some()
    }

    /// Erases of blocks that do not stand behind one of the FTL: retired ones, and those of the
    /// list of moves.
    pub fn other_erases(&self) -> u64 {
        self.retired_erases + self.list_erases
    }

    /// A block is retired after these erases.
    pub(crate) fn retire(&mut self, erases: u32) {
        self.retired_erases += u64::from(erases);
    }

    /// Refuses an operation that changes the flash if the device can only be read.
    pub(crate) fn expect_writable(&self) -> Result<()> {
        match self.exhausted {
            Some(die) => Err(Error::WornOut { die, retired: self.counts.retired() }),
            None => Ok(()),
        }
    }

    /// A program fails: another block takes the place of its block, and `pages` pages move there.
    pub(crate) fn replace_after_program(
        &mut self,
        block: BlockId,
        die: u32,
        pages: u32,
    ) -> Result<()> {
        self.quiet_programs = gap(&mut self.rng, self.program_fail);
        self.replace(block, die)?;
        self.counts.program_failures += 1;
        self.counts.moved_pages += u64::from(pages);
        Ok(())
    }

    /// An erase of this block was the `erases`-th of the one that stands behind it. If it has
    /// failed, another one takes its place. Returns whether that is so.
    pub(crate) fn end_erase(&mut self, block: BlockId, die: u32, erases: u32) -> Result<bool> {
        let failure = match self.quiet_erases.checked_sub(1) {
            Some(left) => {
                self.quiet_erases = left;
                (erases > self.limits[block.0 as usize]).then_some(EraseFailure::WornOut)
            }
            None => {
                self.quiet_erases = gap(&mut self.rng, self.erase_fail);
                Some(EraseFailure::ByChance)
            }
        };
        let Some(failure) = failure else { return Ok(false) };
        self.replace(block, die)?;
        match failure {
            EraseFailure::ByChance => self.counts.erase_failures += 1,
            EraseFailure::WornOut => self.counts.worn_out += 1,
        }
        Ok(true)
    }

    fn replace(&mut self, block: BlockId, die: u32) -> Result<()> {
        match self.reserve[die as usize].pop() {
            Some(good) => {
                self.limits[block.0 as usize] = good.limit;
                Ok(())
            }
            None => {
                self.exhausted = Some(die);
                // Nothing is quiet any more: every program asks, and is refused.
                self.quiet_programs = 0;
                self.expect_writable()
            }
        }
    }

    /// The list of moves gets a record in each of its two copies. Returns whether these are full,
    /// so that both are written again in other blocks.
    pub(crate) fn record_move(&mut self, pages_per_block: u32) -> bool {
        self.records += 1;
        let is_full = self.records == pages_per_block;
        if is_full {
            self.records = 1;
            self.list_erases += 2;
        }
        is_full
    }
}

/// A number above 0, and at most 1.
fn uniform(rng: &mut Xoshiro256PlusPlus) -> f64 {
    const BITS: u32 = 53;
    ((rng.next_u64() >> (64 - BITS)) + 1) as f64 / (1_u64 << BITS) as f64
}

/// A number of the standard normal distribution (Box and Muller, 1958).
fn normal(rng: &mut Xoshiro256PlusPlus) -> f64 {
    let (radius, turn) = ((-2.0 * uniform(rng).ln()).sqrt(), uniform(rng));
    radius * (core::f64::consts::TAU * turn).cos()
}

/// How often something succeeds before it fails, if it fails with this probability.
fn gap(rng: &mut Xoshiro256PlusPlus, probability: f64) -> u64 {
    if probability <= 0.0 {
        return u64::MAX;
    }
    // From a float, whatever is beyond the range of an integer becomes its end.
    (uniform(rng).ln() / (1.0 - probability).ln()) as u64
}

fn too_many_bad(bad: usize, die: u32) -> Error {
    Error::ImpossibleChip(format!(
        "{bad} blocks come bad from the factory, and die {die} has too few in reserve to replace \
         its own; give more with `--reserve`"
    ))
}
