//! Draws records as events.

use std::collections::BTreeMap;
use std::io;

use drive::journal::{DieWork, Transfer};
use drive::{Profile, Shares};
use nand::{Cause, Op};
use serde::{Serialize, Serializer};

use crate::run::timeline::arrows::Arrows;
use crate::run::timeline::format::{Document, Event, Micros};
use crate::run::timeline::record::{Counter, OperationRecord, Record, RequestRecord};
use crate::run::timeline::tracks::{self, CHANNELS, DIES, FTL, HOST, HostTracks, track};

/// Colours of requests, and of the slowest ones.
const REQUEST: &str = "thread_state_runnable";
const SLOW_REQUEST: &str = "terrible";
/// The colour of suspensions.
const SUSPENSION: &str = "grey";

/// The colour of a cause, by a name of Chrome's viewer.
fn colour(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "good",
        Cause::Rmw => "rail_load",
        Cause::Gc => "bad",
        Cause::Merge => "rail_animation",
        Cause::Map => "thread_state_iowait",
        Cause::Log => "olive",
        Cause::Wear => "vsync_highlight_color",
        Cause::Meta => "generic_work",
        Cause::Media => "thread_state_unknown",
    }
}

/// Everything that is said about an event.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Args {
    Request {
        number: u64,
        load: usize,
        bytes: u64,
        parts_us: Parts,
        #[serde(skip_serializing_if = "Option::is_none")]
        slow: Option<usize>,
    },
    Work {
        cause: &'static str,
        operations: u32,
        suspended: bool,
        resumed: bool,
    },
    Suspension {},
    Transfer {
        cause: &'static str,
        die: u16,
    },
    Operation {
        request: u64,
        op: &'static str,
        cause: &'static str,
        place: u32,
        counts: bool,
    },
    Value {
        value: f64,
    },
}

/// The parts of a response by name.
#[derive(Debug)]
struct Parts(Shares);

impl Serialize for Parts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let parts = self.0.parts().map(Micros);
        serializer.collect_map(Shares::NAMES.iter().zip(parts))
    }
}

/// A timeline that is being drawn.
pub struct Drawing<'a> {
    out: Document<'a>,
    /// Time 0 of the timeline.
    origin_ns: u64,
    host: HostTracks,
    arrows: Arrows,
    /// Arrows that can be drawn; reused.
    ready: Vec<OperationRecord>,
    arrows_drawn: u64,
    /// The rank of the slowest requests, by their number in the drive.
    ranks: BTreeMap<u64, usize>,
}

