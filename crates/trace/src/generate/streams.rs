//! The engine of the calibrated workloads: streams of requests that take turns.
//!
//! ```text
//! space      | region  | region                  | region             | never touched   |
//! patterns     log ▶▶▶   spots ▪   ▪  ▪▪     ▪     runs  ▶▶▶    ▶▶▶▶▶
//! ```
//!
//! A workload is a table with four kinds of entries:
//!
//! * A *region* is a part of the space. Regions are adjacent; the rest of the space is never
//!   touched.
//! * A *stream* is one activity in a region. It has a share of the reads or of the writes, a
//!   pattern, and a distribution of request sizes.
//! * A *pattern* decides where the next request of a stream begins. *Spots*: at the start of a
//!   grain (a database page, a slot for a document), drawn from tiers of hot and cold grains
//!   scattered over the region. *Runs*: at the end of the previous request until the run is over,
//!   then anywhere in the region at a multiple of 4 KiB. *Log*: at the end of the previous request,
//!   and at the end of the region again from its start.
//! * A *turn* is the average number of consecutive requests of a stream with runs or a log. One
//!   stream of writes and one stream of reads have the turn at any time. Without turns, consecutive
//!   requests would almost never be sequential on the device.
//!
//! The lengths of turns and runs are geometrically distributed, so their ends are independent of
//! what happened before and no counters are needed: the only state is a position for each stream.
//! Regions are fractions of the space. If `writes` and `space` are divided by the same number, so
//! are the footprint and the write intervals; shares, sizes, skew and rewrites per page stay the
//! same.
//!
//! Hot pages stay hot. In captured TPC-C the intervals between the writes of a page vary no more
//! than those of a constant probability (docs/workloads.md).

use spec::{Param, Params};

use crate::generate::params::{
    ARRIVALS, CALIBRATED_READS, FLUSHES, INTERARRIVAL, REQUESTS, SEED, SPACE, START, WRITES,
};
use crate::generate::random::Random;
use crate::generate::tiers::Tiers;
use crate::generate::weighted_choice::WeightedChoice;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult};
use crate::request::{Op, SECTOR_BYTES};

/// The table of a calibrated workload.
pub(crate) struct Profile {
    /// Names of the regions and their sizes in ten-thousandths of the space, from its start.
    pub(crate) regions: &'static [(&'static str, u64)],
    pub(crate) writes: &'static [Stream],
    pub(crate) reads: &'static [Stream],
}

/// One activity in a region.
pub(crate) struct Stream {
    /// Its weight among the streams of the same operation.
    weight: u64,
    region: &'static str,
    pattern: Pattern,
    /// Pairs of weight and size in sectors.
    sizes: &'static [(u64, u64)],
}

/// A line in the table of a workload.
pub(crate) const fn stream(
    weight: u64,
    region: &'static str,
    pattern: Pattern,
    sizes: &'static [(u64, u64)],
) -> Stream {
    Stream { weight, region, pattern, sizes }
}

/// The rule for the start of the next request of a stream.
#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    /// The start of a grain of `grain` sectors; tiers are pairs of weight and part of the region.
    Spots { grain: u64, tiers: &'static [(u64, u64)] },
    /// The end of the previous request, for `requests` requests on average.
    Runs { requests: u64, turn: u64 },
    /// The end of the previous request, forever.
    Log { turn: u64 },
}

/// Tiers in which all spots are equally likely.
pub(crate) const EVEN: &[(u64, u64)] = &[(1, 1)];

/// The keys of a calibrated workload have these defaults.
pub(crate) struct Defaults {
    pub(crate) writes: &'static str,
    pub(crate) reads: &'static str,
    pub(crate) space: &'static str,
    pub(crate) start: &'static str,
}

impl Defaults {
    pub(crate) const fn params(self) -> [Param; 9] {
        [
            Param { default: self.writes, ..WRITES },
            REQUESTS,
            Param { default: self.reads, ..CALIBRATED_READS },
            Param { default: self.space, ..SPACE },
            Param { default: self.start, ..START },
            FLUSHES,
            INTERARRIVAL,
            ARRIVALS,
            SEED,
        ]
    }
}

/// The size of the space in the unit of regions.
const SPACE_PARTS: u64 = 10_000;
/// The alignment of regions and runs, in sectors from the start of the partition.
const RUN_GRAIN: u64 = 8;

