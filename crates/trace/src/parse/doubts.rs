//! Signs that a trace is misread: units that are wrong by a factor, and clocks that jump.
//!
//! ```text
//! requests as they are read ─▶ Observed ─▶ sentences for the notes of every result
//! the first requests ────────▶ rivals ───▶ readings that are as plausible, for the user to choose
//! ```
//!
//! A sign is no error: a trace may really have requests of 8 bytes. So the trace is read as its
//! format says, and a note says what is odd and which option reads it otherwise.

use std::ops::Range;

use crate::reader::Skipped;
use crate::request::{Op, Request, SECTOR_BYTES};

/// Reads and writes whose sizes are examined.
const SIZES: usize = 4096;

/// Fewer requests than this have no rate.
const FEWEST_OF_RATE: u64 = 16;

const SECOND_NS: u64 = 1_000_000_000;
const DAY_NS: u64 = 86_400 * SECOND_NS;
/// Larger than any disk.
pub(crate) const PEBIBYTE: u64 = 1 << 50;
/// Larger than the usual requests of any operating system.
pub(crate) const LONG_BYTES: u64 = 16 << 20;
/// As sectors, a median of this length is unusual.
const UNUSUAL_BYTES: u64 = 1 << 20;
/// The rates in requests per second between which a trace is plausible.
const RATES: [f64; 2] = [0.01, 5e6];
/// Unix times of traces, in seconds: the years 2000 to 2040.
static UNIX_SECONDS: Range<f64> = 946_684_800.0..2_208_988_800.0;

/// What was seen of the requests of a trace.
#[derive(Default)]
pub(crate) struct Observed {
    requests: u64,
    /// The sizes of the first reads and writes.
    sizes: Vec<u64>,
    /// Trims and flushes, while there is neither a read nor a write.
    trims: u64,
    flushes: u64,
    has_data: bool,
    /// Whether the end of the trace was reached.
    has_ended: bool,
    /// The offsets of all requests, joined by OR.
    offsets: u64,
    latest_ns: u64,
    longest_gap_ns: u64,
}

impl Observed {
    /// The number of requests.
    pub(crate) fn requests(&self) -> u64 {
        self.requests
    }

    /// Sees the next requests, in the order of their times. Every request of a trace passes here,
    /// so each costs an instruction or two, unless days pass within the batch.
    pub(crate) fn see(&mut self, requests: &[Request]) {
        let (Some(first), Some(last)) = (requests.first(), requests.last()) else { return };
        if self.sizes.len() < SIZES {
            let data = requests.iter().filter(|it| matches!(it.op, Op::Read | Op::Write));
            self.sizes.extend(data.map(|it| it.bytes).take(SIZES - self.sizes.len()));
        }
        if !self.has_data {
            self.see_ops(requests);
        }
        self.requests += requests.len() as u64;
        self.offsets = requests.iter().fold(self.offsets, |all, it| all | it.offset);
        self.see_gap(first.time_ns);
        if last.time_ns - first.time_ns > DAY_NS {
            requests.iter().for_each(|it| self.see_gap(it.time_ns));
        }
        self.latest_ns = last.time_ns;
    }

    /// Sees that there are no more requests.
    pub(crate) fn end(&mut self) {
        self.has_ended = true;
    }

    fn see_ops(&mut self, requests: &[Request]) {
        let count = |op: Op| requests.iter().filter(|it| it.op == op).count() as u64;
        let (trims, flushes) = (count(Op::Trim), count(Op::Flush));
        self.has_data = trims + flushes < requests.len() as u64;
        self.trims += trims;
        self.flushes += flushes;
    }

    fn see_gap(&mut self, time_ns: u64) {
        self.longest_gap_ns = self.longest_gap_ns.max(time_ns - self.latest_ns);
        self.latest_ns = time_ns;
    }

    /// Sentences about what is odd, each with the option that reads the trace otherwise. `columns`
    /// is what csv calls its columns, if it consists of columns.
    pub(crate) fn doubts(&self, skipped: &Skipped, columns: Option<&str>) -> Vec<String> {
        let sentences = [
            self.lack_of_data(skipped),
            self.sizes_doubt(columns),
            self.address_doubt(columns),
            self.rate_doubt(columns),
            self.steps_back(skipped, columns),
            self.absurd_times(skipped),
            self.gap(),
        ];
        sentences.into_iter().flatten().collect()
    }

    /// A trace without reads and writes is probably not the one that the user wanted to record.
    fn lack_of_data(&self, skipped: &Skipped) -> Option<String> {
        (self.has_ended && !self.has_data).then(|| {
            format!(
                "The trace has no reads and no writes; it has {}.",
                contents([0, 0, self.trims, self.flushes], skipped)
            )
        })
    }

