//! kvcache: writers that keep objects of one size each on a device, as caches of the keys and
//! values of language models do.
//!
//! ```text
//! space    | writer 1: [object][object][object] … | writer 2: [    object    ] … | …
//! write      the next free place of the writer's part; if it is full, that of the evicted object
//! stream     one for all writers of a class, or one for each writer
//! ```
//! A cache of a language model stores what was computed for a piece of a prompt as an object, whose
//! size depends on the model and the use. Each writer has a part of the space and replaces objects
//! there, always whole ones: `evict=lru` the one that was used longest ago, `evict=random` any.
//! Writers take turns, with a whole object each (`turns=objects`, as if each kept one object in
//! flight), or with a request each (`turns=requests`, as if each had the same share of the
//! bandwidth). Reads take turns in the same way, and each reads a whole object, any that is stored.
//! A read is a use of the object, so reads decide how far `lru` is from the order of the writes.
//!
//! The default is the description of a measurement on a drive with Flexible Data Placement
//! (LMCache, pull request 4016): nine writers of five classes, whose parts add up to 855 GiB of a
//! device of 960 GiB. It names sizes of objects and parts, and the program evicts by LRU (pull
//! request 3527). It says nothing about rates, reads and sizes of requests. The default
//! share of reads is the one with which write amplification without placement is as measured.

use spec::{Kind, Param, Params};

use crate::generate::course::Course;
use crate::generate::params::{ARRIVALS, INTERARRIVAL, READS, REQUEST, REQUESTS, SEED, WRITES};
use crate::generate::random::Random;
use crate::generate::recency::Recency;
use crate::generate::workload::{AddressSpace, Placement, PlacementResult, Workload};
use crate::request::{Op, Request, SECTOR_BYTES, STREAMS_MAX};

/// The workload's entry in the registry.
pub static WORKLOAD: Workload = Workload {
    name: "kvcache",
    summary: "a cache of a language model: writers that replace whole objects, each class of \
              writers in a stream of its own",
    source: "the description of a measurement: LMCache, pull request 4016 on FDP placement, 2026",
    params: &[
        WRITES,
        REQUESTS,
        OBJECT_READS,
        WRITERS,
        SPACE,
        EVICT,
        TURNS,
        STREAMS,
        PIECE,
        INTERARRIVAL,
        ARRIVALS,
        SEED,
    ],
    placement,
};

const OBJECT_READS: Param = Param {
    default: "40%",
    doc: "the share of the requests that are reads; objects are read whole",
    ..READS
};
const WRITERS: Param = Param {
    name: "writers",
    kind: Kind::Text,
    default: "2x90GiB/4MiB+180GiB/32MiB+2x90GiB/16MiB+3x90GiB/2MiB+45GiB/1MiB",
    unit: "",
    doc: "the classes of writers, joined by `+`: the number of writers, the part of the space that \
          each has, and the size of its objects",
};
const SPACE: Param = Param {
    default: "855GiB",
    doc: "the sum of the parts; parts and objects are scaled to it, objects to whole pages",
    ..crate::generate::params::SPACE
};
const EVICT: Param = Param {
    name: "evict",
    kind: Kind::Choice(&["lru", "random"]),
    default: "lru",
    unit: "",
    doc: "the object that a new one replaces in a full part: lru: the one that was written or read \
          longest ago; random: any",
};
const TURNS: Param = Param {
    name: "turns",
    kind: Kind::Choice(&["objects", "requests"]),
    default: "objects",
    unit: "",
    doc: "what a writer writes before the next one continues: a whole object, or one request",
};
const STREAMS: Param = Param {
    name: "streams",
    kind: Kind::Choice(&["class", "writer"]),
    default: "class",
    unit: "",
    doc: "what has a stream of its own, from 1 on in the order of `writers`",
};
const PIECE: Param = Param {
    name: "request",
    default: "128KiB",
    doc: "the largest request; objects are written in requests of this size",
    ..REQUEST
};