impl<'a> Drawing<'a> {
    /// A drawing of a drive with this profile. Time 0 is `origin_ns`.
    ///
    /// # Errors
    /// Its head cannot be written.
    pub fn new(
        mut out: Document<'a>,
        profile: &Profile,
        origin_ns: u64,
    ) -> io::Result<Drawing<'a>> {
        tracks::name_all(&mut out, profile)?;
        Ok(Drawing {
            out,
            origin_ns,
            host: HostTracks::default(),
            arrows: Arrows::default(),
            ready: Vec::new(),
            arrows_drawn: 0,
            ranks: BTreeMap::new(),
        })
    }

    /// Marks requests by their rank among the slowest.
    pub fn mark(&mut self, ranks: BTreeMap<u64, usize>) {
        self.ranks = ranks;
    }

    /// Draws a record.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn draw(&mut self, record: &Record) -> io::Result<()> {
        match record {
            Record::Request(request) => self.request(request)?,
            Record::Operation(operation) => self.operation(operation)?,
            Record::Die { work, is_resumed } => self.work(work, *is_resumed)?,
            Record::Channel(transfer) => self.transfer(transfer)?,
            Record::Counter { counter, at_ns, value } => self.counter(*counter, *at_ns, *value)?,
        }
        self.draw_arrows()
    }

    /// Writes the end, with what is said about the whole timeline.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&mut self, about: &impl Serialize) -> io::Result<()> {
        self.out.finish(about)
    }

    fn request(&mut self, record: &RequestRecord) -> io::Result<()> {
        let RequestRecord { id, number, slot, answer, unfinished } = *record;
        let (kind, slow) = (kind(answer.request.op), self.ranks.get(&id).copied());
        let (name, cname) = match slow {
            Some(_) => (format!("slow {kind}"), SLOW_REQUEST),
            None => (kind.to_owned(), REQUEST),
        };
        let tid = self.host.of_slot(slot, &mut self.out)?;
        let (ts, dur) = (self.time(answer.issued_ns), Micros(answer.response_ns()));
        let (load, bytes) = (answer.request.load, answer.request.bytes);
        let args = Args::Request { number, load, bytes, parts_us: Parts(answer.shares), slow };
        let cat = "request";
        self.out.event(&Event::Slice { name, cat, pid: HOST, tid, ts, dur, cname, args })?;
        self.arrows.request(id, unfinished, &mut self.ready);
        Ok(())
    }

    fn work(&mut self, work: &DieWork, is_resumed: bool) -> io::Result<()> {
        let DieWork { die, op, cause, operations, is_suspended, from_ns, until_ns } = *work;
        let (name, cname, args) = match op {
            None => ("suspension".to_owned(), SUSPENSION, Args::Suspension {}),
            Some(op) => {
                let (suspended, resumed) = (is_suspended, is_resumed);
                let args = Args::Work { cause: cause.name(), operations, suspended, resumed };
                (of_cause(op, cause), colour(cause), args)
            }
        };
        let (tid, ts, dur) = (track(die), self.time(from_ns), Micros(until_ns - from_ns));
        let cat = "die";
        self.out.event(&Event::Slice { name, cat, pid: DIES, tid, ts, dur, cname, args })?;
        if op.is_some() && !is_resumed {
            self.arrows.command(die, from_ns, operations, &mut self.ready);
        }
        Ok(())
    }

    fn transfer(&mut self, transfer: &Transfer) -> io::Result<()> {
        let Transfer { channel, die, op, cause, from_ns, until_ns } = *transfer;
        self.out.event(&Event::Slice {
            name: of_cause(op, cause),
            cat: "channel",
            pid: CHANNELS,
            tid: track(channel),
            ts: self.time(from_ns),
            dur: Micros(until_ns - from_ns),
            cname: colour(cause),
            args: Args::Transfer { cause: cause.name(), die },
        })
    }

    fn operation(&mut self, record: &OperationRecord) -> io::Result<()> {
        if !record.ended.is_from_buffer {
            self.arrows.operation(*record, &mut self.ready);
            return Ok(());
        }
        let tid = self.host.of_buffer(&mut self.out)?;
        let (name, ts) = (of_cause(record.ended.op, record.ended.cause), record.ended.ended_ns);
        let (cat, ts, s, args) = ("buffer", self.time(ts), "t", about(record));
        self.out.event(&Event::Instant { name, cat, pid: HOST, tid, ts, s, args })
    }

    fn counter(&mut self, counter: Counter, at_ns: u64, value: f64) -> io::Result<()> {
        let pid = match counter {
            Counter::QueueDepth | Counter::BufferPages => HOST,
            Counter::FreeBlocks | Counter::WriteAmplification => FTL,
        };
        let (name, ts, args) = (counter.name(), self.time(at_ns), Args::Value { value });
        self.out.event(&Event::Counter { name, pid, ts, args })
    }

    /// Draws the arrows whose slices are drawn.
    fn draw_arrows(&mut self) -> io::Result<()> {
        let ready = core::mem::take(&mut self.ready);
        for operation in &ready {
            self.arrow(operation)?;
        }
        self.ready = ready;
        self.ready.clear();
        Ok(())
    }

    fn arrow(&mut self, operation: &OperationRecord) -> io::Result<()> {
        self.arrows_drawn += 1;
        let (name, cat, id) = ("operation", "operation", self.arrows_drawn);
        let tid = self.host.of_slot(operation.slot, &mut self.out)?;
        let ts = self.time(operation.issued_ns);
        self.out.event(&Event::<Args>::ArrowBegin { name, cat, id, pid: HOST, tid, ts })?;
        let (tid, ts) = (track(operation.ended.die), self.time(operation.ended.started_ns));
        let (pid, bp, args) = (DIES, "e", about(operation));
        self.out.event(&Event::ArrowEnd { name, cat, id, pid, tid, ts, bp, args })
    }

    fn time(&self, at_ns: u64) -> Micros {
        Micros(at_ns - self.origin_ns)
    }
}

fn kind(op: trace::Op) -> &'static str {
    match op {
        trace::Op::Read => "read",
        trace::Op::Write => "write",
        trace::Op::Trim => "trim",
        trace::Op::Flush => "flush",
    }
}

/// The name of an operation: its kind, and its cause unless it serves the host.
fn of_cause(op: Op, cause: Cause) -> String {
    match cause {
        Cause::Host => op.name().to_owned(),
        cause => format!("{} {}", op.name(), cause.name()),
    }
}

fn about(record: &OperationRecord) -> Args {
    let ended = &record.ended;
    Args::Operation {
        request: record.number,
        op: ended.op.name(),
        cause: ended.cause.name(),
        place: ended.place,
        counts: ended.counts,
    }
}