    fn sizes_doubt(&self, columns: Option<&str>) -> Option<String> {
        let median = median(&self.sizes)?;
        let odd = self.sizes.iter().filter(|bytes| !bytes.is_multiple_of(SECTOR_BYTES)).count();
        let (what, in_sectors) = match median {
            0..SECTOR_BYTES => (format!("The median request has {median} bytes"), true),
            LONG_BYTES.. => (format!("The median request has {median} bytes, over 16 MiB"), false),
            _ if 2 * odd > self.sizes.len() => {
                (String::from("Most lengths are no multiples of 512 bytes"), true)
            }
            _ => return None,
        };
        let option = match in_sectors {
            true => option(columns, "sectors", bytes_to_sectors),
            false => option(columns, "bytes", sectors_to_bytes),
        };
        Some(match option {
            Some(option) => format!("{what}: lengths may be in another unit; {option}."),
            None => format!("{what}, which is unusual."),
        })
    }

    fn address_doubt(&self, columns: Option<&str>) -> Option<String> {
        let other = || match option(columns, "bytes", sectors_to_bytes) {
            Some(option) => format!("they may be damaged, or in another unit; {option}"),
            None => String::from("they may be damaged"),
        };
        (self.offsets >= PEBIBYTE)
            .then(|| format!("There are addresses beyond 1 PiB: {}.", other()))
    }

    fn rate_doubt(&self, columns: Option<&str>) -> Option<String> {
        if self.requests < FEWEST_OF_RATE || self.latest_ns == 0 {
            return None;
        }
        let rate = (self.requests - 1) as f64 / (self.latest_ns as f64 / SECOND_NS as f64);
        let [low, high] = RATES;
        let step = match () {
            () if rate > high => 1,
            () if rate < low => -1,
            () => return None,
        };
        // If the unit of a format is certain, the trace is just unusual.
        let doubt = match columns.and_then(|columns| with_time_unit(columns, step)) {
            Some(changed) => {
                let size = if step > 0 { "larger" } else { "smaller" };
                format!(": times may be in a {size} unit; `--format {changed}` reads the next one")
            }
            None => String::from(", which is unusual"),
        };
        Some(format!("The mean rate is {rate:.3e} requests a second{doubt}."))
    }

    /// Requests that are not in order step back now and then. Numbers that are no clock, such as
    /// gaps between requests, are mostly below the largest one so far.
    fn steps_back(&self, skipped: &Skipped, columns: Option<&str>) -> Option<String> {
        let (count, step) = (skipped.backward_times, duration(skipped.step_back_ns));
        let untimed = || match columns.and_then(without_time) {
            Some(option) => format!(" `--format {option}` reads the trace without times."),
            None => String::new(),
        };
        let remedy = || match 2 * count > self.requests {
            true => format!(
                "The column is probably not a clock, but a gap between requests or a response \
                 time.{}",
                untimed()
            ),
            false => String::from("`--sort` orders the requests by time instead."),
        };
        (count > 0).then(|| {
            format!(
                "{count} of {} times are before that of an earlier request, by up to {step}; such \
                 a request got the earlier request's time. {}",
                self.requests,
                remedy()
            )
        })
    }

    fn absurd_times(&self, skipped: &Skipped) -> Option<String> {
        (skipped.absurd_times > 0).then(|| {
            format!(
                "{} of {} times are more than a year after the one before; such a request got the \
                 time of the one before, and later times count from there if they agree with it. \
                 `--sort` keeps all times; remove lines that are damaged.",
                skipped.absurd_times, self.requests
            )
        })
    }

    fn gap(&self) -> Option<String> {
        (self.longest_gap_ns > DAY_NS).then(|| {
            format!(
                "There is a gap of {} between two requests; a replay at the trace's own times \
                 waits that long.",
                duration(self.longest_gap_ns)
            )
        })
    }
}

/// What a trace has, in words. The counts are those of [`Op::ALL`].
pub(crate) fn contents(counts: [u64; 4], skipped: &Skipped) -> String {
    let several = |count: u64, one: &str, many: &str| match count {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{count} {many}")),
    };
    let [reads, writes, trims, flushes] = counts;
    let counts = [
        several(reads, "read", "reads"),
        several(writes, "write", "writes"),
        several(trims, "trim", "trims"),
        several(flushes, "flush", "flushes"),
        several(skipped.other_lines, "line without a request", "lines without a request"),
    ];
    let of_reason = |(reason, count): (&str, u64)| {
        several(count, "skipped line or record", "skipped lines or records")
            .map(|skipped| format!("{skipped} ({reason})"))
    };
    let all = counts.into_iter().chain(skipped.iter().map(of_reason));
    let all: Vec<String> = all.flatten().collect();
    if all.is_empty() { String::from("no request at all") } else { all.join(", ") }
}

