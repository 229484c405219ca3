//! Algorithm 1 of the paper: the side where a byte would save more grows (adaptive partitioning,
//! §III.C).
//!
//! The gain of a side is the cost of the misses that its ghost's hits stand for, divided by the
//! bytes that the ghost's entries would take. A step is one unit times the ratio of the two gains.

use nand::Geometry;
use spec::Params;

use crate::contract::{MapBudget, MissCosts, MountConfig};
use crate::layer::partitioner::ghost_map::GhostMap;

/// Bytes of the budget per bit of the bitmap.
const BYTES_A_GHOST_BIT: u64 = 8;
/// The bits of the bitmap have numbers of 32 bits, and there is a power of two of them.
pub const DRAM_MAX: u64 = BYTES_A_GHOST_BIT << 31;

/// The ghost of the map, and the steps of the boundary. The buffer has its own ghost.
pub struct Algorithm1 {
    /// The ghost of the map.
    pub ghost: GhostMap,
    unit: u64,
    max_step: u64,
}

/// The result of a tuning, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tuning {
    /// The boundary stays.
    Stay,
    /// The map gets more.
    MapGrows(u64),
    /// The buffer gets more.
    BufferGrows(u64),
}

impl Tuning {
    /// What brings the boundary from one place to another.
    pub fn towards(target: u64, mapping: u64) -> Tuning {
        match target {
            _ if target > mapping => Tuning::MapGrows(target - mapping),
            _ if target < mapping => Tuning::BufferGrows(mapping - target),
            _ => Tuning::Stay,
        }
    }
}

/// The cost-benefit ratio of both sides: saved nanoseconds per byte of their ghosts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostBenefit {
    /// That of the buffer.
    pub buffer: f64,
    /// That of the map.
    pub map: f64,
}

impl CostBenefit {
    /// Computes both ratios from the read and write hits in ghosts of these sizes.
    pub fn new(
        costs: &MissCosts,
        [buffer_reads, buffer_writes]: [u64; 2],
        buffer_bytes: u64,
        [map_reads, map_writes]: [u64; 2],
        map_bytes: u64,
    ) -> CostBenefit {
        let profit = |reads: u64, read_ns, writes: u64, write_ns| {
            reads as f64 * read_ns + writes as f64 * write_ns
        };
        let by = |profit: f64, bytes: u64| if bytes == 0 { 0.0 } else { profit / bytes as f64 };
        let MissCosts { map_read_ns, map_write_ns, buffer_read_ns, buffer_write_ns } = *costs;
        let buffer = profit(buffer_reads, buffer_read_ns, buffer_writes, buffer_write_ns);
        let map = profit(map_reads, map_read_ns, map_writes, map_write_ns);
        CostBenefit { buffer: by(buffer, buffer_bytes), map: by(map, map_bytes) }
    }
}

impl Algorithm1 {
    /// The ghost is empty.
    pub fn new(
        budget: &MapBudget,
        geometry: &Geometry,
        device: &MountConfig,
        params: &Params,
        max_step: u64,
    ) -> Algorithm1 {
        Algorithm1 {
            ghost: GhostMap::new(Self::ghost_bits(params), params.count("alpha"), device.seed),
            unit: (budget.unit_bytes)(geometry),
            max_step,
        }
    }

    /// Bits of the map's ghost, before they are rounded up to a power of two.
    pub fn ghost_bits(params: &Params) -> u64 {
        params.size("dram") / BYTES_A_GHOST_BIT
    }

    /// Which side grows, and by how much, within the room that is left.
    pub fn decide(&self, earns: CostBenefit, mapping: u64, dram: u64) -> Tuning {
        let CostBenefit { buffer, map } = earns;
        if map > buffer {
            Tuning::MapGrows(self.step(map / buffer).min(dram - mapping))
        } else if buffer > map {
            Tuning::BufferGrows(self.step(buffer / map).min(mapping))
        } else {
            Tuning::Stay
        }
    }

    /// The size of a step: the unit times the ratio, rounded down. It is at most `max_step`, and
    /// exactly that if the other side would save nothing.
    fn step(&self, ratio: f64) -> u64 {
        (self.unit as f64 * ratio.floor()).min(self.max_step as f64) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(unit: u64, max_step: u64) -> Algorithm1 {
        Algorithm1 { ghost: GhostMap::new(2, 3, 0), unit, max_step }
    }

    #[test]
    fn profits_are_hits_times_costs_over_the_bytes_of_the_ghost() {
        let costs = MissCosts {
            map_read_ns: 10.0,
            map_write_ns: 20.0,
            buffer_read_ns: 30.0,
            buffer_write_ns: 40.0,
        };
        let earns = CostBenefit::new(&costs, [1, 2], 110, [3, 4], 220);
        assert_eq!(earns, CostBenefit { buffer: 1.0, map: 0.5 });
        let empty = CostBenefit::new(&costs, [1, 2], 0, [3, 4], 0);
        assert_eq!(empty, CostBenefit { buffer: 0.0, map: 0.0 });
    }

    #[test]
    fn the_side_where_a_byte_earns_more_grows_by_whole_units() {
        let decide =
            |buffer, map, mapping| rule(8, 100).decide(CostBenefit { buffer, map }, mapping, 1000);
        assert_eq!(decide(1.0, 1.0, 500), Tuning::Stay);
        assert_eq!(decide(0.0, 0.0, 500), Tuning::Stay);
        assert_eq!(decide(1.0, 2.9, 500), Tuning::MapGrows(16));
        assert_eq!(decide(3.0, 2.9, 500), Tuning::BufferGrows(8));
        // A tuning moves at most a step, also if the ratio is infinite, and never beyond an end.
        assert_eq!(decide(1.0, 1e9, 500), Tuning::MapGrows(100));
        assert_eq!(decide(0.5, 0.0, 500), Tuning::BufferGrows(100));
        assert_eq!(decide(0.5, 0.0, 30), Tuning::BufferGrows(30));
        assert_eq!(decide(0.0, 0.5, 990), Tuning::MapGrows(10));
    }

    #[test]
    fn a_maximum_below_one_unit_is_the_step() {
        let earns = CostBenefit { buffer: 1.0, map: 5.0 };
        assert_eq!(rule(256, 81).decide(earns, 0, 1000), Tuning::MapGrows(81));
    }
}
