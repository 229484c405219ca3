//! Power cuts and what they leave on flash.

use std::collections::BTreeSet;

use nand::power_cut::{Interruptible, Left, Snapshot, reordered};
use nand::{
    BlockId, Cause, Copies, Cut, Error, Geometry, Lpn, Mode, Nand, Outcome, PageState, Pairing,
    Ppn, ProgramOrder, Result, Spare,
};

use crate::fixture::{chip, host, program};

#[test]
fn an_interrupted_program_leaves_each_of_its_outcomes() {
    for &outcome in Outcome::OF_PROGRAM {
        let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
        nand.power().cut_after(Cut { after: 1, outcome });
        program(&mut nand, 0, 5);
        let cut = nand.program(Ppn(1), &host(6, 2), Cause::Host);
        assert_eq!(cut, Err(Error::PowerLost));
        assert_eq!(nand.erase(BlockId(3), Cause::Gc), Err(Error::PowerLost), "nothing works then");
        nand.power().cycle();
        let before = nand.read_spare(Ppn(1), Cause::Meta).unwrap();
        let readable = matches!(before, PageState::Programmed(Spare { owner: Lpn(6), .. }));
        match outcome {
            Outcome::Untouched | Outcome::LooksErased | Outcome::Misdirected => {
                assert_eq!(before, PageState::Erased);
            }
            Outcome::Torn | Outcome::Flipped | Outcome::Stale => {
                assert_eq!(before, PageState::Unreadable);
            }
            _ => assert!(readable, "{outcome:?}"),
        }
        let level = if before == PageState::Erased { 1 } else { 2 };
        assert_eq!(nand.array().fill_level(BlockId(0)), Ok(level), "{outcome:?}");
        let elsewhere = nand.read_spare(Ppn(4), Cause::Meta).unwrap();
        let hit = outcome == Outcome::Misdirected;
        assert_eq!(elsewhere, if hit { PageState::Unreadable } else { PageState::Erased });
        nand.power().decay().unwrap();
        nand.mounting().finish();
        let after = nand.read_spare(Ppn(1), Cause::Meta).unwrap();
        let decayed = outcome == Outcome::Unstable;
        assert_eq!(after, if decayed { PageState::Unreadable } else { before });
        assert_eq!(nand.read_spare(Ppn(0), Cause::Meta).unwrap(), {
            let (owner, tentative) = (Lpn(5), false);
            PageState::Programmed(Spare { owner, version: 1, sequence: 1, kind: 1, tentative })
        });
    }
}

#[test]
fn an_unstable_page_survives_a_second_cut_and_decays_when_its_time_has_come() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Unstable });
    nand.program(Ppn(0), &host(5, 1), Cause::Host).unwrap_err();
    nand.power().cycle();
    nand.mounting().resume(2);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Torn });
    nand.program(Ppn(4), &host(6, 2), Cause::Host).unwrap_err();
    nand.power().cycle();
    nand.power().decay_after(2);
    nand.mounting().resume(3);
    nand.mounting().finish();
    for readable in [true, true, false, false] {
        let state = nand.read_spare(Ppn(0), Cause::Meta).unwrap();
        assert_eq!(matches!(state, PageState::Programmed(_)), readable);
    }
}

