"""last: its logs, its merge-cost table and its regulators."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "last"

LAST = "crates/ftl/src/scheme/last/mod.rs"
LOG_MAP = "crates/ftl/src/part/log/log_map.rs"
COSTS = "crates/ftl/src/scheme/last/merge_costs.rs"
SEQUENTIAL = "crates/ftl/src/scheme/last/sequential_log.rs"
RANDOM = "crates/ftl/src/scheme/last/random_partition.rs"
REGULATOR = "crates/ftl/src/scheme/last/partition_regulator.rs"
REPLACEMENT = "crates/ftl/src/scheme/last/replacement.rs"
EARNINGS = "crates/ftl/src/scheme/last/beyond/earnings.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("last-k-included", "last, hot pages: a distance of exactly k counts as hot", LAST,
     "Some(distance) if distance < self.regulator.k() => Partition::Hot,",
     "Some(distance) if distance <= self.regulator.k() => Partition::Hot,"),
    ("last-single-page-sequential", "last, detector: a run of one page of a large request is sequential", LAST,
     "let is_large = run.request_bytes > self.threshold_bytes && run.pages > 1;",
     "let is_large = run.request_bytes > self.threshold_bytes;"),
    ("last-cold-first", "last, victim: a cold block is preferred to a dead hot one", REPLACEMENT,
     "hot.filter(goes).or(costs.cheapest(Partition::Cold)).or(hot)",
     "costs.cheapest(Partition::Cold).or(hot.filter(goes)).or(hot)"),
    ("last-old-stays", "last, victim: a hot block never becomes too old", REPLACEMENT,
     "costs.associated(*hot) == 0 || self.random.age(geometry, *hot) > old",
     "costs.associated(*hot) == 0 || self.random.age(geometry, *hot) > old.pow(4)"),
    ("last-size-exceeded", "last, partitions: a partition may have one block too many", REPLACEMENT,
     "let is_at_its_size = self.random.blocks_of(partition) >= self.size_of(partition);",
     "let is_at_its_size = self.random.blocks_of(partition) > self.size_of(partition);"),
    ("last-decided-late", "last, hot pages: hot or cold is decided after room was made", LAST,
     "                TargetLog::Random(partition) if self.random.has_room(partition) => {\n                    return self.write_random(nand, run, index, partition);",
     "                TargetLog::Random(partition) if self.random.has_room(partition) => {\n                    let late = self.partition_of(nand.geometry(), lpn);\n                    let partition = if self.random.has_room(late) { late } else { partition };\n                    return self.write_random(nand, run, index, partition);"),
    ("last-hot-kind-lost", "last, mount: hot pages become cold", LAST,
     "Partition::Hot => page_kind::HOT,", "Partition::Hot => page_kind::DATA,"),
    ("last-first-interval", "last, mount: the first interval is compared with an empty log", LAST,
     "        ftl.regulator.start(ftl.partition_state());\n", ""),
    ("costs-not-lowered", "last, merge costs: Na stays when a page leaves", COSTS,
     "self.set(block, self.associated(block) - 1);", "self.set(block, self.associated(block));"),
    ("costs-ties", "last, merge costs: all cold blocks with valid pages count as equally cheap", COSTS,
     "Partition::Cold => associated,", "Partition::Cold => associated.min(1),"),
    ("trim-unnoticed", "last, merge costs: Na stays when a page is trimmed", LOG_MAP,
     "self.leave(nand.geometry(), lpn, old);",
     "self.valid[nand.geometry().block_of(old).0 as usize] -= 1;"),
    ("sequential-hole-lost", "last, merge: a page that the log block skipped and that was since written at home is erased", SEQUENTIAL,
     "_ if valid < owned.held || would_lose(map, geometry, lbn, owned) => MergePlan::Full,",
     "_ if valid < owned.held => MergePlan::Full,"),
    ("sequential-whole-waits", "last, sequential victim: a fully valid block is not preferred", SEQUENTIAL,
     "            if map.valid(block) == map.pages_per_block() {\n                return Some(lbn);\n            }\n            self.whole.set(block, NOT_WHOLE);",
     "            let _ = lbn;\n            self.whole.set(block, NOT_WHOLE);"),
    ("sequential-not-touched", "last, sequential victim: a write does not make a block recent", SEQUENTIAL,
     "        self.queue.touch(lbn);\n", ""),
    ("sequential-stale-partial", "last, merge: a block with a stale page becomes the data block", SEQUENTIAL,
     "_ if valid < owned.held || would_lose", "_ if would_lose"),
    ("random-clock-stands", "last, hot pages: the counter of random-log pages does not advance", RANDOM,
     "        self.clock += 1;\n", "        self.clock = self.clock.max(1);\n"),
    ("random-distance-short", "last, hot pages: the distance does not include the page being written", RANDOM,
     "date => Some(self.clock + 1 - date),", "date => Some(self.clock - date),"),
    ("regulator-wrong-way", "last, adaptation: more dead blocks enlarge the hot partition", REGULATOR,
     "self.hot_blocks -= 1;", "self.hot_blocks += 1;"),
    ("ghost-any-run", "last, adaptive sizes: a run that starts anew hits a ghost", EARNINGS,
     "self.hits[depth] += u64::from(ghost.end <= offset);", "self.hits[depth] += u64::from(ghost.end <= offset + 1);"),
    ("saved-always", "last, adaptive sizes: a merge counts as avoidable although a page was not rewritten", EARNINGS,
     "blocks.filter(|pages| !pages.iter().any(is_home))", "blocks.filter(|pages| !pages.iter().all(is_home))"),
]
