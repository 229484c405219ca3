//! Stores: a chip rebuilt from one, and one that fails.

use nand::page_store::{
    Area, BlockRecord, Extent, Fault, Health, PageRecord, Shape, SyncBy, SyncJob,
};
use nand::spare::Header;
use nand::{
    BlockId, Cause, Content, Copies, Cut, Data, Error, FlashArray, Lpn, MemoryStore, Mode, Nand,
    Op, Outcome, Page, PageState, PageStore, Pages, Ppn, ProgramOrder, Result,
};

use crate::fixture::{chip, host, program, stamps, written};

/// A chip whose mount is complete.
fn mounted(array: FlashArray) -> Nand {
    let mut nand = Nand::power_up(array);
    nand.mounting().finish();
    nand
}

/// The same chip, rebuilt from its store.
fn reopened(array: FlashArray) -> Nand {
    let store = array.into_store().expect("a chip with a store");
    mounted(FlashArray::from_store(store).unwrap())
}

fn assert_same_flash(one: &mut Nand, other: &mut Nand) {
    one.mounting().finish();
    other.mounting().finish();
    assert_eq!(one.array().wear(), other.array().wear());
    assert_eq!(one.array().free_pages(), other.array().free_pages());
    for block in 0..one.geometry().blocks() {
        assert_eq!(one.owners(BlockId(block)), other.owners(BlockId(block)));
    }
    for ppn in (0..one.geometry().pages()).map(Ppn) {
        let state = |nand: &mut Nand| nand.read_spare(ppn, Cause::Meta).unwrap();
        assert_eq!(state(one), state(other), "{ppn:?}");
        assert_eq!(one.array().peek_spare(ppn), other.array().peek_spare(ppn), "{ppn:?}");
        assert_eq!(one.array().peek_meta(ppn), other.array().peek_meta(ppn), "{ppn:?}");
    }
}

/// Programs, copies, a skipped page, metadata, padding and erases.
fn work(nand: &mut Nand) -> Result<()> {
    let skips = nand.geometry().program_order() != ProgramOrder::Sequential;
    let from = u32::from(skips);
    nand.program(
        Ppn(from),
        Pages::Run { first: Lpn(8), pages: 2, kind: 1, data: Data::Stamp(1) },
        Cause::Host,
    )?;
    nand.copy(Ppn(4), Copies::of(&[Ppn(from), Ppn(1)]), Cause::Gc)?;
    nand.copy(Ppn(6), Copies::of(&[Ppn(1)]).with_kind(Some(9)).with_extra(b"extra"), Cause::Merge)?;
    nand.erase(BlockId(0), Cause::Gc)?;
    nand.erase(BlockId(7), Cause::Gc)?;
    let page = |content| Page { owner: Lpn::SYSTEM, kind: 3, extra: &[], content };
    nand.program(Ppn(8), &page(Content::Meta(b"metadata")), Cause::Meta)?;
    nand.program(Ppn(9), &page(Content::Pad), Cause::Merge)?;
    nand.program(Ppn(0), &host(20, 2), Cause::Host)
}

#[test]
fn a_chip_can_be_rebuilt_from_its_store() {
    for order in ProgramOrder::ALL {
        let mut nand = chip(order, Mode::Stamps);
        work(&mut nand).unwrap();
        let mut rebuilt = reopened(nand.array().try_clone().unwrap());
        nand.power().cycle();
        assert_same_flash(&mut nand, &mut rebuilt);
        assert!(!rebuilt.is_factory_new());
        rebuilt.mounting().resume(100);
        program(&mut rebuilt, 1, 21);
        assert_eq!(stamps(&mut rebuilt, 0, 20).unwrap(), written(20, 2));
        assert_eq!(stamps(&mut rebuilt, 1, 21).unwrap(), written(21, 1));
    }
}

#[test]
fn a_chip_can_be_rebuilt_after_any_power_cut() {
    for order in ProgramOrder::ALL {
        for after in 0..10 {
            for outcome in Outcome::ALL {
                let mut nand = chip(order, Mode::Stamps);
                nand.power().cut_after(Cut { after, outcome });
                assert_eq!(work(&mut nand), Err(Error::PowerLost));
                nand.power().cycle();
                let mut rebuilt = reopened(nand.array().try_clone().unwrap());
                assert_same_flash(&mut nand, &mut rebuilt);
                nand.power().decay().unwrap();
                rebuilt.power().decay().unwrap();
                assert_same_flash(&mut nand, &mut rebuilt);
            }
        }
    }
}

