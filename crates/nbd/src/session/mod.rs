//! One connection, without its socket: bytes in, requests out; replies in, bytes out.
//!
//! ```text
//! greeting ─▶ flags ─▶ options … ─▶ requests … ─▶ ended
//! ```
//! * `handshake`   options of the client, and the answers to them
//!
//! A session never looks at a clock and never waits. Whoever drives it gives it bytes when there
//! are some, and takes steps until it wants more.

mod handshake;

use crate::device::client::Client;
use crate::device::live::{Live, Progress};
use crate::export::Export;
use crate::session::handshake::{Agreed, Next};
use crate::wire::buffer::Buffer;
use crate::wire::options::{self, CLIENT_FLAGS_BYTES, FIXED_NEWSTYLE, NO_ZEROES};
use crate::wire::replies::{self, Failed, Style};
use crate::wire::requests::{self, Request};
use crate::wire::{Errno, PAYLOAD_BYTES_MAX};

pub use handshake::Encryption;

/// One connection.
pub struct Session {
    phase: Phase,
    agreed: Agreed,
    encryption: Encryption,
    /// Bytes that came.
    pub input: Buffer,
    /// A request that was put aside; when there is none, memory for the next one.
    pub aside: Buffer,
    /// Bytes to be sent.
    pub output: Buffer,
    /// A payload that is too long: its request, and bytes of it that have not come yet.
    skipped: Option<(Request, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// The client has not sent its flags.
    Flags,
    /// The client sends options.
    Options,
    /// The client sends requests for this export.
    Requests(usize),
}

/// What a session did.
#[derive(Debug, PartialEq, Eq)]
pub enum Step {
    /// It needs this number of bytes in its input.
    Needs(usize),
    /// It made progress, and may make more.
    Progress,
    /// A request came. It must be [finished](Session::finish) before the next step.
    Request(Request),
    /// The connection is to be encrypted after the output was sent.
    StartTls,
    /// The connection is to be closed after the output was sent, for this reason.
    HangUp(&'static str),
}

impl Session {
    /// A connection that was just accepted.
    pub fn new(encryption: Encryption) -> Session {
        let mut output = Buffer::default();
        options::greeting(&mut output);
        Session {
            phase: Phase::Flags,
            agreed: Agreed::default(),
            encryption,
            input: Buffer::default(),
            aside: Buffer::default(),
            output,
            skipped: None,
        }
    }

    /// The export that client and server agreed on.
    pub fn export(&self) -> Option<usize> {
        match self.phase {
            Phase::Requests(export) => Some(export),
            _ => None,
        }
    }

    /// The form of replies.
    pub fn style(&self) -> Style {
        self.agreed.style
    }

    /// Whether something has begun to come, but is not complete.
    pub fn is_within_a_unit(&self) -> bool {
        self.skipped.is_some() || !self.input.bytes().is_empty()
    }

    /// From now on the connection is encrypted. The client must begin anew.
    pub fn encrypted(&mut self) {
        self.encryption = Encryption::Done;
        self.agreed = Agreed { has_zeroes: self.agreed.has_zeroes, ..Agreed::default() };
    }

    /// Takes the next step.
    pub fn step(&mut self, exports: &[Export]) -> Step {
        match self.phase {
            Phase::Flags => self.take_flags(),
            Phase::Options => self.take_option(exports),
            Phase::Requests(_) => self.take_request(),
        }
    }

    fn take_flags(&mut self) -> Step {
        let Some(flags) = self.input.bytes().first_chunk::<CLIENT_FLAGS_BYTES>() else {
            return Step::Needs(CLIENT_FLAGS_BYTES);
        };
        let flags = u32::from_be_bytes(*flags);
        let known = u32::from(FIXED_NEWSTYLE | NO_ZEROES);
        if flags & !known != 0 || flags & u32::from(FIXED_NEWSTYLE) == 0 {
            return Step::HangUp("the client does not speak the fixed newstyle protocol");
        }
        self.agreed.has_zeroes = flags & u32::from(NO_ZEROES) == 0;
        self.input.take(CLIENT_FLAGS_BYTES);
        self.phase = Phase::Options;
        Step::Progress
    }

