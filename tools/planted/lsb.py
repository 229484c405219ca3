"""lsb: portions, chains, spare areas, collections over superblocks, mounts."""

# Which schemes the attacks of the checker are worth running on.
SCHEMES = "lsb"

LSB = "crates/ftl/src/scheme/lsb/mod.rs"
CHAINS = "crates/ftl/src/scheme/lsb/group_chains.rs"
SHEET = "crates/ftl/src/part/spare/spare_sheet.rs"
SUPERBLOCKS = "crates/ftl/src/part/spare/superblocks.rs"
MAPPED = "crates/ftl/src/part/spare/spare_mapped.rs"
MOUNT = "crates/ftl/src/part/spare/spare_mount.rs"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("lsb-never-induced", "lsb, induced writes: none is ever made", LSB,
     "            true => self.make_fit(nand, source, last)?,",
     "            true => Role::Directory,"),
    ("lsb-no-room-to-induce", "lsb, room: no page is kept for a write that may be induced", CHAINS,
     "pages.len() as u32 + portions.filter(|portion| self.is_alone(portion)).count() as u32",
     "pages.len() as u32 + 0 * portions.filter(|portion| self.is_alone(portion)).count() as u32"),
    ("lsb-overwritten-table-serves", "lsb, chains: a PT page that is overwritten goes on serving", CHAINS,
     "                if group.table == number {\n                    group.table = NONE;\n                }\n", ""),
    ("lsb-stale-forgotten", "lsb, chains: a PT page passes for up to date", CHAINS,
     "                group.stale |= 1 << number;\n", ""),
    ("lsb-wrong-table-copied", "lsb, induced writes: the lowest page is copied, not the PT page", CHAINS,
     "let table = self.page_of(at, group.table).filter(|&table| table != lpn);",
     "let table = self.page_of(at, group.table).filter(|&table| table != lpn && table.0 == 0);"),
    ("lsb-last-page-knows-no-groups", "lsb, portions: the next to last page of the last group is no PT page", LSB,
     "(None, own) if own == group(last) => Role::Table { but: Some(last) },",
     "(None, own) if own == group(last) => Role::Plain,"),
    ("lsb-reserve-opened", "lsb, room: the host opens a block of the reserve", LSB,
     "self.map.pool.len() >= RESERVE + missing", "self.map.pool.len() + 1 >= RESERVE + missing"),
    ("lsb-trim-without-anchor", "lsb, trims: nobody writes anew what a trimmed PT page knew", CHAINS,
     "(loses_table || loses_carrier).then(|| Lpn(first + lowest as u32))",
     "(loses_table && loses_carrier).then(|| Lpn(first + lowest as u32))"),
    ("lsb-wide-read-as-narrow", "lsb, chains: a wide PMD page's entries for groups are read as a narrow one's", CHAINS,
     "            (SheetForm::WideDirectory, Some(wide)) => {\n                wide.group(",
     "            (SheetForm::WideDirectory, Some(wide)) if link.bytes.is_empty() => {\n                wide.group("),
    ("lsb-wide-not-found", "lsb, mount: wide PMD pages are no PMD pages", CHAINS,
     "matches!(kind, page_kind::DIRECTORY | page_kind::WIDE_DIRECTORY)", "matches!(kind, page_kind::DIRECTORY)"),
    ("lsb-tight-for-ever", "lsb, room: tight collection never ends", LSB,
     "            self.is_tight = false;\n        }\n        self.collect_until(", "        }\n        self.collect_until("),
    ("lsb-never-tight", "lsb, room: nothing is done where the paper's rule finds none", LSB,
     "        !self.is_tight && self.chains.layout().wide.is_some()",
     "        !self.is_tight && self.chains.layout().wide.is_none()"),
    ("lsb-mount-by-the-papers-rule", "lsb, mount: it collects by the paper's rule, however long that takes", LSB,
     "        if self.can_tighten() {\n            self.tighten();\n        }\n", ""),
    ("sheet-wide-own-entry-counted", "spare areas: entries after a wide page's own are read one too far", SHEET,
     "which - u32::from(which > but)", "which - u32::from(which > but + 1)"),
    ("lsb-aside-for-ever", "lsb, victims: a block set aside stays aside when its superblock opens a block", SUPERBLOCKS,
     "        self.take_up(superblock, self.room(superblock));\n    }\n\n    /// The next pages of the open block",
     "        self.offer(superblock);\n    }\n\n    /// The next pages of the open block"),
    ("lsb-miss-is-free", "lsb, map cache: a miss reads the PMD page only", LSB,
     "for ppn in self.chains.spares(&self.map.flat, lbn) {",
     "for ppn in self.chains.spares(&self.map.flat, lbn).take(1) {"),
    ("lsb-suspect-left", "lsb, mount: the last page programmed is left where it may decay", LSB,
     "if let Some(suspect) = recovered.suspect {",
     "if let Some(suspect) = recovered.suspect.filter(|_| false) {"),
    ("sheet-flag-lost", "spare areas: PMD pages are flagged as PT pages", SHEET,
     "BitWriter::new(bytes, 0).push(flag.into(), 1);", "BitWriter::new(bytes, 0).push(u32::from(flag) & 0, 1);"),
    ("sheet-own-block-listed", "spare areas: the own block takes a block number", SHEET,
     "        if block == self.own {\n            return Some(THIS);\n        }\n",
     "        if block == self.own && self.len > 0 {\n            return Some(THIS);\n        }\n"),
    ("mount-oldest-directory", "mount: an older PMD page passes for the newest", MOUNT,
     "newest.spare.sequence < copy.spare.sequence", "newest.spare.sequence > copy.spare.sequence"),
]
