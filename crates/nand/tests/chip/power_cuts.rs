//! Power cuts and what they leave on flash.

use nand::{
    BlockId, Cause, Cut, Error, Lpn, Mode, Nand, Outcome, PageState, Ppn, ProgramOrder, Result,
    Spare,
};

use crate::fixture::{chip, host, program};

#[test]
fn an_interrupted_program_leaves_each_of_its_outcomes() {
    for outcome in Outcome::OF_PROGRAM {
        let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
        nand.cut_after(Cut { after: 1, outcome });
        program(&mut nand, 0, 5);
        let cut = nand.program(Ppn(1), &host(6, 2), Cause::Host);
        assert_eq!(cut, Err(Error::PowerLost));
        assert_eq!(nand.erase(BlockId(3), Cause::Gc), Err(Error::PowerLost), "nothing works then");
        nand.power_on();
        let before = nand.read_spare(Ppn(1), Cause::Meta).unwrap();
        let readable = matches!(before, PageState::Programmed(Spare { owner: Lpn(6), .. }));
        match outcome {
            Outcome::Untouched | Outcome::LooksErased => assert_eq!(before, PageState::Erased),
            Outcome::Torn => assert_eq!(before, PageState::Unreadable),
            _ => assert!(readable, "{outcome:?}"),
        }
        nand.decay().unwrap();
        let after = nand.read_spare(Ppn(1), Cause::Meta).unwrap();
        let decayed = outcome == Outcome::Unstable;
        assert_eq!(after, if decayed { PageState::Unreadable } else { before });
        assert_eq!(nand.read_spare(Ppn(0), Cause::Meta).unwrap(), {
            PageState::Programmed(Spare { owner: Lpn(5), version: 1, sequence: 1, kind: 1 })
        });
    }
}

#[test]
#[should_panic(expected = "programmed page 0; next is 1")]
fn a_page_that_only_looks_erased_cannot_be_programmed() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.cut_after(Cut { after: 0, outcome: Outcome::LooksErased });
    nand.program(Ppn(0), &host(5, 1), Cause::Host).unwrap_err();
    nand.power_on();
    nand.resume_sequence(1);
    program(&mut nand, 0, 5);
}

#[test]
#[should_panic(expected = "half erased")]
fn a_half_erased_block_cannot_be_programmed() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    nand.cut_after(Cut { after: 0, outcome: Outcome::Half });
    nand.erase(BlockId(0), Cause::Gc).unwrap_err();
    nand.power_on();
    assert_eq!(nand.read_spare(Ppn(0), Cause::Meta).unwrap(), PageState::Erased);
    nand.resume_sequence(2);
    program(&mut nand, 0, 5);
}

#[test]
#[should_panic(expected = "before the mount resumed")]
fn a_mount_must_find_the_sequence_before_it_programs() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.power_cycle().unwrap();
    program(&mut nand, 0, 5);
}

#[test]
fn a_recorded_snapshot_equals_an_armed_cut() {
    let work = |nand: &mut Nand| -> Result<()> {
        nand.program(Ppn(0), &host(5, 1), Cause::Host)?;
        nand.copy_many(&[Ppn(0)], Ppn(4), None, Cause::Gc)?;
        nand.erase(BlockId(0), Cause::Gc)
    };
    let fresh = chip(ProgramOrder::Sequential, Mode::Stamps);
    let mut recorded = fresh.try_clone().unwrap();
    recorded.record_snapshots();
    work(&mut recorded).unwrap();
    let snapshots = recorded.take_snapshots();
    assert_eq!(snapshots.len(), 3);
    for (at, snapshot) in snapshots.iter().enumerate() {
        let before = if at == 0 { fresh.array() } else { &snapshots[at - 1].after };
        for &outcome in snapshot.operation.outcomes() {
            let mut armed = fresh.try_clone().unwrap();
            armed.cut_after(Cut { after: at as u64, outcome });
            assert_eq!(work(&mut armed), Err(Error::PowerLost));
            assert!(!armed.is_on());
            armed.power_on();
            let mut restored = Nand::power_up(snapshot.interrupted(before, outcome).unwrap());
            for page in 0..32 {
                let state = |nand: &mut Nand| nand.read_spare(Ppn(page), Cause::Meta).unwrap();
                assert_eq!(state(&mut armed), state(&mut restored), "{at} {outcome:?} page {page}");
            }
        }
    }
}

#[test]
#[should_panic(expected = "count mode cannot be mounted")]
fn the_power_of_a_chip_in_count_mode_cannot_be_cut() {
    let cut = Cut { after: 0, outcome: Outcome::Untouched };
    chip(ProgramOrder::Any, Mode::Count).cut_after(cut);
}