#[test]
#[should_panic(expected = "half erased")]
fn a_rebuilt_chip_remembers_half_erased_blocks() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    nand.power().cut_after(Cut { after: 0, outcome: Outcome::Half });
    nand.erase(BlockId(0), Cause::Gc).unwrap_err();
    let mut rebuilt = reopened(nand.into_array());
    rebuilt.mounting().resume(2);
    program(&mut rebuilt, 0, 5);
}

#[test]
fn a_chip_and_its_clone_do_not_share_later_changes() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    let mut clone = mounted(nand.array().try_clone().unwrap());
    clone.mounting().resume(2);
    program(&mut nand, 1, 6);
    clone.erase(BlockId(0), Cause::Gc).unwrap();
    program(&mut clone, 0, 7);
    assert_eq!(nand.owners(BlockId(0))[..2], [5, 6]);
    assert_eq!(stamps(&mut nand, 0, 5).unwrap(), written(5, 1));
    assert_eq!(stamps(&mut clone, 0, 7).unwrap(), written(7, 1));
    assert_eq!(clone.read_spare(Ppn(1), Cause::Meta).unwrap(), PageState::Erased);
}

/// A store in memory with faults.
struct FaultyStore {
    memory: MemoryStore,
    /// Number of saves, erases and syncs before it fails.
    left: u32,
    /// Whether it returns page 1 for page 0, and the other way round.
    swaps: bool,
}

impl FaultyStore {
    fn chip(order: ProgramOrder, left: u32, swaps: bool) -> Nand {
        let geometry = *chip(order, Mode::Stamps).geometry();
        let memory = MemoryStore::new(Mode::Stamps, geometry);
        let store = FaultyStore { memory, left, swaps };
        let mut nand = mounted(FlashArray::from_store(Box::new(store)).unwrap());
        nand.mounting().resume(1);
        nand
    }

    fn change(&mut self) -> Result<()> {
        let left = self.left.checked_sub(1);
        self.left = left.ok_or_else(no_space)?;
        Ok(())
    }
}

fn no_space() -> Error {
    Error::Storage("no space left".into())
}

impl PageStore for FaultyStore {
    fn shape(&self) -> Shape {
        Shape { takes_runs: false, ..self.memory.shape() }
    }
    fn load(&self, ppn: Ppn, page: &mut PageRecord, extent: Extent) -> Result<Option<&[u8]>> {
        let swapped = self.swaps && ppn.0 < 2 && extent != Extent::Spare;
        self.memory.load(if swapped { Ppn(1 - ppn.0) } else { ppn }, page, extent)
    }
    fn save(&mut self, ppn: Ppn, page: &PageRecord, area: Area) -> Result<()> {
        self.change()?;
        self.memory.save(ppn, page, area)
    }
    fn erase(&mut self, block: BlockId) -> Result<()> {
        self.change()?;
        self.memory.erase(block)
    }
    fn block(&self, block: BlockId) -> Result<BlockRecord> {
        self.memory.block(block)
    }
    fn sync(&mut self, _by: SyncBy) -> Result<Option<SyncJob>> {
        self.change().map(|()| None)
    }
    fn inject(&mut self, fault: Fault) -> Result<()> {
        self.memory.inject(fault)
    }
    fn try_clone(&self) -> Result<Box<dyn PageStore>> {
        Err(Error::Storage("this store cannot be copied".into()))
    }
}

#[test]
fn a_failure_of_the_storage_is_an_error_of_the_operation() {
    for order in ProgramOrder::ALL {
        for left in 0..10 {
            let mut nand = FaultyStore::chip(order, left, false);
            assert_eq!(work(&mut nand), Err(no_space()), "{left} changes");
            let counted = nand.tally().total(Op::Program) + nand.tally().total(Op::Erase);
            assert!([left, left + 1].contains(&(counted as u32)), "{counted} of {left}");
            for block in 0..8 {
                nand.erase(BlockId(block), Cause::Gc).unwrap_err();
            }
        }
        let mut nand = FaultyStore::chip(order, 10, false);
        work(&mut nand).unwrap();
        assert_eq!(nand.sync(), Err(no_space()));
        assert!(nand.array().try_clone().is_err());
    }
}

