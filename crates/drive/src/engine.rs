//! The event queue of a drive.
//!
//! A request comes with the operations that the FTL made of it ([`Drive::submit`]). They stand in
//! the queues of their dies in the order in which the FTL issued them. A die takes the first one
//! that may begin: everything it waits for has ended, and it overtakes no earlier operation on the
//! same page or block. Reads ask for their channel when the array has delivered their page,
//! programs when their die is free; a channel serves them in the order in which they ask.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use nand::{Geometry, Op, Timing};
use slab::Slab;

use crate::buffer::Buffer;
use crate::command::{Command, Phase, Work};
use crate::die::Die;
use crate::flash_operation::{Copy, FlashOperation, NOTHING};
use crate::operation::{Answer, HostRequest, Issued};
use crate::places::Places;
use crate::profile::{Acknowledge, Profile};
use crate::shares::Shares;
use crate::usage::{DieUsage, Usage};

/// A drive at work.
#[derive(Debug)]
pub struct Drive {
    pub(crate) profile: Profile,
    pub(crate) chip: Timing,
    pub(crate) places: Places,
    pub(crate) operations: Slab<FlashOperation>,
    /// Lists of dependent operations: an operation, and the next entry of its list.
    pub(crate) dependents: Slab<(usize, usize)>,
    /// Copies whose program has not ended: the block that they leave, and the program.
    pub(crate) copying: Slab<(u32, usize)>,
    pub(crate) dies: Vec<Die>,
    pub(crate) next_number: u64,
    pub(crate) usage: Usage,
    page_ns: u64,
    spare_ns: u64,
    now_ns: u64,
    events: BinaryHeap<Reverse<Event>>,
    next_event: u64,
    requests: Slab<ActiveRequest>,
    dispatcher: Line,
    link_in: Line,
    link_out: Line,
    channels: Vec<Line>,
    buffer: Buffer,
    /// Buffered programs that have not ended.
    buffered: Slab<usize>,
    /// Programs with a smaller number do not wait for the rest of their row.
    complete_before: u64,
    answers: VecDeque<Answer>,
}

/// Something that happens at a time. Of events at the same time, the one that was caused first
/// comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    at_ns: u64,
    number: u64,
    what: What,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A request has passed dispatcher, link and firmware.
    Entered(usize),
    /// A page of a command has crossed the channel to its die.
    Loaded { die: u16, generation: u32 },
    /// The array of a die has done its work.
    ArrayDone { die: u16, generation: u32 },
    /// A page has crossed the channel from its die.
    Unloaded(usize),
    /// A command has made enough progress to be suspended.
    MaySuspend { die: u16, generation: u32 },
    /// The answer of a request has crossed the link.
    Answered(usize),
}

/// A request that is not finished.
#[derive(Debug)]
struct ActiveRequest {
    request: HostRequest,
    issued_ns: u64,
    operations: Vec<usize>,
    unfinished: usize,
    /// What the answer waits for.
    awaited: usize,
    /// The pages that wait for room in the buffer; none if the request does not need the buffer.
    pages: u64,
    is_answered: bool,
    shares: Shares,
    entered_ns: u64,
}

/// Something that serves one at a time, in the order in which it is asked.
#[derive(Clone, Copy, Debug, Default)]
struct Line {
    free_ns: u64,
}

impl Line {
    /// Takes the line for a time, from `from_ns` on or as soon as it is free. Returns the end.
    fn take(&mut self, from_ns: u64, duration_ns: u64) -> u64 {
        self.free_ns = self.free_ns.max(from_ns) + duration_ns;
        self.free_ns
    }
}

