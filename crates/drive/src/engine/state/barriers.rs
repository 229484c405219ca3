//! Barriers: programs and erases that begin only when all before them have ended.
//!
//! ```text
//! issued    p1 p2 e3 │ p4 p5 │ e6        running: p1 p2 e3     later: [p4 p5] [e6]
//! ```
//! Programs and erases between two barriers are a *group*. Only those of the first group run.

use std::collections::VecDeque;

/// The groups that have not ended.
#[derive(Debug, Default)]
pub(crate) struct Barriers {
    /// Operations of the first group that have not ended.
    running: u32,
    /// The operations of each later group, which wait.
    later: VecDeque<Vec<u32>>,
}

impl Barriers {
    /// All programs and erases from now on wait for those before. At least one must follow. Returns
    /// whether any before have not ended.
    pub fn raise(&mut self) -> bool {
        let has_to_wait = self.running > 0;
        if has_to_wait {
            self.later.push_back(Vec::new());
        }
        has_to_wait
    }

    /// A program or an erase comes. Returns whether it has to wait.
    #[inline(always)]
    pub fn enter(&mut self, own: u32) -> bool {
        match self.later.back_mut() {
            None => self.running += 1,
            Some(last) => last.push(own),
        }
        !self.later.is_empty()
    }

    /// A program or an erase has ended. Returns those that need not wait any more.
    #[inline(always)]
    pub fn leave(&mut self) -> Vec<u32> {
        self.running -= 1;
        if self.running > 0 || self.later.is_empty() {
            return Vec::new();
        }
        self.pass()
    }

    #[cold]
    fn pass(&mut self) -> Vec<u32> {
        let next = self.later.pop_front().unwrap_or_default();
        self.running = next.len() as u32;
        next
    }
}
