use std::fmt::Write;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use proptest::prelude::*;
use sha2::{Digest, Sha256};

use crate::reader::Skipped;
use crate::replay::{ReadOptions, Replay, Trace};
use crate::request::{Flags, Op, Request};
use crate::table::builder::{ColumnBlock, TableBuilder};
use crate::table::request_store::{RequestStore, SpillFile, StoreBuilder};
use crate::table::request_table::{CHUNK, RequestTable};

/// A row: time, operation, offset, bytes, device, flags.
type Row = (u64, u8, u64, u64, u64, u8);

fn build(rows: &[Row], block: usize) -> crate::Result<RequestTable> {
    let mut builder = TableBuilder::new("t");
    for rows in rows.chunks(block) {
        builder.extend(&ColumnBlock {
            time_ns: &rows.iter().map(|row| row.0).collect::<Vec<_>>(),
            op: &rows.iter().map(|row| row.1.into()).collect::<Vec<_>>(),
            offset: &rows.iter().map(|row| row.2).collect::<Vec<_>>(),
            bytes: &rows.iter().map(|row| row.3).collect::<Vec<_>>(),
            device: &rows.iter().map(|row| row.4).collect::<Vec<_>>(),
            flags: &rows.iter().map(|row| row.5.into()).collect::<Vec<_>>(),
        })?;
    }
    Ok(builder.finish())
}

fn table(rows: &[Row]) -> Arc<RequestTable> {
    Arc::new(build(rows, 7).unwrap())
}

/// The same rows as text.
fn csv(rows: &[Row]) -> String {
    let mut text = String::from("time_ns,device,rwbs,offset,bytes\n");
    for (time_ns, op, offset, bytes, device, _) in rows {
        let rwbs = ["R", "W", "D", "FW"][usize::from(*op)];
        writeln!(text, "{time_ns},{device},{rwbs},{offset},{bytes}").unwrap();
    }
    text
}

/// The requests of a trace, of which `in_memory` are kept in memory at most.
fn store(trace: &Trace, in_memory: usize) -> Arc<RequestStore> {
    let (mut replay, mut builder) = (trace.replay().unwrap(), StoreBuilder::default());
    let mut requests = Vec::new();
    while replay.next_batch(&mut requests, 5).unwrap() > 0 {}
    for (index, request) in requests.iter().enumerate() {
        if index == in_memory {
            builder.spill_to(&SpillFile::create().unwrap());
        }
        builder.push(request).unwrap();
    }
    let store = replay.finish_store(trace.name(), builder).unwrap();
    assert_eq!(store.requests(), requests.len() as u64);
    assert_eq!(store.spilt_bytes() == 0, requests.len() <= in_memory);
    Arc::new(store)
}

/// All requests of a trace, read a few at a time, and what was skipped.
fn read(trace: &Trace, limit: Option<u64>, sort: bool) -> (Vec<Request>, Skipped) {
    read_replay(trace.replay().unwrap(), limit, sort)
}

fn read_replay(mut replay: Replay, limit: Option<u64>, sort: bool) -> (Vec<Request>, Skipped) {
    let mut requests = Vec::new();
    while replay.next_batch(&mut requests, 3).unwrap() > 0 {}
    assert_eq!(replay.next_batch(&mut requests, 3).unwrap(), 0, "the end is the end");
    assert!(limit.is_none_or(|limit| requests.len() as u64 <= limit));
    let is_sorted = replay.report().notes.contains(&"The requests are sorted by time.".to_owned());
    let has_times = requests.iter().any(|request| request.time_ns > 0);
    // With a limit, the times may differ only behind it.
    assert!(is_sorted == (sort && has_times) || is_sorted && sort && limit.is_some());
    let mut skipped = replay.report().skipped;
    // The heading of a file is no row.
    skipped.other_lines = 0;
    (requests, skipped)
}

fn rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (0u64..30, 0u8..4, 0u64..1000, 0u64..4, 0u64..3);
    let row = row.prop_map(|(time_ns, op, offset, bytes, device)| match op {
        3 => (time_ns, op, offset, 0, device * 5, 2),
        _ => (time_ns, op, offset, bytes * 512, device * 5, 0),
    });
    prop::collection::vec(row, 1..60)
}

