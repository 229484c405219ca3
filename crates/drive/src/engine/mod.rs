//! The event queue of a drive.
//!
//! A request comes with the operations that the FTL made of it ([`Drive::submit`]). An operation
//! waits until everything has ended that it depends on, and then for its die. A die takes the
//! operation that could begin first, reads before others if the profile says so. Reads ask for
//! their channel when the array has delivered their page, programs when their die is free; a
//! channel serves them in the order in which they ask.
//!
//! * `plan`        which operations of a request wait for which
//! * `requests`    requests: from their issue to their answer
//! * `operations`  operations: what they wait for, and their end
//! * `order`       the order of operations on a block, and rows that are programmed together
//! * `dies`        dies and channels at work
//! * `suspension`  programs and erases that let reads pass
//! * `state`       operations, dies, lanes and all else that these work on

mod dies;
mod operations;
mod order;
mod plan;
mod requests;
pub(crate) mod state;
mod suspension;

use nand::{Geometry, Timing};

use crate::engine::state::barriers::Barriers;
use crate::engine::state::buffer::Buffer;
use crate::engine::state::die::Die;
use crate::engine::state::durations::Durations;
use crate::engine::state::events::{Events, What};
use crate::engine::state::fifo::Fifo;
use crate::engine::state::flash_operation::{Dependent, FlashOperation};
use crate::engine::state::lane::Lanes;
use crate::engine::state::line::{Channels, Line};
use crate::engine::state::pool::{NONE, Pool};
use crate::journal::{Entry, Journal};
use crate::operation::{Answer, HostRequest, Issued};
use crate::places::Places;
use crate::profile::{Acknowledge, Profile};
use crate::shares::Shares;
use crate::usage::{ChannelUsage, DieUsage, Usage};

/// A drive at work.
#[derive(Debug)]
pub struct Drive {
    profile: Profile,
    places: Places,
    durations: Durations,
    /// Whether commands can have several operations, and whether they can be suspended.
    joins: bool,
    suspends: bool,
    /// Whether programs wait for the rest of their row.
    rows_wait: bool,
    now_ns: u64,
    events: Events,
    requests: Pool<ActiveRequest>,
    submitted: u64,
    operations: Pool<FlashOperation>,
    lanes: Lanes,
    /// Lanes that may have an open row.
    open_lanes: Vec<u32>,
    /// Lists of dependents: one of them, and the next entry of its list.
    dependents: Pool<(Dependent, u32)>,
    /// Where the time of operations went that waited for others until they were ready.
    paths: Pool<Shares>,
    dies: Vec<Die>,
    dispatcher: Line,
    link_in: Line,
    link_out: Line,
    channels: Channels,
    barriers: Barriers,
    buffer: Buffer,
    /// Buffered programs that have not ended.
    buffered: Vec<u32>,
    answers: Fifo<Answer>,
    usage: Usage,
    journal: Journal,
}

/// A request that is not finished.
#[derive(Clone, Copy, Debug)]
struct ActiveRequest {
    number: u64,
    request: HostRequest,
    issued_ns: u64,
    /// Its first operation that does not need the buffer, and the first that does.
    first: u32,
    first_buffered: u32,
    /// The last one of each.
    last: u32,
    last_buffered: u32,
    /// How many operations have not ended.
    unfinished: u32,
    /// How many entries about operations the journal still has to get.
    entries: u32,
    /// What the answer waits for.
    awaited: u32,
    /// The pages that wait for room in the buffer; none if the request does not need the buffer.
    pages: u32,
    is_answered: bool,
    entered_ns: u64,
    /// Where its time went until it entered, and until now.
    at_entry: Shares,
    shares: Shares,
    /// How long its pages waited for room.
    buffer_ns: u64,
}

impl ActiveRequest {
    /// No request.
    const NONE: ActiveRequest = ActiveRequest::new(0, HostRequest::NONE, 0);

