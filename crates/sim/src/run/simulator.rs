//! A device at work: it serves one request after the other and returns the time that each took.

use drive::recorded::{OperationSink, Recorded};
use film::Moment;
use ftl::{Device, FacetKind, Ftl, Report, Run, Span};
use nand::{Data, Mode, Nand, Op, Sink, Stamp};
use trace::{Flags, Request};

use crate::clock::serial::{Lap, SerialClock};
use crate::config::choices::FlushMode;
use crate::config::experiment::Experiment;
use crate::device;
use crate::error::{Error, Result};
use crate::mismatch::Mismatch;
use crate::result::counts::HostPages;
use crate::run::contents::Contents;
use crate::shadow::Shadow;

/// Pages that are written together if the chip keeps bytes.
const PART_PAGES: u32 = 1024;

/// Pages that a fill writes between two reports of progress, rounded up to whole blocks.
const FILL_PAGES: u32 = 1 << 20;

/// Offers after which an FTL that has joined no writes gets no more. page and dac take the first.
const OFFERS: u32 = 64;

/// The number of every write whose data nobody compares.
const ANY: u32 = 1;

/// Number of requests after which debug builds audit the FTL for the first time.
const FIRST_AUDIT: u64 = 1024;

/// The time that a request took.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Served {
    /// The service time.
    pub service_ns: u64,
    /// The part of it that is not under cause host: the increment of LSB, Fig. 14.
    pub increment_ns: u64,
    /// The part of it in the DRAM of layers.
    pub memory_ns: u64,
}

/// A chip with an FTL on it and, if the run is verified, a shadow copy of its contents.
pub struct Simulator<'a> {
    device: &'a Device,
    nand: Nand,
    ftl: Box<dyn Ftl>,
    clock: SerialClock,
    dram_access_ns: u64,
    honours_flushes: bool,
    shadow: Option<Shadow>,
    /// How often further writes are still offered to an FTL that has joined none of them.
    offers: u32,
    /// Whether a layer adapts after requests.
    has_tuner: bool,
    /// The time of a program under cause host.
    page_program_ns: u64,
    /// The stamps that a verified read found; reused, so that reads do not allocate.
    found: Vec<Stamp>,
    /// Whether requests may fail because a page cannot be read.
    lives_on: bool,
    /// What the host writes, if the chip keeps bytes.
    contents: Contents,
    /// Pages that the host requested.
    host_pages: HostPages,
    failed_requests: u64,
    /// Erases before the last reset of the counters.
    erases_before: u64,
    /// Requests served since the device was new.
    served: u64,
    /// The time in the DRAM of layers since the last reset, up to the end of the last request.
    dram_ns: u64,
}

impl<'a> Simulator<'a> {
    /// A device with a factory-fresh chip.
    ///
    /// # Errors
    /// The scheme cannot be mounted.
    pub fn new(device: &'a Device, experiment: &Experiment) -> Result<Simulator<'a>> {
        let mode = device::chip_mode(device, experiment);
        Simulator::on_chip(device, experiment, device.new_chip(mode))
    }

    /// A device with this chip, on which its FTL is mounted.
    ///
    /// # Errors
    /// The scheme cannot be mounted.
    pub fn on_chip(
        device: &'a Device,
        experiment: &Experiment,
        mut nand: Nand,
    ) -> Result<Simulator<'a>> {
        let erases_before = nand.array().wear().iter().map(|&erases| u64::from(erases)).sum();
        let mut ftl = device.mount(&mut nand)?;
        let mut clock = SerialClock::new(device.chip.timing);
        // The time of the mount is no request's.
        clock.lap(nand.tally());
        let sectors_per_page = device.geometry().sectors_per_page();
        let shadow = || Shadow::new(device.logical_pages(), sectors_per_page);
        Ok(Simulator {
            device,
            offers: if !experiment.verify && nand.array().mode() == Mode::Count {
                OFFERS
            } else {
                0
            },
            has_tuner: ftl.facet(FacetKind::Tuner).is_some(),
            page_program_ns: device.chip.timing.program_ns,
            nand,
            ftl,
            clock,
            dram_access_ns: experiment.dram_access_ns,
            honours_flushes: experiment.flush == FlushMode::Honour,
            shadow: experiment.verify.then(shadow),
            lives_on: device.media().is_some_and(|(model, _)| model.reads_fail()),
            found: Vec::new(),
            contents: Contents::default(),
            host_pages: HostPages::default(),
            failed_requests: 0,
            erases_before,
            served: 0,
            dram_ns: 0,
        })
    }