/// The middle one of the values.
fn median(values: &[u64]) -> Option<u64> {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(values.len() / 2).copied()
}

/// A duration in a unit in which it is short.
fn duration(ns: u64) -> String {
    let units = [(DAY_NS, "days"), (SECOND_NS, "s"), (1_000_000, "ms"), (1000, "µs")];
    match units.into_iter().find(|(unit_ns, _)| ns >= *unit_ns) {
        Some((unit_ns, unit)) => format!("{:.1} {unit}", ns as f64 / unit_ns as f64),
        None => format!("{ns} ns"),
    }
}

// ---- other readings --------------------------------------------------------------------------

/// Units of time in columns of csv, from small to large.
static TIME_UNITS: [&str; 4] = ["time.ns", "time.us", "time.ms", "time.s"];

/// The option that reads the same columns with another unit; `None` if the unit is certain.
fn option(
    columns: Option<&str>,
    unit: &str,
    change: impl Fn(&str) -> Option<String>,
) -> Option<String> {
    let changed = columns.and_then(change)?;
    Some(format!("`--format {changed}` reads {unit}"))
}

/// The columns without the times.
fn without_time(columns: &str) -> Option<String> {
    Some(columns.replacen(TIME_UNITS[time_unit(columns)?], "_", 1))
}

/// The columns with offsets and lengths in sectors; `None` if none are in bytes.
fn bytes_to_sectors(columns: &str) -> Option<String> {
    columns.contains("len.bytes").then(|| columns.replace(".bytes", ".sectors"))
}

/// The columns with offsets and lengths in bytes; `None` if both are.
fn sectors_to_bytes(columns: &str) -> Option<String> {
    let changed = columns.replace(".sectors", ".bytes").replace(".pages", ".bytes");
    (changed != columns).then_some(changed)
}

/// The unit of times in the columns, as an index of [`TIME_UNITS`].
fn time_unit(columns: &str) -> Option<usize> {
    TIME_UNITS.iter().position(|unit| columns.split(['=', '+', ',']).any(|word| word == *unit))
}

/// The columns with times in the next unit; `None` if there is none.
fn with_time_unit(columns: &str, step: isize) -> Option<String> {
    let now = time_unit(columns)?;
    let next = now.checked_add_signed(step).filter(|&next| next < TIME_UNITS.len())?;
    Some(with_unit(columns, now, next))
}

/// The columns with times in nanoseconds.
pub(crate) fn in_nanoseconds(columns: &str) -> String {
    time_unit(columns).map_or(columns.to_owned(), |now| with_unit(columns, now, 0))
}

fn with_unit(columns: &str, now: usize, other: usize) -> String {
    columns.replacen(TIME_UNITS[now], TIME_UNITS[other], 1)
}

/// Other readings of a trace that are as plausible as this one. `requests` are the first ones as
/// they are with [`in_nanoseconds`], not counted from the first; `has_unix_times` tells whether the
/// times should be Unix times.
pub(crate) fn rivals(columns: &str, has_unix_times: bool, requests: &[Request]) -> Vec<String> {
    let times = if has_unix_times { rival_times(columns, requests) } else { Vec::new() };
    let mut readings = times.clone();
    if may_be_bytes(columns, requests) {
        let all = std::iter::once(columns.to_owned()).chain(times);
        readings.extend(all.filter_map(|reading| sectors_to_bytes(&reading)));
    }
    readings
}

/// The columns with times in units in which the first time is a Unix time, if it is none as it is
/// read; with any other unit, if it is none at all.
fn rival_times(columns: &str, requests: &[Request]) -> Vec<String> {
    let (Some(now), Some(first)) = (time_unit(columns), requests.first()) else {
        return Vec::new();
    };
    let is_unix = |other: usize| {
        let seconds = first.time_ns as f64 * 1000_f64.powi(other as i32) / 1e9;
        UNIX_SECONDS.contains(&seconds)
    };
    if is_unix(now) {
        return Vec::new();
    }
    let others = || [3, 2, 1].into_iter().filter(|&other| other != now);
    let is_certain = others().any(is_unix);
    let plausible = others().filter(|&other| is_unix(other) || !is_certain);
    plausible.map(|other| with_unit(columns, now, other)).collect()
}

