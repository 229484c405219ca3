//! Wear levelling: how evenly blocks wear by each policy, and what it costs.

use nand::{
    BlockId, Cause, Content, Geometry, Lpn, MediaModel, Mode, Nand, Op, Page, Ppn, ProgramOrder,
    WearChoice,
};

const PAGES: u32 = 4;
const BLOCKS: u32 = 24;
const MODEL: &str = "real:factory_bad=0%,endurance=1M";

fn model(text: &str) -> MediaModel {
    MediaModel::parse(text, 3000).unwrap().unwrap()
}

fn geometry(dies: u32) -> Geometry {
    let geometry = Geometry::new(512, 64, PAGES, BLOCKS, ProgramOrder::Sequential).unwrap();
    geometry.with_dies(dies).unwrap()
}

fn chip(wear: &str, dies: u32, reserve: u32, mode: Mode) -> Nand {
    let model = model(MODEL);
    let mut nand = Nand::on_media(geometry(dies), mode, &model, reserve, 1).unwrap();
    nand.mount_media(&model, 1).unwrap();
    nand.level_wear_by(&WearChoice::parse(wear).unwrap(), model.endurance);
    nand
}

fn fill(nand: &mut Nand, block: u32, version: u32) {
    for at in 0..PAGES {
        let content = match nand.array().mode() {
            Mode::Count => Content::Pad,
            _ => Content::Host { data: nand::Data::Stamp(version), mask: 1, base: None },
        };
        let page = Page { owner: Lpn(block * PAGES + at), kind: 0, extra: &[], content };
        nand.program(Ppn(block * PAGES + at), &page, Cause::Host).unwrap();
    }
}

/// One block in four is hot: its data are erased again and again. All others are filled once.
fn skewed(nand: &mut Nand, erases: u32) {
    (0..BLOCKS).for_each(|block| fill(nand, block, 0));
    for at in 0..erases {
        let block = at % (BLOCKS / 4);
        nand.erase(BlockId(block), Cause::Gc).unwrap();
        fill(nand, block, 1 + at);
    }
}

/// Erases of the most worn block, and the mean of all blocks in use.
fn wear(nand: &Nand) -> (u32, f64) {
    let erases = nand.array().wear_of_blocks();
    let sum: u32 = erases.iter().sum();
    (*erases.iter().max().unwrap(), f64::from(sum) / erases.len() as f64)
}

const ERASES: u32 = 6000;

#[test]
fn without_a_policy_hot_blocks_wear_alone() {
    for wear_policy in ["none", "dynamic"] {
        let mut nand = chip(wear_policy, 1, 2, Mode::Count);
        skewed(&mut nand, ERASES);
        assert_eq!(wear(&nand), (ERASES * 4 / BLOCKS, f64::from(ERASES / BLOCKS)));
        assert_eq!(nand.tally().copies(Cause::Wear), 0);
        assert_eq!(nand.tally().count(Op::Erase, Cause::Wear), 0);
    }
}

/// The most worn block is at most so many erases above the mean as blocks may differ, and a bit;
/// the number of moves is what it takes to bring each block from there to the next threshold.
#[test]
fn policies_that_move_data_level_the_wear_of_each_die() {
    for (policy, dies) in
        [("static:threshold=20", 1), ("static:threshold=20", 2), ("swap:every=4,margin=20", 1)]
    {
        for reserve in [dies, 2 * dies, 6] {
            let mut nand = chip(policy, dies, reserve, Mode::Count);
            skewed(&mut nand, ERASES);
            let case = format!("{policy}, {dies} dies, {reserve} in reserve: {:?}", wear(&nand));
            let (max, mean) = wear(&nand);
            assert!(f64::from(max) < mean + 30.0, "{case}");
            let tally = nand.tally();
            let (copies, erases) = (tally.copies(Cause::Wear), tally.count(Op::Erase, Cause::Wear));
            let settled = copies / u64::from(PAGES);
            assert_eq!(copies % u64::from(PAGES), 0, "{case}");
            // Each cold block moves about once in a threshold's erases of the mean.
            let expected = f64::from(BLOCKS) * 0.75 * mean / 20.0;
            let ratio = settled as f64 / expected;
            assert!((0.5..1.5).contains(&ratio), "{case}: {settled} moves, {expected} expected");
            // A block that the FTL has just erased need not be erased again.
            assert!(erases >= settled && erases < settled * 5 / 4 + 10, "{case}: {erases} erases");
            assert_eq!(tally.copies(Cause::Media), 0, "{case}");
            assert!(tally.count(Op::Program, Cause::Media) >= 4 * settled, "{case}");
            assert_eq!(nand.media().unwrap().in_reserve(), reserve.into(), "{case}");
            assert_eq!(nand.media().unwrap().counts().retired(), 0, "{case}");
        }
    }
}