    /// Writes every logical page once, in order, by one request. `progress` gets the number of
    /// pages written so far.
    ///
    /// # Errors
    /// The FTL gave up, or `progress` stops the run.
    pub fn fill(&mut self, mut progress: impl FnMut(u64) -> Result<()>) -> Result<()> {
        let all = self.everything();
        for first in (0..all.pages).step_by(self.fill_pages()) {
            let pages = (all.pages - first).min(self.fill_pages() as u32);
            let part = Span { first, pages, ..all };
            self.write(&part, self.device.capacity_bytes(), &[])?;
            progress((first + part.pages).into())?;
        }
        self.ftl.end_request(&mut self.nand)?;
        self.lap();
        Ok(())
    }

    /// Announces the pages of requests that will soon be served, and whether some of them read.
    #[inline]
    pub fn prefetch(&self, spans: &[Span], some_read: bool) {
        self.ftl.base().prefetch(spans, some_read.then_some(&self.nand));
    }

    /// Serves a request. If it is a write, some of the writes that are `next` may be served with
    /// it, each of which is a request of a single span. Returns the time that the request took, and
    /// the number of the others; each of these took [the program of a
    /// page](Self::program_of_a_page).
    ///
    /// # Errors
    /// The FTL gave up, or returned wrong data.
    #[inline(always)]
    pub fn serve(
        &mut self,
        request: &Request,
        spans: &[Span],
        next: &[Span],
    ) -> Result<(Served, usize)> {
        debug_assert!(
            self.clock.is_current(self.nand.tally()),
            "the clock went on between two requests"
        );
        let (mut joined, is_plain) = (0, request.flags.is_empty());
        match request.op {
            trace::Op::Write if is_plain => joined = self.write_all(request, spans, next)?,
            trace::Op::Read if is_plain => self.read_all(request, spans)?,
            _ => self.serve_durably(request, spans)?,
        }
        if self.has_tuner {
            self.ftl.end_request(&mut self.nand)?;
        }
        let before = self.served;
        self.served += 1 + joined as u64;
        self.audit_sample(before)?;
        let mut took = self.lap();
        if !next.is_empty() {
            self.host_pages.written += joined as u64;
            self.offers = if joined > 0 { OFFERS } else { self.offers - 1 };
            took.service_ns -= joined as u64 * self.page_program_ns;
        }
        Ok((took, joined))
    }

    /// Whether writes may be served together: nobody looks at their contents, and the FTL has
    /// joined some of those that were offered to it.
    #[inline]
    pub fn joins_writes(&self) -> bool {
        self.offers > 0
    }

    /// The time that a write takes which costs only the program of its page.
    #[inline]
    pub fn program_of_a_page(&self) -> Served {
        Served { service_ns: self.page_program_ns, ..Served::default() }
    }

    /// Serves a request, and flushes before and after it as its flags demand.
    #[inline(never)]
    fn serve_durably(&mut self, request: &Request, spans: &[Span]) -> Result<()> {
        if request.flags.contains(Flags::PREFLUSH) && request.op != trace::Op::Flush {
            self.flush()?;
        }
        match request.op {
            trace::Op::Read => self.read_all(request, spans)?,
            trace::Op::Write => drop(self.write_all(request, spans, &[])?),
            trace::Op::Trim => spans.iter().try_for_each(|span| self.trim(span))?,
            trace::Op::Flush => self.flush()?,
        }
        if request.op == trace::Op::Write && request.flags.contains(Flags::FUA) {
            spans.iter().try_for_each(|span| self.flush_span(span, request.bytes))?;
        }
        Ok(())
    }

