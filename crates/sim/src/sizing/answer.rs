//! The answer for an FTL: the least extra blocks, and the curve that was measured on the way.

use serde::Serialize;

use crate::config::command_line::replay_command;
use crate::config::setup::Setup;
use crate::sizing::endurance::{Endurance, Lifetime};
use crate::sizing::over_provisioning::OverProvisioning;
use crate::sizing::probe::{Care, Probe, setup_with};
use crate::sizing::reach::Reach;
use crate::sizing::search::Curve;

/// The answer for an FTL.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct Sizing {
    pub ftl: String,
    pub chip: String,
    pub logical_blocks: u64,
    pub block_bytes: u64,
    pub capacity_bytes: u64,
    /// None if the target is not reached.
    pub least: Option<SizedPoint>,
    /// What the uncertainty of the runs leaves open; none without an answer.
    pub range: Option<SizedRange>,
    /// The command that makes this run again.
    pub command: Option<String>,
    pub curve: Vec<SizedPoint>,
    pub endurance: Option<EndurancePart>,
    /// Pages written by one pass of the trace, as a share of the capacity; none if the user said
    /// when a run is measured.
    pub written_share: Option<f64>,
    pub notes: Vec<String>,
}

/// A point of the curve, with both definitions of over-provisioning.
#[derive(Clone, Debug, Serialize)]
pub struct SizedPoint {
    /// The run.
    #[serde(flatten)]
    pub probe: Probe,
    /// Its over-provisioning.
    pub over_provisioning: OverProvisioning,
    /// Whether it was settled, that is, measured in longer rounds; none if all runs are measured
    /// alike.
    pub settled: Option<bool>,
}

/// The numbers of extra blocks between which the answer is in the long run.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct SizedRange {
    /// The least.
    pub from: SizedSpare,
    /// The greatest; none if the most that were tried may be too few.
    pub to: Option<SizedSpare>,
}

/// A number of extra blocks, with both definitions of over-provisioning.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct SizedSpare {
    pub extra_blocks: u64,
    pub over_provisioning: OverProvisioning,
}

/// The endurance at the answer.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/sizing.md documents every field")]
pub struct EndurancePart {
    /// Bytes programmed for a byte of the host.
    pub write_amplification: f64,
    pub wear_levelling: f64,
    /// What the asked drive writes per day take.
    pub needed: Option<Lifetime>,
    /// What the P/E cycles of the flash bear.
    pub rated: Option<Lifetime>,
}

/// What is asked about endurance.
#[derive(Clone, Copy, Debug)]
pub struct EnduranceQuestion {
    /// Writes of the whole drive per day.
    pub drive_writes_per_day: Option<f64>,
    /// P/E cycles of the flash.
    pub pe_cycles: Option<f64>,
    /// The time for which the drive must last.
    pub years: f64,
    /// Wear of the most worn block over the mean.
    pub wear_levelling: f64,
}

impl EnduranceQuestion {
    /// The endurance at a write amplification, if anything is asked about it.
    pub fn answer(
        &self,
        write_amplification: f64,
        capacity_bytes: Option<u64>,
    ) -> Option<EndurancePart> {
        let EnduranceQuestion { drive_writes_per_day, pe_cycles, years, wear_levelling } = *self;
        let endurance = Endurance { capacity_bytes, write_amplification, wear_levelling, years };
        let needed = drive_writes_per_day.map(|writes| endurance.for_writes(writes));
        let rated = pe_cycles.map(|cycles| endurance.for_cycles(cycles));
        let is_asked = needed.is_some() || rated.is_some();
        is_asked.then_some(EndurancePart { write_amplification, wear_levelling, needed, rated })
    }
}

impl Sizing {
    /// The answer that a curve gives for a setup on a device of this many logical blocks. The setup
    /// is that of the settled runs. The curve is empty if the trace does not reach collection.
    pub fn of(
        setup: &Setup,
        logical_blocks: u64,
        curve: &Curve,
        reach: Option<&Reach>,
        question: &EnduranceQuestion,
    ) -> Sizing {
        let block_bytes = ftl::device::block_bytes(&setup.chip);
        let capacity_bytes = logical_blocks.saturating_mul(block_bytes);
        let point = |(probe, care): (&Probe, Option<Care>)| SizedPoint {
            probe: probe.clone(),
            over_provisioning: OverProvisioning::of_blocks(logical_blocks, probe.extra_blocks),
            settled: care.map(|care| care == Care::Settled),
        };
        let points: Vec<SizedPoint> = curve.probes().map(point).collect();
        let least = curve.least();
        let is_least = |point: &&SizedPoint| {
            least.is_some_and(|least| least.extra_blocks == point.probe.extra_blocks)
        };
        let command =
            |least: &Probe| replay_command(&setup_with(setup, least.extra_blocks).experiment);
        let spare = |extra_blocks| SizedSpare {
            extra_blocks,
            over_provisioning: OverProvisioning::of_blocks(logical_blocks, extra_blocks),
        };
        let bytes = least.and_then(|least| least.write_amplification_bytes);
        Sizing {
            ftl: setup.experiment.ftl.clone(),
            chip: setup.experiment.chip.clone(),
            logical_blocks,
            block_bytes,
            capacity_bytes,
            least: points.iter().find(is_least).cloned(),
            range: curve
                .range()
                .map(|(from, to)| SizedRange { from: spare(from), to: to.map(spare) }),
            command: least.map(command),
            curve: points,
            endurance: bytes.and_then(|bytes| question.answer(bytes, Some(capacity_bytes))),
            written_share: reach.map(Reach::written_share),
            notes: notes(curve, reach),
        }
    }

    /// The sentence for a target that no run reached, which ends with the remedy, or for a trace
    /// that does not reach collection. In the second case it is also the last note.
    pub fn unreached(&self, target: f64, remedy: &str) -> String {
        let Some(largest) = self.curve.last() else {
            return self.notes.last().expect("a sentence says why nothing was run").clone();
        };
        let Probe { extra_blocks, write_amplification, refused, .. } = &largest.probe;
        let share = 100.0 * largest.over_provisioning.of_capacity;
        let found = match (write_amplification, refused) {
            (Some(amplification), _) => format!("it is {amplification:.4}"),
            (None, Some(why)) => format!("the FTL cannot work: {why}"),
            (None, None) => unreachable!("a run has a figure, or a reason"),
        };
        format!(
            "write amplification {target} cannot be reached: with {extra_blocks} extra blocks \
             ({share:.1} % of the capacity), the most that were tried, {found}; {remedy}"
        )
    }
}

/// What a reader of the answer should know: the notes of its run, or why there is none.
fn notes(curve: &Curve, reach: Option<&Reach>) -> Vec<String> {
    match curve.least() {
        Some(least) => least.notes.clone(),
        None => reach.filter(|it| !it.collects()).map(Reach::notes).unwrap_or_default(),
    }
}