/// A chip that only counts decides as one that keeps pages, and no data change.
#[test]
fn data_stay_and_counts_are_those_of_a_chip_that_keeps_pages() {
    for policy in ["static:threshold=3", "swap:every=2,margin=2"] {
        let mut nands = [Mode::Count, Mode::Stamps].map(|mode| chip(policy, 2, 4, mode));
        nands.iter_mut().for_each(|nand| skewed(nand, 700));
        let [counts, stamps] = &mut nands;
        assert_eq!(counts.tally(), stamps.tally(), "{policy}");
        assert_eq!(counts.array().wear_of_blocks(), stamps.array().wear_of_blocks(), "{policy}");
        assert!(stamps.tally().copies(Cause::Wear) > 100, "{policy}");
        for page in (0..BLOCKS * PAGES).map(Ppn) {
            assert!(stamps.is_readable(page, Lpn(page.0)).unwrap(), "{policy}: {page:?}");
        }
        // What the list of moves says stands after the next mount, too.
        let before = stamps.array().wear_of_blocks().to_vec();
        stamps.power().cycle();
        stamps.mount_media(&model(MODEL), 1).unwrap();
        assert_eq!(stamps.array().wear_of_blocks(), before, "{policy}");
        assert_eq!(stamps.media().unwrap().in_reserve(), 4, "{policy}");
    }
}

/// Data that have just come are not cold, however young their block is; after a mount nothing is.
#[test]
fn only_cold_data_move() {
    let mut nand = chip("static:threshold=2", 1, 1, Mode::Stamps);
    skewed(&mut nand, 4 * BLOCKS - 1);
    assert_eq!(nand.tally().copies(Cause::Wear), 0, "four rounds, less an erase");
    let copies = |nand: &Nand| nand.tally().copies(Cause::Wear);
    for at in 0..3 {
        nand.erase(BlockId(at % 6), Cause::Gc).unwrap();
        fill(&mut nand, at % 6, 100);
    }
    assert!(copies(&nand) > 0);
    nand.power().cycle();
    nand.mount_media(&model(MODEL), 1).unwrap();
    nand.level_wear_by(&WearChoice::parse("static:threshold=2").unwrap(), 1000);
    nand.mounting().resume(10_000);
    nand.mounting().finish();
    let before = copies(&nand);
    for at in 0..4 * BLOCKS - 1 {
        nand.erase(BlockId(at % 6), Cause::Gc).unwrap();
    }
    assert_eq!(copies(&nand), before);
}

/// Data that came a while ago move after four rounds, and no erase earlier.
#[test]
fn data_become_cold_after_four_rounds() {
    let mut nand = chip("static:threshold=1", 1, 1, Mode::Stamps);
    (0..BLOCKS).for_each(|block| fill(&mut nand, block, 0));
    let erase_in_turn = |nand: &mut Nand, erases, blocks| {
        for block in (0..blocks).cycle().take(erases as usize) {
            nand.erase(BlockId(block), Cause::Gc).unwrap();
            fill(nand, block, 1);
        }
    };
    erase_in_turn(&mut nand, 5 * BLOCKS, BLOCKS);
    // From now on the last one keeps its data.
    erase_in_turn(&mut nand, 4 * BLOCKS - 1, BLOCKS - 1);
    assert_eq!(nand.tally().copies(Cause::Wear), 0);
    erase_in_turn(&mut nand, BLOCKS, BLOCKS - 1);
    assert_eq!(nand.tally().copies(Cause::Wear), PAGES.into());
}

/// Striping and the clock of a drive rely on it.
#[test]
fn blocks_stay_on_their_die() {
    let mut nand = chip("static:threshold=2", 3, 6, Mode::Stamps);
    (0..BLOCKS).for_each(|block| fill(&mut nand, block, 0));
    // Both hot blocks are on the same die.
    for block in [0, 3].into_iter().cycle().take(1000) {
        nand.erase(BlockId(block), Cause::Gc).unwrap();
        fill(&mut nand, block, 1);
    }
    // Without the list of moves, every block has its own number.
    nand.power().cycle();
    let all = *nand.array().geometry();
    let mut moved = 0;
    for page in (0..all.pages()).map(Ppn) {
        let Some((spare, _)) = nand.array().peek_spare(page).unwrap() else { continue };
        if spare.owner != Lpn::SYSTEM {
            let (block, number) = (all.block_of(page), BlockId(spare.owner.0 / PAGES));
            assert_eq!(all.die_of(block), all.die_of(number), "{number:?} is in {block:?}");
            moved += u32::from(block != number);
        }
    }
    assert!(moved > 3 * PAGES, "{moved} pages have moved");
}