#[test]
fn an_interrupted_erase_leaves_each_of_its_outcomes() {
    let states_after = |outcome, erases| {
        let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
        (0..erases).for_each(|_| nand.erase(BlockId(0), Cause::Gc).unwrap());
        (0..4).for_each(|page| program(&mut nand, page, page));
        nand.power().cut_after(Cut { after: 0, outcome });
        nand.erase(BlockId(0), Cause::Gc).unwrap_err();
        nand.power().cycle();
        let mut count = || {
            let state = |page| nand.read_spare(Ppn(page), Cause::Meta).unwrap();
            let states = [0, 1, 2, 3].map(state);
            let readable = |state: &&PageState| matches!(state, PageState::Programmed(_));
            let erased = |state: &&PageState| **state == PageState::Erased;
            (states.iter().filter(readable).count(), states.iter().filter(erased).count())
        };
        let first = count();
        nand.power().decay().unwrap();
        nand.mounting().finish();
        let mut count = || {
            let state = |page| nand.read_spare(Ppn(page), Cause::Meta).unwrap();
            [0, 1, 2, 3].map(state).iter().filter(|s| matches!(s, PageState::Programmed(_))).count()
        };
        (first, count())
    };
    let states = |outcome| states_after(outcome, 0);
    assert_eq!(states(Outcome::Untouched), ((4, 0), 4));
    assert_eq!(states(Outcome::Half), ((0, 4), 0));
    assert_eq!(states(Outcome::Complete), ((0, 4), 0));
    assert_eq!(states(Outcome::Intact), ((4, 0), 0), "readable first, and not later");
    let ((readable, erased), later) = states(Outcome::Mixed);
    assert!(readable > 0 && readable + erased < 5 && later <= readable, "{readable} {erased}");
    // The wear of the block decides what is left of it.
    let mixed: Vec<_> = (0..12).map(|erases| states_after(Outcome::Mixed, erases)).collect();
    assert!(mixed.iter().any(|((readable, _), later)| later < readable), "nothing is weak");
    assert!(mixed.iter().any(|(_, later)| *later > 0), "nothing is spared");
    assert!(mixed.iter().any(|((readable, erased), _)| readable + erased < 4), "nothing is torn");
}

/// A chip with two pages in block 0, whose erase was interrupted in this way.
fn chip_with_interrupted_erase(outcome: Outcome) -> Nand {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    (0..2).for_each(|page| program(&mut nand, page, page));
    nand.power().cut_after(Cut { after: 0, outcome });
    nand.erase(BlockId(0), Cause::Gc).unwrap_err();
    nand.power().cycle();
    nand
}

#[test]
#[should_panic(expected = "half erased")]
fn the_erased_pages_of_a_block_that_an_erase_has_spared_cannot_be_programmed() {
    let mut nand = chip_with_interrupted_erase(Outcome::Intact);
    nand.mounting().resume(9);
    program(&mut nand, 2, 5);
}

#[test]
#[should_panic(expected = "half erased")]
fn a_half_erased_block_of_a_copied_flash_cannot_be_programmed() {
    let nand = chip_with_interrupted_erase(Outcome::Half);
    let mut copy = Nand::power_up(nand.array().try_clone().unwrap());
    copy.mounting().resume(9);
    program(&mut copy, 0, 5);
}

#[test]
fn the_store_remembers_every_interrupted_erase() {
    for (outcome, is_half_erased) in [
        (Outcome::Untouched, false),
        (Outcome::Half, true),
        (Outcome::Complete, false),
        (Outcome::Intact, true),
        (Outcome::Mixed, true),
    ] {
        let store = chip_with_interrupted_erase(outcome).into_array().into_store().unwrap();
        let [erased, other] = [0, 1].map(|block| store.block(BlockId(block)).unwrap().half_erased);
        assert_eq!((erased, other), (is_half_erased, false), "{outcome:?}");
    }
}

#[test]
fn an_interrupted_program_of_an_upper_page_destroys_its_lower_pages() {
    let pairing = Pairing { bits: 3, distance: 1 };
    let geometry = Geometry::new(1024, 64, 6, 4, ProgramOrder::Sequential).unwrap();
    let mut nand = Nand::new(geometry.with_pairing(pairing).unwrap(), Mode::Stamps);
    (0..5).for_each(|page| program(&mut nand, page, page));
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Paired });
    nand.program(Ppn(5), &host(5, 6), Cause::Host).unwrap_err();
    nand.power().cycle();
    let readable = [0, 1, 2, 3, 4, 5].map(|page| {
        let state = nand.read_spare(Ppn(page), Cause::Meta).unwrap();
        matches!(state, PageState::Programmed(_))
    });
    assert_eq!(readable, [true, true, true, false, false, false]);
}

#[test]
#[should_panic(expected = "whose spare area it has not read")]
fn a_mount_cannot_use_owners_that_it_has_not_read() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    nand.power().cycle();
    nand.read_spare(Ppn(0), Cause::Meta).unwrap();
    assert_eq!(nand.owner(Ppn(0)), Lpn(5), "read, and therefore known");
    nand.owner(Ppn(1));
}

#[test]
#[should_panic(expected = "whose spare area it has not read")]
fn a_chip_that_was_powered_up_knows_no_owner() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    Nand::power_up(nand.into_array()).owner(Ppn(0));
}

