//! A device between power-on and power-off, with the oracle beside it.
//!
//! ```text
//! Mount · Check · Decay · write · flush · trim · … · Cycle · Check
//! ```
//! Everything that happens to a device is an [`Act`], so a life can be printed, recorded and
//! replayed. Recording keeps the chip after each program and erase of an act, together with what
//! the oracle knows while the act is under way: enough to cut the power at any of them.

use std::fmt;

use ftl::{Error, Ftl, Run};
use nand::power_cut::Snapshot;
use nand::{Cut, Data, Lpn, Nand, Op, Outcome, Sink, Stamp};

use crate::case::Case;
use crate::oracle::{Look, Oracle};
use crate::panics;
use crate::step::{Extent, Step};
use crate::violation::{Kind, Violation};

/// What can happen to a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// Mount, audit, read everything; what is read is from now on the state.
    Mount,
    /// Power off between two operations and mount again.
    Cycle,
    /// Read everything, which must be the newest, and audit.
    Check,
    /// What a cut left unstable decays; then as Check.
    Decay,
    /// The host asks for something.
    Do(Step),
}

impl fmt::Display for Act {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Act::Mount => write!(out, "mount"),
            Act::Cycle => write!(out, "power off, on, mount"),
            Act::Check => write!(out, "read and audit everything"),
            Act::Decay => write!(out, "decay, then read and audit everything"),
            Act::Do(step) => step.fmt(out),
        }
    }
}

/// How an act ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It was answered.
    Answered,
    /// The power failed during it.
    PowerLost,
}

/// A device from power-on on.
pub struct Life<'a> {
    case: &'a Case,
    nand: Nand,
    ftl: Option<Box<dyn Ftl>>,
    oracle: Oracle,
    recording: bool,
    /// Whether a cut is armed; if none is, one far away ends what would never end.
    armed: bool,
    /// Programs and erases of the last act, if they are recorded.
    pub snapshots: Vec<Snapshot>,
    /// What the oracle knew while the last recorded act was under way.
    pub under_way: Oracle,
    /// Pages that the host wrote in this life.
    pages_written: u64,
    /// Pages that entered the scheme in this life, until the last mount.
    entered_before: u64,
}

type Result<T> = std::result::Result<T, Violation>;

