//! A device: a chip, a scheme with its layers, and the layout of the physical blocks.
//!
//! ```text
//! block 0 …            logical + extra …        … last
//! [ capacity, rounded up │ extra blocks ][ layers ][ system blocks ]
//! ```
//! Every scheme gets exactly the same physical space. The blocks of a layer, such as the sector
//! log, are added to it, unless the layer is told to take them from the extra blocks. System blocks
//! hold what only `--durability full` needs; they are added and never taken from the extra blocks.
//! With `--durability paper` there are none.

use std::sync::Arc;

use nand::{
    BlockId, ChipModel, FlashArray, Geometry, MediaModel, Mode, Nand, PageStore, WearChoice,
};

use crate::contract::foresight::Foresight;
use crate::contract::page_policy::PolicySource;
use crate::contract::{Durability, Error, Ftl, MountConfig, Result, table_bytes};
use crate::layer::Layers;
use crate::part::recovery::trim_log::blocks_max;
use crate::registry::Choice;
use crate::scheme::guest;

/// A device that its scheme has accepted.
#[derive(Clone, Debug)]
pub struct Device {
    /// The chip.
    pub chip: ChipModel,
    /// The scheme and its parameters.
    pub choice: Choice,
    /// The layers above it.
    pub layers: Layers,
    /// Exported capacity in blocks.
    pub logical_blocks: u32,
    /// Blocks beyond the capacity.
    pub extra_blocks: u32,
    /// Blocks that layers keep for themselves.
    pub layer_blocks: u32,
    /// System blocks, which only `--durability full` needs.
    pub system_blocks: u32,
    /// What must survive a power cut.
    pub durability: Durability,
    /// Seed of everything that the scheme draws at random.
    pub seed: u64,
    media: Option<ReservedMedia>,
    wear: WearChoice,
    policy: Option<Arc<dyn PolicySource>>,
    foresight: Option<Arc<dyn Foresight>>,
    geometry: Geometry,
    blocks: Vec<BlockId>,
}

/// Media that can fail, and the blocks in reserve.
#[derive(Clone, Copy, Debug)]
struct ReservedMedia {
    model: MediaModel,
    reserve_blocks: u32,
    /// All pages and blocks of the chip.
    all: Geometry,
}

/// The numbers of blocks that a device is asked to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Exported capacity.
    pub logical_blocks: u64,
    /// Blocks beyond the capacity, including those that layers take out of them.
    pub extra_blocks: u64,
}

impl Device {
    /// A device of this size.
    ///
    /// # Errors
    /// A device that cannot exist, or that the scheme refuses.
    pub fn new(
        chip: ChipModel,
        choice: Choice,
        layers: Layers,
        size: Size,
        durability: Durability,
        seed: u64,
    ) -> Result<Device> {
        let logical_blocks = number(&chip, size.logical_blocks, size.logical_blocks)?;
        let is_guest = choice.guest.is_some();
        if is_guest && layers.iter().next().is_some() {
            let why = "no layer can stand above a guest: it does not say where its pages are";
            return Err(Error::Refused { scheme: choice.scheme.name, why: why.to_owned() });
        }
        let system_blocks = choice.system_blocks(&chip, logical_blocks, durability);
        let of_layers = layers.blocks(&chip);
        let extra = without(size.extra_blocks, of_layers.blocks - of_layers.added)?;
        let blocks = size.logical_blocks.saturating_add(extra);
        let blocks = blocks.saturating_add(of_layers.blocks.into());
        if durability == Durability::Full && !is_guest {
            check_void_lists(&chip, logical_blocks, blocks)?;
        }
        let blocks = blocks.saturating_add(system_blocks.into());
        let geometry = chip.geometry(number(&chip, blocks, blocks)?)?;
        let extra_blocks = number(&chip, extra, blocks)?;
        choice.check(&chip, logical_blocks, extra_blocks)?;
        choice.check_spare_area(&geometry, durability)?;
        Ok(Device {
            chip,
            choice,
            layers,
            logical_blocks,
            extra_blocks,
            layer_blocks: of_layers.blocks,
            system_blocks,
            durability,
            seed,
            media: None,
            wear: WearChoice::default(),
            policy: None,
            foresight: None,
            blocks: (0..geometry.blocks()).map(BlockId).collect(),
            geometry,
        })
    }

