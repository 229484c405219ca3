//! Progress of runs: a bar on a terminal, and the way to stop at a signal.

use std::cell::Cell;
use std::fmt::Write;
use std::io::IsTerminal;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use check::case::Case;
use check::observer::Observer;
use indicatif::{
    HumanDuration, MultiProgress, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle,
};
use report::number_format::count;
use sim::sweep::SweepProgress;
use sim::{Progress, Stage};

use crate::process::signals::{self, Watch};

/// Shows the progress of a run and stops it at a signal.
pub struct RunMonitor {
    _watch: Watch,
    bar: ProgressBar,
    /// The text before the name of the stage.
    label: String,
    stage: Cell<Option<Stage>>,
}

impl RunMonitor {
    /// The monitor of a run that begins.
    pub fn new(quiet: bool) -> RunMonitor {
        let bar = match is_shown(quiet) {
            true => ProgressBar::no_length().with_style(style(false)),
            false => ProgressBar::hidden(),
        };
        Self::with(bar, String::new())
    }

    fn with(bar: ProgressBar, label: String) -> RunMonitor {
        RunMonitor { _watch: Watch::new(), bar, label, stage: Cell::new(None) }
    }

    fn enter(&self, stage: Stage, total: Option<u64>) {
        self.stage.set(Some(stage));
        self.bar.reset();
        self.bar.set_style(style(total.is_some()));
        self.bar.set_message(format!("{}{:<14}", self.label, name(stage)));
        if let Some(total) = total {
            self.bar.set_length(total);
        }
    }
}

impl Progress for RunMonitor {
    fn report(&self, stage: Stage, done: u64, total: Option<u64>) -> sim::Result<()> {
        if signals::is_interrupted() {
            self.bar.finish_and_clear();
            return Err(sim::Error::Interrupted);
        }
        if self.bar.is_hidden() {
            return Ok(());
        }
        if self.stage.get() != Some(stage) {
            self.enter(stage, total);
        }
        self.bar.set_position(done);
        Ok(())
    }
}

impl Drop for RunMonitor {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows a bar for each of several runs that are under way.
pub struct ComparisonMonitor {
    bars: MultiProgress,
}

impl ComparisonMonitor {
    /// A monitor without any run under way.
    pub fn new(quiet: bool) -> ComparisonMonitor {
        let target = match is_shown(quiet) {
            true => ProgressDrawTarget::stderr(),
            false => ProgressDrawTarget::hidden(),
        };
        ComparisonMonitor { bars: MultiProgress::with_draw_target(target) }
    }

    /// The monitor of a run that begins. Its bar vanishes with it.
    pub fn run(&self, label: &str) -> RunMonitor {
        let bar = self.bars.add(ProgressBar::no_length().with_style(style(false)));
        RunMonitor::with(bar, format!("{label}  "))
    }
}

/// Shows the progress of a check and stops it at a signal.
pub struct CheckMonitor {
    _watch: Watch,
    bar: ProgressBar,
    cases: AtomicU64,
    cuts: AtomicU64,
    started: Instant,
    /// The time after which no further case begins, if there is one; else the number of cases
    /// bounds the bar.
    budget: Option<Duration>,
}

impl CheckMonitor {
    /// The monitor of a check of this number of cases, or of as many as the time allows.
    pub fn new(quiet: bool, cases: u64, budget: Option<Duration>) -> CheckMonitor {
        let bar = match is_shown(quiet) {
            true => ProgressBar::no_length().with_style(check_style()),
            false => ProgressBar::hidden(),
        };
        bar.set_length(budget.map_or(cases, |budget| budget.as_millis() as u64));
        bar.enable_steady_tick(Duration::from_millis(500));
        let (cases, cuts) = (AtomicU64::new(0), AtomicU64::new(0));
        CheckMonitor { _watch: Watch::new(), bar, cases, cuts, started: Instant::now(), budget }
    }

    fn show(&self) {
        let (cases, cuts) = (self.cases.load(Ordering::Relaxed), self.cuts.load(Ordering::Relaxed));
        let elapsed = self.started.elapsed();
        let position = self.budget.map_or(cases, |_| elapsed.as_millis() as u64);
        self.bar.set_position(position);
        let rate = (cuts as f64 / elapsed.as_secs_f64().max(0.001)) as u64;
        let text =
            format!("{} cases, {} cuts and crashes, {}/s", count(cases), count(cuts), count(rate));
        self.bar.set_message(text);
    }
}

impl Observer for CheckMonitor {
    fn begins(&self, case: &Case) {
        if !self.bar.is_hidden() {
            let Case { subject, model, workload, seed, .. } = case;
            let (ftl, model) = (subject.name(), model.name);
            self.bar.set_prefix(format!("{ftl} on {model}, {workload}, seed {seed}"));
        }
    }

    fn cut(&self) {
        // Drawing at every cut would take more time than the cut.
        if self.cuts.fetch_add(1, Ordering::Relaxed).is_multiple_of(4096) {
            self.show();
        }
    }

    fn crash(&self) {
        self.cut();
    }

    fn tried(&self) {
        self.cases.fetch_add(1, Ordering::Relaxed);
        self.show();
    }