impl<'a> Life<'a> {
    /// A device whose power is on. The oracle says what was done to it before.
    pub fn new(case: &'a Case, nand: Nand, oracle: Oracle) -> Life<'a> {
        Life {
            case,
            nand,
            ftl: None,
            under_way: oracle.clone(),
            oracle,
            recording: false,
            armed: false,
            snapshots: Vec::new(),
            pages_written: 0,
            entered_before: 0,
        }
    }

    /// The first life of a case: a chip from the factory.
    pub fn first(case: &'a Case) -> Life<'a> {
        let space = case.space();
        Life::new(case, case.new_chip(), Oracle::new(space.pages, space.sectors_per_page))
    }

    /// From now on every program and erase is kept in `snapshots`.
    pub fn record(&mut self) {
        self.recording = true;
        self.nand.record_snapshots();
    }

    /// The chip.
    pub fn nand(&self) -> &Nand {
        &self.nand
    }

    /// Arms a cut.
    pub fn arm(&mut self, cut: Cut) {
        self.armed = true;
        self.nand.cut_after(cut);
    }

    /// What is left when the power fails.
    pub fn into_parts(self) -> (Nand, Oracle) {
        (self.nand, self.oracle)
    }

    /// Does one act. After a violation or a lost power the life may only be dropped or taken apart.
    ///
    /// # Errors
    /// What the act found wrong; panics are caught and count as such.
    pub fn perform(&mut self, act: Act) -> Result<End> {
        self.watch_for_the_end();
        let end = panics::caught(|| match act {
            Act::Mount => self.mount(),
            Act::Cycle => {
                self.entered_before = self.pages_entered();
                self.ftl = None;
                self.nand.power_cycle();
                self.watch_for_the_end();
                self.mount()
            }
            Act::Check => self.check(),
            Act::Decay => {
                self.nand.decay();
                self.check().map_err(decayed)
            }
            Act::Do(step) => self.step(step),
        })?;
        match end == End::PowerLost && !self.armed {
            true => Err(Violation::new(
                Kind::Endless,
                format!("still at it after {} programs and erases", self.operations_max()),
            )),
            false => Ok(end),
        }
    }

    /// Garbage collection that frees nothing goes on for ever: an act that takes too long is cut.
    fn watch_for_the_end(&mut self) {
        if !self.armed {
            let after = self.operations_max();
            self.nand.cut_after(Cut { after, outcome: Outcome::Untouched });
        }
    }

    /// More programs and erases than any act takes, even where victims are drawn at random: each
    /// page of the host's moves the whole device many times over.
    fn operations_max(&self) -> u64 {
        let pages = self.case.physical_pages();
        1000 + 16 * pages * u64::from(self.case.space().pages)
    }

    // ---- Acts ---------------------------------------------------------------------------------

    fn mount(&mut self) -> Result<End> {
        let before = operations(&self.nand);
        let mounted = self.case.mount(&mut self.nand);
        let Some(ftl) = alive(mounted, Kind::Unmountable)? else {
            return Ok(End::PowerLost);
        };
        self.is_bounded(before)?;
        self.ftl = Some(ftl);
        let Some(found) = self.read_all()? else {
            return Ok(End::PowerLost);
        };
        self.oracle.judge(0, &found, Look::Mounted)?;
        self.observe();
        self.oracle.adopt(&found);
        self.audit()?;
        Ok(End::Answered)
    }

    /// Everything must be as it was written, and the scheme must agree with itself.
    fn check(&mut self) -> Result<End> {
        let Some(found) = self.read_all()? else {
            return Ok(End::PowerLost);
        };
        self.observe();
        self.oracle.judge(0, &found, Look::Awake)?;
        self.audit()?;
        Ok(End::Answered)
    }

    fn step(&mut self, step: Step) -> Result<End> {
        if let Step::Read(extent) = step {
            return self.read_back(&extent);
        }
        let full = self.case.space().full();
        let (nand, ftl) = (&mut self.nand, self.ftl.as_mut().expect("mounted first"));
        let done = match step {
            Step::Write(extent) | Step::Force(extent) => {
                let number = self.oracle.write(&extent, full);
                let run = run(&extent, Data::Stamp(number), self.case);
                let written = ftl.write(nand, &run);
                match step {
                    Step::Force(_) => written.and_then(|()| ftl.flush_run(nand, &run)),
                    _ => written,
                }
            }
            Step::Trim { first, pages } => {
                self.oracle.trim(first, pages);
                ftl.trim(nand, Lpn(first), pages)
            }
            _ => ftl.flush(nand),
        };
        let done = done.and_then(|()| ftl.end_request(nand));
        if alive(done, Kind::Refused)?.is_none() {
            return Ok(End::PowerLost);
        }
        self.observe();
        self.answered(step);
        Ok(End::Answered)
    }

    fn answered(&mut self, step: Step) {
        match step {
            Step::Flush => self.oracle.flush(),
            Step::Write(extent) => self.pages_written += u64::from(extent.pages),
            Step::Force(extent) => {
                self.pages_written += u64::from(extent.pages);
                self.oracle.force(&extent, self.case.space().full());
            }
            _ => {}
        }
    }

    fn read_back(&mut self, extent: &Extent) -> Result<End> {
        let Some(found) = self.read(extent)? else {
            return Ok(End::PowerLost);
        };
        self.observe();
        let first = extent.first * self.case.space().sectors_per_page;
        self.oracle.judge(first as usize, &found, Look::Awake)?;
        Ok(End::Answered)
    }

    // ---- What acts are made of ----------------------------------------------------------------

    fn observe(&mut self) {
        if self.recording {
            self.snapshots = self.nand.take_snapshots();
            self.under_way.clone_from(&self.oracle);
        }
    }

    fn read_all(&mut self) -> Result<Option<Vec<Stamp>>> {
        let space = self.case.space();
        self.read(&Extent::whole(0, space.pages, space.full()))
    }

    /// Whole pages; none if the power failed.
    fn read(&mut self, extent: &Extent) -> Result<Option<Vec<Stamp>>> {
        let sectors = extent.pages * self.case.space().sectors_per_page;
        let mut found = vec![Stamp::default(); sectors as usize];
        let mut sink = Sink::Stamps { first: extent.first_lpn(), out: &mut found };
        let ftl = self.ftl.as_mut().expect("mounted first");
        let run = run(extent, Data::None, self.case);
        let done = ftl.read(&mut self.nand, &run, &mut sink);
        Ok(alive(done, Kind::Refused)?.map(|()| found))
    }

    fn audit(&self) -> Result<()> {
        let ftl = self.ftl.as_ref().expect("mounted first");
        ftl.audit(&self.nand).map_err(|violation| Violation::new(Kind::MapBroken, violation.0))
    }

    /// A mount reads each spare area and each page at most once and a bit, and writes less.
    fn is_bounded(&self, before: [u64; 2]) -> Result<()> {
        let [reads, writes] = operations(&self.nand);
        let (reads, writes) = (reads - before[0], writes - before[1]);
        let pages = self.case.physical_pages();
        let (reads_max, writes_max) = (2 * pages + 64, pages);
        if reads <= reads_max && writes <= writes_max {
            return Ok(());
        }
        Err(Violation::new(
            Kind::Unbounded,
            format!(
                "a mount of {pages} pages took {reads} reads (at most {reads_max}) and {writes} \
                 programs and erases (at most {writes_max})"
            ),
        ))
    }

    /// The version of each page, none where unmapped. Only for a device just mounted.
    ///
    /// # Errors
    /// The scheme cannot say.
    pub fn versions(&mut self) -> Result<Vec<Option<u64>>> {
        let ftl = self.ftl.as_ref().expect("mounted first");
        let version = |lpn| {
            let asked = ftl.version(&mut self.nand, Lpn(lpn));
            asked.map_err(|error| Violation::new(Kind::Refused, error.to_string()))
        };
        (0..self.case.space().pages).map(version).collect()
    }

    /// Pages of the host's that entered the scheme in this life.
    pub fn pages_entered(&self) -> u64 {
        let entered = self.ftl.as_ref().and_then(|ftl| ftl.entered());
        let now = entered.map(|entered| self.entered_before + entered.written);
        now.unwrap_or(self.pages_written)
    }

    /// What the oracle knows.
    pub fn oracle(&self) -> &Oracle {
        &self.oracle
    }
}

fn run<'d>(extent: &Extent, data: Data<'d>, case: &Case) -> Run<'d> {
    let page_bytes = u64::from(case.shape.page_bytes);
    Run {
        first: extent.first_lpn(),
        pages: extent.pages,
        head: extent.head,
        tail: extent.tail,
        request_bytes: u64::from(extent.pages) * page_bytes,
        data,
    }
}

/// Reads and writes of the flash so far.
fn operations(nand: &Nand) -> [u64; 2] {
    let total = |op| nand.tally().total(op);
    [total(Op::Read) + total(Op::SpareRead), total(Op::Program) + total(Op::Erase)]
}

/// None if the power failed; any other error is a violation of that kind.
fn alive<T>(done: ftl::Result<T>, kind: Kind) -> Result<Option<T>> {
    match done {
        Ok(answer) => Ok(Some(answer)),
        Err(Error::Chip(nand::Error::PowerLost)) => Ok(None),
        Err(error @ Error::Chip(nand::Error::Unreadable(_))) => {
            Err(Violation::new(Kind::Unreadable, error.to_string()))
        }
        Err(error) => Err(Violation::new(kind, error.to_string())),
    }
}

fn decayed(violation: Violation) -> Violation {
    match violation.kind {
        Kind::MapBroken | Kind::Panic => violation,
        _ => Violation { kind: Kind::Decayed, ..violation },
    }
}
