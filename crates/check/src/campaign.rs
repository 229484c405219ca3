//! A campaign runs many cases on all cores and collects their findings.
//!
//! Workers take cases from one list, and the results are sorted back into its order, so the report
//! is the same on every machine. With a time budget the list is endless: it goes on with further
//! seeds until the time is over.

use std::borrow::Cow;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ftl::{Durability, Result};
use guest::supervisor::patience_of_check;

use crate::case::{Case, is_refusal};
use crate::conformance;
use crate::conformance::reached::Reached;
use crate::crash::machine_loss::{self, CrashCounts, CrashSchedule};
use crate::cut::counts::CutCounts;
use crate::cut::faults::Faults;
use crate::cut::isolated;
use crate::cut::power_loss::{self, CutSchedule, SecondCuts};
use crate::device_model::{DEVICE_MODELS, DeviceModel};
use crate::failed_case::FailedCase;
use crate::flash::Storage;
use crate::observer::Observer;
use crate::rng::mix;
use crate::subject::Subject;
use crate::workload::logged::LoggedWorkload;
use crate::workload::short_programs;

/// What to try: every subject on every device model with every workload and seed.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The schemes with their parameters and layers.
    pub subjects: Vec<Subject>,
    /// The devices.
    pub models: Vec<DeviceModel>,
    /// Whether to draw a device for each subject, workload and seed, too.
    pub draws_devices: bool,
    /// Names of the workloads.
    pub workloads: Vec<String>,
    /// Windows of a log, in place of workloads and devices.
    pub log: Option<LogSample>,
    /// Also try all short programs of up to this many letters, on the smallest device, with the
    /// first seed.
    pub short_programs: usize,
    /// The seeds. With a budget, further ones follow.
    pub seeds: Vec<u64>,
    /// Where the chips are. On images, the machine crashes too.
    pub storage: Storage,
    /// Whether trims must survive. It also says which faults are tried: those that it promises to
    /// survive.
    pub durability: Durability,
    /// What a power cut may leave on flash.
    pub faults: Faults,
    /// One in this number of first cuts and crashes is tried, drawn from the seed, or fewer if the
    /// device says so.
    pub one_first_in: u32,
    /// Which power cuts and crashes to try after a first one.
    pub second_cuts: SecondCuts,
    /// How many power cuts a case has at most.
    pub depth: usize,
    /// Time to spend on further seeds.
    pub budget: Option<Duration>,
}

/// Windows of a log to try.
#[derive(Clone, Debug)]
pub struct LogSample {
    /// The log, cut into windows for each of the devices.
    pub of_models: Vec<LoggedWorkload>,
    /// Which windows to try.
    pub windows: WindowChoice,
}

/// Which windows of a log to try.
#[derive(Clone, Debug)]
pub enum WindowChoice {
    /// At most this number on each device, drawn from each seed.
    Drawn(usize),
    /// Those with these numbers.
    Numbered(Vec<usize>),
}

impl LogSample {
    /// The windows for a device that are tried with a seed.
    fn windows(&self, logged: &LoggedWorkload, seed: u64) -> Vec<usize> {
        match &self.windows {
            WindowChoice::Drawn(most) => logged.drawn(*most, seed),
            WindowChoice::Numbered(numbers) => numbers.clone(),
        }
    }
}

/// Results of a campaign, or of one subject in it.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// Number of cases.
    pub cases: u64,
    /// What was reached without cuts.
    pub reached: Reached,
    /// Number of drawn devices that were refused; others were drawn instead.
    pub drawn_anew: u64,
    /// Number of cases that were stopped before all of their cuts were tried.
    pub cut_short: u64,
    /// Number of power cuts.
    pub cuts: CutCounts,
    /// Number of crash states.
    pub crashes: CrashCounts,
    /// The cases that failed, in the order of the list.
    pub failed: Vec<FailedCase>,
}

