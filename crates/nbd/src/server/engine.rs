//! The loop: events of sockets in, requests to the devices, answers out.
//!
//! A connection gets turns of a few requests. It has no turn while it has many unsent answers,
//! while its device is frozen, or while its payload has no memory. So nobody can hold up others,
//! and memory is bounded.

use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use mio::{Events, Interest, Poll, Token, Waker};
use rustc_hash::FxHashMap;

use crate::control::command;
use crate::device::client::{Client, Ready};
use crate::device::live::{Live, Progress};
use crate::export::{self, Export};
use crate::server::address::{Listener, UnixSocket};
use crate::server::encryption::Encrypter;
use crate::server::memory::Budget;
use crate::server::movers::{LARGE, Movers};
use crate::server::operator::Operator;
use crate::server::peer::{Came, KEPT, Peer};
use crate::server::stream::{Socket, Stream};
use crate::server::unit::{Reply, Unit};
use crate::server::viewer::{Asked, Viewer};
use crate::session::{Step, length_of};
use crate::wire::Errno;
use crate::wire::buffer::SMALL;
use crate::wire::replies::{self, Failed};
use crate::wire::requests::{Command, Request};

/// Requests of one turn.
const TURN: usize = 64;
/// Requests of one connection that wait for their answers.
const UNANSWERED_MAX: usize = 1024;
/// How often timeouts are looked at.
const TICK: Duration = Duration::from_secs(1);
/// How long a stop waits for clients that do not take their answers.
const STOP_PATIENCE: Duration = Duration::from_secs(5);

const WAKER: Token = Token(0);
const CONTROL: Token = Token(1);
const FIRST_LISTENER: usize = 2;
/// Connections have numbers from here on.
const FIRST_CONNECTION: u64 = 64;

/// Limits of a server.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at one time.
    pub connections: usize,
    /// Memory for large payloads of all connections, in bytes.
    pub payload_bytes: usize,
    /// How long the options of a client may take.
    pub handshake: Duration,
    /// How long a client may pause within a request.
    pub pause: Duration,
    /// The same while others wait for memory.
    pub pause_when_short: Duration,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            connections: 1024,
            payload_bytes: 128 << 20,
            handshake: Duration::from_secs(10),
            pause: Duration::from_secs(30),
            pause_when_short: Duration::from_secs(2),
        }
    }
}

/// Stops a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    is_asked: Arc<AtomicBool>,
    waker: Arc<Waker>,
}

impl Stopper {
    /// Asks the server to answer what it has taken, and to end.
    pub fn stop(&self) {
        self.is_asked.store(true, Ordering::SeqCst);
        // A server that cannot be woken looks at the flag with the next event.
        let _ = self.waker.wake();
    }
}

/// A server.
pub struct Server {
    poll: Poll,
    stopper: Stopper,
    listeners: Vec<Listener>,
    control: Option<UnixSocket>,
    units: Vec<Unit>,
    exports: Vec<Export>,
    peers: FxHashMap<u64, Peer>,
    operators: FxHashMap<u64, Operator>,
    /// What viewers ask, if there are any.
    asked: Option<Receiver<Asked>>,
    next_connection: u64,
    budget: Budget,
    movers: Movers,
    limits: Limits,
    encrypter: Encrypter,
    /// Connections that may have a turn.
    turns: VecDeque<u64>,
    /// Next connection in line for payload memory, because the one before it gave up.
    successor: Option<u64>,
    /// Connections that came when there was no room may be waiting.
    may_accept: bool,
    stops_at: Option<Instant>,
    last_tick: Instant,
    /// Receives sentences about what happens.
    notice: Box<dyn FnMut(&str)>,
}

/// What becomes of a connection after its turn.
enum Verdict {
    /// It stays. It may go on at once, or only after an event.
    Stays { goes_on: bool },
    /// It is closed.
    Closed,
}

