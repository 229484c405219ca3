//! Flash that fails: blocks that come bad from the factory, operations that fail, blocks that wear
//! out, and the blocks in reserve that take their place.
//!
//! ```text
//! numbers of the FTL    0   1   2   3   4   5        behind each stands a block of the chip
//!                       │   │   ╳   │   │   │
//! blocks of the chip    0   1  (2)  3   4   5 │ 6   7   8 …      in reserve, or with the list
//!                               └────────────── 6                2 has failed; 6 has its pages
//! ```
//! It lies below the FTL, which keeps its block numbers: a block that fails is replaced by one of
//! the same die. The pages that it held are copied, the [list of moves](move_list) is written, and
//! with its last program the two blocks exchange their numbers. So a power cut finds either the old
//! block or the new one. A mount reads the list first, and exchanges the numbers again.
//!
//! When a die has no block left in reserve, the host can only read. A mount of such a chip, and
//! whatever else an FTL does when a block cannot be replaced, leaves the flash as it is: it works
//! on a copy in memory. So what can be read stays readable for ever.

pub mod model;
pub(crate) mod move_list;

use rand_core::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use spec::Share;

use crate::address::{BlockId, Lpn};
use crate::error::{Error, Result};
use crate::flash_array::{BlockLives, FACTORY_BAD};
use crate::geometry::Geometry;
use crate::nand::wear::levelling::Levelling;
use model::MediaModel;
use move_list::{Failure, Moves};

/// What happened to the blocks since the device was new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MediaCounts {
    /// Blocks that came bad from the factory.
    pub factory_bad: u64,
    /// Blocks in which a program failed.
    pub program_failures: u64,
    /// Blocks in which an erase failed before they were worn out.
    pub erase_failures: u64,
    /// Blocks in which an erase failed because they were worn out.
    pub worn_out: u64,
    /// Pages that were moved from blocks that failed.
    pub moved_pages: u64,
}

impl MediaCounts {
    fn of(moves: &Moves) -> MediaCounts {
        let of = |failure| moves.bad.iter().filter(|(_, why)| *why == failure).count() as u64;
        MediaCounts {
            factory_bad: of(Failure::Factory),
            program_failures: of(Failure::Program),
            erase_failures: of(Failure::Erase),
            worn_out: of(Failure::WornOut),
            moved_pages: moves.moved_pages,
        }
    }

    /// Blocks that have failed since the device was new, those that could not be replaced apart.
    pub fn retired(&self) -> u64 {
        self.program_failures + self.erase_failures + self.worn_out
    }
}

/// The blocks of a chip on media that can fail, as the factory made them.
pub(crate) struct Factory {
    /// With those in reserve and those of the list.
    pub(crate) all: Geometry,
    pub(crate) lives: BlockLives,
}

impl Factory {
    /// Draws the blocks.
    ///
    /// # Errors
    /// A die has more bad blocks than blocks in reserve, or there are more blocks in reserve than a
    /// list has room for.
    pub(crate) fn new(
        model: &MediaModel,
        of_ftl: &Geometry,
        reserve_blocks: u32,
        seed: u64,
    ) -> Result<Factory> {
        let others = reserve_blocks.saturating_add(Media::LIST_BLOCKS);
        let all = of_ftl.with_more_blocks(others)?;
        // Each of them may be bad, or stand behind a number that is not its own.
        let pages = move_list::pages(2 * others as usize, all.page_bytes());
        if pages > all.pages_per_block() {
            return Err(Error::ImpossibleChip(format!(
                "{reserve_blocks} blocks in reserve may need a list of moves of {pages} pages, and \
                 a block has {}; give fewer with `--reserve`",
                all.pages_per_block()
            )));
        }
        let factory = Factory { lives: draw_lives(model, &all, seed), all };
        factory.check(of_ftl, reserve_blocks).map(|()| factory)
    }

    /// By die: good blocks in reserve that are left when bad ones in use are replaced.
    fn left_in_reserve(&self, of_ftl: &Geometry, reserve_blocks: u32) -> Vec<i64> {
        let mut left = vec![0; self.all.dies() as usize];
        for block in (0..of_ftl.blocks() + reserve_blocks).map(BlockId) {
            let (is_bad, is_in_use) = (self.lives.is_factory_bad(block), block.0 < of_ftl.blocks());
            left[self.all.die_of(block) as usize] += match (is_in_use, is_bad) {
                (true, true) => -1,
                (false, false) => 1,
                _ => 0,
            };
        }
        left
    }

