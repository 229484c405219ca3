//! What a server writes down: the log of writes and the record.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use nbd::device::recorder::Recorder;
use nbd::server::engine::Limits;
use trace::log_writes::entry::{LogEntry, MARK_NAME_BYTES_MAX};
use trace::log_writes::reader::LogReader;

use crate::clients::{Client, Operator};
use crate::conversation::*;
use crate::running::Running;
use crate::slow_file::{Barrier, SlowFile, on_file};

const PLAIN: u64 = 0;
const FLUSHED: u64 = 1;
const FORCED: u64 = 2;
const DISCARD: u64 = 4;
const MARK: u64 = 8;

/// The entries of a log, as (first sector, bits of the flags, first byte).
fn entries(log: &Path) -> Vec<(u64, u64, u8)> {
    let log = LogReader::new("log", BufReader::new(File::open(log).unwrap())).unwrap();
    let shown = |it: LogEntry| (it.sector, it.flags.bits(), it.data.first().copied().unwrap_or(0));
    log.map(|entry| shown(entry.unwrap())).collect()
}

fn with_log(log: &Path) -> Recorder {
    let mut recorder = Recorder::idle();
    recorder.begin_log(log.to_owned()).unwrap();
    recorder
}

#[test]
fn nothing_is_logged_before_its_sync_has_ended() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let (barrier, recorder) = (Barrier::default(), with_log(&log));
    let of_server = barrier.clone();
    let device =
        move || on_file(&[], recorder, |file| Box::new(SlowFile { file, barrier: of_server }));
    let server = Running::new(|| vec![device()], Limits::default());
    let (mut one, mut two) = (Client::agreed(&server), Client::agreed(&server));
    let mut operator = Operator::of(&server);
    one.write(0, 0, &[1; 512]);
    one.say(&Script::default().request(TRIM, 0, 4096, 2048));
    assert_eq!(one.reply(), (0, TRIM.into()));
    barrier.close();
    one.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(one.hears_nothing());
    two.say(&Script::default().write(FUA, 2048, &[2; 512]));
    assert!(two.hears_nothing());
    operator.ask(r#"{"mark":"m"}"#);
    let mark = (0, MARK, b'm');
    assert_eq!(entries(&log), [mark]);
    barrier.open();
    assert_eq!(one.reply(), (0, FLUSH.into()));
    assert_eq!(two.reply(), (0, WRITE.into()));
    let covered = [mark, (0, PLAIN, 1), (8, DISCARD, 0), (0, FLUSHED, 0), (4, FORCED, 2)];
    assert_eq!(entries(&log), covered);
}

#[test]
fn what_a_cut_took_is_never_logged() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let recorder = with_log(&log);
    let device = move || {
        let device = device("page", &[("buffer", "64KiB")]);
        served(disk::Disk::in_memory(device).unwrap(), recorder)
    };
    let server = Running::new(|| vec![device()], Limits::default());
    Client::agreed(&server).write(0, 0, &[1; 2048]);
    Operator::of(&server).ask(r#"{"cut":"now"}"#);
    let mut client = Client::agreed(&server);
    client.write(0, 2048, &[2; 2048]);
    client.flush();
    assert_eq!(entries(&log), [(4, PLAIN, 2), (0, FLUSHED, 0)]);
}

#[test]
fn a_record_tells_which_writes_were_forced() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let device = device("page", &[]);
    let disk = disk::Disk::in_memory(device).unwrap();
    let mut recorder = Recorder::idle();
    recorder.begin_record(path.clone(), &disk).unwrap();
    let mut live = served(disk, recorder);
    let script = Script::agreed(false).write(FUA, 0, &[1; 512]);
    script.write(0, 2048, &[2; 512]).request(FLUSH, 0, 0, 0).say_to(&mut live);
    live.close().unwrap();
    let record = std::fs::read_to_string(path).unwrap();
    let without_time = record.lines().skip(1).map(|line| line.split_once(',').unwrap().1);
    let requests: Vec<&str> = without_time.collect();
    assert_eq!(requests, ["0,WF,0,512", "0,W,2048,512", "0,FW,0,0"]);
}

#[test]
fn a_mark_has_a_short_name_without_zeros() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = with_log(&folder.path().join("log"));
    let longest = "m".repeat(MARK_NAME_BYTES_MAX);
    assert!(recorder.mark(&longest).is_ok() && recorder.mark("").is_ok());
    for name in [
        "m".repeat(MARK_NAME_BYTES_MAX + 1),
        "m".repeat(MARK_NAME_BYTES_MAX + 2),
        "a\0b".to_owned(),
    ] {
        let refused = recorder.mark(&name).unwrap_err();
        assert!(refused.contains("without zeros"), "{refused}");
    }
}

#[test]
fn a_record_tells_reads_and_what_flash_did() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("record");
    let disk = disk::Disk::in_memory(device("page", &[])).unwrap();
    let mut recorder = Recorder::idle();
    recorder.begin_record(path.clone(), &disk).unwrap();
    let mut live = served(disk, recorder);
    let script = Script::agreed(false).write(0, 0, &[1; 2048]).request(READ, 0, 0, 2048);
    script.request(TRIM, 0, 2048, 4096).say_to(&mut live);
    live.close().unwrap();
    let record = std::fs::read_to_string(&path).unwrap();
    let requests: Vec<&str> =
        record.lines().skip(1).map(|line| line.split_once(',').unwrap().1).collect();
    assert_eq!(requests, ["0,W,0,2048", "0,R,0,2048", "0,D,2048,4096"]);
    let counts = std::fs::read_to_string(folder.path().join("record.json")).unwrap();
    let counts: serde_json::Value = serde_json::from_str(&counts).unwrap();
    assert_eq!(counts["counts"]["programs"], 1);
    assert_eq!(counts["counts"]["reads"], 1);
    assert_eq!(counts["requests"], 3);
}

#[test]
fn a_logged_discard_has_the_length_of_the_trim() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("log");
    let mut live = served(disk::Disk::in_memory(device("page", &[])).unwrap(), with_log(&path));
    Script::agreed(false).request(TRIM, 0, 2048, 6144).request(FLUSH, 0, 0, 0).say_to(&mut live);
    live.close().unwrap();
    let log = LogReader::new("log", BufReader::new(File::open(path).unwrap())).unwrap();
    let discard = log.map(Result::unwrap).find(|entry| entry.flags.bits() == DISCARD).unwrap();
    assert_eq!((discard.sector, discard.sectors), (4, 12));
}