impl Server {
    /// A server of these devices, at no address yet.
    ///
    /// # Errors
    /// The system refuses.
    pub fn new(
        devices: Vec<Live>,
        limits: Limits,
        encrypter: Encrypter,
        notice: Box<dyn FnMut(&str)>,
    ) -> io::Result<Server> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), WAKER)?);
        let movers = Movers::start(&waker)?;
        let exports = devices.iter().map(|live| live.export().clone()).collect();
        let units = devices.into_iter().map(|live| Unit::new(live, Arc::clone(&waker)));
        Ok(Server {
            poll,
            units: units.collect(),
            stopper: Stopper { is_asked: Arc::default(), waker },
            listeners: Vec::new(),
            control: None,
            exports,
            peers: FxHashMap::default(),
            operators: FxHashMap::default(),
            asked: None,
            next_connection: FIRST_CONNECTION,
            budget: Budget::new(limits.payload_bytes),
            movers,
            limits,
            encrypter,
            turns: VecDeque::new(),
            successor: None,
            may_accept: false,
            stops_at: None,
            last_tick: Instant::now(),
            notice,
        })
    }

    /// Stops this server from another thread.
    pub fn stopper(&self) -> Stopper {
        self.stopper.clone()
    }

    /// Serves the clients of a listener.
    ///
    /// # Errors
    /// The system refuses, or there are too many listeners.
    pub fn accept_from(&mut self, mut listener: Listener) -> io::Result<()> {
        if FIRST_LISTENER + self.listeners.len() == FIRST_CONNECTION as usize {
            return Err(io::Error::other("a server cannot listen at more addresses"));
        }
        let token = Token(FIRST_LISTENER + self.listeners.len());
        let registry = self.poll.registry();
        match &mut listener {
            Listener::Unix(socket) => {
                registry.register(&mut socket.listener, token, Interest::READABLE)?;
            }
            Listener::Tcp(listener) => registry.register(listener, token, Interest::READABLE)?,
        }
        self.listeners.push(listener);
        Ok(())
    }

    /// From now on, devices stay without power after a cut, unless its command says otherwise.
    pub fn stay_down(&mut self) {
        self.units.iter_mut().for_each(|unit| unit.stays_down = true);
    }

    /// Takes commands of users at a Unix socket.
    ///
    /// # Errors
    /// The system refuses, or the socket is in use.
    pub fn take_commands(&mut self, path: &std::path::Path) -> io::Result<()> {
        let mut socket = UnixSocket::bind(path)?;
        self.poll.registry().register(&mut socket.listener, CONTROL, Interest::READABLE)?;
        self.control = Some(socket);
        Ok(())
    }

    /// A viewer of the disks. There is one at most.
    pub fn viewer(&mut self) -> Viewer {
        let waker = Arc::clone(&self.stopper.waker);
        let (viewer, asked) = Viewer::new(self.units.len(), waker);
        self.asked = Some(asked);
        viewer
    }

    /// Serves until it is asked to stop, or until the system fails. Returns the devices, which must
    /// be closed in any case.
    pub fn run(mut self) -> (Vec<Live>, io::Result<()>) {
        let mut events = Events::with_capacity(256);
        let ended = loop {
            match self.poll.poll(&mut events, Some(self.pause())) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => break Err(error),
                _ => {}
            }
            for event in &events {
                self.take_event(event);
            }
            self.take_back_buffers();
            self.give_turns();
            self.tend_units();
            self.answer_viewer();
            self.tick();
            if self.is_over() {
                break Ok(());
            }
        };
        (self.units.into_iter().map(|unit| unit.live).collect(), ended)
    }

    /// How long nothing needs to be done without an event.
    fn pause(&self) -> Duration {
        if !self.turns.is_empty() || self.units.iter().any(|unit| unit.live.has_work()) {
            return Duration::ZERO;
        }
        let times = self
            .units
            .iter()
            .flat_map(|unit| [unit.live.next_ready(), unit.thaws_at()].into_iter().flatten());
        let pause = times.min().map_or(TICK, |at| at.saturating_duration_since(Instant::now()));
        // The system counts in milliseconds and rounds up. A pace needs shorter pauses.
        if pause < Duration::from_millis(1) { Duration::ZERO } else { pause.min(TICK) }
    }

    // ---- Events ----------------------------------------------------------------------------

    fn take_event(&mut self, event: &mio::event::Event) {
        match event.token() {
            WAKER => {}
            CONTROL => self.accept_operators(),
            Token(number) if (number as u64) < FIRST_CONNECTION => {
                self.accept(number - FIRST_LISTENER)
            }
            Token(number) => {
                let id = number as u64;
                if let Some(peer) = self.peers.get_mut(&id) {
                    peer.is_closed |= event.is_read_closed();
                    peer.is_readable |= event.is_readable() || peer.is_closed;
                    peer.is_writable |= event.is_writable() || event.is_write_closed();
                    self.queue(id);
                } else {
                    self.receive(id)
                }
            }
        }
    }

    fn accept(&mut self, listener: usize) {
        if self.stops_at.is_some() {
            return;
        }
        loop {
            let accepted = match &self.listeners[listener] {
                Listener::Unix(socket) => {
                    socket.listener.accept().map(|(stream, _)| Socket::Unix(stream))
                }
                Listener::Tcp(listener) => listener.accept().map(|(stream, _)| Socket::Tcp(stream)),
            };
            match accepted {
                Ok(socket) if self.peers.len() < self.limits.connections => self.add_peer(socket),
                Ok(_) => (self.notice)("a client was sent away: there are too many connections"),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => {
                    (self.notice)(&format!("a client could not be accepted: {error}"));
                    self.may_accept = true;
                    return;
                }
            }
        }
    }

    fn add_peer(&mut self, socket: Socket) {
        let id = self.next_number();
        if let Ok(stream) = Stream::new(socket, self.poll.registry(), Token(id as usize)) {
            self.peers.insert(id, Peer::new(stream, self.encrypter.policy()));
            self.queue(id);
        }
    }

    fn next_number(&mut self) -> u64 {
        self.next_connection += 1;
        self.next_connection
    }

    /// Takes back the buffers that movers have filled or sent.
    fn take_back_buffers(&mut self) {
        while let Some(moved) = self.movers.ended() {
            let id = moved.id;
            if let Some(peer) = self.peers.get_mut(&id) {
                peer.take_back(moved);
                self.queue(id);
            }
        }
    }

    // ---- Turns of connections --------------------------------------------------------------

    /// Puts a connection into the queue for turns, once.
    fn queue(&mut self, id: u64) {
        if let Some(peer) = self.peers.get_mut(&id).filter(|peer| !peer.is_queued) {
            peer.is_queued = true;
            self.turns.push_back(id);
        }
    }

    fn give_turns(&mut self) {
        for _ in 0..self.turns.len() {
            let Some(id) = self.turns.pop_front() else { return };
            let Some(mut peer) = self.peers.remove(&id) else { continue };
            peer.is_queued = false;
            let was_short = self.budget.is_short();
            let verdict = self.turn(id, &mut peer);
            let next = match verdict {
                Verdict::Closed => self.budget.leave(id, peer.reserved),
                Verdict::Stays { .. } => {
                    let kept = if self.budget.is_short() { 0 } else { KEPT };
                    let next = release_unused(&mut self.budget, &mut peer, kept);
                    self.peers.insert(id, peer);
                    next
                }
            };
            if self.budget.is_short() && !was_short {
                self.shrink_buffers(|_| true);
            }
            if let Verdict::Stays { goes_on: true } = verdict {
                self.queue(id);
            }
            if let Some(next) = next.or_else(|| self.successor.take()) {
                self.queue(next);
            }
        }
    }

    /// Lets connections give back what their empty buffers keep.
    fn shrink_buffers(&mut self, of: impl Fn(&Peer) -> bool) {
        let budget = &mut self.budget;
        let peers = self.peers.values_mut().filter(|peer| of(peer));
        let next = peers.filter_map(|peer| release_unused(budget, peer, 0)).last();
        if let Some(next) = next {
            self.queue(next);
        }
    }

    /// Takes a few requests of a connection, and sends answers.
    fn turn(&mut self, id: u64, peer: &mut Peer) -> Verdict {
        let mut goes_on = true;
        for _ in 0..TURN {
            goes_on = match self.step(id, peer) {
                Some(goes_on) => goes_on,
                None => {
                    // Whoever has hung up only in one direction still gets the answers.
                    peer.send();
                    return Verdict::Closed;
                }
            };
            if !goes_on {
                break;
            }
        }
        peer.note_incomplete(Instant::now());
        if !peer.lend_output(id, &mut self.movers) && !peer.send() {
            return Verdict::Closed;
        }
        if peer.is_ending && peer.has_sent_all() {
            peer.stream.say_goodbye();
            return Verdict::Closed;
        }
        let has_sent = peer.unsent_bytes() <= SMALL && !peer.is_ending;
        Verdict::Stays { goes_on: has_sent && (goes_on || peer.was_full) }
    }

    /// Takes one step. Returns whether another one can follow; none if the connection has ended.
    fn step(&mut self, id: u64, peer: &mut Peer) -> Option<bool> {
        peer.was_full = peer.unsent_bytes() > SMALL;
        if peer.was_full || peer.is_ending || peer.filling.is_some() || self.is_held(peer) {
            peer.awaits_bytes = false;
            self.successor = self.budget.give_up(id).or(self.successor);
            return Some(false);
        }
        match peer.session.step(&self.exports) {
            Step::Progress => Some(true),
            Step::Needs(bytes) => {
                let wanted = peer.held_bytes_with(bytes, 0);
                if !self.budget.reserve(id, &mut peer.reserved, wanted) {
                    peer.awaits_bytes = false;
                    return Some(false);
                }
                peer.needs = bytes;
                let missing = bytes - peer.session.input.bytes().len();
                if missing >= LARGE && peer.lend_input(id, &mut self.movers) {
                    return Some(false);
                }
                let came = peer.receive();
                peer.awaits_bytes = came == Came::Nothing;
                match came {
                    Came::Bytes => Some(true),
                    Came::Nothing => Some(false),
                    Came::End => None,
                }
            }
            Step::Request(request) => self.serve(id, peer, &request),
            Step::StartTls => self.encrypter.encrypt(peer).then_some(true),
            Step::HangUp(why) => {
                if !why.is_empty() {
                    (self.notice)(&format!("a connection was closed: {why}"));
                }
                peer.is_ending = true;
                Some(false)
            }
        }
    }

    /// Whether no request of this connection is taken now.
    fn is_held(&self, peer: &Peer) -> bool {
        let is_held = |export: usize| self.units[export].live.is_held();
        peer.unanswered >= UNANSWERED_MAX || peer.session.export().is_some_and(is_held)
    }

    fn serve(&mut self, id: u64, peer: &mut Peer, request: &Request) -> Option<bool> {
        peer.awaits_bytes = false;
        if request.command == Command::Disconnect {
            peer.is_ending = true;
            return Some(false);
        }
        let export = peer.session.export()?;
        let style = peer.session.style();
        if self.stops_at.is_some() {
            let why = Failed::new(Errno::Shutdown, "the server is shutting down");
            replies::failed(&mut peer.session.output, style, request.cookie, &why);
            peer.session.finish(request);
            return Some(true);
        }
        let is_possible = request.bytes <= crate::wire::PAYLOAD_BYTES_MAX;
        let promised = if is_possible { request.promised_bytes() } else { 0 };
        let wanted = peer.held_bytes_with(0, promised);
        if !self.budget.reserve(id, &mut peer.reserved, wanted) {
            return Some(false);
        }
        self.receive_ahead(id, peer, request);
        let unit = &mut self.units[export];
        let client = Client { session: id, style, cookie: request.cookie };
        let before = peer.session.output.bytes().len();
        let progress = peer.session.perform(&mut unit.live, client, request);
        if peer.session.output.bytes().len() == before {
            peer.unanswered += 1;
            peer.promised += request.promised_bytes();
        }
        unit.begin_sync();
        if progress == Progress::PowerLost {
            // A device without power says nothing.
            peer.session.output.truncate(before);
            self.lose_power(export);
            return None;
        }
        Some(true)
    }

    /// Lets a mover receive what comes after a large request while that is performed, if a mover
    /// is free and there is memory.
    fn receive_ahead(&mut self, id: u64, peer: &mut Peer, request: &Request) {
        let length = length_of(request);
        let more = length.saturating_sub(peer.session.aside.extra_bytes(0));
        let is_worth_it = (LARGE..=KEPT).contains(&length) && self.budget.has(more);
        if is_worth_it && peer.socket_for(&self.movers).is_some() {
            peer.session.set_aside(request);
            let held = peer.held_bytes();
            self.budget.reserve(id, &mut peer.reserved, held);
            (peer.incomplete_since, peer.needs) = (None, length);
            peer.lend_input(id, &mut self.movers);
        }
    }

    // ---- Devices ---------------------------------------------------------------------------

    /// Lets the devices go on with what is under way.
    fn tend_units(&mut self) {
        let now = Instant::now();
        for index in 0..self.units.len() {
            let unit = &mut self.units[index];
            unit.end_syncs();
            if unit.live.has_work() {
                unit.live.work();
            }
            unit.begin_sync();
            let unmet = unit.cut_that_cannot_come();
            if self.exports[index].is_on && unit.live.store.disk.is_off() {
                self.lose_power(index);
                continue;
            }
            let was_held = unit.live.is_held();
            let thawed = unit.thaw(now);
            let ready = unit.live.take_ready(now);
            let gives_turns = was_held && !unit.live.is_held();
            self.deliver(ready);
            if let Some((operator, reply)) = unmet {
                self.reply(operator, reply);
            }
            if let Some(operator) = thawed {
                self.reply(operator, Ok(serde_json::json!({})));
            }
            if gives_turns {
                self.give_turns_to(index);
            }
        }
        self.give_turns();
    }

    fn deliver(&mut self, ready: Vec<Ready>) {
        for Ready { session, reply, promised } in ready {
            if let Some(peer) = self.peers.get_mut(&session) {
                peer.session.output.put(reply.bytes());
                peer.unanswered -= 1;
                peer.promised -= promised;
                self.queue(session);
            }
        }
    }

    fn give_turns_to(&mut self, export: usize) {
        let is_of = |peer: &Peer| peer.session.export() == Some(export);
        let peers = self.peers.iter().filter(|(_, peer)| is_of(peer)).map(|(id, _)| *id);
        for id in peers.collect::<Vec<_>>() {
            self.queue(id);
        }
    }

    /// The power of a device was lost: its clients are dropped.
    fn lose_power(&mut self, export: usize) {
        let budget = &mut self.budget;
        self.peers.retain(|id, peer| {
            let stays = peer.session.export() != Some(export);
            if !stays {
                peer.stream.hang_up();
                budget.leave(*id, peer.reserved);
            }
            stays
        });
        if let Some(first) = self.budget.first_waiting() {
            self.queue(first);
        }
        let reply = self.units[export].power_was_lost();
        self.exports[export] = self.units[export].live.export().clone();
        let death = self.units[export].live.take_death();
        let why = death.map_or(String::new(), |death| format!(": {death}"));
        (self.notice)(&format!("\"{}\" lost its power{why}", self.exports[export].name));
        if let Some((operator, reply)) = reply {
            self.reply(operator, reply);
        }
    }

    // ---- Users -----------------------------------------------------------------------------

    fn accept_operators(&mut self) {
        while let Some(accepted) = self.control.as_ref().map(|socket| socket.listener.accept()) {
            let (mut stream, _) = match accepted {
                Ok(accepted) => accepted,
                Err(error) => {
                    self.may_accept |= error.kind() != io::ErrorKind::WouldBlock;
                    return;
                }
            };
            let id = self.next_number();
            let both = Interest::READABLE | Interest::WRITABLE;
            if self.poll.registry().register(&mut stream, Token(id as usize), both).is_ok() {
                self.operators.insert(id, Operator::new(stream));
                self.receive(id);
            }
        }
    }

    /// Receives commands of a user.
    fn receive(&mut self, id: u64) {
        let Some(operator) = self.operators.get_mut(&id) else { return };
        let lines = if operator.send() { operator.lines() } else { None };
        let Some(lines) = lines else {
            self.operators.remove(&id);
            return;
        };
        for line in &lines {
            if let Some(reply) = self.execute(id, line) {
                self.reply(id, reply);
            }
        }
    }

    fn execute(&mut self, operator: u64, line: &str) -> Option<Reply> {
        let command = match command::parse(line) {
            Ok(command) => command,
            Err(why) => return Some(Err(why)),
        };
        let Some(export) = export::find(&self.exports, &command.export) else {
            let known: Vec<&str> = self.exports.iter().map(|it| it.name.as_str()).collect();
            let name = command.export;
            return Some(Err(format!("unknown export `{name}`; known are {}", known.join(", "))));
        };
        let was_held = self.units[export].live.is_held();
        let was_on = !self.units[export].live.store.disk.is_off();
        let reply = self.units[export].execute(operator, command.command);
        if let Some((other, reply)) = self.units[export].cut_taken_back() {
            self.reply(other, reply);
        }
        self.exports[export] = self.units[export].live.export().clone();
        if was_on && self.units[export].live.store.disk.is_off() {
            self.lose_power(export);
        }
        if was_held && !self.units[export].live.is_held() {
            self.give_turns_to(export);
        }
        reply
    }

    /// Begins and ends films. A viewer that is gone needs no answer.
    fn answer_viewer(&mut self) {
        while let Some(asked) = self.asked.as_ref().and_then(|asked| asked.try_recv().ok()) {
            match asked {
                Asked::Begin(export, reply) => {
                    let _ = reply.send(self.units[export].live.store.begin_film());
                }
                Asked::End(export, reply) => {
                    let _ = reply.send(self.units[export].live.store.end_film());
                }
            }
        }
    }

    fn reply(&mut self, operator: u64, reply: Reply) {
        if let Some(it) = self.operators.get_mut(&operator)
            && !it.answer(reply)
        {
            self.operators.remove(&operator);
        }
    }

    // ---- Time ------------------------------------------------------------------------------

    fn tick(&mut self) {
        let now = Instant::now();
        if self.stopper.is_asked.load(Ordering::SeqCst) && self.stops_at.is_none() {
            self.stops_at = Some(now + STOP_PATIENCE);
            for index in 0..self.units.len() {
                self.units[index].live.gate.set_frozen(false);
                self.give_turns_to(index);
            }
        }
        if now - self.last_tick < TICK {
            return;
        }
        self.last_tick = now;
        self.shrink_buffers(|peer| now - peer.moved > TICK);
        self.hang_up_on_idlers(now);
        if std::mem::take(&mut self.may_accept) {
            for listener in 0..self.listeners.len() {
                self.accept(listener);
            }
            self.accept_operators();
        }
    }

    /// Closes connections that keep others waiting.
    fn hang_up_on_idlers(&mut self, now: Instant) {
        let (limits, is_short) = (self.limits, self.budget.is_short());
        let mut late: Vec<u64> = Vec::new();
        for (id, peer) in &self.peers {
            let pause = now - peer.moved;
            let waits_for_client = peer.incomplete_since.is_some() || peer.unsent_bytes() > 0;
            // A client that sends one byte now and then is late, too.
            let whole = limits.pause + Duration::from_secs(peer.needs as u64 >> 20);
            let is_too_long = |since: Instant| now - since > whole || pause > limits.pause;
            let is_late = match peer.session.export() {
                None => now - peer.accepted > limits.handshake,
                Some(_) if is_short && peer.reserved > 0 && waits_for_client => {
                    pause > limits.pause_when_short
                }
                Some(_) if peer.is_ending => pause > limits.pause,
                Some(_) => peer.incomplete_since.is_some_and(is_too_long),
            };
            if is_late {
                late.push(*id);
            }
        }
        for id in late {
            if let Some(peer) = self.peers.remove(&id) {
                if let Some(next) = self.budget.leave(id, peer.reserved) {
                    self.queue(next);
                }
                (self.notice)("a connection was closed: the client paused within a request");
            }
        }
    }

    /// Whether a stop was asked for, and everything is answered or has taken too long.
    fn is_over(&self) -> bool {
        let Some(stops_at) = self.stops_at else { return false };
        let is_sent = self.peers.values().all(Peer::has_sent_all);
        let is_idle = self.units.iter().all(|unit| unit.live.is_idle());
        (is_sent && is_idle && self.turns.is_empty()) || Instant::now() > stops_at
    }
}

/// Lets a connection give back the memory of empty buffers that have more than `kept` bytes of it.
/// Returns who may try again to get some.
fn release_unused(budget: &mut Budget, peer: &mut Peer, kept: usize) -> Option<u64> {
    peer.shrink(kept);
    let held = peer.held_bytes();
    budget.release(&mut peer.reserved, held)
}