    /// Whether data can change places on these media.
    ///
    /// # Errors
    /// The list of moves may become too long, or a die has no block in reserve.
    pub(crate) fn check_levelling(&self, of_ftl: &Geometry, reserve_blocks: u32) -> Result<()> {
        // Any number may have another block behind it, and blocks beyond them may be bad.
        let (all, per_block) = (&self.all, self.all.pages_per_block());
        let pages = move_list::pages(all.blocks() as usize, all.page_bytes());
        if pages > per_block {
            return Err(Error::ImpossibleChip(format!(
                "wear levelling that moves data may need a list of moves of {pages} pages for {} \
                 blocks, and a block has {per_block}; take a smaller device, or `--wear dynamic`",
                all.blocks()
            )));
        }
        let left = self.left_in_reserve(of_ftl, reserve_blocks);
        match left.iter().position(|&left| left < 1) {
            Some(die) => Err(Error::ImpossibleChip(format!(
                "wear levelling that moves data needs a block in reserve on each die, and die \
                 {die} has none; give more with `--reserve`"
            ))),
            None => Ok(()),
        }
    }

    fn check(&self, of_ftl: &Geometry, reserve_blocks: u32) -> Result<()> {
        let of_lists = of_ftl.blocks() + reserve_blocks;
        let left = self.left_in_reserve(of_ftl, reserve_blocks);
        if let Some(die) = left.iter().position(|&left| left < 0) {
            let blocks = (0..of_lists).map(BlockId);
            let bad = blocks.filter(|&block| self.lives.is_factory_bad(block)).count();
            return Err(Error::ImpossibleChip(format!(
                "{bad} blocks come bad from the factory, and die {die} has too few in reserve to \
                 replace its own; give more with `--reserve`"
            )));
        }
        let good = |block: &BlockId| !self.lives.is_factory_bad(*block);
        if (of_lists..self.all.blocks()).map(BlockId).filter(good).count() < 2 {
            let why = "the blocks for the list of moves come bad from the factory; give another \
                       seed, or fewer bad blocks";
            return Err(Error::ImpossibleChip(why.to_owned()));
        }
        Ok(())
    }
}

/// Where the next list of a copy begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ListPlace {
    pub(crate) block: BlockId,
    pub(crate) page: u32,
}

/// What can happen to a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ProgramEvent {
    /// It fails.
    Fails,
    /// It succeeds, but the data of its page cannot be read.
    LosesPage,
}

/// What is known of the media of a chip that is on.
#[derive(Debug)]
pub struct Media {
    /// Programs that will succeed, with pages that can be read, before something happens.
    quiet_programs: u64,
    /// What happens then, and how many programs later the other event comes.
    next_event: ProgramEvent,
    between_events: u64,
    /// Whether the next page of the host that is programmed cannot be read afterwards.
    pub(crate) loses_page: bool,
    lost: Vec<Lpn>,
    quiet_erases: u64,
    quiet_reads: u64,
    rng: Xoshiro256PlusPlus,
    model: MediaModel,
    /// Good blocks in reserve, by die.
    pub(crate) reserve: Vec<Vec<BlockId>>,
    reserve_blocks: u32,
    pub(crate) moves: Moves,
    pub(crate) copies: [Option<ListPlace>; 2],
    /// Blocks for the next lists.
    pub(crate) list_blocks: Vec<BlockId>,
    /// The blocks with the newest list that counts. The last one of them must stay as it is.
    holders: Vec<BlockId>,
    pub(crate) erases: u64,
    pub(crate) list_programs: u64,
    /// A die that has no block left in reserve, after one of its blocks has failed.
    pub(crate) exhausted: Option<u32>,
    /// Whether the flash stays as it is, because a block could not be replaced, or because none was
    /// left in reserve at power-on. Then nothing fails.
    pub(crate) is_frozen: bool,
    /// Whether it has been so since a time when the host could write.
    froze_in_use: bool,
    /// Present if wear is levelled by moving data.
    pub(crate) levelling: Option<Box<Levelling>>,
    /// Whether the FTL handles failures. Then no block takes the place of another, and what failed
    /// is known only while the power is on.
    is_raw: bool,
}