impl Drive {
    /// An idle drive at time 0, made of chips with this timing, whose FTL uses this geometry.
    pub fn new(profile: &Profile, geometry: &Geometry, chip: Timing) -> Drive {
        let places = Places::new(profile, geometry);
        let channels = profile.channels as usize;
        let (page, spare) = (geometry.page_bytes().into(), geometry.spare_bytes().into());
        let buffer_pages = profile.buffer.unwrap_or(0) / u64::from(geometry.page_bytes());
        Drive {
            page_ns: duration_ns(page, profile.transfer),
            spare_ns: duration_ns(spare, profile.transfer),
            usage: Usage::new(channels, 0),
            dies: (0..places.dies()).map(|_| Die::default()).collect(),
            channels: vec![Line::default(); channels],
            buffer: Buffer::new(buffer_pages),
            profile: profile.clone(),
            chip,
            places,
            operations: Slab::new(),
            dependents: Slab::new(),
            copying: Slab::new(),
            next_number: 0,
            now_ns: 0,
            events: BinaryHeap::new(),
            next_event: 0,
            requests: Slab::new(),
            dispatcher: Line::default(),
            link_in: Line::default(),
            link_out: Line::default(),
            buffered: Slab::new(),
            complete_before: 0,
            answers: VecDeque::new(),
        }
    }

    /// The time, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// Issues a request with the operations that the FTL made of it.
    ///
    /// # Panics
    /// The time lies before the last event that has happened.
    pub fn submit(&mut self, at_ns: u64, request: HostRequest, issued: &[Issued]) {
        self.run_until(at_ns);
        self.usage.request_came(at_ns);
        let active = ActiveRequest {
            request,
            issued_ns: at_ns,
            operations: Vec::new(),
            unfinished: 0,
            awaited: 1,
            pages: 0,
            is_answered: false,
            shares: Shares::default(),
            entered_ns: 0,
        };
        let id = self.requests.insert(active);
        let planned = self.plan(id, &request, issued);
        let awaited = planned.iter().filter(|&&own| self.operations[own].is_awaited).count();
        let pages = planned.iter().filter(|&&own| self.operations[own].is_buffered).count();
        let active = &mut self.requests[id];
        active.unfinished = planned.len();
        active.awaited += awaited;
        active.pages = pages as u64;
        active.operations = planned;
        self.pass_front(id);
    }

    /// The next answer, if there is one until that time. The time advances to the answer, or
    /// else to `until_ns`.
    pub fn next_answer(&mut self, until_ns: u64) -> Option<Answer> {
        while self.answers.is_empty() && self.step(until_ns) {}
        let answer = self.answers.pop_front();
        if answer.is_none() && until_ns != u64::MAX {
            self.now_ns = self.now_ns.max(until_ns);
        }
        answer
    }

    /// Lets the drive finish everything. Answers must have been taken, or are taken afterwards.
    pub fn finish(&mut self) {
        self.force();
        while self.step(u64::MAX) {
            if self.events.is_empty() {
                self.force();
            }
        }
        assert!(self.requests.is_empty(), "requests were not finished: {:?}", self.requests);
        assert!(self.operations.is_empty(), "operations did not end: {:?}", self.operations);
        self.usage.until_ns = self.now_ns;
    }

    /// What was done since the last [`Drive::reset_usage`], complete after [`Drive::finish`].
    pub fn usage(&self) -> Usage {
        let mut usage = self.usage.clone();
        usage.dies = self.dies.iter().map(|die| die.usage).collect();
        usage
    }

    /// Counts from zero. The drive must be idle.
    pub fn reset_usage(&mut self) {
        assert!(self.requests.is_empty() && self.operations.is_empty(), "the drive is not idle");
        self.usage = Usage::new(self.channels.len(), self.now_ns);
        self.dies.iter_mut().for_each(|die| die.usage = DieUsage::default());
    }

    // ---- Time ----------------------------------------------------------------------------------

    /// Lets everything happen that happens until `at_ns`.
    fn run_until(&mut self, at_ns: u64) {
        assert!(at_ns >= self.now_ns, "{at_ns} ns lie before {} ns", self.now_ns);
        while self.step(at_ns) {}
        self.now_ns = at_ns;
    }