/// The placement of a workload in the space given by `space=` and `start=`.
pub(crate) fn placement(
    profile: &Profile,
    params: &Params,
    device: &AddressSpace,
) -> PlacementResult {
    let (space, start) = (params.size(SPACE.name), params.size(START.name));
    let capacity = device.capacity_bytes;
    if space > capacity {
        return Err(format!(
            "space={space} is more than the {capacity} bytes of the device; \
             reduce it and `writes` by the same factor"
        ));
    }
    if !start.is_multiple_of(SECTOR_BYTES) || start >= space {
        return Err(format!(
            "start={start} is not a whole number of sectors of 512 bytes within space={space}"
        ));
    }
    let first = start / SECTOR_BYTES;
    let extents = extents(profile.regions, first, space / SECTOR_BYTES - first);
    let set = |streams| StreamSet::new(streams, &extents);
    match (set(profile.reads), set(profile.writes)) {
        (Some(reads), Some(writes)) => Ok(Box::new(StreamPlacement { reads, writes })),
        _ => Err(format!("space={space} is too small for this workload")),
    }
}

/// The position of a region, in sectors.
struct RegionExtent {
    region: &'static str,
    first: u64,
    sectors: u64,
}

fn extents(regions: &[(&'static str, u64)], first: u64, sectors: u64) -> Vec<RegionExtent> {
    let all: u64 = regions.iter().map(|(_, parts)| *parts).sum();
    assert!(all <= SPACE_PARTS, "regions of {all} parts in a space of {SPACE_PARTS}");
    let border = |parts| part_of(sectors, parts, SPACE_PARTS) / RUN_GRAIN * RUN_GRAIN;
    let mut before = 0;
    let mut extent = |&(region, parts): &(&'static str, u64)| {
        let begin = border(before);
        before += parts;
        RegionExtent { region, first: first + begin, sectors: border(before) - begin }
    };
    regions.iter().map(&mut extent).collect()
}

/// `parts` / `of` of a whole, rounded down.
fn part_of(whole: u64, parts: u64, of: u64) -> u64 {
    (u128::from(whole) * u128::from(parts) / u128::from(of)) as u64
}

/// The placement of a calibrated workload.
struct StreamPlacement {
    reads: StreamSet,
    writes: StreamSet,
}

impl Placement for StreamPlacement {
    #[inline]
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        let streams = match op {
            Op::Read => &mut self.reads,
            _ => &mut self.writes,
        };
        let (first, sectors) = streams.next(random);
        (first * SECTOR_BYTES, sectors * SECTOR_BYTES)
    }
}

/// The streams of one operation. One of them has the turn.
struct StreamSet {
    streams: Vec<RunningStream>,
    /// Draws the stream that gets the next turn: by its share of the requests over the length of
    /// its turns.
    turns: WeightedChoice<usize>,
    turn: usize,
}

/// Scales weights over turn lengths to whole numbers, exact to a millionth.
const TURN_SCALE: u64 = 1 << 20;

impl StreamSet {
    /// `None` if a region is too small for its streams.
    fn new(streams: &[Stream], extents: &[RegionExtent]) -> Option<StreamSet> {
        let running = |stream| RunningStream::new(stream, extents);
        let running: Vec<RunningStream> = streams.iter().map(running).collect::<Option<_>>()?;
        let chance = |(stream, running): (&Stream, &RunningStream)| {
            stream.weight * TURN_SCALE / running.turn
        };
        let chances = streams.iter().zip(&running).map(chance);
        let turns = WeightedChoice::new(chances.zip(0..));
        Some(StreamSet { streams: running, turns, turn: 0 })
    }

    #[inline]
    fn next(&mut self, random: &mut Random) -> (u64, u64) {
        if once_in(self.streams[self.turn].turn, random) {
            self.turn = self.turns.draw(random);
        }
        self.streams[self.turn].next(random)
    }
}

/// True with probability 1 / `mean`.
#[inline]
fn once_in(mean: u64, random: &mut Random) -> bool {
    mean == 1 || random.below(mean) == 0
}

/// A stream with its current position.
struct RunningStream {
    first: u64,
    sectors: u64,
    turn: u64,
    sizes: WeightedChoice<u64>,
    position: StreamPosition,
}

/// The current position of a pattern; `next` is the end of the previous request, counted from the
/// start of the region.
enum StreamPosition {
    Spots { grain: u64, tiers: Tiers },
    Runs { requests: u64, next: u64 },
    Log { next: u64 },
}

impl RunningStream {
    fn new(stream: &Stream, extents: &[RegionExtent]) -> Option<RunningStream> {
        let extent = extents.iter().find(|extent| extent.region == stream.region);
        let &RegionExtent { first, sectors, region } =
            extent.expect("streams are in known regions");
        let largest = stream.sizes.iter().map(|(_, size)| *size).max();
        if largest.unwrap_or_else(|| panic!("a stream in {region} has no sizes")) > sectors {
            return None;
        }
        let (position, turn) = match stream.pattern {
            Pattern::Spots { grain, tiers } => {
                let grains = sectors / grain;
                (
                    StreamPosition::Spots {
                        grain,
                        tiers: Tiers::new(grains, &ranks(tiers, grains)?),
                    },
                    1,
                )
            }
            // At the end of the region no request follows, so the first run starts anywhere.
            Pattern::Runs { requests, turn } => {
                (StreamPosition::Runs { requests, next: sectors }, turn)
            }
            Pattern::Log { turn } => (StreamPosition::Log { next: 0 }, turn),
        };
        let sizes = WeightedChoice::new(stream.sizes.iter().copied());
        Some(RunningStream { first, sectors, turn, sizes, position })
    }

    /// The first sector and the number of sectors of the next request.
    #[inline]
    fn next(&mut self, random: &mut Random) -> (u64, u64) {
        let size = self.sizes.draw(random);
        let last_start = self.sectors - size;
        let start = match &mut self.position {
            StreamPosition::Spots { grain, tiers } => (tiers.draw(random) * *grain).min(last_start),
            StreamPosition::Runs { requests, next } => {
                let over = once_in(*requests, random) || *next > last_start;
                let anywhere = last_start / RUN_GRAIN + 1;
                let start = if over { random.below(anywhere) * RUN_GRAIN } else { *next };
                *next = start + size;
                start
            }
            StreamPosition::Log { next } => {
                let start = if *next > last_start { 0 } else { *next };
                *next = start + size;
                start
            }
        };
        (self.first + start, size)
    }
}

/// Tiers as pairs of weight and number of grains; `None` if one would be empty.
fn ranks(tiers: &[(u64, u64)], grains: u64) -> Option<Vec<(u64, u64)>> {
    let whole: u64 = tiers.iter().map(|(_, parts)| *parts).sum();
    let mut before = 0;
    let tier = |&(weight, parts): &(u64, u64)| {
        let first = part_of(grains, before, whole);
        before += parts;
        let ranks = part_of(grains, before, whole) - first;
        (ranks > 0).then_some((weight, ranks))
    };
    tiers.iter().map(tier).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KIB: u64 = 1024;
    const DEVICE: AddressSpace =
        AddressSpace { capacity_bytes: 10_000 * 4 * KIB, page_bytes: 4096 };
    const LOG: Pattern = Pattern::Log { turn: 1 };

    static PARAMS: &[Param] = &[SPACE, START];

    fn params(space: u64, start: u64) -> Params {
        let pairs = [("space", space), ("start", start)];
        let pairs = pairs.map(|(key, bytes)| (key.to_owned(), bytes.to_string()));
        spec::resolve("a test", &pairs, PARAMS).unwrap()
    }

    /// The writes of a profile (first sector, sectors) over a space of 10,000 pages of 4 KiB, so
    /// that a part of the space is a page.
    fn writes(profile: &Profile, start: u64, count: usize) -> Vec<(u64, u64)> {
        let mut placed =
            placement(profile, &params(DEVICE.capacity_bytes, start), &DEVICE).unwrap();
        let mut random = Random::new(1);
        let place = |_| {
            let (offset, bytes) = placed.next_range(Op::Write, &mut random);
            (offset / SECTOR_BYTES, bytes / SECTOR_BYTES)
        };
        (0..count).map(place).collect()
    }

    fn one(pattern: Pattern, sizes: &'static [(u64, u64)]) -> [Stream; 1] {
        [Stream { weight: 1, region: "only", pattern, sizes }]
    }

    /// A profile whose second region of `pages` pages is written by one stream.
    fn alone(pages: u64, pattern: Pattern, sizes: &'static [(u64, u64)]) -> Profile {
        let regions = vec![("before", 7), ("only", pages)].leak();
        let writes = Box::leak(Box::new(one(pattern, sizes)));
        Profile { regions, writes, reads: Box::leak(Box::new(one(LOG, &[(1, 8)]))) }
    }

    /// By hand: the region has 16 sectors from sector 56. After two requests of 7, the remaining 2
    /// are too few for the next one.
    #[test]
    fn a_log_wraps_around_in_its_region() {
        let made = writes(&alone(2, LOG, &[(1, 7)]), 0, 5);
        assert_eq!(made, [(56, 7), (63, 7), (56, 7), (63, 7), (56, 7)]);
        // From sector 63 on there are 79,937 sectors. The region begins at 7 parts of them, 55,
        // rounded down to a page: 48. It ends at 9 parts, 71, rounded down: 64.
        let behind_sector_63 = writes(&alone(2, LOG, &[(1, 7)]), 63 * SECTOR_BYTES, 3);
        assert_eq!(behind_sector_63, [(111, 7), (118, 7), (111, 7)]);
    }

    #[test]
    fn runs_have_their_mean_length_and_start_anywhere() {
        let runs = Pattern::Runs { requests: 5, turn: 1 };
        let made = writes(&alone(1000, runs, &[(1, 16)]), 0, 100_000);
        let starts: Vec<u64> = std::iter::once(made[0].0)
            .chain(made.windows(2).filter(|two| two[1].0 != two[0].0 + 16).map(|two| two[1].0))
            .collect();
        let mean = made.len() as f64 / starts.len() as f64;
        // The end of the region cuts 2 in 1000 runs short.
        assert!((4.9..5.1).contains(&mean), "{mean} requests per run");
        assert!(starts.iter().all(|start| start.is_multiple_of(8)));
        let pages: std::collections::BTreeSet<_> = starts.iter().collect();
        assert_eq!(pages.len(), 999, "20,000 runs start at every page but the last");
    }

    #[test]
    fn spots_start_at_grains_and_tiers_get_their_shares() {
        let tiers = &[(75, 10), (25, 90)];
        let spots = Pattern::Spots { grain: 4, tiers };
        let made = writes(&alone(100, spots, &[(1, 3)]), 0, 100_000);
        let mut counts = [0u32; 200];
        for (start, size) in made {
            assert!(size == 3 && (start - 56).is_multiple_of(4), "{start}");
            counts[(start - 56) as usize / 4] += 1;
        }
        counts.sort_unstable_by(|a, b| b.cmp(a));
        let hot: u32 = counts[..20].iter().sum();
        assert!((74_000..76_000).contains(&hot), "75 % to 20 of 200 grains: {hot}");
        assert!(counts[199] > 80, "139 each on average: {}", counts[199]);
    }

    /// Three in a hundred requests are larger than the space after the last grain.
    #[test]
    fn no_request_leaves_its_region() {
        let spots = Pattern::Spots { grain: 8, tiers: EVEN };
        let runs = Pattern::Runs { requests: 3, turn: 1 };
        for pattern in [spots, runs, LOG] {
            let made = writes(&alone(100, pattern, &[(1, 3), (1, 31)]), 0, 10_000);
            assert!(made.iter().all(|(start, size)| *start >= 56 && start + size <= 56 + 800));
        }
    }

    #[test]
    fn shares_of_requests_do_not_depend_on_turns() {
        static WRITES: &[Stream] = &[
            Stream {
                weight: 30,
                region: "log",
                pattern: Pattern::Log { turn: 10 },
                sizes: &[(1, 1)],
            },
            Stream {
                weight: 70,
                region: "rest",
                pattern: Pattern::Spots { grain: 8, tiers: EVEN },
                sizes: &[(1, 2), (3, 4)],
            },
        ];
        let regions = &[("log", 10), ("rest", 10)];
        let made = writes(&Profile { regions, writes: WRITES, reads: WRITES }, 0, 200_000);
        let log = made.iter().filter(|(_, size)| *size == 1).count();
        assert!((59_000..61_000).contains(&log), "30 %: {log}");
        let turns = made.windows(2).filter(|two| two[0].1 == 1 && two[1].1 != 1).count();
        // A turn of the log is followed by another one with probability 3/73, so it issues 10.4
        // requests in a row on average.
        let mean = log as f64 / turns as f64;
        assert!((10.1..10.8).contains(&mean), "{mean} requests in a row");
        let (small, large) = (made.iter().filter(|(_, size)| *size == 2).count(), 140_000.0 * 0.25);
        assert!((small as f64 / large - 1.0).abs() < 0.05, "sizes by weight: {small}");
    }

    #[test]
    fn spaces_that_are_too_small_are_refused() {
        let profile = alone(2, LOG, &[(1, 16)]);
        let refused =
            |space, start| placement(&profile, &params(space, start), &DEVICE).err().unwrap();
        assert!(placement(&profile, &params(DEVICE.capacity_bytes, 0), &DEVICE).is_ok());
        assert!(refused(DEVICE.capacity_bytes + 1, 0).contains("more than the 40960000 bytes"));
        assert!(refused(1 << 20, 100).contains("start=100 is not a whole number of sectors"));
        assert!(
            refused(1 << 20, 1 << 20).contains("start=1048576 is not a whole number of sectors")
        );
        // In half of the space the region has one page, but a request has two.
        assert!(refused(DEVICE.capacity_bytes / 2, 0).contains("too small"));
        let tiers = Pattern::Spots { grain: 8, tiers: &[(1, 1), (1, 9)] };
        let five = alone(5, tiers, &[(1, 8)]);
        let error = placement(&five, &params(DEVICE.capacity_bytes, 0), &DEVICE).err().unwrap();
        assert!(error.contains("too small"), "a tenth of five grains is none: {error}");
    }
}
