//! Answers at the time of a drive, without sockets. Nobody waits: the times are asked for.

use std::time::{Duration, Instant};

use image::{ImageStore, LossyDisk};
use nbd::device::client::Client;
use nbd::device::live::Live;
use nbd::device::pacing::Pacing;
use nbd::device::recorder::Recorder;
use nbd::wire::buffer::Buffer;
use nbd::wire::replies::Style;
use nbd::wire::requests::{Command, Request};

use crate::conversation::*;
use crate::slow_file::on_file;

/// A new disk with the pace of a drive.
fn paced(profile: &str) -> Live {
    let device = device("page", &[]);
    let export = live(device.clone()).export().clone();
    let (geometry, timing) = (*device.geometry(), nand::Timing::ZERO);
    let pace = Pacing::new(&profile.parse().unwrap(), &geometry, timing, Duration::ZERO);
    Live::new(disk::Disk::in_memory(device).unwrap(), export, Some(pace), Recorder::idle())
}

/// Reads or writes a page, or flushes.
fn perform(live: &mut Live, command: Command, offset: u64) {
    let bytes = if command == Command::Flush { 0 } else { 2048 };
    ask(live, Request { flags: 0, command, cookie: 1, offset, bytes });
}

fn ask(live: &mut Live, request: Request) {
    let client = Client { session: 1, style: Style::Simple, cookie: 1 };
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

/// What the drive still works on when the power fails is answered neither then nor later.
#[test]
fn nobody_is_answered_by_a_drive_whose_power_has_failed() {
    let mut live = paced("ideal:program=10s");
    perform(&mut live, Command::Write, 0);
    live.store.disk.cut_now();
    live.lose_power();
    live.power_on().unwrap();
    assert!(live.take_ready(Instant::now() + 10 * PROGRAM).is_empty());
}

/// Nothing is late if each answer is fetched at its time.
#[test]
fn an_answer_that_leaves_at_its_time_is_not_late() {
    let mut live = paced("ideal:program=10s");
    write(&mut live);
    let kept = live.gate.pace().unwrap().kept();
    assert_eq!((kept.answers, kept.late.mean), (1, Duration::ZERO));
    assert!(kept.responses.mean.abs_diff(PROGRAM) < PROGRAM / 100, "{:?}", kept.responses.mean);
}

/// The flush programs a page. While its sync runs, a read of an empty page comes, for which the
/// drive has nothing to do.
#[test]
fn the_operations_of_a_flush_belong_to_no_later_request() {
    let profile = "ideal:program=10s".parse().unwrap();
    let on_file = on_file(&[("buffer", "64KiB")], Recorder::idle(), |file| Box::new(file));
    let geometry = *on_file.store.disk.device().geometry();
    let pace = Pacing::new(&profile, &geometry, nand::Timing::ZERO, Duration::ZERO);
    let export = on_file.export().clone();
    let mut live = Live::new(on_file.store.disk, export, Some(pace), Recorder::idle());
    let before = Instant::now();
    perform(&mut live, Command::Write, 0);
    perform(&mut live, Command::Flush, 0);
    let job = live.take_job().expect("an image is synced");
    perform(&mut live, Command::Read, 8 * 2048);
    let after = Instant::now();
    assert_eq!(live.take_ready(after + PROGRAM / 2).len(), 2, "the write and the read");
    live.synced(job());
    assert!(live.take_ready(before + PROGRAM).is_empty());
    assert_eq!(live.take_ready(after + PROGRAM).len(), 1, "the flush");
}

#[test]
fn a_disk_that_is_frozen_or_holds_many_answers_begins_nothing() {
    let mut live = live(device("page", &[]));
    assert!(!live.is_held());
    live.gate.set_frozen(true);
    assert!(live.is_held());
    live.gate.set_frozen(false);
    live.gate.set_slow(PROGRAM);
    let all = live.export().bytes as u32;
    for _ in 0..(64 << 20) / all {
        assert!(!live.is_held());
        ask(
            &mut live,
            Request { flags: 0, command: Command::Read, cookie: 1, offset: 0, bytes: all },
        );
    }
    assert!(live.is_held(), "more than 64 MiB of answers wait");
}

/// Zeroes that are written come in pieces of 256 KiB, and a frozen disk does none of them.
#[test]
fn long_work_is_done_in_pieces() {
    let mut live = live(device_of_blocks("page", &[], 16));
    let (flags, command) = (NO_HOLE, Command::WriteZeroes);
    let bytes = (1 << 20) - 2048;
    ask(&mut live, Request { flags, command, cookie: 1, offset: 2048, bytes });
    for left in (1..=3).rev() {
        live.gate.set_frozen(true);
        assert!(!live.has_work(), "{left} pieces are left, but the disk is frozen");
        live.gate.set_frozen(false);
        assert!(live.has_work(), "{left} pieces are left");
        live.work();
    }
    assert!(!live.has_work());
    let programs = live.store.disk.tally().total(nand::Op::Program);
    assert_eq!(programs, (1 << 20) / 2048 - 1);
}

/// The image of a disk without power is closed too, with what the power left on it.
#[test]
fn a_disk_without_power_is_closed() {
    let mut watched = LossyDisk::default();
    let mut live = on_file(&[], Recorder::idle(), |file| {
        watched = file.clone();
        Box::new(file)
    });
    perform(&mut live, Command::Write, 0);
    live.store.disk.cut_now();
    live.lose_power();
    let tally = live.store.disk.tally();
    live.close().unwrap();
    let image = ImageStore::open(Box::new(LossyDisk::of(watched.bytes()))).unwrap();
    assert!(image.is_clean());
    let changes = tally.total(nand::Op::Program) + tally.total(nand::Op::Erase);
    assert_eq!(image.operation(), changes);
}
