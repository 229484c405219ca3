//! A case: a subject, a device model, a workload and a seed. Together with the power cuts, it
//! determines everything that happens.

use ftl::contract::guest::{Declaration, GuestFaultKind};
use ftl::device::{Device, Size};
use ftl::{Durability, Error, Ftl, Result};
use guest::isolation::Isolated;
use guest::supervisor::patience_of_check;
use image::{LossyDisk, Recipe};
use nand::{Geometry, Mode, Nand};

use crate::device_model::DeviceModel;
use crate::flash::{Storage, image_chip};
use crate::subject::Subject;
use crate::workload;
use crate::workload::host_operation::{Dimensions, HostOperation};
use crate::workload::logged::LoggedWorkload;
use crate::workload::short_programs;
use crate::workload::steps;

/// Logical blocks of the device of a short window, in which some schemes need more than one.
const LOGICAL_BLOCKS_MIN: u32 = 2;

/// A guest that refuses a device with this number of extra blocks is not asked again.
const EXTRA_BLOCKS_MAX: u64 = 256;

/// A spare area that is large enough for every scheme on every tiny device.
const SPARE_BYTES_PLENTY: u32 = 4096;

/// Everything that determines a check, apart from the power cuts.
#[derive(Clone, Debug)]
pub struct Case {
    /// The scheme with its parameters and layers.
    pub subject: Subject,
    /// The device.
    pub model: DeviceModel,
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
    device: Device,
    dimensions: Dimensions,
}

impl Case {
    /// A case of a named workload or a short program.
    ///
    /// # Errors
    /// The workload is unknown, or the scheme or a layer refuses the chip.
    pub fn new(
        subject: &Subject,
        model: &DeviceModel,
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
        let (window, model) = (&logged.windows[index], &logged.model);
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
        model: &DeviceModel,
        logical_blocks: u32,
        seed: u64,
        durability: Durability,
    ) -> Result<Case> {
        let (chip, choice) = (model.chip(), &subject.choice);
        chip.geometry(1)?;
        subject.layers.check(choice.scheme, &choice.given, &chip)?;
        let size = Case::size(subject, model, logical_blocks);
        let of_size = |size| {
            let layers = subject.layers.clone();
            Device::new(chip.clone(), choice.clone(), layers, size, durability, seed)
        };
        let device = match &choice.guest {
            Some(guest) => roomy(size, guest.needs_process(), of_size)?,
            None => of_size(size)?,
        };
        // A guest that sees the blocks in reserve must not take them for the room that it needs.
        let device = match model.media.model() {
            Some(media) => device.on_media(media, model.media.reserve.into())?,
            None => device,
        };
        let device = device.levelled_by(model.media.wear())?;
        let dimensions = Dimensions {
            pages: device.logical_pages(),
            pages_per_block: model.pages_per_block,
            sectors_per_page: device.geometry().sectors_per_page(),
            extra_pages: device.extra_blocks * model.pages_per_block,
        };
        Ok(Case {
            subject: subject.clone(),
            model: *model,
            workload: String::new(),
            seed,
            durability,
            storage: Storage::Memory,
            operations: Vec::new(),
            from_operation: 0,
            log: None,
            device,
            dimensions,
        })
    }

    /// The size of a device. The blocks of a sector log are always added: no scheme could spare
    /// any on these devices.
    fn size(subject: &Subject, model: &DeviceModel, logical_blocks: u32) -> Size {
        let (chip, choice) = (model.chip(), &subject.choice);
        let least = (choice.scheme.least_extra)(&choice.params, &chip, logical_blocks);
        let of_layers = subject.layers.blocks(&chip);
        let extra_blocks = model.extra_blocks.max(least) + of_layers.blocks - of_layers.added;
        Size { logical_blocks: logical_blocks.into(), extra_blocks: extra_blocks.into() }
    }

