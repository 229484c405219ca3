"""The shelter for paired pages, and blocks used with one bit per cell."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,block,lsb"
PACKAGES = ["ftlab-nand", "ftlab-ftl", "ftlab-check"]

LOG_MOUNT = "crates/ftl/src/layer/sector_log/recovery.rs"
MOUNTING = "crates/nand/src/nand/mounting.rs"
OPERATIONS = "crates/nand/src/nand/operations.rs"
RING = "crates/ftl/src/layer/sector_log/sector_ring.rs"
SHELTER = "crates/ftl/src/part/recovery/pair_shelter.rs"
SURVEY = "crates/ftl/src/part/recovery/survey.rs"
TRIMS = "crates/ftl/src/part/recovery/trim_log/mod.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("shelter-empty", "paired pages: nothing is copied", SHELTER,
     "if nand.owner(lower).is_host() {",
     "if nand.owner(lower).is_host() && pages == 0 {"),
    ("shelter-too-late", "paired pages: the copy is made after the program", OPERATIONS,
     "        if !self.run_guard(to, pages.count())? {\n            let copied = pages;\n",
     "        if self.array.keeps_pages() {\n            self.program_stored(to, &pages, cause)?;\n"
     "            return self.run_guard(to, pages.count()).map(drop);\n        }\n"
     "        if !self.run_guard(to, pages.count())? {\n            let copied = pages;\n"),
    ("shelter-nearest-only", "paired pages: of several lower pages only the nearest is copied", SHELTER,
     "nand.array().lower_pages(upper).filter(|lower| !fresh.contains(lower)) {",
     "nand.array().lower_pages(upper).take(1).filter(|lower| !fresh.contains(lower)) {"),
    ("shelter-farthest-only", "paired pages: of several lower pages only the farthest is copied", SHELTER,
     "nand.array().lower_pages(upper).filter(|lower| !fresh.contains(lower)) {",
     "nand.array().lower_pages(upper).last().into_iter().filter(|lower| !fresh.contains(lower)) {"),
    ("barrier-never", "paired pages: no page counts as relied on before its block is left", SHELTER,
     "        self.barriers += 1;\n",
     "        self.barriers += 0;\n"),
    ("barrier-after-page", "paired pages: a page of the trim log is not a barrier", TRIMS,
     "        // The page may make pages void that were copied, so the copies must be safe.\n        nand.barrier();\n",
     ""),
    ("barrier-not-at-flush", "paired pages: a flush without trims is not a barrier", TRIMS,
     "        nand.barrier();\n        let needs_mark",
     "        let needs_mark"),
    ("shelter-readable-page", "paired pages: a copy stands in for a page that is still readable", SHELTER,
     "if is_latest && is_destroyed && spare",
     "if is_latest && spare"),
    ("shelter-one-block", "paired pages: the shelter erases the block that it has just filled", SHELTER,
     "self.current = (self.current + 1) % self.blocks.len();",
     "self.current = (self.current + self.blocks.len()) % self.blocks.len();"),
    ("shelter-without-scheme-bytes", "paired pages: a restored page has no scheme bytes", SHELTER,
     "nand.mounting().stand_in(page, copy.ppn, spare, &extra);",
     "nand.mounting().stand_in(page, copy.ppn, spare, &extra[..0]);"),
    ("shelter-copies-count", "paired pages: copies in the shelter count as pages", SHELTER,
     "    scan.hide(is_copy);\n",
     ""),
    ("destroyed-not-moved", "paired pages: pages that a cut has destroyed are not copied by the mount", SURVEY,
     "let pages = if are_destroyed { destroyed } else { last.into_iter().collect() };",
     "let pages = scan.last().into_iter().collect();"),
    ("barrier-always", "paired pages: every lower page is copied, relied on or not", SHELTER,
     "if fresh.barriers != self.barriers || fresh.end != offset {",
     "if fresh.barriers <= self.barriers || fresh.end != offset {"),
    ("shelter-gap-is-fresh", "paired pages: pages beyond a gap count as programmed since the barrier", SHELTER,
     "if fresh.barriers != self.barriers || fresh.end != offset {",
     "if fresh.barriers != self.barriers {"),
    ("shelter-two-blocks", "paired pages: the shelter has two blocks, however many copies a run needs", SHELTER,
     "1 + copies.div_ceil(pages_per_block / pairing.bits),",
     "1 + copies.min(1),"),
    ("shelter-outdated-copy", "paired pages: a copy is restored although pages elsewhere followed", SHELTER,
     "if is_latest && is_destroyed && spare",
     "if (is_latest || true) && is_destroyed && spare"),
    ("shelter-new-sequence", "paired pages: a restored page has the sequence of its copy", SHELTER,
     "Spare { sequence: u64::from_le_bytes(wide), ..copy.spare };",
     "Spare { sequence: u64::from_le_bytes(wide).max(copy.spare.sequence), ..copy.spare };"),
    ("shelter-multi-bit", "paired pages: the shelter is not used with one bit per cell", SHELTER,
     "            nand.use_as_slc(self.blocks[self.current]);\n",
     ""),
    ("trim-log-multi-bit", "paired pages: the trim log is not used with one bit per cell", TRIMS,
     "self.segments[target].iter().for_each(|&block| nand.use_as_slc(block));",
     "self.segments[target].iter().for_each(|_| ());"),
    ("log-multi-bit", "sector log, paired pages: its blocks are used with several bits per cell", LOG_MOUNT,
     "Durability::Full => nand.geometry().slc_pages(),",
     "Durability::Full => per_block,"),
    ("log-multi-bit-half", "sector log, paired pages: a few pages per block, but with several bits per cell", RING,
     "if self.pages_per_block < nand.geometry().pages_per_block() {",
     "if self.pages_per_block < nand.geometry().slc_pages() {"),
    ("shelter-forgets-stand-ins", "paired pages: a second scan takes pages with a stand-in for sound ones", SHELTER,
     "let is_destroyed = has_stand_in || scan",
     "let is_destroyed = scan"),
    ("shelter-keeps-decayed-stand-in", "shelter: a mount that starts again keeps the copy that has decayed", MOUNTING,
     "        self.0.array.end_stand_ins();\n        if let Some(seen)",
     "        if let Some(seen)"),
    ("shelter-of-erased", "shelter: a copy stands in for a page whose block was erased since", SHELTER,
     "spare.sequence <= mark && is_there {",
     "spare.sequence <= mark && (is_there || !is_there) {"),
]
