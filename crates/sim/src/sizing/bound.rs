//! What placement could achieve on a trace: the oracle, which knows when pages die, at several
//! numbers of open blocks, and other schemes on the same device beside it.

use serde::Serialize;

use crate::config::setup::Setup;
use crate::error::{Error, Result};
use crate::result::notes::SharedNotes;
use crate::result::run_result::{RunResult, ratio};

/// The bound of a trace on a device, and the schemes beside it.
#[derive(Clone, Debug, Serialize)]
#[expect(missing_docs, reason = "docs/bound.md documents every field")]
pub struct Bound {
    pub trace: String,
    pub chip: String,
    pub capacity_bytes: u64,
    pub logical_blocks: u32,
    pub extra_blocks: u32,
    pub law: BoundLaw,
    pub oracle: Vec<BoundRun>,
    pub schemes: Vec<BoundRun>,
    pub notes: Vec<String>,
}

/// With how much room no page needs to be copied.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BoundLaw {
    /// The spare of the device as a share of its capacity.
    pub spare: f64,
    /// The spare with which no page needs to be copied.
    pub needed_spare: f64,
    /// The number of open blocks for that.
    pub needed_windows: f64,
}

/// A run of a scheme.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "docs/bound.md documents every field")]
pub struct BoundRun {
    pub ftl: String,
    /// Null if the number is not fixed.
    pub open_blocks: Option<u32>,
    pub write_amplification: f64,
    pub host_pages: u64,
    pub copied_pages: u64,
    pub copies_per_host_page: f64,
    /// How far write amplification is from sure, as a share; null if the run is too short to tell.
    pub spread: Option<f64>,
}

impl Bound {
    /// The answer from the results of these setups, of which the first `oracles` are the oracle's.
    /// The caller guarantees that there is at least one of those.
    ///
    /// # Errors
    /// The measured part of the trace writes no page.
    pub fn of(setups: &[Setup], results: &[RunResult], oracles: usize) -> Result<Bound> {
        let runs = setups.iter().zip(results).map(|(setup, result)| BoundRun::of(setup, result));
        let mut oracle = runs.collect::<Result<Vec<BoundRun>>>()?;
        let schemes = oracle.split_off(oracles);
        let first = &results[0];
        let mut notes = SharedNotes::default();
        results.iter().for_each(|result| notes.add(result.notes.iter().map(String::as_str)));
        let names = |some: &[usize]| {
            some.iter().map(|&at| &*setups[at].experiment.ftl).collect::<Vec<_>>().join(", ")
        };
        let mut notes = notes.sentences(names);
        notes.extend(surpassed(&oracle, &schemes));
        Ok(Bound {
            trace: first.trace.name.clone(),
            chip: first.device.chip.clone(),
            capacity_bytes: first.device.capacity_bytes(),
            logical_blocks: first.device.logical_blocks,
            extra_blocks: first.device.extra_blocks,
            law: BoundLaw::of(first),
            notes,
            oracle,
            schemes,
        })
    }

    /// All runs, the oracle's first.
    pub fn runs(&self) -> impl Iterator<Item = &BoundRun> {
        self.oracle.iter().chain(&self.schemes)
    }
}

impl BoundLaw {
    /// What a result of the oracle says.
    fn of(oracle: &RunResult) -> BoundLaw {
        let figure = |name: &str| oracle.scheme.get(name).and_then(serde_json::Value::as_f64);
        let figure = |name: &str| figure(name).expect("the oracle reports its law");
        let device = &oracle.device;
        BoundLaw {
            spare: f64::from(device.extra_blocks) / f64::from(device.logical_blocks),
            needed_spare: figure("needed_spare"),
            needed_windows: figure("needed_windows"),
        }
    }
}

impl BoundRun {
    fn of(setup: &Setup, result: &RunResult) -> Result<BoundRun> {
        let (host_pages, copied_pages) = (result.host_pages.written, result.copies.total);
        let copies = ratio(copied_pages, host_pages);
        let (Some(write_amplification), Some(copies)) = (result.write_amplification, copies) else {
            return Err(Error::Impossible(
                "the measured part of the trace writes no page, so it does not matter where pages \
                 are placed; measure a part that writes"
                    .into(),
            ));
        };
        let choice = &setup.ftl;
        Ok(BoundRun {
            ftl: setup.experiment.ftl.clone(),
            open_blocks: choice.scheme.open_blocks.map(|count| count(&choice.params)),
            write_amplification,
            host_pages,
            copied_pages,
            copies_per_host_page: copies,
            spread: result.spread(),
        })
    }
}

/// A note for each scheme that is better than the oracle with as many open blocks.
fn surpassed(oracle: &[BoundRun], schemes: &[BoundRun]) -> Vec<String> {
    let mut notes = Vec::new();
    for run in schemes {
        let alike = oracle.iter().find(|other| other.open_blocks == run.open_blocks);
        let worse = alike.filter(|other| other.write_amplification > run.write_amplification);
        notes.extend(worse.map(|other| {
            format!(
                "{} is better than {}, which is no bound here; compare with the oracle's best \
                 number of open blocks",
                run.ftl, other.ftl
            )
        }));
    }
    notes
}

/// The spec of the oracle with this number of open blocks.
pub fn oracle(open: u32) -> String {
    format!("oracle:open={open}")
}
