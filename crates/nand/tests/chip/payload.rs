//! Contents of pages: copies, partial pages, bytes.

use nand::{
    Cause, Content, Copies, Data, Lpn, Mode, Page, PageState, Pages, Ppn, ProgramOrder, Sink, Spare,
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
    let mut nand = chip(ProgramOrder::Sequential, Mode::Bytes);
    let bytes: Vec<u8> = (0..4096).map(|n| (n / 16) as u8).collect();
    nand.program(
        Ppn(0),
        Pages::Run { first: Lpn(2), pages: 2, kind: 1, data: Data::Bytes(&bytes) },
        Cause::Host,
    )
    .unwrap();
    let mut out = vec![0; 4096];
    for page in 0..2 {
        let mut sink = Sink::Bytes { first: Lpn(2), out: &mut out };
        nand.read(Ppn(page), Lpn(2 + page), 0b1111, &mut sink, Cause::Host).unwrap();
    }
    assert_eq!(out, bytes);
}
