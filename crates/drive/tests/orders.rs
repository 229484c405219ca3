//! What operations of a request wait for, where copies go, and in which order a die serves.

use drive::journal::{DieWork, EndedOperation, Entry};
use drive::{Drive, HostRequest, Issued, Profile};
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};

const PAGE: u32 = 2048;
const PAGES_PER_BLOCK: u32 = 64;
/// The first pages of further blocks.
const OTHER: u32 = PAGES_PER_BLOCK;
const THIRD: u32 = 2 * PAGES_PER_BLOCK;

fn drive(profile: &str) -> Drive {
    let fixed = "ideal:program=200us,read=50us,erase=1ms";
    let profile: Profile = format!("{fixed},{profile}").parse().unwrap();
    let order = ProgramOrder::Ascending;
    let geometry = Geometry::new(PAGE, 64, PAGES_PER_BLOCK, 8, order).unwrap();
    let mut drive = Drive::new(&profile, &geometry, Timing::ZERO);
    drive.keep_journal();
    drive
}

fn request(op: trace::Op) -> HostRequest {
    HostRequest { op, bytes: PAGE.into(), force: false, memory_ns: 0, load: 0 }
}

fn one(op: Op, place: u32) -> Issued {
    Issued::new(op, Cause::Host, place)
}

fn copy(cause: Cause, from: u32, to: u32) -> [Issued; 2] {
    let target = Issued { ends_copy: true, ..Issued::new(Op::Program, cause, to) };
    [Issued::new(Op::Read, cause, from), target]
}

/// How long a write of these operations takes on an idle drive, in µs.
fn response(profile: &str, issued: &[Issued]) -> u64 {
    let mut drive = drive(profile);
    drive.submit(0, request(trace::Op::Write), issued);
    drive.finish();
    drive.usage().check_laws().unwrap();
    drive.now_ns() / 1000
}

/// The operations of requests that are issued at these times in µs, in the order of their ends.
fn ended(drive: &mut Drive, requests: &[(u64, trace::Op, &[Issued])]) -> Vec<EndedOperation> {
    for &(at_us, op, issued) in requests {
        drive.submit(at_us * 1000, request(op), issued);
    }
    drive.finish();
    drive.usage().check_laws().unwrap();
    operations(&entries(drive))
}

fn operations(entries: &[Entry]) -> Vec<EndedOperation> {
    let operation = |entry: &Entry| match *entry {
        Entry::Operation(operation) => Some(operation),
        _ => None,
    };
    entries.iter().filter_map(operation).collect()
}

fn entries(drive: &mut Drive) -> Vec<Entry> {
    let mut entries = Vec::new();
    drive.drain_journal(&mut entries);
    entries
}

/// The firmware needs what it reads of maps and spare areas, but not a page of the host. Only
/// programs wait for the rest of a page that is written in part.
#[test]
fn later_operations_wait_for_reads_that_the_firmware_needs() {
    let caused = |cause, op| Issued { cause, ..one(op, 0) };
    // Consecutive pages lie on two dies.
    let then = |first, second| response("channels=2", &[first, second]);
    assert_eq!(then(caused(Cause::Map, Op::Read), one(Op::Read, 1)), 100);
    assert_eq!(then(one(Op::SpareRead, 0), one(Op::Read, 1)), 100);
    assert_eq!(then(caused(Cause::Rmw, Op::Read), one(Op::Read, 1)), 50);
    assert_eq!(then(one(Op::Read, 0), one(Op::Read, 1)), 50);
    assert_eq!(then(caused(Cause::Map, Op::Read), one(Op::Program, OTHER + 1)), 250);
    assert_eq!(then(caused(Cause::Rmw, Op::Read), one(Op::Program, OTHER + 1)), 250);
    assert_eq!(then(one(Op::Read, 0), one(Op::Program, OTHER + 1)), 200);
}

/// A page crosses the channel in 100 µs. Consecutive pages lie in two planes of a die, or on two
/// dies.
#[test]
fn a_copy_within_a_plane_stays_in_its_die_if_the_drive_can_do_that() {
    let takes = |profile: &str, to| {
        response(&format!("transfer=20480000B/s,{profile}"), &copy(Cause::Gc, 0, to))
    };
    let planes = "planes=2,order=PCWD";
    assert_eq!(takes("copyback=true", OTHER), 250);
    assert_eq!(takes("copyback=false", OTHER), 450);
    assert_eq!(takes(&format!("{planes},copyback=true"), OTHER), 250);
    assert_eq!(takes(&format!("{planes},copyback=true"), OTHER + 1), 450, "another plane");
    assert_eq!(takes("channels=2,copyback=true", OTHER), 250);
    assert_eq!(takes("channels=2,copyback=true", OTHER + 1), 450, "another die");
}

