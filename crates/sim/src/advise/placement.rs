//! How far is the best placement from what would be possible?

use crate::advise::bench::Bench;
use crate::advise::subject::Subject;
use crate::config::setup::Setup;
use crate::error::Result;
use crate::sizing::bound::{Bound, oracle};

/// Open blocks of the oracle.
const OPEN: [u32; 2] = [8, 32];
/// Placements of today, beside the FTL of the advice.
const SCHEMES: [&str; 2] = ["dac", "sepbit"];
/// Passes before the measured one. The oracle keeps them all in mind.
const PASSES_MAX: u64 = 8;

/// Runs the oracle and other placements, as `ftlab bound` does.
///
/// # Errors
/// As for any run.
pub fn placement(subject: &Subject, bench: &Bench) -> Result<Bound> {
    let own = subject.setup.experiment.ftl.clone();
    let others = SCHEMES.map(str::to_owned).into_iter().filter(|name| *name != own);
    let ftls = OPEN.iter().map(|&open| oracle(open)).chain([own.clone()]).chain(others);
    let setup = |ftl: String| {
        subject.with(|it| {
            it.ftl = ftl;
            (it.until, it.warmup) = (None, subject.passes_before(PASSES_MAX));
        })
    };
    let setups = ftls.map(setup).collect::<Result<Vec<Setup>>>()?;
    let results = bench.results(&subject.input, "placement", &setups)?;
    Bound::of(&setups, &results, OPEN.len())
}
