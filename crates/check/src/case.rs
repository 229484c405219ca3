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
use crate::workload::logged::LoggedWorkload;
use crate::workload::short_programs;

/// Logical blocks of the device of a short window, in which some schemes need more than one.
const LOGICAL_BLOCKS_MIN: u32 = 2;

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
    /// Number of operations before the first one that is cut: those of a shorter program, or those
    /// that bring the device into the state at the beginning of a window.
    pub from_operation: usize,
    /// The log from which the workload comes, as users write it; none for a named workload.
    pub log: Option<String>,
    /// Exported capacity in blocks.
    logical_blocks: u32,
    chip: ChipModel,
    geometry: Geometry,
    blocks: Vec<BlockId>,
    dimensions: Dimensions,
}

impl Case {
    /// A case of a named workload or a short program.
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
        let case = Case::without_workload(subject, model, model.logical_blocks, seed, durability)?;
        let from_operation = match workload.starts_with(short_programs::PREFIX) {
            true => short_programs::operations_before_last(workload, case.dimensions)?,
            false => 0,
        };
        let operations = workload::operations(workload, case.dimensions, seed)?;
        Ok(Case { workload: workload.to_owned(), operations, from_operation, ..case })
    }

    /// A case of a window of a log. Its device has room for the pages of the window.
    ///
    /// # Errors
    /// The scheme or a layer refuses the chip.
    pub fn of_window(
        subject: &Subject,
        logged: &LoggedWorkload,
        index: usize,
        seed: u64,
        durability: Durability,
    ) -> Result<Case> {
        let (window, model) = (&logged.windows[index], logged.model);
        let pages = window.held.len() as u32;
        let logical_blocks = pages.div_ceil(model.pages_per_block).max(LOGICAL_BLOCKS_MIN);
        let case = Case::without_workload(subject, model, logical_blocks, seed, durability)?;
        let before = window.before(case.dimensions, seed);
        Ok(Case {
            workload: LoggedWorkload::window_name(index),
            from_operation: before.len(),
            operations: [&before[..], &window.operations].concat(),
            log: Some(logged.log.clone()),
            ..case
        })
    }

    /// A case with no operation yet.
    fn without_workload(
        subject: &Subject,
        model: &'static DeviceModel,
        logical_blocks: u32,
        seed: u64,
        durability: Durability,
    ) -> Result<Case> {
        let (chip, choice) = (model.chip(), &subject.choice);
        let least = (choice.scheme.least_extra)(&choice.params, &chip, logical_blocks);
        let extra_blocks = model.extra_blocks.max(least);
        choice.check(&chip, logical_blocks, extra_blocks)?;
        subject.layers.check(choice.scheme, &choice.given, &chip)?;
        let system_blocks = ftl::system_blocks(&chip, logical_blocks, durability);
        // The blocks of a sector log are always added: no scheme could spare any on these devices.
        let log_blocks = subject.layers.blocks(&chip).blocks;
        let blocks = logical_blocks + extra_blocks + log_blocks + system_blocks;
        let geometry = chip.geometry(blocks)?;
        let dimensions = Dimensions {
            pages: logical_blocks * model.pages_per_block,
            pages_per_block: model.pages_per_block,
            sectors_per_page: geometry.sectors_per_page(),
            extra_pages: extra_blocks * model.pages_per_block,
        };
        Ok(Case {
            subject: subject.clone(),
            model,
            workload: String::new(),
            seed,
            durability,
            storage: Storage::Memory,
            operations: Vec::new(),
            from_operation: 0,
            log: None,
            logical_blocks,
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
            capacity_bytes: u64::from(self.dimensions.pages * self.model.page_bytes),
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
            logical_blocks: self.logical_blocks,
            blocks: &self.blocks,
            durability: self.durability,
            seed: self.seed,
            timing: self.chip.timing,
            policy: None,
            foresight: None,
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
