//! Creation, interrupted at every write; reopening; two openers.

use image::medium::lossy_disk::{Event, Unsynced};
use image::medium::shared_bytes::SharedBytes;
use image::{DiskFile, Error, ImageStore, LossyDisk, Recipe, Room, create, create_at};
use nand::page_store::{Area, SyncBy};
use nand::payload::Mode;
use nand::{Geometry, MemoryStore, PageStore, ProgramOrder};

use crate::fixture::{NARROW, UUID, blank, crashes, open, recipe, refusal, tiny, wide};
use crate::random::Random;
use crate::work::{History, Manner, live};

fn blank_history(geometry: Geometry) -> History {
    History::from(0, MemoryStore::new(Mode::Bytes, geometry))
}

#[test]
fn an_interrupted_creation_leaves_no_image_or_a_blank_one() {
    let mut disk = LossyDisk::default();
    create(&mut disk, &recipe(wide()), NARROW, UUID).unwrap();
    let events = disk.take_events();
    let mut replay = Unsynced::new(SharedBytes::default(), 0);
    let (mut opened, mut refused) = (0, 0);
    for event in &events {
        replay.pass(event);
        for state in crashes(&replay, &mut Random(1)) {
            match open(state) {
                Ok(store) => {
                    blank_history(wide()).check(&store, 0).unwrap();
                    opened += 1;
                }
                Err(Error::Foreign | Error::Damaged(_)) => refused += 1,
                Err(other) => panic!("{other}"),
            }
        }
    }
    assert!(opened > 2 && refused > 2, "{opened} opened, {refused} refused");
}

#[test]
fn a_full_disk_during_creation_leaves_no_image() {
    for fuel in 0.. {
        let mut disk = LossyDisk::default();
        disk.with(|disk| disk.fuel = Some(fuel));
        if create(&mut disk, &recipe(tiny()), NARROW, UUID).is_ok() {
            assert!(fuel > 5, "creation ended after {fuel} steps");
            return;
        }
        if let Ok(store) = open(disk.bytes()) {
            blank_history(tiny()).check(&store, 0).unwrap();
        }
    }
}

#[test]
fn opening_and_closing_without_a_change_writes_nothing() {
    let bytes = blank(tiny(), NARROW);
    let disk = LossyDisk::of(bytes.clone());
    for _ in 0..10_000 {
        let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
        assert!(store.is_clean());
        store.sync(SyncBy::Store).unwrap();
        store.close().unwrap();
    }
    assert_eq!(disk.bytes(), bytes);
    assert!(disk.with(|disk| disk.events.is_empty()));
}

#[test]
fn a_closed_image_is_clean_and_a_changed_one_is_not() {
    let disk = LossyDisk::of(blank(tiny(), NARROW));
    let mut history = blank_history(tiny());
    let manner = Manner { operations: 30, sync_each: 7, faults: true, background: true };
    let mut random = Random(3);
    for _ in 0..20 {
        let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
        assert!(store.is_clean());
        history.check(&store, history.last_operation()).unwrap();
        live(&mut store, &disk, &mut history, &mut random, manner).unwrap();
        assert!(!store.is_clean());
        store.sync(SyncBy::Store).unwrap();
        assert!(!open(disk.bytes()).unwrap().is_clean());
        store.close().unwrap();
        history.check(&store, history.last_operation()).unwrap();
    }
}

/// The process that wrote it may have been killed before it could sync.
#[test]
fn a_sync_of_an_image_that_was_left_open_reaches_the_disk() {
    let disk = LossyDisk::of(blank(tiny(), NARROW));
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    store.erase(nand::BlockId(0)).unwrap();
    store.sync(SyncBy::Store).unwrap();
    let syncs =
        || disk.with(|disk| disk.events.iter().filter(|it| matches!(it, Event::Sync)).count());
    let before = syncs();
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    store.sync(SyncBy::Store).unwrap();
    assert_eq!(syncs(), before + 1);
    store.sync(SyncBy::Store).unwrap();
    assert_eq!(syncs(), before + 1);
}

#[test]
fn an_image_in_use_cannot_be_opened() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    create_at(&path, &recipe(tiny()), NARROW, UUID).unwrap();
    let first = ImageStore::open_at(&path).unwrap();
    let refused = ImageStore::open_at(&path).map(|_| ()).unwrap_err();
    assert_eq!(refused.to_string(), "the image is in use");
    drop(first);
    ImageStore::open_at(&path).unwrap();
}

#[test]
fn an_existing_file_is_not_overwritten() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    std::fs::write(&path, "important").unwrap();
    assert!(matches!(create_at(&path, &recipe(tiny()), NARROW, UUID), Err(Error::Io(_))));
    assert_eq!(std::fs::read(&path).unwrap(), b"important");
    let mut file = DiskFile::open(&path).unwrap();
    assert!(create(&mut file, &recipe(tiny()), NARROW, UUID).is_err());
    drop(file);
    assert_eq!(refusal(std::fs::read(&path).unwrap()), "this is not an image of ftlab");
}

#[test]
fn an_impossible_image_is_refused_and_leaves_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    let long = Recipe { parameters: "x".repeat(5000), ..recipe(tiny()) };
    let why = create_at(&path, &long, NARROW, UUID).unwrap_err().to_string();
    assert!(why.contains("impossible image: the names and parameters take more than"), "{why}");
    let no_slots = Room { spare_slots: 0, frames: 1 };
    let why = create_at(&path, &recipe(tiny()), no_slots, UUID).unwrap_err().to_string();
    assert_eq!(why, "impossible image: 0 spare slots for 4 blocks");
    assert!(!path.exists());
}

#[test]
fn another_recipe_is_refused_with_what_differs() {
    let store = open(blank(tiny(), NARROW)).unwrap();
    let differs = |asked: Recipe| store.recipe().expect(&asked).unwrap_err().to_string();
    store.recipe().expect(&recipe(tiny())).unwrap();
    let other = Recipe { scheme: "fast".into(), ..recipe(tiny()) };
    assert_eq!(differs(other), "the image was made with scheme page:victim=greedy, not fast");
    assert_eq!(differs(recipe(wide())), "the image was made with page bytes 512, not 2048");
    let geometry = Geometry::new(512, 32, 4, 4, ProgramOrder::Sequential).unwrap();
    assert_eq!(
        differs(recipe(geometry)),
        "the image was made with program order any, not sequential"
    );
    let other = Recipe { seed: 6, ..recipe(tiny()) };
    assert_eq!(differs(other), "the image was made with seed 5, not 6");
}

#[test]
fn a_file_gives_space_back() {
    use std::os::unix::fs::MetadataExt;

    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.img");
    let geometry = Geometry::new(4096, 64, 16, 64, ProgramOrder::Any).unwrap();
    create_at(&path, &recipe(geometry), Room::of(&geometry), UUID).unwrap();
    let used = || std::fs::metadata(&path).unwrap().blocks() * 512;
    let empty = used();
    let mut store = ImageStore::open_at(&path).unwrap();
    let page = crate::work::random_page(&mut Random(1), &geometry);
    for ppn in (0..geometry.pages()).map(nand::Ppn) {
        store.save(ppn, &page, Area::Recorded).unwrap();
    }
    store.sync(SyncBy::Store).unwrap();
    let full = used();
    (0..geometry.blocks()).for_each(|block| store.erase(nand::BlockId(block)).unwrap());
    store.close().unwrap();
    let after = used();
    assert!(full >= empty + 4 * 1024 * 1024, "{empty} B blank, {full} B full");
    // A file system without holes keeps the space.
    assert!(after < full / 4 || after == full, "{full} B full, {after} B erased");
}