/// Pages of every kind, then copies of them: to other blocks, within a block, and of copies.
fn copy_all_kinds(nand: &mut Nand) {
    let page = |owner, extra, content| Page { owner: Lpn(owner), kind: 3, extra, content };
    let data = Data::Stamp(2);
    let sectors = Content::Sectors { data, mask: 0b0011, meta: b"a map" };
    let lost = Content::Host { data: Data::Lost, mask: 0b1111, base: None };
    let pages = [
        host(5, 1),
        page(6, b"scheme bytes", Content::Meta(b"metadata")),
        page(7, &[], sectors),
        page(8, &[], lost),
    ];
    for (ppn, page) in (0..).map(Ppn).zip(&pages) {
        nand.program(ppn, page, Cause::Host).unwrap();
    }
    nand.copy(Ppn(8), Copies::of(&[0, 1, 2, 3].map(Ppn)), Cause::Gc).unwrap();
    nand.copy(Ppn(4), Copies::of(&[10, 8].map(Ppn)).with_kind(Some(4)), Cause::Gc).unwrap();
    nand.copy(Ppn(6), Copies::of(&[4, 5].map(Ppn)), Cause::Gc).unwrap();
    nand.copy(
        Ppn(12),
        Copies::of(&[Ppn(9)]).with_kind(Some(9)).with_extra(b"others"),
        Cause::Merge,
    )
    .unwrap();
    nand.erase(BlockId(2), Cause::Gc).unwrap();
    nand.copy(Ppn(8), Copies::of(&[12, 3].map(Ppn)), Cause::Gc).unwrap();
    // Consecutive, but of two blocks.
    nand.copy(Ppn(16), Copies::of(&[7, 8].map(Ppn)), Cause::Gc).unwrap();
}

/// A store in memory copies from place to place; one that does not override it, by a record.
#[test]
fn both_ways_to_copy_leave_the_same_pages() {
    for order in ProgramOrder::ALL {
        let mut direct = chip(order, Mode::Stamps);
        let mut by_record = FaultyStore::chip(order, u32::MAX, false);
        copy_all_kinds(&mut direct);
        copy_all_kinds(&mut by_record);
        assert_same_flash(&mut direct, &mut by_record);
        for ppn in [4, 5, 6, 7, 16] {
            let owner = direct.owner(Ppn(ppn)).0;
            let read = stamps(&mut direct, ppn, owner);
            assert_eq!(read, stamps(&mut by_record, ppn, owner), "page {ppn}");
        }
        assert_eq!(stamps(&mut direct, 6, 7).unwrap()[..2], written(7, 2)[..2]);
        assert_eq!(stamps(&mut direct, 7, 5).unwrap(), written(5, 1));
        assert_eq!(stamps(&mut direct, 9, 8), Err(Error::Unreadable(Ppn(9))));
        assert_eq!(direct.array().peek_meta(Ppn(8)), Some(b"metadata".to_vec()));
    }
}

#[test]
fn a_copy_changes_no_clone_of_its_chip() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    program(&mut nand, 4, 6);
    let mut clone = mounted(nand.array().try_clone().unwrap());
    nand.copy(Ppn(5), Copies::of(&[Ppn(0)]), Cause::Gc).unwrap();
    nand.copy(Ppn(6), Copies::of(&[Ppn(5)]), Cause::Gc).unwrap();
    assert_eq!(clone.read_spare(Ppn(5), Cause::Meta).unwrap(), PageState::Erased);
    assert_eq!(stamps(&mut clone, 0, 5).unwrap(), written(5, 1));
    assert_eq!(stamps(&mut nand, 6, 5).unwrap(), written(5, 1));
}

#[test]
fn a_page_that_could_not_be_saved_is_used_up() {
    let mut nand = FaultyStore::chip(ProgramOrder::Sequential, 1, false);
    program(&mut nand, 0, 5);
    assert_eq!(nand.program(Ppn(1), &host(6, 1), Cause::Host), Err(no_space()));
    assert_eq!(nand.owners(BlockId(0))[..3], [5, Lpn::SYSTEM.0, Lpn::NONE.0]);
    assert_eq!(nand.array().free_pages(), 30);
    assert_eq!(stamps(&mut nand, 0, 5).unwrap(), written(5, 1), "other pages can be read");
}

/// A chip whose page 0, of LPN 5, holds something that the chip did not put there.
fn tampered(tamper: impl FnOnce(&mut dyn PageStore)) -> Nand {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    program(&mut nand, 1, 6);
    let mut store = nand.into_array().into_store().unwrap();
    tamper(&mut *store);
    let mut nand = mounted(FlashArray::from_store(store).unwrap());
    nand.mounting().resume(3);
    nand
}

