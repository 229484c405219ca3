//! Contents of pages: copies, partial pages, bytes.

use nand::{
    Cause, Content, Copies, Cut, Data, Lpn, Mode, Outcome, Page, PageState, Pages, Ppn,
    ProgramOrder, Sink, Spare,
};

use crate::fixture::{chip, host, program, stamps, written};

#[test]
fn copies_keep_version_and_contents_and_get_a_new_sequence() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.program(Ppn(0), &Page { extra: b"PBMT", ..host(9, 3) }, Cause::Host).unwrap();
    nand.copy(Ppn(4), Copies::of(&[Ppn(0)]).with_kind(Some(2)), Cause::Merge).unwrap();
    let PageState::Programmed(copy) = nand.read_spare(Ppn(4), Cause::Map).unwrap() else {
        panic!("the copy is not there");
    };
    assert_eq!(copy, Spare { owner: Lpn(9), version: 1, sequence: 2, kind: 2, tentative: false });
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
    let bytes: Vec<u8> = (0..3 * 2048).map(|n| (n / 24) as u8).collect();
    let (kind, data) = (1, Data::Bytes(&bytes));
    // While the power can fail, pages are programmed one by one.
    for may_fail in [false, true] {
        let mut nand = chip(ProgramOrder::Any, Mode::Bytes);
        if may_fail {
            nand.power().cut_after(Cut { after: 100, outcome: Outcome::Untouched });
        }
        let run = Pages::Run { first: Lpn(2), pages: 3, kind, data };
        nand.program(Ppn(1), run, Cause::Host).unwrap();
        let list = Pages::List { lpns: &[7, 5, 9], kind, data };
        nand.program(Ppn(4), list, Cause::Host).unwrap();
        for (first, lpns) in [(1, [2, 3, 4]), (4, [7, 5, 9])] {
            let mut out = Vec::new();
            for (ppn, lpn) in (first..).zip(lpns) {
                let mut page = [0; 2048];
                let mut sink = Sink::Bytes { first: Lpn(lpn), out: &mut page };
                nand.read(Ppn(ppn), Lpn(lpn), 0b1111, &mut sink, Cause::Host).unwrap();
                out.extend_from_slice(&page);
            }
            assert!(out == bytes, "pages from {first} on, may fail: {may_fail}");
        }
    }
}
