//! What will happen, in the order of time.
//!
//! Events of one kind are added nearly in the order of their times: arrays need the same time for
//! all pages, or for all pages of a type. So there is a queue for each kind, in which an event
//! seldom passes others, and what happens next is at the front of one of them. This is cheaper than
//! a heap, in which almost every event passes half of the others.

use nand::Op;

use crate::engine::state::fifo::Fifo;

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub(crate) enum What {
    /// A request has passed dispatcher, link and firmware.
    Entered(u32),
    /// A page of a command has crossed the channel to its die.
    Loaded { die: u16 },
    /// The array of a die has done its work, unless the command of this generation was suspended.
    ArrayDone { die: u16, generation: u32 },
    /// A page has crossed the channel from its die.
    Unloaded(u32),
    /// A command has made enough progress to be suspended.
    MaySuspend { die: u16 },
    /// The answer of a request has crossed the link.
    Answered(u32),
}

/// The queues: those of arrays at work by the kind of operation, and one for all else.
const QUEUES: usize = Op::ALL.len() + 1;
/// The queue for all else.
const OTHERS: usize = Op::ALL.len();

/// All that will happen. Events at the same time come in an order that is the same in every run.
#[derive(Debug)]
pub(crate) struct Events {
    arrays: [Fifo<Event<ArrayDone>>; Op::ALL.len()],
    others: Fifo<Event<What>>,
    /// The time of the first event of each queue; the greatest number if there is none.
    first_ns: [u64; QUEUES],
    /// The queue whose first event comes next.
    next: usize,
}

#[derive(Clone, Copy, Debug)]
struct Event<T> {
    at_ns: u64,
    what: T,
}

#[derive(Clone, Copy, Debug)]
struct ArrayDone {
    die: u16,
    generation: u32,
}

impl Events {
    pub fn new() -> Events {
        let arrays = [const { Fifo::EMPTY }; Op::ALL.len()];
        Events { arrays, others: Fifo::EMPTY, first_ns: [u64::MAX; QUEUES], next: 0 }
    }

    /// Adds the end of the work of an array.
    #[inline(always)]
    pub fn add_array_done(&mut self, op: Op, at_ns: u64, die: u16, generation: u32) {
        add_to(&mut self.arrays[op as usize], at_ns, ArrayDone { die, generation });
        self.note(op as usize, at_ns);
    }

    /// Adds something else.
    #[inline(always)]
    pub fn add(&mut self, at_ns: u64, what: What) {
        add_to(&mut self.others, at_ns, what);
        self.note(OTHERS, at_ns);
    }

    /// Notes that an event was added to a queue.
    #[inline(always)]
    fn note(&mut self, number: usize, at_ns: u64) {
        if at_ns < self.first_ns[number] {
            self.first_ns[number] = at_ns;
            if (at_ns, number) < (self.first_ns[self.next], self.next) {
                self.next = number;
            }
        }
    }

    /// Whether something happens before that time.
    #[inline(always)]
    pub fn has_before(&self, end_ns: u64) -> bool {
        self.first_ns[self.next] < end_ns
    }

    /// Takes the next event, with its time. There must be one.
    #[inline(always)]
    pub fn take(&mut self) -> (u64, What) {
        let next = self.next;
        match self.arrays.get_mut(next) {
            Some(queue) => {
                let (at_ns, ArrayDone { die, generation }, first_ns) = take_from(queue);
                self.taken_from(next, first_ns);
                (at_ns, What::ArrayDone { die, generation })
            }
            None => {
                let (at_ns, what, first_ns) = take_from(&mut self.others);
                self.taken_from(OTHERS, first_ns);
                (at_ns, what)
            }
        }
    }

    /// Notes that an event was taken from a queue, and the time of its next one.
    #[inline(always)]
    fn taken_from(&mut self, number: usize, first_ns: u64) {
        self.first_ns[number] = first_ns;
        self.next = self.earliest();
    }

    /// The queue whose first event comes next; of several, the first one.
    #[inline(always)]
    fn earliest(&self) -> usize {
        let (mut number, mut first_ns) = (0, self.first_ns[0]);
        for other in 1..QUEUES {
            if self.first_ns[other] < first_ns {
                (number, first_ns) = (other, self.first_ns[other]);
            }
        }
        number
    }

    /// The time of the next event.
    pub fn next_ns(&self) -> Option<u64> {
        self.first_ns.into_iter().min().filter(|_| !self.is_empty())
    }

    pub fn is_empty(&self) -> bool {
        self.first_ns == [u64::MAX; QUEUES]
    }
}

/// Adds an event to a queue.
#[inline(always)]
fn add_to<T: Copy>(queue: &mut Fifo<Event<T>>, at_ns: u64, what: T) {
    let passes_others = queue.last().is_some_and(|last| last.at_ns > at_ns);
    queue.push(Event { at_ns, what });
    if passes_others {
        pass_others(queue.waiting());
    }
}

/// Moves the last event before all those that come later.
fn pass_others<T: Copy>(queue: &mut [Event<T>]) {
    let Some((&mut event, others)) = queue.split_last_mut() else { return };
    let later = others.iter().rev().take_while(|other| other.at_ns > event.at_ns).count();
    let (place, last) = (others.len() - later, others.len());
    queue.copy_within(place..last, place + 1);
    queue[place] = event;
}

/// Takes the first event of a queue: its time, what happens, and the time of the next one.
#[inline(always)]
fn take_from<T: Copy>(queue: &mut Fifo<Event<T>>) -> (u64, T, u64) {
    let Event { at_ns, what } = queue.pop().expect("nothing happens any more");
    (at_ns, what, queue.front().map_or(u64::MAX, |event| event.at_ns))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_queue_then_as_they_were_added() {
        let mut events = Events::new();
        assert_eq!(events.next_ns(), None);
        events.add(9, What::Entered(1));
        events.add(5, What::Entered(2));
        events.add(9, What::Entered(3));
        events.add(7, What::Entered(4));
        events.add(5, What::Entered(5));
        events.add_array_done(Op::Erase, 5, 6, 0);
        events.add_array_done(Op::Read, 5, 7, 0);
        assert_eq!(events.next_ns(), Some(5));
        let mut taken = Vec::new();
        while !events.is_empty() {
            taken.push(match events.take() {
                (at_ns, What::Entered(number)) => (at_ns, number),
                (at_ns, What::ArrayDone { die, .. }) => (at_ns, die.into()),
                _ => panic!("no other was added"),
            });
        }
        assert_eq!(taken, [(5, 7), (5, 6), (5, 2), (5, 5), (7, 4), (9, 1), (9, 3)]);
        assert_eq!(events.next_ns(), None);
    }
}
