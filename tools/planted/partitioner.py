"""Adaptive partitioning: the boundary, the ghost caches, and the miss costs of dftl and fast."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "dftl,fast"

PARTITIONER = "crates/ftl/src/layer/partitioner/mod.rs"
GHOST_BUFFER = "crates/ftl/src/layer/ghost_buffer.rs"
GHOST_MAP = "crates/ftl/src/layer/partitioner/ghost_map.rs"
ALGORITHM = "crates/ftl/src/layer/partitioner/algorithm_1.rs"
BUFFER = "crates/ftl/src/layer/write_buffer.rs"
DFTL = "crates/ftl/src/scheme/dftl/cache_account.rs"
FAST = "crates/ftl/src/scheme/fast/mod.rs"
WATCH = "crates/ftl/src/scheme/fast/log_account.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("ghost-keeps-written", "ghost of the buffer: a page that is written stays in it", GHOST_BUFFER,
     "self.write_hits += 1;\n            self.forget(lpn);", "self.write_hits += 1;"),
    ("ghost-lets-read-go", "ghost of the buffer: a page that is read leaves it", GHOST_BUFFER,
     "self.read_hits += 1;\n            self.order.touch(lpn.0);", "self.read_hits += 1;\n            self.forget(lpn);"),
    ("ghost-flush-fills", "ghost of the buffer: pages drained by a flush enter it", BUFFER,
     "self.ghost.as_mut().filter(|_| reason == WriteReason::Room)", "self.ghost.as_mut().filter(|_| reason == WriteReason::Room || reason == WriteReason::Flush)"),
    ("ghost-too-large", "ghost of the buffer: it is as large as the buffer itself", PARTITIONER,
     "ghost.set_capacity((mapping / self.page_bytes) as u32);", "ghost.set_capacity((rest / self.page_bytes) as u32);"),
    ("ghost-trim-stays", "ghost of the buffer: trimmed pages stay in it", BUFFER,
     "self.ghost.iter_mut().for_each(|ghost| ghost.forget(lpn));", "self.ghost.iter_mut().for_each(|ghost| ghost.read(lpn));"),
    ("ghost-map-alpha", "ghost of the map: the rule of α is reversed", GHOST_MAP,
     "self.bits_set * self.alpha >= self.entries", "self.bits_set * self.alpha < self.entries"),
    ("ghost-map-keeps-entries", "ghost of the map: an entry that was hit is still counted", GHOST_MAP,
     "self.entries = self.entries.saturating_sub(1);", "self.entries = self.entries.saturating_sub(0);"),
    ("ghost-map-lowest-bit", "ghost of the map: always the lowest bit is reset", GHOST_MAP,
     "self.bitmap.next(place as u32)", "self.bitmap.next(place as u32 & 0)"),
    ("tune-wrong-way", "tuning: the side that gains less grows", ALGORITHM,
     "if map > buffer {", "if map < buffer {"),
    ("tune-fractions", "tuning: steps are not whole units", ALGORITHM,
     "(self.unit as f64 * ratio.floor())", "(self.unit as f64 * ratio)"),
    ("tune-unlimited", "tuning: a step is limited only by the room left", ALGORITHM,
     ".min(self.max_step as f64) as u64", ".min(f64::MAX) as u64"),
    ("tune-hits-kept", "tuning: hits of earlier intervals are counted again", PARTITIONER,
     "        self.forget_hits();\n        Ok(())\n    }\n\n    /// What the", "        Ok(())\n    }\n\n    /// What the"),
    ("tune-buffer-first", "tuning: the buffer gives up pages before the map has grown", PARTITIONER,
     "let grows = mapping > self.mapping;", "let grows = mapping < self.mapping;"),
    ("tune-late", "tuning: it happens one request too late", PARTITIONER,
     "Some(tuner) if self.requests.is_multiple_of(tuner.interval) => self.tune(nand),", "Some(tuner) if (self.requests - 1).is_multiple_of(tuner.interval) => self.tune(nand),"),
    ("dftl-left-unsaid", "dftl, events: evicted entries are not reported", DFTL,
     "self.note(MapEvent::Left(lpn));", "self.note(MapEvent::ReadMissed(lpn));"),
    ("dftl-interval-since-birth", "dftl, costs: hits and batches are counted since birth, not per interval", DFTL,
     "(core::mem::take(&mut self.interval), self.timing)", "(self.interval, self.timing)"),
    ("dftl-overheads-swapped", "dftl, costs: data pages are charged for translation blocks", DFTL,
     "let data_overhead = self.data_overhead_ns();", "let data_overhead = self.translation_overhead_ns();"),
    ("fast-hits-told", "fast, events: pages that are in the log are reported as misses", FAST,
     "Some(_) => (1, !self.log.map.is_away(run.first.plus(index))),", "Some(_) => (1, true),"),
    ("fast-run-watched-once", "fast, events: only the first page of a run is reported", FAST,
     "Some(_) => (1, !self.log.map.is_away(run.first.plus(index))),", "Some(_) => (1, index == 0 && !self.log.map.is_away(run.first.plus(index))),"),
    ("fast-victim-erase-free", "fast, costs: the erase of the victim is left out", WATCH,
     "copies, 1 + old);", "copies, old);"),
    ("watch-dead-victims", "fast, costs: dead victims are counted as merged ones", WATCH,
     "        if associated > 0 {\n            self.victims += 1;\n", "        self.victims += 1;\n        if associated > 0 {\n"),
]
