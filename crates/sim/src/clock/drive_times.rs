//! Where the response times in a drive went, and how they changed over time.
//!
//! Response times fall into classes, four to a factor of two:
//!
//! ```text
//! … 64 to 80 µs, 80 to 96 µs, 96 to 112 µs, 112 to 128 µs, 128 to 160 µs, …      in powers of 2 ns
//! ```

use std::collections::BTreeMap;

use drive::{Answer, Shares};
use serde::Serialize;

use crate::clock::us;

/// The names of the parts of a response time.
pub const PARTS: [&str; 6] = Shares::NAMES;

/// Requests by the class of their response time: one list for each quantity, one element for each
/// class that has requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ByResponse {
    /// The upper ends of the classes.
    pub to_us: Vec<f64>,
    /// The number of requests.
    pub requests: Vec<u64>,
    /// The mean time of a request in each part, by name.
    pub parts_us: BTreeMap<&'static str, Vec<f64>>,
}

/// Responses in slices of time of the same length.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResponseCourse {
    /// The length of a slice.
    pub every_us: f64,
    /// For each slice the number of requests answered in it.
    pub requests: Vec<u64>,
    /// Their mean response time; null if there are none.
    pub mean_us: Vec<Option<f64>>,
    /// The longest of their response times.
    pub max_us: Vec<Option<f64>>,
    /// The upper ends of the classes, from the lowest to the highest that has requests.
    pub to_us: Vec<f64>,
    /// For each slice the number of requests in each of these classes.
    pub counts: Vec<Vec<u64>>,
}

/// Collects the answers of a drive.
#[derive(Debug)]
pub struct DriveTimes {
    classes: Vec<Class>,
    slices: Option<Slices>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Class {
    requests: u64,
    parts_ns: [u64; Shares::NAMES.len()],
}

/// Slices of time, at most [`Slices::MOST`] of them.
#[derive(Debug)]
struct Slices {
    since_ns: u64,
    every_ns: u64,
    slices: Vec<Slice>,
}

#[derive(Clone, Debug, Default)]
struct Slice {
    requests: u64,
    sum_ns: u64,
    max_ns: u64,
    counts: Vec<u64>,
}

impl DriveTimes {
    /// Nothing collected since this time. `has_course` demands slices of time.
    pub fn new(has_course: bool, since_ns: u64) -> DriveTimes {
        let slices = || Slices { since_ns, every_ns: Slices::SHORTEST_NS, slices: Vec::new() };
        DriveTimes { classes: Vec::new(), slices: has_course.then(slices) }
    }

    /// Takes what was collected, and begins anew at this time.
    pub fn take(&mut self, now_ns: u64) -> DriveTimes {
        let next = DriveTimes::new(self.slices.is_some(), now_ns);
        core::mem::replace(self, next)
    }

    /// Adds an answer. Answers come in the order of time.
    #[inline]
    pub fn record(&mut self, answer: &Answer) {
        let class = class_of(answer.response_ns());
        if class >= self.classes.len() {
            self.classes.resize(class + 1, Class::default());
        }
        let of = &mut self.classes[class];
        of.requests += 1;
        for (sum, part_ns) in of.parts_ns.iter_mut().zip(answer.shares.parts()) {
            *sum += part_ns;
        }
        if let Some(slices) = &mut self.slices {
            slices.record(answer, class);
        }
    }

    /// The requests by the class of their response time.
    pub fn by_response(&self) -> ByResponse {
        let used = || (0..).zip(&self.classes).filter(|(_, class)| class.requests > 0);
        let mean_us =
            |part: usize| used().map(move |(_, of)| us(of.parts_ns[part]) / of.requests as f64);
        let parts = Shares::NAMES.into_iter().enumerate();
        ByResponse {
            to_us: used().map(|(class, _)| us(end_ns(class))).collect(),
            requests: used().map(|(_, class)| class.requests).collect(),
            parts_us: parts.map(|(part, name)| (name, mean_us(part).collect())).collect(),
        }
    }

    /// The course of the response times, if it was demanded.
    pub fn course(&self) -> Option<ResponseCourse> {
        let slices = self.slices.as_ref()?;
        let lowest = self.classes.iter().position(|class| class.requests > 0).unwrap_or(0);
        let classes = lowest..self.classes.len();
        let count = |slice: &Slice, class: usize| slice.counts.get(class).copied().unwrap_or(0);
        let counts = |slice| classes.clone().map(|class| count(slice, class)).collect();
        let some = |of: &Slice, value: f64| (of.requests > 0).then_some(value);
        let all = &slices.slices;
        Some(ResponseCourse {
            every_us: us(slices.every_ns),
            requests: all.iter().map(|slice| slice.requests).collect(),
            mean_us: all
                .iter()
                .map(|slice| some(slice, us(slice.sum_ns) / slice.requests as f64))
                .collect(),
            max_us: all.iter().map(|slice| some(slice, us(slice.max_ns))).collect(),
            to_us: classes.clone().map(|class| us(end_ns(class))).collect(),
            counts: all.iter().map(counts).collect(),
        })
    }
}

impl Slices {
    /// When there are more slices than this, they become twice as long.
    const MOST: u64 = 400;
    const SHORTEST_NS: u64 = 1000;

