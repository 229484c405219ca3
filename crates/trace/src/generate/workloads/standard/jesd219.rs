//! jesd219: the enterprise workload by which the endurance of drives is rated.
//!
//! ```text
//! space      | first 5 % | next 15 % | other 80 %                                             |
//! requests      50 %        30 %        20 %
//! ```
//!
//! JEDEC's standard JESD219 defines it; manufacturers state TBW and DWPD for it. We follow
//! secondary sources, not the text of the standard: an article of Tom's Hardware on endurance
//! workloads gives sizes and places, and the example `jesd219.fio` of fio gives the same with 40 %
//! reads. Sizes and places are independent of each other, and reads are placed like writes.
//!
//! Requests of 4 KiB and more start at a multiple of 4 KiB. A smaller one lies within 4 KiB, at any
//! sector; fio's example starts these at multiples of 4 KiB, too. No request leaves its part of the
//! space, so the shares of the parts are exact.

use spec::{Param, Params};

use crate::generate::params::{ARRIVALS, INTERARRIVAL, READS, REQUESTS, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::weighted_choice::WeightedChoice;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::{Op, SECTOR_BYTES};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "jesd219",
    summary: "JEDEC's enterprise workload, by which the endurance of drives is rated",
    source: "JESD219 after secondary sources: Tom's Hardware, and fio's example jesd219.fio",
    params: &[WRITES, REQUESTS, MIXED_READS, INTERARRIVAL, ARRIVALS, SEED],
    placement,
};

const MIXED_READS: Param = Param { default: "40%", ..READS };

/// Pairs of percent of the requests and size in sectors.
const SIZES: &[(u64, u64)] = &[
    (4, 1),
    (1, 2),
    (1, 3),
    (1, 4),
    (1, 5),
    (1, 6),
    (1, 7),
    (67, 8),
    (10, 16),
    (7, 32),
    (3, 64),
    (3, 128),
];
const SECTORS_MAX: u64 = 128;

/// Pairs of percent of the requests and percent of the space, from its start.
const ZONES: [(u64, u64); 3] = [(50, 5), (30, 15), (20, 80)];

/// The alignment of requests, in sectors.
const GRAIN: u64 = 8;

fn placement(_: &Params, space: &AddressSpace) -> PlacementResult {
    let grains = space.capacity_bytes / (GRAIN * SECTOR_BYTES);
    let border = |percent: u64| (u128::from(grains) * u128::from(percent) / 100) as u64;
    let mut before = 0;
    let zones = ZONES.map(|(weight, percent)| {
        let first = border(before);
        before += percent;
        (weight, Zone { first, grains: border(before) - first })
    });
    // The first part is the smallest.
    if zones[0].1.grains * GRAIN < SECTORS_MAX {
        return Err(format!(
            "a space of {} bytes is too small: its first 5 % must have room for a request of 64 \
             KiB",
            space.capacity_bytes
        ));
    }
    let (sizes, zones) = (SIZES.iter().copied(), zones.into_iter());
    Ok(Box::new(Jesd219 { sizes: WeightedChoice::new(sizes), zones: WeightedChoice::new(zones) }))
}

struct Jesd219 {
    sizes: WeightedChoice<u64>,
    zones: WeightedChoice<Zone>,
}

/// A part of the space, in grains.
#[derive(Clone, Copy)]
struct Zone {
    first: u64,
    grains: u64,
}

impl Placement for Jesd219 {
    #[inline]
    fn next_range(&mut self, _: Op, random: &mut Random) -> (u64, u64) {
        let (zone, sectors) = (self.zones.draw(random), self.sizes.draw(random));
        let starts = zone.grains - sectors.div_ceil(GRAIN) + 1;
        let grain = zone.first + random.below(starts);
        let within = match sectors {
            ..GRAIN => random.below(GRAIN - sectors + 1),
            _ => 0,
        };
        ((grain * GRAIN + within) * SECTOR_BYTES, sectors * SECTOR_BYTES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{SPACE, assert_fingerprint, assert_refused, requests};
    use crate::request::Request;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 2_958_914_915_779_136_595);
    }

