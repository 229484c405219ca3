//! Headers that a fault replaces.

use image::layout::FRAME_ENTRIES;
use image::{ImageStore, LossyDisk, Room};
use nand::page_store::{Area, Fault, Health, SyncBy, load_spare};
use nand::payload::Mode;
use nand::{Geometry, MemoryStore, PageStore, Ppn, ProgramOrder};

use crate::fixture::{NARROW, blank, open, tiny};
use crate::random::Random;
use crate::work::random_page;

/// Page 0 was never written, the record of page 1 is damaged, and page 2 is whole.
#[test]
fn a_header_is_replaced_whatever_the_page_was() {
    let disk = LossyDisk::of(blank(tiny(), NARROW));
    let page = random_page(&mut Random(1), &tiny());
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    let mut right = MemoryStore::new(Mode::Bytes, tiny());
    for ppn in [Ppn(1), Ppn(2)] {
        store.save(ppn, &page, Area::Recorded).unwrap();
        right.save(ppn, &page, Area::Recorded).unwrap();
    }
    store.close().unwrap();
    let (_, record) = store.places(Ppn(1)).unwrap();
    let mut damaged = disk.bytes().to_vec();
    damaged[record as usize + 3] ^= 1;
    let mut store = open(damaged).unwrap();
    let healths = [0, 1, 2].map(|ppn| load_spare(&store, Ppn(ppn)).unwrap().health);
    assert_eq!(healths, [Health::Erased, Health::Torn, Health::Good]);
    for ppn in (0..3).map(Ppn) {
        let header = random_page(&mut Random(9), &tiny()).header.bytes(ppn, &[]);
        store.inject(Fault::Header(ppn, header)).unwrap();
        right.inject(Fault::Header(ppn, header)).unwrap();
        let [found, expected] =
            [&store as &dyn PageStore, &right].map(|store| load_spare(store, ppn).unwrap());
        assert_eq!((found.health, found.header), (expected.health, expected.header), "{ppn:?}");
    }
}

/// More operations than two frames of the journal hold.
#[test]
fn one_sync_writes_several_frames() {
    let geometry = Geometry::new(512, 32, 64, 8, ProgramOrder::Any).unwrap();
    let bytes = blank(geometry, Room { spare_slots: 2, frames: 16 });
    let disk = LossyDisk::of(bytes);
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    let page = random_page(&mut Random(1), &geometry);
    let pages = 2 * FRAME_ENTRIES as u32 + 3;
    for ppn in (0..pages).map(Ppn) {
        store.save(ppn, &page, Area::Recorded).unwrap();
    }
    store.sync(SyncBy::Store).unwrap();
    let again = open(disk.bytes()).unwrap();
    assert_eq!(again.operation(), u64::from(pages));
    let last = load_spare(&again, Ppn(pages - 1)).unwrap();
    assert_eq!((last.health, last.header), (page.health, page.header));
}
