"""The scheme faster."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "faster"

FASTER = "crates/ftl/src/scheme/faster/mod.rs"
ISOLATION = "crates/ftl/src/scheme/faster/isolation_area.rs"
RANDOM = "crates/ftl/src/part/log/random_log.rs"
LOG_MAP = "crates/ftl/src/part/log/log_map.rs"
LOG_MOUNT = "crates/ftl/src/part/log/log_mount.rs"
ASSOCIATIVE = "crates/ftl/src/part/log/fully_associative.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("faster-mark-forgotten", "faster, mount: carried pages get another chance", FASTER,
     ".map_or(0, |last| last as u32 + 1);", ".map_or(0, |last| last as u32 & 0);"),
    ("faster-third-chance", "faster, reclaim: pages are carried any number of times", FASTER,
     "let last_visits = if self.second_chance { 0..carried }", "let last_visits = if self.second_chance { 0..carried / 2 }"),
    ("faster-account-forgotten", "faster, isolation: a merge is not counted for its block", ISOLATION,
     "self.merged[self.at.0] += 1;", ""),
    ("faster-cursor-left", "faster, isolation: the oldest page is searched in the wrong block", ISOLATION,
     "self.at = if self.at.0 == 0 { (0, 0) } else { (self.at.0 - 1, self.at.1) };", ""),
    ("faster-reclaim-then-bulk", "faster, write: no progressive merges precede pages after a reclaim", FASTER,
     "                        most = 1;\n", "                        most = most.max(1);\n"),
    ("faster-bulk", "faster, write: progressive merges precede only the first page of a run", FASTER,
     "let mut most = if rest > 1 && self.has_isolated_pages(nand)", "let mut most = if rest > 1 && index > 0 && self.has_isolated_pages(nand)"),
    ("faster-isolation-unmarked", "faster, mount: isolated pages are taken for carried ones", ISOLATION,
     "self.log.take_in(nand, map, pages, page_kind::ISOLATED)", "self.log.take_in(nand, map, pages, page_kind::CARRIED)"),
    ("faster-forces-everything", "faster, isolation: a full area is emptied completely", ISOLATION,
     "while self.oldest(nand, map).is_some() && self.at.0 == 0 {", "while self.oldest(nand, map).is_some() {"),
    ("faster-excess-carried", "faster, mount: pages of excess blocks are carried, not merged", FASTER,
     "if is_over || self.log.map.valid(victim) == 0 {", "if is_over && self.second_chance && false || self.log.map.valid(victim) == 0 {"),
    ("faster-every-block-isolation", "faster, mount: there may be too many isolation blocks", FASTER,
     "Some(area) if found.kinds.contains(&page_kind::ISOLATED) && !area.has_all_blocks() => {",
     "Some(area) if found.kinds.contains(&page_kind::ISOLATED) => {"),
    ("faster-carried-uncounted", "faster, reclaim: carried pages are not remembered as such", RANDOM,
     ".carried += pages.len() as u32;", ".carried += pages.len() as u32 / 2;"),
    ("faster-victim-dead-isolated", "faster, isolation: an emptied block counts as dead", ISOLATION,
     "                merge::count_full(merges, merged);\n", "                merges.dead += merged.min(1) as u64;\n"),
    ("faster-home-keeps-marks", "faster, merge: pages brought home keep their marks", LOG_MAP,
     "(self.flat.entries(run.clone()), Some(page_kind::DATA));", "(self.flat.entries(run.clone()), None);"),
    ("faster-kinds-shifted", "faster, mount: marks are read from the wrong slot", LOG_MOUNT,
     "kinds[geometry.offset_of(ppn) as usize] = spare.kind;",
     "kinds[0] = spare.kind.max(kinds[0]);\n        let _ = ppn;"),
    ("faster-streams-anyway", "faster, sequential=false: a write at offset 0 opens a block for streams", ASSOCIATIVE,
     "_ if offset == 0 && self.streams => TargetBlock::NewSequential,", "_ if offset == 0 => TargetBlock::NewSequential,"),
    ("faster-stream-block-lost", "faster, sequential=false: the block for streams does not go to RW", ASSOCIATIVE,
     "random_max: most - u32::from(streams) - aside,", "random_max: most - 1 - aside,"),
    ("faster-stream-block-paid", "faster, sequential=false: the block for streams is still counted", ASSOCIATIVE,
     "u32::from(self.streams) + self.random_max + self.aside", "1 + self.random_max + self.aside"),
    ("faster-streams-off", "faster: without the parameter there is no block for streams", FASTER,
     'opt_switch("sequential").unwrap_or(true)', 'opt_switch("sequential").unwrap_or(false)'),
]