impl Totals {
    /// Adds the results of others.
    pub fn add(&mut self, other: Totals) {
        self.cases += other.cases;
        self.reached.add(&other.reached);
        self.drawn_anew += other.drawn_anew;
        self.cut_short += other.cut_short;
        self.cuts += other.cuts;
        self.crashes += other.crashes;
        self.failed.extend(other.failed);
    }
}

/// Results of a campaign.
#[derive(Clone, Debug)]
pub struct CampaignReport {
    /// Results of each subject, in the order of [`Campaign::subjects`].
    pub rows: Vec<(Subject, Totals)>,
    /// Number of cases whose device or parameters the scheme refuses.
    pub refused: u64,
    /// Names of the subjects of which no case was tried although they may accept the devices: the
    /// time was over, or the campaign was stopped.
    pub untried: Vec<String>,
    /// Number of seeds that were begun.
    pub seeds: u64,
    /// Number of cases, without those that a time budget adds.
    pub given: u64,
    /// How many of these were not tried, or not with all their cuts: the time was over, or the
    /// campaign was stopped.
    pub unfinished: u64,
    /// Wall-clock time.
    pub wall: Duration,
}

impl CampaignReport {
    /// The sum of all rows.
    pub fn total(&self) -> Totals {
        let mut total = Totals::default();
        self.rows.iter().for_each(|(_, totals)| total.add(totals.clone()));
        total
    }
}

/// One case of the list, and the row of the report that it belongs to.
#[derive(Clone, Debug)]
struct Job<'a> {
    row: usize,
    subject: &'a Subject,
    device: ChosenDevice,
    workload: Cow<'a, str>,
    /// The window, if the workload is that of a log.
    window: Option<(&'a LoggedWorkload, usize)>,
    seed: u64,
}

/// The device of a job.
#[derive(Clone, Copy, Debug)]
enum ChosenDevice {
    Listed(DeviceModel),
    /// Drawn from this seed.
    Drawn(u64),
}

/// Number of devices that are drawn for a job until one is accepted.
const DRAWS_MAX: u64 = 1000;

/// An observer that also stops the campaign when its time is over: three cuts deep, a single case
/// has taken 13 minutes. It remembers whether it has stopped anything.
struct WithBudget<'a> {
    observer: &'a dyn Observer,
    start: Instant,
    budget: Option<Duration>,
    has_stopped: AtomicBool,
}

impl Observer for WithBudget<'_> {
    fn begins(&self, case: &Case) {
        self.observer.begins(case);
    }

    fn cut(&self) {
        self.observer.cut();
    }

    fn crash(&self) {
        self.observer.crash();
    }

    fn tried(&self) {
        self.observer.tried();
    }

    fn is_stopped(&self) -> bool {
        let is_over = self.budget.is_some_and(|budget| self.start.elapsed() >= budget);
        let is_stopped = is_over || self.observer.is_stopped();
        self.has_stopped.fetch_or(is_stopped, Ordering::Relaxed);
        is_stopped
    }
}

impl Campaign {
    /// Runs the campaign. Findings are part of the report, not errors.
    ///
    /// # Errors
    /// A workload is unknown, a device is impossible, or every case was refused.
    pub fn run(&self) -> Result<CampaignReport> {
        self.run_watched(&())
    }

    /// The number of cases, without those that a time budget adds.
    pub fn case_count(&self) -> u64 {
        Campaign { budget: None, ..self.clone() }.jobs().count() as u64
    }

    /// The same under the eyes of an observer. If it stops the campaign, the report covers what was
    /// tried until then.
    ///
    /// # Errors
    /// As for `run`.
    pub fn run_watched(&self, observer: &dyn Observer) -> Result<CampaignReport> {
        let start = Instant::now();
        let (budget, has_stopped) = (self.budget, AtomicBool::new(false));
        let observer = &WithBudget { observer, start, budget, has_stopped };
        let jobs = Mutex::new(self.jobs().enumerate());
        let next = || match observer.is_stopped() {
            true => None,
            false => jobs.lock().expect("no worker panics holding the list").next(),
        };
        // A process can be copied only while it has one thread.
        let has_guest = self.subjects.iter().any(|subject| subject.choice.guest.is_some());
        let cores = if has_guest { 1 } else { cores() };
        let mut done = in_parallel(cores, next, |job: Job| {
            let totals = self.try_case(&job, observer);
            observer.tried();
            (job, totals)
        });
        done.sort_by_key(|&(at, _)| at);
        self.report(done.into_iter().map(|(_, result)| result), start)
    }

