"""The oracle: its windows, where pages go when space or blocks are short, and its victims."""

PACKAGES = ["ftlab-ftl --test page_granular", "ftlab-ftl --lib oracle"]

ORACLE = "crates/ftl/src/scheme/placement/oracle/mod.rs"
WINDOWS = "crates/ftl/src/scheme/placement/oracle/windows.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("window-ends-early", "windows: a page dies after the end of its window", WINDOWS,
     "((death >> level) + 1) << level", "(death >> level) << level"),
    ("window-of-death-time", "windows: the width follows from the time of death, not from the lifespan", WINDOWS,
     "Lifespans::bin_of(death - now)", "Lifespans::bin_of(death - 0 * now)"),
    ("windows-too-many", "windows: they are not wider if fewer blocks may be open", WINDOWS,
     "best.max(integral / f64::from(open))", "best.max(integral / f64::from(open.max(1 << 16)))"),
    ("windows-too-narrow", "windows: widths are rounded down", WINDOWS,
     "width.log2().round()", "width.log2().floor()"),
    ("windows-by-density", "windows: the width is inverse to the density, not to its root", WINDOWS,
     "let width = scale / density.sqrt();", "let width = scale / density;"),
    ("windows-need-means", "windows: the needed spare is the mean, not the worst case", WINDOWS,
     "2.0 * self.pages_per_block.sqrt() * self.integral", "self.pages_per_block.sqrt() * self.integral"),
    ("oracle-window-stays", "oracle: a window that is over stays open for one more page", ORACLE,
     "filter(|(w, _)| w.end <= now)", "filter(|(w, _)| w.end < now)"),
    ("oracle-first-of-equals", "oracle: of equally near windows the one that ends first is taken", ORACLE,
     "(self.cost_of_misplacing(own, window, written), Reverse(window))\n        };\n"
     "        let later = self.open.range(own..).next();\n"
     "        let least = self.open.range(..own).chain(later).map(cost).min();\n"
     "        least.map(|(_, Reverse(window))| window)",
     "(self.cost_of_misplacing(own, window, written), window)\n        };\n"
     "        let later = self.open.range(own..).next();\n"
     "        let least = self.open.range(..own).chain(later).map(cost).min();\n"
     "        least.map(|(_, window)| window)"),
    ("oracle-only-earlier", "oracle: no page goes to a later window when no more may be open", ORACLE,
     "self.open.range(..own).chain(later).map(cost).min()", "self.open.range(..own).map(cost).min().or(later.map(cost))"),
    ("oracle-waits-unlimited", "oracle: waiting pages may cost more than a copy", ORACLE,
     "written.saturating_mul(wait).min(self.spare_pages)", "written.saturating_mul(wait)"),
    ("oracle-block-waits-once", "oracle: an earlier window costs the wait of one page", ORACLE,
     "written.saturating_mul(wait).min(self.spare_pages)", "(wait + 0 * written).min(self.spare_pages)"),
    ("oracle-far-counts", "oracle: ends far away cost what they are far", ORACLE,
     "self.map.written() + 2 * u64::from(self.map.logical_pages())", "NEVER"),
    ("oracle-any-later", "oracle: when space is short any later window is near", ORACLE,
     "window.end.saturating_sub(own.end) <= own.width()", "window.end.saturating_sub(own.end) <= u64::MAX"),
    ("oracle-no-later", "oracle: when space is short no later window is near", ORACLE,
     "window.end.saturating_sub(own.end) <= own.width()", "window.end.saturating_sub(own.end) < own.width() / own.width()"),
    ("oracle-dead-waits", "oracle: a page is misplaced although a block is dead", ORACLE,
     "Some(window) if valid > 0 =>", "Some(window) if valid < 10_000 =>"),
    ("oracle-reserve-opened", "oracle: the host opens the last erased block", ORACLE,
     "self.open_or_full(nand, own, RESERVE)?", "self.open_or_full(nand, own, RESERVE - 1)?"),
    ("oracle-end-of-old-block", "oracle: a block that is opened keeps the end of its last life", ORACLE,
     "        self.ends[nand.geometry().block_of(frontier.next()).0 as usize] = 0;\n", ""),
    ("oracle-end-of-last-page", "oracle: a block ends when the page written last dies", ORACLE,
     "*end = death.max(*end);", "*end = death;"),
    ("oracle-end-of-first-death", "oracle: a block ends when the first page dies", ORACLE,
     "*end = death.max(*end);", "*end = if *end == 0 { death } else { death.min(*end) };"),
    ("oracle-greedy", "oracle: the block with the fewest valid pages is the victim", ORACLE,
     "Some(scored.reduce(better).map_or(fewest, |best| best.0))", "scored.reduce(better).map(|_| fewest)"),
    ("oracle-victim-dies-soon", "oracle: blocks that die soon are collected first", ORACLE,
     "let benefit = u64::from(np - valid) * left;", "let benefit = u64::from(np - valid) * (far - left);"),
    ("oracle-victim-far", "oracle: a block with a page that never dies is collected again and again", ORACLE,
     "self.ends[block.0 as usize].min(far).saturating_sub(now)", "self.ends[block.0 as usize].min(far.max(NEVER)).saturating_sub(now)"),
    ("oracle-victim-past", "oracle: blocks whose ends are past are the worst victims", ORACLE,
     ".saturating_sub(now).max(1);", ".saturating_sub(now);"),
    ("oracle-copy-never-dies", "oracle: copies go to the window of pages that never die", ORACLE,
     "let death = self.dies_at[nand.owner(ppn).0 as usize];", "let death = self.dies_at[nand.owner(ppn).0 as usize].max(NEVER);"),
    ("oracle-death-too-soon", "oracle: the page that is replaced moves to the window of its successor", ORACLE,
     "let window = self.host_window(nand, own)?;\n        self.dies_at[lpn.0 as usize] = death;",
     "self.dies_at[lpn.0 as usize] = death;\n        let window = self.host_window(nand, own)?;"),
    ("oracle-open-unlimited", "oracle: more blocks may be open than there are extra blocks", ORACLE,
     "open_max: open.min(extra_blocks) as usize,", "open_max: open.max(extra_blocks) as usize,"),
    ("oracle-one-too-many", "oracle: one block too many may be open", ORACLE,
     "if self.open.len() >= self.open_max {", "if self.open.len() > self.open_max {"),
    ("oracle-misplaced-uncounted", "oracle: misplaced pages are not counted", ORACLE,
     "self.counts.misplaced += 1;", "self.counts.misplaced += 0;"),
    ("oracle-open-uncounted", "oracle: the most open blocks are those that are open now", ORACLE,
     "self.counts.most_open.max(self.open.len() as u64)", "self.open.len() as u64"),
]
