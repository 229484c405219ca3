//! A channel, the link to the host, or the dispatcher.

use crate::engine::state::flash_operation::FlashOperation;
use crate::journal::{Entry, Journal, Transfer};
use crate::usage::ChannelUsage;

/// Something that serves one at a time, in the order in which it is asked.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Line {
    free_ns: u64,
    pub usage: ChannelUsage,
}

impl Line {
    /// Takes the line for a time, from `from_ns` on or as soon as it is free. Returns the end.
    #[inline]
    pub fn take(&mut self, from_ns: u64, duration_ns: u64) -> u64 {
        let start_ns = self.free_ns.max(from_ns);
        self.free_ns = start_ns + duration_ns;
        self.usage.busy_ns += self.free_ns - start_ns;
        self.free_ns
    }
}

/// All channels.
#[derive(Debug)]
pub(crate) struct Channels(pub Vec<Line>);

impl Channels {
    /// Takes the channel of a die for a time from now on, if it is any, for an operation. Returns
    /// the end.
    #[inline(always)]
    pub fn transfer(
        &mut self,
        operation: &FlashOperation,
        [channel, die]: [u16; 2],
        [now_ns, duration_ns]: [u64; 2],
        journal: &mut Journal,
    ) -> u64 {
        if duration_ns == 0 {
            return now_ns;
        }
        let until_ns = self.0[usize::from(channel)].take(now_ns, duration_ns);
        let from_ns = until_ns - duration_ns;
        journal.add(|| {
            let (op, cause) = (operation.stage.op, operation.cause);
            Entry::Channel(Transfer { channel, die, op, cause, from_ns, until_ns })
        });
        until_ns
    }
}
