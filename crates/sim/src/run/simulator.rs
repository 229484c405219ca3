//! A device at work: it serves one request after the other and returns the time that each took.

use ftl::{Device, Ftl, LayerReport, Run, Span};
use nand::{Data, Mode, Nand, Op, Sink, Stamp};
use trace::{Flags, Request};

use crate::clock::serial::{Lap, SerialClock};
use crate::config::choices::FlushMode;
use crate::config::experiment::Experiment;
use crate::error::{Error, Result};
use crate::mismatch::Mismatch;
use crate::result::counts::HostPages;
use crate::run::contents::Contents;
use crate::run::recorded::{OperationSink, Recorded};
use crate::run::shadow::Shadow;

/// Pages that are written together if the chip keeps bytes.
const PART_PAGES: u32 = 1024;

/// Pages that a fill writes between two reports of progress, rounded up to whole blocks.
const FILL_PAGES: u32 = 1 << 20;

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
    /// Whether the FTL may have a shorter way for writes of single pages.
    takes_singles: bool,
    /// The stamps that a verified read found; reused, so that reads do not allocate.
    found: Vec<Stamp>,
    /// What the host writes, if the chip keeps bytes.
    contents: Contents,
    /// Pages that the host requested.
    host_pages: HostPages,
    /// Erases before the last reset of the counters.
    erases_before: u64,
    /// Requests served since the device was new.
    served: u64,
    /// The time in the DRAM of layers up to the end of the last request.
    dram_ns_before: u64,
}