proptest! {
    #[test]
    fn a_table_delivers_what_a_file_with_the_same_records_delivers(
        rows in rows(),
        limit in prop::option::of(1u64..40),
        sort: bool,
        unspilt in 0usize..70,
    ) {
        let format = Some(spec::Spec::plain("csv"));
        let options = ReadOptions { format, limit, ..ReadOptions::default() };
        let file = Trace::of_bytes("f", csv(&rows).as_bytes(), &options).unwrap().sorted(sort);
        let in_memory = Trace::of_table(&table(&rows)).with_limit(limit).sorted(sort);
        let expected = read(&file, limit, sort);
        prop_assert_eq!(read(&in_memory, limit, sort), expected.clone());
        // The requests of a replay, kept and read again.
        let kept = Arc::new(file.to_table(|_| crate::Result::Ok(())).unwrap());
        prop_assert_eq!(read(&Trace::of_table(&kept), limit, sort), expected.clone());
        let stored = store(&file, unspilt);
        // Reading it twice delivers the same twice.
        for _ in 0..2 {
            prop_assert_eq!(read_replay(Replay::of_store(&stored), limit, sort), expected.clone());
        }
    }
}

#[test]
fn rows_are_kept_as_they_were_given() {
    let rows: Vec<Row> = (0..CHUNK as u64 + 5)
        .map(|n| (7 * n % 1000, (n % 3) as u8, n, n % 5, 9 - n % 4, (n % 32) as u8))
        .collect();
    let table = build(&rows, 1000).unwrap();
    assert_eq!((table.rows(), table.memory_bytes()), (rows.len() as u64, 24 * rows.len() as u64));
    assert_eq!(table.report().devices, ["9", "8", "7", "6"]);
    let mut copied = Vec::new();
    while table.copy_rows(copied.len() as u64, &mut copied, 999) > 0 {}
    let given = rows.iter().map(|&(time_ns, op, offset, bytes, device, flags)| Request {
        time_ns,
        offset,
        bytes,
        device: 9 - device as u32,
        op: Op::of_code(op).unwrap(),
        flags: Flags::from_bits(flags).unwrap(),
        stream: 0,
    });
    assert!(copied.into_iter().eq(given));
}

#[test]
fn streams_are_kept_wherever_requests_are_kept() {
    // As many streams as possible, named by their numbers. Some writes and all reads have none.
    let (mut text, mut streams) =
        (String::from("time_ns,device,rwbs,offset,bytes,stream\n"), vec![]);
    for n in 0..200 {
        let op = if n > 100 && n % 3 == 0 { "R" } else { "W" };
        writeln!(text, "{n},0,{op},0,512,{}", n % 64).unwrap();
        streams.push(if op == "R" { 0 } else { n % 64 });
    }
    let trace = Trace::of_bytes("t", text.as_bytes(), &ReadOptions::default()).unwrap();
    let requests = trace.requests().unwrap();
    assert!(requests.iter().map(|request| request.stream).eq(streams));
    for in_memory in [1000, 150, 0] {
        let (mut replay, mut kept) = (Replay::of_store(&store(&trace, in_memory)), Vec::new());
        while replay.next_batch(&mut kept, 7).unwrap() > 0 {}
        assert_eq!(kept, requests);
    }
    let table = Arc::new(trace.to_table(|_| crate::Result::Ok(())).unwrap());
    let of_table = Trace::of_table(&table).sorted(true);
    assert_eq!(of_table.requests().unwrap(), requests);
    assert!(trace.has_streams().unwrap() && of_table.has_streams().unwrap());
    assert!(!Trace::of_table(&self::table(&[(0, 1, 0, 1, 0, 0)])).has_streams().unwrap());
}

#[test]
fn lengths_of_4_gib_and_more_are_kept() {
    let lengths = [1, u64::from(u32::MAX) - 1, u64::from(u32::MAX), 1 << 40, 3, u64::MAX - 4];
    let rows: Vec<Row> = lengths.iter().map(|&bytes| (0, 2, 4, bytes, 0, 0)).collect();
    let requests = Trace::of_table(&table(&rows)).requests().unwrap();
    assert!(requests.iter().map(|request| request.bytes).eq(lengths));
}

/// Requests around 4 GiB fill several chunks and pieces of a file, at whose ends some of them lie.
#[test]
fn a_store_keeps_requests_of_any_length_wherever_they_lie() {
    for first_long in 0..2 {
        let length = |n: u64| if n % 5 == first_long { u64::from(u32::MAX) + n % 2 } else { 1 + n };
        let rows: Vec<Row> = (0..CHUNK as u64 + 9)
            .map(|n| (n, (n % 3) as u8, 8 * n, length(n), n % 7, 31))
            .collect();
        let trace = Trace::of_table(&table(&rows));
        let expected = trace.requests().unwrap();
        for in_memory in [0, 1, CHUNK - 1, CHUNK, rows.len()] {
            let mut replay = Replay::of_store(&store(&trace, in_memory));
            let mut requests = Vec::new();
            while replay.next_batch(&mut requests, 999).unwrap() > 0 {}
            assert!(requests == expected, "{in_memory} in memory");
            assert_eq!(replay.position_bytes(), expected.len() as u64);
            assert_eq!(replay.report().devices, ["0", "1", "2", "3", "4", "5", "6"]);
        }
    }
}

