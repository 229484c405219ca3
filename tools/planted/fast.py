"""fast, and the log of fully associative blocks."""

# Which schemes the attacks of the checker are worth running on.
SCHEMES = "fast"

FAST = "crates/ftl/src/scheme/fast/mod.rs"
ASSOCIATIVE = "crates/ftl/src/part/log/fully_associative.rs"
RANDOM = "crates/ftl/src/part/log/random_log.rs"
SEQUENTIAL = "crates/ftl/src/part/log/sequential_block.rs"
MERGE = "crates/ftl/src/part/log/merge.rs"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("fast-run-passes-stream", "fast, write: a run passes over the page that is next in the stream", ASSOCIATIVE,
     "TargetBlock::Random(pages.min(next.0 - lpn.0))", "TargetBlock::Random(pages)"),
    ("fast-youngest-victim", "fast, victim: the youngest random log block is reclaimed", RANDOM,
     "self.blocks.pop_front()", "self.blocks.pop_back()"),
    ("fast-associated-twice", "fast, merge: a data block is merged once for each of its pages", RANDOM,
     "if !self.is_listed.contains(lbn) {", "if !self.is_listed.contains(lbn) || self.lbns.len() < 4 {"),
    ("fast-scratch-kept", "fast, merge: data blocks merged before are taken for listed", RANDOM,
     "self.lbns.drain(..).for_each(|lbn| self.is_listed.remove(lbn));", "self.lbns.clear();"),
    ("fast-budget-without-sw", "fast, budget: the SW block is not paid for", ASSOCIATIVE,
     "log_blocks.saturating_sub(1 + self.aside).max(1)", "log_blocks.saturating_sub(self.aside).max(1)"),
    ("fast-shrinks-late", "fast, budget: blocks above it are kept until a write", FAST,
     "while self.log.is_over_its_share() {", "while self.log.random.len() > self.log.log_blocks() + 9 {"),
    ("fast-stream-beside-excess", "fast, mount: a stream opens beside more random log blocks than there may be", ASSOCIATIVE,
     "TargetBlock::NewSequential if !is_over =>", "TargetBlock::NewSequential if !is_over || may_grow || true =>"),
    ("fast-found-youngest-first", "fast, mount: the log comes back in reverse", FAST,
     "for found in found {", "for found in found.into_iter().rev() {"),
    ("fast-full-stream-goes-on", "fast, stream: a full block takes the first page of the next logical block", SEQUENTIAL,
     ".filter(|_| !is_full);", ".filter(|_| !is_full || log.filled > 0);"),
    ("fast-stale-stream-switched", "fast, stream: its start is merged partially, stale pages or not", MERGE,
     "match slots.all(|(newest, slot)| newest.0 == slot) {", "match slots.next().is_some_and(|(newest, slot)| newest.0 == slot) {"),
    ("fast-stream-counts-as-random", "fast, figures: random victims are not counted apart", ASSOCIATIVE,
     "merge::count(&mut self.random_associated, associated.len());", "merge::count(&mut self.random_associated, 1);"),
    ("fast-tombstones-after", "fast, merge: waiting trims are not written down before it", MERGE,
     "pub fn bring_home(nand: &mut Nand, map: &mut LogMap<impl BlockObserver>, lbn: Lbn) -> Result<()> {\n    map.flat.flush(nand)?;\n",
     "pub fn bring_home(nand: &mut Nand, map: &mut LogMap<impl BlockObserver>, lbn: Lbn) -> Result<()> {\n"),
]
