//! A position in the consecutive parts of a trace: a file, or the members of an archive.

use std::sync::Arc;

use crate::error::Result;
use crate::input::sliding_window::SlidingWindow;
use crate::input::stored_trace::StoredTrace;

/// The part that is being read, and a window over its bytes.
pub(crate) struct PartCursor {
    input: Arc<StoredTrace>,
    /// Index of the current part.
    part: usize,
    /// Stored bytes of the parts before it.
    bytes_before: u64,
    pub(crate) window: SlidingWindow,
    /// Opens a window over a part.
    open: OpenWindow,
}

/// Opens a window over a part, at the first byte that a reader wants to see.
pub(crate) type OpenWindow = fn(&StoredTrace) -> Result<SlidingWindow>;

impl PartCursor {
    /// Starts at the first part.
    pub(crate) fn new(input: &Arc<StoredTrace>, open: OpenWindow) -> Result<PartCursor> {
        let window = open(input.part(0).expect("a trace has parts"))?;
        Ok(PartCursor { input: Arc::clone(input), part: 0, bytes_before: 0, window, open })
    }

    /// The part that is being read.
    pub(crate) fn part(&self) -> &StoredTrace {
        self.input.part(self.part).expect("the cursor stays within the parts")
    }

    /// Begins the next part; false if there is none.
    pub(crate) fn next_part(&mut self) -> Result<bool> {
        let Some(next) = self.input.part(self.part + 1) else { return Ok(false) };
        let window = (self.open)(next)?;
        self.bytes_before += self.window.position_bytes();
        self.part += 1;
        self.window = window;
        Ok(true)
    }

    /// The number of stored bytes that have been read, for progress.
    pub(crate) fn position_bytes(&self) -> u64 {
        self.bytes_before + self.window.position_bytes()
    }
}
