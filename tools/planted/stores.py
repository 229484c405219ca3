"""The workloads lsm and cdn, and folders as traces."""

PACKAGES = ["ftlab-trace --lib"]

LSM = "crates/trace/src/generate/workloads/stores/lsm"
TREE = f"{LSM}/tree.rs"
SHAPE = f"{LSM}/shape.rs"
STORE = f"{LSM}/mod.rs"
FREE = f"{LSM}/free_space.rs"
CDN = "crates/trace/src/generate/workloads/stores/cdn.rs"
PATHS = "crates/trace/src/input/resolve_path.rs"
STORED = "crates/trace/src/input/stored_trace.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("lsm-table-moved-twice", "lsm: the same table of a level is always moved next", TREE,
     "        *moved = Some(table.last());\n", ""),
    ("lsm-level-overfull", "lsm: a level may be twice as large as it should be", TREE,
     "while self.levels[level].entries() > self.shape.target_entries(level)",
     "while self.levels[level].entries() > 2 * self.shape.target_entries(level)"),
    ("lsm-small-tables", "lsm: a few keys that overlap no table become one by themselves", TREE,
     "        (false, true) => start..start + 1,", "        (false, true) => start..start,"),
    ("lsm-overlap-one-short", "lsm: the last table that is overlapped is not merged", TREE,
     "        (true, _) => start..end,", "        (true, _) => start..(end - 1).max(start + 1),"),
    ("lsm-inputs-kept", "lsm: tables that were merged are not discarded", TREE,
     "        let new = self.write(united(keys), level);\n        old.into_iter().for_each(|table| self.discard(table.extents));\n",
     "        let new = self.write(united(keys), level);\n        drop(old);\n"),
    ("lsm-tiers-stay", "lsm, tiered: runs become one of their own level", TREE,
     "let next = (level + 1).min(self.shape.last_level);", "let next = level;"),
    ("lsm-merge-in-one-part", "lsm: a merge discards nothing before all of it is written", TREE,
     "old.len().min(self.shape.merged_tables())", "old.len()"),
    ("lsm-log-kept", "lsm: the log of a memtable that is a table is not discarded", TREE,
     "        self.discard(log);\n", "        drop(log);\n"),
    ("lsm-log-first", "lsm: the log is written before the tables, not beside them", STORE,
     "Some(_) => self.log_done.is_behind(self.work_done),", "Some(_) => true,"),
    ("lsm-levels-share-a-stream", "lsm: all levels have the stream of level 0", STORE,
     "LOG_STREAM + 1 + level as u8", "LOG_STREAM + 1 + (level as u8).min(0)"),
    ("lsm-deleted-tables-read", "lsm: lookups read tables that were discarded", STORE,
     "                self.readable.remove(extent);\n", "                let _ = extent;\n"),
    ("lsm-room-unchecked", "lsm: a store is not refused that needs more room than it has", SHAPE,
     "if need > u128::from(space) {", "if need > u128::MAX / 2 + u128::from(space) {"),
    ("lsm-free-not-joined", "lsm: free places are not joined with those before them", FREE,
     "            (first, pages) = (before, free + pages);\n", "            let _ = (before, free);\n"),
    ("cdn-bucket-not-read", "cdn: a bucket is not read before it is rewritten", CDN,
     "let is_read = self.reads_inputs && self.small.is_written(bucket);", "let is_read = false;"),
    ("cdn-share-of-requests", "cdn: the small store gets its share of the requests, not of the bytes", CDN,
     "let weights = [weigh(parts[0], part_bytes), weigh(parts[1], bucket_bytes)];",
     "let weights = [weigh(parts[0], 1), weigh(parts[1], 1)];"),
    ("cdn-parts-as-large-as-requests", "cdn: parts of a region count as whole requests", CDN,
     "let part_bytes = region_bytes / region_bytes.div_ceil(request_bytes);", "let part_bytes = request_bytes;"),
    ("cdn-fifo-is-lru", "cdn: a read is a use of a region also with fifo", CDN,
     'reads_are_uses: params.choice(EVICT.name) == "lru"', "reads_are_uses: true"),
    ("cdn-region-read-too-soon", "cdn: a region is read while it is written for the first time", CDN,
     "            self.written_regions = self.begun_regions;\n            self.begun_regions = (self.begun_regions + 1).min(self.recency.places());\n",
     "            self.begun_regions = (self.begun_regions + 1).min(self.recency.places());\n            self.written_regions = self.begun_regions;\n"),
    ("cdn-streams-exchanged", "cdn: the streams of the two stores are exchanged", CDN,
     "if write.bucket.is_some() { SMALL_STREAM } else { LARGE_STREAM }", "if write.bucket.is_none() { SMALL_STREAM } else { LARGE_STREAM }"),
    ("folder-hidden-read", "folders: hidden files are read", PATHS,
     "            if name.starts_with('.') {\n", "            if name.starts_with(\"..\") {\n"),
    ("folder-unordered", "folders: files are read from the last one to the first", PATHS,
     "    files.sort();\n    Ok(files)", "    files.sort();\n    files.reverse();\n    Ok(files)"),
    ("folder-digest-of-first", "folders: the digest is that of the first file", STORED,
     "                self.parts().try_for_each(|part| part.digest(&mut hasher))?;",
     "                self.parts().take(1).try_for_each(|part| part.digest(&mut hasher))?;"),
]
