//! Follows the journal of a drive: which request has which place in the queue, which command was
//! suspended, how the counters stand.

use std::collections::HashMap;

use drive::Entry;
use drive::journal::DieWork;
use nand::Op;

use crate::result::series::CounterSnapshot;
use crate::run::simulator::Simulator;
use crate::run::timeline::counters::Counters;
use crate::run::timeline::record::{Counter, OperationRecord, Record, RequestRecord};
use crate::run::timeline::slots::Slots;

/// Write amplification is that of at least this many pages of the host.
const PAGES_AT_LEAST: u64 = 256;

/// A request that was just issued, and the FTL after it.
#[derive(Clone, Copy, Debug, Default)]
pub struct IssuedRequest {
    /// Its number in the measured pass.
    pub number: u64,
    /// The counters of the chip.
    pub counters: CounterSnapshot,
    /// Free blocks of the FTL.
    pub free_blocks: u32,
}

impl IssuedRequest {
    /// The request with this number, which a simulator has just served.
    pub fn of(number: u64, on: &mut Simulator) -> IssuedRequest {
        let written = on.written();
        let counters = CounterSnapshot::of(on.nand(), written, on.time_ns());
        IssuedRequest { number, counters, free_blocks: on.free_blocks() }
    }
}

/// Makes records of the entries of a journal.
#[derive(Debug, Default)]
pub struct Tracker {
    /// Requests whose operations have not all ended, by their number in the drive.
    requests: HashMap<u64, ActiveRequest>,
    slots: Slots,
    queue_depth: u64,
    /// For each die, whether a command of it is suspended.
    suspended: Vec<bool>,
    counters: Counters,
    /// The counters of the chip when write amplification was last computed.
    computed: CounterSnapshot,
}

/// A request whose operations have not all ended.
#[derive(Debug)]
struct ActiveRequest {
    number: u64,
    slot: u32,
    issued_ns: u64,
    /// Once it is answered, how many operations have not ended.
    unfinished: Option<u32>,
}

impl Tracker {
    /// A tracker of an idle drive.
    pub fn new(dies: usize) -> Tracker {
        Tracker { suspended: vec![false; dies], ..Tracker::default() }
    }

    /// Makes records of the next entry. `issued` is the request if the entry is its issue.
    pub fn follow(&mut self, entry: &Entry, issued: &IssuedRequest, out: &mut Vec<Record>) {
        match *entry {
            Entry::Issue { number, at_ns } => self.issue(number, at_ns, issued, out),
            Entry::Request { number: id, answer, unfinished } => {
                let (number, slot) = self.answer(id, unfinished);
                out.push(Record::Request(RequestRecord { id, number, slot, answer, unfinished }));
                self.count_queue(answer.answered_ns, out);
            }
            Entry::Operation(ended) => {
                let (number, slot, issued_ns) = self.end(ended.request);
                out.push(Record::Operation(OperationRecord { ended, number, slot, issued_ns }));
            }
            Entry::Die(work) => {
                let is_resumed = self.is_resumed(&work);
                out.push(Record::Die { work, is_resumed });
            }
            Entry::Channel(transfer) => out.push(Record::Channel(transfer)),
            Entry::Buffer { at_ns, pages } => {
                self.counters.note(Counter::BufferPages, at_ns, pages as f64, out);
            }
        }
    }

    /// Makes records of what is left at the end.
    pub fn finish(&mut self, out: &mut Vec<Record>) {
        assert!(self.requests.is_empty(), "requests are not finished: {:?}", self.requests);
        self.counters.settle(out);
    }

    fn issue(&mut self, id: u64, at_ns: u64, issued: &IssuedRequest, out: &mut Vec<Record>) {
        let &IssuedRequest { number, counters, free_blocks } = issued;
        let slot = self.slots.take();
        let request = ActiveRequest { number, slot, issued_ns: at_ns, unfinished: None };
        self.requests.insert(id, request);
        self.queue_depth += 1;
        self.counters.note(Counter::QueueDepth, at_ns, self.queue_depth as f64, out);
        self.counters.note(Counter::FreeBlocks, at_ns, free_blocks.into(), out);
        let pages = counters.host_pages - self.computed.host_pages;
        if pages >= PAGES_AT_LEAST {
            let programs = counters.programs - self.computed.programs;
            let amplification = programs as f64 / pages as f64;
            self.counters.note(Counter::WriteAmplification, at_ns, amplification, out);
            self.computed = counters;
        }
    }

    /// A request was answered. Returns its number in the measured pass and its place.
    fn answer(&mut self, id: u64, unfinished: u32) -> (u64, u32) {
        let request = self.requests.get_mut(&id).expect("the request was issued");
        let found = (request.number, request.slot);
        request.unfinished = Some(unfinished);
        self.forget_if_finished(id);
        self.slots.give_back(found.1);
        found
    }

    fn count_queue(&mut self, at_ns: u64, out: &mut Vec<Record>) {
        self.queue_depth -= 1;
        self.counters.note(Counter::QueueDepth, at_ns, self.queue_depth as f64, out);
    }

    /// An operation has ended. Returns the number of its request in the measured pass, its place,
    /// and when it was issued.
    fn end(&mut self, id: u64) -> (u64, u32, u64) {
        let request = self.requests.get_mut(&id).expect("the request of the operation was issued");
        let found = (request.number, request.slot, request.issued_ns);
        if let Some(unfinished) = &mut request.unfinished {
            *unfinished -= 1;
        }
        self.forget_if_finished(id);
        found
    }

    fn forget_if_finished(&mut self, id: u64) {
        if self.requests[&id].unfinished == Some(0) {
            self.requests.remove(&id);
        }
    }

    /// Whether a die goes on with its suspended command. While there is one, only reads come.
    fn is_resumed(&mut self, work: &DieWork) -> bool {
        let suspended = &mut self.suspended[work.die as usize];
        match work.op {
            Some(Op::Program | Op::Erase) => core::mem::replace(suspended, work.is_suspended),
            Some(Op::Read | Op::SpareRead) | None => false,
        }
    }
}
