//! What clients are told of several exports, and of those that they cannot use.

use nbd::export::Export;
use nbd::session::{Encryption, Step};

use crate::conversation::*;

const ACK: u32 = 1;
const SERVER: u32 = 2;
const INVALID: u32 = 1 << 31 | 3;
const UNKNOWN: u32 = 1 << 31 | 6;
/// The transmission flag of an export that can only be read.
const READ_ONLY: u16 = 2;

fn export(name: &str) -> Export {
    Export { name: name.to_owned(), ..live(device("page", &[])).export().clone() }
}

fn flags() -> Script {
    Script::flags(FIXED | NO_ZEROES)
}

#[test]
fn all_exports_are_listed() {
    let exports = ["one", "two", "three"].map(export);
    let script = flags().option(LIST, b"");
    let (.., mut answers) = script.say_to_session(&exports, Encryption::Impossible);
    answers.greeting();
    for export in exports {
        let entry = answers.option();
        let name = [&(export.name.len() as u32).to_be_bytes(), export.name.as_bytes()].concat();
        assert!(entry.kind == SERVER && entry.data.starts_with(&name), "{entry:?}");
    }
    assert_eq!(answers.option().kind, ACK);
}

#[test]
fn an_export_is_found_by_its_whole_name() {
    let exports = ["disk10", "disk"].map(export);
    let go = |name: &str| flags().option(GO, &wanted(name, &[]));
    let chosen = |name: &str| {
        let (session, ..) = go(name).say_to_session(&exports, Encryption::Impossible);
        session.export()
    };
    assert_eq!(["disk10", "disk", "disk1", ""].map(chosen), [Some(0), Some(1), None, Some(0)]);
    let (.., mut answers) = go("disk1").say_to_session(&exports, Encryption::Impossible);
    assert_eq!(answers.greeting().option().kind, UNKNOWN);
}

#[test]
fn the_preferred_size_of_requests_is_at_least_the_least_one() {
    for (least_bytes, preferred_bytes) in [(1, 2048), (512, 2048), (4096, 4096)] {
        let export = Export { least_bytes, ..export("disk") };
        let script = flags().option(INFO, &wanted("disk", &[3]));
        let (.., mut answers) = script.say_to_session(&[export], Encryption::Impossible);
        answers.greeting().option();
        let sizes = [least_bytes, preferred_bytes, 64 << 20].map(u32::to_be_bytes).concat();
        assert_eq!(answers.option().data, [&[0, 3][..], &sizes].concat());
    }
}

#[test]
fn in_the_old_way_an_export_without_power_ends_the_connection() {
    let off = Export { is_on: false, ..export("disk") };
    let script = flags().option(EXPORT_NAME, b"disk");
    let (_, step, mut answers) = script.say_to_session(&[off], Encryption::Impossible);
    assert_eq!(step, Step::HangUp("the export has no power"));
    assert!(answers.greeting().0.is_empty());
}

#[test]
fn a_client_is_told_that_an_export_can_only_be_read() {
    let told = |is_read_only: bool| {
        let export = Export { is_read_only, ..export("disk") };
        let script = flags().option(EXPORT_NAME, b"disk");
        let (.., mut answers) = script.say_to_session(&[export], Encryption::Impossible);
        answers.greeting().u64();
        answers.u16() & READ_ONLY
    };
    assert_eq!([true, false].map(told), [READ_ONLY, 0]);
}

#[test]
fn a_connection_is_encrypted_once() {
    let script = flags().option(STARTTLS, b"");
    let (_, step, mut answers) = script.say_to_session(&[export("disk")], Encryption::Done);
    assert_eq!(answers.greeting().option().kind, INVALID);
    assert!(matches!(step, Step::Needs(_)), "{step:?}");
}
