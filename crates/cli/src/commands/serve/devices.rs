//! The devices that are served: images, or new ones in memory.

use std::path::{Path, PathBuf};

use disk::{Disk, opening, recipe};
use drive::Profile;
use ftl::Device;
use ftl::Durability;
use nbd::export::Export;
use report::number_format::bytes;
use sim::config::experiment::ExperimentOption;
use sim::{Experiment, Setup};

use crate::commands::image::failures::failed;
use crate::commands::image::{DeviceOptions, lent};
use crate::commands::serve::memory;
use crate::experiment_args::{ExperimentArgs, Selection};
use crate::failure::{Failure, Result};

/// The options that make devices. Several FTLs are several devices.
pub struct ServedOptions;

impl Selection for ServedOptions {
    const REPEATED: &'static [&'static str] = &["ftl"];

    fn takes(option: &ExperimentOption) -> bool {
        DeviceOptions::takes(option)
    }
}

/// A device, and what clients are told about it.
pub struct ServedDevice {
    /// The disk.
    pub disk: Disk,
    /// Its export.
    pub export: Export,
    /// Whether it has more pages than fit into the memory that it may take.
    pub exceeds_memory: bool,
}

/// The options that say what is served.
#[derive(clap::Args)]
#[command(group(clap::ArgGroup::new("chips").args(["image", "memory"]).required(true)))]
pub struct DeviceArgs {
    /// Image to serve; may be given several times, each is an export with the name of its file
    #[arg(long, value_name = "FILE")]
    image: Vec<PathBuf>,
    /// Serve a new device in memory, which is gone in the end; each `--ftl` is an export
    #[arg(long, conflicts_with = "image")]
    memory: bool,
    /// Refuse every change; a damaged image is served as far as it can be read
    #[arg(long)]
    read_only: bool,
    #[command(flatten)]
    device: ExperimentArgs<ServedOptions>,
}

impl DeviceArgs {
    /// Opens all devices. If the client is a pipe, there is only one. `drive` is that of the pace.
    ///
    /// # Errors
    /// One of them cannot be opened or made, two have the same name, or they take too much memory.
    pub fn open(
        &self,
        is_pipe: bool,
        drive: Option<&Profile>,
        limit_bytes: Option<u64>,
    ) -> Result<Vec<ServedDevice>> {
        let refuse = |why: &str| Err(Failure::usage(why.to_owned()));
        if self.memory && !self.device.given.contains(&"capacity") {
            return refuse("a device in memory needs a capacity, such as `--capacity 1GiB`");
        }
        let devices: Vec<ServedDevice> = if self.memory {
            self.in_memory(drive, limit_bytes)?
        } else {
            self.image.iter().map(|path| self.on_image(path)).collect::<Result<_>>()?
        };
        for (index, device) in devices.iter().enumerate() {
            let name = &device.export.name;
            if devices[..index].iter().any(|other| other.export.name == *name) {
                return refuse(&format!("two exports have the name \"{name}\""));
            }
        }
        if is_pipe && devices.len() > 1 {
            return refuse("with `--stdin` only one device can be served");
        }
        Ok(devices)
    }

    fn in_memory(
        &self,
        drive: Option<&Profile>,
        limit_bytes: Option<u64>,
    ) -> Result<Vec<ServedDevice>> {
        let devices = self.device.experiments.iter().map(|experiment| {
            let asked = Experiment { durability: Durability::Full, ..experiment.clone() };
            Ok(sim::device::of(&Setup::new(&asked)?, 0)?)
        });
        let devices: Vec<Device> = devices.collect::<Result<_>>()?;
        let limit = memory::limit_of(&devices, drive, limit_bytes)?;
        let devices = devices.into_iter().map(|device| {
            let name = device.choice.scheme.name.to_owned();
            let refused = |error: disk::Error| Failure::usage(error.to_string());
            let mut disk = Disk::in_memory(device).map_err(refused)?;
            if let Some(limit) = limit {
                disk.limit_memory(limit);
            }
            let exceeds_memory = limit.is_some();
            Ok(ServedDevice { exceeds_memory, ..served(disk, name, self.read_only) })
        });
        devices.collect()
    }

    fn on_image(&self, path: &Path) -> Result<ServedDevice> {
        let (store, device) = if self.read_only {
            let (store, device, damages) = opening::salvage(path).map_err(failed(path))?;
            for damage in damages {
                eprintln!("ftlab: {}: {}", path.display(), damage.what);
            }
            (store, device)
        } else {
            opening::open(path).map_err(failed(path))?
        };
        lent::expect(path, &device, self.device.first(), &self.device.given)?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let disk = Disk::on_image(store, device).map_err(failed(path))?;
        Ok(served(disk, name, self.read_only))
    }
}

fn served(disk: Disk, name: String, is_read_only: bool) -> ServedDevice {
    let device = disk.device();
    let export = Export {
        name,
        description: description(device),
        bytes: device.capacity_bytes(),
        least_bytes: 1,
        preferred_bytes: device.geometry().page_bytes().next_power_of_two(),
        is_read_only,
        is_on: true,
    };
    ServedDevice { disk, export, exceeds_memory: false }
}

/// Scheme, layers, capacity and chip.
fn description(device: &Device) -> String {
    let of = recipe::of_device(device);
    let scheme = recipe::scheme_spec(&device.choice);
    let layers = if of.layers.is_empty() { String::new() } else { format!(" {}", of.layers) };
    format!("{scheme}{layers}, {} on {}", bytes(of.capacity_bytes), device.chip.spec())
}
