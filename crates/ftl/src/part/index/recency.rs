//! A queue of small numbers in the order in which they were added or last touched.
//!
//! It is a linked list in two arrays, so that any number can be removed or moved to the end in
//! constant time.

const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug)]
struct Links {
    before: u32,
    after: u32,
}

/// A queue of distinct numbers below a bound.
#[derive(Clone, Debug)]
pub struct Recency {
    links: Vec<Links>,
    first: u32,
    last: u32,
    len: u32,
}

impl Recency {
    /// Bytes of memory for each number below the bound.
    pub const BYTES_A_NUMBER: u64 = size_of::<Links>() as u64;

    /// The empty queue of numbers below `bound`.
    pub fn new(bound: u32) -> Recency {
        let links = vec![Links { before: NONE, after: NONE }; bound as usize];
        Recency { links, first: NONE, last: NONE, len: 0 }
    }

    /// Raises the bound by one.
    pub fn grow(&mut self) {
        self.links.push(Links { before: NONE, after: NONE });
    }

    /// How many numbers are queued.
    #[inline]
    pub fn len(&self) -> u32 {
        self.len
    }

    /// Whether the queue is empty.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The number that was added or touched longest ago.
    pub fn first(&self) -> Option<u32> {
        (self.first != NONE).then_some(self.first)
    }

    /// The number after one that is in the queue.
    pub fn after(&self, n: u32) -> Option<u32> {
        Some(self.links[n as usize].after).filter(|&after| after != NONE)
    }

    /// The number before one that is in the queue.
    pub fn before(&self, n: u32) -> Option<u32> {
        Some(self.links[n as usize].before).filter(|&before| before != NONE)
    }

    /// Appends a number that is not in the queue.
    pub fn push(&mut self, n: u32) {
        debug_assert!(self.first != n && self.last != n, "{n} was queued twice");
        self.links[n as usize] = Links { before: self.last, after: NONE };
        match self.last {
            NONE => self.first = n,
            last => self.links[last as usize].after = n,
        }
        self.last = n;
        self.len += 1;
    }

    /// Removes a number that is in the queue.
    pub fn remove(&mut self, n: u32) {
        let Links { before, after } = self.links[n as usize];
        debug_assert!(self.is_linked(n), "{n} was removed, but is not queued");
        match before {
            NONE => self.first = after,
            before => self.links[before as usize].after = after,
        }
        match after {
            NONE => self.last = before,
            after => self.links[after as usize].before = before,
        }
        self.len -= 1;
    }

    /// Whether the neighbours of a number point back at it.
    fn is_linked(&self, n: u32) -> bool {
        let Links { before, after } = self.links[n as usize];
        let before_points = match before {
            NONE => self.first == n,
            before => self.links[before as usize].after == n,
        };
        let after_points = match after {
            NONE => self.last == n,
            after => self.links[after as usize].before == n,
        };
        before_points && after_points
    }

    /// Moves a number that is in the queue to its end.
    #[inline]
    pub fn touch(&mut self, n: u32) {
        if self.last != n {
            self.remove(n);
            self.push(n);
        }
    }

    /// All numbers, from first to last.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut next = self.first();
        core::iter::from_fn(move || {
            let n = next?;
            next = self.after(n);
            Some(n)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behaves_like_a_list_with_linear_search() {
        let (mut queue, mut list) = (Recency::new(7), Vec::new());
        for step in 0_u32..5000 {
            let n = step.wrapping_mul(2_654_435_761) >> 16;
            let (n, what) = (n % 7, n / 7 % 3);
            match (list.iter().position(|&other| other == n), what) {
                (None, _) => {
                    queue.push(n);
                    list.push(n);
                }
                (Some(at), 0) => {
                    queue.remove(n);
                    list.remove(at);
                }
                (Some(at), _) => {
                    queue.touch(n);
                    list.remove(at);
                    list.push(n);
                }
            }
            assert_eq!(queue.iter().collect::<Vec<_>>(), list, "step {step}");
            for pair in list.windows(2) {
                let neighbours = (queue.after(pair[0]), queue.before(pair[1]));
                assert_eq!(neighbours, (Some(pair[1]), Some(pair[0])), "step {step}");
            }
            assert_eq!((queue.first(), queue.len()), (list.first().copied(), list.len() as u32));
        }
    }
}
