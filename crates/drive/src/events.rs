//! What will happen, in the order of time.

use core::cmp::Ordering;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A request has passed dispatcher, link and firmware.
    Entered(u32),
    /// A page of a command has crossed the channel to its die.
    Loaded { die: u16, generation: u32 },
    /// The array of a die has done its work.
    ArrayDone { die: u16, generation: u32 },
    /// A page has crossed the channel from its die.
    Unloaded(u32),
    /// A command has made enough progress to be suspended.
    MaySuspend { die: u16, generation: u32 },
    /// The answer of a request has crossed the link.
    Answered(u32),
}

/// All that will happen. Of events at the same time, the one that was caused first comes first.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Event>,
    caused: u64,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at_ns: u64,
    number: u64,
    what: What,
}

impl Events {
    pub fn add(&mut self, at_ns: u64, what: What) {
        self.heap.push(Event { at_ns, number: self.caused, what });
        self.caused += 1;
    }

    /// Takes the next event, with its time, if there is one until that time.
    #[inline]
    pub fn take_until(&mut self, until_ns: u64) -> Option<(u64, What)> {
        let first = self.heap.peek_mut().filter(|event| event.at_ns <= until_ns)?;
        let Event { at_ns, what, .. } = PeekMut::pop(first);
        Some((at_ns, what))
    }

    pub fn is_empty(&self) -> bool {
        self.heap.is_empty()
    }
}

impl Event {
    fn order(&self) -> u128 {
        u128::from(self.at_ns) << 64 | u128::from(self.number)
    }
}

/// The heap has its greatest element on top: this is the earliest event.
impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        other.order().cmp(&self.order())
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Event {}
