//! Images whose block tables are damaged: what their pages say.

use image::layout::SUPERBLOCK_BYTES;
use image::medium::shared_bytes::SharedBytes;
use image::salvage::Damage;
use image::{ImageStore, LossyDisk};
use nand::page_store::{Area, Health, PageRecord, PageStore, SyncBy, load_spare};
use nand::{BlockId, Geometry, Ppn, ProgramOrder};

use crate::fixture::{NARROW, NARROWEST, blank, tiny};
use crate::random::Random;
use crate::work::random_page;

/// An image at work.
struct Used {
    store: ImageStore,
    disk: LossyDisk,
    random: Random,
}

impl Used {
    fn new(bytes: SharedBytes) -> Used {
        let disk = LossyDisk::of(bytes);
        let store = ImageStore::open(Box::new(disk.clone())).unwrap();
        Used { store, disk, random: Random(5) }
    }

    /// Programs a page, makes that durable, and returns the page.
    fn save(&mut self, ppn: u32) -> PageRecord {
        let page = random_page(&mut self.random, &self.store.shape().geometry);
        self.store.save(Ppn(ppn), &page, Area::Recorded).unwrap();
        self.store.sync(SyncBy::Store).unwrap();
        page
    }

    fn erase(&mut self, block: u32) {
        self.store.erase(BlockId(block)).unwrap();
        self.store.sync(SyncBy::Store).unwrap();
    }

    /// What is left if both block tables are damaged.
    fn without_tables(self) -> ImageStore {
        let mut bytes = self.disk.bytes().to_vec();
        for table in [0, 1] {
            bytes[self.store.layout().table(table) as usize + 5] ^= 1;
        }
        salvaged(bytes).0
    }
}

fn salvaged(bytes: Vec<u8>) -> (ImageStore, Vec<Damage>) {
    ImageStore::salvage(Box::new(LossyDisk::of(bytes.into()))).unwrap()
}

fn is_erased(store: &ImageStore, ppn: u32) -> bool {
    load_spare(store, Ppn(ppn)).unwrap().health == Health::Erased
}

/// The older page is still in the slot that its block had before the erase.
#[test]
fn of_two_slots_of_a_block_the_one_written_later_counts() {
    let mut used = Used::new(blank(tiny(), NARROW));
    let old = used.save(0);
    used.erase(0);
    let new = used.save(0);
    // It gets the old slot, but not the place of the older page.
    used.save(5);
    let store = used.without_tables();
    let found = load_spare(&store, Ppn(0)).unwrap().header;
    assert!(found == new.header && found != old.header);
    assert_eq!(store.operation(), 4, "later operations are numbered from here on");
}

/// With so little room, the block gets the slot again that it had before.
#[test]
fn pages_from_an_earlier_use_of_a_slot_stay_away() {
    let order = ProgramOrder::Ascending;
    let geometry = Geometry::new(512, 32, 4, 4, order).unwrap();
    let mut used = Used::new(blank(geometry, NARROWEST));
    (0..4).for_each(|ppn| drop(used.save(ppn)));
    let before = used.store.places(Ppn(0)).unwrap();
    used.erase(0);
    let new = used.save(0);
    assert_eq!(used.store.places(Ppn(0)), Some(before), "the slot is used again");
    let store = used.without_tables();
    assert_eq!(load_spare(&store, Ppn(0)).unwrap().header, new.header);
    assert_eq!([1, 2, 3].map(|ppn| is_erased(&store, ppn)), [true; 3]);
}

#[test]
fn pages_that_were_programmed_in_any_order_are_all_there() {
    let mut used = Used::new(blank(tiny(), NARROW));
    [3, 0, 2].into_iter().for_each(|ppn| drop(used.save(ppn)));
    let store = used.without_tables();
    assert_eq!([0, 1, 2, 3].map(|ppn| is_erased(&store, ppn)), [false, true, false, false]);
}

#[test]
fn only_a_file_that_is_too_short_hides_pages() {
    let bytes = blank(tiny(), NARROW).to_vec();
    let longer = [&bytes[..], b"x"].concat();
    for (bytes, hides_pages) in [(longer, false), (bytes[..bytes.len() - 1].to_vec(), true)] {
        let damages = salvaged(bytes).1;
        assert_eq!(damages.len(), 1);
        assert_eq!(damages[0].hides_pages, hides_pages, "{damages:?}");
    }
}

#[test]
fn the_damaged_superblock_is_named() {
    for copy in [0, 1] {
        let mut bytes = blank(tiny(), NARROW).to_vec();
        bytes[copy * SUPERBLOCK_BYTES + 600] ^= 1;
        let damages = salvaged(bytes).1;
        assert!(damages[0].what.starts_with(&format!("superblock {copy}: ")), "{damages:?}");
    }
}

#[test]
fn a_salvaged_image_is_never_changed() {
    let disk = LossyDisk::of(blank(tiny(), NARROW));
    let mut store = ImageStore::salvage(Box::new(disk.clone())).unwrap().0;
    store.save(Ppn(0), &random_page(&mut Random(5), &tiny()), Area::Recorded).unwrap();
    store.close().unwrap();
    assert!(!is_erased(&store, 0));
    assert_eq!(disk.take_events().len(), 0);
}
