//! The disk at work.

use std::collections::VecDeque;
use std::time::Instant;

use disk::Disk;
use nand::page_store::SyncJob;
use nand::{Cut, Outcome};

use crate::device::client::{Client, Ready};
use crate::device::gate::Gate;
use crate::device::grouped_sync::{GroupedSync, Need};
use crate::device::injuries::Failures;
use crate::device::long_work::LongWork;
use crate::device::pacing::{Pacing, Performed, Ticket};
use crate::device::recorder::Recorder;
use crate::device::store::Store;
use crate::device::streams::ConnectionStreams;
use crate::device::watch::Watch;
use crate::device::{block_status, bytes, failures, refusals};
use crate::export::{Context, Export};
use crate::wire::Errno;
use crate::wire::buffer::Buffer;
use crate::wire::command_flags::{FAST_ZERO, FUA, NO_HOLE, REQ_ONE};
use crate::wire::replies::{self, Failed};
use crate::wire::requests::{Command, Request};

/// A disk that serves requests.
pub struct Live {
    export: Export,
    /// The disk, and the recorder of what is done to it.
    pub store: Store,
    /// Requests that fail on demand.
    pub failures: Failures,
    /// The way of all answers.
    pub gate: Gate,
    long: VecDeque<LongWork<Waiter>>,
    syncs: GroupedSync<Waiter>,
    /// A sync of the file that nobody has begun yet.
    job: Option<SyncJob>,
    ready: Vec<Ready>,
    /// What the next flush does to the power.
    cut_at_flush: Option<Option<Outcome>>,
    counts: Counts,
    /// The streams of connections, if each has its own.
    streams: Option<ConnectionStreams>,
}

/// A client that waits for an answer.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    client: Client,
    ticket: Option<Ticket>,
    op: trace::Op,
    came: Instant,
}

/// Requests to a disk since serving began.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Requests, by kind.
    pub reads: u64,
    /// Writes.
    pub writes: u64,
    /// Writes of zeroes.
    pub zeroes: u64,
    /// Trims.
    pub trims: u64,
    /// Flushes that were asked for.
    pub flushes: u64,
    /// Flushes of the FTL that were done. One serves several requests.
    pub flushes_done: u64,
    /// Bytes of the reads that succeeded.
    pub read_bytes: u64,
    /// Bytes of the writes that succeeded.
    pub written_bytes: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Power cuts.
    pub cuts: u64,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Its answer is in the output, or comes later.
    Goes,
    /// The power failed. There is no answer.
    PowerLost,
}

impl Live {
    /// A disk behind an export.
    pub fn new(disk: Disk, export: Export, pace: Option<Pacing>, recorder: Recorder) -> Live {
        let mut live = Live {
            export,
            store: Store { disk, recorder, watch: Watch::default() },
            failures: Failures::default(),
            long: VecDeque::new(),
            syncs: GroupedSync::default(),
            job: None,
            gate: Gate::new(pace),
            ready: Vec::new(),
            cut_at_flush: None,
            counts: Counts::default(),
            streams: None,
        };
        live.gate.forget_operations(live.store.disk.nand_mut());
        live
    }

    /// From now on the writes of each connection have a stream of their own.
    pub fn give_streams(&mut self) {
        self.streams = Some(ConnectionStreams::default());
    }

    /// What clients are told about it.
    pub fn export(&self) -> &Export {
        &self.export
    }

    /// Requests since serving began.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// How the guest died that was the FTL, if one did since the last call.
    pub fn take_death(&mut self) -> Option<String> {
        self.store.disk.take_death()
    }

    // ---- Requests --------------------------------------------------------------------------

    /// Performs a request. The reply goes to `out`, or comes [later](Self::take_ready).
    pub fn perform(
        &mut self,
        client: Client,
        contexts: &[Context],
        request: &Request,
        payload: &[u8],
        out: &mut Buffer,
    ) -> Progress {
        if self.gate.is_open() {
            self.answer_at_once(client, contexts, request, payload, out);
        } else {
            let came = Instant::now();
            let mut reply = Buffer::default();
            self.answer_at_once(client, contexts, request, payload, &mut reply);
            if !reply.bytes().is_empty() {
                let ticket = self.issue(request, came);
                let promised = request.promised_bytes();
                let ready = Ready { session: client.session, reply, promised };
                self.gate.hold(ticket, ready, Instant::now());
            }
        }
        if self.store.disk.is_off() { Progress::PowerLost } else { Progress::Goes }
    }

