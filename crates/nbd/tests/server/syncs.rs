//! Flushes of an image, and the end of a server.

use std::os::unix::net::UnixListener;
use std::sync::{Arc, Mutex};

use image::LossyDisk;
use nbd::device::recorder::Recorder;
use nbd::server::address::{Address, Listener};
use nbd::server::engine::Limits;

use crate::clients::{Client, Operator};
use crate::conversation::*;
use crate::running::Running;
use crate::slow_file::{Barrier, SlowFile, on_file, on_slow_file};

/// A server of a device on a file, and this file.
fn running_on_file() -> (Running, Arc<Mutex<LossyDisk>>) {
    let file = Arc::new(Mutex::new(LossyDisk::default()));
    let of_server = Arc::clone(&file);
    let device = move || {
        on_file(&[], Recorder::idle(), |file| {
            *of_server.lock().unwrap() = file.clone();
            Box::new(file)
        })
    };
    let server = Running::new(move || vec![device()], Limits::default());
    (server, file)
}

#[test]
fn a_full_file_system_is_told_once_and_then_the_disk_can_only_be_read() {
    const ENOSPC: u32 = 28;
    const EPERM: u32 = 1;
    let (server, file) = running_on_file();
    let mut client = Client::agreed(&server);
    client.write(FUA, 0, &[1; 4096]);
    file.lock().unwrap().with(|disk| disk.fuel = Some(1));
    client.say(&Script::default().write(0, 8192, &[2; 4096]).write(0, 0, &[2; 4096]));
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    let answers = [client.reply(), client.reply(), client.reply()];
    assert_eq!(answers.map(|(error, _)| error), [ENOSPC, EPERM, EPERM]);
    let refusal = Operator::of(&server).refused(r#"{"cut":"now"}"#);
    assert!(refusal.contains("has failed"), "{refusal}");
    assert_eq!(client.read(0, 4096), [1; 4096]);
}

#[test]
fn reads_and_writes_go_on_while_another_client_flushes() {
    let barrier = Barrier::default();
    let of_server = barrier.clone();
    let server = Running::new(|| vec![on_slow_file(of_server)], Limits::default());
    let (mut one, mut two) = (Client::agreed(&server), Client::agreed(&server));
    let mut three = Client::agreed(&server);
    one.write(0, 0, &[1; 2048]);
    barrier.close();
    let before = barrier.syncs();
    one.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(one.hears_nothing());
    two.write(0, 2048, &[2; 2048]);
    assert_eq!(two.read(0, 4096), [[1; 2048], [2; 2048]].concat());
    two.say(&Script::default().request(FLUSH, 0, 0, 0));
    three.say(&Script::default().write(FUA, 4096, &[3; 2048]));
    assert!(two.hears_nothing() && three.hears_nothing());
    assert_eq!(barrier.syncs(), before + 1, "they wait for the sync that runs");
    barrier.open();
    assert_eq!(one.reply(), (0, FLUSH.into()));
    assert_eq!(two.reply(), (0, FLUSH.into()));
    assert_eq!(three.reply(), (0, WRITE.into()));
    assert_eq!(barrier.syncs(), before + 2, "they share a sync");
}

#[test]
fn a_cut_while_a_sync_runs_waits_for_it() {
    let barrier = Barrier::default();
    let of_server = barrier.clone();
    let server = Running::new(|| vec![on_slow_file(of_server)], Limits::default());
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    client.write(0, 0, &[1; 2048]);
    barrier.close();
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(client.hears_nothing());
    operator.order(r#"{"cut":"now"}"#);
    std::thread::sleep(std::time::Duration::from_millis(50));
    barrier.open();
    assert_eq!(operator.answer()["ok"]["power"], "on");
    assert!(client.was_dropped());
    let mut client = Client::agreed(&server);
    assert_eq!(client.read(0, 2048), [1; 2048]);
    client.write(FUA, 0, &[4; 2048]);
}

#[test]
fn a_server_that_stops_answers_what_it_has_taken() {
    let barrier = Barrier::default();
    let of_server = barrier.clone();
    let server = Running::new(|| vec![on_slow_file(of_server)], Limits::default());
    let mut client = Client::agreed(&server);
    client.write(0, 0, &[1; 2048]);
    barrier.close();
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(client.hears_nothing());
    let opener = barrier.clone();
    let opens = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(100));
        opener.open();
    });
    server.stop(|folder, devices| {
        assert_eq!(std::fs::read_dir(folder).unwrap().count(), 0, "a socket is left");
        for device in devices {
            device.close().unwrap();
        }
    });
    opens.join().unwrap();
    assert_eq!(client.reply(), (0, FLUSH.into()));
    assert!(client.was_dropped());
}

