"""lsb: portions, chains, spare areas, garbage collection across superblocks, mounts."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "lsb"

LSB = "crates/ftl/src/scheme/lsb/mod.rs"
CHAINS = "crates/ftl/src/scheme/lsb/group_chains.rs"
LINKS = "crates/ftl/src/scheme/lsb/chain_links.rs"
PORTIONS = "crates/ftl/src/scheme/lsb/portions.rs"
ROOM = "crates/ftl/src/scheme/lsb/room.rs"
SHEET = "crates/ftl/src/part/spare/spare_sheet.rs"
SUPERBLOCKS = "crates/ftl/src/part/spare/superblocks.rs"
MAPPED = "crates/ftl/src/part/spare/spare_mapped.rs"
MOUNT = "crates/ftl/src/part/spare/spare_mount.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("lsb-never-induced", "lsb, induced writes: none is ever made", PORTIONS,
     "let role = self.make_fit(nand, source, last, to)?;",
     "let role = Role::Directory;"),
    ("lsb-no-room-to-induce", "lsb, room: no page is reserved for a possible induced write", CHAINS,
     "pages.len() as u32 + induced + u32::from(alone)",
     "pages.len() as u32 + 0 * (induced + u32::from(alone))"),
    ("lsb-overwritten-table-serves", "lsb, chains: an overwritten PT page is still used", CHAINS,
     "        if *table == *carrier {\n            *table = NONE;\n        }\n", ""),
    ("lsb-stale-forgotten", "lsb, chains: an outdated PT page counts as up to date", CHAINS,
     "        self.stale[lpn as usize / 64] |= 1 << (lpn % 64);\n", ""),
    ("lsb-wrong-table-copied", "lsb, induced writes: the lowest page is copied instead of the PT page", CHAINS,
     "let table = self.page_of(at, self.group(at).table).filter(|&table| table != lpn);",
     "let table = self.page_of(at, self.group(at).table).filter(|&table| table != lpn && table.0 == 0);"),
    ("lsb-last-page-knows-no-groups", "lsb, portions: the next to last page of the last group is not a PT page", PORTIONS,
     "(None, own) if own == group(last) => Role::Table { but: Some(last) },",
     "(None, own) if own == group(last) => Role::Plain,"),
    ("lsb-reserve-opened", "lsb, room: a host write opens a block of the reserve", ROOM,
     "self.map.flat.pool.len() >= RESERVE + missing", "self.map.flat.pool.len() + 1 >= RESERVE + missing"),
    ("lsb-trim-without-anchor", "lsb, trims: nothing is copied when a PT page is trimmed", CHAINS,
     "(loses_table || loses_carrier).then(|| Lpn(first + lowest as u32))",
     "(loses_table && loses_carrier).then(|| Lpn(first + lowest as u32))"),
    ("lsb-wide-read-as-narrow", "lsb, chains: a wide PMD page's entries for groups are read as normal ones", LINKS,
     "            (SheetForm::WideDirectory, Some(wide)) => {\n                wide.group(",
     "            (SheetForm::WideDirectory, Some(wide)) if link.bytes.is_empty() => {\n                wide.group("),
    ("lsb-wide-not-found", "lsb, mount: wide PMD pages are not recognised", LINKS,
     "matches!(kind, page_kind::DIRECTORY | page_kind::WIDE_DIRECTORY)", "matches!(kind, page_kind::DIRECTORY)"),
    ("lsb-tight-for-ever", "lsb, room: tight collection never ends", ROOM,
     "            self.is_tight = false;\n        }\n        self.collect_until(", "        }\n        self.collect_until("),
    ("lsb-never-tight", "lsb, room: tight collection never starts", ROOM,
     "        !self.is_tight && self.chains.layout().wide.is_some()",
     "        !self.is_tight && self.chains.layout().wide.is_none()"),
    ("lsb-mount-by-the-papers-rule", "lsb, mount: collection follows the paper's rule, however long it takes", LSB,
     "        if self.can_tighten() {\n            self.tighten();\n        }\n", ""),
    ("sheet-wide-own-entry-counted", "spare areas: in a wide page, entries after its own are read from the wrong place", SHEET,
     "which - u32::from(which > but)", "which - u32::from(which > but + 1)"),
    ("lsb-aside-for-ever", "lsb, victims: a block set aside stays so when its superblock has room for it", SUPERBLOCKS,
     "self.offer_again(superblock, self.room(superblock));",
     "self.offer(superblock);"),
    ("lsb-miss-is-free", "lsb, map cache: a miss reads the PMD page only", LSB,
     "nand.book_spare_reads(self.spares.iter().copied(), Cause::Map)?;",
     "nand.book_spare_reads(self.spares.iter().copied().take(1), Cause::Map)?;"),
    ("lsb-suspect-left", "lsb, mount: the suspect page is left where it is", LSB,
     "self.copy_suspects(nand, &recovered.to_copy)?,",
     "self.copy_suspects(nand, &recovered.to_copy[..0])?,"),
    ("lsb-destroyed-alone", "lsb, mount: destroyed pages are copied without the others of their block", LSB,
     "Some(&destroyed) if recovered.suspects.are_destroyed => {",
     "Some(&destroyed) if recovered.suspects.are_destroyed && recovered.to_copy.is_empty() => {"),
    ("sheet-flag-lost", "spare areas: PMD pages are flagged as PT pages", SHEET,
     "BitWriter::new(bytes, 0).push(flag.into(), 1);", "BitWriter::new(bytes, 0).push(u32::from(flag) & 0, 1);"),
    ("sheet-own-block-listed", "spare areas: the page's own block takes a block number of the PBMT", SHEET,
     "        if block == self.own {\n            return Some(THIS);\n        }\n",
     "        if block == self.own && self.len > 0 {\n            return Some(THIS);\n        }\n"),
    ("mount-oldest-directory", "mount: an older PMD page is taken for the newest", MOUNT,
     "if self.sequence(*newest) < copy.spare.sequence {",
     "if self.sequence(*newest).wrapping_sub(1) > copy.spare.sequence {"),
]