/// The copied page waits in the buffer for the program of the host: nothing reads it, and the copy
/// brings it over the channel. With the page on the flash, both stages stay in the die.
#[test]
fn a_copy_of_a_page_in_the_buffer_reads_nothing() {
    let profile = "transfer=20480000B/s,copyback=true,buffer=32KiB,acknowledge=buffer";
    let write: &[Issued] = &[one(Op::Program, 0)];
    let copied = copy(Cause::Gc, 0, OTHER);
    let times = |copy_at_us| {
        let mut drive = drive(profile);
        let requests = [(0, trace::Op::Write, write), (copy_at_us, trace::Op::Write, &copied)];
        let ended = ended(&mut drive, &requests);
        let of = |place: u32, op| {
            let is_it = |ended: &&EndedOperation| (ended.place, ended.op) == (place, op);
            let EndedOperation { is_from_buffer, started_ns, ended_ns, .. } =
                *ended.iter().find(is_it).unwrap();
            (is_from_buffer, started_ns / 1000, ended_ns / 1000)
        };
        (of(0, Op::Read), of(OTHER, Op::Program))
    };
    assert_eq!(times(10), ((true, 10, 10), (false, 300, 600)));
    assert_eq!(times(1000), ((false, 1000, 1050), (false, 1050, 1250)));
    // A drive without a buffer waits for the program, then both stages stay in the die.
    let mut bare = drive("transfer=20480000B/s,copyback=true");
    let requests = [(0, trace::Op::Write, write), (10, trace::Op::Write, &copied)];
    let ended: Vec<u64> =
        ended(&mut bare, &requests).iter().map(|ended| ended.ended_ns / 1000).collect();
    assert_eq!(ended, [300, 350, 550]);
}

/// The parts of a response, in µs: queue, array, transfer, collection, buffer, firmware.
fn parts(profile: &str, requests: &[(u64, trace::Op, &[Issued])]) -> Vec<[u64; 6]> {
    let mut drive = drive(profile);
    ended(&mut drive, requests);
    let answers = std::iter::from_fn(|| drive.next_answer(u64::MAX));
    answers.map(|answer| answer.shares.parts().map(|ns| ns / 1000)).collect()
}

#[test]
fn both_stages_of_a_copy_have_their_shares() {
    let copied = |cause| parts("channels=1", &[(0, trace::Op::Write, &copy(cause, 0, OTHER))]);
    assert_eq!(copied(Cause::Map), [[0, 250, 0, 0, 0, 0]]);
    assert_eq!(copied(Cause::Gc), [[0, 0, 0, 250, 0, 0]]);
}

/// An erase waits for many dies; what one of them collects meanwhile is no part of its time.
#[test]
fn an_erase_that_waits_for_its_dies_stands_in_their_queues() {
    let collects: &[Issued] = &[Issued { cause: Cause::Gc, ..one(Op::Program, OTHER) }];
    let erase: &[Issued] = &[one(Op::Erase, 0)];
    let shares =
        parts("channels=1", &[(0, trace::Op::Write, collects), (50, trace::Op::Trim, erase)]);
    assert_eq!(shares, [[0, 0, 0, 200, 0, 0], [150, 1000, 0, 0, 0, 0]]);
}

/// Consecutive pages lie on two dies, and an erase has a part on each.
#[test]
fn each_part_of_an_erase_is_written_down() {
    let program: &[Issued] = &[one(Op::Program, OTHER)];
    let erase: &[Issued] = &[one(Op::Erase, 0)];
    let mut drive = drive("channels=2");
    let requests = [(0, trace::Op::Write, program), (50, trace::Op::Trim, erase)];
    for (at_us, op, issued) in requests {
        drive.submit(at_us * 1000, request(op), issued);
    }
    drive.finish();
    let entries = entries(&mut drive);
    let parts: Vec<_> = operations(&entries)
        .iter()
        .filter(|part| part.op == Op::Erase)
        .map(|part| (part.die, part.counts, part.started_ns / 1000, part.ended_ns / 1000))
        .collect();
    assert_eq!(parts, [(1, false, 50, 1050), (0, true, 200, 1200)]);
    let open = entries.iter().filter_map(|entry| match *entry {
        Entry::Request { number, unfinished, .. } => Some((number, unfinished)),
        _ => None,
    });
    assert_eq!(open.collect::<Vec<_>>(), [(0, 0), (1, 0)], "all entries came before the answers");
}