#[test]
fn a_temporary_file_that_is_cut_short_or_changed_is_an_error() {
    let rows: Vec<Row> = (0..10).map(|n| (n, 1, 8 * n, 512, 0, 0)).collect();
    let trace = Trace::of_table(&table(&rows));
    let spilt = |damage: fn(&std::fs::File)| {
        let file = SpillFile::create().unwrap();
        let (mut replay, mut builder) = (trace.replay().unwrap(), StoreBuilder::default());
        builder.spill_to(&file);
        let mut requests = Vec::new();
        replay.next_batch(&mut requests, 99).unwrap();
        requests.iter().for_each(|request| builder.push(request).unwrap());
        let store = replay.finish_store("t", builder).unwrap();
        damage(file.file());
        let read = Replay::of_store(&Arc::new(store)).next_batch(&mut requests, 99);
        read.unwrap_err().to_string()
    };
    let cut = spilt(|file| file.set_len(100).unwrap());
    assert!(cut.starts_with("cannot read trace `t` again from a temporary file: "), "{cut}");
    let changed = spilt(|file| file.write_all_at(&[255; 24], 48).unwrap());
    assert!(changed.ends_with("it was changed by another program"), "{changed}");
}

#[test]
fn the_digest_is_that_of_the_documented_bytes() {
    let rows = [(5, 1, 1 << 40, 4096, 70, 1), (3, 2, 8, 1 << 32, 2, 0), (9, 3, 0, 0, 70, 2)];
    let mut bytes = Vec::new();
    for ((time_ns, op, offset, length, _, flags), device) in rows.iter().zip([0u16, 1, 0]) {
        bytes.extend(u64::to_le_bytes(*time_ns));
        bytes.extend(u64::to_le_bytes(*offset));
        bytes.extend(u32::try_from(*length).unwrap_or(u32::MAX).to_le_bytes());
        bytes.extend(device.to_le_bytes());
        bytes.extend([*op, *flags]);
    }
    bytes.extend([1u64, 1 << 32].map(u64::to_le_bytes).concat());
    let digest: String = Sha256::digest(&bytes).iter().map(|b| format!("{b:02x}")).collect();
    assert_eq!(table(&rows).sha256(), digest);
    assert_eq!(Trace::of_table(&table(&rows)).sha256().unwrap(), Some(digest.clone()));
    assert_ne!(table(&rows[..2]).sha256(), digest);
}

#[test]
fn a_row_that_is_no_request_is_refused_with_its_place() {
    let good: Row = (0, 1, 0, 512, 0, 0);
    for (bad, column, what) in [
        ((0, 4, 0, 512, 0, 0), "op", "4 is no operation; the codes are 0 read"),
        ((0, 1, 0, 512, 0, 40), "flags", "40 has bits without a meaning"),
        ((0, 3, 0, 512, 0, 0), "bytes", "a flush has no range, so it must be 0, not 512"),
        ((0, 0, u64::MAX, 512, 0, 0), "offset", "512 bytes at 18446744073709551615 ends beyond"),
    ] {
        let error = build(&[good, good, good, good, bad], 2).unwrap_err();
        assert!(error.is_usage());
        let message = error.to_string();
        let place = format!("t: column `{column}`, row 4 (counted from 0): ");
        assert!(message.starts_with(&place) && message.contains(what), "{message}");
    }
    let many: Vec<Row> = (0..65537).map(|device| (0, 1, 0, 512, device, 0)).collect();
    assert!(build(&many[..65536], 4096).is_ok());
    let message = build(&many, 4096).unwrap_err().to_string();
    assert!(message.contains("column `device`, row 65536 "), "{message}");
    assert!(message.contains("more than 65536 devices"), "{message}");
}

#[test]
fn a_table_without_rows_delivers_nothing() {
    let empty = Trace::of_table(&table(&[]));
    assert!(empty.requests().unwrap().is_empty());
    assert_eq!((empty.format(), empty.name(), empty.size_hint_bytes()), ("columns", "t", Some(0)));
}
