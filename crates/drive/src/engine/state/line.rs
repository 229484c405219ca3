//! A channel, the link to the host, or the dispatcher.

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
