//! cdn: a cache on flash with two stores, one for small and one for large objects.
//!
//! ```text
//! space    | small: buckets [b][b][b][b] … | large: [   region   ][   region   ] …           |
//! write      a small object rewrites a       objects are collected in memory and written region
//!            bucket, any of them             after region; the oldest region makes room
//! stream     1                               2
//! ```
//! The default is CacheLib's cache on flash after its documentation: small objects are hashed to
//! buckets of 4 KiB, each of which is read, changed and written as a whole (its BigHash); large
//! ones fill regions of 16 MiB, which are replaced in the order in which they were written (its
//! BlockCache), or, with `evict=lru`, the one that was used longest ago first. The small store has
//! 4 % of the space, as in the measurement with placement that the documentation gives.
//!
//! The documentation says nothing about the share of the writes that go to small objects. The
//! default is the one with which write amplification without placement is as measured.

use spec::{Kind, Param, Params};

use crate::generate::course::Course;
use crate::generate::params::{
    ARRIVALS, INPUTS, INTERARRIVAL, READS, REQUEST, REQUESTS, SEED, SPACE, WRITES,
};
use crate::generate::random::Random;
use crate::generate::recency::Recency;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::{Op, Request, SECTOR_BYTES};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "cdn",
    summary: "a cache on flash: small objects in buckets, large ones in regions, each store in a \
              stream of its own",
    source: "CacheLib's documentation of its cache on flash and of Flexible Data Placement",
    params: &[
        WRITES,
        REQUESTS,
        READS,
        CACHE,
        SMALL,
        SMALL_WRITES,
        BUCKET,
        REGION,
        EVICT,
        INPUTS,
        PIECE,
        INTERARRIVAL,
        ARRIVALS,
        SEED,
    ],
    placement,
};

const CACHE: Param =
    Param { default: "8GiB", doc: "the size of the cache, from the start of the device", ..SPACE };
const SMALL: Param = Param {
    name: "small",
    kind: Kind::Share,
    default: "4%",
    unit: "of the space",
    doc: "the store of small objects; 0%: there is none",
};
const SMALL_WRITES: Param = Param {
    name: "small_writes",
    kind: Kind::Share,
    default: "13.5%",
    unit: "of the bytes that are written",
    doc: "the share of the bytes that is written to the store of small objects",
};
const BUCKET: Param = Param {
    name: "bucket",
    kind: Kind::Size,
    default: "4KiB",
    unit: "bytes",
    doc: "the size of a bucket, which a small object rewrites",
};
const REGION: Param = Param {
    name: "region",
    kind: Kind::Size,
    default: "16MiB",
    unit: "bytes",
    doc: "the size of a region, whose large objects are evicted together",
};
const EVICT: Param = Param {
    name: "evict",
    kind: Kind::Choice(&["fifo", "lru"]),
    default: "fifo",
    unit: "",
    doc: "the region that makes room: fifo: the one that was written longest ago; lru: the one \
          that was written or read longest ago",
};
const PIECE: Param = Param {
    name: "request",
    default: "256KiB",
    doc: "the largest request; regions are written in requests of this size",
    ..REQUEST
};

/// The most buckets and regions: their state takes a bit and 8 bytes of memory.
const BUCKETS_MAX: u64 = 1 << 30;
const REGIONS_MAX: u64 = 1 << 24;

