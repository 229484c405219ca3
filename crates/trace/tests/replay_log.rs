//! Logs of writes, replayed by a program in another language that was written from the layout.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::process::{Command, Stdio};

use trace::log_writes::order::LogOrder;
use trace::log_writes::writer::LogWriter;

/// Replays a log onto zeroes up to a mark: `LOG DISK SECTORS MARK`. Prints the number of entries.
const REPLAY: &str = r#"
import struct, sys

log, disk, sectors, mark = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4].encode()
data = bytearray(sectors * 512)
with open(log, "rb") as log:
    magic, version, entries, unit = struct.unpack("<QQQI", log.read(28))
    assert (magic, version, unit) == (0x6a736677736872, 1, 512), (magic, version, unit)
    log.seek(unit)
    for number in range(entries):
        head = log.read(unit)
        first, count, flags, length = struct.unpack("<QQQQ", head[:32])
        if flags & 8:
            name = head[32 : 32 + length]
            assert head[32 + length] == 0, "a name ends with a zero"
            if name == mark:
                break
        elif flags & 4:
            data[first * 512 : (first + count) * 512] = bytes(count * 512)
        elif count:
            data[first * 512 : (first + count) * 512] = log.read(count * 512)
    else:
        sys.exit("no such mark")
with open(disk, "wb") as out:
    out.write(data)
print(entries)
"#;

const SECTORS: usize = 200;

#[test]
fn another_program_replays_a_log_up_to_its_marks() {
    if Command::new("python3").arg("--version").stdout(Stdio::null()).status().is_err() {
        return eprintln!("skipped: there is no python3 here");
    }
    let folder = tempfile::tempdir().unwrap();
    let (log, disk) = (folder.path().join("log"), folder.path().join("disk"));
    let expected = write_log(BufWriter::new(File::create(&log).unwrap()));
    for (mark, durable) in expected.iter().enumerate().step_by(9) {
        let mut python = Command::new("python3");
        python.args(["-c", REPLAY]).args([&log, &disk]);
        let done = python.args([SECTORS.to_string(), format!("m{mark}")]).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let found = std::fs::read(&disk).unwrap();
        assert!(found == *durable, "the disk differs at mark {mark}");
    }
}

/// Writes the log of a disk with random requests. Returns what was durable at each mark.
fn write_log(out: impl Write + std::io::Seek) -> Vec<Vec<u8>> {
    let mut writer = LogWriter::new(out).unwrap();
    let mut order = LogOrder::new();
    let (mut now, mut durable) = (vec![0; SECTORS * 512], vec![0; SECTORS * 512]);
    let (mut random, mut at_marks) = (1_u64, Vec::new());
    let mut below = |bound: u64| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        ((random >> 11) % bound) as usize
    };
    for number in 0..600 {
        let (first, sectors) = (below(SECTORS as u64 - 16), 1 + below(16));
        let (range, bytes) =
            (first * 512..(first + sectors) * 512, vec![number as u8; sectors * 512]);
        match below(12) {
            0 => {
                let flush = order.flush_issued();
                order.flush_completed(flush);
                durable.clone_from(&now);
            }
            1 => {
                order.mark(&format!("m{}", at_marks.len()));
                at_marks.push(durable.clone());
            }
            2 => {
                order.completed_discard(first as u64..(first + sectors) as u64);
                now[range].fill(0);
            }
            3 | 4 => {
                now[range.clone()].copy_from_slice(&bytes);
                durable[range].copy_from_slice(&bytes);
                order.completed_write(first as u64, bytes, true);
            }
            _ => {
                now[range].copy_from_slice(&bytes);
                order.completed_write(first as u64, bytes, false);
            }
        }
        while let Some(entry) = order.next_entry() {
            writer.append(&entry).unwrap();
        }
    }
    writer.finish().unwrap();
    assert!(at_marks.len() > 20, "{} marks", at_marks.len());
    at_marks
}
