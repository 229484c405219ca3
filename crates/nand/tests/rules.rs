//! The rules of flash, the booking, and what cuts leave behind.

use nand::*;

fn chip(order: ProgramOrder, mode: Mode) -> Nand {
    Nand::new(Geometry::new(2048, 64, 4, 8, order).unwrap(), mode)
}

fn host(lpn: u32, write: u32) -> Page<'static> {
    let content = Content::Host { data: Data::Stamp(write), mask: 0b1111, base: None };
    Page { owner: Lpn(lpn), kind: 1, extra: &[], content }
}

fn program(nand: &mut Nand, ppn: u32, lpn: u32) {
    nand.program(Ppn(ppn), &host(lpn, 1), Cause::Host).unwrap();
}

fn stamps(nand: &mut Nand, ppn: u32, lpn: u32) -> Result<Vec<Stamp>> {
    let mut out = [Stamp::default(); 4];
    let mut sink = Sink::Stamps { first: Lpn(lpn), out: &mut out };
    nand.read(Ppn(ppn), Lpn(lpn), 0b1111, &mut sink, Cause::Host)?;
    Ok(out.to_vec())
}

fn written(lpn: u32, write: u32) -> Vec<Stamp> {
    (0..4).map(|index| Stamp::new(Lpn(lpn), index, 4, write)).collect()
}

#[test]
#[should_panic(expected = "programmed page 1; next is 2")]
fn ascending_chips_refuse_to_go_back() {
    let mut nand = chip(ProgramOrder::Ascending, Mode::Count);
    program(&mut nand, 1, 5);
    program(&mut nand, 1, 5);
}

#[test]
#[should_panic(expected = "programmed page 2; next is 1")]
fn sequential_chips_refuse_to_skip() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Count);
    program(&mut nand, 0, 5);
    program(&mut nand, 2, 5);
}

#[test]
#[should_panic(expected = "is programmed")]
fn any_order_still_means_once() {
    let mut nand = chip(ProgramOrder::Any, Mode::Count);
    program(&mut nand, 3, 5);
    program(&mut nand, 0, 6);
    program(&mut nand, 3, 5);
}

#[test]
#[should_panic(expected = "do not fit")]
fn a_run_stays_in_its_block() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Count);
    nand.program_run(Ppn(0), Lpn(0), 5, 1, Data::None, Cause::Host).unwrap();
}

#[test]
#[should_panic(expected = "holds Lpn(4294967295)")]
fn erased_pages_are_not_read() {
    chip(ProgramOrder::Any, Mode::Count)
        .read(Ppn(0), Lpn(0), 1, &mut Sink::None, Cause::Host)
        .unwrap();
}

#[test]
#[should_panic(expected = "for Lpn(6)")]
fn a_reader_must_know_what_it_reads() {
    let mut nand = chip(ProgramOrder::Any, Mode::Count);
    program(&mut nand, 0, 5);
    nand.read(Ppn(0), Lpn(6), 1, &mut Sink::None, Cause::Host).unwrap();
}

#[test]
#[should_panic(expected = "copied Ppn(7), which is erased")]
fn erased_pages_are_not_copied() {
    chip(ProgramOrder::Any, Mode::Count).copy_many(&[Ppn(7)], Ppn(0), None, Cause::Gc).unwrap();
}