const SMALL_STREAM: u8 = 1;
const LARGE_STREAM: u8 = 2;

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let space_bytes = params.size(CACHE.name);
    if space_bytes > space.capacity_bytes {
        return Err(format!(
            "space={space_bytes} is more than the {} bytes of the device",
            space.capacity_bytes
        ));
    }
    let [bucket_bytes, region_bytes, request_bytes] = sizes(params)?;
    let (small, written) = (params.share(SMALL.name), params.share(SMALL_WRITES.name));
    if small.exceeds_whole() || written.exceeds_whole() {
        return Err(format!("small={small} or small_writes={written} is more than the whole"));
    }
    let buckets = small.floor_of(space_bytes) / bucket_bytes;
    let regions = (space_bytes - buckets * bucket_bytes) / region_bytes;
    if buckets > BUCKETS_MAX || regions > REGIONS_MAX {
        return Err(format!(
            "{buckets} buckets and {regions} regions; {BUCKETS_MAX} and {REGIONS_MAX} are possible"
        ));
    }
    // The numbers of writes are in the proportion of the bytes over the size of a write.
    let parts = [written.numerator(), written.denominator() - written.numerator()];
    let weigh = |part: u64, bytes: u64| u128::from(part) * u128::from(bytes);
    // The last part of a region may be shorter than the others.
    let part_bytes = region_bytes / region_bytes.div_ceil(request_bytes);
    let weights = [weigh(parts[0], part_bytes), weigh(parts[1], bucket_bytes)];
    for (store, count, weight) in [("small", buckets, weights[0]), ("large", regions, weights[1])] {
        if count == 0 && weight > 0 {
            return Err(format!(
                "the store of {store} objects has no room for a bucket or region, but is written"
            ));
        }
    }
    let shift = (128 - (weights[0] + weights[1]).leading_zeros()).saturating_sub(63);
    Ok(Box::new(Cdn {
        weights: weights.map(|weight| (weight >> shift) as u64),
        small: Buckets::new(buckets, bucket_bytes),
        large: Regions {
            first_byte: buckets * bucket_bytes,
            region_bytes,
            request_bytes,
            recency: Recency::new(regions as u32),
            written_regions: 0,
            begun_regions: 0,
            region: 0,
            done_bytes: 0,
        },
        reads_inputs: params.choice(INPUTS.name) == "read",
        reads_are_uses: params.choice(EVICT.name) == "lru",
        next: None,
    }))
}

/// The sizes of buckets, regions and requests.
fn sizes(params: &Params) -> std::result::Result<[u64; 3], String> {
    let sizes = [BUCKET, REGION, PIECE].map(|key| (key.name, params.size(key.name)));
    for (name, bytes) in sizes {
        if bytes == 0 || !bytes.is_multiple_of(SECTOR_BYTES) {
            return Err(format!("{name}={bytes} is not a whole number of sectors of 512 bytes"));
        }
    }
    Ok(sizes.map(|(_, bytes)| bytes))
}

struct Cdn {
    /// The relative numbers of writes to the small and to the large store.
    weights: [u64; 2],
    small: Buckets,
    large: Regions,
    reads_inputs: bool,
    reads_are_uses: bool,
    next: Option<NextWrite>,
}

/// The next write of the cache.
#[derive(Clone, Copy)]
struct NextWrite {
    range: (u64, u64),
    /// The bucket, if it is a write to one.
    bucket: Option<u64>,
    /// Whether the bucket is read first.
    is_read: bool,
}

impl Cdn {
    fn next_write(&mut self, random: &mut Random) -> NextWrite {
        if !self.is_small(random) {
            return NextWrite { range: self.large.write(), bucket: None, is_read: false };
        }
        let bucket = random.below(self.small.buckets);
        let is_read = self.reads_inputs && self.small.is_written(bucket);
        NextWrite { range: self.small.range(bucket), bucket: Some(bucket), is_read }
    }

    /// A bucket or a part of a region, each as often as it is written.
    fn lookup(&mut self, random: &mut Random) -> (u64, u64) {
        match self.is_small(random) {
            true => self.small.read(random),
            false => self.large.read(self.reads_are_uses, random),
        }
    }

    fn is_small(&self, random: &mut Random) -> bool {
        random.below(self.weights[0] + self.weights[1]) < self.weights[0]
    }
}

impl Placement for Cdn {
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        match (op, self.next) {
            (Op::Write, Some(write)) => {
                self.next = None;
                if let Some(bucket) = write.bucket {
                    self.small.note_written(bucket);
                }
                write.range
            }
            _ => self.lookup(random),
        }
    }

    fn names_streams(&self) -> bool {
        true
    }

    fn place(&mut self, course: &mut Course, count: usize, out: &mut Vec<Request>) {
        out.extend((0..count).map(|_| {
            let write = match self.next {
                Some(write) => write,
                None => self.next_write(course.random()),
            };
            self.next = Some(NextWrite { is_read: false, ..write });
            if write.is_read {
                return course.beside(Op::Read, write.range.0, write.range.1);
            }
            let request = course.next(|op, random| self.next_range(op, random));
            let stream = if write.bucket.is_some() { SMALL_STREAM } else { LARGE_STREAM };
            Request { stream: if request.op == Op::Write { stream } else { 0 }, ..request }
        }));
    }
}

