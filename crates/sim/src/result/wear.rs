//! The wear of the blocks, and how long the flash would last.

use serde::Serialize;

use crate::result::record::{Columns, Share, record};

record! {
    /// Erases of the blocks since the device was new.
    #[derive(Clone, Debug, PartialEq)]
    pub struct WearPart {
        pub min: u32,
        pub max: u32,
        pub mean: f64,
        pub stddev: f64,
        pub cv: f64,
        pub gini: Share,
        pub map: WearMap,
    }
}

/// Erases of the blocks in the order of their numbers; neighbours are added up in cells.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[expect(missing_docs, reason = "docs/results.md documents every field of a result")]
pub struct WearMap {
    pub blocks: u64,
    /// Blocks in a cell; the last cell may have fewer.
    pub blocks_per_cell: u64,
    /// The erases of each cell.
    pub erases: Vec<u64>,
}

/// JSON text.
impl Columns for WearMap {}

impl WearMap {
    /// The largest number of cells, so that results of large devices stay small.
    const CELLS_MAX: usize = 512;

    fn of(wear: &[u32]) -> WearMap {
        let blocks_per_cell = wear.len().div_ceil(Self::CELLS_MAX);
        let sum = |cell: &[u32]| cell.iter().map(|&erases| u64::from(erases)).sum();
        WearMap {
            blocks: wear.len() as u64,
            blocks_per_cell: blocks_per_cell as u64,
            erases: wear.chunks(blocks_per_cell).map(sum).collect(),
        }
    }
}

impl WearPart {
    /// The wear of the blocks of a chip; there is at least one.
    pub fn of(wear: &[u32]) -> WearPart {
        let count = wear.len() as f64;
        let sum: u64 = wear.iter().map(|&erases| u64::from(erases)).sum();
        let mean = sum as f64 / count;
        let squares: f64 = wear.iter().map(|&erases| (f64::from(erases) - mean).powi(2)).sum();
        let (min, max) = wear.iter().fold((u32::MAX, 0), |(min, max), &n| (min.min(n), max.max(n)));
        let (stddev, map) = ((squares / count).sqrt(), WearMap::of(wear));
        let cv = if sum == 0 { 0.0 } else { stddev / mean };
        WearPart { min, max, mean, stddev, cv, gini: Share(gini(wear)), map }
    }
}

/// The Gini coefficient: the mean difference of two blocks, as a share of twice the mean. It is 0
/// if all blocks have the same wear, and nearly 1 if one has all of it.
fn gini(wear: &[u32]) -> f64 {
    let mut sorted = wear.to_vec();
    sorted.sort_unstable();
    let (count, sum) = (wear.len() as f64, wear.iter().map(|&it| f64::from(it)).sum::<f64>());
    if sum == 0.0 {
        return 0.0;
    }
    let ranked = (1_u32..).zip(sorted);
    let ranks: f64 = ranked.map(|(rank, erases)| f64::from(rank) * f64::from(erases)).sum();
    // Rounding must not make an even wear negative.
    (2.0 * ranks / (count * sum) - (count + 1.0) / count).max(0.0)
}

record! {
    /// How long the flash would last under this load if all blocks wore out evenly.
    #[derive(Clone, Copy, Debug, PartialEq)]
    pub struct EndurancePart {
        /// Erases for which a block is rated.
        pub cycles: u32,
        /// cycles × bytes of all physical blocks ÷ `write_amplification_bytes`; null without
        /// writes, and if the measured pass programmed fewer pages than the extra blocks hold.
        pub host_bytes_until_worn: Option<u64>,
        /// The same as a multiple of the capacity.
        pub drive_writes: Option<f64>,
    }
}

impl EndurancePart {
    /// Computes the endurance from the rated cycles, the size of the flash, and the bytes
    /// programmed for a byte of the host.
    pub fn new(
        cycles: u32,
        physical_bytes: u64,
        capacity_bytes: u64,
        write_amplification_bytes: Option<f64>,
    ) -> EndurancePart {
        let flash_bytes = f64::from(cycles) * physical_bytes as f64;
        let host_bytes = write_amplification_bytes.filter(|&cost| cost > 0.0);
        let host_bytes = host_bytes.map(|cost| (flash_bytes / cost) as u64);
        let drive_writes = host_bytes.map(|bytes| bytes as f64 / capacity_bytes as f64);
        EndurancePart { cycles, host_bytes_until_worn: host_bytes, drive_writes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endurance_is_cycles_times_flash_over_the_cost_of_a_byte() {
        let part = EndurancePart::new(1000, 2_000_000, 1_000_000, Some(4.0));
        assert_eq!(part.host_bytes_until_worn, Some(500_000_000));
        assert_eq!(part.drive_writes, Some(500.0));
        assert_eq!(EndurancePart::new(1, 1, 1, Some(0.0)).host_bytes_until_worn, None);
        assert_eq!(EndurancePart::new(1, 1, 1, None).drive_writes, None);
    }

    #[test]
    fn wear_is_described_by_its_spread() {
        let wear = WearPart::of(&[2, 4, 4, 4, 5, 5, 7, 9]);
        assert_eq!((wear.min, wear.max, wear.mean, wear.stddev), (2, 9, 5.0, 2.0));
        assert_eq!((wear.map.blocks_per_cell, wear.map.erases.len()), (1, 8));
        assert!((wear.cv - 0.4).abs() < 1e-12);
        let gini = |wear: &[u32]| {
            let sum: f64 = wear.iter().map(|&it| f64::from(it)).sum();
            let differences: f64 = wear
                .iter()
                .flat_map(|&one| wear.iter().map(move |&other| f64::from(one.abs_diff(other))))
                .sum();
            differences / (2.0 * wear.len() as f64 * sum)
        };
        for even_or_not in [&[2, 4, 4, 4, 5, 5, 7, 9][..], &[0, 0, 0, 4], &[3, 3, 3], &[7]] {
            let part = WearPart::of(even_or_not);
            assert!((part.gini.0 - gini(even_or_not)).abs() < 1e-12, "{even_or_not:?}: {part:?}");
        }
        assert_eq!((WearPart::of(&[0, 0]).cv, WearPart::of(&[0, 0]).gini), (0.0, Share(0.0)));
    }

    #[test]
    fn a_large_device_has_as_many_cells_as_fit_and_no_erase_is_lost() {
        let erases: Vec<u32> = (0..1300).collect();
        let map = WearMap::of(&erases);
        assert_eq!((map.blocks, map.blocks_per_cell, map.erases.len()), (1300, 3, 434));
        assert_eq!((map.erases[1], map.erases[433]), (3 + 4 + 5, 1299));
        assert_eq!(map.erases.iter().sum::<u64>(), 1300 * 1299 / 2);
    }
}
