//! Devices of drawn sizes: figures that nobody chose find what nobody thought of.

use nand::{Pairing, ProgramOrder};

use super::{DeviceModel, TinyMedia};
use crate::rng::Rng;

/// Pages per block are drawn up to one of these, so that small blocks are as frequent as large
/// ones.
const PAGES_PER_BLOCK_MAX: [u32; 5] = [4, 8, 16, 32, 64];
const CELL_BITS_MAX: u32 = 4;
const PAIR_DISTANCE_MAX: u32 = 8;
const DIES_MAX: u32 = 4;
const SPARE_BYTES_MAX: u32 = 256;
const SECTORS_PER_PAGE_MAX: u32 = 4;
/// Logical pages beyond two blocks.
const FURTHER_PAGES_MAX: u32 = 48;
/// Many devices find more than many cuts on one.
const LOGICAL_PAGES_OF_ONE_CUT: u32 = 4;
const EXTRA_BLOCKS_MAX: u32 = 4;
/// One in this number of devices is on media that fail.
const ON_MEDIA_ONE_IN: u32 = 4;
const RESERVE_MIN: u32 = 6;
/// The list of moves of a device has a single page.
const RESERVE_MAX: u32 = 24;
/// Blocks in reserve for each die, where failures are asked for: enough for a case.
const RESERVE_OF_DIE: u32 = 24;
/// Blocks of a hundred that come bad from the factory, if any does.
const FACTORY_BAD: u32 = 5;
const FAILING_PROGRAM_MAX: u32 = 64;
const FAILING_ERASE_MAX: u32 = 8;
const ENDURANCE_MAX: u32 = 24;
/// The largest difference of erases at which blocks change places.
const LEVELLING_MAX: u32 = 4;

impl DeviceModel {
    /// A device that is drawn from a seed. It may be impossible. Every third one has
    /// the spare area that `spare_bytes_min` gives for it.
    pub fn drawn(seed: u64, spare_bytes_min: impl Fn(&DeviceModel) -> u32) -> DeviceModel {
        let mut rng = Rng::new(seed);
        let most = PAGES_PER_BLOCK_MAX[rng.below(PAGES_PER_BLOCK_MAX.len() as u32) as usize];
        let pages_per_block = 2 + rng.below(most - 1);
        let orders = [ProgramOrder::Any, ProgramOrder::Ascending, ProgramOrder::Sequential];
        let further_blocks = rng.below(FURTHER_PAGES_MAX / pages_per_block + 1);
        let model = DeviceModel {
            page_bytes: nand::geometry::SECTOR_BYTES * (1 + rng.below(SECTORS_PER_PAGE_MAX)),
            pages_per_block,
            logical_blocks: 2 + further_blocks,
            extra_blocks: rng.below(EXTRA_BLOCKS_MAX + 1),
            order: orders[rng.below(orders.len() as u32) as usize],
            pairing: Pairing {
                bits: 1 + rng.below(CELL_BITS_MAX),
                distance: 1 + rng.below(PAIR_DISTANCE_MAX),
            },
            ..*DeviceModel::base()
        };
        let header = nand::spare::HEADER_BYTES as u32;
        let spare_bytes = match rng.one_in(3) {
            true => spare_bytes_min(&model),
            false => header + rng.below(SPARE_BYTES_MAX - header + 1),
        };
        let one_cut_in = 1 + model.logical_pages() / LOGICAL_PAGES_OF_ONE_CUT;
        // Half of the devices that can have several dies have one.
        let has_dies = model.order != ProgramOrder::Any && rng.one_in(2);
        let dies = if has_dies { 2 + rng.below(DIES_MAX - 1) } else { 1 };
        let media = TinyMedia::drawn(&mut rng);
        DeviceModel { spare_bytes, dies, media, one_cut_in, ..model }
    }

    /// The device of which a drawn one is written as a change.
    fn base() -> &'static DeviceModel {
        DeviceModel::named("tiny").expect("it is in the list")
    }
}

impl TinyMedia {
    /// Blocks that fail on command, by wear, or from the factory on; or none.
    fn drawn(rng: &mut Rng) -> TinyMedia {
        if !rng.one_in(ON_MEDIA_ONE_IN) {
            return TinyMedia::default();
        }
        TinyMedia {
            reserve: RESERVE_MIN + rng.below(RESERVE_MAX - RESERVE_MIN + 1),
            factory_bad: if rng.one_in(3) { FACTORY_BAD } else { 0 },
            endurance: if rng.one_in(4) { 1 + rng.below(ENDURANCE_MAX) } else { 0 },
            failing_program: rng.below(FAILING_PROGRAM_MAX + 1),
            failing_erase: rng.below(FAILING_ERASE_MAX + 1),
            levelling: if rng.one_in(3) { 1 + rng.below(LEVELLING_MAX) } else { 0 },
            lost_page: if rng.one_in(3) { 1 + rng.below(FAILING_PROGRAM_MAX) } else { 0 },
        }
    }