    /// Performs a request. If the answer must wait, nothing is appended to `out`.
    fn answer_at_once(
        &mut self,
        client: Client,
        contexts: &[Context],
        request: &Request,
        payload: &[u8],
        out: &mut Buffer,
    ) {
        let (style, cookie) = (client.style, client.cookie);
        let allowed = refusals::check(request, &self.export, style)
            .and_then(|()| self.failures.check(request));
        let done = allowed.and_then(|()| match request.command {
            Command::Read => {
                self.read(client, request, out);
                Ok(Answer::Given)
            }
            Command::Write => self.write(client, request, payload),
            Command::Flush => {
                self.counts.flushes += 1;
                self.wait(Waiter::new(client, trace::Op::Flush), Need::Flush);
                Ok(Answer::Waits)
            }
            Command::Trim | Command::WriteZeroes => self.begin_long(client, request),
            Command::BlockStatus => self.block_status(contexts, request, out),
            Command::Cache | Command::Disconnect | Command::Unknown(_) => Ok(Answer::Done),
        });
        match done {
            Ok(Answer::Done) => replies::done(out, style, cookie),
            Ok(Answer::Given | Answer::Waits) => {}
            Err(failed) => {
                self.counts.failed += 1;
                replies::failed(out, style, cookie, &failed);
            }
        }
    }

    fn read(&mut self, client: Client, request: &Request, out: &mut Buffer) {
        self.counts.reads += 1;
        let (store, counts) = (&mut self.store, &mut self.counts);
        let what = (request.cookie, request.offset, request.bytes);
        replies::data(out, client.style, what, |data| match store.read(request.offset, data) {
            Ok(()) => {
                counts.read_bytes += u64::from(request.bytes);
                Ok(())
            }
            Err(error) => {
                counts.failed += 1;
                let failed = failures::of_disk(&error);
                Err(Failed { offset: first_unreadable(store, request), ..failed })
            }
        });
    }

    fn write(
        &mut self,
        client: Client,
        request: &Request,
        payload: &[u8],
    ) -> Result<Answer, Failed> {
        self.counts.writes += 1;
        let (force, came) = (request.has(FUA), Instant::now());
        let stream = self.streams.as_mut().map_or(0, |streams| streams.of(client.session));
        self.store.disk.set_stream(stream);
        let done = self.store.write(request.offset, payload, force);
        self.store.disk.set_stream(0);
        done.map_err(|error| failures::of_disk(&error))?;
        self.counts.written_bytes += payload.len() as u64;
        if !force {
            return Ok(Answer::Done);
        }
        let ticket = self.issue(request, came);
        self.wait(Waiter { client, ticket, op: trace::Op::Write, came }, Need::Sync);
        Ok(Answer::Waits)
    }

    fn block_status(
        &mut self,
        contexts: &[Context],
        request: &Request,
        out: &mut Buffer,
    ) -> Result<Answer, Failed> {
        if contexts.is_empty() {
            return Err(Failed::new(Errno::Invalid, "no context was agreed on"));
        }
        let (offset, bytes) = (request.offset, u64::from(request.bytes));
        let wants_one = request.has(REQ_ONE);
        let states = contexts.iter().map(|context| {
            let states =
                block_status::of_range(&self.store.disk, *context, offset, bytes, wants_one);
            Ok((context.id(), states.map_err(|error| failures::of_disk(&error))?))
        });
        let states: Vec<_> = states.collect::<Result<_, Failed>>()?;
        replies::block_status(out, request.cookie, &states);
        Ok(Answer::Given)
    }

    // ---- Long work -------------------------------------------------------------------------

    fn begin_long(&mut self, client: Client, request: &Request) -> Result<Answer, Failed> {
        let op = if request.command == Command::Trim { trace::Op::Trim } else { trace::Op::Write };
        let waiter = Waiter::new(client, op);
        let range = request.offset..request.offset + u64::from(request.bytes);
        let page_bytes = u64::from(self.store.disk.device().geometry().page_bytes());
        let force = request.has(FUA);
        let work = match request.command {
            Command::Trim => LongWork::trim(waiter, force, range, page_bytes),
            _ if request.has(NO_HOLE) => LongWork::allocate(waiter, force, range),
            _ => LongWork::zero(waiter, force, range, page_bytes),
        };
        match request.command {
            Command::Trim => self.counts.trims += 1,
            _ => self.counts.zeroes += 1,
        }
        if request.has(FAST_ZERO) && work.writes() {
            return Err(Failed::new(Errno::NotSupported, "zeroes would have to be written"));
        }
        self.long.push_back(work);
        if self.long.len() == 1 {
            self.work();
        }
        Ok(Answer::Waits)
    }

