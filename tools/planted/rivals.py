"""Rivals: the threshold of last and the share of a DRAM budget that follow whoever does best."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "last,dftl"
PACKAGES = ["ftlab-ftl --lib", "ftlab-sim --test rivals"]

RIVALS = "crates/ftl/src/part/rivals.rs"
BALANCE = "crates/ftl/src/layer/partitioner/balance.rs"
PARTITIONER = "crates/ftl/src/layer/partitioner/mod.rs"
THRESHOLD = "crates/ftl/src/scheme/last/beyond/threshold.rs"
REGULATOR = "crates/ftl/src/scheme/last/partition_regulator.rs"
FILLING = "crates/ftl/src/scheme/dftl/filling.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("rivals-any-gain", "rivals: any gain is a reason to change", RIVALS,
     "cost(now) - cost(*number) > error.max(lead * cost(now))",
     "cost(now) > cost(*number)"),
    ("rivals-no-error", "rivals: a difference within the standard error is a reason to change", RIVALS,
     "error.max(lead * cost(now))",
     "lead * cost(now)"),
    ("rivals-no-lead", "rivals: it does not matter how large the gain is", RIVALS,
     "error.max(lead * cost(now))",
     "error"),
    ("rivals-no-fading", "rivals: costs of long ago count like new ones", RIVALS,
     "rival.cost_ns = fading * rival.cost_ns + ns;",
     "rival.cost_ns += ns;"),
    ("rivals-squares-stay", "rivals: the error of long ago counts like a new one", RIVALS,
     "*sum = fading * fading * *sum + (one - other) * (one - other);",
     "*sum += (one - other) * (one - other);"),
    ("rivals-counted-again", "rivals: costs before the last comparison are counted again", RIVALS,
     "(ns - core::mem::replace(&mut rival.counted_ns, ns)) as f64",
     "(ns - rival.counted_ns) as f64"),
    ("rivals-first-ahead", "rivals: the first one that is ahead is taken, not the cheapest", RIVALS,
     "ahead.min_by(|&one, &other| cost(one).total_cmp(&cost(other))).unwrap_or(now)",
     "ahead.min().unwrap_or(now)"),
    ("rivals-keep-data", "rivals: writes bring their data", RIVALS,
     "let run = Run { data: Data::None, ..*run };",
     "let run = *run;"),
    ("rivals-no-reset", "rivals: their times count since the mount", RIVALS,
     "            *before_ns = self.timing.serial_ns(nand.tally());",
     "            *before_ns = self.timing.serial_ns(nand.tally()).min(0);"),
    ("threshold-stays", "last, automatic threshold: it is never taken over", THRESHOLD,
     "            self.last.follow(self.rivals.ftl(self.now));\n        }\n    }\n",
     "        }\n    }\n"),
    ("threshold-trims-hidden", "last, automatic threshold: rivals see no trims", THRESHOLD,
     "        self.rivals.trim(first, pages)",
     "        Ok(())"),
    ("threshold-rivals-alike", "last, automatic threshold: no rival is below the first threshold", THRESHOLD,
     "rival.set_threshold(THRESHOLDS[number]);",
     "rival.set_threshold(THRESHOLDS[number.max(FIRST)]);"),
    ("threshold-own-k", "last, automatic threshold: the device keeps its own k", REGULATOR,
     "(self.k, self.hot_blocks) = (other.k, other.hot_blocks);",
     "self.hot_blocks = other.hot_blocks;"),
    ("threshold-own-hot-size", "last, automatic threshold: the device keeps its own size of the hot partition", REGULATOR,
     "(self.k, self.hot_blocks) = (other.k, other.hot_blocks);",
     "self.k = other.k;"),
    ("balance-small-lead", "balance: the boundary moves for half a per cent", BALANCE,
     "lead: 0.01", "lead: 0.005"),
    ("balance-stays", "balance: the boundary never moves", PARTITIONER,
     "                balance.tune();\n", ""),
    ("balance-unfilled", "balance: a map that has grown is filled by misses", PARTITIONER,
     "                    self.map().fill(nand)?;\n", ""),
    ("balance-filled-recent", "balance: entries that nobody has used are evicted last", FILLING,
     "            self.cmt.touch(lpn);\n", ""),
    ("balance-reads-hidden", "balance: rivals see no reads", PARTITIONER,
     "        self.show(|rivals| rivals.read(run))?;\n", ""),
    ("balance-trims-hidden", "balance: rivals see no trims", PARTITIONER,
     "        self.show(|rivals| rivals.trim(first, pages))?;\n", ""),
    ("balance-flushes-hidden", "balance: rivals see no flushes", PARTITIONER,
     "        self.show(|rivals| rivals.flush(only))?;\n", ""),
    ("balance-useless-map", "balance: the map may get more than an entry for every page", BALANCE,
     "SHARES.map(|percent| share(percent).min(useful)).into();",
     "SHARES.map(|percent| share(percent).min(useful + dram)).into();"),
    ("balance-begins-high", "balance: it begins with the largest share", BALANCE,
     "mappings.iter().rposition(|&mapping| mapping <= dram / 2).unwrap_or(0)",
     "mappings.iter().rposition(|&mapping| mapping <= dram).unwrap_or(0)"),
]
