//! Crashes: whatever is left, the image is the chip after one of the operations since the last
//! answered sync.

use image::layout::SUPERBLOCK_BYTES;
use image::medium::lossy_disk::Unsynced;
use image::medium::shared_bytes::SharedBytes;
use image::{ImageStore, LossyDisk, Room};
use nand::payload::Mode;
use nand::{Geometry, MemoryStore};

use crate::fixture::{NARROW, NARROWEST, blank, crashes, open, tiny, wide};
use crate::random::Random;
use crate::work::{History, Manner, live};

/// How an image is attacked.
#[derive(Clone, Copy, Debug)]
struct Attack {
    geometry: Geometry,
    room: Room,
    manner: Manner,
    /// The copy of the superblock that an earlier crash has torn.
    torn: Option<usize>,
    /// Lives of the image, each of which begins with what a crash left of the one before.
    lives: usize,
}

/// The image before the first life.
fn start(attack: &Attack) -> SharedBytes {
    let mut bytes = blank(attack.geometry, attack.room).to_vec();
    if let Some(copy) = attack.torn {
        bytes[copy * SUPERBLOCK_BYTES..][..SUPERBLOCK_BYTES / 2].fill(0);
    }
    bytes.into()
}

/// Runs an attack, and returns the number of states that were opened.
fn attack(attack: Attack, seed: u64) -> u64 {
    let mut random = Random(seed);
    let mut bytes = start(&attack);
    let mut history = History::from(0, MemoryStore::new(Mode::Bytes, attack.geometry));
    let mut states = 0;
    for life in 0..attack.lives {
        let disk = LossyDisk::of(bytes.clone());
        let mut store = ImageStore::open(Box::new(disk.clone())).unwrap();
        let start = history.last_operation();
        live(&mut store, &disk, &mut history, &mut random, attack.manner).unwrap();
        if random.below(4) == 0 {
            store.close().unwrap();
        }
        history.check(&store, history.last_operation()).unwrap();

        let mut replay = Unsynced::new(bytes, start);
        let events = disk.take_events();
        let next = random.below(events.len());
        let mut left = None;
        for (index, event) in events.iter().enumerate() {
            replay.pass(event);
            for state in crashes(&replay, &mut random) {
                let checked = open(state.clone()).map_err(|error| error.to_string());
                let checked = checked.and_then(|store| {
                    history.check(&store, replay.answered)?;
                    Ok(store.operation())
                });
                let operation = checked.unwrap_or_else(|why| {
                    panic!("{attack:?}, seed {seed}, life {life}, event {index}: {why}")
                });
                if index == next {
                    left = Some((state, operation));
                }
                states += 1;
            }
        }
        let (state, operation) = left.expect("a crash state");
        bytes = state;
        history = restart(&bytes, operation);
    }
    states
}

/// The history of an image that was opened after a crash.
fn restart(bytes: &SharedBytes, operation: u64) -> History {
    let store = open(bytes.clone()).unwrap();
    History::from(operation, MemoryStore::copy_of(&store).unwrap())
}

/// Attacks of every kind, with seeds from `seeds`. Returns the number of states.
fn attacks(seeds: std::ops::Range<u64>) -> u64 {
    let mut states = 0;
    for seed in seeds {
        let (geometry, room) = [
            (tiny(), NARROW),
            (wide(), NARROW),
            (tiny(), NARROWEST),
            (tiny(), Room { spare_slots: 8, frames: 8 }),
        ][seed as usize % 4];
        let sync_each = [1, 4, 16, 1000][seed as usize / 4 % 4];
        // Without syncs, several frames are in flight at once.
        let operations = if sync_each == 1000 { 120 } else { 40 };
        let (faults, background) = (seed % 3 == 0, seed % 5 != 0);
        let manner = Manner { operations, sync_each, faults, background };
        let torn = [None, Some(0), Some(1)][seed as usize % 3];
        states += attack(Attack { geometry, room, manner, torn, lives: 4 }, seed);
    }
    states
}

#[test]
fn every_crash_leaves_the_chip_after_one_operation() {
    let states = attacks(0..16);
    eprintln!("{states} crash states");
    assert!(states > 30_000, "only {states} states");
}

#[test]
#[ignore = "minutes"]
fn a_million_crashes_leave_the_chip_after_one_operation() {
    let states = attacks(16..480);
    eprintln!("{states} crash states");
    assert!(states > 1_000_000, "only {states} states");
}