    /// Programs or erases that fail, bad blocks, or pages that cannot be read, with blocks in
    /// reserve on each die.
    pub fn failing(
        [program, erase, bad, unreadable]: [bool; 4],
        dies: u32,
        rng: &mut Rng,
    ) -> TinyMedia {
        TinyMedia {
            reserve: RESERVE_OF_DIE * dies,
            factory_bad: if bad { FACTORY_BAD } else { 0 },
            endurance: 0,
            failing_program: if program { 1 + rng.below(FAILING_PROGRAM_MAX) } else { 0 },
            failing_erase: if erase { 1 + rng.below(FAILING_ERASE_MAX) } else { 0 },
            lost_page: if unreadable { 1 + rng.below(FAILING_PROGRAM_MAX) } else { 0 },
            levelling: 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawn_device_is_found_again_by_its_name() {
        let mut found = 0;
        for seed in 0..200 {
            let model = DeviceModel::drawn(seed, |_| 33);
            let Ok(again) = DeviceModel::from_spec(&model.spec()) else { continue };
            let one_cut_in = model.one_cut_in;
            assert_eq!(DeviceModel { one_cut_in, ..again }, model, "{}", model.spec());
            found += 1;
        }
        assert!(found > 150, "{found} of 200 are possible");
    }

    #[test]
    fn every_figure_is_drawn_from_end_to_end() {
        let drawn: Vec<DeviceModel> =
            (0..5000).map(|seed| DeviceModel::drawn(seed, |_| 1)).collect();
        let ends = |of: fn(&DeviceModel) -> u32| {
            let all = drawn.iter().map(of);
            [all.clone().min().unwrap(), all.max().unwrap()]
        };
        assert_eq!(ends(|it| it.pages_per_block), [2, 64]);
        assert_eq!(ends(|it| it.pairing.bits), [1, 4]);
        assert_eq!(ends(|it| it.pairing.distance), [1, 8]);
        assert_eq!(ends(|it| it.dies), [1, 4]);
        assert_eq!(ends(|it| it.spare_bytes), [1, 256]);
        assert_eq!(ends(|it| it.extra_blocks), [0, 4]);
        assert_eq!(ends(|it| it.page_bytes), [512, 2048]);
        assert_eq!(ends(|it| it.logical_blocks), [2, 26]);
        assert_eq!(ends(|it| it.media.reserve), [0, 24]);
        assert_eq!(ends(|it| it.media.failing_program), [0, 64]);
        assert_eq!(ends(|it| it.media.failing_erase), [0, 8]);
        assert_eq!(ends(|it| it.media.lost_page), [0, 64]);
        assert_eq!(ends(|it| it.media.endurance), [0, 24]);
        assert_eq!(ends(|it| it.media.levelling), [0, 4]);
        let on_media = drawn.iter().filter(|it| it.media.reserve > 0).count();
        assert!((1100..1400).contains(&on_media), "{on_media} of 5000");
        for order in ProgramOrder::ALL {
            assert!(drawn.iter().filter(|it| it.order == order).count() > 1000, "{order:?}");
        }
    }

    #[test]
    fn many_pages_are_cut_seldom_and_dies_need_an_order() {
        let drawn = (0..2000).map(|seed| DeviceModel::drawn(seed, |_| 1));
        let (in_order, in_any): (Vec<_>, Vec<_>) =
            drawn.partition(|it| it.order != ProgramOrder::Any);
        for it in in_order.iter().chain(&in_any) {
            assert_eq!(it.one_cut_in, 1 + it.logical_blocks * it.pages_per_block / 4, "{it:?}");
        }
        assert!(in_any.iter().all(|it| it.dies == 1));
        let several = in_order.iter().filter(|it| it.dies > 1).count();
        assert!((2..4).contains(&(5 * several / in_order.len())), "{several}");
    }

    #[test]
    fn each_kind_of_failure_has_its_figure() {
        let failing = |kind: usize, dies| -> Vec<TinyMedia> {
            let kinds = std::array::from_fn(|at| at == kind);
            (0..2000).map(|seed| TinyMedia::failing(kinds, dies, &mut Rng::new(seed))).collect()
        };
        let ends = |kind, of: fn(&TinyMedia) -> u32| {
            let all = failing(kind, 3);
            let figures = all.iter().map(of);
            let others = all.iter().map(|it| {
                it.failing_program + it.failing_erase + it.factory_bad + it.lost_page - of(it)
            });
            assert!(others.sum::<u32>() == 0 && all.iter().all(|it| it.reserve == 3 * 24));
            [figures.clone().min().unwrap(), figures.max().unwrap()]
        };
        assert_eq!(ends(0, |it| it.failing_program), [1, 64]);
        assert_eq!(ends(1, |it| it.failing_erase), [1, 8]);
        assert_eq!(ends(2, |it| it.factory_bad), [5, 5]);
        assert_eq!(ends(3, |it| it.lost_page), [1, 64]);
    }
}
