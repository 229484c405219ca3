//! Hand-made files, pipes, compressed data and archives, intact and damaged.

use super::*;
use crate::input::compression::tests::{COMPRESSORS, Compress, gzip, xz, zstd};

const TEXT: &[u8] = b"one\ntwo\n";

fn spooled(bytes: &[u8]) -> Result<StoredTrace> {
    StoredTrace::spool("test", bytes)
}

/// Names and first bytes of all parts.
fn parts(input: &StoredTrace) -> Vec<(String, String)> {
    let text = |part: &StoredTrace| String::from_utf8(part.head(100).unwrap()).unwrap();
    input.parts().map(|part| (part.name().to_owned(), text(part))).collect()
}

#[test]
fn compression_is_recognised_by_content_at_every_reading() {
    let plain: Compress = |bytes| bytes.to_vec();
    for (name, compress) in COMPRESSORS.into_iter().chain([("plain", plain)]) {
        let input = spooled(&compress(TEXT)).unwrap();
        for _ in 0..2 {
            assert_eq!(input.head(100).unwrap(), TEXT, "{name}");
        }
        assert_eq!(input.head(5).unwrap(), b"one\nt");
    }
}

#[test]
fn truncated_data_are_reported() {
    for (name, compress) in COMPRESSORS {
        let bytes = compress(TEXT);
        let message = spooled(&bytes[..bytes.len() - 3]).unwrap().head(100).unwrap_err();
        let expected = format!("its {name} data are truncated");
        assert!(message.to_string().contains(&expected), "{message}");
    }
}

#[test]
fn garbage_after_a_magic_number_is_an_error() {
    for magic in [&b"\x1f\x8b"[..], b"\x28\xb5\x2f\xfd", b"\xfd7zXZ\0"] {
        let bytes = [magic, &[0xee; 100]].concat();
        assert!(spooled(&bytes).unwrap().head(100).is_err());
    }
}

/// The files are read one after the other, and the digest is that of their bytes in this order.
#[test]
fn a_folder_is_read_like_an_archive() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("2.gz"), gzip(b"two")).unwrap();
    std::fs::write(at("1"), "one").unwrap();
    std::fs::write(at("3"), "").unwrap();
    let input = StoredTrace::open(folder.path().to_str().unwrap()).unwrap();
    let texts: Vec<_> = parts(&input).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["one", "two"]);
    assert!(parts(&input)[0].0.ends_with("/1") && !input.is_member());
    let together = [b"one".to_vec(), gzip(b"two")].concat();
    let digest = Sha256::digest(&together);
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(input.sha256().unwrap(), digest);
    assert_eq!(input.size_bytes(), together.len() as u64);
    std::fs::write(at("set.tar"), tar_with(tar::EntryType::Regular)).unwrap();
    let error = StoredTrace::open(folder.path().to_str().unwrap()).unwrap_err().to_string();
    assert!(error.contains("set.tar` is an archive in a folder"), "{error}");
}

#[test]
fn errors_say_why_a_trace_cannot_be_opened() {
    let message = |path: &str| StoredTrace::open(path).unwrap_err().to_string();
    assert!(message("/nowhere/at/all").starts_with("cannot open trace `/nowhere/at/all`: No"));
    let empty = tempfile::tempdir().unwrap();
    let message_of_empty = message(empty.path().to_str().unwrap());
    assert!(message_of_empty.starts_with("no file in the folder of `/"), "{message_of_empty}");
    assert_eq!(spooled(b"").unwrap_err().to_string(), "trace `test` is empty");
    let nothing = spooled(&gzip(b"")).unwrap().head(10).unwrap_err();
    assert_eq!(nothing.to_string(), "trace `test` is empty");
    let packed = spooled(b"BZh9abc").unwrap_err().to_string();
    assert!(packed.contains("compressed with bzip2"), "{packed}");
}

#[test]
fn files_of_all_cpus_are_one_trace_and_empty_ones_are_ignored() {
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
    for (name, byte) in [("x.blktrace.10", b'k'), ("x.blktrace.2", b'b'), ("x.blktrace.0", b'a')] {
        std::fs::write(at(name), [byte; 3]).unwrap();
    }
    for cpu in [1, 11] {
        std::fs::write(at(&format!("x.blktrace.{cpu}")), b"").unwrap();
    }
    for name in ["x", "x.blktrace", "x.blktrace.10", "x.blktrace.1"] {
        let input = StoredTrace::open(&at(name)).unwrap();
        let samples: Vec<_> = input.parts().map(|part| part.head(9).unwrap()).collect();
        assert_eq!(samples, [b"aaa", b"bbb", b"kkk"]);
        assert_eq!((input.size_bytes(), input.name()), (9, at(name).as_str()));
    }
    std::fs::write(at("y.blktrace.0"), b"").unwrap();
    let message = StoredTrace::open(&at("y")).unwrap_err().to_string();
    assert_eq!(message, format!("trace `{}` is empty", at("y")));
}