    fn is_stopped(&self) -> bool {
        signals::is_interrupted()
    }
}

impl Drop for CheckMonitor {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Shows the progress of a sweep and stops it at a signal.
pub struct SweepMonitor {
    _watch: Watch,
    bar: ProgressBar,
    /// For each row the number of its steps that the bar shows already.
    steps: Vec<AtomicU64>,
    /// The number of rows that are to be done in all.
    own: usize,
    /// The first row of the current sweep, and of the one after it.
    first: usize,
    next: usize,
    done: AtomicUsize,
    /// The steps of rows that were done before.
    found: Arc<AtomicU64>,
}

/// The number of steps of a row on the bar.
const STEPS: u64 = 1000;

impl SweepMonitor {
    /// The monitor of a sweep that runs `own` of the rows of a plan, of which `done` are done.
    pub fn of_shard(quiet: bool, rows: usize, own: usize, done: usize) -> SweepMonitor {
        let found = Arc::new(AtomicU64::new(done as u64 * STEPS));
        let bar = match is_shown(quiet) {
            true => ProgressBar::new(own as u64 * STEPS).with_style(sweep_style(&found)),
            false => ProgressBar::hidden(),
        };
        bar.set_message(format!("{done} of {own} rows"));
        bar.set_position(done as u64 * STEPS);
        let steps = (0..rows).map(|_| AtomicU64::new(0)).collect();
        let done = AtomicUsize::new(done);
        SweepMonitor { _watch: Watch::new(), bar, steps, own, first: 0, next: 0, done, found }
    }

    /// Begins the next of several sweeps. `found` of its rows are done already.
    pub fn begin(&mut self, rows: usize, found: usize) {
        self.first = self.next;
        self.next += rows;
        *self.done.get_mut() += found;
        self.found.fetch_add(found as u64 * STEPS, Ordering::Relaxed);
        self.bar.inc(found as u64 * STEPS);
    }

    /// Notes that a row has reached a step.
    fn reach(&self, row: usize, step: u64) {
        let before = self.steps[self.first + row].fetch_max(step, Ordering::Relaxed);
        self.bar.inc(step.saturating_sub(before));
    }
}

impl SweepProgress for SweepMonitor {
    fn report(&self, row: usize, stage: Stage, done: u64, total: Option<u64>) -> sim::Result<()> {
        if signals::is_interrupted() {
            return Err(sim::Error::Interrupted);
        }
        if let (Stage::Measure, Some(total @ 1..), false) = (stage, total, self.bar.is_hidden()) {
            let step = u128::from(done) * u128::from(STEPS) / u128::from(total);
            self.reach(row, (step as u64).min(STEPS));
        }
        Ok(())
    }

    fn kept(&self, row: usize) {
        self.reach(row, STEPS);
        let done = self.done.fetch_add(1, Ordering::Relaxed) + 1;
        self.bar.set_message(format!("{done} of {} rows", self.own));
    }
}

impl Drop for SweepMonitor {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

fn is_shown(quiet: bool) -> bool {
    !quiet && std::io::stderr().is_terminal()
}

/// The remaining time is estimated from the rows of this sweep, of which one must be done, and not
/// from those that were `found`.
fn sweep_style(found: &Arc<AtomicU64>) -> ProgressStyle {
    let template = "{msg:20} {wide_bar} {percent:>3}%  {elapsed} elapsed{left}";
    let found = Arc::clone(found);
    let left = move |state: &ProgressState, out: &mut dyn Write| {
        let own = state.pos().saturating_sub(found.load(Ordering::Relaxed));
        let rest = state.len().unwrap_or(0).saturating_sub(state.pos());
        if own >= STEPS {
            let left = state.elapsed().mul_f64(rest as f64 / own as f64);
            let _ = write!(out, ", {:#} left", HumanDuration(left));
        }
    };
    let style = ProgressStyle::with_template(template).expect("the template is a constant");
    style.with_key("left", left)
}

fn check_style() -> ProgressStyle {
    let template = "{msg}  {wide_bar} {percent:>3}%  {elapsed} elapsed, {eta} left\n{prefix}";
    ProgressStyle::with_template(template).expect("the template is a constant")
}

fn style(bounded: bool) -> ProgressStyle {
    let template = match bounded {
        true => "{msg} {wide_bar} {percent:>3}% {eta:>5}",
        false => "{msg} {spinner} {elapsed}",
    };
    ProgressStyle::with_template(template).expect("the template is a constant")
}

fn name(stage: Stage) -> String {
    match stage {
        Stage::Survey => "surveying".into(),
        Stage::Fill => "filling".into(),
        Stage::WarmUp(pass) => format!("warming up {pass}"),
        Stage::Round(round) => format!("round {round}"),
        Stage::Measure => "measuring".into(),
        Stage::ReadBack => "reading back".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bar_of_a_check_follows_its_cases_or_its_time() {
        let cases = CheckMonitor::new(true, 2000, None);
        for _ in 0..1500 {
            cases.cut();
            cases.tried();
        }
        assert_eq!((cases.bar.position(), cases.bar.length()), (1500, Some(2000)));
        let message = cases.bar.message();
        assert!(message.starts_with("1,500 cases, 1,500 cuts and crashes, "), "{message}");
        let timed = CheckMonitor::new(true, 2000, Some(Duration::from_secs(60)));
        std::thread::sleep(Duration::from_millis(2));
        timed.tried();
        assert_eq!(timed.bar.length(), Some(60_000));
        assert!((2..60_000).contains(&timed.bar.position()));
    }
}
