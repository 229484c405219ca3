"""Victim policies: their fast forms, and the valid counts below them."""

PACKAGES = ["ftlab-ftl --test page_granular"]

VICTIMS = "crates/ftl/src/part/page/victims"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("greedy-without-dead-page", "greedy: a block without a dead page is a victim", f"{VICTIMS}/valid_counts.rs",
     "(valid < self.pages_per_block).then_some(block)",
     "(valid <= self.pages_per_block).then_some(block)"),
    ("fifo-second", "fifo: the block opened second goes first", f"{VICTIMS}/fifo.rs",
     "find(|&block| counts.of_full(block).is_some())",
     "filter(|&block| counts.of_full(block).is_some()).take(2).last()"),
    ("benefit-tie", "cost_benefit: among equally old blocks the one closed first goes", f"{VICTIMS}/cost_benefit.rs",
     "Score { block: self.lowest_as_old(oldest, valid as u16), ..score }",
     "Score { block: self.lowest_as_old(oldest, valid as u16).max(oldest), ..score }"),
    ("benefit-first-leader", "cost_benefit: a later equal score never wins", f"{VICTIMS}/cost_benefit.rs",
     "best.cmp_value(&score).is_gt()",
     "best.cmp_value(&score).is_ge()"),
    ("benefit-dead-waits", "cost_benefit: of several dead blocks the oldest goes", f"{VICTIMS}/cost_benefit.rs",
     "0 => self.full.oldest_first(0).min(),",
     "0 => self.full.oldest_first(0).next(),"),
    ("age-renumber-reversed", "age index: renumbering makes old blocks young", f"{VICTIMS}/age_index.rs",
     "blocks.into_iter().zip(valid_at)",
     "blocks.into_iter().zip(valid_at).rev()"),
    ("draws-too-few", "dchoices: one draw fewer than asked for", f"{VICTIMS}/d_choices.rs",
     "(0..self.d).filter_map",
     "(0..self.d.max(2) - 1).filter_map"),
    ("draws-slot-forgotten", "draw list: the block that fills a gap keeps its old slot", f"{VICTIMS}/draws.rs",
     "self.slot_of[moved.0 as usize] = slot as u32;",
     "let _ = moved;"),
    ("counts-open-forgotten", "valid counts: pages superseded in an open block are valid again",
     f"{VICTIMS}/valid_counts.rs",
     "let valid = programmed as u16 - superseded;",
     "let valid = programmed as u16;"),
    ("victims-open-followed", "victims: policies are told of invalidations in open blocks", f"{VICTIMS}/mod.rs",
     "if let Some(valid) = self.counts.of_full(block) {",
     "if let Some(valid) = self.counts.of_full(block).or(Some(0)) {"),
]