#[test]
fn the_checksum_is_of_the_stored_bytes() {
    let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(spooled(b"abc").unwrap().sha256().unwrap(), expected);
    let directory = tempfile::tempdir().unwrap();
    for (cpu, text) in ["a", "bc"].into_iter().enumerate() {
        std::fs::write(directory.path().join(format!("x.blktrace.{cpu}")), text).unwrap();
    }
    let together = StoredTrace::open(directory.path().join("x").to_str().unwrap()).unwrap();
    assert_eq!(together.sha256().unwrap(), expected);
}

// ---- archives ---------------------------------------------------------------------------------

/// An archive of these files, in this order.
fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        builder.append_data(&mut header, name, *bytes).unwrap();
    }
    builder.into_inner().unwrap()
}

/// An archive with a member of another kind between two files.
fn tar_with(kind: tar::EntryType) -> Vec<u8> {
    let mut builder = tar::Builder::new(Vec::new());
    for (name, kind) in
        [("a", tar::EntryType::Regular), ("b", kind), ("c", tar::EntryType::Regular)]
    {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(kind);
        header.set_size(if kind.is_file() { 2 } else { 0 });
        let bytes = if kind.is_file() { name.repeat(2) } else { String::new() };
        builder.append_data(&mut header, name, bytes.as_bytes()).unwrap();
    }
    builder.into_inner().unwrap()
}

fn refused(bytes: &[u8]) -> String {
    spooled(bytes).unwrap_err().to_string()
}

/// The same bytes, plain and with every compression, in a file and in memory.
fn in_every_storage(bytes: &[u8]) -> Vec<StoredTrace> {
    let packed = COMPRESSORS.iter().map(|(_, compress)| compress(bytes)).chain([bytes.to_vec()]);
    packed
        .flat_map(|bytes| {
            [spooled(&bytes).unwrap(), StoredTrace::of_bytes("test", &bytes).unwrap()]
        })
        .collect()
}

#[test]
fn members_are_parts_in_the_order_of_their_names() {
    let long = format!("d/{}", "x".repeat(150));
    let members: [(&str, &[u8]); 6] = [
        ("b", b"3"),
        ("./a/2", &gzip(b"two")),
        ("empty", b""),
        (&long, b"long"),
        ("a/10", &xz(b"ten")),
        ("c", &zstd(&vec![b'c'; 70_000])),
    ];
    for input in in_every_storage(&tar(&members)) {
        let found = parts(&input);
        let names: Vec<_> = found.iter().map(|(name, _)| name.as_str()).collect();
        let last = format!("test/{long}");
        assert_eq!(names, ["test/a/10", "test/a/2", "test/b", "test/c", last.as_str()]);
        let texts: Vec<_> = found.iter().map(|(_, text)| &text[..text.len().min(4)]).collect();
        assert_eq!(texts, ["ten", "two", "3", "cccc", "long"]);
        assert!(input.parts().all(StoredTrace::is_member));
    }
}

#[test]
fn of_members_with_the_same_name_the_last_is_read() {
    let input = spooled(&tar(&[("x", b"old"), ("y", b"y"), ("x", b"new")])).unwrap();
    let texts: Vec<_> = parts(&input).into_iter().map(|(_, text)| text).collect();
    assert_eq!(texts, ["new", "y"]);
}

