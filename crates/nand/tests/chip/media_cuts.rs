//! Power cuts on media that fail: at every operation, with every outcome, in the move that a
//! failure or wear levelling causes, and in the mount after it.

use std::collections::BTreeMap;

use nand::{
    BlockId, Cause, Content, Cut, Data, Error, Geometry, Lpn, MediaModel, Mode, Nand, Outcome,
    Page, PageState, Ppn, ProgramOrder, WearChoice,
};

const PAGES: u32 = 4;
const BLOCKS: u32 = 4;
const SEED: u64 = 5;

/// The failures of a run: of the n-th program and of the m-th erase.
#[derive(Clone, Copy, Debug)]
struct Failures {
    programs: Option<u64>,
    erases: Option<u64>,
    /// How wear is levelled.
    wear: &'static str,
}

/// Nothing fails, and no data move.
const NONE: Failures = Failures { programs: None, erases: None, wear: "none" };
/// Cold data move often.
const LEVELLED: Failures = Failures { wear: "static:threshold=1", ..NONE };

/// What is certain of the pages of the FTL: what each holds, if anything. A page is not in it while
/// the operation under way decides.
type Certain = BTreeMap<Ppn, Option<Lpn>>;

fn model() -> MediaModel {
    MediaModel::parse("real:factory_bad=20%,endurance=1M", 3000).unwrap().unwrap()
}

fn chip(dies: u32) -> Nand {
    let geometry = Geometry::new(512, 64, PAGES, BLOCKS, ProgramOrder::Ascending).unwrap();
    let geometry = geometry.with_dies(dies).unwrap();
    Nand::on_media(geometry, Mode::Stamps, &model(), 6 * dies, SEED).unwrap()
}

/// Mounts the media; the FTL reads all spare areas.
fn mount(nand: &mut Nand, wear: &str) -> nand::Result<()> {
    nand.mount_media(&model(), SEED)?;
    nand.level_wear_by(&WearChoice::parse(wear).unwrap(), 100);
    let mut newest = 0;
    if nand.mounting().is_running() {
        for ppn in (0..nand.geometry().pages()).map(Ppn) {
            if let PageState::Programmed(spare) = nand.read_spare(ppn, Cause::Meta)? {
                newest = newest.max(spare.sequence);
            }
        }
        nand.mounting().resume(newest + 1);
        nand.mounting().finish();
    }
    Ok(())
}

/// Fills blocks, and erases each one before it is filled again. Notes what is certain: with several
/// dies, that is what was there at the last wait.
fn work(nand: &mut Nand, wear: &str, certain: &mut Certain, lpn: &mut u32) -> nand::Result<()> {
    let mut uncertain = Certain::new();
    // Where wear is levelled, the first block of each die keeps its data, which are cold.
    let (rounds, cold) = if wear == "none" { (2, 0) } else { (14, nand.geometry().dies()) };
    for number in (0..rounds * BLOCKS).filter(|at| *at < BLOCKS || at % BLOCKS >= cold) {
        let block = BlockId(number % BLOCKS);
        let first = nand.geometry().first_page(block);
        let pages: Vec<Ppn> = (0..PAGES).map(|at| first.plus(at)).collect();
        let mut now: Certain = pages.iter().map(|&ppn| (ppn, None)).collect();
        if nand.array().filled(block) > 0 || nand.array().is_half_erased(block) {
            certain.retain(|ppn, _| !pages.contains(ppn));
            nand.erase(block, Cause::Gc)?;
            if nand.geometry().dies() == 1 {
                certain.extend(now.clone());
            }
        }
        // Page 1 is left out, as the order allows.
        for ppn in [pages[0], pages[2], pages[3]] {
            *lpn += 1;
            let content = Content::Host { data: Data::Stamp(*lpn), mask: 1, base: None };
            let page = Page { owner: Lpn(*lpn), kind: 1, extra: &[], content };
            certain.remove(&ppn);
            nand.program(ppn, &page, Cause::Host)?;
            now.insert(ppn, Some(Lpn(*lpn)));
            if nand.geometry().dies() == 1 {
                certain.insert(ppn, Some(Lpn(*lpn)));
            }
        }
        uncertain.extend(now);
        if number % 2 == 1 {
            nand.wait();
            certain.extend(core::mem::take(&mut uncertain));
        }
    }
    Ok(())
}