    #[test]
    fn sizes_have_their_shares_among_reads_and_writes() {
        let made = requests("jesd219:requests=400K", 1);
        for op in [Op::Read, Op::Write] {
            let of_op: Vec<_> = made.iter().filter(|request| request.op == op).collect();
            let of_size = |bytes| of_op.iter().filter(|request| request.bytes == bytes).count();
            let share = |bytes| 100.0 * of_size(bytes) as f64 / of_op.len() as f64;
            let kib = |half: u64| share(half * 512);
            let expected = [
                (1, 4.0),
                (2, 1.0),
                (3, 1.0),
                (4, 1.0),
                (5, 1.0),
                (6, 1.0),
                (7, 1.0),
                (8, 67.0),
                (16, 10.0),
                (32, 7.0),
                (64, 3.0),
                (128, 3.0),
            ];
            for (sectors, percent) in expected {
                let found = kib(sectors);
                assert!((found - percent).abs() < 0.35, "{op:?}, {sectors} sectors: {found} %");
            }
            let listed: usize = expected.iter().map(|(sectors, _)| of_size(sectors * 512)).sum();
            assert_eq!(listed, of_op.len(), "there are no other sizes");
        }
        assert_eq!(made.iter().filter(|request| request.op == Op::Read).count(), 160_000);
    }

    #[test]
    fn half_of_the_requests_go_to_the_first_twentieth_of_the_space() {
        let made = requests("jesd219:requests=400K", 1);
        let percent = |p: u64| SPACE.capacity_bytes * p / 100 / 4096 * 4096;
        for op in [Op::Read, Op::Write] {
            let of_op: Vec<_> = made.iter().filter(|request| request.op == op).collect();
            for (from, to, share) in [(0, 5, 0.5), (5, 20, 0.3), (20, 100, 0.2)] {
                let inside = |request: &&&Request| {
                    request.offset >= percent(from) && request.end() <= percent(to)
                };
                let found = of_op.iter().filter(inside).count() as f64 / of_op.len() as f64;
                assert!((found - share).abs() < 0.004, "{op:?} in {from} to {to} %: {found}");
            }
        }
    }

    #[test]
    fn requests_are_aligned_and_reach_every_place_of_their_part() {
        let made = requests("jesd219:requests=400K", 1);
        let aligned = |request: &Request| request.offset.is_multiple_of(4096);
        assert!(made.iter().filter(|request| request.bytes >= 4096).all(aligned));
        let small = || made.iter().filter(|request| request.bytes < 4096);
        let within = |request: &Request| request.offset % 4096 + request.bytes <= 4096;
        assert!(small().all(within));
        let sectors: std::collections::BTreeSet<_> = small().map(|r| r.offset % 4096).collect();
        assert_eq!(sectors.len(), 8);
        // 134,000 requests of 4 KiB to the 819 grains of the first part.
        let hot = SPACE.capacity_bytes * 5 / 100 / 4096;
        let mut counts = vec![0u32; hot as usize];
        for request in made.iter().filter(|request| request.bytes == 4096) {
            if let Some(count) = counts.get_mut((request.offset / 4096) as usize) {
                *count += 1;
            }
        }
        assert!(counts.iter().all(|count| (90..240).contains(count)), "{counts:?}");
    }

    #[test]
    fn a_space_without_room_for_the_largest_request_is_refused() {
        assert_refused(&[("jesd219:reads=120%", "workload jesd219: reads=120%")]);
        let placed = |capacity_bytes| {
            let space = AddressSpace { capacity_bytes, page_bytes: 4096 };
            let params = WORKLOAD.resolve(&[]).unwrap();
            placement(&params, &space).map(|_| ())
        };
        let least = 20 * (64 << 10);
        assert_eq!(placed(least), Ok(()));
        let error = placed(least - 4096).unwrap_err();
        assert!(error.contains("first 5 % must have room"), "{error}");
    }
}