#[test]
#[should_panic(expected = "whose spare area it has not read")]
fn a_mount_knows_the_owners_of_a_block_when_it_has_read_all_its_pages() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cycle();
    (0..3).for_each(|page| _ = nand.read_spare(Ppn(page), Cause::Meta).unwrap());
    nand.owners(BlockId(0));
}

/// A chip whose page 0 a mount has read before it decayed.
fn chip_with_decayed_page() -> Nand {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Unstable });
    nand.program(Ppn(0), &host(5, 1), Cause::Host).unwrap_err();
    nand.power().cycle();
    assert!(matches!(nand.read_spare(Ppn(0), Cause::Meta), Ok(PageState::Programmed(_))));
    nand.power().decay().unwrap();
    nand
}

#[test]
fn a_mount_is_told_that_a_page_has_decayed_since_it_was_read() {
    let mut nand = chip_with_decayed_page();
    assert_eq!(nand.read_spare(Ppn(0), Cause::Meta), Err(Error::Unreadable(Ppn(0))));
    assert_eq!(nand.read_spare(Ppn(0), Cause::Meta), Ok(PageState::Unreadable), "known by now");
}

#[test]
fn a_mount_that_starts_again_may_find_fewer_pages() {
    let mut nand = chip_with_decayed_page();
    nand.mounting().start_again();
    assert_eq!(nand.read_spare(Ppn(0), Cause::Meta), Ok(PageState::Unreadable));
}

#[test]
fn pages_are_tentative_until_the_mount_commits() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cycle();
    nand.mounting().resume(1);
    nand.mounting().begin_tentative();
    program(&mut nand, 0, 5);
    nand.mounting().commit();
    program(&mut nand, 1, 5);
    nand.mounting().finish();
    let mut tentative = |page| match nand.read_spare(Ppn(page), Cause::Meta).unwrap() {
        PageState::Programmed(spare) => spare.tentative,
        state => panic!("{state:?}"),
    };
    assert_eq!([tentative(0), tentative(1)], [true, false]);
}

#[test]
#[should_panic(expected = "programmed page 0; next is 1")]
fn a_page_that_only_looks_erased_cannot_be_programmed() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::LooksErased });
    nand.program(Ppn(0), &host(5, 1), Cause::Host).unwrap_err();
    nand.power().cycle();
    nand.mounting().resume(1);
    program(&mut nand, 0, 5);
}

#[test]
#[should_panic(expected = "half erased")]
fn a_half_erased_block_cannot_be_programmed() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Half });
    nand.erase(BlockId(0), Cause::Gc).unwrap_err();
    nand.power().cycle();
    assert_eq!(nand.read_spare(Ppn(0), Cause::Meta).unwrap(), PageState::Erased);
    nand.mounting().resume(2);
    program(&mut nand, 0, 5);
}

#[test]
#[should_panic(expected = "before the mount resumed")]
fn a_mount_must_find_the_sequence_before_it_programs() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cycle();
    program(&mut nand, 0, 5);
}

#[test]
#[should_panic(expected = "before the mount resumed")]
fn a_chip_that_was_powered_up_has_no_sequence() {
    let mut nand = Nand::power_up(chip(ProgramOrder::Sequential, Mode::Stamps).into_array());
    program(&mut nand, 0, 5);
}

#[test]
fn a_recorded_snapshot_equals_an_armed_cut() {
    let work = |nand: &mut Nand| -> Result<()> {
        nand.program(Ppn(0), &host(5, 1), Cause::Host)?;
        nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc)?;
        nand.erase(BlockId(0), Cause::Gc)
    };
    let fresh = chip(ProgramOrder::Sequential, Mode::Stamps);
    let mut recorded = chip(ProgramOrder::Sequential, Mode::Stamps);
    recorded.power().record_snapshots();
    work(&mut recorded).unwrap();
    let snapshots = recorded.power().take_snapshots();
    assert_eq!(snapshots.len(), 3);
    for (at, snapshot) in snapshots.iter().enumerate() {
        let before = if at == 0 { fresh.array() } else { &snapshots[at - 1].after };
        for &outcome in snapshot.outcomes() {
            let mut armed = chip(ProgramOrder::Sequential, Mode::Stamps);
            armed.power().cut_after(Cut { after: at as u64, outcome });
            assert_eq!(work(&mut armed), Err(Error::PowerLost));
            assert!(!armed.power().is_on());
            armed.power().cycle();
            let mut restored = Nand::power_up(snapshot.interrupted(before, outcome).unwrap());
            for page in 0..32 {
                let state = |nand: &mut Nand| nand.read_spare(Ppn(page), Cause::Meta).unwrap();
                assert_eq!(state(&mut armed), state(&mut restored), "{at} {outcome:?} page {page}");
            }
        }
    }
}

