//! `ftlab image create`: an image of a factory-fresh chip.

use std::path::PathBuf;

use ftl::Durability;
use report::number_format::{bytes, count};
use sim::config::experiment::ExperimentOption;
use sim::{Experiment, Setup};

use super::failures::failed;
use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::{Failure, Result};
use crate::output;

/// The options that make a device. An image is always durable.
pub struct DeviceOptions;

impl Selection for DeviceOptions {
    const REQUIRED: &'static str = "capacity";

    fn takes(option: &ExperimentOption) -> bool {
        let own = ["ftl", "chip", "capacity", "extra", "media", "reserve", "wear", "seed"];
        own.contains(&option.name) || option.is_of_layer()
    }
}

/// Options of `ftlab image create`.
#[derive(clap::Args)]
pub struct Args {
    /// File to create
    #[arg(value_name = "FILE")]
    image: PathBuf,

    #[command(flatten)]
    device: ExperimentArgs<DeviceOptions>,

    /// Print nothing
    #[arg(long, help_heading = "Output")]
    quiet: bool,
}

/// Runs the subcommand.
pub fn run(args: &Args) -> Result<()> {
    let asked = Experiment { durability: Durability::Full, ..args.device.first().clone() };
    let device = sim::device::of(&Setup::new(&asked)?, 0)?;
    if args.image.exists() {
        let why =
            format!("{} exists; choose another name, or delete it first", args.image.display());
        return Err(Failure::failed(why));
    }
    disk::opening::create(&args.image, &device).map_err(failed(&args.image))?;
    if args.quiet {
        return Ok(());
    }
    let geometry = device.geometry();
    let reserve = device.media().map_or(String::new(), |(_, reserve_blocks)| {
        format!(", with {} in reserve", count(reserve_blocks.into()))
    });
    output::print(&format!(
        "{}: {} for {}, on a chip of {} blocks of {}{reserve}\n",
        args.image.display(),
        bytes(device.capacity_bytes()),
        asked.ftl,
        count(geometry.blocks().into()),
        bytes(geometry.block_bytes()),
    ))
}
