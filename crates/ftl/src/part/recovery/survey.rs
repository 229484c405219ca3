//! The first step of every mount: what is on the flash, and which of it counts.
//!
//! ```text
//! scan of spare areas ─▶ trim log: which segment to believe ─▶ pages that do not count are hidden
//!                                                           ─▶ copies that tombstones kill
//!                                                           ─▶ page programmed last
//! ```
//! A page does not count if it is void, or if it is tentative and the mount that programmed it
//! never committed; [`trim_log`](super::trim_log) explains both. Without a trim log every readable
//! page counts.
//!
//! The last page that counts is suspect, because it may become unreadable at any time. If this
//! happens during the mount, `Layers::mount` starts the mount again. Nobody was promised the
//! content of that page, because the power failed during its program. If the cut has destroyed
//! paired pages instead, these are suspect, and their copies in the
//! [shelter](super::pair_shelter) stand in.

use nand::Nand;

use super::pair_shelter;
use super::spare_scan::{SpareScan, Suspects};
use super::tombstones::Tombstones;
use super::trim_log::TrimLog;
use crate::contract::{Ftl, MountConfig, Result};

/// What a mount finds on the flash.
#[derive(Debug)]
pub struct Survey {
    /// The spare areas. Pages that do not count are unreadable here, and it is known which copies
    /// are dead.
    pub scan: SpareScan,
    /// The pages that the mount must copy.
    pub suspects: Suspects,
    /// The tombstones. Most schemes need them no more.
    pub tombstones: Tombstones,
}

/// Reads the spare areas of all blocks and the trim log, if there is one. From now on programs are
/// possible; with a trim log, they are tentative until it [commits](TrimLog::commit).
///
/// # Errors
/// The power is lost again, or a page holds something that the trim log cannot have written.
pub fn read(nand: &mut Nand, device: &MountConfig, trims: &mut Option<TrimLog>) -> Result<Survey> {
    let mut scan = SpareScan::read(nand, device.blocks)?;
    nand.mounting().resume(scan.last().map_or(0, |copy| copy.spare.sequence) + 1);
    let tombstones = match trims {
        Some(trims) => {
            nand.mounting().begin_tentative();
            trims.read_back(nand, &mut scan, pair_shelter::blocks_of(nand.geometry(), device))?
        }
        None => Tombstones::default(),
    };
    let mark = trims.as_ref().map_or(u64::MAX, TrimLog::found_mark);
    let destroyed = pair_shelter::restore(nand, device, &mut scan, mark)?;
    scan.bury(&tombstones);
    if trims.is_some() {
        scan.is_complete()?;
    }
    let are_destroyed = !destroyed.is_empty();
    let is_suspect = !are_destroyed && (trims.is_none() || nand.geometry().dies() == 1);
    let last = scan.last().filter(|_| is_suspect);
    let pages = if are_destroyed { destroyed } else { last.into_iter().collect() };
    Ok(Survey { suspects: Suspects { pages, are_destroyed }, scan, tombstones })
}

/// The last step of a scheme's mount: lets an FTL that was formatted recover, unless the chip is
/// factory-new.
///
/// # Errors
/// The recovery fails.
pub fn mounted<F: Ftl + 'static>(
    nand: &mut Nand,
    device: &MountConfig,
    mut ftl: F,
    recover: impl FnOnce(&mut F, &mut Nand, &MountConfig) -> Result<()>,
) -> Result<Box<dyn Ftl>> {
    if !nand.is_factory_new() {
        recover(&mut ftl, nand, device)?;
    }
    Ok(Box::new(ftl))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::Durability;
    use nand::{BlockId, Cause, Content, Geometry, Lpn, Mode, Page, Ppn, ProgramOrder, Timing};
    use spec::Params;

    #[test]
    fn programs_after_a_mount_come_after_all_that_it_found() {
        let geometry = Geometry::new(512, 64, 4, 2, ProgramOrder::Sequential).unwrap();
        let mut nand = Nand::new(geometry, Mode::Stamps);
        for ppn in 0..3 {
            let page = Page { owner: Lpn(0), kind: 1, extra: &[], content: Content::Pad };
            nand.program(Ppn(ppn), &page, Cause::Host).unwrap();
        }
        nand.power().cycle();
        let device = MountConfig {
            params: &Params::default(),
            logical_blocks: 1,
            blocks: &[BlockId(0), BlockId(1)],
            durability: Durability::Paper,
            seed: 0,
            timing: Timing::default(),
            policy: None,
            foresight: None,
        };
        let survey = read(&mut nand, &device, &mut None).unwrap();
        let last = survey.scan.last().unwrap().spare.sequence;
        assert_eq!(nand.take_sequence(), last + 1);
    }

    #[test]
    fn the_last_page_is_suspect_unless_marks_tell_which_pages_count() {
        let (paper, full) = (Durability::Paper, Durability::Full);
        for (durability, dies) in [(paper, 1), (paper, 2), (full, 1), (full, 2)] {
            let geometry = Geometry::new(512, 64, 4, 24, ProgramOrder::Sequential).unwrap();
            let mut nand = Nand::new(geometry.with_dies(dies).unwrap(), Mode::Stamps);
            let blocks: Vec<BlockId> = (0..24).map(BlockId).collect();
            let device = MountConfig {
                params: &Params::default(),
                logical_blocks: 8,
                blocks: &blocks,
                durability,
                seed: 0,
                timing: Timing::default(),
                policy: None,
                foresight: None,
            };
            for ppn in 0..3 {
                let page = Page { owner: Lpn(0), kind: 1, extra: &[], content: Content::Pad };
                nand.program(Ppn(ppn), &page, Cause::Host).unwrap();
            }
            nand.power().cycle();
            let mut trims = TrimLog::split(&nand, &device).1;
            assert_eq!(trims.is_some(), durability == full);
            let suspects = read(&mut nand, &device, &mut trims).unwrap().suspects;
            let is_suspect = durability == paper || dies == 1;
            let endangered = suspects.endangered().map(|copy| copy.ppn);
            assert_eq!(endangered, is_suspect.then_some(Ppn(2)), "{durability:?}, {dies} dies");
        }
    }
}
