"""The scheme dftl."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "dftl"

DFTL = "crates/ftl/src/scheme/dftl/mod.rs"
COLLECTION = "crates/ftl/src/scheme/dftl/collection.rs"
RECOVERY = "crates/ftl/src/scheme/dftl/recovery.rs"
CACHE = "crates/ftl/src/scheme/dftl/cached_map.rs"
FILLING = "crates/ftl/src/scheme/dftl/filling.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("dftl-write-reads", "dftl, write miss: the translation page is read", DFTL,
     "access == Access::Write || self.read_page",
     "access == Access::Write && self.map.flat.newest(self.owner_of(page)).is_none() || self.read_page"),
    ("dftl-one-at-a-time", "dftl, eviction: a batch counts as a single cleaned entry", CACHE,
     "            entry.dirty = false;\n            at = entry.after;\n            cleaned += 1;",
     "            entry.dirty = false;\n            at = entry.after;\n            cleaned = 1;"),
    ("dftl-flush-reorders", "dftl, eviction: the most recently used entry is evicted", DFTL,
     "let (lpn, dirty) = self.cmt.least_recent().expect(\"a full cache has an entry\");",
     "let (lpn, dirty) = self.cmt.iter().last().expect(\"a full cache has an entry\");"),
    ("dftl-gathers-early", "dftl, eviction: the batch is composed before there is room for its page", DFTL,
     "            self.make_room(nand, BlockContent::Entries)?;\n            let page = self.translation_page_of(lpn);\n            self.compose(nand, page, true);",
     "            let page = self.translation_page_of(lpn);\n            self.compose(nand, page, true);\n            self.make_room(nand, BlockContent::Entries)?;"),
    ("dftl-gc-takes-batch", "dftl, garbage collection: a rewritten translation page includes dirty entries", COLLECTION,
     "self.compose(nand, page, false);", "self.compose(nand, page, true);"),
    ("dftl-gc-touches", "dftl, garbage collection: entries of moved pages count as used", COLLECTION,
     "            if !cmt.mark_dirty(lpn, from) {",
     "            cmt.touch(lpn);\n            if !cmt.mark_dirty(lpn, from) {"),
    ("dftl-cached-clean", "dftl, garbage collection: cached entries of moved pages stay clean", COLLECTION,
     "            if !cmt.mark_dirty(lpn, from) {", "            if !cmt.contains(lpn) {"),
    ("dftl-gc-reserve", "dftl, room: a translation page may use the reserve", DFTL,
     "            if self.map.flat.pool.len() > RESERVE {",
     "            if self.map.flat.pool.len() > RESERVE - u32::from(holds == BlockContent::Entries) {"),
    ("dftl-rewrite-unread", "dftl, eviction: the old translation page is not read first", DFTL,
     "        if let Some(ppn) = self.map.flat.newest(owner) {\n            self.read_entries(",
     "        if let Some(ppn) = self.map.flat.newest(owner).filter(|_| false) {\n            self.read_entries("),
    ("dftl-mount-forgets", "dftl, mount: entries that are not in flash do not enter the cache", RECOVERY,
     "                if flash != self.entry(Lpn(lpn)) {",
     "                if flash != self.entry(Lpn(lpn)) && known.len() > self.entries as usize {"),
    ("dftl-trim-free", "dftl, trim: no entry is looked up", DFTL,
     "                self.look_up(nand, lpn, Access::Write)?;\n                self.map.trim",
     "                self.map.trim"),
    ("dftl-cause", "dftl, garbage collection: copies of translation pages are counted as data", COLLECTION,
     "frontier, None, Cause::Map, |_, _| copies += 1)?;", "frontier, None, Cause::Gc, |_, _| copies += 1)?;"),
    ("dftl-commit-before-copy", "dftl, mount: the commit comes before the endangered block is emptied", RECOVERY,
     "        if let Some(block) = recovered.endangered {\n            let frontier = match",
     "        self.map.commit_recovery(nand, &recovered)?;\n        if let Some(block) = recovered.endangered {\n            let frontier = match"),
    ("dftl-pages-kept", "dftl, filling: translation pages that nobody needs stay in flash", DFTL,
     "        self.release_pages(nand);\n", ""),
    ("dftl-released-clean", "dftl, filling: entries of a released translation page count as written", FILLING,
     "                self.cmt.mark_dirty(lpn, Ppn::NONE);\n", "                let _ = (lpn, Ppn::NONE);\n"),
    ("dftl-released-early", "dftl, filling: a translation page is released although some entries are not cached", FILLING,
     "if !self.uncached_of(page).is_empty() {\n                is_one_left", "if self.uncached_of(page).len() > 1 {\n                is_one_left"),
    ("dftl-block-held", "dftl, filling: an open translation block without a valid page stays open", FILLING,
     "            self.map.close(open, nand.geometry());\n", "            self.translation = open;\n"),
]
