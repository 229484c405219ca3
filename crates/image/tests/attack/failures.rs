//! Disks that are full or fail: from then on the image can only be read, and no sync succeeds.

use image::image_store::PagePart;
use image::medium::lossy_disk::Unsynced;
use image::medium::shared_bytes::SharedBytes;
use image::{Error, ImageStore, LossyDisk};
use nand::page_store::{Area, Extent, Fault, SyncBy, load_spare};
use nand::payload::Mode;
use nand::{BlockId, MemoryStore, PageStore, Ppn};

use crate::fixture::{NARROW, blank, crashes, open, tiny};
use crate::random::Random;
use crate::work::{History, Manner, live, random_page};

const MANNER: Manner = Manner { operations: 60, sync_each: 6, faults: true, background: false };

#[test]
fn after_a_failed_write_the_image_can_only_be_read() {
    fails_for_good(MANNER);
}

#[test]
fn after_a_failed_sync_in_the_background_the_image_can_only_be_read() {
    fails_for_good(Manner { background: true, sync_each: 1000, ..MANNER });
}

fn fails_for_good(manner: Manner) {
    let start = blank(tiny(), NARROW);
    for fuel in 0.. {
        let disk = LossyDisk::of(start.clone());
        disk.with(|disk| disk.fuel = Some(fuel));
        let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
        let mut history = History::from(0, MemoryStore::new(Mode::Bytes, tiny()));
        let worked = live(&mut store, &disk, &mut history, &mut Random(9), manner);
        if worked.is_ok() {
            assert!(fuel > 100, "the work needs only {fuel} steps");
            return;
        }
        // The disk has room again; the image does not trust it.
        disk.with(|disk| disk.fuel = None);
        let written = disk.bytes();
        assert!(worked.unwrap_err().to_string().contains("storage"));
        refuses_every_change(&mut store);
        assert_eq!(disk.bytes(), written);
        history.check(&store, history.last_operation()).unwrap();
        assert_crashes_keep_the_promise(&start, &disk, &history, fuel);
        let mut view = store.into_view().unwrap();
        view.erase(BlockId(0)).unwrap();
        view.sync(SyncBy::Store).unwrap();
        assert_eq!(disk.bytes(), written, "what a view changes stays in memory");
    }
}

fn refuses_every_change(store: &mut ImageStore) {
    let page = random_page(&mut Random(1), &tiny());
    let refused = [
        store.sync(SyncBy::Store).map(drop),
        store.save(Ppn(0), &page, Area::Recorded),
        store.erase(BlockId(0)),
        store.inject(Fault::Decay),
        store.inject(Fault::HalfErased(BlockId(0))),
        store.close(),
    ];
    for result in refused {
        let why = result.unwrap_err().to_string();
        assert!(why.contains("can only be read since an earlier failure"), "{why}");
    }
}

fn assert_crashes_keep_the_promise(
    start: &SharedBytes,
    disk: &LossyDisk,
    history: &History,
    fuel: u64,
) {
    let mut replay = Unsynced::new(start.clone(), 0);
    disk.take_events().iter().for_each(|event| {
        replay.pass(event);
    });
    for state in crashes(&replay, &mut Random(fuel)) {
        // The operation that failed may have been written.
        let store = open(state).unwrap();
        let operation = store.operation();
        assert!(operation >= replay.answered, "fuel {fuel}: {operation}");
        if operation <= history.last_operation() {
            history.check(&store, replay.answered).unwrap();
        }
    }
}

#[test]
fn a_disk_that_cannot_be_read_fails_requests_and_nothing_else() {
    let disk = LossyDisk::of(blank(tiny(), NARROW));
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    let page = random_page(&mut Random(1), &tiny());
    store.save(Ppn(0), &page, Area::Recorded).unwrap();
    disk.with(|disk| disk.unreadable = true);
    let mut read = page.clone();
    let is_unread = |error: nand::Error| matches!(error, nand::Error::ReadFailed(_));
    assert!(store.load(Ppn(0), &mut read, Extent::Whole).is_err_and(is_unread));
    assert!(load_spare(&store, Ppn(0)).is_err_and(is_unread));
    disk.with(|disk| disk.unreadable = false);
    store.load(Ppn(0), &mut read, Extent::Whole).unwrap();
    assert_eq!(read.header, page.header);
    store.sync(SyncBy::Store).unwrap();
    disk.with(|disk| disk.unreadable = true);
    let unopened = ImageStore::open(Box::new(disk.clone())).err();
    assert!(matches!(unopened, Some(Error::Io(_))), "{unopened:?}");
}

#[test]
fn a_data_area_that_cannot_be_read_is_a_damage_of_its_page() {
    let disk = LossyDisk::of(blank(tiny(), NARROW));
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    store.save(Ppn(0), &random_page(&mut Random(1), &tiny()), Area::Recorded).unwrap();
    // This brings the records into memory, so only data areas are read from now on.
    assert_eq!(store.damaged_pages(true).count(), 0);
    disk.with(|disk| disk.unreadable = true);
    assert_eq!(store.damaged_pages(true).collect::<Vec<_>>(), [(Ppn(0), PagePart::Data)]);
}
