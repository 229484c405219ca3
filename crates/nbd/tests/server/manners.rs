//! Clients that behave badly harm nobody else.

use std::time::Duration;

use nbd::server::engine::Limits;

use crate::clients::{Client, Operator};
use crate::conversation::*;
use crate::running::Running;

fn serve(limits: Limits) -> Running {
    Running::new(|| vec![live(device("page", &[]))], limits)
}

/// A write of which only a part was sent.
fn half_sent(server: &Running, bytes: u32, sent: usize) -> Client {
    let mut client = Client::agreed(server);
    let mut script = Script::default().request(WRITE, 0, 0, bytes);
    script.0.resize(script.0.len() + sent, 0xEE);
    client.say(&script);
    client
}

#[test]
fn many_idle_and_half_sent_connections_leave_others_alone() {
    let server = serve(Limits::default());
    let idle: Vec<Client> = (0..200).map(|_| Client::agreed(&server)).collect();
    // More bytes than the device has would be refused after the payload, not before.
    let half: Vec<Client> = (0..200).map(|_| half_sent(&server, 512 << 10, 100_000)).collect();
    let mut client = Client::agreed(&server);
    client.write(FUA, 4096, &[7; 8192]);
    assert_eq!(client.read(4096, 8192), [7; 8192]);
    drop((idle, half));
    assert_eq!(client.read(0, 4096), [0; 4096], "half a write was applied");
}

#[test]
fn a_payload_waits_for_memory_and_goes_on_when_others_leave() {
    let patient = Duration::from_secs(60);
    let limits = Limits { payload_bytes: 1 << 20, pause_when_short: patient, ..Limits::default() };
    let server = serve(limits);
    let first = half_sent(&server, 900 << 10, 100_000);
    let mut second = Client::agreed(&server);
    let mut sender = Client(second.0.try_clone().unwrap());
    let sends = std::thread::spawn(move || {
        sender.say(&Script::default().write(0, 0, &[0xEE; 300 << 10]));
    });
    assert!(second.hears_nothing(), "there is memory for one of them");
    let mut small = Client::agreed(&server);
    small.write(0, 512 << 10, &[3; 4096]);
    drop(first);
    assert_eq!(second.reply(), (0, WRITE.into()));
    sends.join().unwrap();
}