    /// Lets the next event happen, if there is one until that time.
    fn step(&mut self, until_ns: u64) -> bool {
        match self.events.peek() {
            Some(Reverse(event)) if event.at_ns <= until_ns => {}
            _ => return false,
        }
        let Some(Reverse(event)) = self.events.pop() else { return false };
        self.now_ns = event.at_ns;
        match event.what {
            What::Entered(id) => self.enter(id),
            What::Loaded { die, generation } if self.is_current(die, generation) => {
                self.load_next(die)
            }
            What::ArrayDone { die, generation } if self.is_current(die, generation) => {
                self.array_done(die)
            }
            What::MaySuspend { die, generation } if self.is_current(die, generation) => {
                self.dies[die as usize].will_ask = false;
                self.start(die)
            }
            What::Unloaded(own) => self.unloaded(own),
            What::Answered(id) => self.answered(id),
            What::Loaded { .. } | What::ArrayDone { .. } | What::MaySuspend { .. } => {}
        }
        true
    }

    fn at(&mut self, at_ns: u64, what: What) {
        let number = self.next_event;
        self.next_event += 1;
        self.events.push(Reverse(Event { at_ns, number, what }));
    }

    fn is_current(&self, die: u16, generation: u32) -> bool {
        self.dies[die as usize].generation == generation
    }

    // ---- Requests ------------------------------------------------------------------------------

    /// Sends a request through dispatcher, link and firmware.
    fn pass_front(&mut self, id: usize) {
        let request = self.requests[id].request;
        let mut own_ns = self.profile.dispatch_ns;
        let mut at_ns = self.dispatcher.take(self.now_ns, own_ns);
        let mut link_ns = 0;
        if request.op == trace::Op::Write {
            link_ns = duration_ns(request.bytes, self.profile.link);
            at_ns = self.link_in.take(at_ns, link_ns);
        }
        let trim_ns = if request.op == trace::Op::Trim { self.profile.trim_ns } else { 0 };
        let firmware_ns = self.profile.firmware_ns + trim_ns + request.memory_ns;
        own_ns += firmware_ns;
        at_ns += firmware_ns;
        let shares = &mut self.requests[id].shares;
        shares.firmware_ns = own_ns;
        shares.transfer_ns = link_ns;
        shares.queue_ns = at_ns - self.now_ns - own_ns - link_ns;
        match at_ns == self.now_ns {
            true => self.enter(id),
            false => self.at(at_ns, What::Entered(id)),
        }
    }

    /// Lets the operations of a request begin, except those that wait for the buffer.
    fn enter(&mut self, id: usize) {
        let needs_buffer = self.requests[id].pages > 0;
        self.requests[id].entered_ns = self.now_ns;
        if self.requests[id].request.op == trace::Op::Flush && !self.profile.protected {
            self.await_buffered(id);
        }
        self.release(id, |operation| !operation.is_buffered);
        match needs_buffer {
            true => {
                self.buffer.wait(id, self.requests[id].pages);
                self.admit();
            }
            false => self.no_longer_awaits(id),
        }
    }

    /// A flush of a volatile buffer waits for all programs that are still to come.
    fn await_buffered(&mut self, id: usize) {
        self.force();
        let of_others = |program: &usize| self.operations[*program].request != id;
        let programs = self.buffered.iter().map(|(_, &program)| program);
        let programs: Vec<usize> = programs.filter(of_others).collect();
        programs.into_iter().for_each(|program| self.depend_request(program, id));
    }

    /// Lets requests into the buffer that find room.
    fn admit(&mut self) {
        while let Some(id) = self.buffer.admit() {
            let active = &mut self.requests[id];
            active.shares.buffer_ns += self.now_ns - active.entered_ns;
            self.release(id, |operation| operation.is_buffered);
            self.no_longer_awaits(id);
        }
        if self.buffer.has_waiting() {
            self.force();
        }
    }

    /// Lets operations of a request begin as far as the request is concerned.
    fn release(&mut self, id: usize, which: impl Fn(&FlashOperation) -> bool) {
        let operations = core::mem::take(&mut self.requests[id].operations);
        let shares = self.requests[id].shares;
        let (now, later): (Vec<usize>, _) =
            operations.into_iter().partition(|&own| which(&self.operations[own]));
        self.requests[id].operations = later;
        for &own in &now {
            if self.operations[own].is_buffered {
                self.operations[own].buffer_entry = self.buffered.insert(own);
            }
        }
        now.into_iter().for_each(|own| self.no_longer_waits(own, shares));
    }

