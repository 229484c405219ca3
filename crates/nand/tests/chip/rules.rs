//! The rules of flash, and the counters.

use nand::{BlockId, Cause, Data, Lpn, Mode, Op, Ppn, ProgramOrder, Sink};

use crate::fixture::{chip, program};

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
fn a_page_is_programmed_once_in_any_order() {
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
fn a_reader_must_name_the_owner_of_the_page() {
    let mut nand = chip(ProgramOrder::Any, Mode::Count);
    program(&mut nand, 0, 5);
    nand.read(Ppn(0), Lpn(6), 1, &mut Sink::None, Cause::Host).unwrap();
}

#[test]
#[should_panic(expected = "copied Ppn(7), which is erased")]
fn erased_pages_are_not_copied() {
    chip(ProgramOrder::Any, Mode::Count).copy_many(&[Ppn(7)], Ppn(0), None, Cause::Gc).unwrap();
}

#[test]
fn copies_around_a_base_are_those_of_their_sources() {
    let from = [8, 2, 10, 11].map(Ppn);
    let [mut around, mut many] = [(); 2].map(|()| {
        let mut nand = chip(ProgramOrder::Any, Mode::Count);
        nand.program_run(Ppn(0), Lpn(20), 4, 1, Data::None, Cause::Host).unwrap();
        nand.program_run(Ppn(10), Lpn(30), 2, 1, Data::None, Cause::Host).unwrap();
        program(&mut nand, 8, 40);
        nand
    });
    around.copy_around(Ppn(8), &from, [1].into_iter(), Ppn(4), None, Cause::Gc).unwrap();
    many.copy_many(&from, Ppn(4), None, Cause::Gc).unwrap();
    assert_eq!(around.owners(BlockId(1)), [40, 22, 30, 31]);
    assert_eq!(around.owners(BlockId(1)), many.owners(BlockId(1)));
    assert_eq!(around.tally(), many.tally());
    assert_eq!(around.take_sequence(), many.take_sequence());
}

#[test]
#[should_panic(expected = "copied Ppn(9), which is erased")]
fn erased_pages_are_not_copied_around_a_base() {
    let mut nand = chip(ProgramOrder::Any, Mode::Count);
    program(&mut nand, 8, 5);
    let from = [8, 9].map(Ppn);
    nand.copy_around(Ppn(8), &from, core::iter::empty(), Ppn(0), None, Cause::Gc).unwrap();
}

/// Free pages at the start + erased pages − lost pages = programs + free pages now.
#[test]
fn every_page_is_accounted_for() {
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