    /// A request whose operations are not known yet.
    #[inline(always)]
    const fn new(number: u64, request: HostRequest, issued_ns: u64) -> ActiveRequest {
        ActiveRequest {
            number,
            request,
            issued_ns,
            first: NONE,
            first_buffered: NONE,
            last: NONE,
            last_buffered: NONE,
            unfinished: 0,
            entries: 0,
            awaited: 1,
            pages: 0,
            is_answered: false,
            entered_ns: 0,
            at_entry: Shares::NONE,
            shares: Shares::NONE,
            buffer_ns: 0,
        }
    }

    /// Whether it has been answered and all its operations have ended.
    #[inline(always)]
    fn is_over(&self) -> bool {
        self.is_answered && self.unfinished == 0
    }
}

impl Drive {
    /// An idle drive at time 0, made of chips with this timing, whose FTL uses this geometry.
    pub fn new(profile: &Profile, geometry: &Geometry, chip: Timing) -> Drive {
        let places = Places::new(profile, geometry);
        let channels = profile.channels as usize;
        let buffer_pages = profile.buffer.unwrap_or(0) / u64::from(geometry.page_bytes());
        let is_acknowledged_early = profile.acknowledge == Acknowledge::Buffer;
        let joins = profile.pages_at_once * profile.planes > 1;
        Drive {
            durations: Durations::new(profile, geometry, &chip),
            joins,
            rows_wait: joins && is_acknowledged_early,
            suspends: profile.suspend.programs || profile.suspend.erases,
            usage: Usage::new(0),
            dies: places.channels().map(Die::on).collect(),
            channels: Channels(vec![Line::default(); channels]),
            barriers: Barriers::default(),
            buffer: Buffer::new(buffer_pages),
            profile: profile.clone(),
            now_ns: 0,
            events: Events::new(),
            requests: Pool::new(ActiveRequest::NONE),
            submitted: 0,
            operations: Pool::new(FlashOperation::NONE),
            lanes: Lanes::new(geometry.blocks(), places.dies_per_stripe()),
            open_lanes: Vec::new(),
            dependents: Pool::new((Dependent::Operation(NONE), NONE)),
            paths: Pool::new(Shares::NONE),
            dispatcher: Line::default(),
            link_in: Line::default(),
            link_out: Line::default(),
            buffered: Vec::new(),
            places,
            answers: Fifo::EMPTY,
            journal: Journal::default(),
        }
    }

    /// The memory that an idle drive takes, in bytes.
    pub fn memory_bytes(profile: &Profile, geometry: &Geometry) -> u64 {
        let blocks = u64::from(geometry.blocks()) * size_of::<u32>() as u64;
        let dies = u64::from(profile.dies()) * size_of::<Die>() as u64;
        Places::memory_bytes(profile, geometry) + blocks + dies
    }

    /// The time, in nanoseconds.
    pub fn now_ns(&self) -> u64 {
        self.now_ns
    }

    /// When something happens next, if nothing is issued before, for a caller who waits for it.
    pub fn next_event_ns(&self) -> Option<u64> {
        if self.answers.is_empty() { self.events.next_ns() } else { Some(self.now_ns) }
    }

    /// Issues a request with the operations that the FTL made of it.
    ///
    /// # Panics
    /// The time lies before the last event that has happened.
    pub fn submit(&mut self, at_ns: u64, request: HostRequest, issued: &[Issued]) {
        self.run_until(at_ns);
        self.usage.request_came(at_ns);
        let number = self.submitted;
        self.journal.add(|| Entry::Issue { number, at_ns });
        let id = self.requests.insert(ActiveRequest::new(number, request, at_ns));
        self.submitted += 1;
        self.plan(id, &request, issued);
        let pages = self.requests[id].pages;
        if pages > 0 {
            self.buffer.expect(id, pages.into());
        }
        self.pass_front(id, &request);
    }

    /// The next answer, if there is one until that time. The time advances to the answer, or
    /// else to `until_ns`.
    #[inline]
    pub fn next_answer(&mut self, until_ns: u64) -> Option<Answer> {
        if self.answers.is_empty() {
            self.advance(until_ns, true);
        }
        let answer = self.answers.pop();
        if answer.is_none() && until_ns != u64::MAX {
            self.now_ns = self.now_ns.max(until_ns);
        }
        answer
    }

