//! Operations: what they wait for, and their end.

use nand::{BlockId, Op};

use crate::engine::state::flash_operation::{Dependent, FlashOperation, Stage};
use crate::engine::state::pool::{NONE, Pool};
use crate::engine::{ActiveRequest, Drive};
use crate::journal::{EndedOperation, Entry};
use crate::shares::Shares;

impl Drive {
    /// Makes something wait for the end of an operation.
    pub(super) fn depend(&mut self, earlier: u32, later: Dependent) {
        let list = &mut self.operations[earlier].dependents;
        *list = self.dependents.insert((later, *list));
    }

    // ---- What operations wait for --------------------------------------------------------------

    /// One thing less that an operation waits for. `shares` tell where the time went until now.
    pub(super) fn no_longer_waits(&mut self, own: u32, shares: Shares) {
        let operation = &mut self.operations[own];
        operation.waits_for -= 1;
        if operation.waits_for == 0 {
            let request = operation.request;
            let path = self.since_issue(request, shares);
            self.set_path(own, path);
            self.ready(own);
        }
    }

    /// Notes where the time of an operation went until now.
    fn set_path(&mut self, own: u32, shares: Shares) {
        let operation = &mut self.operations[own];
        operation.since_ns = self.now_ns;
        match operation.path {
            NONE => operation.path = self.paths.insert(shares),
            path => self.paths[path] = shares,
        }
    }

    /// An operation waits for nothing but its die.
    #[inline(always)]
    pub(super) fn ready(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        operation.since_ns = self.now_ns;
        if operation.is_in_buffer {
            operation.ready_ns = self.now_ns;
            operation.started_ns = self.now_ns;
            self.usage.read_from_buffer += 1;
            return self.read_ended(own);
        }
        self.stage_ready(own);
    }

    /// A stage of an operation waits for nothing but its die.
    #[inline(always)]
    fn stage_ready(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        operation.ready_ns = self.now_ns;
        let Stage { op, at, lane, .. } = operation.stage;
        if !operation.collects {
            let die = &self.dies[usize::from(at.die)];
            operation.collected_before_ns = die.collecting_ns(self.now_ns);
        }
        let is_program = op == Op::Program;
        if op == Op::Erase {
            self.erase_ready(own);
        } else if is_program && operation.is_in_open_row {
            self.no_longer_missing(lane);
        } else if operation.may_begin() {
            self.queue(own, at.die, !is_program);
        }
    }

    /// An erase waits for nothing but the dies of its stripe.
    fn erase_ready(&mut self, own: u32) {
        let block = BlockId(self.operations[own].stage.page);
        for number in self.places.stripe(block) {
            self.queue(own, self.places.die(number), false);
        }
    }

    /// One thing less that keeps an operation from its die.
    pub(super) fn no_longer_held(&mut self, own: u32) {
        let operation = &mut self.operations[own];
        if operation.no_longer_held() {
            let (die, is_read) = (operation.stage.at.die, operation.stage.is_read());
            self.queue(own, die, is_read);
        }
    }

    // ---- Their end -----------------------------------------------------------------------------

    /// A page has been read. A copy goes on with its program.
    #[inline(always)]
    pub(super) fn read_ended(&mut self, own: u32) {
        match self.operations[own].program {
            None => {
                self.ended(own);
            }
            Some(_) => self.go_on(own),
        }
    }

    /// The read of a copy has ended; its program is next. Collection is a single part of a response
    /// time, so the path of a copy under such a cause need not be followed.
    #[inline(always)]
    fn go_on(&mut self, own: u32) {
        self.note(own);
        if !self.operations[own].collects {
            let operation = &self.operations[own];
            let request = &self.requests[operation.request];
            let path = shares_of(operation, request, &self.paths, self.now_ns);
            self.set_path(own, path);
        }
        let operation = &mut self.operations[own];
        self.usage.ended[operation.stage.op as usize] += 1;
        operation.stage = operation.program.take().expect("a copy ends with a program");
        operation.is_in_buffer = false;
        operation.next_of_command = NONE;
        self.stage_ready(own);
    }

    /// One die less works on an erase.
    pub(super) fn part_ended(&mut self, own: u32, die: u16, started_ns: u64) {
        if self.journal.is_kept() {
            let operation = &self.operations[own];
            let active = &mut self.requests[operation.request];
            active.entries -= 1;
            let part = EndedOperation {
                die,
                counts: die == operation.stage.at.die,
                started_ns,
                ..entry_of(operation, active.number, self.now_ns)
            };
            self.journal.add(|| Entry::Operation(part));
        }
        let parts = &mut self.operations[own].parts;
        *parts -= 1;
        if *parts == 0 {
            self.ended(own);
        }
    }

