//! Commands of users.

use std::time::{Duration, Instant};

use nand::MediaModel;
use nbd::server::engine::Limits;

use crate::clients::{Client, Operator};
use crate::conversation::*;
use crate::running::Running;

fn serve() -> Running {
    let buffered = || live(device("page", &[("buffer", "64KiB")]));
    Running::new(move || vec![buffered()], Limits::default())
}

#[test]
fn a_cut_drops_clients_and_what_was_not_flushed_may_be_gone() {
    let server = serve();
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    client.write(0, 0, &[1; 2048]);
    client.flush();
    client.write(FUA, 2048, &[2; 2048]);
    client.write(0, 4096, &[3; 2048]);
    let answer = operator.ask(r#"{"cut":"now"}"#);
    assert_eq!(answer["power"], "on");
    assert!(client.was_dropped());
    let mut client = Client::agreed(&server);
    assert_eq!(client.read(0, 4096), [[1; 2048], [2; 2048]].concat());
    assert_eq!(client.read(4096, 2048), [0; 2048], "it was in the buffer only");
    assert_eq!(operator.ask(r#"{"stats":true}"#)["cuts"], 1);
}

#[test]
fn a_cut_at_a_flush_leaves_the_flush_without_an_answer() {
    for outcome in ["", r#","outcome":"torn""#, r#","outcome":"complete""#] {
        let server = serve();
        let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
        client.write(0, 0, &[1; 2048]);
        operator.order(&format!(r#"{{"cut":"flush"{outcome}}}"#));
        std::thread::sleep(Duration::from_millis(50));
        client.say(&Script::default().request(FLUSH, 0, 0, 0));
        assert!(client.was_dropped());
        assert_eq!(operator.answer()["ok"]["power"], "on");
        let bytes = Client::agreed(&server).read(0, 2048);
        assert!(bytes == [0; 2048] || bytes == [1; 2048], "{outcome}");
        assert_eq!(bytes[0] == 1, outcome.contains("complete"), "{outcome}");
    }
}

#[test]
fn a_cut_after_operations_comes_in_the_midst_of_writes() {
    let server = serve();
    let mut operator = Operator::of(&server);
    operator.order(r#"{"cut":{"after":20},"outcome":"torn","stay_down":true}"#);
    std::thread::sleep(Duration::from_millis(50));
    let mut client = Client::agreed(&server);
    let mut written = 0;
    loop {
        let script = Script::default().write(FUA, written * 2048, &[written as u8 + 1; 2048]);
        client.say(&script);
        let mut reply = [0; 16];
        if std::io::Read::read_exact(&mut client.0, &mut reply).is_err() {
            break;
        }
        written += 1;
    }
    assert!((1..=20).contains(&written), "{written} writes");
    assert_eq!(operator.answer()["ok"]["power"], "off");
    let mut early = Client::silent(&server);
    early.say(&Script::agreed(false));
    let head = early.take(18 + 20);
    assert_eq!(head[18 + 12..18 + 16], (1_u32 << 31 | 7).to_be_bytes(), "it has no power");
    assert!(operator.refused(r#"{"cut":"now"}"#).contains("no power"));
    operator.ask(r#"{"freeze":0.01}"#);
    assert_eq!(operator.ask(r#"{"stats":true}"#)["cuts"], 1, "a freeze is no further cut");
    operator.ask(r#"{"power":"on"}"#);
    assert!(operator.refused(r#"{"power":"on"}"#).contains("has power already"));
    let mut client = Client::agreed(&server);
    for page in 0..written {
        assert_eq!(client.read(page * 2048, 2048), [page as u8 + 1; 2048]);
    }
}

#[test]
fn forced_zeroes_and_trims_survive_a_cut() {
    let server = serve();
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    client.write(FUA, 0, &[1; 4096]);
    for (command, offset, bytes) in [(TRIM, 2048, 2048), (WRITE_ZEROES, 100, 1000)] {
        client.say(&Script::default().request(command, FUA, offset, bytes));
        assert_eq!(client.reply(), (0, command.into()));
    }
    operator.ask(r#"{"cut":"now"}"#);
    let bytes = Client::agreed(&server).read(0, 4096);
    assert!(bytes == [&[1; 100][..], &[0; 1000], &[1; 948], &[0; 2048]].concat());
}

#[test]
fn a_cut_ends_what_waits_behind_long_work() {
    // Zeroes are written in pieces. The cut comes in the sixth one.
    let device = || live(device_of_blocks("page", &[], 32));
    let server = Running::new(move || vec![device()], Limits::default());
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    client.write(FUA, 0, &[1; 2048]);
    operator.order(r#"{"cut":{"after":700}}"#);
    std::thread::sleep(Duration::from_millis(50));
    let zeroes = Script::default().request(WRITE_ZEROES, NO_HOLE, 2048, (4 << 20) - 2048);
    client.say(&zeroes.request(TRIM, 0, 0, 2048));
    assert!(client.was_dropped());
    assert_eq!(operator.answer()["ok"]["power"], "on");
    assert!(Client::agreed(&server).read(0, 2048) == [1; 2048], "the trim came after the cut");
}

#[test]
fn a_frozen_disk_answers_when_it_thaws() {
    let server = serve();
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    operator.ask(r#"{"freeze":true}"#);
    client.say(&Script::default().write(0, 0, &[5; 512]).request(READ, 0, 0, 512));
    assert!(client.hears_nothing());
    operator.ask(r#"{"freeze":false}"#);
    assert_eq!(client.reply(), (0, WRITE.into()));
    assert_eq!(client.reply(), (0, READ.into()));
    assert_eq!(client.take(512), [5; 512]);

    operator.order(r#"{"freeze":0.15}"#);
    std::thread::sleep(Duration::from_millis(20));
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(client.hears_nothing());
    assert_eq!(client.reply(), (0, FLUSH.into()));
    assert!(operator.answer().get("ok").is_some());
}

#[test]
fn a_slow_disk_answers_later() {
    let server = serve();
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    operator.ask(r#"{"slow":"40ms"}"#);
    let began = Instant::now();
    client.write(FUA, 0, &[5; 512]);
    assert_eq!(client.read(0, 512), [5; 512]);
    client.flush();
    assert!(began.elapsed() >= Duration::from_millis(120));
    operator.ask(r#"{"slow":0}"#);
}

#[test]
fn ranges_fail_on_demand() {
    let server = serve();
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    operator.ask(r#"{"fail":{"offset":4096,"bytes":4096,"on":"read","times":2}}"#);
    client.write(0, 0, &[5; 16_384]);
    let mut ask = |offset: u64| {
        client.say(&Script::default().request(READ, 0, offset, 1024));
        let (error, _) = client.reply();
        if error == 0 {
            client.take(1024);
        }
        error
    };
    assert_eq!([ask(0), ask(3072), ask(8192)], [0; 3], "they only touch its ends");
    assert_eq!([ask(3584), ask(8191), ask(8191)], [5, 5, 0]);
    operator.ask(r#"{"fail":{"on":"write"}}"#);
    client.say(&Script::default().write(0, 0, &[5; 512]));
    assert_eq!(client.reply(), (5, WRITE.into()));
    operator.ask(r#"{"fail":null}"#);
    client.write(0, 0, &[5; 512]);
}

/// A page of the host cannot be read until it is written again. Pages beside it can.
#[test]
fn a_page_is_lost_on_demand() {
    const PAGE: u64 = 2048;
    let media = MediaModel::parse("real:factory_bad=0%", 3000).unwrap().unwrap();
    let on_media = move || live(device("page", &[]).on_media(media, 20).unwrap());
    let server = Running::new(move || vec![on_media()], Limits::default());
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    operator.ask(r#"{"media":{"lose_page":2}}"#);
    (0..4).for_each(|page| client.write(0, page * PAGE, &[7; PAGE as usize]));
    assert_eq!(operator.ask(r#"{"stats":true}"#)["media"]["unreadable_pages"], 1);
    let errors = |client: &mut Client| {
        (0..4)
            .map(|page| {
                client.say(&Script::default().request(READ, 0, page * PAGE, PAGE as u32));
                let (error, _) = client.reply();
                if error == 0 {
                    assert_eq!(client.take(PAGE as usize), [7; PAGE as usize]);
                }
                error
            })
            .collect::<Vec<_>>()
    };
    assert_eq!(errors(&mut client), [0, 0, 5, 0]);
    client.flush();
    operator.ask(r#"{"cut":"now"}"#);
    client = Client::agreed(&server);
    assert_eq!(errors(&mut client), [0, 0, 5, 0], "for good");
    client.write(0, 2 * PAGE, &[7; PAGE as usize]);
    assert_eq!(errors(&mut client), [0; 4]);
}

/// Two hundred blocks fail under a client that goes on; then none is left, and it can only read.
#[test]
fn flash_fails_on_demand() {
    const PAGE: u64 = 2048;
    let media = MediaModel::parse("real:factory_bad=0%", 3000).unwrap().unwrap();
    let on_media = move || live(device("page", &[]).on_media(media, 210).unwrap());
    let server = Running::new(move || vec![on_media()], Limits::default());
    let (mut client, mut operator) = (Client::agreed(&server), Operator::of(&server));
    let pages = 8 * 64;
    let mut written = vec![0_u8; pages as usize];
    for round in 0..200_u64 {
        let failure = match round % 10 {
            0 => format!(r#"{{"media":{{"fail_erase":{}}}}}"#, round % 3),
            5 => format!(r#"{{"media":{{"wear_out":{}}}}}"#, round % 18),
            _ => format!(r#"{{"media":{{"fail_program":{}}}}}"#, round % 7),
        };
        operator.ask(&failure);
        for at in 0..30 {
            let page = (round * 37 + at * 11) % pages;
            written[page as usize] = round as u8 + 1;
            client.write(0, page * PAGE, &[round as u8 + 1; PAGE as usize]);
        }
        if round % 50 == 49 {
            client.flush();
            operator.ask(r#"{"cut":"now"}"#);
            client = Client::agreed(&server);
        }
    }
    let holds = |client: &mut Client| {
        for (page, &value) in (0..).zip(&written) {
            assert_eq!(client.read(page * PAGE, PAGE as u32), [value; PAGE as usize], "{page}");
        }
    };
    holds(&mut client);
    let media = operator.ask(r#"{"stats":true}"#)["media"].clone();
    let [retired, left] = ["retired", "in_reserve"].map(|name| media[name].as_u64().unwrap());
    // Blocks of the list of moves fail, too.
    assert!(retired > 180 && (210..=214).contains(&(retired + left)), "{media}");
    assert_eq!(media["read_only"], false);
    for (reason, least) in [("program_failures", 100), ("erase_failures", 10), ("worn_out", 5)] {
        assert!(media[reason].as_u64().unwrap() >= least, "{media}");
    }
    let media = operator.ask(r#"{"media":{"leave":0}}"#);
    assert_eq!((&media["in_reserve"], &media["read_only"]), (&0.into(), &true.into()));
    for _ in 0..2 {
        client.say(&Script::default().write(0, 0, &[9; 512]));
        assert_eq!(client.reply(), (1, WRITE.into()), "EPERM");
        client.flush();
        holds(&mut client);
        operator.ask(r#"{"cut":"now"}"#);
        client = Client::agreed(&server);
    }
    let why = operator.refused(r#"{"media":{"wear_out":99}}"#);
    assert!(why.contains("blocks 0 to 2"), "{why}");
}

#[test]
fn commands_that_make_no_sense_are_refused_with_a_sentence() {
    let server = serve();
    let mut operator = Operator::of(&server);
    for (command, part) in [
        ("cut", "not JSON"),
        ("[1]", "a JSON object"),
        ("{}", "give one of cut, power"),
        (r#"{"cut":"soon"}"#, r#""now", "flush" or"#),
        (r#"{"cut":{"after":-1}}"#, "not a whole number"),
        (r#"{"cut":"now","outcome":"melted"}"#, "unknown outcome `melted`; known: untouched, torn"),
        (r#"{"cut":"now","stay":true}"#, "`stay` means nothing"),
        (r#"{"stats":true,"export":"other"}"#, "unknown export `other`; known are disk"),
        (r#"{"freeze":-1}"#, "a number of seconds"),
        (r#"{"slow":"1 parsec"}"#, "parsec"),
        (r#"{"slow":1e300}"#, "a number of seconds"),
        (r#"{"fail":{"on":"both"}}"#, "`on` is"),
        (r#"{"fail":{"at":1}}"#, "`at` means nothing"),
        (r#"{"mark":"here"}"#, "--log-writes"),
        (r#"{"media":{"fail_program":0}}"#, "make one with `--media real`"),
        (r#"{"media":{"fail_program":-1}}"#, "not a whole number"),
        (r#"{"media":{"wear_out":5000000000}}"#, "does not exist"),
        (
            r#"{"media":{"melt":1}}"#,
            "known are fail_program, fail_erase, lose_page, wear_out, leave",
        ),
        (r#"{"media":{"leave":1,"melt":1}}"#, "has one key: fail_program"),
        (r#"{"media":true}"#, "cannot be"),
        (r#"{"power":"off"}"#, "cannot be"),
    ] {
        let sentence = operator.refused(command);
        assert!(sentence.contains(part), "{command}: {sentence}");
    }
    assert_eq!(operator.ask(r#"{"stats":true,"export":"disk"}"#)["export"], "disk");
}

#[test]
fn a_cut_can_be_taken_back() {
    let server = serve();
    let mut client = Client::agreed(&server);
    for cut in [r#"{"cut":"flush"}"#, r#"{"cut":{"after":3}}"#] {
        let (mut waits, mut operator) = (Operator::of(&server), Operator::of(&server));
        waits.order(cut);
        std::thread::sleep(Duration::from_millis(50));
        assert!(operator.refused(r#"{"cut":"flush"}"#).contains("ordered already"));
        operator.ask(r#"{"cut":null}"#);
        assert!(waits.answer()["error"].as_str().unwrap().contains("taken back"));
        for page in 0..10 {
            client.write(FUA, page * 2048, &[6; 2048]);
        }
        client.flush();
    }
    assert_eq!(Operator::of(&server).ask(r#"{"stats":true}"#)["cuts"], 0);
}

#[test]
fn a_freeze_for_a_time_ends_early_on_demand() {
    let server = serve();
    let (mut waits, mut operator) = (Operator::of(&server), Operator::of(&server));
    waits.order(r#"{"freeze":3600}"#);
    std::thread::sleep(Duration::from_millis(50));
    assert!(operator.refused(r#"{"freeze":true}"#).contains("frozen for a time"));
    operator.ask(r#"{"freeze":false}"#);
    assert!(waits.answer().get("ok").is_some());
    operator.ask(r#"{"freeze":true}"#);
    let mut client = Client::agreed(&server);
    client.say(&Script::default().request(FLUSH, 0, 0, 0));
    assert!(client.hears_nothing(), "the first freeze does not end the second");
    operator.ask(r#"{"freeze":false}"#);
    assert_eq!(client.reply(), (0, FLUSH.into()));
}

/// Two connections write in turn, and each fills blocks of its own.
#[test]
fn each_connection_may_have_a_stream() {
    for gives in [true, false] {
        let served = move || {
            let mut live = live(device("streams:streams=2,unit=2", &[]));
            if gives {
                live.give_streams();
            }
            vec![live]
        };
        let server = Running::new(served, Limits::default());
        let mut clients = [Client::agreed(&server), Client::agreed(&server)];
        for round in 0..6 {
            clients[(round % 3 / 2) as usize].write(0, round * 2048, &[7; 2048]);
        }
        let stats = Operator::of(&server).ask(r#"{"stats":true}"#);
        let placement = &stats["placement"];
        let by_class = if gives { [4, 2] } else { [6, 0] };
        assert_eq!(placement["class_writes"], serde_json::json!(by_class), "{stats}");
        assert_eq!(placement["host_bytes"], 6 * 2048);
        assert_eq!(placement["media_bytes"], stats["flash"]["programs"].as_u64().unwrap() * 2048);
    }
    let server = serve();
    let stats = Operator::of(&server).ask(r#"{"stats":true}"#);
    assert_eq!(stats["placement"], serde_json::Value::Null, "it has no reclaim units");
}
