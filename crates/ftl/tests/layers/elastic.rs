//! An FTL with a resizable map: a plain list of the most recently used pages. It records its calls,
//! and returns miss costs that the test has set.

use std::ops::Range;
use std::sync::{Arc, RwLock};

use ftl::{
    Base, Extent, Facet, FacetKind, Ftl, MapBudget, MapEvent, MissCosts, Ram, Report, ResizableMap,
    Run, Scheme, Span, Violation,
};
use nand::{Lpn, Nand, Ppn, Sink};

use crate::recorder::{Calls, Recorder};

/// Bytes of the map per page.
pub const ENTRY_BYTES: u64 = 1024;

/// The scheme; the tests mount it themselves.
pub static SCHEME: Scheme = Scheme {
    name: "elastic",
    map_budget: Some(MapBudget {
        replaces: "",
        unit_bytes: |_| 512,
        entry_bytes: ENTRY_BYTES,
        interval: 7,
    }),
    ..Scheme::PLAIN
};

/// Pages whose entries are cached, the least recently used first.
#[derive(Clone, Debug, Default)]
pub struct Cache {
    pub pages: Vec<u32>,
    pub capacity: usize,
}

impl Cache {
    /// Uses the entry of a page. Returns whether it was cached, and the pages whose entries are
    /// evicted to make room.
    pub fn touch(&mut self, lpn: u32) -> (bool, Vec<u32>) {
        let at = self.pages.iter().position(|&page| page == lpn);
        at.map(|at| self.pages.remove(at));
        self.pages.push(lpn);
        (at.is_some(), self.shrink())
    }

    pub fn resize(&mut self, bytes: u64) -> Vec<u32> {
        self.capacity = ((bytes / ENTRY_BYTES) as usize).max(1);
        self.shrink()
    }

    fn shrink(&mut self) -> Vec<u32> {
        let excess = self.pages.len().saturating_sub(self.capacity);
        self.pages.drain(..excess).collect()
    }
}

#[derive(Default)]
pub struct Elastic {
    recorder: Recorder,
    cache: Cache,
    events: Vec<MapEvent>,
    is_watched: bool,
    pub costs: Arc<RwLock<MissCosts>>,
    /// The sizes that the map was given, in bytes, in order.
    pub budgets: Arc<RwLock<Vec<u64>>>,
}

impl Elastic {
    pub fn calls(&self) -> Calls {
        self.recorder.calls.clone()
    }

    fn touch(&mut self, run: &Run, missed: fn(Lpn) -> MapEvent) {
        for lpn in (0..run.pages).map(|index| run.first.plus(index)) {
            let (hit, gone) = self.cache.touch(lpn.0);
            if !hit {
                self.events.push(missed(lpn));
            }
            self.events.extend(gone.into_iter().map(|lpn| MapEvent::Left(Lpn(lpn))));
        }
    }
}

impl Base for Elastic {
    fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> ftl::Result<()> {
        self.touch(run, MapEvent::ReadMissed);
        Base::read(&mut self.recorder, nand, run, sink)
    }

    fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> ftl::Result<()> {
        Base::trim(&mut self.recorder, nand, first, pages)
    }

    fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> ftl::Result<()> {
        self.recorder.flush(nand, only)
    }

    fn place(&self, _: &Nand, _: Lpn) -> Option<Ppn> {
        None
    }

    fn extent(&self, lpns: Range<u32>) -> Extent {
        Base::extent(&self.recorder, lpns)
    }

    fn prefetch(&self, _: &[Span], _: Option<&Nand>) {}
}

impl Ftl for Elastic {
    ftl::base_is!(self);

    fn write(&mut self, nand: &mut Nand, run: &Run, next: &[Span]) -> ftl::Result<usize> {
        self.touch(run, MapEvent::WriteMissed);
        self.recorder.write(nand, run, next)
    }

    fn audit(&self, _: &Nand) -> Result<(), Violation> {
        Ok(())
    }

    fn report(&self) -> Report {
        let cache = self.cache.capacity as u64 * ENTRY_BYTES;
        Report { ram: Ram { map: 100, cache, ..Ram::default() }, ..Report::default() }
    }

    fn reset_report(&mut self) {}

    fn facet(&mut self, kind: FacetKind) -> Option<Facet<'_>> {
        match kind {
            FacetKind::Map => Some(Facet::Map(self)),
            _ => None,
        }
    }
}

impl ResizableMap for Elastic {
    fn resize(&mut self, _: &mut Nand, bytes: u64) -> ftl::Result<u64> {
        self.budgets.write().unwrap().push(bytes);
        let gone = self.cache.resize(bytes);
        self.events.extend(gone.into_iter().map(|lpn| MapEvent::Left(Lpn(lpn))));
        Ok(self.cache.capacity as u64 * ENTRY_BYTES)
    }

    fn watch(&mut self) {
        self.is_watched = true;
    }

    fn take_events(&mut self, events: &mut Vec<MapEvent>) {
        assert!(self.is_watched, "events were taken from a map that is not watched");
        events.append(&mut self.events);
    }

    fn miss_costs(&mut self) -> MissCosts {
        *self.costs.read().unwrap()
    }
}