    fn no_longer_awaits(&mut self, id: usize) {
        let active = &mut self.requests[id];
        active.awaited -= 1;
        if active.awaited == 0 {
            self.answer(id);
        }
    }

    /// Sends the answer of a request over the link.
    fn answer(&mut self, id: usize) {
        let HostRequest { op, bytes, .. } = self.requests[id].request;
        let link_ns = match op {
            trace::Op::Read => duration_ns(bytes, self.profile.link),
            _ => 0,
        };
        if link_ns == 0 {
            return self.answered(id);
        }
        let end_ns = self.link_out.take(self.now_ns, link_ns);
        let shares = &mut self.requests[id].shares;
        shares.transfer_ns += link_ns;
        shares.queue_ns += end_ns - self.now_ns - link_ns;
        self.at(end_ns, What::Answered(id));
    }

    fn answered(&mut self, id: usize) {
        let active = &mut self.requests[id];
        active.is_answered = true;
        let answer = Answer {
            request: active.request,
            issued_ns: active.issued_ns,
            answered_ns: self.now_ns,
            shares: active.shares,
        };
        let (parts, whole) = (answer.shares.total_ns(), answer.response_ns());
        assert_eq!(parts, whole, "the parts of a response are not the response: {answer:?}");
        self.usage.request_left(&answer);
        self.answers.push_back(answer);
        self.forget(id);
    }

    /// Drops a request that has been answered and whose operations have ended.
    fn forget(&mut self, id: usize) {
        if self.requests[id].is_answered && self.requests[id].unfinished == 0 {
            self.requests.remove(id);
        }
    }

    // ---- Operations ----------------------------------------------------------------------------

    /// One thing less that an operation waits for. `shares` tell where the time went until now.
    fn no_longer_waits(&mut self, own: usize, shares: Shares) {
        self.operations[own].waits_for -= 1;
        if !self.operations[own].is_ready() {
            return;
        }
        let shares = self.since_issue(self.operations[own].request, shares);
        let operation = &mut self.operations[own];
        let die_number = operation.at.die;
        operation.shares = shares;
        operation.ready_ns = self.now_ns;
        operation.started_ns = self.now_ns;
        if operation.is_in_buffer {
            self.usage.read_from_buffer += 1;
            return self.ended(own);
        }
        let die = &mut self.dies[die_number as usize];
        operation.collecting_ns = die.collecting_ns(self.now_ns);
        die.ready += 1;
        self.start(die_number);
    }

    /// An operation has ended.
    fn ended(&mut self, own: usize) {
        let operation = &self.operations[own];
        let shares = operation.shares + self.own_shares(operation);
        if operation.counts {
            self.usage.ended[operation.op as usize] += 1;
        }
        let copy = operation.copy;
        let buffer_entry = operation.is_buffered.then_some(operation.buffer_entry);
        let (id, is_awaited) = (operation.request, operation.is_awaited);
        match copy {
            Copy::None => {}
            Copy::Source(target) => {
                if let Copy::Target { read_ns, .. } = &mut self.operations[target].copy {
                    *read_ns = Some(self.now_ns);
                }
            }
            Copy::Target { entry, .. } => drop(self.copying.remove(entry)),
        }
        let mut entry = self.operations.remove(own).dependents;
        if let Some(entry) = buffer_entry {
            self.buffered.remove(entry);
            self.buffer.leave();
            self.admit();
        }
        while entry != NOTHING {
            let (later, next) = self.dependents.remove(entry);
            entry = next;
            match later.checked_sub(REQUESTS) {
                Some(request) => self.request_awaited(request, shares),
                None => self.no_longer_waits(later, shares),
            }
        }
        self.requests[id].unfinished -= 1;
        match is_awaited {
            true => self.request_awaited(id, shares),
            false => self.forget(id),
        }
    }

    /// Something that a request's answer waits for has ended.
    fn request_awaited(&mut self, id: usize, shares: Shares) {
        let shares = self.since_issue(id, shares);
        self.requests[id].shares = shares;
        self.no_longer_awaits(id);
    }