#[test]
fn a_damaged_page_is_an_error_and_never_a_panic() {
    let mut record = PageRecord::new(Mode::Stamps);
    let torn =
        |store: &mut dyn PageStore| store.inject(Fault::Health(Ppn(0), Health::Torn)).unwrap();
    let flipped = |store: &mut dyn PageStore| {
        store.load(Ppn(0), &mut record, Extent::Whole).unwrap();
        let mut header = record.header.bytes(Ppn(0), &record.extra);
        header[4] ^= 1;
        record.header = Header::of_bytes(header, Ppn(0), &record.extra);
        store.save(Ppn(0), &record, Area::Recorded).unwrap();
    };
    for mut nand in [tampered(torn), tampered(flipped)] {
        let unreadable = Error::Unreadable(Ppn(0));
        assert_eq!(stamps(&mut nand, 0, 5), Err(unreadable.clone()));
        assert_eq!(nand.read_meta(Ppn(0), Cause::Meta).unwrap_err(), unreadable);
        assert_eq!(nand.read_spare(Ppn(0), Cause::Meta).unwrap(), PageState::Unreadable);
        let immovable = Err(Error::Immovable(Ppn(0)));
        assert_eq!(nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc), immovable);
        assert_eq!(nand.owners(BlockId(1))[0], Lpn::NONE.0, "the destination is still erased");
        assert_eq!(nand.tally().count(Op::Read, Cause::Gc), 1, "the source was read");
        assert_eq!(nand.tally().count(Op::Program, Cause::Gc), 0);
        let content = Content::Host { data: Data::Stamp(2), mask: 1, base: Some(Ppn(0)) };
        let partial = Page { content, ..host(5, 0) };
        assert_eq!(nand.program(Ppn(2), &partial, Cause::Host), Err(unreadable));
        program(&mut nand, 2, 5);
        assert_eq!(stamps(&mut nand, 1, 6).unwrap(), written(6, 1), "other pages can be read");
    }
}

#[test]
fn a_misdirected_page_is_unreadable() {
    let mut nand = FaultyStore::chip(ProgramOrder::Sequential, u32::MAX, true);
    program(&mut nand, 0, 5);
    program(&mut nand, 1, 6);
    assert_eq!(stamps(&mut nand, 0, 5), Err(Error::Unreadable(Ppn(0))));
    assert_eq!(stamps(&mut nand, 1, 6), Err(Error::Unreadable(Ppn(1))));
}

/// A mount reads and copies an unreadable page by its stand-in; nobody else does.
#[test]
fn a_page_stands_in_for_another_until_the_mount_is_complete() {
    let mut nand = chip(ProgramOrder::Sequential, Mode::Stamps);
    program(&mut nand, 0, 5);
    nand.copy(Ppn(4), Copies::of(&[Ppn(0)]), Cause::Gc).unwrap();
    program(&mut nand, 1, 6);
    let (spare, _) = nand.array().peek_spare(Ppn(0)).unwrap().unwrap();
    let mut store = nand.into_array().into_store().unwrap();
    for page in [0, 1] {
        store.inject(Fault::Health(Ppn(page), Health::Torn)).unwrap();
    }
    let mut nand = Nand::power_up(FlashArray::from_store(store).unwrap());
    (0..32).for_each(|page| _ = nand.read_spare(Ppn(page), Cause::Meta).unwrap());
    let unreadable = Err(Error::Unreadable(Ppn(0)));
    assert_eq!(stamps(&mut nand, 0, 5), unreadable);
    nand.mounting().stand_in(Ppn(0), Ppn(4), spare, &[]);
    assert!(nand.mounting().has_stand_in(Ppn(0)));
    assert_eq!(stamps(&mut nand, 0, 5).unwrap(), written(5, 1));
    let mut cut = mounted(nand.array().try_clone().unwrap());
    assert_eq!((cut.owner(Ppn(0)), nand.owner(Ppn(0))), (Lpn::SYSTEM, Lpn(5)));
    assert_eq!(stamps(&mut cut, 0, 5), unreadable);
    nand.mounting().finish();
    assert_eq!(stamps(&mut nand, 0, 5), unreadable);
    nand.mounting().stand_in(Ppn(0), Ppn(1), spare, &[]);
    assert_eq!(stamps(&mut nand, 0, 5), unreadable, "page 1 is torn too");
}
