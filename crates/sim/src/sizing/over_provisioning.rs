//! Over-provisioning is quoted in two ways, which are easily confused.

use serde::Serialize;

/// The share of the flash that the host does not see. T is the flash, U what the host sees.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OverProvisioning {
    /// (T − U) / U: `--extra`, and what most data sheets mean.
    pub of_capacity: f64,
    /// (T − U) / T: the spare factor of many papers.
    pub of_flash: f64,
}

impl OverProvisioning {
    /// The over-provisioning of a device. The caller guarantees that it has logical blocks.
    pub fn of_blocks(logical_blocks: u64, extra_blocks: u64) -> OverProvisioning {
        OverProvisioning::of_extra(extra_blocks as f64 / logical_blocks as f64)
    }

    /// Both definitions, from (T − U) / U.
    pub fn of_extra(share: f64) -> OverProvisioning {
        OverProvisioning { of_capacity: share, of_flash: share / (1.0 + share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_device_has_two_figures() {
        let found = OverProvisioning::of_blocks(100, 25);
        assert_eq!((found.of_capacity, found.of_flash), (0.25, 0.2));
    }
}