/// The store of small objects.
struct Buckets {
    bucket_bytes: u64,
    buckets: u64,
    /// A bit for each bucket: whether it was written.
    written: Vec<u64>,
    last_written: u64,
}

impl Buckets {
    fn new(buckets: u64, bucket_bytes: u64) -> Buckets {
        let written = vec![0; buckets.div_ceil(64) as usize];
        Buckets { bucket_bytes, buckets, written, last_written: 0 }
    }

    fn is_written(&self, bucket: u64) -> bool {
        self.written[(bucket / 64) as usize] >> (bucket % 64) & 1 == 1
    }

    fn note_written(&mut self, bucket: u64) {
        self.written[(bucket / 64) as usize] |= 1 << (bucket % 64);
        self.last_written = bucket;
    }

    /// Any bucket; the one that was written last if that one is empty.
    fn read(&self, random: &mut Random) -> (u64, u64) {
        let any = random.below(self.buckets);
        self.range(if self.is_written(any) { any } else { self.last_written })
    }

    fn range(&self, bucket: u64) -> (u64, u64) {
        (bucket * self.bucket_bytes, self.bucket_bytes)
    }
}

/// The store of large objects.
struct Regions {
    first_byte: u64,
    region_bytes: u64,
    request_bytes: u64,
    /// The regions by their last use.
    recency: Recency,
    /// The numbers of regions that were ever written as a whole, and begun.
    written_regions: u32,
    begun_regions: u32,
    /// The region that is being written, and how much of it is.
    region: u32,
    done_bytes: u64,
}

impl Regions {
    /// The next part of the region that is being written.
    fn write(&mut self) -> (u64, u64) {
        if self.done_bytes == 0 {
            // Regions that were never written come first, in the order of their numbers.
            self.region = self.recency.oldest();
            self.recency.touch(self.region);
            self.written_regions = self.begun_regions;
            self.begun_regions = (self.begun_regions + 1).min(self.recency.places());
        }
        let done_bytes = self.done_bytes;
        let range = self.part(self.region, done_bytes);
        self.done_bytes = (done_bytes + range.1) % self.region_bytes;
        range
    }

    /// A part of any region that was written as a whole; the first part of all if none was.
    fn read(&mut self, is_use: bool, random: &mut Random) -> (u64, u64) {
        if self.written_regions == 0 {
            return self.part(0, 0);
        }
        let region = random.below(self.written_regions.into()) as u32;
        if is_use && region != self.region {
            self.recency.touch(region);
        }
        let parts = self.region_bytes.div_ceil(self.request_bytes);
        self.part(region, random.below(parts) * self.request_bytes)
    }

