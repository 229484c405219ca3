//! The engine below the calibrated workloads: streams that take turns over the regions of a space.
//!
//! ```text
//! space    | region   | region                     | region              | never touched    |
//! patterns   log ▶▶▶    spots  ▪   ▪  ▪▪     ▪       runs  ▶▶▶    ▶▶▶▶▶
//! streams    some write, some read; one of the writing and one of the reading ones has the turn
//! ```
//!
//! Four words are all there is, and a workload is a table of them:
//!
//! * A *region* is a part of the space. Regions lie side by side; what is left is never touched.
//! * A *stream* is one kind of activity in a region: its share of the reads or of the writes, its
//!   pattern, and the sizes of its requests, each drawn by weight.
//! * A *pattern* says where a stream's next request starts. *Spots*: at the start of a grain (a
//!   database page, a slot for a document), drawn from tiers of hot and cold ones, which lie
//!   scattered over the region. *Runs*: where the last request ended, until the run is over; then
//!   anywhere in the region, at a multiple of 4 KiB. *Log*: where the last one ended, and from the
//!   start of the region again at its end.
//! * A *turn* is how many requests a stream of runs or a log issues on average before another one
//!   may. Without turns no two requests in a row would follow each other on the device.
//!
//! Lengths of turns and runs have no memory (they are geometric), so neither needs a counter, and
//! the whole state is a place for each stream. Regions are parts of the space: when `writes` and
//! `space` are divided by one number, so are footprint and write intervals, while shares, sizes,
//! skew and the rewrites of a page stay what they are.
//!
//! Nothing drifts: in captured TPC-C the intervals between a page's writes spread no wider than
//! those of a steady chance do (docs/workloads.md), so hot pages stay hot.

use spec::Params;

use crate::generate::params::{SPACE, START};
use crate::generate::random::Random;
use crate::generate::tiers::Tiers;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult};
use crate::request::{Op, SECTOR_BYTES};

/// A load as a table.
pub(crate) struct Profile {
    /// Names and sizes, in ten-thousandths of the space, of what lies side by side from its start.
    pub(crate) regions: &'static [(&'static str, u64)],
    pub(crate) writes: &'static [Stream],
    pub(crate) reads: &'static [Stream],
}

/// One kind of activity.
pub(crate) struct Stream {
    /// Its share of the requests, by weight.
    pub(crate) weight: u64,
    pub(crate) region: &'static str,
    pub(crate) pattern: Pattern,
    /// Weights of sizes in sectors.
    pub(crate) sizes: &'static [(u64, u64)],
}

