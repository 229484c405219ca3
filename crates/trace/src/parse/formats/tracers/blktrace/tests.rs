//! Hand-made records in both byte orders, intact and damaged.

use super::*;
use crate::reader::Skipped;
use proptest::prelude::*;

const READ: u32 = 1;

struct Raw {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    payload: &'static [u8],
}

fn raw(raw: &Raw, big: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut put = |le: &[u8]| {
        let mut word = le.to_vec();
        if big {
            word.reverse();
        }
        bytes.extend(word);
    };
    put(&(MAGIC | VERSION).to_le_bytes());
    put(&1u32.to_le_bytes());
    put(&raw.time_ns.to_le_bytes());
    put(&raw.sector.to_le_bytes());
    put(&raw.bytes.to_le_bytes());
    put(&raw.action.to_le_bytes());
    put(&99u32.to_le_bytes());
    put(&(8u32 << 20 | 16).to_le_bytes());
    put(&0u32.to_le_bytes());
    put(&0u16.to_le_bytes());
    put(&(raw.payload.len() as u16).to_le_bytes());
    bytes.extend_from_slice(raw.payload);
    bytes
}

/// A process name, a write with cgroup (queued, then issued), a flush, a discard, a passthrough
/// command, a read.
fn sample(big: bool) -> Vec<u8> {
    let all = [
        Raw { time_ns: 0, sector: 0, bytes: 0, action: NOTIFY << 16, payload: b"kworker\0" },
        Raw {
            time_ns: 1000,
            sector: 8,
            bytes: 4096,
            action: (WRITE | FLUSH | SYNC | FUA | 0x10) << 16 | 0x101,
            payload: b"cgroupid",
        },
        Raw {
            time_ns: 2000,
            sector: 8,
            bytes: 4096,
            action: (WRITE | 0x40) << 16 | 7,
            payload: b"",
        },
        Raw { time_ns: 3000, sector: 0, bytes: 0, action: (WRITE | FLUSH) << 16 | 1, payload: b"" },
        Raw {
            time_ns: 4000,
            sector: 16,
            bytes: 8192,
            action: (DISCARD | WRITE) << 16 | 1,
            payload: b"",
        },
        Raw {
            time_ns: 5000,
            sector: 0,
            bytes: 36,
            action: (PASSTHROUGH | READ) << 16 | 1,
            payload: b"",
        },
        Raw { time_ns: 4500, sector: 1, bytes: 512, action: (READ | META) << 16 | 1, payload: b"" },
    ];
    all.iter().flat_map(|record| raw(record, big)).collect()
}

fn read(
    bytes: &[u8],
    action: Option<u8>,
    skip_bad: bool,
) -> std::result::Result<(Vec<Request>, Skipped), String> {
    let say = |error: Error| error.to_string();
    let input = Arc::new(StoredTrace::of_bytes("t", bytes).map_err(say)?);
    let chosen = || action_to_replay(&input).map_err(say);
    let replayed = action.map(Replayed::given).map_or_else(chosen, Ok)?;
    let mode = ReadMode { skip_bad, raw_times: false };
    let mut reader = Blktrace { replayed }.reader(&input, mode).map_err(say)?;
    let mut requests = Vec::new();
    while reader.next_batch(&mut requests, 3).map_err(say)? > 0 {}
    Ok((requests, reader.report().skipped))
}

#[test]
fn events_in_either_byte_order() {
    for big in [false, true] {
        let bytes = sample(big);
        assert_eq!(detect(&TraceHead::new(&bytes)), Likeness::Header);
        let (requests, _) = read(&bytes, None, false).unwrap();
        assert_eq!((requests.len(), requests[0].bytes), (1, 4096), "the file has events D");
        let (requests, skipped) = read(&bytes, Some(b'Q'), false).unwrap();
        let ops: Vec<_> = requests.iter().map(|request| request.op).collect();
        assert_eq!(ops, [Op::Write, Op::Flush, Op::Trim, Op::Read]);
        let flags = Flags::PREFLUSH | Flags::SYNC | Flags::FUA;
        assert_eq!((requests[0].flags, requests[0].offset), (flags, 4096));
        assert_eq!((requests[2].bytes, requests[2].time_ns), (8192, 3000));
        assert_eq!(skipped.get("passthrough"), 1);
        assert_eq!((skipped.other_lines, skipped.backward_times), (2, 0));
    }
}

#[test]
fn errors_name_the_damage() {
    let bytes = sample(false);
    let message = |bytes: &[u8]| read(bytes, Some(b'Q'), false).unwrap_err();
    assert!(message(&bytes[..50]).starts_with("t: record 1: the file ends within"));
    assert!(message(&bytes[..60]).starts_with("t: record 2: the file ends within"));
    let (requests, skipped) = read(&bytes[..60], Some(b'Q'), true).unwrap();
    assert_eq!((requests.len(), skipped.get("malformed")), (0, 1));
    let mut other = bytes.clone();
    other[56] = 8;
    assert!(message(&other).contains("record 2: it is not in version 7"));
    other[57] = 0;
    assert!(message(&other).contains("record 2: it does not begin with the magic number"));
    assert!(read(&other, Some(b'Q'), true).is_err(), "the next record cannot be found");
}

proptest! {
    #[test]
    fn damaged_bytes_are_survived(at in 0usize..400, byte: u8, length in 1usize..420) {
        let mut bytes = sample(false);
        let at = at % bytes.len();
        bytes[at] = byte;
        bytes.truncate(length);
        let _ = read(&bytes, None, false);
        let _ = read(&bytes, Some(b'Q'), true);
    }
}

/// A file of issued reads with these sequence numbers, one behind a note, which has none.
fn numbered(numbers: &[u32], big: bool) -> Vec<u8> {
    let read = Raw { time_ns: 5, sector: 8, bytes: 512, action: READ << 16 | 7, payload: b"" };
    let note = Raw { time_ns: 0, sector: 0, bytes: 0, action: NOTIFY << 16, payload: b"x" };
    let mut bytes = raw(&note, big);
    for number in numbers {
        let mut record = raw(&read, big);
        let number = if big { number.to_be_bytes() } else { number.to_le_bytes() };
        record[4..8].copy_from_slice(&number);
        bytes.extend(record);
    }
    bytes
}

#[test]
fn gaps_in_sequence_numbers_are_lost_events() {
    let notes = |numbers: &[u32], big: bool| {
        let input = Arc::new(StoredTrace::of_bytes("t", &numbered(numbers, big)).unwrap());
        let mode = ReadMode { skip_bad: false, raw_times: false };
        let mut reader = Blktrace { replayed: Replayed::given(b'D') }.reader(&input, mode).unwrap();
        while reader.next_batch(&mut Vec::new(), 9).unwrap() > 0 {}
        reader.report().notes
    };
    for big in [false, true] {
        assert_eq!(notes(&[1, 2, 4, 3, 5], big).len(), 1, "not in order, but complete");
        let lost = notes(&[1, 90, 401], big);
        assert!(lost[1].starts_with("398 events (99.3 %) were lost"), "{lost:?}");
        let lost = notes(&[7, 8, 10], big);
        assert!(lost[1].starts_with("1 event (25.0 %) was lost"), "{lost:?}");
        assert_eq!(notes(&[7, u32::MAX], big).len(), 2);
        let damaged = notes(&[7, u32::MAX, 0, u32::MAX], big);
        assert!(damaged[1].starts_with("8589934581 events were lost"), "{damaged:?}");
    }
}
