//! Chips on images: the same as chips in memory, through crashes and power cuts.

use image::medium::loss::Loss;
use image::medium::lossy_disk::{Event, Unsynced};
use image::medium::shared_bytes::SharedBytes;
use image::{ImageStore, LossyDisk};
use nand::page_store::SyncBy;
use nand::payload::Mode;
use nand::power_cut::Snapshot;
use nand::{
    BlockId, Cause, Content, Copies, Cut, Data, FlashArray, Geometry, Lpn, MemoryStore, Nand,
    Outcome, Page, PageStore, Pages, Pairing, Ppn, ProgramOrder, Result,
};

use crate::fixture::{NARROW, blank, crashes, open};
use crate::random::Random;

fn geometries() -> [Geometry; 3] {
    let chip = |order| Geometry::new(1024, 64, 4, 4, order).unwrap();
    let pairs = Pairing { bits: 2, distance: 1 };
    [
        chip(ProgramOrder::Any),
        chip(ProgramOrder::Ascending),
        chip(ProgramOrder::Sequential).with_pairing(pairs).unwrap(),
    ]
}

fn powered(store: Box<dyn PageStore>) -> Nand {
    let mut nand = Nand::power_up(FlashArray::from_store(store).unwrap());
    nand.mounting().resume(1);
    nand.mounting().finish();
    nand
}

fn in_memory(geometry: Geometry) -> Nand {
    powered(Box::new(MemoryStore::new(Mode::Bytes, geometry)))
}

fn on_image(geometry: Geometry) -> (Nand, LossyDisk, SharedBytes) {
    let bytes = blank(geometry, NARROW);
    let disk = LossyDisk::of(bytes.clone());
    let store = ImageStore::open(Box::new(disk.clone())).unwrap();
    (powered(Box::new(store)), disk, bytes)
}

/// Programs, copies, metadata and erases in a legal order, with a sync after some of them.
fn work(nand: &mut Nand, mut synced: impl FnMut()) -> Result<()> {
    let sequential = nand.geometry().program_order() == ProgramOrder::Sequential;
    let bytes: Vec<u8> = (0..4096).map(|at| (at / 16) as u8).collect();
    for round in 0..6 {
        let first = round % 4 * 4;
        if round >= 3 {
            nand.erase(BlockId(first / 4), Cause::Gc)?;
        }
        nand.program(
            Ppn(first),
            Pages::Run { first: Lpn(round), pages: 1, kind: 1, data: Data::Bytes(&bytes) },
            Cause::Host,
        )?;
        let meta = Content::Meta(&bytes[..600]);
        let page = Page { owner: Lpn::SYSTEM, kind: 3, extra: b"scheme", content: meta };
        let skipped = u32::from(!sequential);
        nand.program(Ppn(first + 1 + skipped), &page, Cause::Meta)?;
        if round % 2 == 1 {
            nand.sync()?;
            synced();
        }
        nand.copy(
            Ppn(first + 2 + skipped),
            Copies::of(&[Ppn(first)]).with_kind(Some(9)).with_extra(b"extra"),
            Cause::Merge,
        )?;
    }
    nand.erase(BlockId(0), Cause::Gc)?;
    nand.sync()?;
    synced();
    Ok(())
}

fn assert_same_flash(one: &mut Nand, other: &mut Nand) {
    one.mounting().finish();
    other.mounting().finish();
    assert_eq!(one.array().wear(), other.array().wear());
    assert_eq!(one.array().free_pages(), other.array().free_pages());
    for block in (0..one.geometry().blocks()).map(BlockId) {
        assert_eq!(one.owners(block), other.owners(block));
    }
    for ppn in (0..one.geometry().pages()).map(Ppn) {
        let state = |nand: &mut Nand| nand.read_spare(ppn, Cause::Meta).unwrap();
        assert_eq!(state(one), state(other), "{ppn:?}");
        assert_eq!(one.array().peek_spare(ppn), other.array().peek_spare(ppn), "{ppn:?}");
        assert_eq!(one.array().peek_meta(ppn), other.array().peek_meta(ppn), "{ppn:?}");
    }
}

/// The states of a chip in memory after each operation of the work.
fn snapshots(geometry: Geometry) -> Vec<Snapshot> {
    let mut nand = in_memory(geometry);
    nand.power().record_snapshots();
    work(&mut nand, || {}).unwrap();
    nand.power().take_snapshots()
}

#[test]
fn a_crash_leaves_a_chip_after_a_whole_operation() {
    for geometry in geometries() {
        let right = snapshots(geometry);
        let (mut nand, disk, bytes) = on_image(geometry);
        // Marks the syncs; which operations they answer follows from the states after them.
        work(&mut nand, || disk.with(|disk| disk.events.push(Event::Answered(1)))).unwrap();
        let mut replay = Unsynced::new(bytes, 0);
        let (mut least, mut random) = (0, Random(4));
        for event in disk.take_events() {
            replay.pass(&event);
            if matches!(event, Event::Answered(_)) {
                let durable = replay.crash(Loss::All);
                least = open(durable).unwrap().operation();
            }
            for state in crashes(&replay, &mut random) {
                let store = open(state).unwrap();
                let operation = store.operation();
                assert!(operation >= least, "{operation} is before {least}");
                let mut chip = powered(Box::new(store));
                match operation.checked_sub(1) {
                    None => assert_same_flash(&mut chip, &mut in_memory(geometry)),
                    Some(at) => {
                        let after = right[at as usize].after.try_clone().unwrap();
                        assert_same_flash(&mut chip, &mut Nand::power_up(after));
                    }
                }
            }
        }
        assert_eq!(least, right.len() as u64);
    }
}

#[test]
fn a_power_cut_leaves_the_same_on_an_image_as_in_memory() {
    for geometry in geometries() {
        let operations = snapshots(geometry).len() as u64;
        for after in 0..operations {
            for outcome in Outcome::ALL {
                let (mut nand, disk, _) = on_image(geometry);
                let mut right = in_memory(geometry);
                for nand in [&mut nand, &mut right] {
                    nand.power().cut_after(Cut { after, outcome });
                    assert_eq!(work(nand, || {}), Err(nand::Error::PowerLost));
                    nand.power().cycle();
                }
                assert_same_flash(&mut nand, &mut right);
                let mut store = nand.into_array().into_store().unwrap();
                store.sync(SyncBy::Store).unwrap();
                let mut reopened = powered(Box::new(open(disk.bytes()).unwrap()));
                assert_same_flash(&mut reopened, &mut right);
            }
        }
    }
}