/// A trim is answered before its erase, a write before its programs: their entries come later.
#[test]
fn an_answer_tells_which_entries_are_still_to_come() {
    let mut drive = drive("channels=2,buffer=32KiB,acknowledge=buffer");
    drive.submit(0, request(trace::Op::Trim), &[one(Op::Erase, 0)]);
    drive.submit(0, request(trace::Op::Write), &[one(Op::Program, OTHER)]);
    drive.finish();
    let entries = entries(&mut drive);
    let open = entries.iter().filter_map(|entry| match *entry {
        Entry::Request { unfinished, .. } => Some(unfinished),
        _ => None,
    });
    assert_eq!(open.collect::<Vec<_>>(), [2, 1]);
    let pages = entries.iter().filter_map(|entry| match *entry {
        Entry::Buffer { at_ns, pages } => Some((at_ns / 1000, pages)),
        _ => None,
    });
    // The first page of the block lies on the die that erases.
    assert_eq!(pages.collect::<Vec<_>>(), [(0, 1), (1200, 0)]);
}

/// The read of page 0 may begin when its program has ended, and then passes the program that came
/// before it. A program that an erase has held passes nothing.
#[test]
fn what_was_held_waits_with_its_like() {
    let ends = |requests: &[(u64, trace::Op, &[Issued])]| -> Vec<(u32, u64)> {
        let ended = ended(&mut drive("reads_first=true"), requests);
        ended.iter().map(|ended| (ended.place, ended.ended_ns / 1000)).collect()
    };
    let first: &[Issued] = &[one(Op::Program, 0)];
    let other: &[Issued] = &[one(Op::Program, OTHER)];
    let read: &[Issued] = &[one(Op::Read, 0)];
    let held_read =
        [(0, trace::Op::Write, first), (10, trace::Op::Write, other), (20, trace::Op::Read, read)];
    assert_eq!(ends(&held_read), [(0, 200), (0, 250), (OTHER, 450)]);

    let erase: &[Issued] = &[one(Op::Erase, 0)];
    let held_program =
        [(0, trace::Op::Trim, erase), (10, trace::Op::Write, first), (20, trace::Op::Write, other)];
    assert_eq!(ends(&held_program), [(0, 1000), (OTHER, 1200), (0, 1400)]);
}

/// Two planes of three pages: the sixth page completes the row, and nobody has to close it.
#[test]
fn a_complete_row_waits_for_nothing_else() {
    let rows = "planes=2,pages_at_once=3,buffer=32KiB,acknowledge=buffer";
    let mut drive = drive(rows);
    for page in 0..5 {
        drive.submit(0, request(trace::Op::Write), &[one(Op::Program, page)]);
    }
    while drive.next_answer(1_000_000).is_some() {}
    assert_eq!(drive.unfinished_operations(), 5, "the row is not complete");
    drive.submit(1_000_000, request(trace::Op::Write), &[one(Op::Program, 5)]);
    while drive.next_answer(2_000_000).is_some() {}
    assert_eq!(drive.unfinished_operations(), 0);
    drive.finish();
    assert_eq!(drive.usage().dies[0].array_ns, 200_000);
}

#[test]
fn a_flush_waits_for_the_programs_of_others() {
    let mut drive = drive("buffer=32KiB,acknowledge=buffer,protected=false");
    drive.submit(0, request(trace::Op::Write), &[one(Op::Program, 0)]);
    drive.submit(10_000, request(trace::Op::Flush), &[]);
    drive.finish();
    let answers: Vec<u64> =
        std::iter::from_fn(|| drive.next_answer(u64::MAX)).map(|last| last.answered_ns).collect();
    assert_eq!(answers, [0, 200_000]);
}

#[test]
fn the_journal_tells_what_was_suspended() {
    let mut drive = drive("suspend=program,suspend_cost=10us");
    drive.submit(0, request(trace::Op::Write), &[one(Op::Program, 0)]);
    drive.submit(100_000, request(trace::Op::Read), &[one(Op::Read, THIRD)]);
    drive.finish();
    let work = entries(&mut drive).into_iter().filter_map(|entry| match entry {
        Entry::Die(DieWork { op, is_suspended, from_ns, until_ns, .. }) => {
            Some((op, is_suspended, from_ns / 1000, until_ns / 1000))
        }
        _ => None,
    });
    let expected = [
        (Some(Op::Program), true, 0, 100),
        (None, false, 100, 110),
        (Some(Op::Read), false, 110, 160),
        (Some(Op::Program), false, 160, 260),
    ];
    assert_eq!(work.collect::<Vec<_>>(), expected);
}