    fn record(&mut self, answer: &Answer, class: usize) {
        let passed_ns = answer.answered_ns - self.since_ns;
        while passed_ns / self.every_ns >= Slices::MOST {
            self.double();
        }
        let slice = (passed_ns / self.every_ns) as usize;
        if slice >= self.slices.len() {
            self.slices.resize(slice + 1, Slice::default());
        }
        let (slice, response_ns) = (&mut self.slices[slice], answer.response_ns());
        slice.requests += 1;
        slice.sum_ns += response_ns;
        slice.max_ns = slice.max_ns.max(response_ns);
        if class >= slice.counts.len() {
            slice.counts.resize(class + 1, 0);
        }
        slice.counts[class] += 1;
    }

    fn double(&mut self) {
        self.every_ns *= 2;
        let pairs = self.slices.chunks(2).map(|pair| match pair {
            [first, second] => first.with(second),
            _ => pair[0].clone(),
        });
        self.slices = pairs.collect();
    }
}

impl Slice {
    fn with(&self, other: &Slice) -> Slice {
        let classes = self.counts.len().max(other.counts.len());
        let count = |of: &Slice, class: usize| of.counts.get(class).copied().unwrap_or(0);
        Slice {
            requests: self.requests + other.requests,
            sum_ns: self.sum_ns + other.sum_ns,
            max_ns: self.max_ns.max(other.max_ns),
            counts: (0..classes).map(|class| count(self, class) + count(other, class)).collect(),
        }
    }
}

/// The class of a response time. All times below 4 ns are in the first.
#[inline]
fn class_of(time_ns: u64) -> usize {
    let octave = time_ns.max(4).ilog2() - 2;
    let quarter = (time_ns.max(4) >> octave) - 4;
    4 * octave as usize + quarter as usize
}

/// The end of a class, which does not belong to it.
fn end_ns(class: usize) -> u64 {
    (5 + class as u64 % 4) << (class / 4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use drive::HostRequest;

    fn answer(answered_ns: u64, queue_ns: u64, array_ns: u64) -> Answer {
        let shares = Shares { queue_ns, array_ns, ..Shares::default() };
        let op = trace::Op::Read;
        let request = HostRequest { op, bytes: 0, force: false, memory_ns: 0, load: 0 };
        Answer { request, issued_ns: answered_ns - queue_ns - array_ns, answered_ns, shares }
    }

    #[test]
    fn classes_follow_each_other_without_gaps() {
        for class in 0..200 {
            let end_ns = end_ns(class);
            assert_eq!((class_of(end_ns - 1), class_of(end_ns)), (class, class + 1));
        }
        assert_eq!((class_of(0), class_of(4)), (0, 0));
        assert_eq!(class_of(u64::MAX), 247);
    }

    #[test]
    fn parts_are_means_of_the_requests_of_a_class() {
        let mut times = DriveTimes::new(false, 0);
        for (queue_ns, array_ns) in [(0, 50_000), (1000, 51_000), (100_000, 50_000)] {
            times.record(&answer(1_000_000, queue_ns, array_ns));
        }
        let found = times.by_response();
        assert_eq!((found.to_us, found.requests), (vec![57.344, 163.84], vec![2, 1]));
        assert_eq!(found.parts_us["queue"], [0.5, 100.0]);
        assert_eq!(found.parts_us["array"], [50.5, 50.0]);
        assert_eq!(times.course(), None);
    }

    #[test]
    fn slices_become_longer_and_lose_no_request() {
        let mut times = DriveTimes::new(true, 500);
        for number in 1..=10_000 {
            times.record(&answer(500 + number * 700, number % 7 * 10, 90));
        }
        let course = times.course().unwrap();
        assert_eq!(course.every_us, 32.0, "7 ms in at most 400 slices");
        assert_eq!(course.requests.len(), 219);
        assert_eq!(course.requests.iter().sum::<u64>(), 10_000);
        for (requests, counts) in course.requests.iter().zip(&course.counts) {
            assert_eq!((counts.iter().sum::<u64>(), counts.len()), (*requests, course.to_us.len()));
        }
        let mean = course.mean_us[100].unwrap();
        assert!((mean - 0.12).abs() < 0.002, "{mean}");
        assert_eq!(course.max_us[100], Some(0.15));
    }
}