#[test]
fn memory_of_clients_that_a_cut_drops_is_free_again() {
    let patient = Duration::from_secs(60);
    let limits = Limits { payload_bytes: 1 << 20, pause_when_short: patient, ..Limits::default() };
    let server = serve(limits);
    let mut first = half_sent(&server, 900 << 10, 100_000);
    assert!(first.hears_nothing());
    Operator::of(&server).ask(r#"{"cut":"now"}"#);
    assert!(first.was_dropped());
    Client::agreed(&server).write(0, 0, &[0xEE; 300 << 10]);
}

#[test]
fn whoever_pauses_within_a_payload_while_memory_is_short_is_dropped() {
    let limits = Limits {
        payload_bytes: 1 << 20,
        pause_when_short: Duration::from_millis(300),
        ..Limits::default()
    };
    let server = serve(limits);
    let mut first = half_sent(&server, 900 << 10, 100_000);
    let mut second = half_sent(&server, 300 << 10, 300 << 10);
    assert_eq!(second.reply(), (0, WRITE.into()));
    assert!(first.was_dropped());
}

#[test]
fn handshakes_and_requests_that_stand_still_time_out() {
    let short = Duration::from_millis(300);
    let server = serve(Limits { handshake: short, pause: short, ..Limits::default() });
    let mut silent = Client::silent(&server);
    let mut half = half_sent(&server, 8192, 1000);
    let mut within_head = Client::agreed(&server);
    within_head.say(&Script(Script::default().request(READ, 0, 0, 512).0[..20].to_vec()));
    let mut idle = Client::agreed(&server);
    assert!(silent.was_dropped() && half.was_dropped() && within_head.was_dropped());
    assert_eq!(idle.read(0, 4096), [0; 4096], "between requests there is no limit");
}

#[test]
fn a_client_that_takes_no_answers_blocks_nobody() {
    let server = serve(Limits { payload_bytes: 1 << 20, ..Limits::default() });
    let mut greedy = Client::agreed(&server);
    let mut script = Script::default();
    for _ in 0..2000 {
        script = script.request(READ, 0, 0, 256 << 10);
    }
    greedy.say(&script);
    let mut client = Client::agreed(&server);
    for round in 0..200_u64 {
        client.write(0, round * 2048, &[round as u8; 2048]);
        assert_eq!(client.read(round * 2048, 2048), [round as u8; 2048]);
    }
    assert_eq!(greedy.reply(), (0, READ.into()));
    assert_eq!(greedy.take(256 << 10).len(), 256 << 10);
}

#[test]
fn requests_of_a_client_that_takes_no_answers_are_not_read() {
    let server = serve(Limits::default());
    let mut greedy = Client::agreed(&server);
    let script = (0..200_000).fold(Script::default(), |script, _| script.request(CACHE, 0, 0, 512));
    greedy.0.set_write_timeout(Some(Duration::from_secs(1))).unwrap();
    let sent = std::io::Write::write_all(&mut greedy.0, &script.0);
    assert!(sent.is_err(), "the server holds the answers to all requests");
    assert_eq!(greedy.reply(), (0, CACHE.into()));
}

/// The answers of a slow device wait outside of the connection, and have their memory all the same.
#[test]
fn answers_that_leave_later_have_their_memory() {
    let server = serve(Limits { payload_bytes: 1 << 20, ..Limits::default() });
    let mut operator = crate::clients::Operator::of(&server);
    operator.ask(r#"{"slow":"30ms"}"#);
    let mut client = Client::agreed(&server);
    let script = (0..40).fold(Script::default(), |script, number| {
        script.named_request(number, READ, 0, 0, 512 << 10)
    });
    client.say(&script);
    let mut other = Client::agreed(&server);
    other.write(0, 0, &[1; 512]);
    for number in 0..40 {
        assert_eq!(client.reply(), (0, number));
        client.take(512 << 10);
    }
}

#[test]
fn there_is_a_limit_of_connections() {
    let server = serve(Limits { connections: 3, ..Limits::default() });
    let mut clients: Vec<Client> = (0..3).map(|_| Client::agreed(&server)).collect();
    assert!(Client::silent(&server).was_dropped());
    clients.pop();
    // The server must have noticed that.
    std::thread::sleep(Duration::from_millis(200));
    let mut again = Client::agreed(&server);
    assert_eq!(again.read(0, 512), [0; 512]);
}

/// The last bytes of a client and its end may come with one event.
#[test]
fn a_connection_that_ends_within_a_request_is_forgotten() {
    let server = serve(Limits { connections: 3, ..Limits::default() });
    for _ in 0..20 {
        drop(half_sent(&server, 64 << 10, 1000));
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(Client::agreed(&server).read(0, 512), [0; 512]);
}

#[test]
fn many_requests_at_once_are_all_answered() {
    let server = serve(Limits::default());
    let mut client = Client::agreed(&server);
    let mut script = Script::default();
    for number in 0..3000_u64 {
        script = match number % 3 {
            0 => script.named_request(number, FLUSH, 0, 0, 0),
            1 => script.named_request(number, READ, 0, number % 64 * 2048, 700),
            _ => script.named_request(number, TRIM, 0, number % 64 * 2048, 4096),
        };
    }
    let mut sender = Client(client.0.try_clone().unwrap());
    let sends = std::thread::spawn(move || sender.say(&script));
    let mut answered = vec![false; 3000];
    for _ in 0..3000 {
        let (error, cookie) = client.reply();
        assert_eq!(error, 0);
        assert!(!answered[cookie as usize], "{cookie} was answered twice");
        answered[cookie as usize] = true;
        if cookie % 3 == 1 {
            client.take(700);
        }
    }
    sends.join().unwrap();
}
