"""The write buffer."""

# Which schemes the attacks of the checker are worth running on.
SCHEMES = "page,last"

BUFFER = "crates/ftl/src/layer/write_buffer.rs"
PAYLOAD = "crates/nand/src/payload.rs"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("buffer-fifo", "buffer, order: a page that is written again keeps its place", BUFFER,
     "self.counts.write_hits += 1;\n                self.recency.touch(slot);", "self.counts.write_hits += 1;"),
    ("buffer-read-keeps-place", "buffer, order: a page that is read keeps its place", BUFFER,
     "self.counts.dram_accesses += 1;\n                self.recency.touch(slot);\n                if let", "self.counts.dram_accesses += 1;\n                if let"),
    ("buffer-miss-touches", "buffer, order: a page that holds nothing of what is wanted becomes recent", BUFFER,
     "Some(slot) if here != 0 => {", "Some(slot) if here != 0 || wanted != 0 => {"),
    ("buffer-whole-pages", "buffer, eviction: a partial page goes down as a whole one", BUFFER,
     "let run = Run { first: lpn, pages: 1, head: written, tail: written, request_bytes, data };",
     "let run = Run { first: lpn, pages: 1, head: self.full, tail: self.full, request_bytes, data };"),
    ("buffer-last-mask", "buffer, write: the mask is that of the last write alone", BUFFER,
     "page.written |= mask;", "page.written = mask;"),
    ("buffer-trim-passes", "buffer, trim: pages wait on", BUFFER,
     "let written = self.take(slot).written;", "let written = self.slots[slot as usize].written;"),
    ("buffer-flush-above", "buffer, flush: what is below is not flushed", BUFFER,
     "self.drain(nand)?;\n        self.below.ftl.flush(nand)", "self.drain(nand)"),
    ("buffer-flush-below", "buffer, flush: what waits goes on waiting", BUFFER,
     "self.drain(nand)?;\n        self.below.ftl.flush(nand)", "self.below.ftl.flush(nand)"),
    ("buffer-force-nothing", "buffer, forced access: its pages go on waiting", BUFFER,
     "if self.written(lpn) != 0 {", "if self.written(lpn) == u64::MAX {"),
    ("buffer-flush-newest-first", "buffer, flush: a drain leaves clean pages in another order", BUFFER,
     "while self.waiting > 0 || clean > 0 {", "while self.waiting > 0 {"),
    ("buffer-old-slot", "buffer, insertion: a slot shows what its former page held", BUFFER,
     "cells.put(slot, self.sectors_per_page, None);", "cells.data(slot, self.sectors_per_page);"),
    ("buffer-run-through-partial", "buffer, runs: a partial page stands in the middle", BUFFER,
     "&& (first == last || whole(first))", "&& (first <= last || whole(first))"),
    ("buffer-run-across-blocks", "buffer, runs: they go on in the next logical block", BUFFER,
     "let end = (block + self.pages_per_block).min(self.slot_of.len() as u32);", "let end = (block + 2 * self.pages_per_block).min(self.slot_of.len() as u32);"),
    ("buffer-run-first-data", "buffer, runs: every page carries the data of the first", BUFFER,
     "gathered.copy(index, self.sectors_per_page, Some((cells, slot)));", "gathered.copy(0, self.sectors_per_page, Some((cells, slot)));"),
    ("buffer-hands-down-reads", "buffer of reads: a page goes down with all that it holds", BUFFER,
     "let Slot { lpn, written, request_bytes, .. } = self.take(slot);", "let Slot { lpn, held: written, request_bytes, .. } = self.take(slot);"),
    ("buffer-first-size", "buffer, eviction: the first request that wrote a page gives its size", BUFFER,
     "page.request_bytes = run.request_bytes;", "page.request_bytes = page.request_bytes.max(1).max(run.request_bytes);"),
    ("buffer-borrows-late", "buffer, size: a layer below takes nothing of it", BUFFER,
     "self.budget.saturating_sub(self.below.ftl.borrows())", "self.budget"),
    ("buffer-one-stamp", "buffer, data: all sectors of a page say what its first says", PAYLOAD,
     "(Cells::Stamps(all), Data::Stamps(stamps)) => all[at] = stamps[index as usize],", "(Cells::Stamps(all), Data::Stamps(stamps)) => all[at] = stamps[0],"),
]
