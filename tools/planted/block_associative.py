"""bast, fmax, and the parts that all log-block schemes share."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "bast,fmax"

ASSOCIATIVE = "crates/ftl/src/part/log/block_associative.rs"
LOG_MAP = "crates/ftl/src/part/log/log_map.rs"
LOG_MOUNT = "crates/ftl/src/part/log/log_mount.rs"
MERGE = "crates/ftl/src/part/log/merge.rs"
TIED_LOGS = "crates/ftl/src/part/log/tied_logs.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("log-unfinished-kept", "bast, fmax, mount: an unfinished merge is kept", LOG_MOUNT,
     "(all_have_twins && is_unfinished()).then_some((block, held))",
     "(all_have_twins && false).then_some((block, held))"),
    ("complete-given-up", "bast, fmax, mount: a complete merge is given up because old twins exist", LOG_MOUNT,
     "(all_have_twins && is_unfinished()).then_some((block, held))",
     "all_have_twins.then_some((block, held))"),
    ("complete-suspect-kept", "bast, fmax, mount: a merge that is complete only with the suspect page is moved", LOG_MOUNT,
     "let is_unfinished = || suspect == Some(last) || !is_complete(geometry, &held, newest);",
     "let is_unfinished = || !is_complete(geometry, &held, newest);"),
    ("log-suspect-trusted", "bast, fmax, mount: the suspect page is left where it is", LOG_MOUNT,
     "if let Some(block) = endangered {",
     "if let Some(block) = endangered.filter(|_| false) {"),
    ("log-seal-forgotten", "bast, fmax, mount: erased pages of a data block are trusted", LOG_MOUNT,
     "map.set_closed_data_block(geometry, lbn, *block);",
     "map.set_data_block(geometry, lbn, *block, 0);"),
    ("log-half-erase-trusted", "bast, fmax, mount: blocks without valid pages are not erased again", LOG_MOUNT,
     "map.flat.pool.give_doubtful(block)",
     "crate::contract::BlockLender::give_back(&mut map.flat.pool, block)"),
    ("merge-order-careless", "bast, fmax, merge: a log block counts as in order if a single page is at its own offset", MERGE,
     "match slots.all(|(newest, slot)| newest.0 == slot) {",
     "match slots.any(|(newest, slot)| newest.0 == slot) {"),
    ("merge-dead-is-full", "bast, fmax, merge: a dead log block gets a full merge", MERGE,
     "return MergePlan::Dead;",
     "return MergePlan::Full;"),
    ("merge-source-first", "bast, fmax, merge: the old data block is erased before the last copy", MERGE,
     "let filled = map.gather(nand, lbn, 0..nand.geometry().pages_per_block(), clean, MERGE)?;",
     "if let Some(old) = map.data_block(lbn) { nand.erase(old, MERGE)?; }\n        let filled = map.gather(nand, lbn, 0..nand.geometry().pages_per_block(), clean, MERGE)?;"),
    ("log-written-is-allocated", "bast, fmax, victims: each uses the other's policy", ASSOCIATIVE,
     "if self.victim == VictimOrder::LeastRecentlyWritten {",
     "if self.victim != VictimOrder::LeastRecentlyWritten {"),
    ("log-early-merge", "bast, fmax: a log block is merged although one is still free", TIED_LOGS,
     "self.queue.first().filter(|_| self.queue.len() == self.most)",
     "self.queue.first().filter(|_| self.queue.len() + 1 == self.most.max(2))"),
    ("log-home-after-log", "bast, fmax: the last erased page of a data block is not written in place", LOG_MAP,
     "_ if offset >= filled => WriteTarget::Home(most),",
     "_ if offset > filled => WriteTarget::Home(most),"),
    ("log-trim-forgotten", "bast, fmax, tombstones: a trim is not recorded", LOG_MAP,
     "            self.flat.note_trimmed(nand, run)?;",
     "            let _ = run;"),
]