impl<'a> Simulator<'a> {
    /// A device with a factory-fresh chip.
    ///
    /// # Errors
    /// The scheme cannot be mounted.
    pub fn new(device: &'a Device, experiment: &Experiment) -> Result<Simulator<'a>> {
        let mode = if experiment.verify { Mode::Stamps } else { Mode::Count };
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
        let erases_before = nand.wear().iter().map(|&erases| u64::from(erases)).sum();
        let ftl = device.mount(&mut nand)?;
        let sectors_per_page = device.geometry().sectors_per_page();
        let shadow = || Shadow::new(device.logical_pages(), sectors_per_page);
        Ok(Simulator {
            device,
            takes_singles: !experiment.verify && nand.mode() == Mode::Count,
            nand,
            ftl,
            clock: SerialClock::new(device.chip.timing),
            dram_access_ns: experiment.dram_access_ns,
            honours_flushes: experiment.flush == FlushMode::Honour,
            shadow: experiment.verify.then(shadow),
            found: Vec::new(),
            contents: Contents::default(),
            host_pages: HostPages::default(),
            erases_before,
            served: 0,
            dram_ns_before: 0,
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
            self.write(&part, self.device.capacity_bytes())?;
            progress((first + part.pages).into())?;
        }
        self.ftl.end_request(&mut self.nand)?;
        self.lap();
        Ok(())
    }

    /// Announces the pages of requests that will soon be served.
    #[inline]
    pub fn prefetch(&self, spans: &[Span]) {
        self.ftl.prefetch_all(spans);
    }

    /// Announces, after [`prefetch`](Self::prefetch), that some of these requests are reads.
    #[inline]
    pub fn prefetch_places(&self, spans: &[Span]) {
        self.ftl.prefetch_places(&self.nand, spans);
    }

    /// Serves a request and returns the time that it took.
    ///
    /// # Errors
    /// The FTL gave up, or returned wrong data.
    #[inline(always)]
    pub fn serve(&mut self, request: &Request, spans: &[Span]) -> Result<Served> {
        debug_assert!(
            self.clock.is_current(self.nand.tally()),
            "the clock went on between two requests"
        );
        self.served += 1;
        match request.op {
            trace::Op::Read if request.flags == Flags::NONE => self.read_all(request, spans)?,
            trace::Op::Write if request.flags == Flags::NONE => self.write_all(request, spans)?,
            _ => self.serve_durably(request, spans)?,
        }
        self.ftl.end_request(&mut self.nand)?;
        self.audit_sample(self.served - 1)?;
        Ok(self.lap())
    }

    /// Whether [`serve_singles`](Self::serve_singles) may serve any request.
    #[inline]
    pub fn takes_singles(&self) -> bool {
        self.takes_singles
    }

    /// Serves the first of these writes, each of which is a request of a single span, if the FTL
    /// has a shorter way for them than [`serve`](Self::serve). Returns their number, and the time
    /// that each of them took.
    ///
    /// # Errors
    /// The FTL gave up.
    pub fn serve_singles(&mut self, spans: &[Span]) -> Result<(usize, Served)> {
        let Some(written) = self.ftl.write_singles(&mut self.nand, spans)? else {
            self.takes_singles = false;
            return Ok((0, Served::default()));
        };
        let requests = written as u64;
        self.host_pages.written += requests;
        self.served += requests;
        self.audit_sample(self.served - requests)?;
        let all = self.lap();
        let took = Served { service_ns: all.service_ns / requests.max(1), ..all };
        debug_assert_eq!(
            (took.service_ns * requests, all.increment_ns, all.memory_ns),
            (all.service_ns, 0, 0),
            "{requests} writes of a page cost more than their programs"
        );
        Ok((written, took))
    }

    /// Serves a request, and flushes before and after it as its flags demand.
    #[inline(never)]
    fn serve_durably(&mut self, request: &Request, spans: &[Span]) -> Result<()> {
        if request.flags.contains(Flags::PREFLUSH) && request.op != trace::Op::Flush {
            self.flush()?;
        }
        match request.op {
            trace::Op::Read => self.read_all(request, spans)?,
            trace::Op::Write => self.write_all(request, spans)?,
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

    #[inline(always)]
    fn write_all(&mut self, request: &Request, spans: &[Span]) -> Result<()> {
        for span in spans {
            self.write(span, request.bytes)?;
        }
        Ok(())
    }

    /// The time since the last lap.
    #[inline(always)]
    fn lap(&mut self) -> Served {
        let Lap { time_ns, increment_ns } = self.clock.lap(self.nand.tally());
        if self.dram_access_ns == 0 {
            return Served { service_ns: time_ns, increment_ns, memory_ns: 0 };
        }
        let dram_ns = self.dram_ns();
        let memory_ns = dram_ns - core::mem::replace(&mut self.dram_ns_before, dram_ns);
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
        self.clock.reset();
        self.dram_ns_before = 0;
    }

    /// Starts to record every flash operation, for a drive, for a log, or for both, unless
    /// operations are recorded already.
    pub fn record_operations(&mut self, for_drive: bool, for_log: bool) {
        if self.nand.sink_mut::<OperationSink>().is_none() {
            self.nand.attach(Box::new(OperationSink::new(for_drive, for_log)));
        }
    }

    /// No longer records flash operations.
    pub fn stop_recording(&mut self) {
        self.nand.detach();
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

    /// The reports of the layers, from the top down.
    pub fn layer_reports(&self) -> Vec<LayerReport> {
        self.ftl.layered().map_or(Vec::new(), |layers| layers.reports())
    }

    /// Pages that entered the scheme since the last reset.
    pub fn host_pages(&self) -> HostPages {
        self.ftl.layered().map_or(self.host_pages, |layers| layers.entered().into())
    }

    /// Pages that the host requested since the last reset.
    pub fn asked(&self) -> HostPages {
        self.host_pages
    }

    /// Time of all accesses to the DRAM of layers since the last reset.
    #[inline]
    pub fn dram_ns(&self) -> u64 {
        match self.dram_access_ns {
            0 => 0,
            access_ns => self.ftl.layered().map_or(0, |layers| layers.dram_accesses()) * access_ns,
        }
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
        Ok(self.ftl.read(&mut self.nand, &run, &mut Sink::None)?)
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

    #[inline(always)]
    fn write(&mut self, span: &Span, request_bytes: u64) -> Result<()> {
        self.host_pages.written += u64::from(span.pages);
        let data = match &mut self.shadow {
            Some(shadow) => Data::Stamp(shadow.write(span)?),
            None if self.nand.mode() == Mode::Bytes => {
                return self.write_bytes(span, request_bytes);
            }
            None => Data::None,
        };
        Ok(self.ftl.write(&mut self.nand, &span.run(request_bytes, data))?)
    }

    /// Writes a span with its contents, part by part.
    #[cold]
    fn write_bytes(&mut self, span: &Span, request_bytes: u64) -> Result<()> {
        let geometry = *self.nand.geometry();
        let run = span.run(request_bytes, Data::None);
        self.contents.next_write();
        for start in (0..span.pages).step_by(PART_PAGES as usize) {
            let pages = start..(start + PART_PAGES).min(span.pages);
            let part = run.part(pages, geometry.full_mask(), geometry.page_bytes());
            let data = Data::Bytes(self.contents.pages(&part, &geometry));
            self.ftl.write(&mut self.nand, &Run { data, ..part })?;
        }
        Ok(())
    }

    fn trim(&mut self, span: &Span) -> Result<()> {
        self.host_pages.trimmed += u64::from(span.pages);
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
        self.ftl.flush(&mut self.nand)?;
        Ok(self.nand.sync()?)
    }

    /// Makes the pages of a span durable.
    fn flush_span(&mut self, span: &Span, request_bytes: u64) -> Result<()> {
        let run = span.run(request_bytes, Data::None);
        match self.honours_flushes {
            true => {
                self.ftl.flush_run(&mut self.nand, &run)?;
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
    use crate::device;
    use ftl::layer::below::Below;
    use ftl::{Base, Ram, Report, Violation};
    use nand::Lpn;
    use std::sync::{Arc, Mutex};

    /// The ways in which a dishonest FTL misbehaves.
    #[derive(Clone, Copy, Debug, PartialEq)]
    enum Lie {
        ForgetsTrims,
        ForgetsWrites,
        WritesOneFurther,
        FailsItsAudit,
    }

    /// Wraps an honest FTL and misbehaves.
    struct Liar {
        honest: Below,
        lie: Lie,
    }

    impl Ftl for Liar {
        fn base(&self) -> &dyn Base {
            &self.honest
        }
        fn base_mut(&mut self) -> &mut dyn Base {
            &mut self.honest
        }
        fn write(&mut self, nand: &mut Nand, run: &Run) -> ftl::Result<()> {
            match self.lie {
                Lie::ForgetsWrites => Ok(()),
                Lie::WritesOneFurther => {
                    self.honest.write(nand, &Run { first: run.first.plus(1), ..*run })
                }
                _ => self.honest.write(nand, run),
            }
        }
        fn trim(&mut self, nand: &mut Nand, first: Lpn, pages: u32) -> ftl::Result<()> {
            match self.lie {
                Lie::ForgetsTrims => Ok(()),
                _ => self.honest.trim(nand, first, pages),
            }
        }
        fn audit(&self, nand: &Nand) -> std::result::Result<(), Violation> {
            match self.lie {
                Lie::FailsItsAudit => Err(Violation("two and two are five".into())),
                _ => self.honest.ftl.audit(nand),
            }
        }
        fn ram(&self) -> Ram {
            self.honest.ftl.ram()
        }
        fn report(&self) -> Report {
            self.honest.ftl.report()
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
            let honest = Below::new(std::mem::replace(&mut simulator.ftl, idle));
            simulator.ftl = Box::new(Liar { honest, lie });
        }
        let request = |op| {
            let bytes = 2048;
            Request { time_ns: 0, offset: 0, bytes, device: 0, op, flags: Flags::NONE, stream: 0 }
        };
        let full = simulator.nand.geometry().full_mask();
        let page = |first| Span { first, pages: 1, head: full, tail: full, stream: 0 };
        let mut look = || {
            for _ in 0..writes {
                simulator.serve(&request(trace::Op::Write), &[page(3)])?;
            }
            simulator.serve(&request(trace::Op::Trim), &[page(5)])?;
            simulator.audit("at the end")?;
            simulator.read_back(|_| Ok(()))
        };
        look().err()
    }

    /// Notes the streams of all writes.
    struct Watcher {
        below: Below,
        streams: Arc<Mutex<Vec<u8>>>,
    }

    impl Ftl for Watcher {
        fn base(&self) -> &dyn Base {
            &self.below
        }
        fn base_mut(&mut self) -> &mut dyn Base {
            &mut self.below
        }
        fn write(&mut self, nand: &mut Nand, run: &Run) -> ftl::Result<()> {
            self.streams.lock().unwrap().push(run.stream);
            self.below.write(nand, run)
        }
        fn audit(&self, nand: &Nand) -> std::result::Result<(), Violation> {
            self.below.ftl.audit(nand)
        }
        fn ram(&self) -> Ram {
            self.below.ftl.ram()
        }
        fn report(&self) -> Report {
            self.below.ftl.report()
        }
        fn reset_report(&mut self) {
            self.below.reset_report();
        }
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
            let below = Below::new(std::mem::replace(&mut simulator.ftl, idle));
            let streams = Arc::new(Mutex::new(Vec::new()));
            simulator.ftl = Box::new(Watcher { below, streams: streams.clone() });
            simulator.fill(|_| Ok(())).unwrap();
            let (all, bytes) = (simulator.everything(), 2048);
            let (op, flags) = (trace::Op::Write, Flags::NONE);
            let request = Request { time_ns: 0, offset: 0, bytes, device: 0, op, flags, stream: 9 };
            for stream in [63, 0, 1] {
                let span = Span { first: 5, pages: 1, stream, ..all };
                simulator.serve(&request, &[span]).unwrap();
            }
            assert_eq!(*streams.lock().unwrap(), [0, 63, 0, 1], "{mode:?}");
        }
    }

    /// The shorter way must take the same time and leave the same chip as the usual one.
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
            flags: Flags::NONE,
            stream: 0,
        };
        let all = alone.everything();
        let spans = (0..5000).map(|n| Span { first: n * n % 509, pages: 1, ..all });
        let spans: Vec<Span> = spans.collect();
        let (mut at, mut joined, mut together_ns, mut alone_ns) = (0, 0, 0, 0);
        while at < spans.len() {
            let (served, took) = together.serve_singles(&spans[at..]).unwrap();
            together_ns += took.service_ns * served as u64;
            (at, joined) = (at + served, joined + served);
            if let Some(&span) = spans.get(at) {
                together_ns += together.serve(&request, &[span]).unwrap().service_ns;
                at += 1;
            }
        }
        for &span in &spans {
            alone_ns += alone.serve(&request, &[span]).unwrap().service_ns;
        }
        assert!(joined > spans.len() / 2, "only {joined} writes were served together");
        assert_eq!((together_ns, together.host_pages), (alone_ns, alone.host_pages));
        assert_eq!(together.nand.tally(), alone.nand.tally());
        assert_eq!(together.nand.wear(), alone.nand.wear());
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