    /// Whether long work is left.
    pub fn has_work(&self) -> bool {
        !self.long.is_empty() && !self.gate.is_frozen()
    }

    /// Does a part of the long work.
    pub fn work(&mut self) {
        let Some(mut work) = self.long.pop_front() else { return };
        match work.step(&mut self.store) {
            Ok(()) if !work.is_done() => self.long.push_front(work),
            Ok(()) if work.force => self.wait(work.waiter, Need::Flush),
            Ok(()) => self.answer(work.waiter, Ok(())),
            Err(error) => self.answer(work.waiter, Err(failures::of_disk(&error))),
        }
    }

    // ---- Durability ------------------------------------------------------------------------

    fn wait(&mut self, waiter: Waiter, need: Need) {
        self.syncs.add(waiter, need);
        self.begin_syncs();
    }

    /// Begins the sync of the next group, if there is one and no sync runs.
    fn begin_syncs(&mut self) {
        while let Some(need) = self.syncs.next_need() {
            let begun = match need {
                Need::Flush => self.flush_ftl(),
                Need::Sync => self.store.begin_sync(),
            };
            self.issue_flushes();
            match begun {
                Ok(Some(job)) => {
                    self.syncs.begin();
                    self.job = Some(job);
                }
                Ok(None) => self.answer_all_waiting(&Ok(())),
                Err(error) => self.answer_all_waiting(&Err(failures::of_disk(&error))),
            }
        }
    }

    fn flush_ftl(&mut self) -> disk::Result<Option<SyncJob>> {
        self.counts.flushes_done += 1;
        if let Some(outcome) = self.cut_at_flush.take() {
            if let Some(outcome) = outcome {
                self.store.disk.cut_after(Cut { after: 0, outcome });
                if let Some(job) = self.store.disk.begin_flush()? {
                    // The flush needed no operation of the flash.
                    self.store.disk.end_sync(job())?;
                }
            }
            self.store.disk.cut_now();
        }
        self.store.begin_flush()
    }

    /// Tells the drive of the flushes of a group. The first one has done the work of all.
    fn issue_flushes(&mut self) {
        let (gate, disk) = (&mut self.gate, &mut self.store.disk);
        for waiter in self.syncs.waiting_mut().filter(|waiter| waiter.ticket.is_none()) {
            let Waiter { op, came, .. } = *waiter;
            let flush = Performed { op, bytes: 0, force: true, came };
            waiter.ticket = gate.issue(disk.nand_mut(), flush);
        }
    }

    fn answer_all_waiting(&mut self, result: &Result<(), Failed>) {
        for waiter in self.syncs.take_waiting() {
            self.answer(waiter, result.clone());
        }
    }

    /// The sync of the file that is to be run now, in any thread. Its end must be
    /// [told](Self::synced).
    pub fn take_job(&mut self) -> Option<SyncJob> {
        self.job.take()
    }

    /// Whether a sync of the file runs.
    pub fn is_syncing(&self) -> bool {
        self.syncs.is_running()
    }

    /// The sync of the file has ended.
    pub fn synced(&mut self, done: nand::Result<()>) {
        let done = self.store.end_sync(done).map_err(|error| failures::of_disk(&error));
        for waiter in self.syncs.end() {
            self.answer(waiter, done.clone());
        }
        self.begin_syncs();
    }

    // ---- Answers ---------------------------------------------------------------------------

    /// Answers somebody who waited.
    fn answer(&mut self, waiter: Waiter, result: Result<(), Failed>) {
        if self.store.disk.is_off() {
            return;
        }
        let Client { session, style, cookie } = waiter.client;
        let mut reply = Buffer::default();
        match result {
            Ok(()) => replies::done(&mut reply, style, cookie),
            Err(failed) => {
                self.counts.failed += 1;
                replies::failed(&mut reply, style, cookie, &failed);
            }
        }
        let ready = Ready { session, reply, promised: 0 };
        if self.gate.is_open() {
            return self.ready.push(ready);
        }
        let Waiter { ticket, op, came, .. } = waiter;
        let nand = self.store.disk.nand_mut();
        let performed = Performed { op, bytes: 0, force: false, came };
        let ticket = ticket.or_else(|| self.gate.issue(nand, performed));
        self.gate.hold(ticket, ready, Instant::now());
    }

