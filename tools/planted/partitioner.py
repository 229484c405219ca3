"""Adaptive partitioning: the boundary, the ghost caches, and the miss costs of dftl and fast."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "dftl,fast"

PARTITIONER = "crates/ftl/src/layer/partitioner/mod.rs"
GHOST_BUFFER = "crates/ftl/src/layer/ghost_buffer.rs"
GHOST_MAP = "crates/ftl/src/layer/partitioner/ghost_map.rs"
ALGORITHM = "crates/ftl/src/layer/partitioner/algorithm_1.rs"
BALANCE = "crates/ftl/src/layer/partitioner/balance.rs"
DISTANCES = "crates/ftl/src/part/index/stack_distances.rs"
OBSERVED = "crates/ftl/src/part/index/observed.rs"
CACHE = "crates/ftl/src/scheme/dftl/cache_forecast.rs"
LOG = "crates/ftl/src/scheme/fast/log_forecast.rs"
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
    ("balance-any-gain", "balance: any gain moves the boundary", BALANCE,
     "now - costs[best] > GAIN_MIN * now", "now > costs[best]"),
    ("balance-no-fading", "balance: costs of long ago count like new ones", BALANCE,
     "self.costs.fade(self.fading);", "self.costs.fade(1.0);"),
    ("balance-reads-fill", "balance: a read that misses the buffer makes the page recent there", BALANCE,
     "distance.is_some_and(|distance| distance < buffer_pages)", "distance.is_some_and(|distance| distance < u32::MAX)"),
    ("balance-unlimited", "balance: the boundary goes to its target at once", ALGORITHM,
     "(mapping - target).min(most)", "(mapping - target).min(u64::MAX)"),
    ("balance-flush-stays", "balance: pages that a flush wrote still count as buffered", PARTITIONER,
     "None => balance.forget_all(),", "None => {}"),
    ("distance-includes-itself", "stack distances: a page counts as one used since", DISTANCES,
     "Some(self.place_of.len() - self.taken_up_to(place))", "Some(self.place_of.len() + 1 - self.taken_up_to(place))"),
    ("distance-oldest-off", "stack distances: the oldest use is that of the next page outside", DISTANCES,
     "self.places[self.place_behind(others) as usize].used", "self.places[self.place_behind(others - 1) as usize].used"),
    ("cache-forecast-reads-dirty", "dftl, forecast: a read dirties its entry", CACHE,
     "entry.used = now;\n", "entry.used = now;\n        entry.written = now;\n"),
    ("cache-forecast-one-entry", "dftl, forecast: a batch cleans nothing", CACHE,
     "observed.cleaned[share] = now - 1", "observed.cleaned[share] = 0"),
    ("cache-forecast-never-full", "dftl, forecast: the largest cache is never known to be full", CACHE,
     "StackDistances::new(pages + 1)", "StackDistances::new(pages)"),
    ("cache-forecast-weight", "dftl, forecast: a translation page of the sample stands for itself only", CACHE,
     "self.pages.weight() * batch_ns", "batch_ns"),
    ("cache-forecast-absorbed", "dftl, forecast: a batch counts where the buffer absorbs the write", CACHE,
     "observed.presence(oldest).left & shares_from(first)", "observed.presence(oldest).left & shares_from(0 * first)"),
    ("balance-trim-free", "balance: a trim of a page that would be programmed costs nothing", BALANCE,
     "            self.costs.add(first..SHARES, page.write_ns);\n            self.forecast.trim", "            self.forecast.trim"),
    ("balance-trim-stays", "balance: a trimmed page still counts as buffered", BALANCE,
     "self.forecast.trim(lpn, first, &page, &mut self.costs);\n            self.buffer.forget(lpn);", "self.forecast.trim(lpn, first, &page, &mut self.costs);"),
    ("observed-double-late", "samples: the sample never grows again", OBSERVED,
     "self.sample = self.sample.double();", ""),
    ("observed-half-keeps", "samples: members that left the sample keep their state", OBSERVED,
     "self.retain(|n, _| sample.contains(n));", "self.retain(|n, _| sample.contains(n) || n % 2 == 0);"),
    ("log-forecast-stale", "fast, forecast: a page written again keeps its place in the log", LOG,
     "observed.written[offset as usize] = arrivals.epoch;",
     "let written = &mut observed.written[offset as usize];\n            *written = (*written).max(1);"),
    ("log-forecast-trim-stays", "fast, forecast: a trimmed page stays in the log", LOG,
     "observed.written[offset as usize] = 0;", "let _ = offset;"),
    ("log-forecast-stream-leaves", "fast, forecast: the merge of a stream leaves pages of the block in the log", LOG,
     "observed.empty(shares, self.arrivals.epoch + 1);", "observed.empty(shares, 0);"),
    ("log-forecast-weight", "fast, forecast: a block of the sample stands for itself only", LOG,
     "self.blocks.weight() * merge_ns", "merge_ns"),
]
