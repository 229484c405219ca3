//! Rivals: a setting that follows whoever does best with it.
//!
//! ```text
//! host ──┬──▶ device, setting b ◀──────────────┐
//!        ├──▶ rival with setting a: cost 1.9   │
//!        ├──▶ rival with setting b: cost 1.7   │ the cheapest
//!        └──▶ rival with setting c: cost 1.4 ──┘
//! ```
//! A rule that knows only what is dear cannot know what would be cheaper. So each setting that may
//! be chosen has a device of its own, which keeps no data and only counts. All requests go to all
//! of them, and the real device takes the setting of the rival that has cost least.
//!
//! **Memory.** Costs fade, so that the choice follows a load that changes. They fade slowly: what a
//! rule may lose against the best fixed setting is mostly what it loses while it changes its mind.
//!
//! **Evidence.** Garbage collection makes costs uneven, so one of two equal rivals is always ahead.
//! From each comparison to the next, the costs of two rivals differ by some d. If both are equally
//! good, all d together come to about √(Σ d²), the standard error. The setting changes only for a
//! rival that is ahead by more than that, and by a share of the cost, because a change has a price.
//!
//! A controller would have rivals for a sample of its addresses only. Here they are complete, so a
//! rule is judged by its idea and not by its sample.

use nand::{Data, FlashArray, Geometry, Lpn, Mode, Nand, Sink, Timing};

use crate::contract::{Ftl, Metric, Result, Run};

/// What it takes to change the setting.
#[derive(Clone, Copy, Debug)]
pub struct Caution {
    /// What old costs are multiplied by at each comparison.
    pub fading: f64,
    /// By what share of the present setting's cost a rival must be ahead.
    pub lead: f64,
}

/// Memory of a rival whose FTL takes these bytes.
pub fn memory_bytes(geometry: &Geometry, ftl: u64) -> u64 {
    FlashArray::memory_bytes(geometry, Mode::Count) + ftl
}

/// Devices that count what requests would cost with other settings.
pub struct Rivals<F> {
    rivals: Vec<Rival<F>>,
    timing: Timing,
    caution: Caution,
    /// By two rivals: the sum of squares of the differences between their costs.
    squares: Vec<Vec<f64>>,
}

struct Rival<F> {
    nand: Nand,
    ftl: F,
    /// Serial time of its operations at the last comparison.
    counted_ns: u64,
    cost_ns: f64,
    /// Serial time of its operations at the last reset of the report.
    before_ns: u64,
}