#[test]
fn a_path_into_an_archive_selects_members() {
    let members: [(&str, &[u8]); 4] =
        [("README", b"read me"), ("set/2.csv", b"2"), ("set/1.csv", b"1"), ("set/sizes", b"s")];
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("set.tar");
    for bytes in [tar(&members), zstd(&tar(&members))] {
        std::fs::write(&path, bytes).unwrap();
        let chosen = |pattern: &str| {
            let input = StoredTrace::open(&format!("{}/{pattern}", path.display()))?;
            Ok(parts(&input).into_iter().map(|(_, text)| text).collect::<String>())
        };
        let cases = [
            ("set/*.csv", "12"),
            ("set", "12s"),
            ("set/", "12s"),
            ("*", "read me12s"),
            ("*2*", "2"),
            ("set/2.csv", "2"),
            ("README", "read me"),
            ("s*s*", "12s"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(chosen(pattern).unwrap(), expected, "{pattern}");
        }
        let message = |pattern: &str| {
            let chosen: Result<String> = chosen(pattern);
            chosen.unwrap_err().to_string()
        };
        let expected = "no member matches `*.txt`; it has 4 members: README, set/2.csv, set/1.csv";
        assert!(message("*.txt").contains(expected), "{}", message("*.txt"));
        assert!(message("se").contains("no member matches `se`"));
    }
    std::fs::write(&path, b"text").unwrap();
    let message = StoredTrace::open(&format!("{}/x", path.display())).unwrap_err().to_string();
    assert!(message.contains("it is not an archive, so `x` does not exist in it"), "{message}");
}

#[test]
fn members_that_are_not_files_are_refused() {
    for kind in [tar::EntryType::Directory, tar::EntryType::XGlobalHeader] {
        assert_eq!(spooled(&tar_with(kind)).unwrap().parts().count(), 2, "{kind:?}");
    }
    let cases = [
        (tar::EntryType::Symlink, "member `b` is a link; name the members that are the trace"),
        (tar::EntryType::Link, "member `b` is a link"),
        (tar::EntryType::Fifo, "member `b` is not a file"),
    ];
    for (kind, what) in cases {
        let message = refused(&tar_with(kind));
        assert!(message.starts_with(&format!("archive `test`: {what}")), "{message}");
    }
}

#[test]
fn sparse_members_are_refused() {
    let mut builder = tar::Builder::new(Vec::new());
    builder.append_pax_extensions([("GNU.sparse.major", &b"1"[..])]).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_size(2);
    builder.append_data(&mut header, "holes", &b"xy"[..]).unwrap();
    let message = refused(&builder.into_inner().unwrap());
    assert!(message.contains("member `holes` is stored without its holes"), "{message}");
}

#[test]
fn archives_without_a_trace_are_refused() {
    let mut directories = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    directories.append_data(&mut header, "d", io::empty()).unwrap();
    for bytes in [directories.into_inner().unwrap(), tar(&[("a", b""), ("b", b"")])] {
        let message = refused(&bytes);
        assert_eq!(message, "archive `test`: it has no member that is not empty");
    }
    let inner = gzip(&tar(&[("a", b"x")]));
    let message = refused(&tar(&[("in.tgz", &inner), ("out", b"x")]));
    assert_eq!(message, "archive `test`: member `in.tgz` is an archive; extract it first");
}

#[test]
fn data_after_the_end_of_an_archive_are_refused() {
    let one = tar(&[("a", b"x")]);
    let both = [one.clone(), one.clone()].concat();
    for bytes in [both.clone(), gzip(&both), xz(&both)] {
        let message = refused(&bytes);
        assert!(message.starts_with("archive `test`: more data follow after its end"), "{message}");
    }
    let padded = [one, vec![0; 20_000]].concat();
    assert_eq!(spooled(&padded).unwrap().parts().count(), 1);
}

#[test]
fn control_characters_in_names_are_replaced() {
    let input = spooled(&tar(&[("a\u{1b}[2Jb", b"x")])).unwrap();
    assert_eq!(input.part(0).unwrap().name(), "test/a\u{fffd}[2Jb");
}

#[test]
fn truncated_and_damaged_archives_are_refused() {
    let whole = tar(&[("a", &[b'a'; 3000]), ("b", &[b'b'; 2000])]);
    for cut in [600, 3000, 4000, 4608 + 100, 6000] {
        let message = refused(&whole[..cut]);
        assert!(message.starts_with("archive `test`: it is "), "{cut}: {message}");
        assert!(message.contains("truncated"), "{cut}: {message}");
        assert!(StoredTrace::of_bytes("test", &whole[..cut]).is_err());
    }
    for (name, compress) in COMPRESSORS {
        let packed = compress(&whole);
        for cut in [packed.len() / 2, packed.len() - 1] {
            let read = spooled(&packed[..cut]).and_then(|input| input.head(100));
            let message = read.unwrap_err().to_string();
            assert!(message.contains("truncated"), "{name} {cut}: {message}");
        }
    }
    let mut damaged = whole.clone();
    damaged[3584 + 10] ^= 1;
    assert!(refused(&damaged).contains("checksum"), "{}", refused(&damaged));
}
