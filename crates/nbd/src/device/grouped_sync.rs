//! Flushes that wait for the file. One sync runs at a time; requests that come while it runs share
//! the next one.
//!
//! ```text
//! flush A ─▶ sync 1 ─────────▶ A answered
//!      flush B, forced write C ──▶ sync 2 ─▶ B, C answered
//! ```

/// What a request needs to be durable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// The FTL is flushed, then the file is synced.
    Flush,
    /// The request is on flash; only the file is to be synced.
    Sync,
}

/// The requests that wait.
#[derive(Debug)]
pub struct GroupedSync<W> {
    /// Those that the running sync covers; none if no sync runs.
    running: Option<Vec<W>>,
    waiting: Vec<(W, Need)>,
}

impl<W> Default for GroupedSync<W> {
    fn default() -> Self {
        GroupedSync { running: None, waiting: Vec::new() }
    }
}

impl<W> GroupedSync<W> {
    /// Adds a request to the next group.
    pub fn add(&mut self, waiter: W, need: Need) {
        self.waiting.push((waiter, need));
    }

    /// Whether a sync runs.
    pub fn is_running(&self) -> bool {
        self.running.is_some()
    }

    /// What the next group needs, if there is one and no sync runs.
    pub fn next_need(&self) -> Option<Need> {
        if self.is_running() || self.waiting.is_empty() {
            return None;
        }
        let is_flush = self.waiting.iter().any(|(_, need)| *need == Need::Flush);
        Some(if is_flush { Need::Flush } else { Need::Sync })
    }

    /// The requests of the next group.
    pub fn waiting_mut(&mut self) -> impl Iterator<Item = &mut W> {
        self.waiting.iter_mut().map(|(waiter, _)| waiter)
    }

    /// The next group leaves without waiting.
    pub fn take_waiting(&mut self) -> Vec<W> {
        self.waiting.drain(..).map(|(waiter, _)| waiter).collect()
    }

    /// A sync for the next group begins.
    pub fn begin(&mut self) {
        self.running = Some(self.take_waiting());
    }

    /// The sync ended. Returns whom it covered.
    pub fn end(&mut self) -> Vec<W> {
        self.running.take().unwrap_or_default()
    }

    /// Forgets everybody who waits. A sync that runs still has to end.
    pub fn forget(&mut self) {
        self.waiting.clear();
        self.running.iter_mut().for_each(Vec::clear);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_forgets_whoever_waits_and_not_that_a_sync_runs() {
        let mut sync = GroupedSync::default();
        sync.add(1, Need::Flush);
        assert_eq!(sync.waiting_mut().collect::<Vec<_>>(), [&mut 1]);
        sync.begin();
        sync.add(2, Need::Sync);
        sync.forget();
        assert!(sync.is_running());
        assert_eq!((sync.end(), sync.take_waiting()), (vec![], vec![]));
    }
}