#[test]
fn a_flush_that_shares_a_sync_with_a_forced_write_reaches_the_flash() {
    let barrier = Barrier::default();
    let of_server = barrier.clone();
    let buffered = move || {
        let wrap =
            |file| -> Box<dyn image::Medium> { Box::new(SlowFile { file, barrier: of_server }) };
        on_file(&[("buffer", "64KiB")], Recorder::idle(), wrap)
    };
    let server = Running::new(|| vec![buffered()], Limits::default());
    let (mut one, mut two) = (Client::agreed(&server), Client::agreed(&server));
    let (mut three, mut operator) = (Client::agreed(&server), Operator::of(&server));
    one.write(0, 0, &[1; 2048]);
    barrier.close();
    one.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(one.hears_nothing());
    two.write(0, 2048, &[2; 2048]);
    two.say(&Script::default().request(FLUSH, 0, 0, 0));
    three.say(&Script::default().write(FUA, 4096, &[3; 2048]));
    assert!(two.hears_nothing() && three.hears_nothing());
    barrier.open();
    assert_eq!(one.reply(), (0, FLUSH.into()));
    assert_eq!(two.reply(), (0, FLUSH.into()));
    assert_eq!(three.reply(), (0, WRITE.into()));
    operator.ask(r#"{"cut":"now"}"#);
    let bytes = Client::agreed(&server).read(0, 6144);
    assert!(bytes == [[1; 2048], [2; 2048], [3; 2048]].concat());
}

#[test]
fn a_sync_that_fails_is_told_to_whoever_waited_for_it() {
    let (barrier, file) = (Barrier::default(), Arc::new(Mutex::new(LossyDisk::default())));
    let (barrier_of_server, file_of_server) = (barrier.clone(), Arc::clone(&file));
    let device = move || {
        on_file(&[], Recorder::idle(), |file| {
            *file_of_server.lock().unwrap() = file.clone();
            Box::new(SlowFile { file, barrier: barrier_of_server })
        })
    };
    let server = Running::new(move || vec![device()], Limits::default());
    let (mut one, mut two) = (Client::agreed(&server), Client::agreed(&server));
    one.write(0, 0, &[1; 2048]);
    barrier.close();
    one.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(one.hears_nothing());
    two.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(two.hears_nothing());
    file.lock().unwrap().with(|disk| disk.fuel = Some(0));
    barrier.open();
    for client in [&mut one, &mut two] {
        let (error, cookie) = client.reply();
        assert_eq!(cookie, u64::from(FLUSH));
        assert_ne!(error, 0);
    }
}

#[test]
fn statistics_cover_the_time_before_a_failure_of_the_storage_too() {
    let (server, file) = running_on_file();
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    for page in 0..40 {
        client.write(FUA, page % 10 * 2048, &[page as u8; 2048]);
    }
    let before = operator.ask(r#"{"stats":true}"#);
    file.lock().unwrap().with(|disk| disk.fuel = Some(0));
    client.say(&Script::default().write(FUA, 0, &[1; 2048]));
    assert_ne!(client.reply().0, 0);
    let after = operator.ask(r#"{"stats":true}"#);
    assert!(after["read_only"].is_string(), "{after}");
    let counted = |stats: &serde_json::Value, key| stats["flash"][key].as_u64().unwrap();
    for key in ["reads", "programs", "erases"] {
        assert!(counted(&after, key) >= counted(&before, key), "{key}: {before} {after}");
    }
    assert!(counted(&after, "programs") >= 40, "{after}");
    assert_eq!(after["written_bytes"], 40 * 2048, "the last write has failed: {after}");
    assert!(after["write_amplification_bytes"].as_f64().unwrap() >= 1.0, "{after}");
}

#[test]
fn a_frozen_disk_does_not_answer_a_flush_whose_sync_ends() {
    let barrier = Barrier::default();
    let of_server = barrier.clone();
    let server = Running::new(|| vec![on_slow_file(of_server)], Limits::default());
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    client.write(0, 0, &[1; 2048]);
    barrier.close();
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(client.hears_nothing());
    operator.ask(r#"{"freeze":true}"#);
    barrier.open();
    assert!(client.hears_nothing());
    // A command wakes the server, so that it looks for answers that may leave.
    operator.ask(r#"{"stats":true}"#);
    assert!(client.hears_nothing());
    operator.ask(r#"{"freeze":false}"#);
    assert_eq!(client.reply(), (0, FLUSH.into()));
}

#[test]
fn a_server_that_stops_refuses_further_requests() {
    const ESHUTDOWN: u32 = 108;
    let barrier = Barrier::default();
    let of_server = barrier.clone();
    let server = Running::new(|| vec![on_slow_file(of_server)], Limits::default());
    let (mut client, mut late) = (Client::agreed(&server), Client::agreed(&server));
    client.write(0, 0, &[1; 2048]);
    barrier.close();
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(client.hears_nothing());
    let stops = std::thread::spawn(move || server.stop(|_, _| ()));
    let mut ask = || {
        late.say(&Script::default().request(CACHE, 0, 0, 512));
        late.reply().0
    };
    let refused = (0..).map(|_| ask()).find(|error| *error != 0);
    assert_eq!(refused, Some(ESHUTDOWN));
    barrier.open();
    assert_eq!(client.reply(), (0, FLUSH.into()));
    stops.join().unwrap();
}

#[test]
fn a_stale_socket_is_replaced_and_a_living_one_respected() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("s");
    let address = Address::Unix(path.clone());
    drop(UnixListener::bind(&path).unwrap());
    let living = Listener::bind(&address).map(drop);
    assert!(living.is_ok(), "nobody listens there: {living:?}");
    let listener = UnixListener::bind(&path).unwrap();
    let refused = Listener::bind(&address).err().unwrap();
    assert!(refused.to_string().contains("another server"), "{refused}");
    drop(listener);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "a file").unwrap();
    let refused = Listener::bind(&address).err().unwrap();
    assert!(refused.to_string().contains("not a socket"), "{refused}");
    assert_eq!(std::fs::read(&path).unwrap(), b"a file");
}
