//! The device of a run: the setup's, with room for its trace.

use ftl::device::{self, Device, Size};
use nand::{ChipModel, Mode};

use crate::config::experiment::Experiment;
use crate::config::setup::Setup;
use crate::config::values::Extra;
use crate::error::{Error, Result};

/// The device of a setup; unless the setup has a capacity, it has room for `needed_bytes`.
///
/// # Errors
/// A device that cannot exist, or that the scheme refuses.
pub fn of(setup: &Setup, needed_bytes: u64) -> Result<Device> {
    let Setup { experiment, chip, ftl: choice, layers, .. } = setup.clone();
    let capacity_bytes = experiment.capacity_bytes.unwrap_or(needed_bytes);
    let logical_blocks = logical_blocks(&chip, capacity_bytes)?;
    let extra_blocks = Extra::of(experiment.extra, logical_blocks);
    let size = Size { logical_blocks, extra_blocks };
    let seed = experiment.seed;
    let device = Device::new(chip, choice, layers, size, experiment.durability, seed)?;
    let device = match setup.media {
        None => device,
        Some(model) => {
            let blocks = u64::from(device.geometry().blocks());
            let reserve = match experiment.reserve {
                Some(reserve) => Extra::of(Some(reserve), blocks),
                None => blocks.div_ceil(RESERVE_ONE_IN),
            };
            device.on_media(model, reserve)?
        }
    };
    Ok(device.levelled_by(setup.wear.clone())?)
}

/// What the chip of a run keeps of its pages. To know which of them cannot be read, it must keep
/// something.
pub fn chip_mode(device: &Device, experiment: &Experiment) -> Mode {
    let reads_fail = device.media().is_some_and(|(model, _)| model.reads_fail());
    if experiment.verify || reads_fail { Mode::Stamps } else { Mode::Count }
}

/// The blocks of a device for each of which one is in reserve, by default: 2 %.
const RESERVE_ONE_IN: u64 = 50;

/// The number of blocks that a capacity needs.
///
/// # Errors
/// The capacity is 0.
pub fn logical_blocks(chip: &ChipModel, capacity_bytes: u64) -> Result<u64> {
    match capacity_bytes.div_ceil(device::block_bytes(chip)) {
        0 => Err(Error::Impossible(
            "the trace touches no page, so it needs a device of capacity 0; give `--capacity`"
                .into(),
        )),
        blocks => Ok(blocks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::experiment::Experiment;
    use ftl::Durability;

    fn device(change: impl Fn(&mut Experiment), needed_bytes: u64) -> Result<Device> {
        let mut experiment = Experiment::default();
        change(&mut experiment);
        of(&Setup::new(&experiment)?, needed_bytes)
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

    /// The shelter adds nine bytes to the scheme bytes of a page that it copies.
    #[test]
    fn every_scheme_refuses_spare_areas_without_room_for_copies_of_paired_pages() {
        let of = |scheme: &str, spare: u32, durability| {
            let chip = format!("slc-lsb:cell_bits=2,pair_distance=4,spare={spare}");
            let change = |e: &mut Experiment| {
                (e.ftl, e.chip) = (scheme.parse().unwrap(), chip.parse().unwrap());
                e.durability = durability;
            };
            device(change, 32 << 20).map(|_| ()).map_err(|error| error.to_string())
        };
        for scheme in ftl::SCHEMES.iter().map(|scheme| scheme.name) {
            let is_accepted = |spare: &u32| of(scheme, *spare, Durability::Full).is_ok();
            let least = (20..256).find(is_accepted).unwrap();
            let paper = (20..256).find(|&spare| of(scheme, spare, Durability::Paper).is_ok());
            assert_eq!(paper, Some(least - 9), "{scheme}");
            let why = of(scheme, least - 1, Durability::Full).unwrap_err();
            assert!(why.contains(&format!("give the chip `spare={least}`")), "{why}");
            assert!(why.ends_with("or use `--durability paper`"), "{why}");
        }
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