    /// The same device, on which a policy places the pages instead of the scheme.
    ///
    /// # Errors
    /// The scheme takes no policy.
    pub fn placed_by(self, policy: Arc<dyn PolicySource>) -> Result<Device> {
        let scheme = self.choice.scheme;
        match scheme.takes_policy {
            true => Ok(Device { policy: Some(policy), ..self }),
            false => Err(Error::Refused {
                scheme: scheme.name,
                why: format!("it takes no policy; {} can place the pages of `page`", policy.name()),
            }),
        }
    }

    /// The same device, whose scheme is told the future.
    pub fn foreseen_by(self, foresight: Arc<dyn Foresight>) -> Device {
        Device { foresight: Some(foresight), ..self }
    }

    /// The policy that places the pages, if it is not the scheme itself.
    pub fn policy(&self) -> Option<&dyn PolicySource> {
        self.policy.as_deref()
    }

    /// Memory of what is recorded for the policy, if there is one.
    pub fn policy_memory_bytes(&self) -> u64 {
        self.policy.as_ref().map_or(0, |_| table_bytes(&self.geometry, 12, 48))
    }

    /// The physical pages and blocks.
    pub fn geometry(&self) -> &Geometry {
        &self.geometry
    }

    /// Exported capacity.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.logical_blocks) * self.geometry.block_bytes()
    }

    /// Pages that the host sees.
    pub fn logical_pages(&self) -> u32 {
        self.logical_blocks * self.geometry.pages_per_block()
    }

    /// The same device on media that can fail, with blocks in reserve. They belong to a guest that
    /// handles failures.
    ///
    /// # Errors
    /// Too many blocks come bad from the factory, or there are more blocks than 32 bits can number.
    pub fn on_media(self, model: MediaModel, reserve_blocks: u64) -> Result<Device> {
        let all = reserve_blocks.saturating_add(self.geometry.blocks().into());
        let all = self.chip.geometry(number(&self.chip, all, all)?)?;
        let reserve_blocks = reserve_blocks as u32;
        if self.handles_failures() {
            let blocks = (0..all.blocks()).map(BlockId).collect();
            let media = Some(ReservedMedia { model, reserve_blocks, all });
            return Ok(Device { media, geometry: all, blocks, ..self });
        }
        let all = Nand::check_media(&self.geometry, &model, reserve_blocks, self.seed)?;
        Ok(Device { media: Some(ReservedMedia { model, reserve_blocks, all }), ..self })
    }

    /// Whether the FTL is a guest that handles failing blocks.
    pub fn handles_failures(&self) -> bool {
        let guest = self.choice.guest.as_ref();
        guest.is_some_and(|guest| guest.declaration().handles_failures)
    }

    /// How its flash fails, and the blocks in reserve; none if it never does.
    pub fn media(&self) -> Option<(&MediaModel, u32)> {
        self.media.as_ref().map(|media| (&media.model, media.reserve_blocks))
    }

    /// How its wear is levelled.
    pub fn wear(&self) -> &WearChoice {
        &self.wear
    }

    /// All pages and blocks of the chip, also those in reserve.
    pub fn chip_geometry(&self) -> &Geometry {
        self.media.as_ref().map_or(&self.geometry, |media| &media.all)
    }

    /// The flash of a chip of this device, with the pages in `store`. Reads every spare area.
    ///
    /// # Errors
    /// The storage failed, or has another number of blocks.
    pub fn flash(&self, store: Box<dyn PageStore>) -> Result<FlashArray> {
        Ok(match self.media {
            Some(ReservedMedia { model, .. }) if self.handles_failures() => {
                FlashArray::from_store_on_raw_media(store, &model, self.seed)?
            }
            Some(ReservedMedia { model, reserve_blocks, .. }) => FlashArray::from_store_on_media(
                store,
                self.geometry,
                &model,
                reserve_blocks,
                self.seed,
            )?,
            None => FlashArray::from_store(store)?,
        })
    }

    /// The same device, whose wear is levelled by this policy.
    ///
    /// # Errors
    /// The policy moves data, and the media never fail, or are too small or too large for that; or
    /// the FTL is a guest, which levels its own wear.
    pub fn levelled_by(self, wear: WearChoice) -> Result<Device> {
        if wear.moves_data() {
            let refuse = |why: &str| Err(Error::Impossible(why.to_owned()));
            let Some(ReservedMedia { model, reserve_blocks, .. }) = &self.media else {
                return refuse(
                    "wear levelling that moves data needs blocks that can change places: give \
                     `--media real`, such as `real:factory_bad=0%,endurance=1M`, or take `--wear \
                     dynamic`",
                );
            };
            if self.choice.guest.is_some() {
                return refuse("a guest levels its own wear: leave out `--wear`");
            }
            Nand::check_levelling(&self.geometry, model, *reserve_blocks, self.seed)?;
        }
        Ok(Device { wear, ..self })
    }

    /// A factory-fresh chip, in memory.
    ///
    /// # Panics
    /// Never: its media could be made before.
    pub fn new_chip(&self, mode: Mode) -> Nand {
        match self.media {
            Some(ReservedMedia { model, .. }) if self.handles_failures() => {
                Nand::on_raw_media(self.geometry, mode, &model, self.seed)
            }
            Some(ReservedMedia { model, reserve_blocks, .. }) => {
                Nand::on_media(self.geometry, mode, &model, reserve_blocks, self.seed)
                    .expect("they could be made before")
            }
            None => Nand::new(self.geometry, mode),
        }
    }

    /// Mounts the media, if they can fail, and levels their wear. A mount of the device does so by
    /// itself; this is for whoever commands failures during it.
    ///
    /// # Errors
    /// They cannot be mounted.
    pub fn mount_media(&self, nand: &mut Nand) -> Result<()> {
        let mut endurance = self.chip.rated_cycles;
        if let Some(ReservedMedia { model, .. }) = &self.media {
            match self.handles_failures() {
                true => nand.mount_raw_media(model, self.seed),
                false => nand.mount_media(model, self.seed)?,
            }
            endurance = model.endurance;
        }
        nand.level_wear_by(&self.wear, endurance);
        Ok(())
    }

    /// Mounts the scheme and its layers on a chip of this device. A factory-fresh chip is
    /// formatted.
    ///
    /// # Errors
    /// They cannot be mounted.
    pub fn mount(&self, nand: &mut Nand) -> Result<Box<dyn Ftl>> {
        self.mount_media(nand)?;
        let config = MountConfig {
            params: &self.choice.params,
            logical_blocks: self.logical_blocks,
            blocks: &self.blocks,
            durability: self.durability,
            seed: self.seed,
            timing: self.chip.timing,
            policy: self.policy.as_deref(),
            foresight: self.foresight.as_deref(),
        };
        let Some(guest) = &self.choice.guest else {
            return self.layers.mount(self.choice.scheme, nand, &config);
        };
        let ftl = guest::mount(&**guest, nand, &config)?;
        nand.mounting().finish();
        Ok(ftl)
    }
}

