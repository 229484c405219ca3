//! What are latency and throughput at each queue depth, under the trace's own mix?
//!
//! The requests are replayed as fast as the drive answers them, in their order: the mix is the
//! trace's, the pace is not. The drive is worn in as for write amplification.

use serde::Serialize;

use crate::advise::answer::{Answer, Refusal};
use crate::advise::bench::Bench;
use crate::advise::subject::Subject;
use crate::config::choices::Timing;
use crate::config::experiment::Experiment;
use crate::config::replay::Replay;
use crate::config::setup::Setup;
use crate::error::Result;
use crate::result::latencies::Summary;
use crate::result::run_result::RunResult;

/// Latency at several queue depths.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct Latency {
    /// The drive with its figures, as `--drive` takes it.
    pub drive: String,
    pub chip: String,
    /// How far the drive's figures are from those of a real one, if that is known.
    pub fit: Option<&'static str>,
    pub depths: Vec<DepthLatency>,
}

/// Latency at a queue depth.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/advise.md documents every field")]
pub struct DepthLatency {
    pub depth: u32,
    pub iops: Option<f64>,
    pub mb_per_s: Option<f64>,
    /// Pages programmed per host page in this run.
    pub write_amplification: Option<f64>,
    /// In microseconds.
    pub read: Summary,
    pub write: Summary,
}

/// The drive of today with a published fit: an NVMe drive with 32 dies of TLC.
const DRIVE: &str = "zoned-nvme";
/// How far it is from the drive that was measured, as docs/drives.md shows.
const FIT: &str = "Beside a real drive its IOPS were within 11 % and its p99 within 19 %.";
/// Pages of 4 KiB that its dies program by one command each.
const ROW_PAGES: u64 = 768;
/// Rows of a block, largest first.
const ROWS: [u64; 3] = [4, 2, 1];
/// Blocks from which on a larger block is taken, and with fewer of which nothing is answered.
const BLOCKS: [u64; 2] = [100, 24];
/// Its erase, and the bytes of the block that it erases on all dies.
const ERASE_NS: u64 = 5_000_000;
const ERASED_BYTES: u64 = 192 << 20;
/// Passes before the measured one.
const PASSES_MAX: u64 = 8;

/// Runs the trace on the drive at these depths.
///
/// # Errors
/// As for any run.
pub fn latency(
    subject: &Subject,
    given_drive: Option<&str>,
    has_chip: bool,
    depths: &[u32],
    bench: &Bench,
) -> Result<Answer<Latency>> {
    let chosen = Chosen::of(subject, given_drive, has_chip);
    let chosen = match chosen {
        Ok(chosen) => chosen,
        Err(refusal) => return Ok(Answer::Refused(refusal)),
    };
    let setups = depths.iter().map(|&depth| chosen.setup(subject, depth));
    let setups = setups.collect::<Result<Vec<Setup>>>()?;
    let results = bench.results(&subject.input, "queue depth", &setups)?;
    let depths = depths.iter().zip(&results);
    let depths = depths.map(|(&depth, result)| DepthLatency::of(depth, result)).collect();
    Ok(Answer::Found(Latency {
        fit: chosen.drive.starts_with(DRIVE).then_some(FIT),
        drive: chosen.drive,
        chip: chosen.chip,
        depths,
    }))
}

/// The drive and its chip.
struct Chosen {
    drive: String,
    chip: String,
}

impl Chosen {
    /// The drive's rows must fit into the blocks, so these may be larger than for write
    /// amplification. An erase takes as much time for a byte as on the drive.
    fn of(
        subject: &Subject,
        given: Option<&str>,
        has_chip: bool,
    ) -> core::result::Result<Chosen, Refusal> {
        let chip = &subject.setup.experiment.chip;
        if let (true, drive) | (false, drive @ Some(_)) = (has_chip, given) {
            return Ok(Chosen { drive: drive.unwrap_or(DRIVE).into(), chip: chip.clone() });
        }
        let blocks = |rows: u64| subject.pages() / (rows * ROW_PAGES);
        if blocks(1) < BLOCKS[1] {
            let least = BLOCKS[1] * ROW_PAGES;
            let why = format!(
                "The device has {} pages, too few for the dies of a drive: they program \
                 {ROW_PAGES} pages at once, and need {least}.",
                subject.pages()
            );
            return Err(match subject.setup.experiment.capacity_bytes {
                Some(_) => Refusal::with(why, "Give a larger `--capacity`."),
                None => Refusal::day(why),
            });
        }
        let rows = ROWS.into_iter().find(|&rows| blocks(rows) >= BLOCKS[0]).unwrap_or(1);
        let block_bytes = rows * ROW_PAGES * u64::from(subject.setup.chip.page_bytes);
        let erase_ns = ERASE_NS * block_bytes / ERASED_BYTES;
        Ok(Chosen {
            drive: format!("{DRIVE}:erase={erase_ns}ns"),
            chip: format!("tlc-3d:page=4KiB,pages_per_block={}", rows * ROW_PAGES),
        })
    }

    fn setup(&self, subject: &Subject, depth: u32) -> Result<Setup> {
        subject.with(|it: &mut Experiment| {
            it.chip.clone_from(&self.chip);
            it.timing = Timing::Drive;
            it.drive = Some(self.drive.clone());
            it.replay = Replay::Closed { depth };
            (it.until, it.warmup) = (None, subject.passes_before(PASSES_MAX));
        })
    }
}

impl DepthLatency {
    fn of(depth: u32, result: &RunResult) -> DepthLatency {
        let drive = result.drive.as_ref().expect("time is the drive's");
        let response = result.response_us.as_ref().expect("requests queue in a drive");
        DepthLatency {
            depth,
            iops: drive.iops,
            mb_per_s: drive.mb_per_s,
            write_amplification: result.write_amplification,
            read: response.read.clone(),
            write: response.write.clone(),
        }
    }
}
