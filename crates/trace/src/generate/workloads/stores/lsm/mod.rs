//! lsm: the tables of a key-value store that is a log-structured merge tree.
//!
//! ```text
//! puts ──▶ log                                         stream 1
//!     └──▶ memtable ──full──▶ level 0  [t][t] [t][t]   stream 2, one run for each memtable
//!                               │ compaction
//!                             level 1  [t][t][t]       stream 3
//!                             level 2  [t][t][t][t] …  stream 4, `fanout` times as large
//! ```
//! The default follows the description of LevelDB's files and compactions (its doc/impl.md): sizes
//! of memtable, tables and levels, four runs in level 0, and, from the other levels, one table
//! after the other through the keys, which is merged with the tables that it overlaps. With
//! `compaction=tiered`, a level collects `fanout` runs, which are merged into one of the next
//! level; those of the last level replace its run.
//!
//! The store is loaded first: all its entries, in order, straight into the last level. Then puts
//! replace entries. Tables are written whole, read when they are merged, and discarded after that.
//! While tables are flushed and compacted, the log of the next memtable is written at an even rate.
//!
//! * `keys`: what a spec may give
//! * `shape`: sizes, and the room that they need
//! * `tree`: levels and compactions
//! * `free_space`: where tables and logs are placed

mod free_space;
mod keys;
mod shape;
mod tree;

use rustc_hash::FxHashMap;
use spec::{Params, Value};

use crate::generate::course::Course;
use crate::generate::params::{ARRIVALS, INPUTS, INTERARRIVAL, REQUESTS, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::scatter::Scatter;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::generate::zipf_ranks::ZipfRanks;
use crate::request::{Op, Request, SECTOR_BYTES};

use free_space::Extent;
use keys::{
    COMPACTION, DATA, DISCARDS, ENTRY, FANOUT, LEVEL, LEVELS, LOG, LOOKUPS, MEMTABLE, PIECE, SPACE,
    TABLE, THETA, YOUNG,
};
use shape::Shape;
use tree::{Tree, Work};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "lsm",
    summary: "a key-value store: tables of a log-structured merge tree, each level in a stream of \
              its own",
    source: "the description of LevelDB's files and compactions, its doc/impl.md",
    params: &[
        WRITES,
        REQUESTS,
        LOOKUPS,
        SPACE,
        DATA,
        ENTRY,
        THETA,
        COMPACTION,
        MEMTABLE,
        TABLE,
        LEVEL,
        FANOUT,
        YOUNG,
        LEVELS,
        LOG,
        INPUTS,
        DISCARDS,
        PIECE,
        INTERARRIVAL,
        ARRIVALS,
        SEED,
    ],
    placement,
};

/// The stream of the log; that of level 0 is the next one.
const LOG_STREAM: u8 = 1;

/// The seed of the permutation of the keys. It does not depend on the seed of the run, so the same
/// keys are hot in every run.
const SCATTER_SEED: u64 = 0x6c73_6d00;

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let space_bytes = params.size(SPACE.name);
    if space_bytes > space.capacity_bytes {
        return Err(format!(
            "space={space_bytes} is more than the {} bytes of the device",
            space.capacity_bytes
        ));
    }
    let log_bytes = match params.get(LOG.name) {
        Some(Value::Size(bytes)) => Some(*bytes),
        _ => None,
    };
    let request_bytes = params.size(PIECE.name);
    for (key, bytes) in [(&LOG, log_bytes), (&PIECE, Some(request_bytes))] {
        if bytes.is_some_and(|bytes| bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES)) {
            let (name, bytes) = (key.name, bytes.unwrap_or(0));
            return Err(format!("{name}={bytes} is not a whole number of sectors of 512 bytes"));
        }
    }
    let shape = Shape::of(params, space.page_bytes, log_bytes.is_some())?;
    let keys = shape.keys.into();
    let law = match params.real(THETA.name) {
        0.0 => None,
        _ => Some(ZipfRanks::of(params, keys)?),
    };
    Ok(Box::new(Lsm {
        shape,
        space_pages: space_bytes / u64::from(space.page_bytes),
        page_bytes: space.page_bytes.into(),
        law,
        scatter: Scatter::new(keys, &mut Random::new(SCATTER_SEED)),
        log_bytes,
        request_bytes,
        reads_inputs: params.choice(INPUTS.name) == "read",
        discards: params.switch(DISCARDS.name),
        tree: None,
        log: Vec::new(),
        log_done: Progress::default(),
        work_done: Progress::default(),
        extent_done_bytes: 0,
        readable: Readable::default(),
        latest: (0, space.page_bytes.into()),
        next: None,
    }))
}