/// The extra blocks that remain when the layers have taken theirs.
fn without(extra: u64, taken: u32) -> Result<u64> {
    extra.checked_sub(taken.into()).ok_or_else(|| {
        let why = format!(
            "the layers take {taken} blocks out of {extra} extra ones, which leaves none; give \
             more with `--extra`"
        );
        Error::Impossible(why)
    })
}

/// The trim log must be able to list the void pages of all blocks.
fn check_void_lists(chip: &ChipModel, logical_blocks: u32, blocks: u64) -> Result<()> {
    let max = blocks_max(chip, logical_blocks);
    match blocks <= max {
        true => Ok(()),
        false => Err(Error::Impossible(format!(
            "with `--durability full`, a capacity of {logical_blocks} blocks can have at most \
             {max} blocks in all, and this device has {blocks}; give fewer with `--extra`"
        ))),
    }
}

/// The bytes of a block.
pub fn block_bytes(chip: &ChipModel) -> u64 {
    u64::from(chip.page_bytes) * u64::from(chip.pages_per_block)
}

/// A number of blocks as 32 bits. `all` is the number of all blocks, whose pages must be numbered
/// by 32 bits, too.
fn number(chip: &ChipModel, blocks: u64, all: u64) -> Result<u32> {
    let pages = all.checked_mul(chip.pages_per_block.into());
    match pages.filter(|&pages| pages < u64::from(u32::MAX)) {
        Some(_) => Ok(blocks as u32),
        None => Err(Error::Impossible(format!(
            "{all} blocks of {} pages are more than 32-bit page numbers can count; take larger \
             pages, a smaller capacity, or `--fit compact`, which keeps only touched pages",
            chip.pages_per_block
        ))),
    }
}
