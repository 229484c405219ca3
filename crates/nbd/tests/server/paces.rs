//! Answers at the time of a drive, without sockets. Nobody waits: the times are asked for.

use std::time::{Duration, Instant};

use nbd::device::client::Client;
use nbd::device::live::Live;
use nbd::device::pacing::Pacing;
use nbd::device::recorder::Recorder;
use nbd::wire::buffer::Buffer;
use nbd::wire::replies::Style;
use nbd::wire::requests::{Command, Request};

use crate::conversation::*;

/// A new disk with the pace of a drive.
fn paced(profile: &str) -> Live {
    let device = device("page", &[]);
    let export = live(device.clone()).export().clone();
    let (geometry, timing) = (*device.geometry(), nand::Timing::ZERO);
    let pace = Pacing::new(&profile.parse().unwrap(), &geometry, timing, Duration::ZERO);
    Live::new(disk::Disk::in_memory(device).unwrap(), export, Some(pace), Recorder::idle())
}

/// Reads or writes a page.
fn perform(live: &mut Live, command: Command, offset: u64) {
    let client = Client { session: 1, style: Style::Simple, cookie: 1 };
    let request = Request { flags: 0, command, cookie: 1, offset, bytes: 2048 };
    let payload = &[1; 2048][..request.payload_bytes() as usize];
    live.perform(client, &[], &request, payload, &mut Buffer::default());
}

/// The least and the greatest time from a write of a page to its answer. They differ by what this
/// process takes for the write.
fn write(live: &mut Live) -> [Duration; 2] {
    let before = Instant::now();
    perform(live, Command::Write, 0);
    let after = Instant::now();
    loop {
        let at = live.next_ready().expect("the answer leaves later");
        if !live.take_ready(at).is_empty() {
            return [at.saturating_duration_since(after), at - before];
        }
    }
}

const PROGRAM: Duration = Duration::from_secs(10);

#[test]
fn a_write_is_answered_after_its_program_or_from_the_buffer() {
    let [least, most] = write(&mut paced("ideal:program=10s"));
    assert!((least..=most).contains(&PROGRAM), "{least:?} {most:?}");
    let buffer = "ideal:program=10s,buffer=64KiB,acknowledge=buffer,protected=true";
    let [_, most] = write(&mut paced(buffer));
    assert!(most < PROGRAM, "{most:?}");
}

/// A page crosses the link in 4 s. The link has two directions, so a write and a read of another
/// page take that time together.
#[test]
fn a_write_takes_the_link_to_the_drive_and_a_read_the_one_from_it() {
    let mut live = paced("ideal:link=512B/s");
    let before = Instant::now();
    perform(&mut live, Command::Write, 0);
    perform(&mut live, Command::Read, 2048);
    let mut answers = 0;
    while answers < 2 {
        let at = live.next_ready().expect("two answers leave later");
        answers += live.take_ready(at).len();
        assert!(at - before < Duration::from_secs(8), "{:?}", at - before);
    }
}

#[test]
fn the_operations_of_a_mount_belong_to_no_request() {
    let mut live = paced("ideal:program=10s,read=1s");
    live.store.disk.write(0, &[1; 2048], true).unwrap();
    live.store.disk.cut_now();
    live.lose_power();
    live.power_on().unwrap();
    let [least, most] = write(&mut live);
    assert!((least..=most).contains(&PROGRAM), "{least:?} {most:?}");
}

#[test]
fn nobody_waits_for_answers_that_a_cut_took() {
    let mut live = live(device("page", &[]));
    live.gate.set_slow(PROGRAM);
    perform(&mut live, Command::Read, 0);
    assert!(!live.is_idle());
    live.store.disk.cut_now();
    live.lose_power();
    assert!(live.is_idle());
}
