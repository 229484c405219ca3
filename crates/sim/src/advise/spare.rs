//! How much over-provisioning does the load need, and what does the drive's own give?

use serde::Serialize;

use crate::advise::bench::Bench;
use crate::advise::subject::Subject;
use crate::error::Result;
use crate::result::run_result::RunResult;
use crate::sizing::answer::{EnduranceQuestion, Sizing};
use crate::sizing::over_provisioning::OverProvisioning;
use crate::sizing::probe::{Care, probe, with_care};
use crate::sizing::search::{Grid, least_extra};

/// The over-provisioning for the target, and the write amplification of the drive's own.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Spare {
    pub target: f64,
    /// The over-provisioning is found in multiples of this number of blocks.
    pub step_blocks: u64,
    /// As `ftlab size` answers.
    pub sizing: Sizing,
    /// The drive's own.
    pub own: OverProvisioning,
    pub write_amplification: f64,
    pub write_amplification_bytes: f64,
    /// Write amplification with twice the capacity: half of the drive is cold.
    pub half_cold: f64,
}

/// The most extra blocks that are tried, as a share of the capacity in per cent.
const MOST_PERCENT: u64 = 100;

/// Runs the drive's own over-provisioning, and searches the least for the target.
///
/// # Errors
/// As for any run.
pub fn spare(subject: &Subject, own: &RunResult, target: f64, bench: &Bench) -> Result<Spare> {
    let blocks = subject.logical_blocks;
    let (step, most) = ((blocks / 100).max(1), (blocks * MOST_PERCENT / 100).max(1));
    let grid = Grid { step, most, is_fixed: false };
    let curve = least_extra(target, grid, |care, tried: &[u64]| {
        let setup = with_care(&subject.setup, care);
        bench.each(&subject.input, "over-provisioning", tried.len(), |index, options| {
            probe(&setup, tried[index], options)
        })
    })?;
    let nothing = EnduranceQuestion {
        drive_writes_per_day: None,
        pe_cycles: None,
        years: 5.0,
        wear_levelling: 1.0,
    };
    let [pages, bytes] = amplifications(own);
    Ok(Spare {
        target,
        step_blocks: grid.step,
        sizing: Sizing::of(
            &subject.on_the_log(with_care(&subject.setup, Care::Settled)),
            blocks,
            &curve,
            None,
            &nothing,
        ),
        own: OverProvisioning::of_blocks(blocks, subject.extra_blocks()),
        write_amplification: pages,
        write_amplification_bytes: bytes,
        half_cold: half_cold(subject, bench)?,
    })
}

/// Write amplification in pages and in bytes.
pub fn amplifications(result: &RunResult) -> [f64; 2] {
    let RunResult { write_amplification, write_amplification_bytes, .. } = *result;
    // Traces without writes were refused before.
    [write_amplification, write_amplification_bytes].map(|it| it.unwrap_or(f64::NAN))
}

/// Write amplification on a device of twice the capacity, whose other half is never written.
fn half_cold(subject: &Subject, bench: &Bench) -> Result<f64> {
    let larger = subject.with(|it| it.capacity_bytes = Some(2 * subject.capacity_bytes()))?;
    let results = bench.results(&subject.input, "half cold", &[larger])?;
    Ok(amplifications(&results[0])[0])
}
