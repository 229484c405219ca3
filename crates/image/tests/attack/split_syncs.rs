//! A sync that ends after another one.

use image::{ImageStore, LossyDisk, Room};
use nand::page_store::{Area, SyncBy, load_spare};
use nand::payload::Mode;
use nand::{BlockId, MemoryStore, PageStore, Ppn};

use crate::fixture::{blank, open, tiny};
use crate::random::Random;
use crate::work::random_page;

/// Two slots are free. All blocks are erased while a sync goes on, and a later sync ends before it.
#[test]
fn a_sync_that_ends_late_takes_nothing_back() {
    let disk = LossyDisk::of(blank(tiny(), Room { spare_slots: 2, frames: 8 }));
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    let mut right = MemoryStore::new(Mode::Bytes, tiny());
    let page = random_page(&mut Random(4), &tiny());
    let first_pages = [0, 1, 2, 3].map(|block| tiny().first_page(BlockId(block)));
    let program = |store: &mut dyn PageStore, pages: &[Ppn]| {
        pages.iter().for_each(|&ppn| store.save(ppn, &page, Area::Recorded).unwrap());
    };
    program(&mut store, &first_pages);
    let job = store.sync(SyncBy::Caller).unwrap().expect("something to sync");
    for block in (0..4).map(BlockId) {
        store.erase(block).unwrap();
        right.erase(block).unwrap();
    }
    program(&mut store, &first_pages[..2]);
    store.sync(SyncBy::Store).unwrap();
    store.end_sync(job()).unwrap();
    program(&mut store, &first_pages[2..]);
    program(&mut right, &first_pages);
    store.sync(SyncBy::Store).unwrap();
    let again = open(disk.bytes()).unwrap();
    assert_eq!(again.operation(), store.operation());
    for block in (0..4).map(BlockId) {
        assert_eq!(again.block(block), right.block(block));
        let spare = load_spare(&again, tiny().first_page(block)).unwrap();
        assert_eq!(spare.header, page.header);
    }
}

/// A copy that is made while a sync goes on has no part in it.
#[test]
fn a_copy_has_syncs_of_its_own() {
    let disk = LossyDisk::of(blank(tiny(), Room { spare_slots: 2, frames: 8 }));
    let mut store = ImageStore::open(Box::new(disk)).unwrap();
    let page = random_page(&mut Random(4), &tiny());
    store.save(Ppn(0), &page, Area::Recorded).unwrap();
    let job = store.sync(SyncBy::Caller).unwrap().expect("something to sync");
    let mut copy = store.try_clone().unwrap();
    copy.save(Ppn(1), &page, Area::Recorded).unwrap();
    let own = copy.sync(SyncBy::Caller).unwrap().expect("something to sync");
    copy.end_sync(own()).unwrap();
    store.end_sync(job()).unwrap();
    assert!(
        copy.sync(SyncBy::Caller).unwrap().is_none()
            && store.sync(SyncBy::Caller).unwrap().is_none()
    );
}
