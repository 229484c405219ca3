//! The operations of the chip that a sink receives.

use nand::{
    BlockId, Cause, Copies, Cut, Data, Error, Lpn, Mode, Nand, Op, OpSink, Operation, Outcome,
    Pages, Ppn, ProgramOrder, Result, Sink, Tally,
};

use crate::fixture::{chip, host, program};

/// A line for each operation, and a tally of its own.
#[derive(Default)]
struct Recorder {
    lines: Vec<String>,
    counts: [[u64; Cause::ALL.len()]; Op::ALL.len()],
}

impl Recorder {
    fn count(&mut self, op: Op, cause: Cause, n: usize) {
        self.counts[op as usize][cause as usize] += n as u64;
    }
}

impl OpSink for Recorder {
    fn take(&mut self, cause: Cause, operation: &Operation) {
        self.lines.push(format!("{} {operation:?}", cause.name()));
        match operation {
            Operation::Read { .. } => self.count(Op::Read, cause, 1),
            Operation::SpareRead { .. } => self.count(Op::SpareRead, cause, 1),
            Operation::Program { owners, .. } => self.count(Op::Program, cause, owners.len()),
            Operation::Copy { from, owners, .. } => {
                assert_eq!(from.len(), owners.len());
                self.count(Op::Read, cause, from.len());
                self.count(Op::Program, cause, from.len());
            }
            Operation::Erase { .. } => self.count(Op::Erase, cause, 1),
        }
    }
}

fn observed(order: ProgramOrder, mode: Mode) -> Nand {
    let mut nand = chip(order, mode);
    nand.attach(Some(Box::new(Recorder::default())));
    nand
}

fn recorder(nand: &mut Nand) -> &mut Recorder {
    nand.sink_mut().expect("a recorder is attached")
}

/// Every kind of operation.
fn work(nand: &mut Nand) -> Result<()> {
    let data = if nand.array().mode() == Mode::Count { Data::None } else { Data::Stamp(7) };
    nand.program(Ppn(0), Pages::Run { first: Lpn(8), pages: 3, kind: 1, data }, Cause::Host)?;
    nand.copy(Ppn(4), Copies::of(&[Ppn(2), Ppn(0)]), Cause::Gc)?;
    nand.copy(Ppn(6), Copies::of(&[Ppn(1)]).with_kind(Some(2)).with_extra(b"extra"), Cause::Merge)?;
    nand.program(Ppn(7), &host(20, 1), Cause::Map)?;
    nand.book_spare_reads([Ppn(6)], Cause::Map)?;
    nand.book_spare_reads([Ppn(7), Ppn(4)], Cause::Meta)?;
    nand.read(Ppn(7), Lpn(20), 1, &mut Sink::None, Cause::Rmw)?;
    nand.erase(BlockId(0), Cause::Gc)
}

const LINES: [&str; 9] = [
    "host Program { first: Ppn(0), owners: [8, 9, 10] }",
    "gc Copy { from: [Ppn(2), Ppn(0)], to: Ppn(4), owners: [10, 8] }",
    "merge Copy { from: [Ppn(1)], to: Ppn(6), owners: [9] }",
    "map Program { first: Ppn(7), owners: [20] }",
    "map SpareRead { ppn: Ppn(6), owner: Lpn(9) }",
    "meta SpareRead { ppn: Ppn(7), owner: Lpn(20) }",
    "meta SpareRead { ppn: Ppn(4), owner: Lpn(10) }",
    "rmw Read { ppn: Ppn(7), owner: Lpn(20) }",
    "gc Erase { block: BlockId(0) }",
];

/// A sink sees what the tally counts.
fn agrees(recorder: &Recorder, tally: &Tally) {
    for op in Op::ALL {
        for cause in Cause::ALL {
            let seen = recorder.counts[op as usize][cause as usize];
            assert_eq!(seen, tally.count(op, cause), "{op:?} {cause:?}");
        }
    }
}

#[test]
fn runs_and_copies_reach_the_sink_in_bulk_in_every_mode() {
    for mode in [Mode::Count, Mode::Stamps] {
        let mut nand = observed(ProgramOrder::Sequential, mode);
        work(&mut nand).unwrap();
        assert_eq!(recorder(&mut nand).lines, LINES, "{mode:?}");
        let tally = nand.tally().clone();
        agrees(recorder(&mut nand), &tally);
    }
}

#[test]
fn a_sink_changes_nothing_and_can_be_detached() {
    let mut silent = chip(ProgramOrder::Sequential, Mode::Stamps);
    work(&mut silent).unwrap();
    let mut nand = observed(ProgramOrder::Sequential, Mode::Stamps);
    work(&mut nand).unwrap();
    assert_eq!(nand.tally(), silent.tally());
    assert!(nand.attach(None).is_some());
    assert!(nand.sink_mut::<Recorder>().is_none());
    program(&mut nand, 8, 1);
    assert!(nand.attach(None).is_none());
}

/// While a cut is armed, pages are written one by one. The sink sees the interrupted operation, as
/// the tally counts it.
#[test]
fn a_sink_sees_what_the_tally_counts_up_to_a_power_cut() {
    for after in 0..8 {
        for outcome in [Outcome::Untouched, Outcome::Complete] {
            let mut nand = observed(ProgramOrder::Sequential, Mode::Stamps);
            nand.power().cut_after(Cut { after, outcome });
            assert_eq!(work(&mut nand), Err(Error::PowerLost));
            let tally = nand.tally().clone();
            let changes = tally.total(Op::Program) + tally.total(Op::Erase);
            assert_eq!(changes, after + u64::from(outcome == Outcome::Complete));
            agrees(recorder(&mut nand), &tally);
        }
    }
}
