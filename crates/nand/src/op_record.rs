//! A record of operations in bulk, with the owners of pages: what logs and films read.

use crate::address::Lpn;
use crate::op::{Cause, Op};
use crate::op_sink::{OpSink, Operation};

/// Operations in bulk, as they left the chip.
#[derive(Default)]
pub struct OpRecord {
    bulks: Vec<Bulk>,
    /// For each bulk its sources, if it is of copies, and then its owners.
    pages: Vec<u32>,
}

/// Operations of one kind on consecutive places.
#[derive(Clone, Copy)]
struct Bulk {
    /// Their kind; `None` for copies.
    op: Option<Op>,
    cause: Cause,
    first: u32,
    count: usize,
}

/// Operations of one kind, under one cause.
pub enum RecordedBulk<'a> {
    /// Operations on consecutive places, each with its owner.
    Run {
        /// Their kind.
        op: Op,
        /// Their cause.
        cause: Cause,
        /// The place of the first.
        first: u32,
        /// The owners, as LPNs.
        owners: &'a [u32],
    },
    /// Copies: for each one a read, then a program.
    Copies {
        /// Their cause.
        cause: Cause,
        /// The source of each copy.
        from: &'a [u32],
        /// The destination of the first; those of the others follow.
        to: u32,
        /// The owner of each copy, as an LPN.
        owners: &'a [u32],
    },
}

impl OpRecord {
    /// Forgets all operations.
    pub fn clear(&mut self) {
        self.bulks.clear();
        self.pages.clear();
    }

    /// Appends the operations of another record.
    pub fn append(&mut self, other: &OpRecord) {
        self.bulks.extend_from_slice(&other.bulks);
        self.pages.extend_from_slice(&other.pages);
    }

    fn push(&mut self, op: Option<Op>, cause: Cause, first: u32, owners: &[u32]) {
        self.bulks.push(Bulk { op, cause, first, count: owners.len() });
        self.pages.extend_from_slice(owners);
    }

    /// The operations in their order.
    pub fn bulks(&self) -> impl Iterator<Item = RecordedBulk<'_>> {
        let mut pages = self.pages.as_slice();
        let mut take = move |count| pages.split_off(..count).expect("each bulk has its pages");
        self.bulks.iter().map(move |&Bulk { op, cause, first, count }| match op {
            Some(op) => RecordedBulk::Run { op, cause, first, owners: take(count) },
            None => {
                let from = take(count);
                RecordedBulk::Copies { cause, from, to: first, owners: take(count) }
            }
        })
    }
}

impl OpSink for OpRecord {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        match *operation {
            Operation::Read { ppn, owner } => self.push(Some(Op::Read), cause, ppn.0, &[owner.0]),
            Operation::SpareRead { ppn, owner } => {
                self.push(Some(Op::SpareRead), cause, ppn.0, &[owner.0]);
            }
            Operation::Program { first, owners } => {
                self.push(Some(Op::Program), cause, first.0, owners);
            }
            Operation::Copy { from, to, owners } => {
                self.pages.extend(from.iter().map(|source| source.0));
                self.push(None, cause, to.0, owners);
            }
            Operation::Erase { block } => {
                self.push(Some(Op::Erase), cause, block.0, &[Lpn::NONE.0]);
            }
        }
    }
}
