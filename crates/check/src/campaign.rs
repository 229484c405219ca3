//! Many cases on all cores, and what they found.
//!
//! Workers take cases from one list, and results are put back in its order, so the report is the
//! same on every machine. With a budget the list has no end: seed follows seed until time is up.

use std::borrow::Cow;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use ftl::{Durability, Result};

use crate::ace;
use crate::case::{Case, Failure, Subject, is_refusal};
use crate::power_loss::{self, Count, Plan, Second};
use crate::properties;
use crate::shape::{SHAPES, Shape};

/// What is to be tried.
#[derive(Clone, Debug)]
pub struct Campaign {
    /// The schemes.
    pub subjects: Vec<Subject>,
    /// The chips.
    pub shapes: Vec<&'static Shape>,
    /// The workloads by name.
    pub workloads: Vec<String>,
    /// All programs of up to so many steps, on the least shape, once for the first seed.
    pub short_programs: usize,
    /// The seeds; with a budget, those to begin with.
    pub seeds: Vec<u64>,
    /// Whether trims must survive. Under paper there are no cuts.
    pub durability: Durability,
    /// Cuts of recoveries.
    pub second: Second,
    /// Time to fill with further seeds.
    pub budget: Option<Duration>,
}

/// What a campaign, or one scheme in it, came to.
#[derive(Clone, Debug, Default)]
pub struct Tried {
    /// Cases run to their end.
    pub cases: u64,
    /// Operations of the host after which everything was compared.
    pub steps: u64,
    /// Cuts.
    pub cuts: Count,
    /// What was found, in the order of the cases.
    pub failures: Vec<Failure>,
}

impl Tried {
    fn add(&mut self, other: Tried) {
        self.cases += other.cases;
        self.steps += other.steps;
        self.cuts += other.cuts;
        self.failures.extend(other.failures);
    }
}

/// What a campaign found.
#[derive(Clone, Debug)]
pub struct Report {
    /// Scheme by scheme, in the order asked for.
    pub rows: Vec<(Subject, Tried)>,
    /// Cases that a scheme refuses: such a chip, or such parameters.
    pub refused: u64,
    /// Seeds begun.
    pub seeds: u64,
    /// Wall-clock time.
    pub wall: Duration,
}

impl Report {
    /// All rows together.
    pub fn total(&self) -> Tried {
        let mut total = Tried::default();
        self.rows.iter().for_each(|(_, tried)| total.add(tried.clone()));
        total
    }
}

/// One entry of the list.
#[derive(Clone, Debug)]
struct Job<'a> {
    row: usize,
    subject: &'a Subject,
    shape: &'static Shape,
    workload: Cow<'a, str>,
    seed: u64,
}

impl Campaign {
    /// Runs it.
    ///
    /// # Errors
    /// An unknown workload, a device that cannot be, or every case refused. Violations are no error
    /// but in the report.
    pub fn run(&self) -> Result<Report> {
        let start = Instant::now();
        let is_over = || self.budget.is_some_and(|budget| start.elapsed() >= budget);
        let jobs = Mutex::new(self.jobs().enumerate());
        let next = || match is_over() {
            true => None,
            false => jobs.lock().expect("no worker panics holding the list").next(),
        };
        let mut done = in_parallel(next, |job: Job| {
            let tried = self.try_case(&job);
            (job, tried)
        });
        done.sort_by_key(|&(at, _)| at);
        self.report(done.into_iter().map(|(_, result)| result), start)
    }

    fn report<'a>(
        &self,
        done: impl Iterator<Item = (Job<'a>, Result<Tried>)>,
        start: Instant,
    ) -> Result<Report> {
        let blank = |subject: &Subject| (subject.clone(), Tried::default());
        let mut rows: Vec<_> = self.subjects.iter().map(blank).collect();
        let (mut refusals, mut seeds) = (Vec::new(), Vec::new());
        for (job, tried) in done {
            match tried {
                Ok(tried) => rows[job.row].1.add(tried),
                Err(error) if is_refusal(&error) => refusals.push(error),
                Err(error) => return Err(error),
            }
            seeds.push(job.seed);
        }
        seeds.sort_unstable();
        seeds.dedup();
        let refused = refusals.len() as u64;
        if rows.iter().all(|(_, tried)| tried.cases == 0) {
            // Nothing was tried: that is not clean, and the user must know why.
            refusals.into_iter().next().map_or(Ok(()), Err)?;
        }
        Ok(Report { rows, refused, seeds: seeds.len() as u64, wall: start.elapsed() })
    }