    /// Where the time of a request went that ends now. An operation of another request may have
    /// begun earlier than this request; then all of its time was spent in the queue.
    fn since_issue(&self, id: usize, shares: Shares) -> Shares {
        let whole_ns = self.now_ns - self.requests[id].issued_ns;
        match shares.total_ns() == whole_ns {
            true => shares,
            false => Shares { queue_ns: whole_ns, ..Shares::default() },
        }
    }

    /// Makes a request's answer wait for an operation of another request.
    fn depend_request(&mut self, earlier: usize, id: usize) {
        let next = self.operations[earlier].dependents;
        self.operations[earlier].dependents = self.dependents.insert((REQUESTS + id, next));
        self.requests[id].awaited += 1;
    }

    /// Where the time went since the operation could begin.
    fn own_shares(&self, operation: &FlashOperation) -> Shares {
        let all_ns = self.now_ns - operation.ready_ns;
        if operation.collects() {
            return Shares { collection_ns: all_ns, ..Shares::default() };
        }
        let waited_ns = operation.started_ns - operation.ready_ns;
        let collection_ns = operation.collecting_ns.min(waited_ns);
        let array_ns = operation.array_ns.min(self.now_ns - operation.started_ns);
        let transfer_ns = operation.channel_ns.min(all_ns - waited_ns - array_ns);
        let queue_ns = all_ns - collection_ns - array_ns - transfer_ns;
        Shares { queue_ns, array_ns, transfer_ns, collection_ns, ..Shares::default() }
    }

    // ---- Dies ----------------------------------------------------------------------------------

    /// Gives a die its next command, if it is free and has one, or may be suspended for a read.
    fn start(&mut self, number: u16) {
        let die = &self.dies[number as usize];
        if die.running.is_some() {
            return self.suspend_for_read(number);
        }
        let may_go_on = self.profile.suspend_reads.is_some_and(|most| die.reads_between >= most);
        if may_go_on && die.suspended.is_some() {
            return self.resume(number);
        }
        let rows_wait = self.rows_wait();
        match die.next(&self.operations, self.profile.reads_first, rows_wait) {
            Some(position) => self.begin(number, position, rows_wait),
            None => self.resume(number),
        }
    }

    /// Below which number programs do not wait for the rest of their row; none if none does.
    fn rows_wait(&self) -> Option<u64> {
        let at_once = self.profile.pages_at_once * self.profile.planes;
        (at_once > 1 && self.acknowledges_by_buffer()).then_some(self.complete_before)
    }

    /// Programs that were issued until now no longer wait for the rest of their row.
    fn force(&mut self) {
        if self.complete_before < self.next_number {
            self.complete_before = self.next_number;
            (0..self.dies.len()).for_each(|die| self.start(die as u16));
        }
    }

    fn begin(&mut self, number: u16, position: usize, rows_wait: Option<u64>) {
        let die = &mut self.dies[number as usize];
        let first = &self.operations[die.queue[position]];
        let (work, planes) = (first.op, self.profile.planes as usize);
        let most = match work {
            Op::Program => planes * self.profile.pages_at_once as usize,
            _ => planes,
        };
        let taken = die.take(position, &self.operations, most, rows_wait);
        die.reads_between += u32::from(die.suspended.is_some());
        let collecting_ns = die.collecting_ns(self.now_ns);
        let (mut array_ns, mut sum_ns) = (0, 0);
        for &own in &taken {
            let operation = &mut self.operations[own];
            assert!(operation.is_ready(), "an operation began too early: {operation:?}");
            if let Copy::Target { read_ns, .. } = operation.copy {
                let is_read = read_ns.is_some_and(|read_ns| read_ns <= self.now_ns);
                assert!(is_read, "a copy was programmed before it was read: {operation:?}");
            }
            operation.started_ns = self.now_ns;
            operation.collecting_ns = collecting_ns - operation.collecting_ns;
            array_ns = array_ns.max(operation.array_ns);
            sum_ns += operation.array_ns;
        }
        die.usage.saved_ns += sum_ns - array_ns;
        let collects = self.operations[taken[0]].collects();
        die.occupy(
            self.now_ns,
            Command {
                work: Work::Flash(work),
                operations: taken,
                phase: Phase::Loading,
                collects,
                array_ns,
                progress_ns: 0,
                resumed_ns: self.now_ns,
                transferred: 0,
            },
        );
        self.load_next(number);
    }

