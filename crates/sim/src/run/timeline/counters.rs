//! Values of counters, thinned: at most two within 20 µs, and never one that stays wrong.
//!
//! A value that comes too soon after the last one is put back. If it is still there when the next
//! one comes later, it is recorded first, at its own time.

use crate::run::timeline::record::{Counter, Record};

/// The least time from one recorded value to the next one that is recorded at once.
const STEP_NS: u64 = 20_000;

/// All counters.
#[derive(Debug, Default)]
pub struct Counters([Thinned; Counter::COUNT]);

/// One counter: the last value that was recorded, and one that was put back.
#[derive(Clone, Copy, Debug, Default)]
struct Thinned {
    recorded: Option<Value>,
    put_back: Option<Value>,
}

/// A value and the time since which it holds.
type Value = (u64, f64);

impl Counters {
    /// Notes a value. Records go to `out`.
    pub fn note(&mut self, counter: Counter, at_ns: u64, value: f64, out: &mut Vec<Record>) {
        let thinned = &mut self.0[counter as usize];
        let is_soon = |(since_ns, _): Value| at_ns - since_ns < STEP_NS;
        if thinned.recorded.is_some_and(is_soon) {
            thinned.put_back = Some((at_ns, value));
            return;
        }
        thinned.settle(counter, out);
        thinned.record(counter, (at_ns, value), out);
    }

    /// Records what was put back.
    pub fn settle(&mut self, out: &mut Vec<Record>) {
        let all = [
            Counter::QueueDepth,
            Counter::BufferPages,
            Counter::FreeBlocks,
            Counter::WriteAmplification,
        ];
        all.into_iter().for_each(|counter| self.0[counter as usize].settle(counter, out));
    }
}

impl Thinned {
    fn settle(&mut self, counter: Counter, out: &mut Vec<Record>) {
        if let Some(value) = self.put_back.take() {
            self.record(counter, value, out);
        }
    }

    /// Records a value that differs from the last one.
    fn record(&mut self, counter: Counter, (at_ns, value): Value, out: &mut Vec<Record>) {
        if self.recorded.is_none_or(|(_, last)| last != value) {
            self.recorded = Some((at_ns, value));
            out.push(Record::Counter { counter, at_ns, value });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_comes_too_soon_is_recorded_when_it_stays() {
        let (mut counters, mut out) = (Counters::default(), Vec::new());
        for (at_ns, value) in
            [(0, 1.0), (5, 2.0), (6, 3.0), (50_000, 3.0), (60_000, 4.0), (60_001, 3.0)]
        {
            counters.note(Counter::QueueDepth, at_ns, value, &mut out);
        }
        counters.settle(&mut out);
        let values = out.iter().map(|record| match record {
            Record::Counter { at_ns, value, .. } => (*at_ns, *value),
            other => panic!("{other:?}"),
        });
        assert_eq!(values.collect::<Vec<_>>(), [(0, 1.0), (6, 3.0), (60_000, 4.0), (60_001, 3.0)]);
    }
}
