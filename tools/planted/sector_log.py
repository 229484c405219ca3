"""The sector log: its map, page buffer, ring and recovery."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,block"
PACKAGES = ["ftlab-ftl --lib --test layers", "ftlab-check --test under_sector_log", "ftlab --test replays"]

LOG = "crates/ftl/src/layer/sector_log/log.rs"
CLEANING = "crates/ftl/src/layer/sector_log/cleaning.rs"
RECOVERY = "crates/ftl/src/layer/sector_log/recovery.rs"
PAGES = "crates/ftl/src/layer/sector_log/sector_pages.rs"
MAP = "crates/ftl/src/layer/sector_log/sector_map.rs"
BUFFER = "crates/ftl/src/layer/sector_log/page_buffer.rs"
RING = "crates/ftl/src/layer/sector_log/sector_ring.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("log-whole-page-keeps-sectors", "sector log, write: a whole page leaves older sectors in the log", LOG,
     "        self.forget_all(first, count);\n        Ok(())",
     "        Ok(())"),
    ("log-waiting-not-taken", "sector log, cleaning: waiting sectors are not merged", CLEANING,
     "        let mask = live | waiting;\n        let read",
     "        let mask = live;\n        let read"),
    ("log-stale-sectors-evicted", "sector log, cleaning: a superseded sector evicts its page", CLEANING,
     "match is_live && self.map.place(entry, index) == place {",
     "match is_live {"),
    ("log-older-wins", "sector log, read: a sector in the log is preferred to the waiting one", LOG,
     "self.read_log(nand, entry, here & !waiting, false)?;",
     "self.read_log(nand, entry, here, false)?;\n            let waiting = waiting & !self.map.live(entry);\n            return self.read_here(nand, lpn, (waiting, None), here, sink);"),
    ("log-hit-while-waiting-missed", "sector log, hits: a waiting sector does not count as an older copy", LOG,
     "let older = waiting | self.live(entry);",
     "let older = self.live(entry);"),
    ("log-mount-trims-unrecorded", "sector log, mount: the FTL does not record the trims and pages that it gets", RECOVERY,
     "        self.below.ftl.flush(nand, None)\n",
     "        Ok(())\n"),
    ("log-trim-not-written", "sector log, trim: it is not recorded", LOG,
     "while self.has_copies(first, pages) {",
     "while false && self.has_copies(first, pages) {"),
    ("log-no-exchange", "sector log, cleaning: the erased block is not exchanged", CLEANING,
     "let lent = lender.lend(nand)?;",
     "let lent = None::<BlockId>;"),
    ("log-flush-leaves-page-buffer", "sector log, flush: the page buffer is not programmed", LOG,
     "            self.settle(nand, 1)?;\n        }\n        self.below.ftl.flush(nand, only)",
     "        }\n        self.below.ftl.flush(nand, only)"),
    ("log-early-cleaning-forgotten", "sector log, map: it grows beyond what the buffer can pay for", LOG,
     "match self.ring.free_pages() > 0 && self.map_may_grow() {",
     "match self.ring.free_pages() > 0 {"),
    ("log-versions-ignored", "sector log, mount: sectors are preferred to newer pages of the FTL", RECOVERY,
     "        self.drop_superseded(nand, &versions)?;\n", ""),
    ("log-suspect-page-trusted", "sector log, mount: the suspect page is left where it is", RECOVERY,
     "last.map_or(Ok(()), |last| self.send_down(nand, last))",
     "last.filter(|_| false).map_or(Ok(()), |last| self.send_down(nand, last))"),
    ("log-suspect-trim-trusted", "sector log, mount: a suspect trim is trusted", RECOVERY,
     "            self.write_trimmed_pages(nand, last)?;\n",
     ""),
    ("log-trims-not-passed-on", "sector log, mount: trims are not passed on to the FTL", RECOVERY,
     "        self.trim_below(nand, &trimmed)?;\n", ""),
    ("log-trims-kill-newer", "sector log, mount: a trim also removes what was written after it", RECOVERY,
     "if version > trimmed.of(sector.lpn) {",
     "if trimmed.of(sector.lpn) == 0 {"),
    ("log-head-reopened", "sector log, mount: the open block is filled further", RING,
     "        ring.used = ring.free.drain(..used.len()).collect();\n",
     "        ring.used = ring.free.drain(..used.len()).collect();\n        ring.filled -= u32::from(!ring.used.is_empty());\n"),
    ("log-doubtful-trusted", "sector log, mount: a block that looks erased is not erased again", RING,
     "        if doubtful {\n                nand.erase(block, Cause::Meta)?;",
     "        if doubtful && block.0 == u32::MAX {\n                nand.erase(block, Cause::Meta)?;"),
    ("map-chain-cut", "sector map: removing a page from a long chain leaves a gap in its bucket", MAP,
     "Some(at) => bucket.remove(at, far.pop_front().expect(\"a long chain has a far page\")),",
     "Some(at) => bucket.remove(at, (Lpn::NONE, NONE)),"),
    ("map-far-order-lost", "sector map: a page pushed out of a bucket goes to the end of its chain", MAP,
     "self.far.entry(number).or_default().push_front(pushed_out);",
     "self.far.entry(number).or_default().push_back(pushed_out);"),
    ("map-length-stands", "sector map: removing a page does not shorten its chain", MAP,
     "            self.unlink(number, lpn);\n            self.note_length(number);",
     "            self.unlink(number, lpn);"),
    ("buffer-order-lost", "page buffer: the last sector takes the place of a removed one", BUFFER,
     "self.waiting.retain(|sector| sector.lpn != lpn);",
     "while let Some(at) = self.waiting.iter().position(|sector| sector.lpn == lpn) {\n                self.waiting.swap_remove(at);\n            }"),
    ("log-first-page-decides", "sector log, mount: a block whose first page is unreadable counts as empty", PAGES,
     "match scan.copies_in(block).next() {",
     "match scan.copies_in(block).next().filter(|copy| scan.geometry().offset_of(copy.ppn) == 0) {"),
    ("log-blank-reversed", "sector log, mount: blank blocks with pages that do not count go to the log first", PAGES,
     "found.blank.sort_by_key(|&block| !scan.has_ignored(block));",
     "found.blank.sort_by_key(|&block| scan.has_ignored(block));"),
    ("log-blank-in-order", "sector log, mount: blank blocks are shared out by their numbers", PAGES,
     "found.blank.sort_by_key(|&block| !scan.has_ignored(block));",
     "found.blank.sort_by_key(|&block| !scan.has_ignored(block) && false);"),
]