    /// Brings the next page of a program to its die, or the command of another operation; then the
    /// array begins.
    fn load_next(&mut self, number: u16) {
        let command = self.running(number);
        let is_program = command.work == Work::Flash(Op::Program);
        let (own, last) = (command.operations[command.transferred], command.operations.len() - 1);
        let is_last = !is_program || command.transferred == last;
        command.transferred += 1;
        let channel_ns = match is_program {
            true => self.operations[own].channel_ns,
            false => self.profile.command_ns * (last as u64 + 1),
        };
        let loaded_ns = self.transfer(number, channel_ns);
        if !is_last {
            let generation = self.dies[number as usize].generation;
            return match loaded_ns == self.now_ns {
                true => self.load_next(number),
                false => self.at(loaded_ns, What::Loaded { die: number, generation }),
            };
        }
        let die = &mut self.dies[number as usize];
        die.usage.moving_ns += loaded_ns - die.changed_ns;
        let command = self.running(number);
        command.phase = Phase::Array;
        command.resumed_ns = loaded_ns;
        let end_ns = command.array_end_ns();
        self.await_array(number, end_ns);
        self.suspend_for_read(number);
    }

    fn await_array(&mut self, number: u16, end_ns: u64) {
        let generation = self.dies[number as usize].generation;
        self.at(end_ns, What::ArrayDone { die: number, generation });
    }

    /// Takes the channel of a die for a time. Returns the end.
    fn transfer(&mut self, number: u16, duration_ns: u64) -> u64 {
        if duration_ns == 0 {
            return self.now_ns;
        }
        let channel = self.places.channel(number);
        let free_ns = self.channels[channel].free_ns;
        let end_ns = self.channels[channel].take(self.now_ns, duration_ns);
        let start_ns = end_ns - duration_ns;
        assert!(start_ns >= free_ns.max(self.now_ns), "a channel was taken while it was busy");
        self.usage.channels[channel].busy_ns += end_ns - start_ns;
        end_ns
    }

    /// The array of a die has done its work.
    fn array_done(&mut self, number: u16) {
        let now_ns = self.now_ns;
        let command = self.running(number);
        let done_ns = command.progress_ns + (now_ns - command.resumed_ns);
        let (work, array_ns) = (command.work, command.array_ns);
        assert_eq!(done_ns, array_ns, "the array of a die worked too long or too short");
        let Work::Flash(op) = work else {
            self.vacate(number);
            self.dies[number as usize].usage.suspending_ns += array_ns;
            return self.start(number);
        };
        self.dies[number as usize].usage.array_ns += done_ns;
        match op {
            Op::Read | Op::SpareRead => self.unload(number),
            Op::Program | Op::Erase => {
                let command = self.vacate(number);
                self.dies[number as usize].programs -= match op {
                    Op::Program => command.operations.len(),
                    _ => 0,
                };
                command.operations.into_iter().for_each(|own| self.ended(own));
                self.start(number);
            }
        }
    }

    /// Sends the pages that a die has read over its channel.
    fn unload(&mut self, number: u16) {
        let command = self.running(number);
        command.phase = Phase::Unloading;
        command.transferred = 0;
        let pages = command.operations.clone();
        if !self.profile.hold {
            self.vacate(number);
        }
        for own in pages {
            match self.operations[own].channel_ns - self.profile.command_ns {
                0 => self.unloaded(own),
                transfer_ns => {
                    let end_ns = self.transfer(number, transfer_ns);
                    self.at(end_ns, What::Unloaded(own));
                }
            }
        }
        if !self.profile.hold {
            self.start(number);
        }
    }

    /// A page has left its die.
    fn unloaded(&mut self, own: usize) {
        let number = self.operations[own].at.die;
        if self.profile.hold {
            let command = self.running(number);
            command.transferred += 1;
            if command.transferred == command.operations.len() {
                self.vacate(number);
                self.ended(own);
                return self.start(number);
            }
        }
        self.ended(own);
    }

