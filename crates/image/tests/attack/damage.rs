//! Damage: flipped bits in every field, truncation at every length.

use image::layout::{FRAME_BYTES, Layout, SUPERBLOCK_BYTES};
use image::{Error, ImageStore, LossyDisk, Room};
use nand::page_store::{Area, Extent, Health, PageRecord, SyncBy, load_spare};
use nand::payload::Mode;
use nand::{BlockId, FlashArray, MemoryStore, Nand, PageStore, Ppn};

use crate::fixture::{NARROW, blank, open, refusal, tiny, wide};
use crate::random::Random;
use crate::work::{History, Manner, live, random_page};

/// An image after some work, closed in order or not, and the chip that it holds.
fn worked(room: Room, closed: bool) -> (Vec<u8>, Layout, History) {
    let disk = LossyDisk::of(blank(wide(), room));
    let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
    let mut history = History::from(0, MemoryStore::new(Mode::Bytes, wide()));
    let manner = Manner { operations: 40, sync_each: 5, faults: false, background: false };
    live(&mut store, &disk, &mut history, &mut Random(11), manner).unwrap();
    store.sync(SyncBy::Store).unwrap();
    if closed {
        store.close().unwrap();
    }
    (disk.bytes().to_vec(), *store.layout(), history)
}

fn flipped(bytes: &[u8], bit: usize) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[bit / 8] ^= 1 << (bit % 8);
    bytes
}

#[test]
fn a_flipped_bit_of_one_superblock_does_no_harm() {
    let (bytes, _, history) = worked(NARROW, true);
    for bit in (0..16 * SUPERBLOCK_BYTES).step_by(3) {
        let store = open(flipped(&bytes, bit)).unwrap_or_else(|why| panic!("bit {bit}: {why}"));
        if bit % 99 == 0 {
            history.check(&store, history.last_operation()).unwrap();
        }
    }
}

#[test]
fn a_flipped_bit_of_both_superblocks_is_refused() {
    let (bytes, ..) = worked(NARROW, true);
    for bit in (0..8 * SUPERBLOCK_BYTES).step_by(3) {
        let why = refusal(flipped(&flipped(&bytes, bit), bit + 8 * SUPERBLOCK_BYTES));
        let right = match bit / 8 {
            0..8 => "this is not an image of ftlab",
            _ => "the image is damaged: superblock: wrong checksum",
        };
        assert_eq!(why, right, "bit {bit}");
    }
}

#[test]
fn a_flipped_bit_of_the_block_table_is_refused() {
    let (bytes, layout, history) = worked(NARROW, true);
    let counts = |which| refusal_of_table(&bytes, &layout, which, 0).is_some();
    assert!(counts(0) != counts(1), "one table counts");
    for which in [0, 1] {
        for bit in 0..8 * layout.table_bytes() {
            match refusal_of_table(&bytes, &layout, which, bit) {
                Some(why) => assert!(why.ends_with(&format!("table {which}: wrong checksum"))),
                None => assert!(!counts(which), "bit {bit}"),
            }
        }
    }
    history.check(&open(bytes).unwrap(), history.last_operation()).unwrap();
}

fn refusal_of_table(bytes: &[u8], layout: &Layout, which: u32, bit: usize) -> Option<String> {
    let at = 8 * layout.table(which) as usize + bit;
    open(flipped(bytes, at)).err().map(|why| why.to_string())
}

/// A frame that is damaged is taken for the end of the journal, unless a later one shows that it
/// was durable.
#[test]
fn a_flipped_bit_of_the_journal_is_refused_or_ends_it() {
    let (bytes, layout, history) = worked(Room { spare_slots: 8, frames: 64 }, false);
    let (mut refused, mut shorter) = (0, 0);
    for bit in (0..8 * 64 * FRAME_BYTES).step_by(13) {
        match open(flipped(&bytes, 8 * layout.frame(0) as usize + bit)) {
            Ok(store) => {
                history.check(&store, 0).unwrap();
                shorter += u32::from(store.operation() < history.last_operation());
            }
            Err(Error::Damaged(why)) => {
                assert!(why.contains("was durable") || why.contains("is newer"), "{why}");
                refused += 1;
            }
            Err(other) => panic!("{other}"),
        }
    }
    assert!(refused > 400 && shorter > 0, "{refused} refused, {shorter} shorter");
}

