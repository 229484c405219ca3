//! Kinds of operations, their causes, and the tally that counts them.

use core::ops::AddAssign;

use spec::named_enum;

named_enum! {
    /// A kind of flash operation.
    pub enum Op: "operation" {
        /// Read a page with its spare area.
        Read = "read",
        /// Read a page's spare area alone.
        SpareRead = "spare",
        /// Program a page, data and spare together.
        Program = "program",
        /// Erase a block.
        Erase = "erase",
    }
}

named_enum! {
    /// The reason for an operation. Each operation is counted under exactly one cause.
    pub enum Cause: "cause" {
        /// A page that the host reads or writes.
        Host = "host",
        /// The read of the old page for a write that covers only part of it.
        Rmw = "rmw",
        /// Page-granular garbage collection: copies of valid pages, and erases.
        Gc = "gc",
        /// Switch, partial and full merges: copies, padding and erases.
        Merge = "merge",
        /// Mapping pages and mapping reads in flash.
        Map = "map",
        /// All operations of the sector log.
        Log = "log",
        /// Wear-levelling moves.
        Wear = "wear",
        /// The price of surviving power cuts: checkpoints, tombstones, mounts.
        Meta = "meta",
        /// Pages that are moved from blocks that failed, and the list of moves.
        Media = "media",
    }
}

/// Operations by kind and cause since the last reset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    by_cause: [[u64; Cause::ALL.len()]; Op::ALL.len()],
    copies: [u64; Cause::ALL.len()],
    /// Sums over all causes. They are kept because a clock needs them twice per request.
    totals: [u64; Op::ALL.len()],
}

impl Tally {
    /// Counts `n` operations.
    #[inline]
    pub(crate) fn add(&mut self, op: Op, cause: Cause, n: u64) {
        self.by_cause[op as usize][cause as usize] += n;
        self.totals[op as usize] += n;
    }

    /// Counts `n` page copies: one read and one program each, under the same cause.
    #[inline]
    pub(crate) fn add_copies(&mut self, cause: Cause, n: u64) {
        self.add(Op::Read, cause, n);
        self.add(Op::Program, cause, n);
        self.copies[cause as usize] += n;
    }

    /// Operations of one kind under one cause.
    #[inline]
    pub fn count(&self, op: Op, cause: Cause) -> u64 {
        self.by_cause[op as usize][cause as usize]
    }

    /// Operations of one kind under all causes.
    #[inline]
    pub fn total(&self, op: Op) -> u64 {
        self.totals[op as usize]
    }

    /// Operations of all kinds.
    #[inline]
    pub fn operations(&self) -> u64 {
        self.totals.iter().sum()
    }

    /// Page copies under one cause. Its reads and programs include them.
    pub fn copies(&self, cause: Cause) -> u64 {
        self.copies[cause as usize]
    }

    /// Page copies under all causes.
    pub fn copies_total(&self) -> u64 {
        self.copies.iter().sum()
    }
}

impl AddAssign<&Tally> for Tally {
    /// Adds the operations of another tally, by kind and cause.
    fn add_assign(&mut self, other: &Tally) {
        for op in Op::ALL {
            for cause in Cause::ALL {
                self.add(op, cause, other.count(op, cause));
            }
        }
        for (copies, more) in self.copies.iter_mut().zip(other.copies) {
            *copies += more;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_of_tallies_counts_everything_of_both() {
        let mut tally = Tally::default();
        for (n, cause) in Cause::ALL.into_iter().enumerate() {
            tally.add(Op::SpareRead, cause, n as u64);
            tally.add_copies(cause, 3);
        }
        let mut sum = tally.clone();
        sum += &tally;
        for cause in Cause::ALL {
            assert!(
                Op::ALL.into_iter().all(|op| sum.count(op, cause) == 2 * tally.count(op, cause))
            );
            assert_eq!(sum.copies(cause), 6);
        }
        assert_eq!(sum.operations(), 2 * tally.operations());
    }

    #[test]
    fn totals_are_sums_over_causes_and_reads_and_programs_include_copies() {
        let mut tally = Tally::default();
        for (n, cause) in Cause::ALL.into_iter().enumerate() {
            tally.add(Op::Erase, cause, n as u64 + 1);
            tally.add_copies(cause, 10);
        }
        for op in Op::ALL {
            let sum: u64 = Cause::ALL.iter().map(|&cause| tally.count(op, cause)).sum();
            assert_eq!(tally.total(op), sum, "{op:?}");
        }
        assert_eq!(tally.total(Op::Erase), 45);
        assert_eq!(tally.operations(), 45 + 90 + 90);
        assert_eq!(tally.copies_total(), 90);
        assert_eq!(tally.count(Op::Program, Cause::Gc), tally.copies(Cause::Gc));
    }
}
