"""Several dies: marks in the trim log, waits, and what a mount takes."""

# The checker attacks only these schemes, because the bugs affect all alike.
SCHEMES = "page,fast,lsb"
PACKAGES = ["ftlab-nand", "ftlab-ftl", "ftlab-check"]

CUTS = "crates/nand/src/power_cut.rs"
OPERATIONS = "crates/nand/src/nand/operations.rs"
SHELTER = "crates/ftl/src/part/recovery/pair_shelter.rs"
SURVEY = "crates/ftl/src/part/recovery/survey.rs"
TRIMS = "crates/ftl/src/part/recovery/trim_log/mod.rs"
TRIMS_MOUNT = "crates/ftl/src/part/recovery/trim_log/mount.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("dies-erase-at-once", "dies: an erase does not wait for what made its block garbage", OPERATIONS,
     "        self.let_dies_end();\n",
     ""),
    ("dies-flush-without-mark", "dies: a flush without trims leaves no mark", TRIMS,
     "        if needs_mark || !self.waiting.is_empty() {",
     "        if !self.waiting.is_empty() {"),
    ("dies-mark-at-once", "dies: a mark does not wait for the pages before it", TRIMS,
     "        nand.barrier();\n        nand.wait();\n",
     "        nand.barrier();\n"),
    ("dies-flush-at-once", "dies: a flush is answered before its mark is complete", TRIMS,
     "            self.append(nand)?;\n        }\n        self.marked = nand.wait();\n        Ok(())\n    }\n\n    /// Erases the oldest",
     "            self.append(nand)?;\n        }\n        self.marked = nand.take_sequence() + 1;\n        Ok(())\n    }\n\n    /// Erases the oldest"),
    ("dies-commit-at-once", "dies: programs go on while the commit of a mount is in flight", TRIMS,
     "            self.append(nand)?;\n        }\n        self.marked = nand.wait();\n        Ok(())\n    }\n\n    /// All void",
     "            self.append(nand)?;\n        }\n        self.marked = nand.take_sequence() + 1;\n        Ok(())\n    }\n\n    /// All void"),
    ("dies-unmarked-taken", "dies, mount: pages behind the last mark are taken", TRIMS_MOUNT,
     "            copy.spare.sequence > mark && !shelter",
     "            copy.spare.sequence > mark + 8 && !shelter"),
    ("dies-unmarked-not-void", "dies, mount: pages of the sector log behind the last mark come back later", TRIMS_MOUNT,
     "                    voids.push((ppn..pages_of(geometry, block).end, u64::MAX));",
     "                    voids.push((ppn..ppn, u64::MAX));"),
    ("dies-marked-dropped", "dies, mount: the page before the last mark is dropped", TRIMS_MOUNT,
     "            copy.spare.sequence > mark && !shelter",
     "            copy.spare.sequence + 1 >= mark && copy.spare.owner.is_host() && !shelter"),
    ("dies-shelter-unmarked", "dies, mount: copies in the shelter need a mark", TRIMS_MOUNT,
     " && !shelter.contains(&geometry.block_of(copy.ppn))",
     " && shelter.len() < 1000"),
    ("dies-shelter-at-once", "dies: an upper page does not wait for the copies of its lower pages", SHELTER,
     "            nand.wait();\n        }\n        Ok(())",
     "        }\n        Ok(())"),
    ("dies-dropped-restored", "dies, mount: a copy in the shelter stands in for a page behind the mark", SHELTER,
     " && spare.sequence <= mark {",
     " && spare.sequence <= mark.max(1 << 30) {"),
    ("dies-in-order", "the checker lets every die complete all its operations", CUTS,
     "        let complete = below(of_die.len() + 1);",
     "        let complete = of_die.len();"),
    ("dies-alike", "the checker draws the same for every die", CUTS,
     "        let mut draws = scatter(Ppn(die), draw);",
     "        let mut draws = scatter(Ppn(0), draw);"),
    ("dies-always-idle", "the chip forgets what is in flight", CUTS,
     "        self.in_flight += usize::from(flash.geometry().dies() > 1);",
     "        self.in_flight += usize::from(flash.geometry().dies() > 9);"),
]