    fn take_option(&mut self, exports: &[Export]) -> Step {
        let bytes = self.input.bytes();
        let Some(head) = bytes.first_chunk::<{ options::HEAD_BYTES }>() else {
            return Step::Needs(options::HEAD_BYTES);
        };
        let Some(head) = options::Head::decode(head) else {
            return Step::HangUp("the client sent something that is not an option");
        };
        if head.bytes > options::DATA_BYTES_MAX {
            return Step::HangUp("the client sent an option with too many bytes");
        }
        let length = options::HEAD_BYTES + head.bytes as usize;
        let Some(data) = bytes.get(options::HEAD_BYTES..length) else {
            return Step::Needs(length);
        };
        let out = &mut self.output;
        let next = self.agreed.take_option(head, data, exports, &mut self.encryption, out);
        self.input.take(length);
        match next {
            Next::Option => Step::Progress,
            Next::Requests(export) => {
                self.phase = Phase::Requests(export);
                Step::Progress
            }
            Next::StartTls if self.input.bytes().is_empty() => Step::StartTls,
            Next::StartTls => Step::HangUp("the client did not wait for the encryption"),
            Next::HangUp(why) => Step::HangUp(why),
        }
    }

    fn take_request(&mut self) -> Step {
        if self.skipped.is_some() {
            return self.skip();
        }
        let bytes = self.input.bytes();
        let Some(head) = bytes.first_chunk::<{ requests::HEAD_BYTES }>() else {
            return Step::Needs(requests::HEAD_BYTES);
        };
        let Some(request) = Request::decode(head) else {
            return Step::HangUp("the client sent something that is not a request");
        };
        let payload = request.payload_bytes();
        if payload > PAYLOAD_BYTES_MAX {
            self.input.take(requests::HEAD_BYTES);
            self.skipped = Some((request, payload.into()));
            return Step::Progress;
        }
        let length = requests::HEAD_BYTES + payload as usize;
        if bytes.len() < length { Step::Needs(length) } else { Step::Request(request) }
    }

    /// Drops the payload of a request that is too long, and refuses it in the end.
    fn skip(&mut self) -> Step {
        let Some((request, left)) = &mut self.skipped else { return Step::Progress };
        let bytes = self.input.bytes().len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        *left -= bytes as u64;
        let (request, left) = (*request, *left);
        self.input.take(bytes);
        if left > 0 {
            return Step::Needs(1);
        }
        self.skipped = None;
        let why = format!("{} bytes are too many for one request", request.bytes);
        let why = Failed::new(Errno::Invalid, why);
        replies::failed(&mut self.output, self.agreed.style, request.cookie, &why);
        Step::Progress
    }

    /// Puts the request of this step aside, so that the input can take what comes next.
    pub fn set_aside(&mut self, request: &Request) {
        let length = length_of(request);
        let rest = &self.input.bytes()[length..];
        let came = rest.len();
        self.aside.room(length.max(came))[..came].copy_from_slice(rest);
        self.aside.came(came);
        std::mem::swap(&mut self.input, &mut self.aside);
    }

    fn has_aside(&self) -> bool {
        !self.aside.bytes().is_empty()
    }

    /// Gives back the memory of empty buffers that have more than `kept` bytes of it.
    pub fn shrink(&mut self, kept: usize) {
        self.input.shrink(kept);
        self.output.shrink(kept);
        self.aside.shrink(kept);
    }

    /// Hands the request of this step to a device, and ends the step. The reply goes to the output,
    /// or comes later.
    pub fn perform(&mut self, live: &mut Live, client: Client, request: &Request) -> Progress {
        let input = if self.has_aside() { &self.aside } else { &self.input };
        let payload = &input.bytes()[requests::HEAD_BYTES..];
        let payload = &payload[..request.payload_bytes() as usize];
        let out = &mut self.output;
        let progress = live.perform(client, &self.agreed.contexts, request, payload, out);
        self.finish(request);
        progress
    }

    /// Ends the step of a request.
    pub fn finish(&mut self, request: &Request) {
        match self.has_aside() {
            true => self.aside.truncate(0),
            false => self.input.take(length_of(request)),
        }
    }
}

/// Bytes of a request with its payload.
pub fn length_of(request: &Request) -> usize {
    requests::HEAD_BYTES + request.payload_bytes() as usize
}

/// Whether a session that waits for requests can take a step with these bytes.
pub fn has_whole_request(bytes: &[u8]) -> bool {
    let Some(head) = bytes.first_chunk::<{ requests::HEAD_BYTES }>() else { return false };
    Request::decode(head).is_none_or(|request| {
        request.payload_bytes() > PAYLOAD_BYTES_MAX || bytes.len() >= length_of(&request)
    })
}
