//! What the parts of the drive did, and the laws that it obeys.
//!
//! ```text
//! array time of a die    = Σ over its operations − what operations of one command share
//! time of a die          = array, transfers and suspensions
//! busy time of a channel = Σ over its operations
//! ∫ requests in the drive dt = Σ response times            (Little's law)
//! parts of a response    = the response
//! operations that ended  = operations that were issued
//! ```
//! The left sides are measured as things happen, the right sides are added up as operations are
//! issued. A clock that loses time breaks a law.

use nand::Op;

use crate::operation::Answer;
use crate::shares::Shares;

/// What a die did, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DieUsage {
    /// In the array.
    pub array_ns: u64,
    /// In the array, by the operations issued to it.
    pub planned_ns: u64,
    /// On its channel, by the operations issued to it.
    pub planned_transfer_ns: u64,
    /// In the array, saved by commands that do several operations.
    pub saved_ns: u64,
    /// Occupied: by the array, by transfers, by suspensions.
    pub occupied_ns: u64,
    /// The part of `occupied_ns` under causes of collection.
    pub collecting_ns: u64,
    /// Occupied by transfers, and by waiting for the channel.
    pub moving_ns: u64,
    /// Suspending and resuming.
    pub suspending_ns: u64,
    /// Number of suspensions.
    pub suspensions: u64,
}

/// What a channel did, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChannelUsage {
    /// Transferring and taking commands.
    pub busy_ns: u64,
    /// The same, by the operations issued to its dies.
    pub planned_ns: u64,
}

/// What the drive did since it was last asked to count from zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// When counting began, in nanoseconds.
    pub since_ns: u64,
    /// When the last request was answered and the last operation had ended, in nanoseconds.
    pub until_ns: u64,
    /// Each die.
    pub dies: Vec<DieUsage>,
    /// Each channel.
    pub channels: Vec<ChannelUsage>,
    /// Operations that were issued, by kind.
    pub issued: [u64; Op::ALL.len()],
    /// Operations that ended, by kind.
    pub ended: [u64; Op::ALL.len()],
    /// Reads of pages that were still in the drive's buffer. They count as ended.
    pub read_from_buffer: u64,
    /// Requests that were issued.
    pub requests: u64,
    /// Requests that were answered.
    pub answered: u64,
    /// ∫ requests in the drive dt, in nanoseconds.
    pub requests_times_ns: u128,
    /// Sum of all response times, in nanoseconds.
    pub responses_ns: u128,
    /// The parts of all response times together.
    pub shares: [u128; Shares::NAMES.len()],
    in_drive: u64,
    changed_ns: u64,
}

impl Usage {
    /// Counters at zero.
    pub(crate) fn new(since_ns: u64) -> Usage {
        Usage { since_ns, until_ns: since_ns, changed_ns: since_ns, ..Usage::default() }
    }

    pub(crate) fn request_came(&mut self, now_ns: u64) {
        self.pass(now_ns);
        self.requests += 1;
        self.in_drive += 1;
    }

    pub(crate) fn request_left(&mut self, answer: &Answer) {
        self.pass(answer.answered_ns);
        self.in_drive -= 1;
        self.answered += 1;
        self.responses_ns += u128::from(answer.response_ns());
        for (sum, part) in self.shares.iter_mut().zip(answer.shares.parts()) {
            *sum += u128::from(part);
        }
    }

    fn pass(&mut self, now_ns: u64) {
        let passed = u128::from(now_ns - self.changed_ns);
        self.requests_times_ns += passed * u128::from(self.in_drive);
        self.changed_ns = now_ns;
    }

    /// Seconds from the beginning to the end of counting.
    pub fn seconds(&self) -> f64 {
        (self.until_ns - self.since_ns) as f64 / 1e9
    }

    /// Checks the laws of an idle drive.
    ///
    /// # Errors
    /// The first law that is broken, with its figures.
    pub fn check_laws(&self) -> Result<(), String> {
        for (number, die) in self.dies.iter().enumerate() {
            let planned = u128::from(die.planned_ns - die.saved_ns);
            equal(&format!("array time of die {number}"), die.array_ns.into(), planned)?;
            let most = self.until_ns - self.since_ns;
            at_most(&format!("occupation of die {number}"), die.occupied_ns, most)?;
            let parts = die.array_ns + die.moving_ns + die.suspending_ns;
            equal(&format!("parts of die {number}"), parts.into(), die.occupied_ns.into())?;
        }
        for (number, channel) in self.channels.iter().enumerate() {
            let what = format!("busy time of channel {number}");
            equal(&what, channel.busy_ns.into(), channel.planned_ns.into())?;
        }
        for op in Op::ALL {
            let (ended, issued) = (self.ended[op as usize], self.issued[op as usize]);
            equal(&format!("{} operations", op.name()), ended.into(), issued.into())?;
        }
        equal("requests answered", self.answered.into(), self.requests.into())?;
        equal("Little's law", self.requests_times_ns, self.responses_ns)?;
        equal("parts of responses", self.shares.iter().sum(), self.responses_ns)
    }
}

fn equal(law: &str, measured: u128, planned: u128) -> Result<(), String> {
    match measured == planned {
        true => Ok(()),
        false => Err(format!("{law}: {measured} is not {planned}")),
    }
}

fn at_most(law: &str, part: u64, whole: u64) -> Result<(), String> {
    match part <= whole {
        true => Ok(()),
        false => Err(format!("{law}: {part} ns are more than {whole} ns")),
    }
}
