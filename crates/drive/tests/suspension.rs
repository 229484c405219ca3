//! When a read suspends a program, and when the program goes on.

use drive::{Drive, HostRequest, Issued, Profile};
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};

const PAGE: u32 = 2048;
const PAGES_PER_BLOCK: u32 = 64;

/// When a program of 1 ms that is issued at time 0 and reads of 50 µs of another block end, in µs,
/// in the order of their ends. The numbers are the times at which the reads are issued.
fn ends(keys: &str, reads_us: &[u64]) -> Vec<u64> {
    let fixed = "program=1ms,read=50us,suspend=program,suspend_cost=10us";
    let profile: Profile = format!("ideal:{fixed},{keys}").parse().unwrap();
    let geometry = Geometry::new(PAGE, 64, PAGES_PER_BLOCK, 8, ProgramOrder::Ascending).unwrap();
    let mut drive = Drive::new(&profile, &geometry, Timing::ZERO);
    let mut submit = |at_us: u64, op, flash, place| {
        let request = HostRequest { op, bytes: PAGE.into(), force: false, memory_ns: 0, load: 0 };
        let operation = Issued::new(flash, Cause::Host, place);
        drive.submit(at_us * 1000, request, &[operation]);
    };
    submit(0, trace::Op::Write, Op::Program, 0);
    for (&at_us, page) in reads_us.iter().zip(PAGES_PER_BLOCK..) {
        submit(at_us, trace::Op::Read, Op::Read, page);
    }
    drive.finish();
    drive.usage().check_laws().unwrap();
    let answers = std::iter::from_fn(|| drive.next_answer(u64::MAX));
    answers.map(|answer| answer.answered_ns / 1000).collect()
}

#[test]
fn a_read_suspends_a_program_at_once() {
    assert_eq!(ends("suspend_progress=1ms", &[100]), [1000, 1050]);
    assert_eq!(ends("suspend_progress=0ns", &[100]), [160, 1060]);
    assert_eq!(ends("suspend_progress=300us", &[100]), [360, 1060]);
    assert_eq!(ends("suspend_progress=300us", &[400]), [460, 1060]);
}

/// A page of 2 KiB crosses the channel in 100 µs.
#[test]
fn a_read_that_comes_while_data_is_loaded_suspends_the_program_afterwards() {
    assert_eq!(ends("transfer=20480000B/s", &[50]), [260, 1260]);
    assert_eq!(ends("transfer=20480000B/s,suspend_progress=300us", &[50]), [560, 1260]);
}

#[test]
fn a_program_is_suspended_between_its_steps() {
    assert_eq!(ends("suspend_step=300us", &[100]), [360, 1060]);
    assert_eq!(ends("suspend_step=300us", &[300]), [360, 1060]);
    assert_eq!(ends("suspend_step=300us", &[400]), [660, 1060]);
    assert_eq!(ends("suspend_step=300us,suspend_progress=400us", &[100]), [660, 1060]);
    assert_eq!(ends("suspend_step=300us", &[950]), [1000, 1050], "the last step ends the program");
}

#[test]
fn a_program_goes_on_after_the_reads_that_a_suspension_serves() {
    let reads = [100, 100, 100];
    assert_eq!(ends("suspend_step=300us", &reads), [360, 410, 460, 1160]);
    assert_eq!(ends("suspend_step=300us,suspend_reads=2", &reads), [360, 410, 770, 1170]);
    assert_eq!(ends("suspend_step=300us,suspend_reads=1", &reads), [360, 720, 1080, 1180]);
    assert_eq!(ends("suspend_progress=300us,suspend_reads=1", &reads), [360, 720, 1080, 1180]);
    assert_eq!(ends("suspend_reads=1", &reads), [160, 220, 280, 1180], "without any progress");
}