    /// The smallest spare area with which the device of a subject is possible.
    ///
    /// # Errors
    /// It is impossible for another reason.
    pub fn spare_bytes_min(
        subject: &Subject,
        model: &DeviceModel,
        durability: Durability,
    ) -> Result<u32> {
        let roomy = DeviceModel { spare_bytes: SPARE_BYTES_PLENTY, ..*model };
        let case = Case::without_workload(subject, &roomy, model.logical_blocks, 0, durability)?;
        Ok(subject.choice.spare_bytes_min(case.device.geometry(), durability))
    }

    /// The same case with other operations, all of which are cut.
    pub fn with_operations(&self, operations: Vec<HostOperation>) -> Case {
        let workload = steps::name(&operations, self.dimensions.full());
        Case { workload, operations, from_operation: 0, log: None, ..self.clone() }
    }

    /// The same case with its chip in another place.
    pub fn on(self, storage: Storage) -> Case {
        Case { storage, ..self }
    }

    /// What the guest declares, if the subject is one.
    pub fn guest(&self) -> Option<&Declaration> {
        self.subject.choice.guest.as_ref().map(|guest| guest.declaration())
    }

    /// Whether the FTL can end or damage this process.
    pub fn needs_process(&self) -> bool {
        self.subject.choice.guest.as_ref().is_some_and(|guest| guest.needs_process())
    }

    /// A disk with a blank image.
    pub fn blank_disk(&self) -> LossyDisk {
        let media = self.device.media();
        let recipe = Recipe {
            geometry: *self.device.chip_geometry(),
            chip: self.model.name.to_owned(),
            scheme: self.subject.spec.clone(),
            layers: self.subject.layers.to_string(),
            parameters: String::new(),
            media: media.map_or(String::new(), |(model, blocks)| format!("{model}, {blocks}")),
            seed: self.seed,
            capacity_bytes: self.device.capacity_bytes(),
        };
        LossyDisk::of(image_chip::blank(&recipe))
    }

    /// The device.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// A new chip in memory, erased everywhere.
    pub fn new_chip(&self) -> Nand {
        self.device.new_chip(Mode::Stamps)
    }

    /// Mounts the media, which are new to the power, and commands their failures.
    ///
    /// # Errors
    /// The mount failed.
    pub fn mount_media(&self, nand: &mut Nand) -> Result<()> {
        if nand.media().is_none() {
            self.device.mount_media(nand)?;
            self.model.media.command(nand);
        }
        Ok(())
    }

    /// Mounts the scheme and its layers, after the media.
    ///
    /// # Errors
    /// The mount failed.
    pub fn mount(&self, nand: &mut Nand) -> Result<Box<dyn Ftl>> {
        self.device.mount(nand)
    }

    /// Sizes of the device.
    pub fn dimensions(&self) -> Dimensions {
        self.dimensions
    }

    /// The chip.
    pub fn geometry(&self) -> &Geometry {
        self.device.geometry()
    }

    /// Extra blocks of the device. A guest may need more than the device model has.
    pub fn extra_blocks(&self) -> u32 {
        self.device.extra_blocks
    }

    /// Number of pages of the chip.
    pub fn physical_pages(&self) -> u64 {
        u64::from(self.geometry().pages())
    }
}

/// The smallest device of at least this size on which its guest can be mounted: how many extra
/// blocks a guest needs is known to itself alone.
fn roomy(least: Size, may_die: bool, of_size: impl Fn(Size) -> Result<Device>) -> Result<Device> {
    let of_extra = |extra_blocks| {
        let device = of_size(Size { extra_blocks, ..least })?;
        let is_asked = !may_die || is_refused_elsewhere(&device);
        // Whatever else is wrong, the check will find.
        is_asked.then(|| refusal(&device)).flatten().map_or(Ok(device), Err)
    };
    let (mut refused, mut taken) = (None, least.extra_blocks);
    let mut device = loop {
        match of_extra(taken) {
            Ok(device) => break device,
            Err(error) if !is_refusal(&error) || taken >= EXTRA_BLOCKS_MAX => return Err(error),
            Err(_) => (refused, taken) = (Some(taken), 2 * taken.max(1)),
        }
    };
    while let Some(most) = refused.filter(|&most| most + 1 < taken) {
        let middle = most.midpoint(taken);
        match of_extra(middle) {
            Ok(smaller) => (device, taken) = (smaller, middle),
            Err(error) if is_refusal(&error) => refused = Some(middle),
            Err(error) => return Err(error),
        }
    }
    Ok(device)
}

