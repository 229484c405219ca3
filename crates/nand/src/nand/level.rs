//! The chip levels the wear of its blocks: it carries out what a policy decides.

use super::Nand;
use super::media::model::MediaModel;
use super::media::{Factory, Media};
use super::wear::WearChoice;
use super::wear::levelling::{Levelling, Plan};
use crate::address::BlockId;
use crate::error::Result;
use crate::geometry::Geometry;
use crate::op::Cause;

impl Nand {
    /// Whether a policy can move data on the media that `on_media` would make.
    ///
    /// # Errors
    /// As of `on_media`; or the list of moves may become too long, or a die has no block in
    /// reserve.
    pub fn check_levelling(
        of_ftl: &Geometry,
        model: &MediaModel,
        reserve_blocks: u32,
        seed: u64,
    ) -> Result<()> {
        let factory = Factory::new(model, of_ftl, reserve_blocks, seed)?;
        factory.check_levelling(of_ftl, reserve_blocks)
    }

    /// Levels the wear by this policy, on a chip whose blocks take this number of erases on
    /// average. A policy that moves data is forgotten when the power fails, and is chosen again
    /// after each [mount of the media](Self::mount_media).
    pub fn level_wear_by(&mut self, choice: &WearChoice, endurance: u32) {
        self.takes_least_worn = choice.takes_least_worn();
        let of_ftl = *self.geometry();
        if let Some(media) = self.media_mut()
            && media.levelling.is_none()
        {
            let leveller = choice.leveller(endurance);
            media.levelling = leveller.map(|it| Box::new(Levelling::new(it, &of_ftl)));
        }
    }

    /// Whether an FTL is to take the least worn of its free blocks.
    #[inline]
    pub fn takes_least_worn(&self) -> bool {
        self.takes_least_worn
    }

    // ---- Blocks change places ----------------------------------------------------------------

    /// Whether a policy may move data after an erase.
    #[inline]
    pub(super) fn levels_wear(&self) -> bool {
        self.media().is_some_and(|media| media.levelling.is_some())
    }

    /// The FTL has erased a block. Moves what the policy wants to move.
    #[cold]
    #[inline(never)]
    pub(super) fn level_wear(&mut self, erased: BlockId) -> Result<()> {
        match self.plan_levelling(erased) {
            Some(plan) => self.change_places(erased, plan),
            None => Ok(()),
        }
    }

    /// Nothing moves while a mount is running, which has not seen all pages yet; when the host can
    /// only read; or when the list of moves has no spare block, which failures will need.
    fn plan_levelling(&mut self, erased: BlockId) -> Option<Plan> {
        let is_mounting = self.seen.is_some();
        let die = self.geometry().die_of(erased) as usize;
        let media = self.guards.as_mut()?.media.as_mut()?;
        let Media { levelling, reserve, exhausted, list_blocks, .. } = media;
        if is_mounting || exhausted.is_some() || list_blocks.is_empty() {
            return None;
        }
        levelling.as_mut()?.plan(&self.array, erased, &reserve[die])
    }

    /// Prepares the blocks in reserve; then one list of moves says what stands behind their numbers
    /// and those of the FTL. If a block in reserve turns out to be bad, its part of the plan is
    /// left out.
    fn change_places(&mut self, erased: BlockId, plan: Plan) -> Result<()> {
        let bad = self.its_media().moves.bad.len();
        let rest = plan.rest.map(|young| (erased, young));
        let rest = self.prepared(rest, |_, _, _| Ok(true))?;
        let settle = self.prepared(plan.settle, |nand, cold, worn| {
            nand.move_pages(cold, worn, None, Cause::Wear)
        })?;
        let exchange: Vec<_> = rest.into_iter().chain(settle).collect();
        for &(number, by) in &exchange {
            let block = self.array.behind(by);
            self.its_media().moves.place(number, block);
        }
        let has_failed = self.its_media().moves.bad.len() > bad;
        if has_failed || !exchange.is_empty() {
            self.write_list(&exchange)?;
        }
        let die = self.geometry().die_of(erased);
        let reserve = &mut self.its_media().reserve[die as usize];
        // What came last is taken first: the younger ones.
        rest.iter().for_each(|(_, worn)| reserve.insert(0, *worn));
        settle.iter().for_each(|(_, young)| reserve.push(*young));
        if has_failed && reserve.is_empty() {
            self.its_media().exhausted = Some(die);
        }
        if let Some((_, worn)) = rest {
            // It is what the FTL has just erased.
            self.its_levelling(|levelling| levelling.add_clean(worn));
        }
        Ok(())
    }

    /// Takes a block out of the reserve, erases it if need be, and does this work on it. None if it
    /// turns out to be bad.
    fn prepared(
        &mut self,
        pair: Option<(BlockId, BlockId)>,
        work: impl FnOnce(&mut Nand, BlockId, BlockId) -> Result<bool>,
    ) -> Result<Option<(BlockId, BlockId)>> {
        let Some((number, by)) = pair else { return Ok(None) };
        // A list of moves must not take it meanwhile.
        self.its_media().forget(by);
        let is_clean = self.its_levelling(|levelling| levelling.take_clean(by));
        let is_good = is_clean || self.erase_of_media(by, Cause::Wear)?;
        Ok((is_good && work(self, number, by)?).then_some((number, by)))
    }

    fn its_levelling<T>(&mut self, work: impl FnOnce(&mut Levelling) -> T) -> T {
        work(self.its_media().levelling.as_mut().expect("a policy has made a plan"))
    }
}