    /// An operation has ended. Returns the next one of its command, or [`NONE`].
    #[inline(always)]
    pub(super) fn ended(&mut self, own: u32) -> u32 {
        let operation = &self.operations[own];
        let Stage { op, lane, .. } = operation.stage;
        let FlashOperation { request: id, is_awaited, next_of_command, .. } = *operation;
        self.usage.ended[op as usize] += 1;
        if op == Op::Program {
            self.lanes[lane].program_ends(own, operation.next_of_lane);
        }
        let mut erases = [self.lanes.leave(lane), NONE];
        if operation.source_lane != NONE {
            erases[1] = self.lanes.leave(operation.source_lane);
        }
        let passed = match op {
            Op::Program | Op::Erase => self.barriers.leave(),
            Op::Read | Op::SpareRead => Vec::new(),
        };
        let has_erases = erases[0] != NONE || erases[1] != NONE;
        let is_followed = operation.is_followed() || has_erases || !passed.is_empty();
        if op != Op::Erase {
            self.note(own);
        }
        let shares = match is_followed {
            true => Some(self.follow(own, erases, &passed)),
            false => None,
        };
        let active = &mut self.requests[id];
        active.unfinished -= 1;
        active.awaited -= u32::from(is_awaited);
        // What ends before the last thing that a request waits for leaves no trace in its parts.
        if is_awaited && active.awaited == 0 {
            let operation = &self.operations[own];
            active.shares = match shares {
                Some(shares) => shares,
                None => shares_of(operation, active, &self.paths, self.now_ns),
            };
            self.operations.remove(own);
            self.answer(id);
        } else {
            let is_over = active.is_over();
            self.operations.remove(own);
            if is_over {
                self.requests.remove(id);
            }
        }
        next_of_command
    }

    /// What follows from the end of an operation, beside the answer of its request. It was the last
    /// one for which these erases waited, and the last one before a barrier that these operations
    /// have `passed`. Returns where its time went.
    fn follow(&mut self, own: u32, erases: [u32; 2], passed: &[u32]) -> Shares {
        let operation = &self.operations[own];
        let FlashOperation { path, dependents, is_buffered, buffer_entry, .. } = *operation;
        let Stage { op, lane, .. } = operation.stage;
        let request = &self.requests[operation.request];
        let shares = shares_of(operation, request, &self.paths, self.now_ns);
        if path != NONE {
            self.paths.remove(path);
        }
        if is_buffered {
            self.leave_buffer(buffer_entry);
        }
        if op == Op::Erase {
            self.erase_ended(lane, self.places.dies_per_stripe());
        }
        self.release_dependents(dependents, shares);
        let erases = erases.into_iter().filter(|&erase| erase != NONE);
        for later in erases.chain(passed.iter().copied()) {
            self.no_longer_waits(later, shares);
        }
        shares
    }

    fn release_dependents(&mut self, mut entry: u32, shares: Shares) {
        while entry != NONE {
            let (later, next) = self.dependents[entry];
            self.dependents.remove(entry);
            entry = next;
            match later {
                Dependent::Operation(own) => self.no_longer_waits(own, shares),
                Dependent::Held(own) => self.no_longer_held(own),
                Dependent::Request(id) => self.request_awaited(id, shares),
            }
        }
    }

    /// Writes a stage of an operation that ends now into the journal.
    #[inline(always)]
    fn note(&mut self, own: u32) {
        if self.journal.is_kept() {
            let operation = &self.operations[own];
            let active = &mut self.requests[operation.request];
            active.entries -= 1;
            let entry = entry_of(operation, active.number, self.now_ns);
            self.journal.add(|| Entry::Operation(entry));
        }
    }
}

// ---- Where the time went ------------------------------------------------------------------------

/// Where the time went until an operation of a request ends now.
#[inline(always)]
fn shares_of(
    operation: &FlashOperation,
    request: &ActiveRequest,
    paths: &Pool<Shares>,
    now_ns: u64,
) -> Shares {
    let mut shares = match operation.path {
        NONE => request.at_entry,
        path => paths[path],
    };
    if operation.path == NONE && operation.is_buffered {
        shares.buffer_ns += request.buffer_ns;
    }
    shares + own_shares(operation, now_ns)
}

/// Where the time went since the end of an operation's path.
fn own_shares(operation: &FlashOperation, now_ns: u64) -> Shares {
    if operation.is_in_buffer {
        return Shares::NONE;
    }
    let all_ns = now_ns - operation.since_ns;
    if operation.collects {
        return Shares { collection_ns: all_ns, ..Shares::NONE };
    }
    let waited_ns = operation.started_ns - operation.ready_ns;
    let collection_ns = match operation.stage.op {
        // It waited for many dies.
        Op::Erase => 0,
        _ => (operation.collected_after_ns - operation.collected_before_ns).min(waited_ns),
    };
    let Stage { array_ns, channel_ns: transfer_ns, .. } = operation.stage;
    let queue_ns = all_ns - collection_ns - array_ns - transfer_ns;
    Shares { queue_ns, array_ns, transfer_ns, collection_ns, ..Shares::NONE }
}

/// The journal's entry of a stage of an operation.
fn entry_of(operation: &FlashOperation, request: u64, ended_ns: u64) -> EndedOperation {
    EndedOperation {
        op: operation.stage.op,
        cause: operation.cause,
        place: operation.stage.page,
        request,
        die: operation.stage.at.die,
        counts: true,
        is_from_buffer: operation.is_in_buffer,
        ready_ns: operation.ready_ns,
        started_ns: operation.started_ns,
        ended_ns,
    }
}