impl Media {
    /// Blocks that are kept for the two copies of the list: a copy moves on to another block before
    /// the old one is given back.
    pub const LIST_BLOCKS: u32 = 4;

    /// The media that this list describes.
    pub(crate) fn new(
        model: &MediaModel,
        all: &Geometry,
        of_ftl: &Geometry,
        moves: Moves,
        seed: u64,
    ) -> Media {
        let others = all.blocks() - of_ftl.blocks();
        let rng = Xoshiro256PlusPlus::seed_from_u64(seed ^ moves.version.rotate_left(32));
        let mut media = Media {
            quiet_programs: 0,
            next_event: ProgramEvent::Fails,
            between_events: 0,
            loses_page: false,
            lost: Vec::new(),
            quiet_erases: 0,
            quiet_reads: 0,
            rng,
            model: *model,
            reserve: vec![Vec::new(); all.dies() as usize],
            reserve_blocks: others.saturating_sub(Media::LIST_BLOCKS),
            moves,
            copies: [None; 2],
            list_blocks: Vec::new(),
            holders: Vec::new(),
            erases: 0,
            list_programs: 0,
            exhausted: None,
            is_frozen: false,
            froze_in_use: false,
            levelling: None,
            is_raw: false,
        };
        let fails = media.gap(model.program_fail);
        media.quiet_erases = media.gap(model.erase_fail);
        let loses_page = media.gap(model.unreadable);
        media.expect_events(fails, loses_page);
        media.quiet_reads = media.gap(model.read_fail);
        media
    }

    /// The media of a chip on which the FTL handles failures.
    pub(crate) fn raw(
        model: &MediaModel,
        geometry: &Geometry,
        lives: &BlockLives,
        seed: u64,
    ) -> Media {
        let factory =
            (0..geometry.blocks()).map(BlockId).filter(|&block| lives.is_factory_bad(block));
        let bad = factory.map(|block| (block, Failure::Factory)).collect();
        let moves = Moves { bad, ..Moves::default() };
        Media { is_raw: true, ..Media::new(model, geometry, geometry, moves, seed) }
    }

    /// Gives these good blocks to the list and to the reserve. The last ones of a chip are for the
    /// list, and so are those that have the newest one.
    pub(crate) fn share_out(
        &mut self,
        holders: &[BlockId],
        mut free: Vec<BlockId>,
        all: &Geometry,
    ) {
        free.retain(|block| !holders.contains(block));
        let of_lists = all.blocks() - Media::LIST_BLOCKS;
        self.list_blocks = free.extract_if(.., |block| block.0 >= of_lists).collect();
        self.list_blocks.extend(holders);
        self.holders = holders.to_vec();
        // The last one is used first.
        for block in free.into_iter().rev() {
            self.reserve[all.die_of(block) as usize].push(block);
        }
        self.look_for_exhausted(all);
    }

    /// Looks for a die whose blocks have failed, and that has no other left.
    pub(crate) fn look_for_exhausted(&mut self, all: &Geometry) {
        self.exhausted = (0..all.dies()).find(|&die| {
            let mut bad = self.moves.bad.iter();
            let has_failed = bad
                .any(|&(block, failure)| failure != Failure::Factory && all.die_of(block) == die);
            self.reserve[die as usize].is_empty() && has_failed
        });
    }

    // ---- What happened ---------------------------------------------------------------------

    /// What happened to the blocks so far.
    pub fn counts(&self) -> MediaCounts {
        MediaCounts::of(&self.moves)
    }

    /// Blocks that were in reserve at first, bad ones too.
    pub fn reserve_blocks(&self) -> u64 {
        self.reserve_blocks.into()
    }

    /// Blocks that are kept for the list of moves.
    pub fn list_blocks(&self) -> u64 {
        (self.list_blocks.len() + self.copies.iter().flatten().count()) as u64
    }

    /// Blocks that are left in reserve.
    pub fn in_reserve(&self) -> u64 {
        self.reserve.iter().map(|blocks| blocks.len() as u64).sum()
    }

    /// Blocks that are left in reserve on the die that has the fewest.
    pub fn least_in_reserve(&self) -> u64 {
        self.reserve.iter().map(|blocks| blocks.len() as u64).min().unwrap_or(0)
    }

