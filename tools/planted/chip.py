"""Spare areas, mounts and tombstones, which all schemes use."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,block"

MOUNTING = "crates/nand/src/nand/mounting.rs"
POOL = "crates/ftl/src/part/map/block_pool.rs"
RECOVERY = "crates/ftl/src/part/recovery/recovery_plan.rs"
RMW = "crates/ftl/src/part/map/rmw.rs"
STORED_PAGES = "crates/nand/src/flash_array/stored_pages.rs"
TRIMS = "crates/ftl/src/part/recovery/trim_log/mod.rs"
TRIM_MOUNT = "crates/ftl/src/part/recovery/trim_log/mount.rs"
TOMBSTONES = "crates/ftl/src/part/recovery/tombstones.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("version-not-kept", "spare areas: a copy gets a new version", STORED_PAGES,
     "Spare { sequence, tentative, kind: kind.unwrap_or(old.kind), ..old }",
     "Spare { sequence, version: sequence, tentative, kind: kind.unwrap_or(old.kind), ..old }"),
    ("older-version-wins", "spare areas: the oldest copy of a page wins", RECOVERY,
     "copy.spare.rank() > best.spare.rank()",
     "copy.spare.rank() < best.spare.rank()"),
    ("sequence-restarts", "spare areas: a mount restarts the sequence", MOUNTING,
     "self.0.sequence = Some(next_sequence.max(self.0.sequence.unwrap_or(1)));",
     "self.0.sequence = Some(self.0.sequence.unwrap_or(next_sequence.min(1)));"),
    ("half-erase-trusted", "mount: a block that looks erased is not erased again", POOL,
     "self.insert(block, true);",
     "self.insert(block, false);"),
    ("given-up-kept", "mount: the block to be given up is kept when no other block is free", RECOVERY,
     "let lost = held.iter().find(|page| !page.has_twin() && !never_answered(&page.copy));",
     "let lost = held.first();"),
    ("base-forgotten", "write: a partial write loses the other sectors of the page", RMW,
     "let content = Content::Host { data, mask, base: base(first) };",
     "let content = Content::Host { data, mask, base: base(first).filter(|_| false) };"),
    ("tombstone-beats-newer", "tombstones: they also remove what was written after them", TOMBSTONES,
     "self.versions.push(version);",
     "self.versions.push(u64::MAX);"),
    ("records-forgotten", "tombstones: a mount reads checkpoints only", TRIM_MOUNT,
     "for copy in active.pages.iter().filter(|_| active.end > 0) {",
     "for copy in active.pages.iter().filter(|_| active.end > 0).take(1) {"),
    ("fallback-segment-erased", "tombstones: a new checkpoint overwrites the fallback segment", TRIMS,
     "(0..SEGMENTS).min_by_key(|&segment| self.born[segment])",
     "(0..SEGMENTS).max_by_key(|&segment| self.born[segment])"),
    ("partial-write-overlays-all", "write: a partial write also changes the other sectors of the page", STORED_PAGES,
     "self.page.meta.clear();\n                }\n                self.page.cells.overlay(0, sectors, owner, mask, data);",
     "self.page.meta.clear();\n                }\n                self.page.cells.overlay(0, sectors, owner, geometry.full_mask(), data);"),
    ("partial-write-loses-base", "write: the base of a partial write is not read", STORED_PAGES,
     "base.filter(|_| mask != geometry.full_mask())",
     "base.filter(|_| mask == geometry.full_mask())"),
    ("rewritten-still-trimmed", "tombstones: a checkpoint repeats trims of pages that were rewritten", TRIMS,
     "        self.trimmed.remove(lpn.0);",
     "        let _ = lpn;"),
]