#[test]
fn a_flipped_bit_of_a_page_makes_only_this_page_unreadable() {
    let (bytes, layout, history) = worked(NARROW, true);
    let blank = PageRecord::new(Mode::Bytes);
    let programmed = (0..layout.geometry.pages()).map(Ppn).filter(|ppn| {
        load_spare(history.last(), *ppn).is_ok_and(|spare| spare.health != Health::Erased)
    });
    let programmed: Vec<Ppn> = programmed.collect();
    assert!(programmed.len() > 5);
    let mut harmed = vec![0; layout.geometry.pages() as usize];
    let mut keeps_spare_area = 0;
    let slots = 8 * layout.slot(0) as usize..8 * layout.file_bytes() as usize;
    for bit in slots.step_by(23) {
        let store = open(flipped(&bytes, bit)).unwrap();
        let unreadable = programmed.iter().filter(|ppn| {
            let mut page = blank.clone();
            store.load(**ppn, &mut page, Extent::Whole).unwrap();
            matches!(page.health, Health::Torn | Health::DataLost)
        });
        let unreadable: Vec<&Ppn> = unreadable.collect();
        assert!(unreadable.len() <= 1, "bit {bit} makes {unreadable:?} unreadable");
        for ppn in unreadable {
            harmed[ppn.0 as usize] += 1;
            keeps_spare_area += u32::from(has_spare_area(&store, history.last(), *ppn));
        }
    }
    assert!(keeps_spare_area > 500, "{keeps_spare_area} flips hit data areas");
    for ppn in programmed {
        let bytes = layout.record_bytes() + layout.geometry.page_bytes() as usize;
        let bits = 8 * bytes / 23;
        let count = harmed[ppn.0 as usize];
        assert!((bits - 2..bits + 3).contains(&count), "{ppn:?}: {count} of {bits}");
    }
}

/// Whether the spare area of an unreadable page is as it was. It is, if only the data are lost.
fn has_spare_area(store: &ImageStore, right: &MemoryStore, ppn: Ppn) -> bool {
    let mut page = PageRecord::new(Mode::Bytes);
    store.load(ppn, &mut page, Extent::Whole).unwrap();
    let (is, should) = (load_spare(store, ppn).unwrap(), load_spare(right, ppn).unwrap());
    let is_same = is.header == should.header && is.extra == should.extra;
    let is_lost = page.health == Health::DataLost;
    assert!(is_same || !is_lost, "{ppn:?} has another spare area");
    is_lost
}

#[test]
fn an_image_of_another_length_is_refused() {
    let (bytes, ..) = worked(NARROW, true);
    for length in (0..8192).chain((8192..bytes.len()).step_by(7)) {
        let why = refusal(bytes[..length].to_vec());
        let right = match length {
            0..8 => "this is not an image of ftlab".into(),
            8..8192 => {
                format!("the image is damaged: it ends after {length} bytes, in its head")
            }
            _ => format!("the image has {length} bytes, but was made with {}", bytes.len()),
        };
        assert_eq!(why, right);
    }
    let longer = [&bytes[..], b"x"].concat();
    assert!(refusal(longer).contains("but was made with"));
}

/// Slots may have been used again since, so the older state is lost.
#[test]
fn superblocks_older_than_the_journal_are_refused() {
    let room = Room { spare_slots: 8, frames: 64 };
    let (mut bytes, ..) = worked(room, false);
    let head = ..2 * SUPERBLOCK_BYTES;
    bytes[head].copy_from_slice(&blank(wide(), room).to_vec()[head]);
    let right = "the image is damaged: frame 0 of its journal is newer than its superblock";
    assert_eq!(refusal(bytes), right);
}

/// A later format may change everything but magic, version and checksum.
#[test]
fn a_newer_image_is_refused() {
    let mut bytes = blank(tiny(), NARROW).to_vec();
    for copy in bytes.chunks_exact_mut(SUPERBLOCK_BYTES).take(2) {
        copy[8] = 3;
        let crc = crc32fast::hash(&[&copy[..12], &copy[16..]].concat());
        let crc = crc.wrapping_mul(0x9E37_79B1);
        copy[12..16].copy_from_slice(&crc.to_le_bytes());
    }
    assert_eq!(refusal(bytes), "the image has format 3; this program reads format 2");
}

#[test]
fn a_foreign_file_is_refused() {
    for length in [0, 1, 4096, 8192, 100_000] {
        assert_eq!(refusal(vec![0x55; length]), "this is not an image of ftlab");
    }
}

/// Random damage, several bits at once: an image is refused, or opened and read without a panic.
#[test]
fn damage_never_panics() {
    let mut random = Random(21);
    for round in 0..1000 {
        let (mut bytes, layout, _) = worked(NARROW, round % 2 == 0);
        let places = [0, layout.table(0), layout.frame(0), layout.slot(0)];
        for _ in 0..1 + random.below(8) {
            let at = places[random.below(4)] as usize + random.below(4096);
            bytes[at] = random.next() as u8;
        }
        let Ok(mut store) = open(bytes) else { continue };
        let page = random_page(&mut random, &layout.geometry);
        for ppn in (0..layout.geometry.pages()).map(Ppn) {
            store.load(ppn, &mut page.clone(), Extent::Whole).unwrap();
            if load_spare(&store, ppn).unwrap().health == Health::Erased {
                store.save(ppn, &page, Area::Recorded).unwrap();
            }
        }
        store.erase(BlockId(0)).unwrap();
        Nand::power_up(FlashArray::from_store(Box::new(store)).unwrap()).mounting().finish();
    }
}
