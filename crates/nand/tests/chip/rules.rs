//! The rules of flash, and the counters.

use nand::{BlockId, Cause, Copies, Data, Lpn, Mode, Op, Pages, Ppn, ProgramOrder, Sink};

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
    nand.program(
        Ppn(0),
        Pages::Run { first: Lpn(0), pages: 5, kind: 1, data: Data::None },
        Cause::Host,
    )
    .unwrap();
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
    chip(ProgramOrder::Any, Mode::Count).copy(Ppn(0), Copies::of(&[Ppn(7)]), Cause::Gc).unwrap();
}

#[test]
fn copies_around_a_base_are_those_of_their_sources() {
    let from = [8, 2, 10, 11].map(Ppn);
    let [mut around, mut many] = [(); 2].map(|()| {
        let mut nand = chip(ProgramOrder::Any, Mode::Count);
        nand.program(
            Ppn(0),
            Pages::Run { first: Lpn(20), pages: 4, kind: 1, data: Data::None },
            Cause::Host,
        )
        .unwrap();
        nand.program(
            Ppn(10),
            Pages::Run { first: Lpn(30), pages: 2, kind: 1, data: Data::None },
            Cause::Host,
        )
        .unwrap();
        program(&mut nand, 8, 40);
        nand
    });
    around.copy(Ppn(4), Copies::of(&from).around(Ppn(8), [1].into_iter()), Cause::Gc).unwrap();
    many.copy(Ppn(4), Copies::of(&from), Cause::Gc).unwrap();
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
    nand.copy(Ppn(0), Copies::of(&from).around(Ppn(8), core::iter::empty()), Cause::Gc).unwrap();
}

/// Free pages at the start + erased pages − lost pages = programs + free pages now.
#[test]
fn every_page_is_accounted_for() {
    for order in [ProgramOrder::Any, ProgramOrder::Ascending] {
        let mut nand = chip(order, Mode::Count);
        let start = nand.array().free_pages();
        program(&mut nand, 1, 5);
        program(&mut nand, 3, 6);
        nand.program(
            Ppn(4),
            Pages::Run { first: Lpn(8), pages: 3, kind: 1, data: Data::None },
            Cause::Host,
        )
        .unwrap();
        nand.copy(Ppn(8), Copies::of(&[Ppn(3), Ppn(5)]), Cause::Gc).unwrap();
        nand.erase(BlockId(0), Cause::Gc).unwrap();
        nand.erase(BlockId(1), Cause::Gc).unwrap();
        let tally = nand.tally();
        assert_eq!(tally.total(Op::Program), 7, "{order:?}");
        assert_eq!(tally.count(Op::Read, Cause::Gc), 2);
        assert_eq!(
            start + 4 * tally.total(Op::Erase) - nand.array().lost_pages(),
            tally.total(Op::Program) + nand.array().free_pages(),
            "{order:?}"
        );
        assert_eq!(nand.array().wear(), [1, 1, 0, 0, 0, 0, 0, 0]);
    }
}

#[test]
fn bulk_and_single_operations_leave_the_same_chip() {
    let mut bulk = chip(ProgramOrder::Sequential, Mode::Count);
    bulk.program(
        Ppn(0),
        Pages::Run { first: Lpn(8), pages: 4, kind: 1, data: Data::None },
        Cause::Host,
    )
    .unwrap();
    bulk.copy(Ppn(4), Copies::of(&[Ppn(1), Ppn(3)]), Cause::Gc).unwrap();
    let mut single = chip(ProgramOrder::Sequential, Mode::Stamps);
    for page in 0..4 {
        program(&mut single, page, 8 + page);
    }
    single.copy(Ppn(4), Copies::of(&[Ppn(1)]), Cause::Gc).unwrap();
    single.copy(Ppn(5), Copies::of(&[Ppn(3)]), Cause::Gc).unwrap();
    assert_eq!(bulk.tally(), single.tally());
    for block in 0..8 {
        assert_eq!(bulk.owners(BlockId(block)), single.owners(BlockId(block)));
    }
    assert_eq!(bulk.take_sequence(), single.take_sequence());
}