fn placement(params: &Params, space: &AddressSpace) -> PlacementResult {
    let (page_bytes, space_bytes) = (u64::from(space.page_bytes), params.size(SPACE.name));
    if space_bytes > space.capacity_bytes {
        return Err(format!(
            "space={space_bytes} is more than the {} bytes of the device",
            space.capacity_bytes
        ));
    }
    let request_bytes = params.size(PIECE.name);
    if request_bytes == 0 || !request_bytes.is_multiple_of(SECTOR_BYTES) {
        return Err(format!(
            "request={request_bytes} is not a whole number of sectors of 512 bytes"
        ));
    }
    let classes = classes(params.text(WRITERS.name))?;
    let all: u128 =
        classes.iter().map(|it| u128::from(it.part_bytes) * u128::from(it.writers)).sum();
    let scaled = |bytes: u64| (u128::from(bytes) * u128::from(space_bytes) / all) as u64;
    let mut writers = Vec::new();
    let mut first_byte = 0;
    for (number, class) in (1..).zip(&classes) {
        let part_bytes = scaled(class.part_bytes) / page_bytes * page_bytes;
        let object_bytes = scaled(class.object_bytes).div_ceil(page_bytes).max(1) * page_bytes;
        let objects = part_bytes / object_bytes;
        if objects == 0 || objects > u64::from(u32::MAX) {
            return Err(format!(
                "a part of {part_bytes} bytes has {objects} objects of {object_bytes} bytes; at \
                 least one is needed, and 4 G are possible"
            ));
        }
        for _ in 0..class.writers {
            let recency = Recency::new(objects as u32);
            let stream =
                if params.choice(STREAMS.name) == "class" { number } else { writers.len() + 1 };
            writers.push(Writer {
                first_byte,
                object_bytes,
                recency,
                stream: stream as u8,
                written_objects: 0,
                under_way: [UnderWay::default(); 2],
            });
            first_byte += part_bytes;
        }
    }
    if writers.len() > usize::from(STREAMS_MAX) {
        return Err(format!("{} writers; {STREAMS_MAX} are possible", writers.len()));
    }
    Ok(Box::new(KvCache {
        writers,
        turns: [0; 2],
        request_bytes,
        evicts_at_random: params.choice(EVICT.name) == "random",
        turns_are_objects: params.choice(TURNS.name) == "objects",
    }))
}

/// Writers that are alike.
struct WriterClass {
    writers: u64,
    part_bytes: u64,
    object_bytes: u64,
}

/// Reads a list such as `2x90GiB/4MiB+180GiB/32MiB`.
fn classes(text: &str) -> std::result::Result<Vec<WriterClass>, String> {
    let malformed = |class: &str| {
        format!(
            "writers={text}: `{class}` is not a class such as `2x90GiB/4MiB`: writers, part, \
                 object"
        )
    };
    let class = |class: &str| -> Option<WriterClass> {
        let (writers, rest) = class.split_once('x').unwrap_or(("1", class));
        let (part, object) = rest.split_once('/')?;
        let (writers, part_bytes) =
            (spec::parse_count(writers).ok()?, spec::parse_size(part).ok()?);
        let object_bytes = spec::parse_size(object).ok()?;
        let is_possible = (1..=u64::from(STREAMS_MAX)).contains(&writers)
            && (1..=part_bytes).contains(&object_bytes);
        is_possible.then_some(WriterClass { writers, part_bytes, object_bytes })
    };
    text.split('+').map(|one| class(one).ok_or_else(|| malformed(one))).collect()
}

struct KvCache {
    writers: Vec<Writer>,
    /// The writers whose turn it is: to write, and to read.
    turns: [usize; 2],
    request_bytes: u64,
    evicts_at_random: bool,
    turns_are_objects: bool,
}

struct Writer {
    first_byte: u64,
    object_bytes: u64,
    /// The places for objects by their last use.
    recency: Recency,
    stream: u8,
    /// The number of places that were ever written.
    written_objects: u32,
    /// The objects that are being written and read.
    under_way: [UnderWay; 2],
}

/// An object that is being written or read.
#[derive(Clone, Copy, Default)]
struct UnderWay {
    place: u32,
    done_bytes: u64,
}

impl Writer {
    /// The place of a new object.
    fn next_place(&mut self, at_random: bool, random: &mut Random) -> u32 {
        let places = self.recency.places();
        if self.written_objects < places {
            self.written_objects += 1;
            return self.written_objects - 1;
        }
        match at_random {
            true => random.below(places.into()) as u32,
            false => self.recency.oldest(),
        }
    }

    /// The place of an object to read: any that is stored, the first one if none is.
    fn stored_place(&self, random: &mut Random) -> u32 {
        random.below(self.written_objects.max(1).into()) as u32
    }
}

impl Placement for KvCache {
    fn next_range(&mut self, op: Op, random: &mut Random) -> (u64, u64) {
        let kind = usize::from(op == Op::Read);
        let turn = self.turns[kind];
        let writer = &mut self.writers[turn];
        if writer.under_way[kind].done_bytes == 0 {
            let place = match op {
                Op::Read => writer.stored_place(random),
                _ => writer.next_place(self.evicts_at_random, random),
            };
            writer.recency.touch(place);
            writer.under_way[kind].place = place;
        }
        let UnderWay { place, done_bytes } = &mut writer.under_way[kind];
        let offset = writer.first_byte + u64::from(*place) * writer.object_bytes + *done_bytes;
        let bytes = self.request_bytes.min(writer.object_bytes - *done_bytes);
        *done_bytes = (*done_bytes + bytes) % writer.object_bytes;
        if *done_bytes == 0 || !self.turns_are_objects {
            self.turns[kind] = (turn + 1) % self.writers.len();
        }
        (offset, bytes)
    }