/// Why a device cannot be mounted, if it is refused.
fn refusal(device: &Device) -> Option<Error> {
    let mounted = device.mount(&mut device.new_chip(Mode::Stamps));
    mounted.map(drop).err().filter(is_refusal)
}

/// Whether it is refused, asked in a process of its own: a guest may die of it.
fn is_refused_elsewhere(device: &Device) -> bool {
    let begun = Isolated::begin(|| vec![u8::from(refusal(device).is_some())]);
    begun.is_ok_and(|asked| asked.end(patience_of_check()).0 == Ok(vec![1]))
}

/// Whether the product refuses such a device or such parameters. This is not a finding.
pub fn is_refusal(error: &Error) -> bool {
    let is_impossible = |error: &nand::Error| matches!(error, nand::Error::ImpossibleChip(_));
    match error {
        Error::Refused { .. } | Error::Impossible(_) => true,
        Error::Chip(error) => is_impossible(error),
        Error::Guest(fault) => fault.kind == GuestFaultKind::Invalid,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use ftl::contract::guest::GuestFault;

    use super::*;
    use crate::workload::logged::Logged;

    #[test]
    fn seeds_give_different_workloads() {
        let page = Subject::from_spec("page").unwrap();
        let model = DeviceModel::named("tiny").unwrap();
        let operations =
            |seed| Case::new(&page, model, "random", seed, Durability::Full).unwrap().operations;
        assert_eq!(operations(1), operations(1));
        assert_ne!(operations(1), operations(2));
    }

    #[test]
    fn a_window_is_cut_only_in_its_own_operations() {
        let write = |at| Logged::Write { sectors: at..at + 1, is_forced: false };
        let log: Vec<Logged> = (0..9).flat_map(|at| [write(at), Logged::Mark]).collect();
        let logged = LoggedWorkload::new("l", &log, DeviceModel::named("small").unwrap());
        let page = Subject::from_spec("page").unwrap();
        let case = Case::of_window(&page, &logged, 3, 7, Durability::Full).unwrap();
        let own = &logged.windows[3].operations;
        assert!(case.from_operation > 0 && !own.is_empty());
        assert_eq!(case.operations[case.from_operation..], own[..]);
        let other = case.with_operations(own.clone());
        assert_eq!((other.from_operation, other.log, &other.operations), (0, None, own));
        assert_eq!(other.workload, steps::name(own, case.dimensions().full()));
    }

    #[test]
    fn the_least_spare_area_is_enough_and_a_byte_less_is_not() {
        let narrow = DeviceModel { spare_bytes: 1, ..*DeviceModel::named("tiny").unwrap() };
        for spec in ["page", "lsb", "superblock", "bast"] {
            let subject = Subject::from_spec(spec).unwrap();
            let least = Case::spare_bytes_min(&subject, &narrow, Durability::Full).unwrap();
            let is_possible = |spare_bytes| {
                let model = DeviceModel { spare_bytes, ..narrow };
                Case::new(&subject, &model, "hot", 1, Durability::Full).is_ok()
            };
            assert!(is_possible(least) && !is_possible(least - 1), "{spec}: {least}");
        }
    }

    #[test]
    fn a_guest_that_takes_no_such_device_has_refused_it() {
        let fault = |kind| {
            let (guest, sentence) = ("g".to_owned(), "why".to_owned());
            is_refusal(&Error::Guest(GuestFault { guest, kind, sentence }))
        };
        assert!(fault(GuestFaultKind::Invalid) && !fault(GuestFaultKind::Broken));
    }
}
