//! The buffer of a drive, where requests could wait for each other for ever.

use drive::{Drive, HostRequest, Issued, Profile};
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};

const PAGE: u64 = 2048;
const ROWS: &str = "ideal:planes=2,pages_at_once=3,program=200us,buffer=32KiB,acknowledge=buffer";

fn drive(profile: &str) -> Drive {
    let profile: Profile = profile.parse().unwrap();
    let geometry = Geometry::new(PAGE as u32, 64, 64, 64, ProgramOrder::Ascending).unwrap();
    Drive::new(&profile, &geometry, Timing::ZERO)
}

fn write(memory_ns: u64, force: bool) -> HostRequest {
    HostRequest { op: trace::Op::Write, bytes: 2 * PAGE, force, memory_ns, load: 0 }
}

fn programs(first: u32) -> [Issued; 2] {
    [first, first + 1].map(|place| Issued::new(Op::Program, Cause::Host, place))
}

/// When each of the requests is answered, in µs. Requests are issued as answers come, `depth` at a
/// time.
fn answers(profile: &str, depth: u32, requests: &[HostRequest]) -> Vec<u64> {
    let mut drive = drive(profile);
    let mut answered = Vec::new();
    for (number, &request) in (0..).zip(requests) {
        let at_ns = match number < depth {
            true => 0,
            false => {
                let answer = drive.next_answer(u64::MAX).expect("no request waits for ever");
                answered.push(answer.answered_ns / 1000);
                answer.answered_ns
            }
        };
        drive.submit(at_ns, request, &programs(2 * number));
    }
    let rest = std::iter::from_fn(|| drive.next_answer(u64::MAX));
    answered.extend(rest.map(|answer| answer.answered_ns / 1000));
    drive.finish();
    drive.usage().check_laws().unwrap();
    answered
}

/// The second page of a block cannot be programmed before the first one, whose request took longer
/// in memory. Had it taken the last room in the buffer, neither could go on.
#[test]
fn room_is_given_in_the_order_of_issue() {
    let requests: Vec<HostRequest> =
        (0..200).map(|number| write(number * 7919 % 50_000, false)).collect();
    for profile in [
        "ideal:program=200us,buffer=8KiB,acknowledge=buffer",
        "ideal:channels=2,stripe=1,program=200us,buffer=4KiB,acknowledge=buffer",
        ROWS,
        // Two requests fit. Their row has room for a third one, which may not be there yet.
        "ideal:planes=2,pages_at_once=3,program=200us,buffer=10KiB,acknowledge=buffer",
    ] {
        for depth in [1, 16] {
            assert_eq!(answers(profile, depth, &requests).len(), 200, "{profile}, depth {depth}");
        }
    }
}

/// Nobody else completes the row of a forced write if its issuer waits for its answer.
#[test]
fn a_forced_write_does_not_wait_for_the_rest_of_its_row() {
    let forced = answers(ROWS, 1, &[write(0, true); 4]);
    assert_eq!(forced, [200, 400, 600, 800]);
    let protected = answers(&format!("{ROWS},protected=true"), 1, &[write(0, true); 4]);
    assert_eq!(protected, [0, 0, 0, 0]);
    let flushed = [write(0, false), HostRequest { op: trace::Op::Flush, ..write(0, false) }];
    assert_eq!(answers(ROWS, 1, &flushed), [0, 400], "its own pages come after those before it");
}

/// Programs wait for their row while there is room: six pages take one program.
#[test]
fn a_row_is_programmed_by_one_command() {
    let mut drive = drive(ROWS);
    for first in [0, 2, 4] {
        drive.submit(0, write(0, false), &programs(first));
    }
    drive.finish();
    assert_eq!((drive.now_ns(), drive.usage().dies[0].array_ns), (200_000, 200_000));
}

#[test]
fn a_drive_tells_what_is_unfinished_and_when_something_happens() {
    let mut drive = drive("ideal:program=200us");
    assert_eq!((drive.next_event_ns(), drive.unfinished_operations()), (None, 0));
    drive.submit(1000, write(0, false), &programs(0));
    assert_eq!(drive.unfinished_operations(), 2);
    let first = drive.next_event_ns().unwrap();
    assert!((1000..=201_000).contains(&first), "{first}");
    let answer = drive.next_answer(u64::MAX).unwrap();
    assert!(answer.answered_ns >= 201_000 && drive.next_event_ns().is_none());
    assert_eq!(drive.unfinished_operations(), 0);
}

#[test]
fn the_memory_of_a_drive_grows_with_its_blocks() {
    let memory = |blocks| {
        let profile: Profile = "ideal".parse().unwrap();
        let geometry = Geometry::new(2048, 64, 64, blocks, ProgramOrder::Ascending).unwrap();
        Drive::memory_bytes(&profile, &geometry)
    };
    let [small, large] = [1000, 3000].map(memory);
    assert_eq!(large - small, 2000 * 4, "a number for each block");
    assert!(small > 4000);
}