impl<F: Ftl + 'static> Rivals<F> {
    /// `count` new devices on chips of this shape; `mount` mounts each by its number.
    ///
    /// # Errors
    /// A mount failed.
    pub fn new(
        geometry: &Geometry,
        timing: Timing,
        count: usize,
        caution: Caution,
        mut mount: impl FnMut(usize, &mut Nand) -> Result<F>,
    ) -> Result<Rivals<F>> {
        let rival = |number| {
            let mut nand = Nand::new(*geometry, Mode::Count);
            let ftl = mount(number, &mut nand)?;
            Ok(Rival { nand, ftl, counted_ns: 0, cost_ns: 0.0, before_ns: 0 })
        };
        let rivals = (0..count).map(rival).collect::<Result<_>>()?;
        Ok(Rivals { rivals, timing, caution, squares: vec![vec![0.0; count]; count] })
    }

    // ---- Requests -------------------------------------------------------------------------------

    /// Passes a write to all rivals, without its data.
    ///
    /// # Errors
    /// A rival has no room.
    pub fn write(&mut self, run: &Run) -> Result<()> {
        let run = Run { data: Data::None, ..*run };
        self.each(|ftl, nand| ftl.write_run(nand, &run))
    }

    /// Passes a read to all rivals.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn read(&mut self, run: &Run) -> Result<()> {
        self.each(|ftl, nand| ftl.read(nand, run, &mut Sink::None))
    }

    /// Passes a trim to all rivals.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn trim(&mut self, first: Lpn, pages: u32) -> Result<()> {
        self.each(|ftl, nand| ftl.trim(nand, first, pages))
    }

    /// Passes a flush to all rivals.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn flush(&mut self, only: Option<&Run>) -> Result<()> {
        self.each(|ftl, nand| ftl.flush(nand, only))
    }

    fn each(&mut self, mut ask: impl FnMut(&mut dyn Ftl, &mut Nand) -> Result<()>) -> Result<()> {
        self.rivals.iter_mut().try_for_each(|rival| ask(&mut rival.ftl, &mut rival.nand))
    }

    // ---- The choice -----------------------------------------------------------------------------

    /// Compares the costs. Returns the number of the cheapest rival that is clearly ahead of `now`,
    /// or `now` if there is none.
    pub fn cheapest(&mut self, now: usize) -> usize {
        let Caution { fading, lead } = self.caution;
        let costs = self.costs_since();
        for (rival, ns) in self.rivals.iter_mut().zip(&costs) {
            rival.cost_ns = fading * rival.cost_ns + ns;
        }
        for (one, squares) in costs.iter().zip(&mut self.squares) {
            for (other, sum) in costs.iter().zip(squares) {
                *sum = fading * fading * *sum + (one - other) * (one - other);
            }
        }
        let cost = |number: usize| self.rivals[number].cost_ns;
        let is_ahead = |number: &usize| {
            let error = self.squares[now][*number].sqrt();
            cost(now) - cost(*number) > error.max(lead * cost(now))
        };
        let ahead = (0..self.rivals.len()).filter(is_ahead);
        ahead.min_by(|&one, &other| cost(one).total_cmp(&cost(other))).unwrap_or(now)
    }

    /// The FTL of a rival.
    pub fn ftl(&self, number: usize) -> &F {
        &self.rivals[number].ftl
    }

    /// What each rival has cost since this was last asked, in nanoseconds.
    fn costs_since(&mut self) -> Vec<f64> {
        let timing = self.timing;
        let cost = |rival: &mut Rival<F>| {
            let ns = timing.serial_ns(rival.nand.tally());
            (ns - core::mem::replace(&mut rival.counted_ns, ns)) as f64
        };
        self.rivals.iter_mut().map(cost).collect()
    }

    // ---- Report ---------------------------------------------------------------------------------

    /// Serial time of the operations of each rival since the last reset, in nanoseconds.
    pub fn times(&self) -> (&'static str, Metric) {
        let since = |rival: &Rival<F>| self.timing.serial_ns(rival.nand.tally()) - rival.before_ns;
        ("rival_ns", Metric::Counts(self.rivals.iter().map(since).collect()))
    }

    /// Times count from now on. Costs that decide stay as they are.
    pub fn reset_times(&mut self) {
        for Rival { nand, before_ns, .. } in &mut self.rivals {
            *before_ns = self.timing.serial_ns(nand.tally());
        }
    }

    /// Bytes of RAM: all that the rivals say that they need.
    pub fn ram_bytes(&self) -> u64 {
        self.rivals.iter().map(|rival| rival.ftl.report().ram.total()).sum()
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use core::ops::Range;

    use nand::{Cause, Content, Page, Ppn, ProgramOrder};

    use super::*;
    use crate::contract::{Base, Extent, Report, Span, Violation, base_is};

    /// Each request costs this number of programs.
    pub(crate) struct Dear {
        programs: u32,
        next: u32,
    }

    impl Dear {
        fn pay(&mut self, nand: &mut Nand) -> Result<()> {
            let pad = Page { owner: Lpn::SYSTEM, kind: 1, extra: &[], content: Content::Pad };
            for _ in 0..self.programs {
                nand.program(Ppn(self.next), &pad, Cause::Host)?;
                self.next += 1;
            }
            Ok(())
        }
    }

    impl Base for Dear {
        fn read(&mut self, nand: &mut Nand, _: &Run, _: &mut Sink) -> Result<()> {
            self.pay(nand)
        }
        fn trim(&mut self, nand: &mut Nand, _: Lpn, _: u32) -> Result<()> {
            self.pay(nand)
        }
        fn flush(&mut self, nand: &mut Nand, _: Option<&Run>) -> Result<()> {
            self.pay(nand)
        }
        fn prefetch(&self, _: &[Span], _: Option<&Nand>) {}
        fn place(&self, _: &Nand, _: Lpn) -> Option<Ppn> {
            None
        }
        fn extent(&self, lpns: Range<u32>) -> Extent {
            Extent::first_of(lpns, None)
        }
    }

    impl Ftl for Dear {
        base_is!(self);

        fn write(&mut self, nand: &mut Nand, run: &Run, _: &[Span]) -> Result<usize> {
            assert!(matches!(run.data, Data::None), "rivals keep no data");
            self.pay(nand).map(|()| 0)
        }
        fn audit(&self, _: &Nand) -> core::result::Result<(), Violation> {
            Ok(())
        }
        fn report(&self) -> Report {
            let mut report = Report::default();
            report.ram.map = u64::from(self.programs);
            report
        }
        fn reset_report(&mut self) {}
    }

    /// Rivals that pay these numbers of programs for each request.
    pub(crate) fn rivals(programs: &[u32], caution: Caution) -> Rivals<Dear> {
        let geometry = Geometry::new(512, 64, 512, 8, ProgramOrder::Sequential).unwrap();
        let timing = Timing { program_ns: 10, ..Timing::ZERO };
        let mount = |number: usize, _: &mut Nand| Ok(Dear { programs: programs[number], next: 0 });
        Rivals::new(&geometry, timing, programs.len(), caution, mount).unwrap()
    }

    const LASTING: Caution = Caution { fading: 1.0, lead: 0.0 };

    fn write(rivals: &mut Rivals<Dear>) {
        rivals.write(&Run::whole(Lpn(0), 1, 512, Data::Stamp(3))).unwrap();
    }

    #[test]
    fn all_requests_cost_all_rivals() {
        let mut rivals = rivals(&[3, 1, 2], LASTING);
        let run = Run::whole(Lpn(0), 1, 512, Data::None);
        write(&mut rivals);
        rivals.read(&run).unwrap();
        rivals.trim(Lpn(0), 1).unwrap();
        rivals.flush(None).unwrap();
        assert_eq!(rivals.costs_since(), [120.0, 40.0, 80.0]);
        assert_eq!(rivals.costs_since(), [0.0; 3], "nothing came since");
        assert_eq!(rivals.ram_bytes(), 6);
    }

    /// A rival that is always cheaper is ahead by n differences after n comparisons, and the
    /// standard error is √n of them.
    #[test]
    fn a_rival_must_be_ahead_by_more_than_a_standard_error() {
        let mut rivals = rivals(&[3, 2, 1], LASTING);
        let mut now = 0;
        for expected in [0, 2, 2] {
            write(&mut rivals);
            now = rivals.cheapest(now);
            assert_eq!(now, expected);
        }
    }

    #[test]
    fn a_rival_must_be_ahead_by_a_share_of_the_cost() {
        for (lead, expected) in [(0.24, 1), (0.25, 0)] {
            let mut rivals = rivals(&[4, 3], Caution { lead, ..LASTING });
            for _ in 0..9 {
                write(&mut rivals);
                rivals.cheapest(0);
            }
            write(&mut rivals);
            assert_eq!(rivals.cheapest(0), expected, "{lead}");
        }
    }

    #[test]
    fn rivals_that_are_ahead_in_turns_are_equal() {
        let mut rivals = rivals(&[1, 1], LASTING);
        for number in 0..40 {
            let Rival { nand, ftl, .. } = &mut rivals.rivals[number % 2];
            ftl.flush(nand, None).unwrap();
            assert_eq!(rivals.cheapest(0), 0);
        }
    }

    #[test]
    fn old_costs_fade() {
        let mut rivals = rivals(&[8, 4], Caution { fading: 0.5, ..LASTING });
        for (cost, square) in [(80.0, 1600.0), (120.0, 2000.0), (140.0, 2100.0)] {
            write(&mut rivals);
            rivals.cheapest(0);
            assert_eq!((rivals.rivals[0].cost_ns, rivals.squares[1][0]), (cost, square));
        }
    }
}