    /// The part of a region from this byte on.
    fn part(&self, region: u32, first_byte: u64) -> (u64, u64) {
        let offset = self.first_byte + u64::from(region) * self.region_bytes + first_byte;
        (offset, self.request_bytes.min(self.region_bytes - first_byte))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{
        SPACE as DEVICE, assert_fingerprint, assert_refused, requests, trace,
    };
    use proptest::prelude::*;
    use rustc_hash::FxHashSet;

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 7_603_137_217_473_770_875);
    }

    /// 16 buckets of 4 KiB, then 5 regions of 192 KiB, and 64 KiB that are not used.
    const SMALL_CACHE: &str = "space=1MiB,small=6.25%,region=192KiB,request=64KiB,small_writes=25%";

    /// The number of the bucket, or of the part of the large store, and the stream.
    fn place(request: &Request) -> (u64, u8) {
        match request.stream {
            SMALL_STREAM => (request.offset >> 12, SMALL_STREAM),
            stream => ((request.offset - (64 << 10)) / (64 << 10), stream),
        }
    }

    #[test]
    fn regions_are_written_in_turn_and_buckets_anywhere() {
        let spec = format!("cdn:{SMALL_CACHE},writes=20000,inputs=cached");
        let made: Vec<_> = requests(&spec, 1).iter().map(place).collect();
        let large = made.iter().filter(|(_, stream)| *stream == LARGE_STREAM).map(|it| it.0);
        assert!(large.clone().eq((0..15).cycle().take(large.count())));
        let mut counts = [0; 16];
        for (bucket, _) in made.iter().filter(|(_, stream)| *stream == SMALL_STREAM) {
            counts[*bucket as usize] += 1;
        }
        let mean = counts.iter().sum::<u32>() / 16;
        assert!(counts.iter().all(|count| count.abs_diff(mean) < mean / 5), "{counts:?}");
    }

    #[test]
    fn the_small_store_gets_its_share_of_the_bytes() {
        for percent in [0, 10, 25, 60, 100] {
            let keys = format!("small_writes={percent}%,writes=20000,inputs=cached");
            let made =
                requests(&format!("cdn:{}", SMALL_CACHE.replace("small_writes=25%", &keys)), 1);
            let bytes = |stream: u8| -> u64 {
                made.iter().filter(|it| it.stream == stream).map(|it| it.bytes).sum()
            };
            let share = bytes(SMALL_STREAM) as f64 / (bytes(1) + bytes(2)) as f64;
            assert!((share - f64::from(percent) / 100.0).abs() < 0.02, "{percent}: {share}");
        }
    }

    /// What is read was written, but for lookups before their store has anything: those of its
    /// first place. Writes to a region follow each other without gaps, and buckets are whole.
    fn assert_lawful(spec: &str, requests: &[Request], sizes: [u64; 3], first_region: u64) {
        let [bucket_bytes, region_bytes, request_bytes] = sizes;
        let (mut written, mut next_large) = (FxHashSet::default(), None);
        for (number, request) in requests.iter().enumerate() {
            let what = || format!("{spec}: request {number}: {request:?}");
            let sectors = request.offset >> 9..request.end() >> 9;
            match (request.op, request.stream) {
                (Op::Read, 0) => {
                    let is_written = sectors.clone().all(|sector| written.contains(&sector));
                    let is_first = request.offset == 0 || request.offset == first_region;
                    assert!(is_written || is_first, "{} was not written", what());
                }
                (Op::Write, SMALL_STREAM) => {
                    assert!(request.end() <= first_region, "{} is no bucket", what());
                    assert!(request.offset.is_multiple_of(bucket_bytes), "{}", what());
                    assert_eq!(request.bytes, bucket_bytes, "{}", what());
                    written.extend(sectors);
                }
                (Op::Write, LARGE_STREAM) => {
                    let in_region = (request.offset - first_region) % region_bytes;
                    if let Some(next) = next_large.filter(|_| in_region > 0) {
                        assert_eq!(request.offset, next, "{} leaves a gap", what());
                    }
                    let left = region_bytes - in_region;
                    assert_eq!(request.bytes, request_bytes.min(left), "{}", what());
                    next_large = Some(request.end());
                    written.extend(sectors);
                }
                _ => panic!("{} is of no store", what()),
            }
        }
    }

    /// A value of a key.
    fn one_of(values: &'static [u64]) -> impl Strategy<Value = u64> {
        prop::sample::select(values)
    }

    proptest! {
        #![proptest_config(ProptestConfig {
            cases: 96, failure_persistence: None, ..<_>::default()
        })]

        /// A cache is refused with a sentence, or it is lawful, stays within its space, and each
        /// store gets its share of the bytes.
        #[test]
        fn drawn_caches_are_refused_or_lawful(
            bucket in one_of(&[0, 100, 512, 4 << 10, 6 << 10, 1 << 20]),
            region in one_of(&[512, 20 << 10, 192 << 10, 1 << 20, 1 << 40]),
            request in one_of(&[512, 5 << 10, 64 << 10, 1 << 30]),
            small in one_of(&[0, 1, 7, 50, 99, 100, 130]),
            small_writes in one_of(&[0, 3, 50, 97, 100, 130]),
            evict in prop::sample::select(vec!["fifo", "lru"]),
            inputs in prop::sample::select(vec!["read", "cached"]),
            reads in one_of(&[0, 40]),
            seed in 0..1000u64,
        ) {
            let spec = format!(
                "cdn:writes=3000,space=8MiB,bucket={bucket},region={region},request={request},\
                 small={small}%,small_writes={small_writes}%,evict={evict},inputs={inputs},\
                 reads={reads}%"
            );
            match trace(&spec, &DEVICE, seed) {
                Err(error) => prop_assert!(error.is_usage(), "{spec}: {error}"),
                Ok(trace) => {
                    let made = trace.requests().unwrap();
                    let first_region = ((8 << 20) * small / 100) / bucket * bucket;
                    assert_lawful(&spec, &made, [bucket, region, request], first_region);
                    let end = made.iter().map(Request::end).max();
                    prop_assert!(end <= Some(8 << 20), "{spec}: {end:?}");
                    let writes = made.iter().filter(|it| it.op == Op::Write).count();
                    // The share of the bytes tells how many of the writes go to buckets.
                    let counted = made.iter().filter(|it| it.stream == SMALL_STREAM).count();
                    let part_bytes = region as f64 / region.div_ceil(request) as f64;
                    let of_small = small_writes as f64 * part_bytes;
                    let p = of_small / (of_small + (100 - small_writes) as f64 * bucket as f64);
                    let deviation = (writes as f64 * p * (1.0 - p)).sqrt();
                    let off = (counted as f64 - writes as f64 * p).abs();
                    prop_assert!(off < 5.0 * deviation + 2.0, "{spec}: {counted} small writes");
                }
            }
        }
    }

    /// Every bucket is read before it is written again, and nothing is read that was not written.
    #[test]
    fn what_is_read_was_written() {
        for evict in ["fifo", "lru"] {
            let spec = format!("cdn:{SMALL_CACHE},writes=4000,reads=30%,evict={evict}");
            // The sectors that were written, and the buckets that were read since.
            let (mut written, mut read) = (FxHashSet::default(), FxHashSet::default());
            for request in &requests(&spec, 3) {
                let sectors = request.offset >> 9..request.end() >> 9;
                if request.op == Op::Read {
                    let is_written = sectors.clone().all(|sector| written.contains(&sector));
                    assert!(is_written || request.offset <= 64 << 10, "{request:?}");
                    read.insert(request.offset);
                    continue;
                }
                let was_read = read.remove(&request.offset);
                if request.stream == SMALL_STREAM && written.contains(&sectors.start) {
                    assert!(was_read, "{request:?} was not read first");
                }
                written.extend(sectors);
            }
        }
    }

    /// With `lru`, a region that is read often stays: regions are no longer written in turn.
    #[test]
    fn a_read_is_a_use_of_a_region_only_with_lru() {
        let turns = |evict: &str| {
            let keys = format!("evict={evict},reads=60%,small_writes=0%,writes=3000");
            let spec = format!("cdn:{}", SMALL_CACHE.replace("small_writes=25%", &keys));
            let made = requests(&spec, 1);
            let regions = made.iter().filter(|it| it.op == Op::Write).step_by(3);
            let regions: Vec<_> = regions.map(|it| place(it).0 / 3).collect();
            regions.windows(2).filter(|pair| (pair[0] + 1) % 5 == pair[1]).count()
        };
        assert_eq!(turns("fifo"), 999);
        assert!((100..500).contains(&turns("lru")), "{}", turns("lru"));
    }

    #[test]
    fn impossible_caches_are_refused() {
        assert_refused(&[
            ("cdn", "workload cdn: space=8589934592 is more than the 67108864 bytes of the device"),
            ("cdn:space=1MiB,bucket=100", "workload cdn: bucket=100 is not a whole number"),
            ("cdn:space=1MiB", "workload cdn: the store of large objects has no room"),
            ("cdn:space=32MiB,small=0%", "workload cdn: the store of small objects has no room"),
            (
                "cdn:space=32MiB,small=120%",
                "workload cdn: small=120% or small_writes=13.5% is more",
            ),
        ]);
    }
}
