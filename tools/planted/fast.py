"""fast and the fully associative log."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "fast"

FAST = "crates/ftl/src/scheme/fast/mod.rs"
ASSOCIATIVE = "crates/ftl/src/part/log/fully_associative.rs"
RANDOM = "crates/ftl/src/part/log/random_log.rs"
SEQUENTIAL = "crates/ftl/src/part/log/sequential_block.rs"
MERGE = "crates/ftl/src/part/log/merge.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("fast-run-passes-stream", "fast, write: a run to the random log includes the page that is next in the stream", ASSOCIATIVE,
     "TargetBlock::Random(pages.min(next.0 - lpn.0))", "TargetBlock::Random(pages)"),
    ("fast-youngest-victim", "fast, victim: the youngest random log block is reclaimed", RANDOM,
     "self.blocks.iter().position(is_victim)", "self.blocks.iter().rposition(is_victim)"),
    ("fast-associated-twice", "fast, merge: a data block is merged once for each of its pages", RANDOM,
     "if !self.is_listed.contains(lbn) {", "if !self.is_listed.contains(lbn) || self.lbns.len() < 4 {"),
    ("fast-scratch-kept", "fast, merge: data blocks of earlier merges are taken for already listed", RANDOM,
     "self.lbns.drain(..).for_each(|lbn| self.is_listed.remove(lbn));", "self.lbns.clear();"),
    ("fast-budget-without-sw", "fast, budget: the SW block is not charged", ASSOCIATIVE,
     "log_blocks.saturating_sub(self.streams.blocks() + self.aside)", "log_blocks.saturating_sub(self.aside)"),
    ("fast-shrinks-late", "fast, budget: excess blocks are kept until the next write", FAST,
     "while self.log.is_over_its_maximum() {", "while self.log.random.len() > self.log.log_blocks() + 9 {"),
    ("fast-stream-beside-excess", "fast, mount: a stream opens although there are too many random log blocks", ASSOCIATIVE,
     "TargetBlock::NewSequential if !is_over =>", "TargetBlock::NewSequential if !is_over || may_grow || true =>"),
    ("fast-found-youngest-first", "fast, mount: the log is taken over in reverse order", FAST,
     "for found in found {", "for found in found.into_iter().rev() {"),
    ("fast-full-stream-goes-on", "fast, stream: a full SW block accepts the first page of the next logical block", SEQUENTIAL,
     ".filter(|_| !is_full);", ".filter(|_| !is_full || log.filled > 0);"),
    ("fast-stale-stream-switched", "fast, stream: a partial merge happens despite stale pages", MERGE,
     "match slots.all(|(newest, slot)| newest.0 == slot) {", "match slots.next().is_some_and(|(newest, slot)| newest.0 == slot) {"),
    ("fast-stream-counts-as-random", "fast, figures: associated blocks of random victims are miscounted", ASSOCIATIVE,
     "merge::count(&mut self.random_associated, associated.len());", "merge::count(&mut self.random_associated, 1);"),
    ("fast-run-ignored-default", "fast: without the parameter a run opens the SW block", FAST,
     ".unwrap_or(Streams::AtOffset0)", ".unwrap_or(Streams::ByRun)"),
]
