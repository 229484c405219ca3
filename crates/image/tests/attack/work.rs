//! Random legal work on an image, and on a store in memory that says what is right.

use std::collections::HashMap;

use image::medium::lossy_disk::Event;
use image::{ImageStore, LossyDisk};
use nand::page_store::{
    Area, Extent, Fault, Health, PageRecord, PageStore, SyncBy, SyncJob, load_spare,
};
use nand::payload::Mode;
use nand::spare::{HEADER_BYTES, Header};
use nand::{BlockId, Cells, Geometry, MemoryStore, Ppn};

use crate::random::Random;

/// The states of a chip, one after each operation.
pub struct History {
    first: u64,
    states: Vec<MemoryStore>,
    /// Pages whose header is replaced by the operation after this one. A crash may already show
    /// the new header, or make the page unreadable.
    replaced: HashMap<u64, Ppn>,
}

impl History {
    pub fn from(first: u64, state: MemoryStore) -> History {
        History { first, states: vec![state], replaced: HashMap::new() }
    }

    pub fn last(&self) -> &MemoryStore {
        self.states.last().expect("a state")
    }

    pub fn last_operation(&self) -> u64 {
        self.first + self.states.len() as u64 - 1
    }

    pub fn at(&self, operation: u64) -> &MemoryStore {
        &self.states[(operation - self.first) as usize]
    }

    fn push(&mut self, change: impl FnOnce(&mut MemoryStore)) {
        let mut state = self.last().clone();
        change(&mut state);
        self.states.push(state);
    }

    /// Checks that an opened image is the chip after one of the operations from `from` on.
    pub fn check(&self, store: &ImageStore, from: u64) -> Result<(), String> {
        let operation = store.operation();
        if operation < from || operation > self.last_operation() {
            let last = self.last_operation();
            return Err(format!("operation {operation}, but expected {from} to {last}"));
        }
        let right = self.at(operation);
        for block in (0..store.shape().geometry.blocks()).map(BlockId) {
            let (is, should) = (store.block(block), right.block(block));
            if is != should {
                return Err(format!("after {operation}: {block:?} is {is:?}, not {should:?}"));
            }
        }
        for ppn in (0..store.shape().geometry.pages()).map(Ppn) {
            let Err(why) = same_page(store, right, ppn) else { continue };
            let replaced = self.replaced.get(&operation) == Some(&ppn);
            let torn = load_spare(store, ppn).is_ok_and(|spare| spare.health == Health::Torn);
            if !replaced || !(torn || same_page(store, self.at(operation + 1), ppn).is_ok()) {
                return Err(format!("after {operation}: {ppn:?} {why}"));
            }
        }
        Ok(())
    }
}

/// Compares a page of an image with the right one.
fn same_page(store: &ImageStore, right: &MemoryStore, ppn: Ppn) -> Result<(), String> {
    let [mut is, mut should] = [(); 2].map(|()| PageRecord::new(Mode::Bytes));
    store.load(ppn, &mut is, Extent::Whole).map_err(|error| error.to_string())?;
    right.load(ppn, &mut should, Extent::Whole).map_err(|error| error.to_string())?;
    let spare = load_spare(store, ppn).map_err(|error| error.to_string())?;
    if is.health != should.health || spare.health != should.health {
        return Err(format!("is {:?}, not {:?}", is.health, should.health));
    }
    if !matches!(is.health, Health::Good | Health::Unstable | Health::DataLost) {
        return Ok(());
    }
    let spares = [(spare.header, &*spare.extra), (is.header, &*is.extra)];
    let (Cells::Bytes(data), Cells::Bytes(right_data)) = (&is.cells, &should.cells) else {
        return Err("has stamps".into());
    };
    let same = spares.iter().all(|spare| *spare == (should.header, &*should.extra))
        && is.meta == should.meta
        && data == right_data;
    if same { Ok(()) } else { Err("has other contents".into()) }
}

/// A page with random contents; some of its sectors are zero.
pub fn random_page(random: &mut Random, geometry: &Geometry) -> PageRecord {
    let mut data = vec![0; geometry.page_bytes() as usize];
    for sector in data.chunks_mut(512) {
        let byte = random.pick(&[0, 1, 2, 0xFF]);
        sector.fill(byte);
        sector[random.below(512)] = byte;
    }
    let zero = data.chunks(512).filter(|sector| sector.iter().all(|byte| *byte == 0)).count();
    let bytes = |random: &mut Random, end| {
        let length = random.below(end + 1);
        (0..length).map(|_| random.next() as u8).collect::<Vec<u8>>()
    };
    let mut header = [0; HEADER_BYTES];
    header.fill_with(|| random.next() as u8);
    let extra = bytes(random, geometry.scheme_bytes() as usize);
    let meta = bytes(random, zero * 512);
    PageRecord {
        health: Health::Good,
        header: Header::Damaged(header),
        extra,
        cells: Cells::Bytes(data),
        meta,
    }
}

