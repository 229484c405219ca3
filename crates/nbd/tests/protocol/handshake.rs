//! Options and the answers to them.

use std::io::{Error, ErrorKind, Result, Write};

use nbd::export::Export;
use nbd::server::pipe;
use nbd::session::{Encryption, Step};

use crate::conversation::*;

const ACK: u32 = 1;
const UNSUPPORTED: u32 = 1 << 31 | 1;
const INVALID: u32 = 1 << 31 | 3;
const TLS_REQUIRED: u32 = 1 << 31 | 5;
const UNKNOWN: u32 = 1 << 31 | 6;

fn say(script: Script) -> Answers {
    script.say_to(&mut live(device("page", &[])))
}

#[test]
fn an_unknown_option_is_refused_and_the_next_one_is_served() {
    let mut answers =
        say(Script::flags(FIXED).option(77, b"what").option(LIST, b"").option(ABORT, b""));
    assert_eq!(answers.greeting().option().kind, UNSUPPORTED);
    let server = answers.option();
    assert_eq!((server.option, server.kind), (LIST, 2));
    assert_eq!(server.data, [&4_u32.to_be_bytes()[..], b"disk", b"a disk for tests"].concat());
    assert_eq!(answers.option(), OptionReply { option: LIST, kind: ACK, data: vec![] });
    assert_eq!(answers.option(), OptionReply { option: ABORT, kind: ACK, data: vec![] });
    assert!(answers.0.is_empty());
}

#[test]
fn facts_about_an_export_are_told() {
    let data = wanted("disk", &[1, 2, 3]);
    let mut answers = say(Script::flags(FIXED).option(INFO, &data).option(GO, &data));
    answers.greeting();
    for option in [INFO, GO] {
        let facts: Vec<OptionReply> = (0..5).map(|_| answers.option()).collect();
        assert!(facts.iter().all(|fact| fact.option == option));
        let data: Vec<&[u8]> = facts.iter().map(|fact| &fact.data[..]).collect();
        let capacity = device("page", &[]).capacity_bytes().to_be_bytes();
        assert_eq!(data[0], [&[0, 0][..], &capacity, &0xd6d_u16.to_be_bytes()].concat());
        assert_eq!(data[1], b"\0\x01disk");
        assert_eq!(data[2], b"\0\x02a disk for tests");
        let sizes = [1, 2048, 64 << 20].map(u32::to_be_bytes).concat();
        assert_eq!(data[3], [&[0, 3][..], &sizes].concat());
        assert_eq!(facts[4].kind, ACK);
    }
}

#[test]
fn the_old_way_of_choosing_an_export_works() {
    for (flags, zeroes) in [(FIXED, 124), (FIXED | NO_ZEROES, 0)] {
        let script = Script::flags(flags).option(EXPORT_NAME, b"").request(FLUSH, 0, 0, 0);
        let mut answers = say(script);
        assert_eq!(answers.greeting().u64(), device("page", &[]).capacity_bytes());
        assert_eq!(answers.u16(), 0xd6d);
        assert_eq!(answers.take(zeroes), vec![0; zeroes]);
        assert_eq!(answers.simple(), (0, FLUSH.into()));
    }
    let mut answers = say(Script::flags(FIXED).option(EXPORT_NAME, b"none").option(LIST, b""));
    assert!(answers.greeting().0.is_empty(), "there is no reply to an unknown name");
}

#[test]
fn unknown_exports_and_malformed_options_are_refused() {
    let malformed: [(u32, Vec<u8>, u32); 13] = [
        (INFO, wanted("other", &[]), UNKNOWN),
        (GO, wanted("other", &[]), UNKNOWN),
        (GO, vec![], INVALID),
        (GO, vec![0, 0, 0, 9, b'd'], INVALID),
        (GO, [wanted("disk", &[]), vec![0]].concat(), INVALID),
        (GO, vec![0, 0, 0, 0, 0, 7, 0], INVALID),
        (INFO, vec![0, 0, 0, 1, 0xFF, 0, 0], INVALID),
        (LIST, vec![1], INVALID),
        (STRUCTURED, vec![1], INVALID),
        (STARTTLS, vec![], UNSUPPORTED),
        (LIST_CONTEXTS, contexts("disk", &[]), INVALID),
        (SET_CONTEXTS, contexts("disk", &["base:allocation"]), INVALID),
        (11, vec![], UNSUPPORTED),
    ];
    let script = malformed
        .iter()
        .fold(Script::flags(FIXED), |script, (option, data, _)| script.option(*option, data));
    let mut answers = say(script);
    answers.greeting();
    for (option, data, kind) in malformed {
        let reply = answers.option();
        assert_eq!((reply.option, reply.kind), (option, kind), "{data:?}: {reply:?}");
        assert!(!reply.data.is_empty(), "a refusal says why");
    }
}

#[test]
fn contexts_are_listed_and_set() {
    let list = |queries: &[&str]| {
        let script = Script::flags(FIXED).option(STRUCTURED, b"");
        let mut answers = say(script.option(LIST_CONTEXTS, &contexts("", queries)));
        assert_eq!(answers.greeting().option().kind, ACK);
        let mut names = Vec::new();
        loop {
            let reply = answers.option();
            if reply.kind == ACK {
                return names;
            }
            names.push(String::from_utf8(reply.data[4..].to_vec()).unwrap());
        }
    };
    let all = ["base:allocation", "ftlab:block", "ftlab:wear"];
    assert_eq!(list(&[]), all);
    assert_eq!(list(&["ftlab:"]), all[1..]);
    assert_eq!(list(&["base:", "ftlab:wear", "qemu:"]), [all[0], all[2]]);
    assert_eq!(list(&["base"]), [""; 0]);
}