struct Lsm {
    shape: Shape,
    space_pages: u64,
    page_bytes: u64,
    /// The law of the keys, if they are not all alike.
    law: Option<ZipfRanks>,
    scatter: Scatter,
    log_bytes: Option<u64>,
    request_bytes: u64,
    reads_inputs: bool,
    discards: bool,
    /// It is built when the first request is made, because it takes memory.
    tree: Option<Tree>,
    /// The places of the log that is being written.
    log: Vec<Extent>,
    log_done: Progress,
    /// The work of the tree since the last memtable became full.
    work_done: Progress,
    /// What is done of the first extent of this work.
    extent_done_bytes: u64,
    readable: Readable,
    /// The offset and the bytes of the last write. Until the first table is whole, reads go there.
    latest: (u64, u64),
    /// The next request that the store makes.
    next: Option<Step>,
}

/// A request of the store.
#[derive(Clone, Copy)]
struct Step {
    op: Op,
    offset: u64,
    bytes: u64,
    stream: u8,
    /// What can be read after the request.
    written: Option<Extent>,
}

/// Bytes that are done, of all.
#[derive(Default, Clone, Copy)]
struct Progress {
    done: u64,
    all: u64,
}

impl Progress {
    fn of(all: u64) -> Progress {
        Progress { done: 0, all }
    }

    fn is_complete(self) -> bool {
        self.done == self.all
    }

    /// Whether a smaller share of this is done than of the other.
    fn is_behind(self, other: Progress) -> bool {
        let product = |a: u64, b: u64| u128::from(a) * u128::from(b);
        product(self.done, other.all) < product(other.done, self.all)
    }
}

impl Lsm {
    /// The next request of the log or of the tree: of the one that is behind. Places that are no
    /// longer needed are discarded at once.
    fn next_step(&mut self, random: &mut Random) -> Step {
        loop {
            let work = self.tree.as_ref().and_then(|tree| tree.work.front());
            let log_is_next = match work {
                Some(Work::Discard(_)) => false,
                Some(_) => self.log_done.is_behind(self.work_done),
                None => true,
            };
            if log_is_next && !self.log_done.is_complete() {
                return self.log_step();
            }
            match self.work_step() {
                Some(step) => return step,
                None if self.log_done.is_complete() => self.next_memtable(random),
                None => {}
            }
        }
    }

    /// The next write to the log.
    fn log_step(&mut self) -> Step {
        let mut at = self.log_done.done;
        let of_extent = |extent: &Extent| extent.pages * self.page_bytes;
        let mut extents = self.log.iter();
        let mut extent = extents.next().expect("the log has room for its memtable");
        while at >= of_extent(extent) {
            at -= of_extent(extent);
            extent = extents.next().expect("the log has room for its memtable");
        }
        let left = (of_extent(extent) - at).min(self.log_done.all - self.log_done.done);
        let bytes = self.log_bytes.unwrap_or(left).min(left);
        self.log_done.done += bytes;
        let offset = extent.first * self.page_bytes + at;
        Step { op: Op::Write, offset, bytes, stream: LOG_STREAM, written: None }
    }

    /// The next request of the tree, if it has anything left to do.
    fn work_step(&mut self) -> Option<Step> {
        loop {
            let work = *self.tree.as_mut()?.work.front()?;
            let (op, extent, stream) = match work {
                Work::Read(extent) => (Op::Read, extent, 0),
                Work::Write(extent, level) => (Op::Write, extent, LOG_STREAM + 1 + level as u8),
                Work::Discard(extent) => (Op::Trim, extent, 0),
            };
            let all = extent.pages * self.page_bytes;
            let left = all - self.extent_done_bytes;
            let bytes = if op == Op::Trim { left } else { left.min(self.request_bytes) };
            let offset = extent.first * self.page_bytes + self.extent_done_bytes;
            self.extent_done_bytes += bytes;
            let is_done = self.extent_done_bytes == all || !self.is_made(op);
            if is_done {
                self.extent_done_bytes = 0;
                self.tree.as_mut()?.work.pop_front();
            }
            if op == Op::Trim {
                self.readable.remove(extent);
            } else {
                self.work_done.done = self.work_done.done.saturating_add(bytes);
            }
            if self.is_made(op) {
                let written = (op == Op::Write && is_done).then_some(extent);
                return Some(Step { op, offset, bytes, stream, written });
            }
        }
    }