    /// Tells the drive of a request that was performed.
    fn issue(&mut self, request: &Request, came: Instant) -> Option<Ticket> {
        let op = match request.command {
            Command::Write => trace::Op::Write,
            _ => trace::Op::Read,
        };
        let (bytes, force) = (request.bytes.into(), request.has(FUA));
        self.gate.issue(self.store.disk.nand_mut(), Performed { op, bytes, force, came })
    }

    /// The answers that can leave now.
    pub fn take_ready(&mut self, now: Instant) -> Vec<Ready> {
        self.gate.open(now, &mut self.ready);
        std::mem::take(&mut self.ready)
    }

    /// When answers can leave that cannot leave now.
    pub fn next_ready(&self) -> Option<Instant> {
        self.gate.next()
    }

    // ---- Power and injuries ----------------------------------------------------------------

    /// Cuts the power when the FTL is flushed next: in its first operation, with this outcome, or
    /// else before.
    pub fn cut_at_flush(&mut self, outcome: Option<Outcome>) {
        self.cut_at_flush = Some(outcome);
    }

    /// Takes back a cut that has not come.
    pub fn take_cut_back(&mut self) {
        self.cut_at_flush = None;
        self.store.disk.cut_after(Cut { after: u64::MAX, outcome: Outcome::Untouched });
    }

    /// Forgets everything that was under way: nobody is answered any more. No sync of the file must
    /// run.
    pub fn lose_power(&mut self) {
        self.counts.cuts += 1;
        self.store.recorder.power_failed();
        self.store.watch.power_failed(&mut self.store.disk);
        self.export.is_on = false;
        self.cut_at_flush = None;
        self.long.clear();
        self.syncs.forget();
        self.gate.forget();
        self.ready.clear();
    }

    /// Turns the power on: the FTL is mounted again.
    ///
    /// # Errors
    /// The FTL cannot be mounted.
    pub fn power_on(&mut self) -> disk::Result<()> {
        let done = self.store.disk.power_on();
        self.gate.forget_operations(self.store.disk.nand_mut());
        self.export.is_on = true;
        done
    }

    /// Whether no request is to be performed now.
    pub fn is_held(&self) -> bool {
        self.gate.is_frozen() || self.gate.is_full()
    }

    /// Whether nobody waits for an answer.
    pub fn is_idle(&self) -> bool {
        self.long.is_empty() && !self.is_syncing() && self.gate.is_empty() && self.ready.is_empty()
    }

    /// Ends the service. The disk is flushed and, on an image, left in order. Without power it is
    /// left as the power left it. If it can only be read, nothing is changed.
    ///
    /// # Errors
    /// The storage failed, or the disk could only be read; or record or log are not complete.
    pub fn close(self) -> Result<(), String> {
        let Store { disk, recorder, .. } = self.store;
        let written = recorder.close(&disk.tally(), self.counts.cuts);
        let closed = if self.export.is_read_only { Ok(()) } else { disk.close() };
        closed.map_err(|error| error.to_string())?;
        written
    }
}

/// What a request has come to.
enum Answer {
    /// It succeeded, and has no data.
    Done,
    /// Its reply is written.
    Given,
    /// Its reply comes later.
    Waits,
}

impl Waiter {
    fn new(client: Client, op: trace::Op) -> Waiter {
        Waiter { client, ticket: None, op, came: Instant::now() }
    }
}

/// The first byte of a range that cannot be read.
fn first_unreadable(store: &mut Store, request: &Request) -> Option<u64> {
    let page_bytes = u64::from(store.disk.device().geometry().page_bytes());
    let end = request.offset + u64::from(request.bytes);
    let mut page = vec![0; page_bytes as usize];
    let mut at = request.offset;
    while at < end {
        let next = (at / page_bytes + 1) * page_bytes;
        let sectors = bytes::outward(at, next.min(end) - at);
        let part = &mut page[..(sectors.end - sectors.start) as usize];
        if store.disk.read(sectors.start, part).is_err() {
            return Some(at);
        }
        at = next;
    }
    None
}
