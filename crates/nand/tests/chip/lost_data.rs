//! Pages whose data area cannot be read, while their spare area can.

use nand::page_store::{Extent, Health, PageRecord};
use nand::{
    BlockId, Cause, Content, Copies, Cut, Data, Error, Geometry, Lpn, MediaModel, Mode, Nand,
    Outcome, Page, PageState, Pages, Ppn, ProgramOrder,
};

use crate::fixture::{chip, host, program, stamps, written};

fn chip_without_data() -> Nand {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    nand.program(Ppn(0), &Page { extra: b"PT", ..host(5, 3) }, Cause::Host).unwrap();
    nand.power().lose_data(Ppn(0)).unwrap();
    nand
}

#[test]
fn the_spare_area_can_be_read_and_the_data_cannot() {
    let mut nand = chip_without_data();
    let unreadable = Error::Unreadable(Ppn(0));
    assert_eq!(stamps(&mut nand, 0, 5), Err(unreadable.clone()));
    assert_eq!(nand.is_readable(Ppn(0), Lpn(5)), Ok(false));
    assert_eq!(nand.read_meta(Ppn(0), Cause::Meta).unwrap_err(), unreadable);
    assert_eq!(nand.array().peek_meta(Ppn(0)), None);
    let state = nand.read_spare(Ppn(0), Cause::Meta).unwrap();
    assert!(matches!(state, PageState::Programmed(spare) if spare.owner == Lpn(5)));
    let content = Content::Host { data: Data::Stamp(2), mask: 1, base: Some(Ppn(0)) };
    let partial = Page { content, ..host(5, 0) };
    assert_eq!(nand.program(Ppn(1), &partial, Cause::Host), Err(unreadable));
}

#[test]
fn a_copy_is_lost_too_and_counts_as_any_other() {
    let mut nand = chip_without_data();
    nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc).unwrap();
    nand.copy(Ppn(5), Copies::of(&[Ppn(4)]).with_kind(Some(7)).with_extra(b"PMD"), Cause::Gc)
        .unwrap();
    assert_eq!(nand.tally().count(nand::Op::Program, Cause::Gc), 2);
    for (ppn, kind, extra) in [(4, 1, &b"PT"[..]), (5, 7, b"PMD")] {
        assert_eq!(stamps(&mut nand, ppn, 5), Err(Error::Unreadable(Ppn(ppn))));
        let (spare, bytes) = nand.array().peek_spare(Ppn(ppn)).unwrap().unwrap();
        assert_eq!((spare.owner, spare.version, spare.kind, &*bytes), (Lpn(5), 1, kind, extra));
    }
}

#[test]
fn a_layer_can_write_lost_data() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Bytes);
    nand.program(
        Ppn(0),
        Pages::Run { first: Lpn(5), pages: 2, kind: 1, data: Data::Lost },
        Cause::Host,
    )
    .unwrap();
    assert_eq!(nand.is_readable(Ppn(1), Lpn(6)), Ok(false));
    assert_eq!(nand.owners(BlockId(0))[..2], [5, 6]);
    nand.erase(BlockId(0), Cause::Gc).unwrap();
    nand.program(
        Ppn(0),
        Pages::Run { first: Lpn(5), pages: 1, kind: 1, data: Data::Bytes(&[1; 2048]) },
        Cause::Host,
    )
    .unwrap();
    assert_eq!(nand.is_readable(Ppn(0), Lpn(5)), Ok(true), "an erase heals the page");
}

/// Whatever a cut leaves of a copy without data, nobody reads data there.
#[test]
fn no_cut_makes_lost_data_readable() {
    let outcomes = Outcome::OF_PROGRAM.iter().chain(Outcome::OF_ERASE);
    for &outcome in outcomes {
        let mut nand = chip_without_data();
        nand.power().cut_after(Cut { after: 0, outcome });
        let cut = match Outcome::OF_PROGRAM.contains(&outcome) {
            true => nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc),
            false => nand.erase(BlockId(0), Cause::Gc),
        };
        assert_eq!(cut, Err(Error::PowerLost));
        expect_no_data(nand, outcome);
    }
}

/// No page on flash has data.
fn expect_no_data(nand: Nand, outcome: Outcome) {
    let pages = nand.array().geometry().pages();
    let store = nand.into_array().into_store().unwrap();
    for ppn in (0..pages).map(Ppn) {
        let mut page = PageRecord::new(Mode::Stamps);
        store.load(ppn, &mut page, Extent::Whole).unwrap();
        let is_good = matches!(page.health, Health::Good | Health::Unstable);
        let owner = match page.state() {
            PageState::Programmed(spare) if is_good => spare.owner,
            _ => continue,
        };
        assert!(!owner.is_host(), "{outcome:?} leaves {ppn:?} {:?}", page.health);
    }
}

/// Nor if the program of the copy fails: the power is lost before, at, and after the failure.
#[test]
fn no_cut_makes_lost_data_readable_where_programs_fail() {
    let geometry = Geometry::new(2048, 64, 4, 8, ProgramOrder::Sequential).unwrap();
    let model = MediaModel::parse("real:endurance=1M,factory_bad=0%", 1000).unwrap().unwrap();
    for (&outcome, after) in Outcome::OF_PROGRAM.iter().flat_map(|it| [(it, 0), (it, 1), (it, 2)]) {
        let mut nand = Nand::on_media(geometry, Mode::Stamps, &model, 8, 1).unwrap();
        nand.mount_media(&model, 1).unwrap();
        nand.program(Ppn(0), &host(5, 3), Cause::Host).unwrap();
        nand.power().lose_data(Ppn(0)).unwrap();
        nand.media_mut().unwrap().fail_program_after(0);
        nand.power().cut_after(Cut { after, outcome });
        let cut = nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc);
        assert_eq!(cut, Err(Error::PowerLost));
        expect_no_data(nand, outcome);
    }
}

#[test]
fn a_page_of_another_owner_is_an_error_where_pages_are_stored() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    assert_eq!(stamps(&mut nand, 0, 6), Err(Error::WrongOwner(Ppn(0))));
    assert_eq!(stamps(&mut nand, 1, 6), Err(Error::WrongOwner(Ppn(1))));
    let copied = nand.copy(Ppn(4), Copies::of(&[Ppn(0), Ppn(2)]), Cause::Gc);
    assert_eq!(copied, Err(Error::WrongOwner(Ppn(2))));
    assert_eq!(stamps(&mut nand, 4, 5).unwrap(), written(5, 1), "the page before it is copied");
}