    /// The number of flash operations that have not ended.
    #[inline]
    pub fn unfinished_operations(&self) -> usize {
        self.operations.len()
    }

    /// Lets the drive finish everything. Answers must have been taken, or are taken afterwards.
    pub fn finish(&mut self) {
        self.close_rows();
        while !self.events.is_empty() {
            self.advance(u64::MAX, false);
            self.close_rows();
        }
        assert!(self.requests.is_empty(), "requests were not finished: {:?}", self.requests);
        assert!(self.operations.is_empty(), "operations did not end: {:?}", self.operations);
        assert!(self.lanes.is_empty(), "operations have not left their lanes: {:?}", self.lanes);
        assert!(
            self.dependents.is_empty(),
            "operations wait for what ended: {:?}",
            self.dependents
        );
        assert!(self.paths.is_empty(), "operations left their paths: {:?}", self.paths);
        self.usage.until_ns = self.now_ns;
    }

    /// What was done since the last [`Drive::reset_usage`], complete after [`Drive::finish`].
    pub fn usage(&self) -> Usage {
        let mut usage = self.usage.clone();
        usage.dies = self.dies.iter().map(|die| die.usage).collect();
        usage.channels = self.channels.0.iter().map(|channel| channel.usage).collect();
        for die in &self.dies {
            let channel = &mut usage.channels[usize::from(die.channel)];
            channel.planned_ns += die.usage.planned_transfer_ns;
        }
        usage
    }

    /// Counts from zero. The drive must be idle.
    pub fn reset_usage(&mut self) {
        assert!(self.requests.is_empty() && self.operations.is_empty(), "the drive is not idle");
        self.usage = Usage::new(self.now_ns);
        self.dies.iter_mut().for_each(|die| die.usage = DieUsage::default());
        self.channels.0.iter_mut().for_each(|channel| channel.usage = ChannelUsage::default());
    }

    /// Writes down from now on what happens.
    pub fn keep_journal(&mut self) {
        self.journal.begin();
    }

    /// Moves what was written down since the last call to the end of `out`.
    pub fn drain_journal(&mut self, out: &mut Vec<Entry>) {
        self.journal.drain_to(out);
    }

    // ---- Time ----------------------------------------------------------------------------------

    /// Lets everything happen that happens until `at_ns`.
    fn run_until(&mut self, at_ns: u64) {
        assert!(at_ns >= self.now_ns, "{at_ns} ns lie before {} ns", self.now_ns);
        if self.events.has_before(at_ns.saturating_add(1)) {
            self.advance(at_ns, false);
        }
        self.now_ns = at_ns;
    }

    /// Lets events happen until that time, or until there is an answer.
    fn advance(&mut self, until_ns: u64, ends_with_answer: bool) {
        let end_ns = until_ns.saturating_add(1);
        while self.events.has_before(end_ns) {
            let (at_ns, what) = self.events.take();
            self.now_ns = at_ns;
            self.happen(what);
            if ends_with_answer && !self.answers.is_empty() {
                return;
            }
        }
    }

    /// Lets an event happen.
    #[inline(always)]
    fn happen(&mut self, what: What) {
        match what {
            What::ArrayDone { die, generation } => self.array_done(die, generation),
            What::Unloaded(own) => self.unloaded(own),
            What::Loaded { die } => self.load_next(die),
            What::MaySuspend { die } => self.may_suspend(die),
            What::Entered(id) => self.enter(id),
            What::Answered(id) => self.answered(id),
        }
    }

    // ---- What the profile says -----------------------------------------------------------------

    fn acknowledges_by_buffer(&self) -> bool {
        self.profile.acknowledge == Acknowledge::Buffer
    }

    /// Pages that one command of a die programs at most.
    fn pages_at_once(&self) -> u32 {
        self.profile.pages_at_once * self.profile.planes
    }
}
