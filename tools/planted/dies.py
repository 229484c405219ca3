"""Several dies: waiting for them, marks, what a mount drops, and how the checker draws them."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,lsb,nftl"
PACKAGES = ["ftlab-nand", "ftlab-drive", "ftlab-check"]

CUT = "crates/nand/src/power_cut.rs"
MOUNT = "crates/ftl/src/part/recovery/trim_log/mount.rs"
OPERATIONS = "crates/nand/src/nand/operations.rs"
PLAN = "crates/drive/src/engine/plan.rs"
TRIMS = "crates/ftl/src/part/recovery/trim_log/mod.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("dies-erase-at-once", "dies: an erase does not wait for what made the block garbage", OPERATIONS,
     "        self.let_dies_end();\n        let operation = Interruptible::Erase(block);",
     "        let operation = Interruptible::Erase(block);"),
    ("dies-mark-at-once", "dies: a mark does not wait for what is before it", TRIMS,
     "        nand.barrier();\n        nand.wait();\n        let ppn",
     "        nand.barrier();\n        let ppn"),
    ("dies-answer-before-mark", "dies: a flush is answered before its mark is complete", TRIMS,
     "            self.append(nand)?;\n        }\n        self.marked = nand.wait();\n        Ok(())\n    }\n\n    /// Erases the oldest segment",
     "            self.append(nand)?;\n        }\n        self.marked = nand.take_sequence() + 1;\n        Ok(())\n    }\n\n    /// Erases the oldest segment"),
    ("dies-commit-before-mark", "dies: a mount is answered before its checkpoint is complete", TRIMS,
     "            self.append(nand)?;\n        }\n        self.marked = nand.wait();\n        Ok(())\n    }\n\n    /// All void pages, and",
     "            self.append(nand)?;\n        }\n        self.marked = nand.take_sequence() + 1;\n        Ok(())\n    }\n\n    /// All void pages, and"),
    ("dies-unmarked-taken", "dies: a mount takes pages that were programmed after the last mark", MOUNT,
     "copy.spare.sequence > mark && !shelter",
     "copy.spare.sequence > mark && copy.spare.tentative && !shelter"),
    ("dies-in-order", "dies: the checker interrupts only the last operation", CUT,
     "            die.left = Some(die.below(own.count() + 1));",
     "            die.left = Some(own.count().saturating_sub(die.below(2)));"),
    ("dies-alike", "dies: the checker draws all dies with the same number", CUT,
     "let draws = scatter(Ppn(number), draw);",
     "let draws = scatter(Ppn(0), draw);"),
    ("dies-always-idle", "dies: the checker takes all dies for idle after each operation", CUT,
     "self.in_flight += usize::from(flash.geometry().dies() > 1);",
     "self.in_flight += usize::from(flash.geometry().dies() > 8);"),
    ("dies-never-weak", "dies: the checker leaves no weak page after a brown-out", CUT,
     "    if outcome == Outcome::BrownedOut {",
     "    if outcome == Outcome::BrownedOut && in_flight.is_empty() {"),
    ("dies-one-weak", "dies: the checker leaves only the last page weak after a brown-out", CUT,
     "        for operation in complete {",
     "        for operation in complete.into_iter().next_back() {"),
    ("dies-interrupted-again", "dies: the checker lets a die go on after its interrupted operation", CUT,
     "        self.left = left.checked_sub(1);",
     "        self.left = left.checked_sub(1).or(Some(7));"),
    ("dies-drive-never-waits", "drive: programs and erases pass a barrier", PLAN,
     "        if !self.profile.protected && self.barriers.raise() {",
     "        if self.profile.protected && self.barriers.raise() {"),
    ("dies-protected-waits", "drive: a protected drive waits at barriers", PLAN,
     "        if !self.profile.protected && self.barriers.raise() {",
     "        if self.barriers.raise() {"),
    ("dies-copies-pass", "drive: copies pass a barrier", PLAN,
     "        self.queue_program(own, &program, erase);\n        self.wait_for_barrier(own);",
     "        self.queue_program(own, &program, erase);\n        self.barriers.enter(own);"),
]