    #[inline(always)]
    fn read_all(&mut self, request: &Request, spans: &[Span]) -> Result<()> {
        for span in spans {
            self.read(span, request.bytes)?;
        }
        Ok(())
    }

    /// Writes the spans of a request, and then some of those that follow. Returns their number.
    #[inline(always)]
    fn write_all(&mut self, request: &Request, spans: &[Span], next: &[Span]) -> Result<usize> {
        let Some((last, others)) = spans.split_last() else { return Ok(0) };
        for span in others {
            self.write(span, request.bytes, &[])?;
        }
        self.write(last, request.bytes, next)
    }

    /// The time since the last lap.
    #[inline(always)]
    fn lap(&mut self) -> Served {
        let Lap { time_ns, increment_ns } = self.clock.lap(self.nand.tally());
        if self.dram_access_ns == 0 {
            return Served { service_ns: time_ns, increment_ns, memory_ns: 0 };
        }
        let totals = self.ftl.layer_totals().unwrap_or_default();
        let dram_ns = totals.dram_accesses * self.dram_access_ns;
        let memory_ns = dram_ns - core::mem::replace(&mut self.dram_ns, dram_ns);
        Served {
            service_ns: time_ns + memory_ns,
            increment_ns: increment_ns + memory_ns,
            memory_ns,
        }
    }

    /// In debug builds, audits the FTL after 1024 requests, and again whenever their number has
    /// doubled: in every run, and so seldom that the cost is bounded. `before` requests had been
    /// served when this was called last.
    #[inline]
    fn audit_sample(&self, before: u64) -> Result<()> {
        let has_doubled = self.served.checked_ilog2() > before.checked_ilog2();
        let is_due = self.served >= FIRST_AUDIT && has_doubled;
        match cfg!(debug_assertions) && is_due {
            true => self.audit_now("while serving requests"),
            false => Ok(()),
        }
    }

    /// Sets all counters to zero; flash, FTL and shadow stay as they are.
    pub fn reset_counters(&mut self) {
        self.erases_before += self.nand.tally().total(Op::Erase);
        self.nand.reset_tally();
        self.ftl.reset_report();
        self.host_pages = HostPages::default();
        self.failed_requests = 0;
        self.clock.reset();
        self.dram_ns = 0;
    }

    /// Starts to record every flash operation, for a drive, for a log, or for both, unless
    /// operations are recorded already.
    pub fn record_operations(&mut self, for_drive: bool, for_log: bool) {
        if self.nand.sink_mut::<OperationSink>().is_none() {
            self.nand.attach(Some(Box::new(OperationSink::new(for_drive, for_log))));
        }
    }

    /// No longer records flash operations.
    pub fn stop_recording(&mut self) {
        self.nand.attach(None);
    }

    /// Moves the operations recorded since the last call to `out`.
    pub fn drain_operations(&mut self, out: &mut Recorded) {
        if let Some(sink) = self.nand.sink_mut::<OperationSink>() {
            sink.drain_to(out);
        }
    }

    /// Audits the FTL, if the run is verified.
    ///
    /// # Errors
    /// An invariant is broken.
    pub fn audit(&self, when: &'static str) -> Result<()> {
        if self.shadow.is_none() {
            return Ok(());
        }
        self.audit_now(when)
    }

    fn audit_now(&self, when: &'static str) -> Result<()> {
        let audit = self.ftl.audit(&self.nand);
        audit.map_err(|violation| self.violation(Mismatch::Audit { violation, when }))
    }

    /// Reads every page and compares it with the shadow copy, if there is one. The reads are
    /// counted, so this comes after the result is taken. `progress` is called for each block.
    ///
    /// # Errors
    /// The first difference, or an error of `progress`.
    pub fn read_back(&mut self, mut progress: impl FnMut(u64) -> Result<()>) -> Result<()> {
        if self.shadow.is_none() {
            return Ok(());
        }
        let (all, step) = (self.everything(), self.nand.geometry().pages_per_block());
        for first in (0..all.pages).step_by(step as usize) {
            progress(first.into())?;
            self.read(&Span { first, pages: step, ..all }, 0)?;
        }
        self.lap();
        Ok(())
    }