    /// Whether the store makes requests of this kind.
    fn is_made(&self, op: Op) -> bool {
        match op {
            Op::Read => self.reads_inputs,
            Op::Trim => self.discards,
            _ => true,
        }
    }

    /// Loads the store, or flushes the memtable whose log is complete and begins the next one.
    fn next_memtable(&mut self, random: &mut Random) {
        let Some(mut tree) = self.tree.take() else {
            return self.begin(Tree::load(self.shape, self.space_pages), Vec::new());
        };
        let memtable = u64::from(self.shape.memtable_entries);
        // Before the tree gives up any place: what it gives up is discarded later.
        let next_log = match self.log_bytes {
            Some(_) => tree.take(self.shape.pages(memtable)),
            None => Vec::new(),
        };
        if self.log_bytes.is_none() || !self.log.is_empty() {
            let keys = (0..memtable).map(|_| self.draw_key(random)).collect();
            tree.flush(keys, std::mem::take(&mut self.log));
        }
        self.begin(tree, next_log);
    }

    fn begin(&mut self, tree: Tree, log: Vec<Extent>) {
        let is_made = |work: &&Work| match work {
            Work::Read(_) => self.reads_inputs,
            Work::Write(..) => true,
            Work::Discard(_) => false,
        };
        let bytes = |extent: &Extent| extent.pages * self.page_bytes;
        let pages = tree.work.iter().filter(is_made).map(|work| match work {
            Work::Read(extent) | Work::Write(extent, _) | Work::Discard(extent) => bytes(extent),
        });
        self.work_done = Progress::of(pages.fold(0, u64::saturating_add));
        self.log_done = Progress::of(log.iter().map(bytes).sum());
        (self.log, self.tree) = (log, Some(tree));
    }

    fn draw_key(&self, random: &mut Random) -> u32 {
        match &self.law {
            Some(ranks) => self.scatter.place(ranks.draw(random)) as u32,
            None => random.below(self.shape.keys.into()) as u32,
        }
    }
}

impl Placement for Lsm {
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        match (op, self.next) {
            (Op::Write, Some(step)) => {
                self.next = None;
                step.written.into_iter().for_each(|extent| self.readable.add(extent));
                self.latest = (step.offset, step.bytes);
                self.latest
            }
            _ => match self.readable.page(random) {
                Some(page) => (page * self.page_bytes, self.page_bytes),
                None => (self.latest.0, self.latest.1.min(self.page_bytes)),
            },
        }
    }

    fn names_streams(&self) -> bool {
        true
    }

    fn place(&mut self, course: &mut Course, count: usize, out: &mut Vec<Request>) {
        out.extend((0..count).map(|_| {
            let step = match self.next {
                Some(step) => step,
                None => self.next_step(course.random()),
            };
            if step.op != Op::Write {
                return course.beside(step.op, step.offset, step.bytes);
            }
            self.next = Some(step);
            let request = course.next(|op, random| self.next_range(op, random));
            Request { stream: if request.op == Op::Write { step.stream } else { 0 }, ..request }
        }));
    }
}

/// The extents of tables that are written and not yet deleted.
#[derive(Default)]
struct Readable {
    extents: Vec<Extent>,
    /// The place of each in the list, by its first page.
    places: FxHashMap<u64, usize>,
}

impl Readable {
    fn add(&mut self, extent: Extent) {
        self.places.insert(extent.first, self.extents.len());
        self.extents.push(extent);
    }

    /// Removes an extent, if it is one of a table and not of a log.
    fn remove(&mut self, extent: Extent) {
        let Some(place) = self.places.remove(&extent.first) else { return };
        self.extents.swap_remove(place);
        if let Some(moved) = self.extents.get(place) {
            self.places.insert(moved.first, place);
        }
    }

    /// A page of any extent, if there is one.
    fn page(&self, random: &mut Random) -> Option<u64> {
        if self.extents.is_empty() {
            return None;
        }
        let extent = self.extents[random.below(self.extents.len() as u64) as usize];
        Some(extent.first + random.below(extent.pages))
    }
}

#[cfg(test)]
mod tests;