/// Whether offsets and lengths that are read as sectors are rather bytes: all are multiples of 512,
/// and as sectors the requests would be unusually long.
fn may_be_bytes(columns: &str, requests: &[Request]) -> bool {
    let data = || requests.iter().filter(|it| matches!(it.op, Op::Read | Op::Write));
    let is_whole = |bytes: u64| bytes.is_multiple_of(SECTOR_BYTES * SECTOR_BYTES);
    let sizes: Vec<u64> = data().map(|it| it.bytes).collect();
    columns.contains("off.sectors")
        && columns.contains("len.sectors")
        && data().all(|it| is_whole(it.offset) && is_whole(it.bytes))
        && median(&sizes).is_some_and(|median| median >= UNUSUAL_BYTES)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::Flags;

    fn request(time_ns: u64, offset: u64, bytes: u64) -> Request {
        let (op, flags) = (Op::Write, Flags::empty());
        Request { time_ns, offset, bytes, device: 0, op, flags, stream: 0 }
    }

    fn doubts(requests: &[Request], columns: &str) -> String {
        let mut observed = Observed::default();
        requests.chunks(7).for_each(|some| observed.see(some));
        observed.doubts(&Skipped::default(), Some(columns)).join("\n")
    }

    #[test]
    fn units_that_are_wrong_by_a_factor_are_doubted_with_the_option() {
        let requests = |step_ns: u64, bytes: u64| -> Vec<Request> {
            (0..40).map(|n| request(n * step_ns, n * 4096, bytes)).collect()
        };
        let columns = "csv:columns=dev+off.sectors+len.bytes+op+time.ms";
        assert_eq!(doubts(&requests(1000, 4096), columns), "");
        let cases = [
            (requests(1000, 8), "has 8 bytes", "off.sectors+len.sectors+op+time.ms"),
            (requests(1000, 1000), "no multiples of 512", "off.sectors+len.sectors+op+time.ms"),
            (requests(1000, 32 << 20), "over 16 MiB", "off.bytes+len.bytes+op+time.ms"),
            (requests(100, 4096), "1.000e7 requests a second", "len.bytes+op+time.s"),
            (requests(1000 * SECOND_NS, 4096), "1.000e-3 requests", "len.bytes+op+time.us"),
            (vec![request(0, 1 << 51, 512)], "beyond 1 PiB", "dev+off.bytes+len.bytes"),
        ];
        for (requests, what, option) in cases {
            let found = doubts(&requests, columns);
            assert!(found.contains(what) && found.contains(option), "{what}: {found}");
            assert_eq!(found.lines().count(), 1, "{found}");
        }
    }

    #[test]
    fn an_unusual_rate_of_a_certain_unit_is_just_unusual() {
        let requests: Vec<_> = (0..20).map(|n| request(n * 50, 0, 512)).collect();
        let found = doubts(&requests, "");
        assert_eq!(found, "The mean rate is 2.000e7 requests a second, which is unusual.");
    }

    #[test]
    fn a_gap_of_days_is_found_within_and_between_batches() {
        for at in 1..20 {
            let time_ns = |n: u64| n * 1000 + if n < at { 0 } else { 3 * DAY_NS };
            let requests: Vec<_> = (0..20).map(|n| request(time_ns(n), 0, 512)).collect();
            let found = doubts(&requests[..15.max(at as usize + 1)], "");
            assert!(found.contains("a gap of 3.0 days"), "{at}: {found}");
        }
    }

    #[test]
    fn unix_times_show_their_unit() {
        let reading = |unit: &str| format!("csv:columns=dev+op+off.bytes+len.bytes+{unit}");
        let found = |time: u64| rivals(&reading("time.us"), true, &[request(time, 0, 512)]);
        assert!(found(1_577_808_000_000_626).is_empty(), "microseconds");
        assert_eq!(found(1_577_808_000_000), [reading("time.ms")]);
        assert_eq!(found(1_577_808_000), [reading("time.s")]);
        assert_eq!(found(1), [reading("time.s"), reading("time.ms")], "none of them");
        assert!(rivals(&reading("time.us"), false, &[request(1, 0, 512)]).is_empty());
    }

    #[test]
    fn whole_sectors_of_unusual_length_may_be_bytes() {
        let columns = "csv:columns=time.s+off.sectors+len.sectors+op+dev";
        let bytes = [request(0, 8192 * 512, 4096 * 512), request(0, 12_288 * 512, 65_536 * 512)];
        assert_eq!(rivals(columns, false, &bytes), [columns.replace("sectors", "bytes")]);
        assert!(rivals(columns, false, &[request(0, 8192 * 512, 8 * 512)]).is_empty());
    }
}
