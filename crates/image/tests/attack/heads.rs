//! Superblocks that differ: one is older, because of a crash between their writes, or they are of
//! two images.

use image::layout::SUPERBLOCK_BYTES;
use image::medium::lossy_disk::Event;
use image::{ImageStore, LossyDisk, create};
use nand::page_store::Area;
use nand::{PageStore, Ppn};

use crate::fixture::{NARROW, blank, recipe, refusal, tiny};
use crate::random::Random;
use crate::work::random_page;

fn save(store: &mut ImageStore, ppn: u32) {
    store.save(Ppn(ppn), &random_page(&mut Random(1), &tiny()), Area::Recorded).unwrap();
}

/// A blank image, and the same after its chip was used.
fn before_and_after() -> [Vec<u8>; 2] {
    let before = blank(tiny(), NARROW);
    let disk = LossyDisk::of(before.clone());
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    save(&mut store, 0);
    store.close().unwrap();
    [before.to_vec(), disk.bytes().to_vec()]
}

/// An image with a copy of the superblock from another one.
fn with_copy(bytes: &[u8], copy: usize, from: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let place = copy * SUPERBLOCK_BYTES..(copy + 1) * SUPERBLOCK_BYTES;
    bytes[place.clone()].copy_from_slice(&from[place]);
    bytes
}

/// Otherwise a crash could leave no copy that is whole and current.
#[test]
fn the_newer_copy_counts_and_the_older_one_is_written_first() {
    let [before, after] = before_and_after();
    for older in [0, 1] {
        let disk = LossyDisk::of(with_copy(&after, older, &before).into());
        let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
        assert_eq!((store.generation(), store.operation()), (3, 1));
        save(&mut store, 1);
        let first = disk.take_events().into_iter().find_map(|event| match event {
            Event::Write { offset, .. } => Some(offset).filter(|at| *at < 2 * SUPERBLOCK_BYTES),
            _ => None,
        });
        assert_eq!(first, Some(older * SUPERBLOCK_BYTES));
    }
}

#[test]
fn superblocks_of_two_images_are_refused() {
    let mut other = LossyDisk::default();
    create(&mut other, &recipe(tiny()), NARROW, [8; 16]).unwrap();
    let other = other.bytes().to_vec();
    for image in before_and_after() {
        for copy in [0, 1] {
            for mixed in [with_copy(&image, copy, &other), with_copy(&other, copy, &image)] {
                let right = "the image is damaged: its superblocks are of two images";
                assert_eq!(refusal(mixed), right);
            }
        }
    }
}
