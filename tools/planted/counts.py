"""What a mount counts in each block: valid pages, programmed pages, free blocks."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,block,superblock,nftl,faster"
PACKAGES = ["ftlab-ftl", "ftlab-check"]

BLOCK = "crates/ftl/src/scheme/block.rs"
BLOCK_AUDIT = "crates/ftl/src/part/recovery/block_audit.rs"
FASTER = "crates/ftl/src/scheme/faster/mod.rs"
FLASH_ARRAY = "crates/nand/src/flash_array/mod.rs"
LOG_MAP = "crates/ftl/src/part/log/log_map.rs"
PAGE_MAP = "crates/ftl/src/part/page/page_map.rs"
POOL = "crates/ftl/src/part/map/block_pool.rs"
SECTOR_RING = "crates/ftl/src/layer/sector_log/sector_ring.rs"
SPARE_MOUNT = "crates/ftl/src/part/spare/spare_mount.rs"
SUPERBLOCKS = "crates/ftl/src/part/spare/superblocks.rs"
TIED = "crates/ftl/src/part/log/tied_logs.rs"
TRIMS = "crates/ftl/src/part/recovery/trim_log/mod.rs"
VICTIMS = "crates/ftl/src/part/page/victims/mod.rs"
SPARE_SCAN = "crates/ftl/src/part/recovery/spare_scan.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("count-page-shifted", "page map, mount: a valid page of the last full block is counted in the first one", PAGE_MAP,
     "        for (sequence, block) in full {\n",
     "        if let [(_, first), .., (_, last)] = full[..] {\n"
     "            valid[first.0 as usize] += 1;\n            valid[last.0 as usize] -= 1;\n        }\n"
     "        for (sequence, block) in full {\n"),
    ("count-page-block-lost", "page map, mount: the last free block is in no list", PAGE_MAP,
     "        // The fallback goes last: the mount itself",
     "        free.pop();\n        // The fallback goes last: the mount itself"),
    ("count-victims-shifted", "victims: the policy is told one valid page too few when a block closes", VICTIMS,
     "self.selector.closed(block, valid, now);",
     "self.selector.closed(block, valid.saturating_sub(1), now);"),
    ("count-log-shifted", "log map, mount: a valid page of the last block is counted in the first one", LOG_MAP,
     "            self.supersede(geometry, lpn, ppn);\n        }\n",
     "            self.supersede(geometry, lpn, ppn);\n        }\n        let held = |count: &u16| *count > 0;\n        if let (Some(a), Some(b)) = (self.valid.iter().position(held), self.valid.iter().rposition(held)) {\n            self.valid[a] += 1;\n            self.valid[b] -= 1;\n        }\n"),
    ("count-log-block-short", "tied logs, mount: an occupied log block is recorded with one page too few", TIED,
     "LogBlock { block, filled: self.pages_per_block }",
     "LogBlock { block, filled: self.pages_per_block - 1 }"),
    ("count-data-block-short", "log map, mount: a data block is recorded with one programmed page too few", LOG_MAP,
     "let (first, filled) = (lbn * self.pages_per_block, self.pages_per_block);",
     "let (first, filled) = (lbn * self.pages_per_block, self.pages_per_block - 1);"),
    ("count-home-short", "log map, write: the last page written at home counts as erased", LOG_MAP,
     "used.insert_all(lpn.0..lpn.0 + done);",
     "used.insert_all(lpn.0..lpn.0 + done - 1);"),
    ("count-home-long", "log map, write: the page after those written at home counts as programmed", LOG_MAP,
     "self.homes[lbn as usize] = Home { block: Some(block), filled: offset + done };",
     "let filled = (offset + done + 1).min(self.pages_per_block);\n"
     "        self.homes[lbn as usize] = Home { block: Some(block), filled };"),
    ("count-block-short", "block, mount: the last page of each block that was found counts as erased", BLOCK,
     "self.used.insert_all(lbn * per_block..(lbn + 1) * per_block);",
     "self.used.insert_all(lbn * per_block..(lbn + 1) * per_block - 1);"),
    ("count-torn-free", "superblock, lsb, mount: a torn page at the end of a block counts as free", SPARE_SCAN,
     "has(COUNTS | UNREADABLE)",
     "has(COUNTS)"),
    ("count-erased-occupied", "superblock, lsb, mount: erased pages at the end of a block count as occupied", SPARE_MOUNT,
     "map.blocks.adopt(superblock, block, pages, scan.occupied(block));",
     "map.blocks.adopt(superblock, block, pages, geometry.pages_per_block());"),
    ("count-occupied-shifted", "superblock, lsb, mount: an occupied page of the first block is counted in the last one", SPARE_MOUNT,
     "    for block in used {\n        let (superblock, pages) = valid[block.0 as usize];\n        map.blocks.adopt(superblock, block, pages, scan.occupied(block));\n",
     "    let [first, last] = [used.first().copied(), used.last().copied()];\n    for block in used {\n        let (superblock, pages) = valid[block.0 as usize];\n        let occupied = scan.occupied(block) + u32::from(Some(block) == last);\n        let occupied = occupied - u32::from(Some(block) == first);\n        map.blocks.adopt(superblock, block, pages, occupied.clamp(pages, geometry.pages_per_block()));\n"),
    ("count-superblock-lost", "superblock, lsb, mount: the last free block is in no list", SPARE_MOUNT,
     "    map.flat.pool.drain();\n",
     "    free.pop();\n    map.flat.pool.drain();\n"),
    ("count-closed-early", "superblock, lsb: a block that is closed early is recorded as full", SUPERBLOCKS,
     "self.shelve(block, self.pages_per_block - free);",
     "self.shelve(block, self.pages_per_block);"),
    ("count-carried-short", "faster, mount: one carried slot too few", FASTER,
     ".map_or(0, |last| last as u32 + 1);\n        let block",
     ".map_or(0, |last| last as u32);\n        let block"),
    ("count-ring-short", "sector log, mount: the head is recorded with one page too few", SECTOR_RING,
     "        ring.used = ring.free.drain(..used.len()).collect();\n",
     "        ring.used = ring.free.drain(..used.len()).collect();\n"
     "        ring.filled -= u32::from(!used.is_empty());\n"),
    ("count-trims-long", "trim log: each page that it programs counts as two", TRIMS,
     "        self.used += 1;\n        Ok(nand.program(ppn, &page, Cause::Meta)?)",
     "        self.used = (self.used + 2).min(self.capacity(nand));\n        Ok(nand.program(ppn, &page, Cause::Meta)?)"),
    ("count-doubtful-clean", "free blocks: a block that a mount gives up counts as erased", POOL,
     "self.insert(block, true);", "self.insert(block, false);"),
    ("audit-torn-erased", "audit: a torn page counts as erased", FLASH_ARRAY,
     "Lpn::SYSTEM if self.keeps_pages() => Ok(self.state(ppn)? == PageState::Erased),",
     "Lpn::SYSTEM if self.keeps_pages() => Ok(self.state(ppn)? != PageState::Erased),"),
    ("audit-closed-always", "audit: every block counts as closed", BLOCK_AUDIT,
     "if recorded == most {", "if recorded <= most {"),
]
