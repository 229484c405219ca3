"""The readers: archives, packings, names, clocks."""

PACKAGES = ["ftlab-trace"]

A = "crates/trace/src/input/archive.rs"
I = "crates/trace/src/input/stored_trace.rs"
N = "crates/trace/src/input/resolve_path.rs"
P = "crates/trace/src/input/packing.rs"
L = "crates/trace/src/parse/text/lines.rs"
R = "crates/trace/src/parse/records.rs"
T = "crates/trace/src/parse/normalize.rs"
B = "crates/trace/src/parse/formats/tracers/blktrace.rs"
PLACE = "crates/trace/src/input/storage.rs"
W = "crates/trace/src/input/sliding_window.rs"
K = "crates/trace/src/input/part_cursor.rs"
O = "crates/trace/src/parse/formats/simulators/oracle_general.rs"
G = "crates/trace/src/registry.rs"

MUTANTS = [
    ("archive-order", "archives: members in the order of the archive", A,
     "members.sort_by(|one, other| one.name.cmp(&other.name));",
     "members.reverse();"),
    ("first-name-wins", "archives: of equal names the first counts", A,
     "    members.reverse();\n", ""),
    ("header-once", "archives: a heading is one in the first member only", L,
     "self.parser = self.fresh.clone();", ""),
    ("line-numbers-run-on", "archives: line numbers go on from member to member", L,
     "self.line_number = 0;", ""),
    ("clock-not-rewound", "archives: times of fio and ETW are taken for the world's", T,
     "self.clock.rewound |= own_clock;", "self.clock.rewound |= own_clock && self.clock.raw;"),
    ("archive-not-drained", "archives: a packed one cut off behind its members passes", A,
     "fn ends(name: &str, members: usize, mut rest: impl Read) -> Result<()> {",
     "fn ends(name: &str, members: usize, rest: impl Read) -> Result<()> {\n    let mut rest = rest.take(0);"),
    ("cut-member-passes", "archives: a plain one cut off in a member passes", I,
     "member.start + member.bytes <= self.size_bytes", "member.start <= self.size_bytes"),
    ("sparse-as-it-lies", "archives: a sparse member is read without its holes", A,
     'extension.key_bytes().starts_with(b"GNU.sparse.")',
     'extension.key_bytes().starts_with(b"SCHILY.sparse.")'),
    ("links-passed-over", "archives: links are left out silently", A,
     "EntryType::Directory | EntryType::XGlobalHeader",
     "EntryType::Directory | EntryType::XGlobalHeader | EntryType::Symlink | EntryType::Link"),
    ("map-from-the-archive", "archives: a window slides from the archive's beginning", W,
     "*map = map_part(file, *before + *map_offset, rest)?;",
     "*map = map_part(file, *before * u64::from(start == 0) + *map_offset, rest)?;"),
    ("formats-mixed", "archives: members of different formats are read as the first", G,
     "Some((first, known)) if known.name != format.name => {",
     "Some((first, known)) if known.name > format.name => {"),
    ("cpus-of-two-traces", "archives: files of two blktraces are merged", B,
     "common_of_cpus(names.iter().copied()).is_some()", "common_of_cpus(names.iter().copied()) != Some(\"\")"),
    ("empty-cpu-fails", "blktrace: a CPU without events makes the trace empty", I,
     "files.filter(|file| !matches!(file, Err(Error::Empty { .. })))", "files.filter(|_| true)"),
    ("one-xz-stream", "xz: what follows the first stream is left out", P,
     "XzReader::new_mem_limit(stored, true, XZ_MEMORY_MAX_KIB)",
     "XzReader::new_mem_limit(stored, false, XZ_MEMORY_MAX_KIB)"),
    ("appends-left-out", "oracleGeneralOpNS: append and prepend are left out", O,
     "3..=8 | 10 | 11", "3..=6 | 10 | 11"),
    ("records-cut-off", "archives: a record cut off at a member's end passes", R,
     "if range.len() < self.parser.bytes() {", "if range.is_empty() {"),
]
