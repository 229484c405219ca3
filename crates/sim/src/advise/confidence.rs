//! How sure is the answer?
//!
//! Three things may move it: the number of extra blocks, with which a repeated trace can be in
//! step; the stretch of time that was recorded, which its halves show; and chance, which other
//! seeds of a workload show. Each is a list of write amplifications with the drive's own
//! over-provisioning.

use serde::Serialize;

use crate::advise::answer::{Answer, Refusal};
use crate::advise::bench::Bench;
use crate::advise::line::Line;
use crate::advise::look::Look;
use crate::advise::spare::amplifications;
use crate::advise::subject::{Choices, Subject, part, requests};
use crate::config::named_trace::NamedTrace;
use crate::config::setup::Setup;
use crate::config::values::Extra;
use crate::error::Result;
use crate::result::run_result::{RunResult, half_range};

/// What the answer depends on besides the load.
#[derive(Clone, Debug, Serialize)]
pub struct Confidence {
    /// Whether the device became steady.
    pub steady: bool,
    /// Extra blocks of the drive and around them, and their write amplification.
    pub neighbours: Vec<(u64, f64)>,
    /// The largest distance of a neighbour from the line through all, as a share.
    pub resonance: f64,
    /// Of each half of the trace, on a device of the pages that this half touches.
    pub halves: Answer<[f64; 2]>,
    /// With other seeds; none if the trace is no workload.
    pub seeds: Option<Vec<f64>>,
    /// What chance alone may change: the larger of resonance and the spread over seeds, as a share.
    pub chance: f64,
    /// The larger of that and the spread over the whole trace and its halves, as a share.
    pub spread: f64,
}

/// Extra blocks on each side of the drive's own.
const NEIGHBOURS: u64 = 2;
/// Other seeds of a workload.
const SEEDS: [u64; 2] = [2, 3];

/// Runs with neighbouring numbers of extra blocks, the halves of the trace, and other seeds.
///
/// # Errors
/// As for any run.
pub fn confidence(
    choices: &Choices,
    subject: &Subject,
    own: &RunResult,
    bench: &Bench,
) -> Result<Confidence> {
    let neighbours = neighbours(subject, own, bench)?;
    let halves = halves(choices, subject, bench)?;
    let seeds = seeds(choices, bench)?;
    let own_amplification = amplifications(own)[0];
    let resonance = Line::through(&neighbours).map_or(0.0, |line| line.farthest(&neighbours));
    let with_own =
        |values: Vec<f64>| half_range(values.into_iter().chain([own_amplification])).unwrap_or(0.0);
    let chance = with_own(seeds.clone().unwrap_or_default()).max(resonance);
    let spread = with_own(halves.found().map_or(Vec::new(), |it| it.to_vec())).max(chance);
    let steady = own.steady.as_ref().is_some_and(|steady| steady.reached);
    Ok(Confidence { steady, neighbours, resonance, halves, seeds, chance, spread })
}

fn neighbours(subject: &Subject, own: &RunResult, bench: &Bench) -> Result<Vec<(u64, f64)>> {
    let middle = subject.extra_blocks();
    let around = middle.saturating_sub(NEIGHBOURS).max(1)..=middle + NEIGHBOURS;
    let blocks: Vec<u64> = around.filter(|&extra| extra != middle).collect();
    let setup = |&extra: &u64| subject.careful(|it| it.extra = Some(Extra::Blocks(extra)));
    let setups = blocks.iter().map(setup).collect::<Result<Vec<Setup>>>()?;
    let results = bench.results(&subject.input, "neighbour", &setups)?;
    let mut all: Vec<(u64, f64)> = blocks
        .into_iter()
        .zip(&results)
        .map(|(extra, it)| (extra, amplifications(it)[0]))
        .collect();
    all.push((middle, amplifications(own)[0]));
    all.sort_by_key(|&(extra, _)| extra);
    Ok(all)
}

/// Each half as a load of its own.
fn halves(choices: &Choices, subject: &Subject, bench: &Bench) -> Result<Answer<[f64; 2]>> {
    let rows = subject.table.rows();
    let page_bytes = u64::from(subject.setup.chip.page_bytes);
    let mut found = [0.0; 2];
    for (number, (from, to)) in [(0, rows / 2), (rows / 2, rows)].into_iter().enumerate() {
        let table = part(&subject.table, from, to);
        let look = Look::at(&table, page_bytes)?;
        if look.page_writes == 0 {
            let why = "A half of the trace writes nothing, so it cannot be compared.";
            return Ok(Answer::Refused(Refusal::day(why.into())));
        }
        let half = Subject::of(choices, look, table, bench)?;
        if let Some(refusal) = half.look.without_collection(half.extra_pages()) {
            let why = format!("A half of the trace is too short to compare. {}", refusal.why);
            return Ok(Answer::Refused(Refusal { why, ..refusal }));
        }
        let results = bench.results(&half.input, "half", std::slice::from_ref(&half.setup))?;
        found[number] = amplifications(&results[0])[0];
    }
    Ok(Answer::Found(found))
}

/// A workload with other seeds.
fn seeds(choices: &Choices, bench: &Bench) -> Result<Option<Vec<f64>>> {
    let experiment = &choices.experiment;
    if choices.requests.is_some() {
        return Ok(None);
    }
    let name = experiment.trace_names().into_iter().next().map(NamedTrace::parse).transpose()?;
    if !name.is_some_and(|name| name.is_workload()) {
        return Ok(None);
    }
    let mut found = Vec::new();
    for seed in SEEDS.map(|seed| experiment.seed.wrapping_add(seed - 1)) {
        let mut other = choices.clone();
        other.experiment.seed = seed;
        let table = requests(&other, &*(bench.monitor)("trace"))?;
        let look = Look::at(&table, 4096)?;
        let subject = Subject::of(&other, look, table, bench)?;
        let results =
            bench.results(&subject.input, "seed", std::slice::from_ref(&subject.setup))?;
        found.push(amplifications(&results[0])[0]);
    }
    Ok(Some(found))
}