    fn report<'a>(
        &self,
        done: impl Iterator<Item = (Job<'a>, Result<Totals>)>,
        start: Instant,
    ) -> Result<CampaignReport> {
        let blank = |subject: &Subject| (subject.clone(), Totals::default());
        let mut rows: Vec<_> = self.subjects.iter().map(blank).collect();
        let (mut refusals, mut refused_of) = (Vec::new(), vec![0; rows.len()]);
        let (mut seeds, given) = (Vec::new(), self.case_count());
        let mut unfinished = given;
        for (job, totals) in done {
            let is_whole = totals.as_ref().map_or(true, |totals| totals.cut_short == 0);
            unfinished -= u64::from(is_whole && self.seeds.contains(&job.seed));
            match totals {
                Ok(totals) => rows[job.row].1.add(totals),
                Err(error) if is_refusal(&error) => {
                    refused_of[job.row] += 1;
                    refusals.push(error);
                }
                Err(error) => return Err(error),
            }
            seeds.push(job.seed);
        }
        seeds.sort_unstable();
        seeds.dedup();
        let (refused, seeds) = (refusals.len() as u64, seeds.len() as u64);
        let cases = given / self.subjects.len().max(1) as u64;
        let is_untried = |row: &usize| rows[*row].1.cases == 0 && refused_of[*row] < cases;
        let untried: Vec<String> =
            (0..rows.len()).filter(is_untried).map(|row| rows[row].0.name()).collect();
        if untried.is_empty() && rows.iter().all(|(_, totals)| totals.cases == 0) {
            // Nothing was tried. This must not look like success, so report the first refusal.
            refusals.into_iter().next().map_or(Ok(()), Err)?;
        }
        let wall = start.elapsed();
        Ok(CampaignReport { rows, refused, untried, seeds, given, unfinished, wall })
    }

    fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        let last = self.seeds.iter().copied().max().unwrap_or(0);
        let further = self.budget.is_some().then_some(last + 1..);
        let of_seed = |seed| self.named_workloads(seed).chain(self.logged_workloads(seed));
        let named = self.seeds.iter().flat_map(move |&seed| of_seed(seed));
        let further = further.into_iter().flatten().flat_map(of_seed);
        named.chain(self.short_programs()).chain(further)
    }

    fn short_programs(&self) -> impl Iterator<Item = Job<'_>> {
        let (device, seed) =
            (ChosenDevice::Listed(DEVICE_MODELS[0]), self.seeds.first().copied().unwrap_or(0));
        self.subjects.iter().enumerate().flat_map(move |(row, subject)| {
            let names = (1..=self.short_programs).flat_map(short_programs::names);
            names.map(move |name| {
                let workload = Cow::Owned(name);
                Job { row, subject, device, workload, window: None, seed }
            })
        })
    }

    /// Every subject comes before the next workload, so that a short budget reaches all of them.
    fn named_workloads(&self, seed: u64) -> impl Iterator<Item = Job<'_>> {
        let listed = self.models.iter().map(|&model| Some(model));
        let devices = listed.chain(self.draws_devices.then_some(None));
        devices.flat_map(move |model| {
            let suits = move |name: &str| model.is_none_or(|model| model.suits(name));
            let suitable = self.workloads.iter().filter(move |workload| suits(workload));
            suitable.enumerate().flat_map(move |(at, workload)| {
                let job = move |(row, subject)| {
                    let draw = || mix(mix(seed, at as u64), row as u64);
                    let device =
                        model.map_or_else(|| ChosenDevice::Drawn(draw()), ChosenDevice::Listed);
                    let workload = Cow::Borrowed(workload.as_str());
                    Job { row, subject, device, workload, window: None, seed }
                };
                self.subjects.iter().enumerate().map(job)
            })
        })
    }

    fn logged_workloads(&self, seed: u64) -> impl Iterator<Item = Job<'_>> {
        self.log.iter().flat_map(move |sample| {
            let windows = move |logged| {
                let windows = sample.windows(logged, seed).into_iter();
                windows.map(move |index| (logged, index))
            };
            sample.of_models.iter().flat_map(windows).flat_map(move |(logged, index)| {
                let job = move |(row, subject)| {
                    let device = ChosenDevice::Listed(logged.model);
                    let window = Some((logged, index));
                    let workload = Cow::Owned(LoggedWorkload::window_name(index));
                    Job { row, subject, device, workload, window, seed }
                };
                self.subjects.iter().enumerate().map(job)
            })
        })
    }

    fn try_case(&self, job: &Job, observer: &WithBudget) -> Result<Totals> {
        let (case, drawn_anew) = self.case(job)?;
        let case = case.on(self.storage);
        let observer = &WithBudget { has_stopped: AtomicBool::new(false), ..*observer };
        observer.begins(&case);
        let mut totals = Totals { cases: 1, drawn_anew, ..Totals::default() };
        let conforms = match case.needs_process() {
            true => isolated::check(&case, patience_of_check(), || {
                let reached = conformance::check(&case)?;
                power_loss::run_through(&case).map(|()| reached)
            }),
            false => conformance::check(&case),
        };
        match conforms {
            Ok(reached) => totals.reached = reached,
            Err(failed) => totals.failed.push(failed),
        }
        if self.schedule(&case).faults != Faults::NONE && totals.failed.is_empty() {
            let (cuts, done) = power_loss::explore(&case, self.schedule(&case), observer);
            totals.cuts = cuts;
            totals.failed.extend(done);
            if self.storage == Storage::Image {
                self.crash(&case, &mut totals, observer);
            }
        }
        // What is tried in other processes is stopped there.
        let is_stopped = case.needs_process() && observer.is_stopped();
        totals.cut_short = (is_stopped || observer.has_stopped.load(Ordering::Relaxed)).into();
        Ok(totals)
    }

    /// The case of a job, and the number of drawn devices that were refused before.
    fn case(&self, job: &Job) -> Result<(Case, u64)> {
        let &Job { subject, ref workload, seed, .. } = job;
        let on = |model: &DeviceModel| {
            let model = self.faults.on_media(model, seed);
            Case::new(subject, &model, workload, seed, self.durability)
        };
        let drawing = match (job.device, job.window) {
            (_, Some((logged, index))) => {
                let case = Case::of_window(subject, logged, index, seed, self.durability);
                return Ok((case?, 0));
            }
            (ChosenDevice::Listed(model), None) => return Ok((on(&model)?, 0)),
            (ChosenDevice::Drawn(drawing), None) => drawing,
        };
        let spare_min = |model: &DeviceModel| {
            Case::spare_bytes_min(subject, model, self.durability).unwrap_or(model.spare_bytes)
        };
        // A device on which none of the faults can happen would be tried for nothing.
        let is_suited = |drawn: &DeviceModel| drawn.dies > 1 || !self.faults.are_of_dies();
        let mut devices = (0..).map(|at| DeviceModel::drawn(mix(drawing, at), spare_min));
        let mut refused = 0;
        loop {
            let drawn = devices.find(is_suited).expect("they never end");
            match on(&drawn) {
                Err(error) if is_refusal(&error) && refused + 1 < DRAWS_MAX => refused += 1,
                case => return Ok((case?, refused)),
            }
        }
    }

    fn crash(&self, case: &Case, totals: &mut Totals, observer: &dyn Observer) {
        let CutSchedule { from_operation, one_first_in, second_cuts, .. } = self.schedule(case);
        let schedule = CrashSchedule { from_operation, one_first_in, second_crashes: second_cuts };
        let (crashes, done) = machine_loss::explore(case, schedule, observer);
        totals.crashes = crashes;
        totals.failed.extend(done.err());
    }

    /// Short programs are cut only in the operations of their last letter, and windows of a log
    /// only in their own.
    fn schedule(&self, case: &Case) -> CutSchedule {
        CutSchedule {
            from_operation: case.from_operation,
            faults: self.faults.promised(case),
            one_first_in: case.model.one_cut_in * self.one_first_in,
            second_cuts: self.second_cuts,
            depth: self.depth,
        }
    }
}

fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// Does all jobs with this number of workers. Each result comes with the number of its job; the
/// order of the results is not determined.
fn in_parallel<J, R: Send>(
    workers: usize,
    next: impl Fn() -> Option<(usize, J)> + Sync,
    work: impl Fn(J) -> R + Sync,
) -> Vec<(usize, R)> {
    let worker = || {
        let mut mine = Vec::new();
        while let Some((at, job)) = next() {
            mine.push((at, work(job)));
        }
        mine
    };
    thread::scope(|scope| {
        let workers: Vec<_> = (0..workers).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|it| it.join().expect("no worker panics"));
        joined.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::workload::logged::Logged;

    fn campaign(spec: &str) -> Campaign {
        Campaign {
            subjects: vec![Subject::from_spec(spec).unwrap()],
            models: vec![DEVICE_MODELS[0]],
            draws_devices: false,
            workloads: vec!["random".to_owned()],
            log: None,
            short_programs: 1,
            seeds: vec![1, 2],
            storage: Storage::Memory,
            durability: Durability::Full,
            faults: Faults::BASIC,
            one_first_in: 1,
            second_cuts: SecondCuts::None,
            depth: 2,
            budget: None,
        }
    }

    /// Counts what it sees, and stops the campaign after a number of cuts.
    #[derive(Default)]
    struct Counter {
        cases: AtomicU64,
        cuts: AtomicU64,
        begun: AtomicBool,
        cuts_max: Option<u64>,
    }

    impl Observer for Counter {
        fn begins(&self, _: &Case) {
            self.begun.store(true, Ordering::Relaxed);
        }

        fn cut(&self) {
            self.cuts.fetch_add(1, Ordering::Relaxed);
        }

        fn tried(&self) {
            self.cases.fetch_add(1, Ordering::Relaxed);
        }

        fn is_stopped(&self) -> bool {
            self.cuts_max.is_some_and(|max| self.cuts.load(Ordering::Relaxed) >= max)
        }
    }

    /// The chips of all cases.
    #[derive(Default)]
    struct Drawn(Mutex<BTreeSet<String>>);

    impl Observer for Drawn {
        fn begins(&self, case: &Case) {
            self.0.lock().unwrap().insert(case.model.spec());
        }
    }

    #[test]
    fn short_programs_run_once_and_workloads_run_with_every_seed() {
        let counter = Counter::default();
        let report = campaign("page").run_watched(&counter).unwrap();
        let total = report.total();
        assert_eq!(counter.cases.into_inner(), total.cases);
        assert_eq!(counter.cuts.into_inner(), total.cuts.first + total.cuts.second);
        assert!(counter.begun.into_inner());
        assert_eq!(campaign("page").case_count(), total.cases);
        assert_eq!(total.cases, 2 + short_programs::ALPHABET.len() as u64);
        assert_eq!(report.seeds, 2);
    }

    #[test]
    fn every_cut_is_counted_once_and_as_what_it_is() {
        let counted = |depth, second_cuts| {
            let (faults, short_programs) = (Faults::ALL, 0);
            let models = vec![DEVICE_MODELS[0]];
            let campaign = Campaign { models, short_programs, faults, depth, ..campaign("page") };
            let counter = Counter::default();
            let report = Campaign { second_cuts, ..campaign }.run_watched(&counter).unwrap();
            let cuts = report.total().cuts;
            let seen = counter.cuts.into_inner();
            assert_eq!(cuts.first + cuts.second + cuts.deeper, seen);
            assert_eq!(cuts.by_kind.as_flattened().iter().sum::<u64>(), seen);
            [cuts.first, cuts.second, cuts.deeper]
        };
        let [first, ..] = counted(2, SecondCuts::None);
        let [of_two, second, deeper] = counted(2, SecondCuts::OneIn(64));
        assert!(of_two == first && second > 100 && deeper == 0, "{second} {deeper}");
        let [of_three, same, deeper] = counted(3, SecondCuts::OneIn(64));
        assert!(of_three == first && same == second && deeper > 100, "{same} {deeper}");
    }

    #[test]
    fn an_unknown_workload_is_an_error_and_no_refusal() {
        let workloads = ["random", "rnadom"].map(str::to_owned).to_vec();
        let message = Campaign { workloads, ..campaign("page") }.run().unwrap_err().to_string();
        assert!(message.contains("did you mean `random`?"), "{message}");
    }

    #[test]
    fn a_stopped_campaign_reports_what_it_tried() {
        let counter = Counter { cuts_max: Some(20), ..Counter::default() };
        let report = campaign("page").run_watched(&counter).unwrap();
        let cuts = report.total().cuts.first;
        // Each worker may have been about to cut.
        assert!((20..100).contains(&cuts), "{cuts} cuts");
        assert!(report.total().failed.is_empty());
    }

    #[test]
    fn a_subject_without_time_for_a_case_is_named() {
        let subjects = ["page", "page:frontiers=3", "block"];
        let subjects = subjects.map(|spec| Subject::from_spec(spec).unwrap()).to_vec();
        let stopped = Counter { cuts_max: Some(0), ..Counter::default() };
        let all = Campaign { subjects, ..campaign("page") };
        let untried = all.run_watched(&stopped).unwrap().untried;
        assert_eq!(untried, ["page", "page:frontiers=3", "block"]);
        let report = all.run().unwrap();
        assert_eq!(report.untried, [""; 0], "a subject that refuses the device is not untried");
        assert!(report.refused > 0);
    }

    #[test]
    fn a_time_budget_adds_further_seeds() {
        let budget = Some(Duration::from_millis(300));
        let report = Campaign { budget, ..campaign("page") }.run().unwrap();
        assert!(report.seeds > 2, "only {} seeds", report.seeds);
    }

    #[test]
    fn a_case_under_way_tries_no_cut_when_the_time_is_over() {
        let cuts = |budget| {
            let (counter, campaign) = (Counter::default(), campaign("page"));
            let (start, has_stopped) = (Instant::now(), AtomicBool::new(false));
            let observer = WithBudget { observer: &counter, start, budget, has_stopped };
            let job = campaign.jobs().next().unwrap();
            let totals = campaign.try_case(&job, &observer).unwrap();
            assert!(totals.reached.compared > 0 && totals.failed.is_empty());
            assert_eq!(counter.cuts.into_inner(), totals.cuts.first);
            totals.cuts.first
        };
        assert_eq!(cuts(Some(Duration::ZERO)), 0);
        assert!(cuts(None) > 0 && cuts(Some(Duration::MAX)) > 0);
    }

    #[test]
    fn a_report_says_how_much_of_the_first_seeds_is_unfinished() {
        let reported = |budget, cuts_max| {
            let campaign = Campaign { budget, ..campaign("page") };
            let counter = Counter { cuts_max, ..Counter::default() };
            let report = campaign.run_watched(&counter).unwrap();
            assert_eq!(report.given, 2 + short_programs::ALPHABET.len() as u64);
            (report.given - report.unfinished, report.total().cut_short)
        };
        assert_eq!(reported(Some(Duration::ZERO), None), (0, 0), "no case was begun");
        let all = campaign("page").case_count();
        assert_eq!(reported(None, None), (all, 0));
        // Each worker is stopped in one case.
        let (whole, cut_short) = reported(None, Some(30));
        assert!(whole < all && (1..=cores() as u64).contains(&cut_short), "{whole} {cut_short}");
    }

    #[test]
    fn a_campaign_draws_a_device_for_each_case_and_counts_refused_ones() {
        let drawing = Campaign {
            models: Vec::new(),
            draws_devices: true,
            short_programs: 0,
            durability: Durability::Paper,
            seeds: (0..100).collect(),
            ..campaign("lsb")
        };
        assert_eq!(drawing.case_count(), 100);
        let drawn = Drawn::default();
        let total = drawing.run_watched(&drawn).unwrap().total();
        let chips = drawn.0.into_inner().unwrap();
        assert!(chips.len() > 95, "{} different chips in 100 cases", chips.len());
        assert_eq!((total.cases, total.failed.len()), (100, 0));
        assert!(total.drawn_anew > 10, "{}", total.drawn_anew);
    }

    #[test]
    fn faults_of_several_dies_are_tried_on_devices_that_have_them() {
        let dies_of = |faults: &str| -> BTreeSet<u32> {
            let faults = Faults::parse(faults).unwrap();
            let (models, seeds) = (Vec::new(), (0..60).collect());
            let campaign =
                Campaign { models, draws_devices: true, faults, seeds, ..campaign("page") };
            campaign.jobs().take(60).map(|job| campaign.case(&job).unwrap().0.model.dies).collect()
        };
        for faults in ["reordered", "brown-out,reordered", "reordered,program-fail"] {
            assert_eq!(Vec::from_iter(dies_of(faults)), [2, 3, 4], "{faults}");
        }
        for faults in ["basic", "basic,reordered", "program-fail"] {
            assert!(dies_of(faults).contains(&1), "{faults}");
        }
    }

    #[test]
    fn a_campaign_whose_cases_are_all_refused_is_an_error() {
        let message = campaign("page:frontiers=3").run().unwrap_err().to_string();
        assert!(message.contains("frontiers=3"), "{message}");
    }

    #[test]
    fn a_total_adds_every_number_to_its_own() {
        let reached = Reached { compared: 4, ..Reached::default() };
        let totals = Totals { cases: 3, reached, drawn_anew: 5, cut_short: 6, ..Totals::default() };
        let mut sum = Totals::default();
        (0..3).for_each(|_| sum.add(totals.clone()));
        let compared = sum.reached.compared;
        assert_eq!((sum.cases, compared, sum.drawn_anew, sum.cut_short), (9, 12, 15, 18));
    }

    #[test]
    fn a_budget_goes_on_with_the_seeds_behind_the_last() {
        let budget = Some(Duration::from_secs(1));
        let endless = Campaign { budget, seeds: vec![2, 5], ..campaign("page") };
        let short = short_programs::ALPHABET.len();
        let seeds: Vec<u64> = endless.jobs().map(|job| job.seed).take(2 + short + 3).collect();
        assert_eq!(seeds, [&[2, 5][..], &vec![2; short], &[6, 7, 8]].concat());
    }

    #[test]
    fn a_log_is_tried_in_the_windows_that_were_chosen() {
        let write = |at| Logged::Write { sectors: at..at + 1, is_forced: false };
        let log: Vec<Logged> = (0..9).flat_map(|at| [write(at), Logged::Mark]).collect();
        let of_models = vec![LoggedWorkload::new("disk.log", &log, &DEVICE_MODELS[0])];
        let windows_of = |windows| {
            let log = Some(LogSample { of_models: of_models.clone(), windows });
            let short_programs = 0;
            let campaign = Campaign { log, short_programs, workloads: vec![], ..campaign("page") };
            let windows: Vec<usize> = campaign.jobs().map(|job| job.window.unwrap().1).collect();
            windows
        };
        assert_eq!(windows_of(WindowChoice::Numbered(vec![7, 2])), [7, 2, 7, 2], "for each seed");
        let drawn = windows_of(WindowChoice::Drawn(4));
        assert_eq!(drawn[..4], of_models[0].drawn(4, 1));
        assert_eq!(drawn[4..], of_models[0].drawn(4, 2));
    }
}