    fn jobs(&self) -> impl Iterator<Item = Job<'_>> {
        let last = self.seeds.iter().copied().max().unwrap_or(0);
        let further = self.budget.is_some().then_some(last + 1..);
        let named = self.seeds.iter().flat_map(|&seed| self.named_programs(seed));
        let further = further.into_iter().flatten().flat_map(|seed| self.named_programs(seed));
        named.chain(self.short_programs()).chain(further)
    }

    fn short_programs(&self) -> impl Iterator<Item = Job<'_>> {
        let (shape, seed) = (&SHAPES[0], self.seeds.first().copied().unwrap_or(0));
        self.subjects.iter().enumerate().flat_map(move |(row, subject)| {
            let names = (1..=self.short_programs).flat_map(ace::names);
            names.map(move |name| Job { row, subject, shape, workload: Cow::Owned(name), seed })
        })
    }

    fn named_programs(&self, seed: u64) -> impl Iterator<Item = Job<'_>> {
        self.subjects.iter().enumerate().flat_map(move |(row, subject)| {
            self.shapes.iter().flat_map(move |&shape| {
                let job = move |workload| Job { row, subject, shape, workload, seed };
                self.workloads.iter().map(|name| Cow::Borrowed(name.as_str())).map(job)
            })
        })
    }

    fn try_case(&self, job: &Job) -> Result<Tried> {
        let case = Case::new(job.subject, job.shape, &job.workload, job.seed, self.durability)?;
        let mut tried = Tried { cases: 1, ..Tried::default() };
        match properties::conform(&case) {
            Ok(steps) => tried.steps = steps,
            Err(failure) => tried.failures.push(failure),
        }
        if self.durability == Durability::Full && tried.failures.is_empty() {
            let (count, done) = power_loss::explore(&case, self.plan(&case)?);
            tried.cuts = count;
            tried.failures.extend(done.err());
        }
        Ok(tried)
    }

    /// Of the short programs only the last step is cut.
    fn plan(&self, case: &Case) -> Result<Plan> {
        let from_step = match case.workload.starts_with(ace::PREFIX) {
            true => ace::steps_before_last(&case.workload, case.space())?,
            false => 0,
        };
        Ok(Plan { from_step, second: self.second })
    }
}

/// Does all jobs, a worker a core; results come with the jobs' numbers, in no order.
fn in_parallel<J, R: Send>(
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
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(worker)).collect();
        let joined = workers.into_iter().map(|it| it.join().expect("panics are caught inside"));
        joined.flatten().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn campaign(spec: &str) -> Campaign {
        Campaign {
            subjects: vec![Subject::from_spec(spec).unwrap()],
            shapes: vec![&SHAPES[0]],
            workloads: vec!["random".to_owned()],
            short_programs: 1,
            seeds: vec![1, 2],
            durability: Durability::Full,
            second: Second::None,
            budget: None,
        }
    }

    #[test]
    fn the_list_is_seeds_by_workloads_and_the_short_programs_once() {
        let report = campaign("page").run().unwrap();
        assert_eq!(report.total().cases, 2 + ace::ALPHABET.len() as u64);
        assert_eq!(report.seeds, 2);
    }

    #[test]
    fn a_budget_goes_on_with_further_seeds() {
        let budget = Some(Duration::from_millis(300));
        let report = Campaign { budget, ..campaign("page") }.run().unwrap();
        assert!(report.seeds > 2, "only {} seeds", report.seeds);
    }

    #[test]
    fn a_campaign_of_refusals_alone_is_an_error() {
        let message = campaign("page:frontiers=3").run().unwrap_err().to_string();
        assert!(message.contains("frontiers=3"), "{message}");
    }
}