/// Where the next request of a stream starts.
#[derive(Clone, Copy)]
pub(crate) enum Pattern {
    /// At a grain of so many sectors; tiers are weights and parts of the region.
    Spots { grain: u64, tiers: &'static [(u64, u64)] },
    /// Where the last one ended, for so many requests on average.
    Runs { requests: u64, turn: u64 },
    /// Where the last one ended, for ever.
    Log { turn: u64 },
}

/// Spots that are equally likely.
pub(crate) const EVEN: &[(u64, u64)] = &[(1, 1)];

/// A whole space in the unit of regions.
const SPACE_PARTS: u64 = 10_000;
/// Regions and runs start at multiples of so many sectors behind the start of the partition.
const RUN_GRAIN: u64 = 8;

/// Lays a profile over the space that `space=` and `start=` say.
pub(crate) fn place(profile: &Profile, params: &Params, device: &AddressSpace) -> PlacementResult {
    let (space, start) = (params.size(SPACE.name), params.size(START.name));
    let capacity = device.capacity_bytes;
    if space > capacity {
        return Err(format!(
            "space={space} is more than the {capacity} bytes of the device; \
             scale it and `writes` down"
        ));
    }
    if !start.is_multiple_of(SECTOR_BYTES) || start >= space {
        return Err(format!(
            "start={start} is not whole sectors of 512 bytes within space={space}"
        ));
    }
    let first = start / SECTOR_BYTES;
    let areas = areas(profile.regions, first, space / SECTOR_BYTES - first);
    let side = |streams| StreamSet::new(streams, &areas);
    match (side(profile.reads), side(profile.writes)) {
        (Some(reads), Some(writes)) => Ok(Box::new(StreamPlacement { reads, writes })),
        _ => Err(format!("space={space} is too small for this load")),
    }
}

/// Where a region lies, in sectors.
struct RegionExtent {
    region: &'static str,
    first: u64,
    sectors: u64,
}

fn areas(regions: &[(&'static str, u64)], first: u64, sectors: u64) -> Vec<RegionExtent> {
    let all: u64 = regions.iter().map(|(_, parts)| *parts).sum();
    assert!(all <= SPACE_PARTS, "regions of {all} parts in a space of {SPACE_PARTS}");
    let border = |parts| part_of(sectors, parts, SPACE_PARTS) / RUN_GRAIN * RUN_GRAIN;
    let mut before = 0;
    let mut area = |&(region, parts): &(&'static str, u64)| {
        let begin = border(before);
        before += parts;
        RegionExtent { region, first: first + begin, sectors: border(before) - begin }
    };
    regions.iter().map(&mut area).collect()
}

/// `parts` of `of` parts of a whole, rounded down.
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
    fn place(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        let side = match op {
            Op::Read => &mut self.reads,
            _ => &mut self.writes,
        };
        let (first, sectors) = side.next(random);
        (first * SECTOR_BYTES, sectors * SECTOR_BYTES)
    }
}

/// The streams of one operation, one of which has the turn.
struct StreamSet {
    flows: Vec<RunningStream>,
    /// Who gets the next turn: by the share of the requests over the length of a turn.
    turns: WeightedChoice<usize>,
    turn: usize,
}

/// Makes whole numbers of weights over turns, exact to a millionth.
const TURN_SCALE: u64 = 1 << 20;

impl StreamSet {
    /// None if a region is too small for its streams.
    fn new(streams: &[Stream], areas: &[RegionExtent]) -> Option<StreamSet> {
        let flow = |stream| RunningStream::new(stream, areas);
        let flows: Vec<RunningStream> = streams.iter().map(flow).collect::<Option<_>>()?;
        let chance =
            |(stream, flow): (&Stream, &RunningStream)| stream.weight * TURN_SCALE / flow.turn;
        let chances = streams.iter().zip(&flows).map(chance);
        let turns = WeightedChoice::new(chances.zip(0..));
        Some(StreamSet { flows, turns, turn: 0 })
    }

    #[inline]
    fn next(&mut self, random: &mut Random) -> (u64, u64) {
        if once_in(self.flows[self.turn].turn, random) {
            self.turn = self.turns.draw(random);
        }
        self.flows[self.turn].next(random)
    }
}

/// True once in `mean` times on average.
#[inline]
fn once_in(mean: u64, random: &mut Random) -> bool {
    mean == 1 || random.below(mean) == 0
}

/// A stream that is under way.
struct RunningStream {
    first: u64,
    sectors: u64,
    turn: u64,
    sizes: WeightedChoice<u64>,
    course: StreamPosition,
}

/// A pattern in its region; `next` is where the last request ended, from the start of the region.
enum StreamPosition {
    Spots { grain: u64, tiers: Tiers },
    Runs { requests: u64, next: u64 },
    Log { next: u64 },
}

impl RunningStream {
    fn new(stream: &Stream, areas: &[RegionExtent]) -> Option<RunningStream> {
        let area = areas.iter().find(|area| area.region == stream.region);
        let &RegionExtent { first, sectors, region } = area.expect("streams are in known regions");
        let largest = stream.sizes.iter().map(|(_, size)| *size).max();
        if largest.unwrap_or_else(|| panic!("a stream in {region} has no sizes")) > sectors {
            return None;
        }
        let (course, turn) = match stream.pattern {
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
            // No request follows the end of the region: the first run starts anywhere.
            Pattern::Runs { requests, turn } => {
                (StreamPosition::Runs { requests, next: sectors }, turn)
            }
            Pattern::Log { turn } => (StreamPosition::Log { next: 0 }, turn),
        };
        let sizes = WeightedChoice::new(stream.sizes.iter().copied());
        Some(RunningStream { first, sectors, turn, sizes, course })
    }

    /// The first sector and the number of sectors of the next request.
    #[inline]
    fn next(&mut self, random: &mut Random) -> (u64, u64) {
        let size = self.sizes.draw(random);
        let last_start = self.sectors - size;
        let start = match &mut self.course {
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

/// Tiers as weights and numbers of grains; none if one would be empty.
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

/// Things drawn by weight.
struct WeightedChoice<T> {
    /// Each with its weight and that of those before it.
    things: Vec<(u64, T)>,
    total: u64,
}

impl<T: Copy> WeightedChoice<T> {
    /// The caller guarantees that there is something with a weight.
    fn new(weights: impl Iterator<Item = (u64, T)>) -> WeightedChoice<T> {
        let mut total = 0;
        let add = |(weight, thing)| {
            total += weight;
            (total, thing)
        };
        let things: Vec<_> = weights.map(add).collect();
        assert!(total > 0, "nothing to draw from");
        WeightedChoice { things, total }
    }

    #[inline]
    fn draw(&self, random: &mut Random) -> T {
        let things = self.things.as_slice();
        if let [(_, only)] = things {
            return *only;
        }
        let weight = random.below(self.total);
        let found = things.iter().find(|(up_to, _)| weight < *up_to);
        found.unwrap_or(&things[things.len() - 1]).1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use spec::Param;

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

    /// What a profile's writes (first sector, sectors) are, over 10,000 pages of 4 KiB: a part of
    /// the space is a page.
    fn writes(profile: &Profile, start: u64, count: usize) -> Vec<(u64, u64)> {
        let mut placed = place(profile, &params(DEVICE.capacity_bytes, start), &DEVICE).unwrap();
        let mut random = Random::new(1);
        let place = |_| {
            let (offset, bytes) = placed.place(Op::Write, &mut random);
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

    /// By hand: 2 pages are 16 sectors behind 56; 7 after 7 leaves 2, where the next does not fit.
    #[test]
    fn a_log_goes_round_its_region() {
        let made = writes(&alone(2, LOG, &[(1, 7)]), 0, 5);
        assert_eq!(made, [(56, 7), (63, 7), (56, 7), (63, 7), (56, 7)]);
        // 79,937 sectors are left behind sector 63: the region begins at 7 parts of them, 55, which
        // is 48 in pages, and ends at 9 parts, 71, which is 64.
        let behind_sector_63 = writes(&alone(2, LOG, &[(1, 7)]), 63 * SECTOR_BYTES, 3);
        assert_eq!(behind_sector_63, [(111, 7), (118, 7), (111, 7)]);
    }

    #[test]
    fn runs_are_as_long_as_said_and_start_anywhere() {
        let runs = Pattern::Runs { requests: 5, turn: 1 };
        let made = writes(&alone(1000, runs, &[(1, 16)]), 0, 100_000);
        let starts: Vec<u64> = std::iter::once(made[0].0)
            .chain(made.windows(2).filter(|two| two[1].0 != two[0].0 + 16).map(|two| two[1].0))
            .collect();
        let mean = made.len() as f64 / starts.len() as f64;
        // A run that reaches the end of the region, 2 in 1000, is cut short.
        assert!((4.9..5.1).contains(&mean), "{mean} requests a run");
        assert!(starts.iter().all(|start| start.is_multiple_of(8)));
        let pages: std::collections::BTreeSet<_> = starts.iter().collect();
        assert_eq!(pages.len(), 999, "20,000 runs start at every page but the last");
    }

    #[test]
    fn spots_start_at_grains_and_tiers_get_their_weights() {
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

    /// Three in a hundred requests are larger than what is left behind the last grain.
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
    fn shares_are_of_requests_whatever_the_turns() {
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
        // Another turn of the log follows a turn of it with chance 3/73, so a stay takes 10.4.
        let mean = log as f64 / turns as f64;
        assert!((10.1..10.8).contains(&mean), "{mean} requests in a row");
        let (small, large) = (made.iter().filter(|(_, size)| *size == 2).count(), 140_000.0 * 0.25);
        assert!((small as f64 / large - 1.0).abs() < 0.05, "sizes by weight: {small}");
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        let profile = alone(2, LOG, &[(1, 16)]);
        let refused = |space, start| place(&profile, &params(space, start), &DEVICE).err().unwrap();
        assert!(place(&profile, &params(DEVICE.capacity_bytes, 0), &DEVICE).is_ok());
        assert!(refused(DEVICE.capacity_bytes + 1, 0).contains("more than the 40960000 bytes"));
        assert!(refused(1 << 20, 100).contains("start=100 is not whole sectors"));
        assert!(refused(1 << 20, 1 << 20).contains("start=1048576 is not whole sectors"));
        // Half of the space: the region has one page, too little for a request of two.
        assert!(refused(DEVICE.capacity_bytes / 2, 0).contains("too small"));
        let tiers = Pattern::Spots { grain: 8, tiers: &[(1, 1), (1, 9)] };
        let five = alone(5, tiers, &[(1, 8)]);
        let error = place(&five, &params(DEVICE.capacity_bytes, 0), &DEVICE).err().unwrap();
        assert!(error.contains("too small"), "a tenth of five grains is none: {error}");
    }
}