    /// Whether the flash stays as it is, and what changes is forgotten when the power fails.
    pub fn is_frozen(&self) -> bool {
        self.is_frozen
    }

    /// Whether something that the host wrote may be forgotten when the power fails: it was
    /// programmed in memory only.
    pub(crate) fn loses_changes(&self) -> bool {
        self.froze_in_use && self.quiet_programs < u64::MAX
    }

    /// Whether the FTL handles failures.
    pub fn is_raw(&self) -> bool {
        self.is_raw
    }

    /// Whether an operation in a block has failed since the power is on, or the block came bad from
    /// the factory. On raw media.
    pub fn has_failed(&self, block: BlockId) -> bool {
        self.moves.bad.iter().any(|&(bad, _)| bad == block)
    }

    /// Whether the host can only read.
    pub fn is_exhausted(&self) -> bool {
        self.exhausted.is_some()
    }

    /// Erases that no FTL asked for, since the power is on.
    pub fn other_erases(&self) -> u64 {
        self.erases
    }

    /// The logical pages of which a copy cannot be read since it was programmed, in the order of
    /// these programs, since the power is on.
    pub fn lost(&self) -> &[Lpn] {
        &self.lost
    }

    pub(crate) fn note_lost(&mut self, owner: Lpn) {
        self.loses_page = false;
        self.lost.push(owner);
    }

    /// Programs of the list of moves, since the power is on.
    pub fn list_programs(&self) -> u64 {
        self.list_programs
    }

    /// The error of the host's writes when it can only read.
    pub(crate) fn expect_writable(&self) -> Result<()> {
        match self.exhausted {
            Some(die) => Err(Error::WornOut { die, retired: self.counts().retired() }),
            None => Ok(()),
        }
    }

    /// Whether no other block has the newest list.
    pub(crate) fn is_only_holder(&self, block: BlockId) -> bool {
        self.holders == [block]
    }

    /// The list in this block is about to be changed, by an erase or by what a cut may destroy.
    pub(crate) fn begin_list(&mut self, block: BlockId) {
        debug_assert!(!self.is_only_holder(block), "{block:?} has the only list");
        self.holders.retain(|&holder| holder != block);
    }

    /// This block has the current list, with its seal. The first copy of a version is the newest
    /// list from then on.
    pub(crate) fn end_list(&mut self, block: BlockId, copy: usize) {
        if copy == 0 {
            self.holders.clear();
        }
        self.holders.push(block);
    }

    /// Takes a block for the next list; none if there is none left. A mount looks for lists only in
    /// blocks that `can_be_found`.
    pub(crate) fn take_list_block(
        &mut self,
        can_be_found: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let mut blocks = self.list_blocks.iter();
        if let Some(at) = blocks.position(|&block| !self.is_only_holder(block)) {
            return Some(self.list_blocks.remove(at));
        }
        self.take_from_reserve(can_be_found)
    }

    /// Takes one of these blocks from the die that has most in reserve.
    pub(crate) fn take_from_reserve(
        &mut self,
        can_be_found: impl Fn(BlockId) -> bool,
    ) -> Option<BlockId> {
        let last = |blocks: &[BlockId]| blocks.iter().rposition(|&block| can_be_found(block));
        let usable = self.reserve.iter_mut().filter(|blocks| last(blocks).is_some());
        let most = usable.max_by_key(|blocks| blocks.len())?;
        last(most).map(|at| most.remove(at))
    }

    /// This block is of no use any more.
    pub(crate) fn forget(&mut self, block: BlockId) {
        self.reserve.iter_mut().chain([&mut self.list_blocks]).for_each(|blocks| {
            blocks.retain(|&it| it != block);
        });
    }

    /// From now on the flash stays as it is, because this die has no block left.
    pub(crate) fn freeze(&mut self, die: u32, is_in_use: bool) {
        (self.exhausted, self.is_frozen) = (Some(die), true);
        self.froze_in_use |= is_in_use;
        // Nothing fails in memory.
        (self.quiet_programs, self.quiet_reads) = (u64::MAX, u64::MAX);
        self.loses_page = false;
    }

    /// A block is bad from now on.
    pub(crate) fn retire(&mut self, bad: BlockId, failure: Failure) {
        self.moves.bad.push((bad, failure));
    }

