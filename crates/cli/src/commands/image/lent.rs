//! `--image`: an image that is lent to a run.

use std::path::{Path, PathBuf};

use disk::{opening, recipe};
use ftl::{Device, Durability};
use nand::Nand;
use sim::config::choices::Precondition;
use sim::{Experiment, RunResult, Setup};

use super::failures::failed;
use crate::failure::{Failure, Result};

/// The chip of an image, and the setup of a run on it.
pub struct LentImage {
    path: PathBuf,
    /// The setup: the device of the image, and the trace that was asked for.
    pub setup: Setup,
    /// The chip, which a run takes and puts back.
    pub chip: Option<Nand>,
}

/// Opens an image for an experiment. Options that were not `given` come from the image; the others
/// must be those that it was made with.
///
/// # Errors
/// The image cannot be opened, or was made for something else.
pub fn open(path: &Path, experiment: &Experiment, given: &[&'static str]) -> Result<LentImage> {
    refuse_impossible(experiment, given)?;
    let (store, made) = opening::open(path).map_err(failed(path))?;
    let setup = expect(path, &made, experiment, given)?;
    let chip = Some(opening::power_up(store).map_err(failed(path))?);
    Ok(LentImage { path: path.to_owned(), setup, chip })
}

/// The setup of an experiment on the device that an image was made for.
///
/// # Errors
/// Something else was asked for.
pub fn expect(
    path: &Path,
    made: &Device,
    experiment: &Experiment,
    given: &[&'static str],
) -> Result<Setup> {
    let setup = Setup::new(&on_image(experiment, made, given)?)?;
    let asked = sim::device::of(&setup, 0)?;
    opening::expect(made, &asked).map_err(failed(path))?;
    Ok(setup)
}

impl LentImage {
    /// Leaves the image in order after a run with this result.
    ///
    /// # Errors
    /// The run or the storage failed.
    pub fn close(self, result: Result<RunResult>) -> Result<RunResult> {
        let closed = self.chip.map_or(Ok(()), opening::close);
        let result = result.map_err(|failure| {
            let path = self.path.display();
            failure.with(&format!("\n{path} holds at least what was flushed before"))
        })?;
        closed.map_err(failed(&self.path))?;
        Ok(result)
    }
}

fn refuse_impossible(experiment: &Experiment, given: &[&str]) -> Result<()> {
    let refuse = |why: &str| Err(Failure::usage(why.to_owned()));
    if given.contains(&"durability") && experiment.durability == Durability::Paper {
        return refuse("an image must survive power cuts: it has no `--durability paper`");
    }
    if given.iter().any(|name| ["media", "reserve", "wear"].contains(name)) {
        return refuse(
            "the flash of an image never fails: leave out `--media`, `--reserve` and `--wear`",
        );
    }
    if experiment.verify {
        return refuse(
            "`--verify` compares stamps, and an image holds bytes; `ftlab image check` looks \
             through it",
        );
    }
    Ok(())
}

/// The experiment on the device of an image, except for what was given.
fn on_image(experiment: &Experiment, made: &Device, given: &[&str]) -> Result<Experiment> {
    debug_assert_eq!(made.durability, Durability::Full, "images are durable");
    let mut with = Experiment { durability: Durability::Full, ..experiment.clone() };
    if !given.contains(&"precondition") {
        with.precondition = Precondition::None;
    }
    if !given.contains(&"warmup") {
        with.warmup = 0;
    }
    for (name, text) in recipe::run_options(made) {
        if !given.contains(&name) {
            with = with.with(name, &text)?;
        }
    }
    Ok(with)
}