    /// The chip, when the device is no longer needed.
    pub fn into_chip(self) -> Nand {
        self.nand
    }

    // ---- State and counters --------------------------------------------------------------------

    /// The chip.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// The FTL.
    pub fn ftl(&self) -> &dyn Ftl {
        &*self.ftl
    }

    /// Pages that entered the scheme since the last reset, by the report of the FTL.
    pub fn entered(&self, report: &Report) -> HostPages {
        report.entered().map_or(self.host_pages, HostPages::from)
    }

    /// Pages written into the scheme since the last reset: cheap enough to be asked for after each
    /// request.
    pub fn written(&mut self) -> u64 {
        let entered = self.ftl.layer_totals().map(|totals| totals.entered.written);
        entered.unwrap_or(self.host_pages.written)
    }

    /// The free blocks now, as cheap.
    pub fn free_blocks(&mut self) -> u32 {
        self.ftl.block_lender().map_or(0, |lender| lender.free_blocks())
    }

    /// The device between two requests, for a film.
    pub fn moment(&mut self) -> Moment<'_> {
        let (entered, has_places) = (self.written(), self.device.choice.guest.is_none());
        Moment { nand: &self.nand, ftl: Some(&*self.ftl), entered, has_places }
    }

    /// Pages that the host requested since the last reset.
    pub fn asked(&self) -> HostPages {
        self.host_pages
    }

    /// Requests since the last reset that failed because a page cannot be read.
    pub fn failed_requests(&self) -> u64 {
        self.failed_requests
    }

    /// Time of all accesses to the DRAM of layers since the last reset.
    pub fn dram_ns(&self) -> u64 {
        self.dram_ns
    }

    /// Serial time of everything since the last reset.
    #[inline]
    pub fn time_ns(&self) -> u64 {
        self.clock.now_ns(self.nand.tally()) + self.dram_ns()
    }

    /// Erases since the device was new, by the counters.
    pub fn erases_since_birth(&self) -> u64 {
        self.erases_before + self.nand.tally().total(Op::Erase)
    }

    /// The pages that a fill writes between two reports of progress: whole blocks.
    fn fill_pages(&self) -> usize {
        FILL_PAGES.next_multiple_of(self.nand.geometry().pages_per_block()) as usize
    }

    fn everything(&self) -> Span {
        let full = self.nand.geometry().full_mask();
        Span { first: 0, pages: self.device.logical_pages(), head: full, tail: full, stream: 0 }
    }

    fn violation(&self, mismatch: Mismatch) -> Error {
        Error::Violation { ftl: self.device.choice.scheme.name, mismatch }
    }

    // ---- One span ------------------------------------------------------------------------------

    #[inline(always)]
    fn read(&mut self, span: &Span, request_bytes: u64) -> Result<()> {
        self.host_pages.read += u64::from(span.pages);
        if self.shadow.is_some() {
            return self.read_verified(span, request_bytes);
        }
        let run = span.run(request_bytes, Data::None);
        let done = self.ftl.read(&mut self.nand, &run, &mut Sink::None);
        done.or_else(|error| self.unless_unreadable(error))
    }

    /// Reads a span and compares it with the shadow copy.
    #[inline(never)]
    fn read_verified(&mut self, span: &Span, request_bytes: u64) -> Result<()> {
        let run = span.run(request_bytes, Data::None);
        let sectors = span.pages as usize * self.nand.geometry().sectors_per_page() as usize;
        self.found.clear();
        self.found.resize(sectors, Stamp::default());
        let mut sink = Sink::Stamps { first: run.first, out: &mut self.found };
        self.ftl.read(&mut self.nand, &run, &mut sink)?;
        let shadow = self.shadow.as_ref().expect("only verified runs compare");
        let compared = shadow.compare(span, &self.found, self.served);
        compared.map_err(|mismatch| self.violation(mismatch))
    }

    /// Writes a span, and some of the writes that follow. Returns their number; their pages are not
    /// counted.
    #[inline(always)]
    fn write(&mut self, span: &Span, request_bytes: u64, next: &[Span]) -> Result<usize> {
        self.host_pages.written += u64::from(span.pages);
        let data = match &mut self.shadow {
            Some(shadow) => Data::Stamp(shadow.write(span)?),
            None if !self.nand.array().keeps_pages() => Data::None,
            None if self.nand.array().mode() == Mode::Bytes => {
                return self.write_bytes(span, request_bytes);
            }
            None => Data::Stamp(ANY),
        };
        let written = self.ftl.write(&mut self.nand, &span.run(request_bytes, data), next);
        written.or_else(|error| self.unless_unreadable(error).map(|()| 0))
    }

    /// Takes a request that failed because a page cannot be read for done, on media with such
    /// pages. They count their requests.
    #[cold]
    fn unless_unreadable(&mut self, error: ftl::Error) -> Result<()> {
        match error {
            ftl::Error::Lost(_) | ftl::Error::Chip(nand::Error::Unreadable(_)) if self.lives_on => {
                self.failed_requests += 1;
                Ok(())
            }
            error => Err(error.into()),
        }
    }

    /// Writes a span with its contents, part by part.
    #[cold]
    fn write_bytes(&mut self, span: &Span, request_bytes: u64) -> Result<usize> {
        let geometry = *self.nand.geometry();
        let run = span.run(request_bytes, Data::None);
        self.contents.next_write();
        for start in (0..span.pages).step_by(PART_PAGES as usize) {
            let pages = start..(start + PART_PAGES).min(span.pages);
            let part = run.part(pages, geometry.full_mask(), geometry.page_bytes());
            let data = Data::Bytes(self.contents.pages(&part, &geometry));
            self.ftl.write_run(&mut self.nand, &Run { data, ..part })?;
        }
        Ok(0)
    }

    fn trim(&mut self, span: &Span) -> Result<()> {
        self.host_pages.trimmed += u64::from(span.pages);
        let guest = self.device.choice.guest.as_ref();
        if guest.is_some_and(|guest| !guest.declaration().trims) {
            // Such a device would not let the host trim.
            return Ok(());
        }
        if let Some(shadow) = &mut self.shadow {
            shadow.trim(span);
        }
        Ok(self.ftl.trim(&mut self.nand, nand::Lpn(span.first), span.pages)?)
    }

    fn flush(&mut self) -> Result<()> {
        match self.honours_flushes {
            true => self.make_durable(),
            false => Ok(()),
        }
    }

    /// Makes everything durable that was answered, in the storage of the chip too.
    ///
    /// # Errors
    /// The FTL gave up, or the storage failed.
    pub fn make_durable(&mut self) -> Result<()> {
        let flushed = self.ftl.flush(&mut self.nand, None);
        flushed.or_else(|error| self.unless_unreadable(error))?;
        Ok(self.nand.sync()?)
    }

    /// Makes the pages of a span durable.
    fn flush_span(&mut self, span: &Span, request_bytes: u64) -> Result<()> {
        let run = span.run(request_bytes, Data::None);
        match self.honours_flushes {
            true => {
                let flushed = self.ftl.flush(&mut self.nand, Some(&run));
                flushed.or_else(|error| self.unless_unreadable(error))?;
                Ok(self.nand.sync()?)
            }
            false => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::setup::Setup;
    use ftl::{Base, Extent, Violation};
    use nand::{Lpn, Ppn};
    use std::sync::{Arc, Mutex};

    /// The ways in which a dishonest FTL misbehaves.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Lie {
        ForgetsTrims,
        ForgetsWrites,
        WritesOneFurther,
        FailsItsAudit,
        None,
    }

    /// Wraps an honest FTL and misbehaves.
    struct Liar {
        honest: Box<dyn Ftl>,
        lie: Lie,
        /// The streams of all writes.
        streams: Arc<Mutex<Vec<u8>>>,
    }

    impl Base for Liar {
        fn read(&mut self, nand: &mut Nand, run: &Run, sink: &mut Sink) -> ftl::Result<()> {
            self.honest.read(nand, run, sink)
        }
        fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> ftl::Result<()> {
            match self.lie {
                Lie::ForgetsTrims => Ok(()),
                _ => self.honest.trim(nand, first, pages),
            }
        }
        fn flush(&mut self, nand: &mut Nand, only: Option<&Run>) -> ftl::Result<()> {
            self.honest.flush(nand, only)
        }
        fn prefetch(&self, _: &[Span], _: Option<&Nand>) {}
        fn place(&self, nand: &Nand, lpn: Lpn) -> Option<Ppn> {
            self.honest.place(nand, lpn)
        }
        fn extent(&self, lpns: std::ops::Range<u32>) -> Extent {
            self.honest.extent(lpns)
        }
    }

    impl Ftl for Liar {
        fn base(&self) -> &dyn Base {
            self
        }
        fn base_mut(&mut self) -> &mut dyn Base {
            self
        }
        fn write(&mut self, nand: &mut Nand, run: &Run, next: &[Span]) -> ftl::Result<usize> {
            self.streams.lock().unwrap().push(run.stream);
            match self.lie {
                Lie::ForgetsWrites => Ok(0),
                Lie::WritesOneFurther => {
                    self.honest.write(nand, &Run { first: run.first.plus(1), ..*run }, next)
                }
                _ => self.honest.write(nand, run, next),
            }
        }
        fn audit(&self, nand: &Nand) -> std::result::Result<(), Violation> {
            match self.lie {
                Lie::FailsItsAudit => Err(Violation("two and two are five".into())),
                _ => self.honest.audit(nand),
            }
        }
        fn report(&self) -> Report {
            self.honest.report()
        }
        fn reset_report(&mut self) {
            self.honest.reset_report();
        }
    }

    /// Writes page 3 twice and trims page 5 of a full device. Returns the first fault found, if
    /// any.
    fn fault(lie: Option<Lie>, verify: bool) -> Option<Error> {
        fault_after(lie, verify, 2)
    }

    /// Writes page 3 `writes` times, then trims page 5 of a full device. Returns the first fault
    /// found, if any.
    fn fault_after(lie: Option<Lie>, verify: bool, writes: u64) -> Option<Error> {
        let experiment =
            Experiment { capacity_bytes: Some(1 << 20), verify, ..Experiment::default() };
        let device = device::of(&Setup::new(&experiment).unwrap(), 0).unwrap();
        let mut simulator = Simulator::new(&device, &experiment).unwrap();
        simulator.fill(|_| Ok(())).unwrap();
        if let Some(lie) = lie {
            let idle = device.mount(&mut device.new_chip(Mode::Count)).unwrap();
            let honest = std::mem::replace(&mut simulator.ftl, idle);
            simulator.ftl = Box::new(Liar { honest, lie, streams: Arc::default() });
        }
        let request = |op| {
            let bytes = 2048;
            Request {
                time_ns: 0,
                offset: 0,
                bytes,
                device: 0,
                op,
                flags: Flags::empty(),
                stream: 0,
            }
        };
        let full = simulator.nand.geometry().full_mask();
        let page = |first| Span { first, pages: 1, head: full, tail: full, stream: 0 };
        let mut look = || {
            for _ in 0..writes {
                simulator.serve(&request(trace::Op::Write), &[page(3)], &[])?;
            }
            simulator.serve(&request(trace::Op::Trim), &[page(5)], &[])?;
            simulator.audit("at the end")?;
            simulator.read_back(|_| Ok(()))
        };
        look().err()
    }

    #[test]
    fn an_ftl_gets_the_streams_of_its_writes() {
        for (verify, mode) in [(false, Mode::Count), (true, Mode::Stamps), (false, Mode::Bytes)] {
            let experiment =
                Experiment { capacity_bytes: Some(1 << 20), verify, ..Experiment::default() };
            let device = device::of(&Setup::new(&experiment).unwrap(), 0).unwrap();
            let chip = device.new_chip(mode);
            let mut simulator = Simulator::on_chip(&device, &experiment, chip).unwrap();
            let idle = device.mount(&mut device.new_chip(mode)).unwrap();
            let honest = std::mem::replace(&mut simulator.ftl, idle);
            let streams = Arc::new(Mutex::new(Vec::new()));
            simulator.ftl = Box::new(Liar { honest, lie: Lie::None, streams: streams.clone() });
            simulator.fill(|_| Ok(())).unwrap();
            let (all, bytes) = (simulator.everything(), 2048);
            let (op, flags) = (trace::Op::Write, Flags::empty());
            let request = Request { time_ns: 0, offset: 0, bytes, device: 0, op, flags, stream: 9 };
            for stream in [63, 0, 1] {
                let span = Span { first: 5, pages: 1, stream, ..all };
                simulator.serve(&request, &[span], &[]).unwrap();
            }
            assert_eq!(*streams.lock().unwrap(), [0, 63, 0, 1], "{mode:?}");
        }
    }

    /// It takes the same time and leaves the same chip.
    #[test]
    fn writes_served_together_cost_what_they_cost_alone() {
        let experiment = Experiment { capacity_bytes: Some(1 << 20), ..Experiment::default() };
        let device = device::of(&Setup::new(&experiment).unwrap(), 0).unwrap();
        let [mut together, mut alone] = [(), ()].map(|()| {
            let mut simulator = Simulator::new(&device, &experiment).unwrap();
            simulator.fill(|_| Ok(())).unwrap();
            simulator
        });
        let request = Request {
            time_ns: 0,
            offset: 0,
            bytes: 2048,
            device: 0,
            op: trace::Op::Write,
            flags: Flags::empty(),
            stream: 0,
        };
        let all = alone.everything();
        let spans = (0..5000).map(|n| Span { first: n * n % 509, pages: 1, ..all });
        let spans: Vec<Span> = spans.collect();
        let (mut at, mut joined, mut together_ns, mut alone_ns) = (0, 0, 0, 0);
        while at < spans.len() {
            let (took, others) =
                together.serve(&request, &spans[at..=at], &spans[at + 1..]).unwrap();
            together_ns += took.service_ns;
            together_ns += together.program_of_a_page().service_ns * others as u64;
            (at, joined) = (at + 1 + others, joined + others);
        }
        for &span in &spans {
            alone_ns += alone.serve(&request, &[span], &[]).unwrap().0.service_ns;
        }
        assert!(joined > spans.len() / 2, "only {joined} writes were served together");
        assert_eq!((together_ns, together.host_pages), (alone_ns, alone.host_pages));
        assert_eq!(together.nand.tally(), alone.nand.tally());
        assert_eq!(together.nand.array().wear(), alone.nand.array().wear());
        for block in (0..together.nand.geometry().blocks()).map(nand::BlockId) {
            assert_eq!(together.nand.owners(block), alone.nand.owners(block));
        }
        together.audit_now("at the end").unwrap();
    }

    #[test]
    fn an_honest_scheme_passes() {
        assert!(fault(None, true).is_none());
    }

    #[test]
    fn every_lie_is_detected_if_the_run_is_verified() {
        for (lie, name) in [
            (Lie::ForgetsTrims, "page: resurrected Lpn(5), sector 0"),
            (Lie::ForgetsWrites, "page: lost Lpn(3), sector 0: expected write 3, found write 1"),
            (Lie::WritesOneFurther, "page: lost Lpn(3)"),
            (Lie::FailsItsAudit, "page: audit at the end: two and two are five"),
        ] {
            let error = fault(Some(lie), true).unwrap_or_else(|| panic!("{lie:?} is not detected"));
            assert_eq!(error.exit_code(), 3);
            assert!(error.to_string().starts_with(name), "{lie:?}: {error}");
            assert!(fault(Some(lie), false).is_none(), "{lie:?}");
        }
    }

    #[test]
    #[cfg(debug_assertions)]
    fn debug_builds_audit_every_run_now_and_then() {
        assert!(fault_after(Some(Lie::FailsItsAudit), false, FIRST_AUDIT - 2).is_none());
        let error = fault_after(Some(Lie::FailsItsAudit), false, FIRST_AUDIT).expect("a fault");
        assert!(error.to_string().starts_with("page: audit while serving requests"), "{error}");
        assert!(fault_after(None, false, 2 * FIRST_AUDIT).is_none());
    }
}
