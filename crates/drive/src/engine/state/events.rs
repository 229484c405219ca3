//! What will happen, in the order of time.

use core::cmp::Ordering;
use std::collections::BinaryHeap;

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

/// All that will happen. Events at the same time come in an order that is the same in every run.
#[derive(Debug, Default)]
pub(crate) struct Events {
    heap: BinaryHeap<Event>,
    /// Whether the event on top has happened. Most events cause another one, which then takes its
    /// place; this is cheaper than to remove one and to add the other.
    has_happened: bool,
}

#[derive(Clone, Copy, Debug)]
struct Event {
    at_ns: u64,
    what: What,
}

impl Events {
    #[inline(always)]
    pub fn add(&mut self, at_ns: u64, what: What) {
        let event = Event { at_ns, what };
        match core::mem::take(&mut self.has_happened) {
            true => *self.heap.peek_mut().expect("what has happened is on top") = event,
            false => self.heap.push(event),
        }
    }

    /// Takes the next event, with its time, if there is one until that time.
    #[inline(always)]
    pub fn take_until(&mut self, until_ns: u64) -> Option<(u64, What)> {
        if core::mem::take(&mut self.has_happened) {
            self.heap.pop();
        }
        let &Event { at_ns, what, .. } =
            self.heap.peek().filter(|event| event.at_ns <= until_ns)?;
        self.has_happened = true;
        Some((at_ns, what))
    }

    pub fn is_empty(&self) -> bool {
        self.heap.len() == usize::from(self.has_happened)
    }
}

/// The heap has its greatest element on top: this is the earliest event.
impl Ord for Event {
    fn cmp(&self, other: &Event) -> Ordering {
        other.at_ns.cmp(&self.at_ns)
    }
}

impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Event) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Event {
    fn eq(&self, other: &Event) -> bool {
        self.at_ns == other.at_ns
    }
}

impl Eq for Event {}