/// The chip of the fixture on two dies, and four programs in flight behind a first one: pages 1
/// and 2 of block 0, and pages 0 and 1 of block 1. The power fails in the last one.
fn cut_chip(pairing: Pairing, outcome: Outcome, draw: u64) -> (Nand, Vec<Snapshot>) {
    let geometry = Geometry::new(2048, 64, 4, 8, ProgramOrder::Sequential).unwrap();
    let geometry = geometry.with_pairing(pairing).unwrap();
    let run = |power: &dyn Fn(&mut Nand)| {
        let mut nand = Nand::new(geometry.with_dies(2).unwrap(), Mode::Stamps);
        power(&mut nand);
        program(&mut nand, 0, 5);
        nand.wait();
        for (ppn, lpn) in [(1, 6), (4, 7), (2, 8), (5, 9)] {
            _ = nand.program(Ppn(ppn), &host(lpn, 1), Cause::Host);
        }
        nand
    };
    let mut recorded = run(&|nand| nand.power().record_snapshots());
    let mut cut = run(&|nand| {
        nand.power().cut_after(Cut { after: 4, outcome });
        nand.power().draw_dies(draw);
    });
    assert!(!cut.power().is_on());
    (cut, recorded.power().take_snapshots())
}

/// The pages that were in flight in a cut chip.
const IN_FLIGHT: [u32; 4] = [1, 2, 4, 5];

/// The states of all pages.
fn states(nand: &mut Nand) -> Vec<PageState> {
    (0..32).map(|page| nand.read_spare(Ppn(page), Cause::Meta).unwrap()).collect()
}

/// Whether each of the pages that were in flight can be read.
fn are_there(states: &[PageState]) -> [bool; 4] {
    IN_FLIGHT.map(|page| matches!(states[page as usize], PageState::Programmed(_)))
}

/// The states of all pages directly after a power-on, and when all weak pages have decayed.
fn before_and_after_decay(nand: &mut Nand) -> [Vec<PageState>; 2] {
    nand.power().cycle();
    let before = states(nand);
    nand.power().decay().unwrap();
    nand.power().cycle();
    [before, states(nand)]
}

#[test]
fn every_die_is_as_far_as_it_likes_and_works_in_order() {
    let (mut done, mut interrupted) = (BTreeSet::new(), BTreeSet::new());
    for draw in 0..200 {
        let (mut cut, snapshots) = cut_chip(Pairing::NONE, Outcome::Reordered, draw);
        let in_flight: Vec<usize> = snapshots.iter().map(|it| it.in_flight).collect();
        assert_eq!(in_flight, [0, 0, 1, 2, 3]);
        let rebuilt = reordered(&snapshots[0].after, &snapshots[1..], Outcome::Reordered, draw);
        let mut rebuilt = Nand::power_up(rebuilt.unwrap());
        let left = cut.power().left().to_vec();
        let [before, after] = before_and_after_decay(&mut cut);
        assert_eq!(before, states(&mut rebuilt), "{draw}");
        let is_there = |page: usize| matches!(before[page], PageState::Programmed(_));
        assert!(is_there(0), "it was complete before the others began");
        for (earlier, later) in [(1, 2), (4, 5)] {
            let in_order = is_there(earlier) || before[later] == PageState::Erased;
            assert!(in_order, "a die works in order: {draw}");
        }
        assert!((6..32).all(|page| !is_there(page)));
        done.insert(are_there(&after));
        assert_eq!(left.len(), IN_FLIGHT.len());
        for Left { operation, outcome } in left {
            let Interruptible::Program(page) = operation else { panic!("{operation}") };
            let state = |states: &[PageState]| match states[page.0 as usize] {
                PageState::Erased => "erased",
                PageState::Unreadable => "unreadable",
                PageState::Programmed(_) => "there",
            };
            let told = match outcome {
                None | Some(Outcome::Untouched | Outcome::LooksErased) => ("erased", "erased"),
                Some(Outcome::Complete) => ("there", "there"),
                Some(Outcome::Unstable) => ("there", "unreadable"),
                _ => ("unreadable", "unreadable"),
            };
            assert_eq!((state(&before), state(&after)), told, "{operation} {outcome:?}");
            interrupted.insert(told);
        }
    }
    // Each die has completed none, one or two of its pages.
    assert_eq!(done.len(), 9, "{done:?}");
    let kinds = [
        ("erased", "erased"),
        ("there", "there"),
        ("there", "unreadable"),
        ("unreadable", "unreadable"),
    ];
    assert_eq!(interrupted, BTreeSet::from(kinds));
}

