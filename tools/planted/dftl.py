"""dftl."""

# Which schemes the attacks of the checker are worth running on.
SCHEMES = "dftl"

DFTL = "crates/ftl/src/scheme/dftl/mod.rs"
CACHE = "crates/ftl/src/scheme/dftl/cached_map.rs"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("dftl-write-reads", "dftl, write miss: the translation page is read", DFTL,
     "        if what == Access::Read {\n            let page",
     "        let known = self.map.flat.newest(self.owner_of(self.translation_page_of(lpn)));\n"
     "        if what == Access::Read || known.is_some() {\n            let page"),
    ("dftl-one-at-a-time", "dftl, eviction: only the victim is cleaned, others are written again later", CACHE,
     "            entry.dirty = false;\n            at = entry.after;\n            cleaned += 1;",
     "            entry.dirty = false;\n            at = entry.after;\n            cleaned = 1;"),
    ("dftl-flush-reorders", "dftl, eviction: the entry used last goes first", DFTL,
     "let (lpn, dirty) = self.cmt.least_recent().expect(\"a full cache has an entry\");",
     "let (lpn, dirty) = self.cmt.iter().last().expect(\"a full cache has an entry\");"),
    ("dftl-gathers-early", "dftl, eviction: the batch is composed before its page has room", DFTL,
     "            self.make_room(nand, BlockContent::Entries)?;\n            let page = self.translation_page_of(lpn);\n            self.compose(page, true);",
     "            let page = self.translation_page_of(lpn);\n            self.compose(page, true);\n            self.make_room(nand, BlockContent::Entries)?;"),
    ("dftl-gc-takes-batch", "dftl, collection: a rewritten translation page takes dirty entries along", DFTL,
     "self.compose(page, false);", "self.compose(page, true);"),
    ("dftl-gc-touches", "dftl, collection: moved pages count as used", DFTL,
     "                true => cmt.soil(lpn, from),",
     "                true => {\n                    cmt.touch(lpn);\n                    cmt.soil(lpn, from)\n                }"),
    ("dftl-cached-clean", "dftl, collection: cached entries of moved pages stay clean", DFTL,
     "                true => cmt.soil(lpn, from),", "                true => (),"),
    ("dftl-gc-reserve", "dftl, room: a translation page may take the reserve", DFTL,
     "            if self.map.pool.len() > RESERVE {",
     "            if self.map.pool.len() > RESERVE - u32::from(holds == BlockContent::Entries) {"),
    ("dftl-rewrite-unread", "dftl, flush: an old translation page is not read first", DFTL,
     "        if let Some(ppn) = self.map.flat.newest(owner) {\n            nand.read(",
     "        if let Some(ppn) = self.map.flat.newest(owner).filter(|_| false) {\n            nand.read("),
    ("dftl-mount-forgets", "dftl, mount: entries that the flash does not know stay out of the cache", DFTL,
     "                if flash != self.entry(Lpn(lpn)) {",
     "                if flash != self.entry(Lpn(lpn)) && known.len() > self.entries as usize {"),
    ("dftl-trim-free", "dftl, trim: no entry is looked up", DFTL,
     "                self.look_up(nand, lpn, Access::Write)?;\n                self.map.trim",
     "                self.map.trim"),
    ("dftl-cause", "dftl, collection: copies of translation pages are booked as data", DFTL,
     "frontier, None, Cause::Map, |_, _| copies += 1)?;", "frontier, None, Cause::Gc, |_, _| copies += 1)?;"),
]