    fn running(&mut self, number: u16) -> &mut Command {
        self.dies[number as usize].running.as_mut().expect("the die has a command")
    }

    fn vacate(&mut self, number: u16) -> Command {
        self.dies[number as usize].vacate(self.now_ns)
    }

    // ---- Suspension ----------------------------------------------------------------------------

    /// Suspends the running program or erase if a read waits for it, or asks again later.
    fn suspend_for_read(&mut self, number: u16) {
        let die = &self.dies[number as usize];
        let Some(command) = &die.running else { return };
        let may_suspend = match command.work {
            Work::Flash(Op::Program) => self.profile.suspend_program,
            Work::Flash(Op::Erase) => self.profile.suspend_erase,
            _ => false,
        };
        if !may_suspend || die.will_ask || command.phase != Phase::Array || die.suspended.is_some()
        {
            return;
        }
        if !self.has_read_for(number) {
            return;
        }
        let Profile { suspend_progress_ns, suspend_step_ns, .. } = self.profile;
        let from_ns =
            command.may_be_suspended_ns(self.now_ns, suspend_progress_ns, suspend_step_ns);
        let end_ns = command.array_end_ns();
        if from_ns > self.now_ns && from_ns < end_ns {
            let generation = die.generation;
            self.dies[number as usize].will_ask = true;
            self.at(from_ns, What::MaySuspend { die: number, generation });
        } else if from_ns <= self.now_ns && self.now_ns < end_ns {
            self.suspend(number);
        }
    }

    /// Whether a read is ready that need not wait for the running command.
    fn has_read_for(&self, number: u16) -> bool {
        let die = &self.dies[number as usize];
        let running = die.running.iter().flat_map(|command| &command.operations);
        let holds_back = |read: &FlashOperation| {
            running.clone().any(|&own| self.operations[own].holds_back(read))
        };
        let position = die.next(&self.operations, true, self.rows_wait());
        position.is_some_and(|position| {
            let operation = &self.operations[die.queue[position]];
            operation.is_read() && !holds_back(operation)
        })
    }

    fn suspend(&mut self, number: u16) {
        let now_ns = self.now_ns;
        let mut command = self.vacate(number);
        command.progress_ns += now_ns - command.resumed_ns;
        let die = &mut self.dies[number as usize];
        die.suspended = Some(command);
        die.reads_between = 0;
        die.usage.suspensions += 1;
        let array_ns = self.profile.suspend_cost_ns;
        die.occupy(
            now_ns,
            Command {
                work: Work::Suspension,
                operations: Vec::new(),
                phase: Phase::Array,
                collects: false,
                array_ns,
                progress_ns: 0,
                resumed_ns: now_ns,
                transferred: 0,
            },
        );
        self.await_array(number, now_ns + array_ns);
    }

    /// Goes on with a suspended command, if there is one.
    fn resume(&mut self, number: u16) {
        let die = &mut self.dies[number as usize];
        if let Some(mut command) = die.suspended.take() {
            command.resumed_ns = self.now_ns;
            let end_ns = command.array_end_ns();
            die.occupy(self.now_ns, command);
            self.await_array(number, end_ns);
            self.suspend_for_read(number);
        }
    }

    // ---- Durations -----------------------------------------------------------------------------

    pub(crate) fn acknowledges_by_buffer(&self) -> bool {
        self.profile.acknowledge == Acknowledge::Buffer
    }

    /// The time of an operation on its channel.
    pub(crate) fn channel_ns(&self, op: Op) -> u64 {
        let transfer_ns = match op {
            Op::Read | Op::Program => self.page_ns,
            Op::SpareRead => self.spare_ns,
            Op::Erase => 0,
        };
        self.profile.command_ns + transfer_ns
    }
}

/// Entries of dependent lists from this number on are requests.
const REQUESTS: usize = usize::MAX / 2;

/// The time that bytes take at a rate; none takes no time.
fn duration_ns(bytes: u64, rate: Option<u64>) -> u64 {
    rate.map_or(0, |rate| (u128::from(bytes) * 1_000_000_000).div_ceil(rate.into()) as u64)
}
