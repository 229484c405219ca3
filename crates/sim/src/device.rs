//! The layout of the physical blocks.
//!
//! ```text
//! block 0 …            logical + extra …        … last
//! [ capacity, rounded up │ extra blocks ][ layers ][ system blocks ]
//! ```
//! Every scheme gets exactly the same physical space. The blocks of a layer, such as the sector
//! log, are added to it, unless the layer is told to take them from the extra blocks. System blocks
//! hold what only `--durability full` needs; they are added and never taken from the extra blocks.
//! With `--durability paper` there are none.

use ftl::layer::LayerBlocks;
use ftl::{Choice, Ftl, Layers};
use nand::{BlockId, ChipModel, Geometry, Mode, Nand};

use crate::config::setup::Setup;
use crate::config::values::Extra;
use crate::error::{Error, Result};

/// The plan of a device that its scheme has accepted; [`Device::build`] builds it.
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
    pub durability: ftl::Durability,
    /// Seed of everything that the scheme draws at random.
    pub seed: u64,
    geometry: Geometry,
}

impl Device {
    /// The device of a setup; unless the setup has a capacity, it has room for `needed_bytes`.
    ///
    /// # Errors
    /// A device that cannot exist, or that the scheme refuses.
    pub fn new(setup: &Setup, needed_bytes: u64) -> Result<Device> {
        let Setup { experiment, chip, ftl: choice, layers, .. } = setup.clone();
        let durability = ftl::Durability::from(experiment.durability);
        let capacity_bytes = experiment.capacity_bytes.unwrap_or(needed_bytes);
        let logical = logical_blocks(&chip, capacity_bytes)?;
        let extra = Extra::of(experiment.extra, logical);
        let logical_blocks = number(&chip, logical, logical)?;
        let system_blocks = ftl::system_blocks(&chip, logical_blocks, durability);
        let LayerBlocks { blocks: layer_blocks, added } = layers.blocks(&chip);
        let extra = without(extra, layer_blocks - added)?;
        let blocks = logical.saturating_add(extra).saturating_add(layer_blocks.into());
        if durability == ftl::Durability::Full {
            check_void_lists(&chip, logical_blocks, blocks)?;
        }
        let blocks = blocks.saturating_add(system_blocks.into());
        let geometry = chip.geometry(number(&chip, blocks, blocks)?)?;
        let extra_blocks = number(&chip, extra, blocks)?;
        choice.check(&chip, logical_blocks, extra_blocks)?;
        let seed = experiment.seed;
        Ok(Device {
            chip,
            choice,
            layers,
            logical_blocks,
            extra_blocks,
            layer_blocks,
            system_blocks,
            durability,
            seed,
            geometry,
        })
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

    /// A factory-fresh chip with the scheme mounted on it, and the layers above that.
    ///
    /// # Errors
    /// They cannot be mounted.
    pub fn build(&self, mode: Mode) -> Result<(Nand, Box<dyn Ftl>)> {
        let mut nand = Nand::new(self.geometry, mode);
        let blocks: Vec<BlockId> = (0..self.geometry.blocks()).map(BlockId).collect();
        let device = ftl::MountConfig {
            params: &self.choice.params,
            logical_blocks: self.logical_blocks,
            blocks: &blocks,
            durability: self.durability,
            seed: self.seed,
            timing: self.chip.timing,
        };
        let ftl = self.layers.mount(self.choice.scheme, &mut nand, &device)?;
        Ok((nand, ftl))
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
    let max = ftl::blocks_max(chip, logical_blocks);
    match blocks <= max {
        true => Ok(()),
        false => Err(Error::Impossible(format!(
            "with `--durability full`, a capacity of {logical_blocks} blocks can have at most \
             {max} blocks in all, and this device has {blocks}; give fewer with `--extra`"
        ))),
    }
}

/// The number of blocks that a capacity needs.
///
/// # Errors
/// The capacity is 0.
pub fn logical_blocks(chip: &ChipModel, capacity_bytes: u64) -> Result<u64> {
    match capacity_bytes.div_ceil(block_bytes(chip)) {
        0 => Err(Error::Impossible(
            "the trace touches no page, so it needs a device of capacity 0; give `--capacity`"
                .into(),
        )),
        blocks => Ok(blocks),
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::choices::Durability;
    use crate::config::experiment::Experiment;

    fn device(change: impl Fn(&mut Experiment), needed_bytes: u64) -> Result<Device> {
        let mut experiment = Experiment::default();
        change(&mut experiment);
        Device::new(&Setup::new(&experiment)?, needed_bytes)
    }

    #[test]
    fn capacity_is_rounded_up_to_the_block_and_extra_comes_on_top() {
        let block = 128 * 1024;
        let device = device(|e| e.extra = Some("7%".parse().unwrap()), 99 * block + 1).unwrap();
        assert_eq!((device.logical_blocks, device.extra_blocks), (100, 7));
        assert_eq!((device.system_blocks, device.geometry().blocks()), (0, 107));
        assert_eq!(device.capacity_bytes(), 100 * block);
    }

    #[test]
    fn full_durability_adds_system_blocks() {
        let full = |e: &mut Experiment| e.durability = Durability::Full;
        let device = device(full, 1 << 30).unwrap();
        assert!(device.system_blocks > 0);
        assert_eq!(device.extra_blocks, 574, "7 % of 8192, as without system blocks");
    }

    #[test]
    fn full_durability_limits_the_extra_blocks_to_what_its_lists_can_hold() {
        let with_extra = |percent: &str, durability| {
            let change = |e: &mut Experiment| {
                e.extra = Some(percent.parse().unwrap());
                e.durability = durability;
            };
            device(change, 1 << 30).map(|_| ())
        };
        with_extra("100%", Durability::Full).unwrap();
        with_extra("1000%", Durability::Paper).unwrap();
        let why = with_extra("1000%", Durability::Full).unwrap_err().to_string();
        assert!(why.contains("at most 4") && why.ends_with("`--extra`"), "{why}");
    }

    #[test]
    fn impossible_devices_say_why() {
        let why = |change: fn(&mut Experiment), bytes| {
            let error = device(change, bytes).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.to_string()
        };
        assert!(why(|_| (), 0).contains("capacity 0"));
        assert!(why(|_| (), u64::MAX).contains("32-bit"));
        assert!(why(|e| e.extra = Some(Extra::Blocks(u64::MAX)), 1).contains("32-bit"));
        let few = why(|e| e.extra = Some(Extra::Blocks(0)), 1 << 30);
        assert!(few.starts_with("page needs at least"), "{few}");
        assert!(few.ends_with("this device has 0"), "{few}");
    }
}
