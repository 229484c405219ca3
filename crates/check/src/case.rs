//! A case: a subject, a device model, a workload and a seed. Together with the power cuts, it
//! determines everything that happens.

use ftl::{Durability, Error, Ftl, MountConfig, Result};
use image::{LossyDisk, Recipe};
use nand::{BlockId, ChipModel, Geometry, Mode, Nand};

use crate::device_model::DeviceModel;
use crate::flash::{Storage, image_chip};
use crate::subject::Subject;
use crate::workload;
use crate::workload::host_operation::{Dimensions, HostOperation};

/// Everything that determines a check, apart from the power cuts.
#[derive(Clone, Debug)]
pub struct Case {
    /// The scheme with its parameters and layers.
    pub subject: Subject,
    /// The device.
    pub model: &'static DeviceModel,
    /// The name of the workload.
    pub workload: String,
    /// The seed of the workload, of the operations after a cut, and of the scheme's own draws.
    pub seed: u64,
    /// Whether trims must survive.
    pub durability: Durability,
    /// Where the chip is.
    pub storage: Storage,
    /// The operations of the workload.
    pub operations: Vec<HostOperation>,
    chip: ChipModel,
    geometry: Geometry,
    blocks: Vec<BlockId>,
    dimensions: Dimensions,
}

impl Case {
    /// A case.
    ///
    /// # Errors
    /// The workload is unknown, or the scheme or a layer refuses the chip.
    pub fn new(
        subject: &Subject,
        model: &'static DeviceModel,
        workload: &str,
        seed: u64,
        durability: Durability,
    ) -> Result<Case> {
        let (chip, choice) = (model.chip(), &subject.choice);
        let least = (choice.scheme.least_extra)(&choice.params, &chip, model.logical_blocks);
        let extra_blocks = model.extra_blocks.max(least);
        choice.check(&chip, model.logical_blocks, extra_blocks)?;
        subject.layers.check(choice.scheme, &choice.given, &chip)?;
        let system_blocks = ftl::system_blocks(&chip, model.logical_blocks, durability);
        // The blocks of a sector log are always added: no scheme could spare any on these devices.
        let log_blocks = subject.layers.blocks(&chip).blocks;
        let blocks = model.logical_blocks + extra_blocks + log_blocks + system_blocks;
        let geometry = chip.geometry(blocks)?;
        let dimensions = Dimensions {
            pages: model.logical_blocks * model.pages_per_block,
            pages_per_block: model.pages_per_block,
            sectors_per_page: geometry.sectors_per_page(),
            extra_pages: extra_blocks * model.pages_per_block,
        };
        Ok(Case {
            subject: subject.clone(),
            model,
            workload: workload.to_owned(),
            seed,
            durability,
            storage: Storage::Memory,
            operations: workload::operations(workload, dimensions, seed)?,
            chip,
            geometry,
            blocks: (0..blocks).map(BlockId).collect(),
            dimensions,
        })
    }

    /// The same case with its chip in another place.
    pub fn on(self, storage: Storage) -> Case {
        Case { storage, ..self }
    }

    /// A disk with a blank image.
    pub fn blank_disk(&self) -> LossyDisk {
        let recipe = Recipe {
            geometry: self.geometry,
            chip: self.model.name.to_owned(),
            scheme: self.subject.spec.clone(),
            layers: self.subject.layers.to_string(),
            parameters: String::new(),
            seed: self.seed,
            capacity_bytes: u64::from(self.model.logical_pages() * self.model.page_bytes),
        };
        LossyDisk::of(image_chip::blank(&recipe))
    }

    /// A new chip in memory, erased everywhere.
    pub fn new_chip(&self) -> Nand {
        Nand::new(self.geometry, Mode::Stamps)
    }

    /// Mounts the scheme and its layers.
    ///
    /// # Errors
    /// The mount failed.
    pub fn mount(&self, nand: &mut Nand) -> Result<Box<dyn Ftl>> {
        let device = MountConfig {
            params: &self.subject.choice.params,
            logical_blocks: self.model.logical_blocks,
            blocks: &self.blocks,
            durability: self.durability,
            seed: self.seed,
            timing: self.chip.timing,
        };
        self.subject.layers.mount(self.subject.choice.scheme, nand, &device)
    }

    /// Sizes of the device.
    pub fn dimensions(&self) -> Dimensions {
        self.dimensions
    }

    /// Number of pages of the chip.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.geometry.pages())
    }
}

/// Whether the scheme refuses such a chip or such parameters. This is not a finding.
pub fn is_refusal(error: &Error) -> bool {
    matches!(error, Error::Refused { .. })
}