#[test]
fn contexts_of_another_choice_are_forgotten() {
    let script = Script::flags(FIXED)
        .option(STRUCTURED, b"")
        .option(SET_CONTEXTS, &contexts("", &["ftlab:wear", "base:", "base:allocation"]))
        .option(SET_CONTEXTS, &contexts("", &["ftlab:block"]))
        .option(GO, &wanted("", &[]))
        .request(BLOCK_STATUS, 0, 0, 4096);
    let mut answers = say(script);
    assert_eq!(answers.greeting().option().kind, ACK);
    let names: Vec<Vec<u8>> = (0..3).map(|_| answers.option().data).collect();
    assert_eq!(names[0][4..], *b"base:allocation");
    assert_eq!(names[1][4..], *b"ftlab:wear");
    assert!(names[2].is_empty(), "`base:` is no context");
    let id = answers.option().data[..4].to_vec();
    assert_eq!(answers.option().kind, ACK);
    while answers.option().kind != ACK {}
    let status = answers.chunk();
    assert_eq!((status.is_last, status.kind), (true, 5));
    assert_eq!(status.data[..4], id);
}

#[test]
fn a_refused_choice_of_contexts_ends_the_earlier_one() {
    let script = Script::flags(FIXED)
        .option(STRUCTURED, b"")
        .option(SET_CONTEXTS, &contexts("", &["ftlab:wear"]))
        .option(SET_CONTEXTS, b"?")
        .option(GO, &wanted("", &[]))
        .request(BLOCK_STATUS, 0, 0, 4096);
    let mut answers = say(script);
    answers.greeting();
    let refused = (0..4).map(|_| answers.option()).last().unwrap();
    assert_eq!((refused.option, refused.kind), (SET_CONTEXTS, INVALID));
    let chunk = answers.agreed_from_go().chunk();
    assert_eq!(chunk.kind, (1 << 15) + 1, "no context was agreed on");
}

#[test]
fn what_is_not_the_protocol_ends_the_connection() {
    let flags = [0_u32, 4, 0xFFFF_FFFF].map(|flags| Script::flags(flags).option(LIST, b""));
    let not_option = Script(Script::flags(FIXED).0.into_iter().chain([7; 40]).collect());
    let too_long = Script(
        [&Script::flags(FIXED).0[..], b"IHAVEOPT", &[0, 0, 0, 3, 0, 1, 0, 1], &[0; 9]].concat(),
    );
    for script in flags.into_iter().chain([not_option, too_long]) {
        assert!(say(script).greeting().0.is_empty());
    }
}

/// An output that fails.
struct Failing(ErrorKind);

impl Write for Failing {
    fn write(&mut self, _: &[u8]) -> Result<usize> {
        Err(Error::from(self.0))
    }

    fn flush(&mut self) -> Result<()> {
        Ok(())
    }
}

#[test]
fn a_client_that_does_not_wait_for_answers_has_hung_up() {
    let script = Script::flags(FIXED).option(ABORT, b"");
    let ended = |kind| {
        let mut live = live(device("page", &[]));
        pipe::serve(&mut live, &mut &script.0[..], &mut Failing(kind)).map_err(|it| it.kind())
    };
    for kind in [ErrorKind::BrokenPipe, ErrorKind::ConnectionReset] {
        assert_eq!(ended(kind), Ok(()));
    }
    assert_eq!(ended(ErrorKind::StorageFull), Err(ErrorKind::StorageFull));
}

/// What a session that must be encrypted does with these bytes, and all that it answers.
fn unencrypted(script: &Script) -> (Step, Answers) {
    let exports: [Export; 1] = [live(device("page", &[])).export().clone()];
    let (_, step, answers) = script.say_to_session(&exports, Encryption::Required);
    (step, answers)
}

#[test]
fn nothing_but_encryption_is_agreed_on_before_it() {
    let [data, unknown] = ["disk", "none"].map(|name| wanted(name, &[]));
    let refused = [
        (LIST, &b""[..]),
        (INFO, &data),
        (GO, &data),
        (INFO, &unknown),
        (GO, &unknown),
        (STRUCTURED, b""),
        (LIST_CONTEXTS, b""),
        (SET_CONTEXTS, b""),
        (77, b""),
    ];
    let options = refused.iter().fold(Script::flags(FIXED), |script, it| script.option(it.0, it.1));
    let (step, mut answers) = unencrypted(&options.option(STARTTLS, b""));
    answers.greeting();
    for (option, _) in refused {
        let reply = answers.option();
        assert_eq!((reply.option, reply.kind), (option, TLS_REQUIRED));
    }
    assert_eq!(answers.option(), OptionReply { option: STARTTLS, kind: ACK, data: vec![] });
    assert_eq!(step, Step::StartTls);
    let (step, mut answers) = unencrypted(&Script::flags(FIXED).option(EXPORT_NAME, b"disk"));
    assert!(answers.greeting().0.is_empty());
    assert!(matches!(step, Step::HangUp(_)), "{step:?}");
}

/// Otherwise somebody between client and server could add options that look encrypted.
#[test]
fn what_follows_the_demand_for_encryption_too_early_ends_the_connection() {
    let script = Script::flags(FIXED).option(STARTTLS, b"");
    for early in [script.clone().option(LIST, b""), Script([&script.0[..], b"x"].concat())] {
        let (step, _) = unencrypted(&early);
        assert_eq!(step, Step::HangUp("the client did not wait for the encryption"));
    }
}
