//! Where the time of single requests goes.

use drive::{Drive, HostRequest, Issued, Profile};
use nand::{Cause, Geometry, Op, ProgramOrder, Timing};

const PAGE: u64 = 2048;
const SPARE: u32 = 64;
const PAGES_PER_BLOCK: u32 = 64;

/// A request of a page, and when it is issued, in µs.
type Timed = (u64, HostRequest, Vec<Issued>);

fn request(op: trace::Op) -> HostRequest {
    HostRequest { op, bytes: PAGE, force: false, memory_ns: 0, load: 0 }
}

fn read(at_us: u64, place: u32) -> Timed {
    (at_us, request(trace::Op::Read), vec![Issued::new(Op::Read, Cause::Host, place)])
}

/// A write that programs these pages.
fn write(at_us: u64, cause: Cause, places: impl IntoIterator<Item = u32>) -> Timed {
    let programs = places.into_iter().map(|place| Issued::new(Op::Program, cause, place));
    (at_us, request(trace::Op::Write), programs.collect())
}

/// The drive after these requests, and the parts of each response in µs, in the order of the
/// answers: queue, array, transfer, collection, buffer, firmware.
fn after(profile: &str, requests: &[Timed]) -> (Drive, Vec<[u64; 6]>) {
    let profile: Profile = format!("ideal:{profile}").parse().unwrap();
    let order = ProgramOrder::Ascending;
    let geometry = Geometry::new(PAGE as u32, SPARE, PAGES_PER_BLOCK, 8, order).unwrap();
    let mut drive = Drive::new(&profile, &geometry, Timing::ZERO);
    for (at_us, request, issued) in requests {
        drive.submit(at_us * 1000, *request, issued);
    }
    drive.finish();
    drive.usage().check_laws().unwrap();
    let answers = std::iter::from_fn(|| drive.next_answer(u64::MAX));
    let parts = answers.map(|answer| answer.shares.parts().map(|ns| ns / 1000)).collect();
    (drive, parts)
}

fn parts(profile: &str, requests: &[Timed]) -> Vec<[u64; 6]> {
    after(profile, requests).1
}

/// The read waits 50 µs for a program of garbage collection, then 200 µs for one of the host.
#[test]
fn only_the_wait_for_a_die_that_collects_counts_as_collection() {
    let requests = [write(0, Cause::Gc, [0]), write(100, Cause::Host, [64]), read(150, 128)];
    let expected = [[0, 0, 0, 200, 0, 0], [0, 200, 0, 100, 0, 0], [200, 50, 0, 50, 0, 0]];
    assert_eq!(parts("program=200us,read=50us", &requests), expected);
}

/// A page crosses the link in 100 µs. The second read waits for the first one at the die and again
/// at the link.
#[test]
fn the_link_to_the_host_is_a_transfer_each_way() {
    let requests = [write(0, Cause::Host, [0]), read(1000, 64), read(1000, 128)];
    let expected = [[0, 200, 100, 0, 0, 0], [0, 50, 100, 0, 0, 0], [100, 50, 100, 0, 0, 0]];
    assert_eq!(parts("link=20480000B/s,program=200us,read=50us", &requests), expected);
}

#[test]
fn firmware_memory_and_trims_have_times_of_their_own() {
    let from_memory = HostRequest { memory_ns: 7000, ..request(trace::Op::Read) };
    let requests = [(0, request(trace::Op::Trim), vec![]), (100, from_memory, vec![])];
    let expected = [[0, 0, 0, 0, 0, 45], [0, 0, 0, 0, 0, 22]];
    assert_eq!(parts("firmware=10us,dispatch=5us,trim=30us", &requests), expected);
}

/// Four pages fit. The third write has room when both pages of the first one are programmed, the
/// fourth one when those of the second are. It is forced, so it waits for its own programs too.
#[test]
fn a_write_waits_until_the_buffer_has_room_for_all_its_pages() {
    let mut requests: Vec<Timed> =
        (0..4).map(|nth| write(0, Cause::Host, [2 * nth, 2 * nth + 1])).collect();
    requests[3].1.force = true;
    let buffer = "program=200us,buffer=8KiB,acknowledge=buffer,protected=false";
    let expected = [[0; 6], [0; 6], [0, 0, 0, 0, 400, 0], [600, 200, 0, 0, 800, 0]];
    assert_eq!(parts(buffer, &requests), expected);
}

#[test]
fn a_spare_read_has_a_command_of_its_own_and_moves_the_spare_area_alone() {
    let mut spare = read(0, 1);
    spare.2[0].op = Op::SpareRead;
    let requests = [read(0, 4), read(0, 0), spare.clone()];
    let expected = [[0, 50, 0, 0, 0, 0], [50, 50, 0, 0, 0, 0], [100, 50, 0, 0, 0, 0]];
    assert_eq!(parts("planes=2,order=PCWD,read=50us", &requests), expected);
    let moved = parts("transfer=1000000B/s,read=50us", &[spare]);
    assert_eq!(moved, [[0, 50, u64::from(SPARE), 0, 0, 0]]);
}

#[test]
fn each_page_takes_the_time_of_its_type() {
    let requests = [0, 1, 2, 3].map(|page| read(1000 * u64::from(page), page));
    let arrays: Vec<u64> =
        parts("read=40us+60us+90us", &requests).iter().map(|parts| parts[1]).collect();
    assert_eq!(arrays, [40, 60, 90, 40]);
}

#[test]
fn every_suspension_counts_and_only_what_may_be_suspended_is() {
    let erase = (0, request(trace::Op::Trim), vec![Issued::new(Op::Erase, Cause::Host, 0)]);
    let program = write(0, Cause::Host, [0]);
    let suspended = |suspend: &str, long: &Timed| {
        let profile = format!("program=1ms,erase=1ms,read=50us,suspend={suspend}");
        let requests = [long.clone(), read(100, 64), read(400, 65)];
        after(&profile, &requests).0.usage().dies[0].suspensions
    };
    assert_eq!((suspended("program", &program), suspended("program", &erase)), (2, 0));
    assert_eq!((suspended("erase", &program), suspended("erase", &erase)), (0, 2));
}