fn fail(nand: &mut Nand, failures: Failures) {
    let media = nand.media_mut().unwrap();
    failures.programs.into_iter().for_each(|n| media.fail_program_after(n));
    failures.erases.into_iter().for_each(|n| media.fail_erase_after(n));
}

/// All that is certain is there, and will stay.
fn check(nand: &mut Nand, certain: &Certain, case: &str) {
    nand.power().decay().unwrap();
    for (&ppn, &lpn) in certain {
        let state = nand.array().state(ppn).unwrap();
        match lpn {
            // A program of another page may have gone astray here.
            None if case.contains("Misdirected") => {
                assert!(!matches!(state, PageState::Programmed(_)), "{case}: {ppn:?}");
            }
            None => assert_eq!(state, PageState::Erased, "{case}: {ppn:?}"),
            Some(lpn) => assert!(nand.is_readable(ppn, lpn).unwrap(), "{case}: {ppn:?} {lpn:?}"),
        }
    }
}

/// A mount leaves two copies of the newest list, and no list as new without a seal: a page that
/// goes astray could become it.
fn expect_lists(nand: &Nand, case: &str, copies_min: usize) {
    const LIST: u8 = 0xF0;
    let (flash, all) = (nand.array(), *nand.array().geometry());
    let (mut newest, mut unsealed) = (Vec::new(), Vec::new());
    for block in (BLOCKS..all.blocks()).map(BlockId) {
        let pages = (0..PAGES).map(|at| all.page(block, at));
        let used = pages.take_while(|&page| flash.state(page).unwrap() != PageState::Erased);
        let is_list = used.map(|page| match flash.state(page).unwrap() {
            // A seal may have the spare area of the list before it.
            PageState::Programmed(it) if flash.peek_meta(page).is_some_and(|it| it.len() > 16) => {
                (page, (it.owner, it.kind) == (Lpn::SYSTEM, LIST))
            }
            _ => (page, false),
        });
        let is_list: Vec<(Ppn, bool)> = is_list.collect();
        let lists = is_list.iter().filter(|it| it.1).map(|it| flash.peek_meta(it.0).unwrap());
        let versions = lists.map(|list| u64::from_le_bytes(list[8..16].try_into().unwrap()));
        let version = versions.max();
        newest.extend(version);
        unsealed.extend(version.filter(|_| is_list.last().is_some_and(|last| last.1)));
    }
    let version = newest.iter().max();
    assert!(unsealed.iter().max() < version, "{case}: the newest list has no seal");
    let copies = newest.iter().filter(|it| Some(*it) == version).count();
    let is_enough = (copies_min..=2).contains(&copies);
    assert!(is_enough, "{case}: the newest list has {copies} copies");
}

/// With several dies, each is somewhere else at the cut.
fn outcomes(dies: u32) -> Vec<Outcome> {
    match dies {
        1 => [Outcome::OF_PROGRAM, Outcome::OF_ERASE].concat(),
        _ => vec![Outcome::Reordered, Outcome::BrownedOut, Outcome::Torn, Outcome::Mixed],
    }
}