    /// Pages have moved.
    pub(crate) fn count_moved(&mut self, pages: u64) {
        self.moves.moved_pages += pages;
    }

    // ---- Failures --------------------------------------------------------------------------

    /// The program after this number of others fails.
    pub fn fail_program_after(&mut self, programs: u64) {
        let [_, loses_page] = self.events();
        self.expect_events(programs, loses_page);
    }

    /// The first page of the host that is programmed after this number of programs cannot be read.
    /// Without effect on a chip that only counts.
    pub fn lose_page_after(&mut self, programs: u64) {
        let [fails, _] = self.events();
        self.expect_events(fails, programs);
    }

    /// The erase after this number of others fails.
    pub fn fail_erase_after(&mut self, erases: u64) {
        self.quiet_erases = erases;
    }

    /// Whether the next programs succeed, this number of them. They are taken as done if they do.
    #[inline(always)]
    pub(crate) fn are_quiet_for(&mut self, programs: u32) -> bool {
        let left = self.quiet_programs.checked_sub(programs.into());
        self.quiet_programs = left.unwrap_or(self.quiet_programs);
        left.is_some()
    }

    /// What happens to the next program, if anything does.
    pub(crate) fn program_event(&mut self) -> Option<ProgramEvent> {
        if self.are_quiet_for(1) || self.is_frozen {
            return None;
        }
        let event = self.next_event;
        let [fails, loses_page] = self.events();
        match event {
            ProgramEvent::Fails => {
                let next = self.gap(self.model.program_fail);
                self.expect_events(next, loses_page);
            }
            ProgramEvent::LosesPage => {
                let next = self.gap(self.model.unreadable);
                self.expect_events(fails.saturating_sub(1), next);
            }
        }
        Some(event)
    }

    /// Programs before the next one that fails, and before the next one whose page is lost.
    fn events(&self) -> [u64; 2] {
        let (first, other) =
            (self.quiet_programs, self.quiet_programs.saturating_add(self.between_events));
        match self.next_event {
            ProgramEvent::Fails => [first, other],
            ProgramEvent::LosesPage => [other, first],
        }
    }

    fn expect_events(&mut self, fails: u64, loses_page: u64) {
        self.quiet_programs = fails.min(loses_page);
        self.between_events = fails.abs_diff(loses_page);
        self.next_event =
            if fails <= loses_page { ProgramEvent::Fails } else { ProgramEvent::LosesPage };
    }

    /// Whether the next read has to be made again.
    pub(crate) fn read_fails(&mut self) -> bool {
        match self.quiet_reads.checked_sub(1) {
            Some(left) => {
                self.quiet_reads = left;
                false
            }
            None => {
                self.quiet_reads = self.gap(self.model.read_fail);
                true
            }
        }
    }

    /// How often something succeeds before it fails, if this share of it fails.
    fn gap(&mut self, share: Share) -> u64 {
        gap(&mut self.rng, share.as_f64())
    }

    /// Why an erase of a block fails, if it does.
    #[inline]
    pub(crate) fn erase_failure(&mut self, is_worn_out: bool) -> Option<Failure> {
        if self.is_frozen {
            return None;
        }
        match self.quiet_erases.checked_sub(1) {
            Some(left) => {
                self.quiet_erases = left;
                is_worn_out.then_some(Failure::WornOut)
            }
            None => {
                self.quiet_erases = self.gap(self.model.erase_fail);
                Some(Failure::Erase)
            }
        }
    }
}

/// Draws what each block can take.
pub(crate) fn draw_lives(model: &MediaModel, all: &Geometry, seed: u64) -> BlockLives {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let cycles = f64::from(model.endurance);
    let mut limit = |is_first: bool| {
        let limit = cycles * (1.0 + model.spread.as_f64() * normal(&mut rng));
        let limit = limit.round().clamp(1.0, f64::from(FACTORY_BAD - 1)) as u32;
        // The maker guarantees that block 0 is good.
        let is_bad = !is_first && model.factory_bad.as_f64() > uniform(&mut rng);
        if is_bad { FACTORY_BAD } else { limit }
    };
    let limits: Vec<u32> = (0..all.blocks()).map(|at| limit(at == 0)).collect();
    BlockLives::new(limits)
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
    (uniform(rng).ln() / (-probability).ln_1p()) as u64
}
