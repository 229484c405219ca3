"""Trace readers: archives, compression, names, clocks."""

PACKAGES = ["ftlab-trace"]

BL = "crates/trace/src/parse/block_layer.rs"
A = "crates/trace/src/input/archive.rs"
I = "crates/trace/src/input/stored_trace.rs"
N = "crates/trace/src/input/resolve_path.rs"
P = "crates/trace/src/input/compression.rs"
L = "crates/trace/src/parse/parser.rs"
T = "crates/trace/src/parse/normalize.rs"
B = "crates/trace/src/parse/formats/tracers/blktrace.rs"
PLACE = "crates/trace/src/input/storage.rs"
W = "crates/trace/src/input/sliding_window.rs"
K = "crates/trace/src/input/part_cursor.rs"
O = "crates/trace/src/parse/formats/simulators/oracle_general_opns.rs"
G = "crates/trace/src/detection.rs"
WRITER = "crates/trace/src/writer/mod.rs"
SORT = "crates/trace/src/sort.rs"

MUTANTS = [
    ("sorted-devices-of-the-file", "sort: devices keep the numbers that they have before sorting", SORT,
     "out.push(Request { device, ..request });", "out.push(Request { device: device.max(request.device).min(request.device), ..request });"),
    ("sorted-devices-all-named", "sort: devices without a request that was delivered are named", SORT,
     "matches!(&self.state, State::Merging(merge) if merge.order.is_empty())", "true"),
    ("flush-gets-preflush", "csv, blkparse: each flush is written with a preflush", WRITER,
     "Op::Flush if is_plain => 'F',", "Op::Flush if is_plain => 'W',"),
    ("fio-times-untold", "fio: times between microseconds are cut without a word", WRITER,
     "u64::from(!request.time_ns.is_multiple_of(1_000))", "0"),
    ("fio-flush-loses-flags", "fio: each flush counts as one that loses a flag", WRITER,
     "if request.op == Op::Flush { Flags::PREFLUSH } else { Flags::empty() };", "Flags::empty();"),
    ("archive-order", "archives: members are read in the order of the archive", A,
     "members.sort_by(|one, other| one.name.cmp(&other.name));",
     "members.reverse();"),
    ("first-name-wins", "archives: of two members with one name, the first is read", A,
     "    members.reverse();\n", ""),
    ("header-once", "archives: a header is recognised in the first member only", L,
     "self.parser = self.fresh.clone();", ""),
    ("line-numbers-run-on", "archives: line numbers continue from member to member", L,
     "self.number = 0;", ""),
    ("clock-not-rewound", "archives: times of fio and ETW are taken as absolute", T,
     "        if own_clock {\n            (self.clock", "        if own_clock && self.clock.raw {\n            (self.clock"),
    ("archive-not-drained", "archives: a compressed archive that is cut off after its members is accepted", A,
     "fn check_end(name: &str, members: usize, mut rest: impl Read) -> Result<()> {",
     "fn check_end(name: &str, members: usize, rest: impl Read) -> Result<()> {\n    let mut rest = rest.take(0);"),
    ("cut-member-passes", "archives: an uncompressed archive that is cut off in a member is accepted", I,
     "member.start + member.bytes <= self.size_bytes", "member.start <= self.size_bytes"),
    ("sparse-as-it-lies", "archives: a sparse member is read without its holes", A,
     'extension.key_bytes().starts_with(b"GNU.sparse.")',
     'extension.key_bytes().starts_with(b"SCHILY.sparse.")'),
    ("links-passed-over", "archives: links are skipped silently", A,
     "EntryType::Directory | EntryType::XGlobalHeader",
     "EntryType::Directory | EntryType::XGlobalHeader | EntryType::Symlink | EntryType::Link"),
    ("map-from-the-archive", "archives: a window starts at the beginning of the archive instead of the member", W,
     "read_exact_at(&mut space[..wanted as usize], self.start + self.read);",
     "read_exact_at(&mut space[..wanted as usize], self.start * u64::from(start == 0) + self.read);"),
    ("formats-mixed", "archives: members of different formats are read as the format of the first", G,
     "Some((first, known)) if *known != reading => {",
     "Some((first, known)) if known.spec.name > reading.spec.name => {"),
    ("cpus-of-two-traces", "archives: files of two blktrace traces are merged", B,
     "common_of_cpus(names.iter().copied()).is_some()", "common_of_cpus(names.iter().copied()) != Some(\"\")"),
    ("empty-cpu-fails", "blktrace: a CPU without events makes the trace empty", I,
     "files.filter(|file| !matches!(file, Err(Error::Empty { .. })))", "files.filter(|_| true)"),
    ("one-xz-stream", "xz: data after the first stream is skipped", P,
     "XzReader::new_mem_limit(stored, true, XZ_MEMORY_MAX_KIB)",
     "XzReader::new_mem_limit(stored, false, XZ_MEMORY_MAX_KIB)"),
    ("appends-left-out", "oracleGeneralOpNS: append and prepend are skipped", O,
     "3..=8 | 10 | 11", "3..=6 | 10 | 11"),
    ("records-cut-off", "archives: a record cut off at the end of a member is accepted", L,
     "record if record.len() < bytes =>", "record if record.is_empty() =>"),
    ("lost-share-of-kept", "lost events: their share is that of the events that were kept", BL,
     "100.0 * lost as f64 / (lost as f64 + kept as f64)", "100.0 * lost as f64 / kept as f64"),
    ("heading-unheard", "detection: a format contradicts the names of a heading", G,
     "matching.retain(|one| !contradicts(&head, &one.spec, &headed));", "let _ = &headed;"),
    ("heading-units-unheard", "detection: a reading contradicts the units of a heading", G,
     "kind != read_kind || !unit.is_empty() && unit != read_unit", "kind != read_kind"),
    ("heading-rivals-unheard", "detection: other units are proposed although a heading states them", G,
     "    let rivals = rivals.filter(|spec| !contradicts(head, spec, headed));\n", "    let _ = headed;\n"),
]
