//! One reading of all parts of a trace, one behind another: a file, or the members of an archive.

use std::sync::Arc;

use crate::error::Result;
use crate::input::sliding_window::SlidingWindow;
use crate::input::stored_trace::StoredTrace;

/// The part that is being read and what comes of it.
pub(crate) struct PartCursor {
    input: Arc<StoredTrace>,
    /// Parts that are wholly read.
    behind: usize,
    behind_bytes: u64,
    pub(crate) window: SlidingWindow,
}

impl PartCursor {
    /// Starts at the first part.
    pub(crate) fn new(input: &Arc<StoredTrace>) -> Result<PartCursor> {
        let window = input.part(0).expect("a trace has parts").window()?;
        Ok(PartCursor { input: Arc::clone(input), behind: 0, behind_bytes: 0, window })
    }

    /// The part that is being read.
    pub(crate) fn part(&self) -> &StoredTrace {
        self.input.part(self.behind).expect("a walk stays within the parts")
    }

    /// Goes on to the next part; false if there is none.
    pub(crate) fn next_part(&mut self) -> Result<bool> {
        let Some(next) = self.input.part(self.behind + 1) else { return Ok(false) };
        let window = next.window()?;
        self.behind_bytes += self.window.position_bytes();
        self.behind += 1;
        self.window = window;
        Ok(true)
    }

    /// The stored bytes behind us, for progress.
    pub(crate) fn position_bytes(&self) -> u64 {
        self.behind_bytes + self.window.position_bytes()
    }
}
