"""superblock: the limit of blocks, reclamation, spare areas, mounts."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "superblock"
PACKAGES = ["ftlab-ftl", "ftlab-check", "ftlab --test replays"]

SUPERBLOCK = "crates/ftl/src/scheme/superblock/mod.rs"
CARRIERS = "crates/ftl/src/scheme/superblock/carriers.rs"
SUPERBLOCKS = "crates/ftl/src/part/spare/superblocks.rs"
MAP = "crates/ftl/src/part/spare/spare_map.rs"
MAPPED = "crates/ftl/src/part/spare/spare_mapped.rs"
HEAPS = "crates/ftl/src/part/spare/block_heaps.rs"
MOUNT = "crates/ftl/src/part/spare/spare_mount.rs"
SPARE_SCAN = "crates/ftl/src/part/recovery/spare_scan.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("superblock-collects-late", "superblock, limit: collection starts when there is no longer room for the moved pages", SUPERBLOCK,
     "worth.is_some_and(|valid| self.map.open_room(superblock) <= valid)",
     "worth.is_some_and(|valid| self.map.open_room(superblock) < valid)"),
    ("superblock-ninth-block", "superblock, limit: a host write opens one block too many", SUPERBLOCK,
     "let may_open = has < self.blocks_max", "let may_open = has <= self.blocks_max"),
    ("superblock-one-dead-block", "superblock, collection: inside a superblock only one dead block is erased at a time", SUPERBLOCK,
     "            self.reclaim(nand, block)?;\n        }\n        Ok(())",
     "            return self.reclaim(nand, block);\n        }\n        Ok(())"),
    ("superblock-device-first", "superblock, collection: the whole device is searched although the superblock has update blocks", SUPERBLOCK,
     "if must_collect || has > self.map.logical_blocks_of(superblock) {",
     "if must_collect || has > self.map.logical_blocks_of(superblock) + 1 {"),
    ("superblock-last-one-whole", "superblock: the last one counts as large as the others", MAP,
     "self.blocks_per_superblock.min(self.logical_blocks - first)",
     "self.blocks_per_superblock.max(self.logical_blocks - first)"),
    ("superblock-open-always-victim", "superblock, victims: dead open blocks are offered without the option", SUPERBLOCKS,
     "if self.offers_open && 0 < room", "if 0 < room"),
    ("superblock-open-stays", "full merge: the open block is not closed when a second victim is needed", MAPPED,
     "second = self.map_mut().blocks.close(nand.geometry(), superblock);",
     "second = self.map_mut().blocks.close(nand.geometry(), superblock).filter(|_| false);"),
    ("superblock-pmd-stale", "superblock, spare areas: the PMD omits a group whose newest page is the first of the logical block", CARRIERS,
     "            NO_PAGE => own,\n", "            NO_PAGE | 0 => own,\n"),
    ("superblock-trim-first", "superblock, trims: pages are removed before others are copied for them", SUPERBLOCK,
     "        // Copied first, while all pages to which their entries refer still exist.\n",
     "        self.map.unmap(nand, lbn, &pages);\n"),
    ("superblock-block-trimmed-in-part", "superblock, trims: a logical block trimmed completely has tombstones only for its last pages", MAP,
     "        if self.directory(lbn).is_none() {\n            return self.flat.note_trimmed(nand, self.page(lbn, 0).0..self.page(lbn + 1, 0).0);\n        }\n", ""),
    ("superblock-free-in-order", "mount: the fallback is erased before the suspect page is copied", MOUNT,
     "free.sort_by_key(|block| plan.fallback.contains(block));",
     "free.sort_by_key(|block| !plan.fallback.contains(block));"),
    ("superblock-nothing-given-up", "mount: an unfinished merge into the last free block is kept", MOUNT,
     "                self.fill(flat, changed, &without)?;\n                let (directories, given_up) = (without, Some(block));\n",
     "                let given_up = None;\n"),
    ("heap-ties-any", "victims: ties go to any block", HEAPS,
     "(self.nodes[a as usize].number, a) < (self.nodes[b as usize].number, b)",
     "self.nodes[a as usize].number < self.nodes[b as usize].number"),
    ("mount-torn-is-free", "mount: a torn page at the end of a block counts as free", SPARE_SCAN,
     "has(COUNTS | UNREADABLE)",
     "has(COUNTS)"),
    ("mount-original-given-up", "mount: the block to be given up may hold the only copy of the last write", MOUNT,
     "let never_answered = || had > before && self.is_copy(lpn, block);",
     "let never_answered = || had > before;"),
    ("mount-old-copy-given-up", "mount: the block to be given up may hold the only copy of an older write", MOUNT,
     "let never_answered = || had > before && self.is_copy(lpn, block);",
     "let never_answered = || self.is_copy(lpn, block);"),
    ("superblock-commit-before-copy", "superblock, mount: the commit comes before the suspect page is copied", SUPERBLOCK,
     "        if let Some(&suspect) = recovered.to_copy.first() {",
     "        self.map.flat.commit_recovery(nand, &recovered.suspects)?;\n        if let Some(&suspect) = recovered.to_copy.first() {"),
    ("stale-chain-followed", "superblock, lsb, mount: a chain may lead to a page that is newer than its PMD page", MOUNT,
     "newest == Some(written) =>",
     "newest.is_some() =>"),
]
