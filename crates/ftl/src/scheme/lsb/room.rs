//! Room for pages in lsb: garbage collection, which is tight if the paper's rule gains nothing.

use nand::Nand;

use super::{ATTEMPTS_PER_BLOCK, Lsb, RESERVE};
use crate::contract::{Error, Result};
use crate::part::spare::spare_mapped::SpareMapped;
use crate::part::spare::superblocks::Sbn;

impl Lsb {
    /// Makes sure that a superblock can take `pages` pages.
    pub(super) fn make_room(&mut self, nand: &mut Nand, superblock: Sbn, pages: u32) -> Result<()> {
        self.want_room(nand, |lsb| lsb.has_room(superblock, pages))
    }

    /// Collects until there is enough room. Ends tight collection first if the paper's rule gains
    /// again.
    pub(super) fn want_room(
        &mut self,
        nand: &mut Nand,
        mut is_enough: impl FnMut(&Lsb) -> bool,
    ) -> Result<()> {
        if self.is_tight && !is_enough(self) && self.would_gain(nand) {
            self.is_tight = false;
        }
        self.collect_until(nand, is_enough)
    }

    pub(super) fn collect_until(
        &mut self,
        nand: &mut Nand,
        mut is_enough: impl FnMut(&Lsb) -> bool,
    ) -> Result<()> {
        self.attempts = 0;
        while !is_enough(self) {
            match self.collect(nand) {
                Err(Error::NoRoom { .. }) if self.can_tighten() => self.tighten(),
                done => done?,
            }
        }
        Ok(())
    }

    /// Whether each block that a full merge would empty frees more pages than it may take under the
    /// paper's rule.
    fn would_gain(&mut self, nand: &Nand) -> bool {
        let superblock = self.deadest();
        let Lsb { map, chains, victim, pages_per_block, .. } = self;
        let mut victims = map.blocks.two_emptiest(superblock).into_iter().flatten();
        victims.all(|block| victim.needs(&map.flat, chains, nand, block) < *pages_per_block)
    }

    pub(super) fn can_tighten(&self) -> bool {
        !self.is_tight && self.chains.layout().wide.is_some()
    }

    /// Makes collection tight. It induces no writes from now on, so blocks that were set aside are
    /// offered again.
    pub(super) fn tighten(&mut self) {
        self.is_tight = true;
        self.attempts = 0;
        self.map.blocks.offer_all_again();
    }

    /// The superblock with the most dead pages.
    fn deadest(&mut self) -> Sbn {
        self.map.blocks.deadest().expect("with the minimum of extra blocks some page is dead")
    }

    /// Whether a superblock can take `pages` pages without touching the reserve.
    pub(super) fn has_room(&self, superblock: Sbn, pages: u32) -> bool {
        let missing = pages.saturating_sub(self.map.blocks.room(superblock));
        missing == 0 || self.map.flat.pool.len() >= RESERVE + missing.div_ceil(self.pages_per_block)
    }

    /// Reclaims a block: of all blocks with valid pages that fit into their superblock, the one
    /// with the most dead pages. If there is none, does a full merge in the superblock with the
    /// most dead pages.
    fn collect(&mut self, nand: &mut Nand) -> Result<()> {
        self.attempts += 1;
        if self.attempts > ATTEMPTS_PER_BLOCK * nand.geometry().blocks() {
            return Err(Error::NoRoom { needs: 2 * self.pages_per_block, room: 0 });
        }
        self.tight.collections += u64::from(self.is_tight);
        let Lsb { map, chains, victim, is_tight, .. } = self;
        let (blocks, flat) = (&mut map.blocks, &map.flat);
        let victim = blocks.choose(|block, valid, room| match 2 * valid {
            _ if *is_tight => valid,
            most if most <= room => most,
            _ => victim.needs(flat, chains, nand, block),
        });
        match victim {
            Some(victim) => self.reclaim(nand, victim),
            None => {
                let superblock = self.deadest();
                self.merge_fully(nand, superblock)
            }
        }
    }
}