/// What was in flight is there as after a reordered cut, until it decays: all of it for even draws,
/// some of it for odd ones.
#[test]
fn a_brown_out_leaves_weak_pages_in_flight() {
    let mut some_lost = 0;
    for draw in 0..200 {
        let [sound, weak] = [Outcome::Reordered, Outcome::BrownedOut]
            .map(|outcome| before_and_after_decay(&mut cut_chip(Pairing::NONE, outcome, draw).0));
        assert_eq!(weak[0], sound[0], "{draw}");
        let there = |states: &[PageState]| are_there(states).iter().filter(|it| **it).count();
        let [complete, kept] = [&sound[1], &weak[1]].map(|states| there(states));
        assert!(matches!(weak[1][0], PageState::Programmed(_)), "it was complete before");
        assert!(draw % 2 == 1 || kept == 0, "{draw}: {kept}");
        some_lost += u32::from(kept > 0 && kept < complete);
    }
    assert!(some_lost > 20, "{some_lost} of 100");
}

/// A page that was complete may be weak. If the next program of its die destroys it, it cannot be
/// read at all.
#[test]
fn a_weak_page_can_be_destroyed() {
    let pairing = Pairing { bits: 2, distance: 1 };
    let mut destroyed = 0;
    for draw in 0..200 {
        let [sound, weak] = [Outcome::Reordered, Outcome::BrownedOut].map(|outcome| {
            before_and_after_decay(&mut cut_chip(pairing, outcome, draw).0)[0].clone()
        });
        assert_eq!(weak, sound, "{draw}");
        destroyed += u32::from(weak[4..6] == [PageState::Unreadable; 2]);
    }
    assert!(destroyed > 5, "{destroyed} of 200");
}

#[test]
fn a_chip_with_one_die_reorders_nothing() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power().cut_after(Cut { after: 2, outcome: Outcome::Reordered });
    (0..2).for_each(|page| program(&mut nand, page, page));
    assert_eq!(nand.program(Ppn(2), &host(2, 1), Cause::Host), Err(Error::PowerLost));
    nand.power().cycle();
    for page in 0..2 {
        let state = nand.read_spare(Ppn(page), Cause::Meta).unwrap();
        assert!(matches!(state, PageState::Programmed(_)), "page {page}");
    }
    assert_eq!(nand.read_spare(Ppn(2), Cause::Meta), Ok(PageState::Erased));
}

#[test]
fn an_erase_begins_when_all_dies_are_idle() {
    let geometry = Geometry::new(2048, 64, 4, 8, ProgramOrder::Sequential).unwrap();
    for draw in 0..50 {
        let mut nand = Nand::new(geometry.with_dies(2).unwrap(), Mode::Stamps);
        nand.power().cut_after(Cut { after: 2, outcome: Outcome::Reordered });
        nand.power().draw_dies(draw);
        program(&mut nand, 0, 5);
        program(&mut nand, 4, 6);
        assert_eq!(nand.erase(BlockId(0), Cause::Gc), Err(Error::PowerLost));
        nand.power().cycle();
        let copy = nand.read_spare(Ppn(4), Cause::Meta).unwrap();
        assert!(matches!(copy, PageState::Programmed(_)), "{draw}");
    }
}

#[test]
#[should_panic(expected = "count mode cannot be mounted")]
fn the_power_of_a_chip_in_count_mode_cannot_be_cut() {
    let cut = Cut { after: 0, outcome: Outcome::Untouched };
    chip(ProgramOrder::Any, Mode::Count).power().cut_after(cut);
}