/// Runs with a cut after this number of operations. Returns the chip without power, unless the cut
/// did not come.
fn cut_run(failures: Failures, cut: Cut, dies: u32, certain: &mut Certain) -> Option<Nand> {
    let (mut nand, mut lpn) = (chip(dies), 0);
    nand.power().cut_after(cut);
    nand.power().draw_dies(cut.after.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let done = mount(&mut nand, failures.wear).and_then(|()| {
        fail(&mut nand, failures);
        work(&mut nand, failures.wear, certain, &mut lpn)
    });
    match done {
        Ok(()) => None,
        Err(Error::PowerLost) => Some(nand),
        Err(error) => panic!("{failures:?} {cut:?}: {error}"),
    }
}

fn every_cut(failures: Failures, dies: u32) -> u64 {
    let mut cases = 0;
    for outcome in outcomes(dies) {
        for after in 0.. {
            let cut = Cut { after, outcome };
            let mut certain = Certain::new();
            let Some(nand) = cut_run(failures, cut, dies, &mut certain) else { break };
            let flash = nand.into_array();
            // The mount is cut too, at each of its operations.
            for second in 0.. {
                let case = format!("{failures:?} {cut:?}, then {second}");
                let mut nand = Nand::power_up(flash.try_clone().unwrap());
                let again =
                    [Outcome::Torn, Outcome::LooksErased, Outcome::Unstable, Outcome::Mixed]
                        [(after + second) as usize % 4];
                nand.power().cut_after(Cut { after: second, outcome: again });
                let is_cut = match mount(&mut nand, failures.wear) {
                    Ok(()) => false,
                    Err(Error::PowerLost) => true,
                    Err(error) => panic!("{case}: {error}"),
                };
                if is_cut {
                    nand.power().cycle();
                    mount(&mut nand, failures.wear)
                        .unwrap_or_else(|error| panic!("{case}: {error}"));
                }
                check(&mut nand, &certain, &case);
                // What an interrupted erase leaves may be read as a copy once more, and then decay.
                let is_weak = |it| dies > 1 || matches!(it, Outcome::Intact | Outcome::Mixed);
                let may_decay = is_weak(outcome) || is_cut && is_weak(again);
                expect_lists(&nand, &case, if may_decay { 1 } else { 2 });
                nand.power().cycle();
                mount(&mut nand, failures.wear).unwrap();
                check(&mut nand, &certain, &case);
                expect_lists(&nand, &case, 2);
                cases += 1;
                if !is_cut {
                    let mut lpn = 1000;
                    work(&mut nand, failures.wear, &mut certain.clone(), &mut lpn).unwrap();
                    break;
                }
            }
        }
    }
    cases
}

#[test]
fn a_cut_anywhere_in_a_move_loses_nothing() {
    let mut cases = every_cut(NONE, 1);
    for at in (0..24).step_by(5) {
        cases += every_cut(Failures { programs: Some(at), ..NONE }, 1);
    }
    for at in 0..4 {
        cases += every_cut(Failures { erases: Some(at), ..NONE }, 1);
        cases += every_cut(Failures { programs: Some(7 * at), erases: Some(at), ..NONE }, 1);
        cases += every_cut(Failures { programs: Some(7 * at), erases: Some(at), ..NONE }, 2);
    }
    assert!(cases > 10_000, "{cases}");
}

/// Cold data move to worn blocks, and worn blocks to the reserve: what is on flash is there at each
/// operation of it, and after the mount. Operations of the move may fail, too.
#[test]
fn a_cut_anywhere_in_wear_levelling_loses_nothing() {
    let mut lpn = 0;
    for dies in [1, 2] {
        let mut nand = chip(dies);
        mount(&mut nand, LEVELLED.wear).unwrap();
        work(&mut nand, LEVELLED.wear, &mut Certain::new(), &mut lpn).unwrap();
        let copies = nand.tally().copies(Cause::Wear);
        assert!(copies >= 6 * u64::from(dies), "{dies} dies: {copies} pages have moved");
    }
    let mut cases = every_cut(LEVELLED, 1) + every_cut(LEVELLED, 2);
    for at in [17, 23, 40] {
        cases += every_cut(Failures { programs: Some(at), ..LEVELLED }, 1);
        cases += every_cut(Failures { programs: Some(at), ..LEVELLED }, 2);
    }
    for at in [2, 4, 5, 7] {
        cases += every_cut(Failures { erases: Some(at), ..LEVELLED }, 1);
    }
    assert!(cases > 10_000, "{cases}");
}

/// The erase of a list that a cut has left without a seal fails in the mount: the block is bad,
/// once and for all.
#[test]
fn a_list_block_that_fails_in_a_mount_is_counted_once() {
    let failures = Failures { programs: Some(3), ..NONE };
    let often = MediaModel::parse("real:erase_fail=50%", 3000).unwrap().unwrap();
    let mut failed = 0;
    for after in 0..200 {
        let cut = Cut { after, outcome: Outcome::Untouched };
        let Some(nand) = cut_run(failures, cut, 1, &mut Certain::new()) else { break };
        let mut nand = Nand::power_up(nand.into_array());
        nand.mount_media(&often, SEED + after).unwrap();
        let media = nand.media().unwrap();
        let (counts, others) = (media.counts(), media.in_reserve() + media.list_blocks());
        let all = nand.array().geometry().blocks() - BLOCKS;
        let case = format!("{cut:?}: {counts:?}");
        assert_eq!(others + counts.factory_bad + counts.retired(), u64::from(all), "{case}");
        failed += counts.erase_failures;
    }
    assert!(failed > 5, "{failed}");
}