/// Free pages at the start + erased pages − lost pages = programs + free pages now.
#[test]
fn no_page_is_lost_to_the_books() {
    for order in [ProgramOrder::Any, ProgramOrder::Ascending] {
        let mut nand = chip(order, Mode::Count);
        let start = nand.free_pages();
        program(&mut nand, 1, 5);
        program(&mut nand, 3, 6);
        nand.program_run(Ppn(4), Lpn(8), 3, 1, Data::None, Cause::Host).unwrap();
        nand.copy_many(&[Ppn(3), Ppn(5)], Ppn(8), None, Cause::Gc).unwrap();
        nand.erase(BlockId(0), Cause::Gc).unwrap();
        nand.erase(BlockId(1), Cause::Gc).unwrap();
        let tally = nand.tally();
        assert_eq!(tally.total(Op::Program), 7, "{order:?}");
        assert_eq!(tally.count(Op::Read, Cause::Gc), 2);
        assert_eq!(
            start + 4 * tally.total(Op::Erase) - nand.lost_pages(),
            tally.total(Op::Program) + nand.free_pages(),
            "{order:?}"
        );
        assert_eq!(nand.wear(), [1, 1, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn bulk_and_single_operations_leave_the_same_chip() {
    let mut bulk = chip(ProgramOrder::Sequential, Mode::Count);
    bulk.program_run(Ppn(0), Lpn(8), 4, 1, Data::None, Cause::Host).unwrap();
    bulk.copy_many(&[Ppn(1), Ppn(3)], Ppn(4), None, Cause::Gc).unwrap();
    let mut single = chip(ProgramOrder::Sequential, Mode::Stamps);
    for page in 0..4 {
        program(&mut single, page, 8 + page);
    }
    single.copy_many(&[Ppn(1)], Ppn(4), None, Cause::Gc).unwrap();
    single.copy_many(&[Ppn(3)], Ppn(5), None, Cause::Gc).unwrap();
    assert_eq!(bulk.tally(), single.tally());
    for block in 0..8 {
        assert_eq!(bulk.owners(BlockId(block)), single.owners(BlockId(block)));
    }
    assert_eq!(bulk.take_sequence(), single.take_sequence());
}

#[test]
fn copies_keep_version_and_contents_and_get_a_new_sequence() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.program(Ppn(0), &Page { extra: b"PBMT", ..host(9, 3) }, Cause::Host).unwrap();
    nand.copy_many(&[Ppn(0)], Ppn(4), Some(2), Cause::Merge).unwrap();
    let PageState::Programmed(copy) = nand.read_spare(Ppn(4), Cause::Map).unwrap() else {
        panic!("the copy is not there");
    };
    assert_eq!(copy, Spare { owner: Lpn(9), version: 1, sequence: 2, kind: 2 });
    assert!(!copy.is_original());
    assert_eq!(stamps(&mut nand, 4, 9).unwrap(), written(9, 3));
}

#[test]
fn partial_writes_keep_the_other_sectors() {
    for base in [None, Some(Ppn(0))] {
        let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
        program(&mut nand, 0, 5);
        let content = Content::Host { data: Data::Stamp(2), mask: 0b0110, base };
        nand.program(Ppn(1), &Page { content, ..host(5, 0) }, Cause::Host).unwrap();
        let found = stamps(&mut nand, 1, 5).unwrap();
        let writes: Vec<u32> = found.iter().map(|stamp| stamp.write()).collect();
        let around = base.map_or(0, |_| 1);
        assert_eq!(writes, [around, 2, 2, around]);
    }
}

#[test]
fn bytes_come_back_as_written() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Bytes);
    let bytes: Vec<u8> = (0..4096).map(|n| (n / 16) as u8).collect();
    nand.program_run(Ppn(0), Lpn(2), 2, 1, Data::Bytes(&bytes), Cause::Host).unwrap();
    let mut out = vec![0; 4096];
    for page in 0..2 {
        let mut sink = Sink::Bytes { first: Lpn(2), out: &mut out };
        nand.read(Ppn(page), Lpn(2 + page), 0b1111, &mut sink, Cause::Host).unwrap();
    }
    assert_eq!(out, bytes);
}

#[test]
fn a_cut_program_leaves_each_of_its_outcomes() {
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
        nand.decay();
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
    nand.power_cycle();
    program(&mut nand, 0, 5);
}

#[test]
fn recorded_snapshots_equal_armed_cuts() {
    let work = |nand: &mut Nand| -> Result<()> {
        nand.program(Ppn(0), &host(5, 1), Cause::Host)?;
        nand.copy_many(&[Ppn(0)], Ppn(4), None, Cause::Gc)?;
        nand.erase(BlockId(0), Cause::Gc)
    };
    let fresh = chip(ProgramOrder::Sequential, Mode::Stamps);
    let mut recorded = fresh.clone();
    recorded.record_snapshots();
    work(&mut recorded).unwrap();
    let snapshots = recorded.take_snapshots();
    assert_eq!(snapshots.len(), 3);
    for (at, snapshot) in snapshots.iter().enumerate() {
        let before = if at == 0 { &fresh } else { &snapshots[at - 1].after };
        for &outcome in snapshot.operation.outcomes() {
            let mut armed = fresh.clone();
            armed.cut_after(Cut { after: at as u64, outcome });
            assert_eq!(work(&mut armed), Err(Error::PowerLost));
            let mut replayed = snapshot.interrupted(before, outcome);
            assert!(!replayed.is_on());
            armed.power_on();
            replayed.power_on();
            for page in 0..32 {
                let state = |nand: &mut Nand| nand.read_spare(Ppn(page), Cause::Meta).unwrap();
                assert_eq!(state(&mut armed), state(&mut replayed), "{at} {outcome:?} page {page}");
            }
        }
    }
}