/// Blocks of the FTL come into the reserve. A list of moves that was written there would never be
/// found again.
#[test]
fn a_list_of_moves_goes_where_a_mount_finds_it() {
    for rounds in 6..30 {
        let mut nand = chip("static:threshold=2", 1, 12, Mode::Stamps);
        skewed(&mut nand, rounds * BLOCKS);
        for failures in 1..8 {
            let media = nand.media_mut().unwrap();
            media.fail_erase_after(0);
            // It is the first one of a copy of the list: now of the one, now of the other.
            media.fail_program_after(2 * (failures % 2));
            nand.erase(BlockId(0), Cause::Gc).unwrap();
            if nand.media().unwrap().is_frozen() {
                // No block is left that a mount could find.
                break;
            }
            let mut again = Nand::power_up(nand.array().try_clone().unwrap());
            let mounted = again.mount_media(&model(MODEL), 1);
            mounted.unwrap_or_else(|why| panic!("{rounds} rounds, {failures} failures: {why}"));
            // An older list would know less.
            let [known, found] = [&nand, &again].map(|it| it.media().unwrap().counts());
            assert_eq!(found, known, "{rounds} rounds, {failures} failures");
            for page in (PAGES..BLOCKS * PAGES).map(Ppn) {
                let is_there = again.is_readable(page, Lpn(page.0)).unwrap();
                assert!(is_there, "{rounds} rounds, {failures} failures: {page:?}");
            }
        }
    }
}

/// A mount relies on what it has read: blocks stay in their places until it is complete.
#[test]
fn nothing_moves_while_a_mount_is_running() {
    let mut nand = chip("static:threshold=3", 1, 3, Mode::Stamps);
    skewed(&mut nand, 8 * BLOCKS);
    nand.power().cycle();
    nand.mount_media(&model(MODEL), 1).unwrap();
    nand.level_wear_by(&WearChoice::parse("static:threshold=1,rounds=1").unwrap(), 1000);
    nand.mounting().resume(10_000);
    let moves = |nand: &Nand| {
        let erases = nand.tally().count(Op::Erase, Cause::Wear);
        (erases, nand.media().unwrap().list_programs())
    };
    let before = moves(&nand);
    let cycle = |nand: &mut Nand| {
        for at in 0..2 * BLOCKS {
            nand.erase(BlockId(at % 6), Cause::Gc).unwrap();
            fill(nand, at % 6, at);
        }
    };
    cycle(&mut nand);
    assert_eq!(moves(&nand), before);
    nand.mounting().finish();
    cycle(&mut nand);
    assert!(moves(&nand).0 > before.0 && moves(&nand).1 > before.1);
}

/// Failures take blocks of the same reserve. When a die has none left, nothing moves any more.
#[test]
fn levelling_goes_on_until_the_reserve_is_used_up() {
    let text = "real:factory_bad=0%,endurance=60,spread=10%,program_fail=0.02%";
    for policy in ["none", "static:threshold=12", "swap:every=2,margin=12"] {
        let mut nand = Nand::on_media(geometry(1), Mode::Stamps, &model(text), 8, 3).unwrap();
        nand.mount_media(&model(text), 3).unwrap();
        nand.level_wear_by(&WearChoice::parse(policy).unwrap(), 60);
        (0..BLOCKS).for_each(|block| fill(&mut nand, block, 0));
        let mut erases = 0;
        while nand.expect_writable().is_ok() {
            nand.erase(BlockId(erases % 6), Cause::Gc).unwrap();
            fill(&mut nand, erases % 6, erases);
            erases += 1;
        }
        let expected = if policy == "none" { 600..1000 } else { 1400..2000 };
        assert!(expected.contains(&erases), "{policy}: {erases} erases");
        for page in (0..BLOCKS * PAGES).map(Ppn) {
            assert!(nand.is_readable(page, Lpn(page.0)).unwrap(), "{policy}: {page:?}");
        }
        let media = nand.media().unwrap();
        let known = media.counts().retired() + media.in_reserve() + media.list_blocks();
        assert!((8 + 4..=8 + 4 + 1).contains(&known), "{policy}: {known}");
    }
}

#[test]
fn what_cannot_be_levelled_says_why() {
    let why = |geometry: &Geometry, reserve| {
        Nand::check_levelling(geometry, &model(MODEL), reserve, 1).unwrap_err().to_string()
    };
    let few = why(&geometry(2), 1);
    assert!(few.contains("die 1 has none; give more with `--reserve`"), "{few}");
    assert!(why(&geometry(1), 0).contains("a block in reserve on each die"));
    let large = Geometry::new(512, 64, PAGES, 400, ProgramOrder::Sequential).unwrap();
    let long = why(&large, 4);
    assert!(long.contains("8 pages for 408 blocks, and a block has 4"), "{long}");
    Nand::check_levelling(&geometry(2), &model(MODEL), 2, 1).unwrap();
}