/// How a life of an image goes.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    pub operations: usize,
    /// One operation in this many is followed by a sync.
    pub sync_each: usize,
    /// Whether faults are among the operations.
    pub faults: bool,
    /// Whether there are syncs that go on beside the operations.
    pub background: bool,
}

/// A sync that goes on beside the operations.
#[derive(Default)]
enum Background {
    #[default]
    Idle,
    /// It began after this operation.
    Begun { operation: u64, job: SyncJob },
    /// Its job has run.
    Run { operation: u64, done: nand::Result<()> },
}

impl Background {
    /// Takes the next step, if any is drawn.
    fn step(
        self,
        store: &mut ImageStore,
        disk: &LossyDisk,
        random: &mut Random,
    ) -> nand::Result<Background> {
        let answer = |operation| disk.with(|disk| disk.events.push(Event::Durable(operation)));
        if random.below(3) != 0 {
            return Ok(self);
        }
        Ok(match self {
            Background::Idle => match store.sync(SyncBy::Caller)? {
                Some(job) => Background::Begun { operation: store.operation(), job },
                None => {
                    answer(store.operation());
                    Background::Idle
                }
            },
            Background::Begun { operation, job } => Background::Run { operation, done: job() },
            Background::Run { operation, done } => {
                store.end_sync(done)?;
                answer(operation);
                Background::Idle
            }
        })
    }
}

/// Works on an image, and notes in the events of the disk what was answered.
pub fn live(
    store: &mut ImageStore,
    disk: &LossyDisk,
    history: &mut History,
    random: &mut Random,
    manner: Manner,
) -> nand::Result<()> {
    let mut background = Background::default();
    for _ in 0..manner.operations {
        if manner.background {
            background = background.step(store, disk, random)?;
        }
        step(store, history, random, manner.faults)?;
        assert_eq!(store.operation(), history.last_operation());
        if random.below(manner.sync_each) == 0 {
            store.sync(SyncBy::Store)?;
            disk.with(|disk| disk.events.push(Event::Answered(store.operation())));
        }
    }
    Ok(())
}

/// Performs one operation on the image, and on the chip in memory if it succeeded.
fn step(
    store: &mut ImageStore,
    history: &mut History,
    random: &mut Random,
    faults: bool,
) -> nand::Result<()> {
    let geometry = store.shape().geometry;
    let ppn = Ppn(random.below(geometry.pages() as usize) as u32);
    let block = geometry.block_of(ppn);
    let health = load_spare(history.last(), ppn)?.health;
    match random.below(16) {
        0 if faults => half_erase(store, history, block),
        1 if faults => {
            store.inject(Fault::Decay)?;
            history.push(|chip| chip.inject(Fault::Decay).unwrap());
            Ok(())
        }
        2 | 3 if faults && health != Health::Erased => {
            let left = [Health::Torn, Health::LooksErased, Health::Unstable, Health::DataLost];
            let left = random.pick(&left);
            store.inject(Fault::Health(ppn, left))?;
            history.push(|chip| chip.inject(Fault::Health(ppn, left)).unwrap());
            Ok(())
        }
        4 if faults && health == Health::Good => {
            history.replaced.insert(history.last_operation(), ppn);
            let header = [random.next() as u8; HEADER_BYTES];
            store.inject(Fault::Header(ppn, header))?;
            history.push(|chip| chip.inject(Fault::Header(ppn, header)).unwrap());
            Ok(())
        }
        draw => match erased_page(history.last(), ppn).filter(|_| draw < 14) {
            Some(ppn) => {
                let page = random_page(random, &geometry);
                store.save(ppn, &page, Area::Recorded)?;
                history.push(|chip| chip.save(ppn, &page, Area::Recorded).unwrap());
                Ok(())
            }
            None => {
                store.erase(block)?;
                history.push(|chip| chip.erase(block).unwrap());
                Ok(())
            }
        },
    }
}

/// A page that may be programmed, from `from` on or else from the first one.
fn erased_page(chip: &MemoryStore, from: Ppn) -> Option<Ppn> {
    let geometry = chip.shape().geometry;
    let mut pages = (from.0..geometry.pages()).chain(0..from.0).map(Ppn);
    pages.find(|ppn| {
        let whole = |block| chip.block(block).is_ok_and(|block| !block.half_erased);
        let erased = load_spare(chip, *ppn).is_ok_and(|spare| spare.health == Health::Erased);
        erased && whole(geometry.block_of(*ppn))
    })
}

fn half_erase(store: &mut ImageStore, history: &mut History, block: BlockId) -> nand::Result<()> {
    store.inject(Fault::HalfErased(block))?;
    history.push(|chip| chip.inject(Fault::HalfErased(block)).unwrap());
    Ok(())
}