    fn names_streams(&self) -> bool {
        true
    }

    fn place(&mut self, course: &mut Course, count: usize, out: &mut Vec<Request>) {
        out.extend((0..count).map(|_| {
            let stream = self.writers[self.turns[0]].stream;
            let request = course.next(|op, random| self.next_range(op, random));
            Request { stream: if request.op == Op::Write { stream } else { 0 }, ..request }
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::generate::workloads::tests::{assert_fingerprint, assert_refused, requests};

    #[test]
    fn requests_never_change() {
        assert_fingerprint(&WORKLOAD, 8_525_635_461_304_575_623);
    }

    /// Two writers with two objects each, and one with a single object of twice the size; pages of
    /// 2 KiB, requests of 4 KiB.
    const SMALL: &str = "writers=2x16KiB/8KiB+16KiB/16KiB,space=48KiB,request=4KiB,reads=0%";

    fn places(keys: &str, writes: u64) -> Vec<(u64, u8)> {
        let made = requests(&format!("kvcache:{SMALL},writes={writes}{keys}"), 1);
        made.iter().map(|request| (request.offset >> 12, request.stream)).collect()
    }

    #[test]
    fn writers_take_turns_with_objects_or_with_requests() {
        let by_objects =
            [(0, 1), (1, 1), (4, 1), (5, 1), (8, 2), (9, 2), (10, 2), (11, 2), (2, 1), (3, 1)];
        assert_eq!(places("", 10), by_objects);
        let by_requests = [(0, 1), (4, 2), (8, 3), (1, 1), (5, 2), (9, 3), (2, 1)];
        assert_eq!(places(",turns=requests,streams=writer", 7), by_requests);
    }

    #[test]
    fn a_full_part_evicts_the_object_that_was_used_longest_ago_or_any() {
        let first_writer = |keys: &str, requests: u64| -> Vec<u64> {
            let places = places(keys, requests).into_iter().map(|(place, _)| place);
            places.filter(|place| *place < 4 && place % 2 == 0).collect()
        };
        assert_eq!(first_writer("", 60)[..6], [0, 2, 0, 2, 0, 2]);
        let random = first_writer(",evict=random", 4000);
        let repeated = random.windows(2).filter(|pair| pair[0] == pair[1]).count();
        assert!((0.4..0.6).contains(&(repeated as f64 / random.len() as f64)), "{repeated}");
    }

    /// With reads the order of uses is no longer the order of writes.
    #[test]
    fn a_read_is_a_use_and_has_no_stream() {
        let spec = "kvcache:writers=64KiB/4KiB,space=64KiB,writes=4000,reads=50%,request=4KiB";
        let made = requests(spec, 1);
        assert!(made.iter().filter(|it| it.op == Op::Read).all(|read| read.stream == 0));
        // The model: the last use of each place.
        let mut used: Vec<(u64, u64)> = Vec::new();
        for (now, request) in (0..).zip(&made) {
            let place = request.offset >> 12;
            if request.op == Op::Write && used.len() == 16 {
                assert_eq!(used.iter().min_by_key(|it| it.1).unwrap().0, place, "request {now}");
            }
            used.retain(|it| it.0 != place);
            used.push((place, now));
        }
    }

    #[test]
    fn parts_and_objects_are_scaled_to_the_space() {
        let made = requests(
            "kvcache:space=48KiB,writers=2x16GiB/8GiB+16GiB/16GiB,writes=99,request=4KiB,\
             reads=0%",
            1,
        );
        let small = requests(&format!("kvcache:{SMALL},writes=99"), 1);
        assert_eq!(made, small);
    }

    #[test]
    fn impossible_writers_are_refused() {
        assert_refused(&[
            ("kvcache", "workload kvcache: space=918049259520 is more than the 67108864 bytes"),
            ("kvcache:space=1MiB,writers=1GiB", "workload kvcache: writers=1GiB: `1GiB` is not a"),
            ("kvcache:space=1MiB,writers=0x1GiB/1MiB", "workload kvcache: writers=0x1GiB/1MiB: `"),
            ("kvcache:space=1MiB,writers=1MiB/2MiB", "workload kvcache: writers=1MiB/2MiB: `1MiB"),
            ("kvcache:space=1KiB", "workload kvcache: a part of 0 bytes has 0 objects of 2048"),
            ("kvcache:space=1MiB,request=100", "workload kvcache: request=100 is not a whole"),
            (
                "kvcache:space=1MiB,writers=40x1MiB/1KiB+40x1MiB/1KiB",
                "workload kvcache: 80 writers",
            ),
        ]);
    }
}
