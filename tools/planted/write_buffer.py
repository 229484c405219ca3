"""The write buffer."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,last"

BUFFER = "crates/ftl/src/layer/write_buffer.rs"
CELLS = "crates/nand/src/cells.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("buffer-fifo", "buffer, order: a rewritten page does not become recent", BUFFER,
     "self.counts.write_hits += 1;\n                self.recency.touch(slot);", "self.counts.write_hits += 1;"),
    ("buffer-read-keeps-place", "buffer, order: a page that is read does not become recent", BUFFER,
     "self.counts.dram_accesses += 1;\n                self.recency.touch(slot);\n                if let", "self.counts.dram_accesses += 1;\n                if let"),
    ("buffer-miss-touches", "buffer, order: a page without any requested sector becomes recent", BUFFER,
     "Some(slot) if here != 0 => {", "Some(slot) if here != 0 || wanted != 0 => {"),
    ("buffer-whole-pages", "buffer, eviction: a partial page is evicted as a whole one", BUFFER,
     "let run = Run { data, ..run };",
     "let run = if pages > 1 { Run { data, ..run } } else { Run { data, head: self.full, tail: self.full, ..run } };"),
    ("buffer-last-mask", "buffer, write: the mask is that of the last write only", BUFFER,
     "page.written |= mask;", "page.written = mask;"),
    ("buffer-trim-passes", "buffer, trim: trimmed pages stay dirty", BUFFER,
     "let written = self.take(slot).written;", "let written = self.slots[slot as usize].written;"),
    ("buffer-flush-above", "buffer, flush: the FTL below is not flushed", BUFFER,
     "        self.below.ftl.flush(nand, only)?;\n", ""),
    ("buffer-flush-below", "buffer, flush: dirty pages stay in the buffer", BUFFER,
     "None => self.drain(nand)?,", "None => {}"),
    ("buffer-force-nothing", "buffer, forced write: its pages stay in the buffer", BUFFER,
     "if self.written(lpn) != 0 {", "if self.written(lpn) == u64::MAX {"),
    ("buffer-flush-newest-first", "buffer, flush: clean pages change their order", BUFFER,
     "while self.waiting > 0 || clean > 0 {", "while self.waiting > 0 {"),
    ("buffer-old-slot", "buffer, insertion: a slot shows the data of its former page", BUFFER,
     "cells.copy(slot, self.sectors_per_page, None);", "cells.data(slot, self.sectors_per_page);"),
    ("buffer-run-through-partial", "buffer, runs: a partial page may be in the middle", BUFFER,
     "&& (first == last || whole(first))", "&& (first <= last || whole(first))"),
    ("buffer-run-across-blocks", "buffer, runs: they continue in the next logical block", BUFFER,
     "let end = (block + self.pages_per_block).min(self.slot_of.len() as u32);", "let end = (block + 2 * self.pages_per_block).min(self.slot_of.len() as u32);"),
    ("buffer-run-first-data", "buffer, runs: every page carries the data of the first", BUFFER,
     "gathered.copy(index, self.sectors_per_page, Some((cells, slot)));", "gathered.copy(0, self.sectors_per_page, Some((cells, slot)));"),
    ("buffer-hands-down-reads", "buffer of reads: an evicted page includes sectors that were only read", BUFFER,
     "let Slot { written, request_bytes, .. } = self.take(slot);", "let Slot { held: written, request_bytes, .. } = self.take(slot);"),
    ("buffer-first-size", "buffer, eviction: the request size is that of the first write to the page", BUFFER,
     "page.request_bytes = run.request_bytes;", "page.request_bytes = page.request_bytes.max(1).max(run.request_bytes);"),
    ("buffer-borrows-late", "buffer, size: the DRAM of a layer below is not subtracted", BUFFER,
     "self.budget.saturating_sub(self.below.totals().borrowed_bytes)", "self.budget"),
    ("buffer-one-stamp", "buffer, data: all sectors of a page carry the stamp of the first", CELLS,
     "(Cells::Stamps(all), Data::Stamps(stamps)) => all[at] = stamps[index as usize],", "(Cells::Stamps(all), Data::Stamps(stamps)) => all[at] = stamps[0],"),
]
