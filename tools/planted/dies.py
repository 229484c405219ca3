"""Several dies: waiting for them, marks, what a mount drops, and how the checker draws them."""

# The checker attacks only these schemes, because the bugs affect no others.
SCHEMES = "page,lsb,nftl"
PACKAGES = ["ftlab-nand", "ftlab-ftl --lib", "ftlab-drive", "ftlab-sim --test drive", "ftlab-check"]

CUT = "crates/nand/src/power_cut.rs"
FLASH = "crates/nand/src/flash_array/mod.rs"
RECORDED = "crates/drive/src/recorded.rs"
RECORDER = "crates/drive/src/recorder.rs"
SHELTER = "crates/ftl/src/part/recovery/pair_shelter.rs"
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
     "        self.append(nand)?;\n        self.marked = nand.wait();\n        Ok(())\n    }\n\n    fn erase_segment",
     "        self.append(nand)?;\n        self.marked = nand.take_sequence() + 1;\n        Ok(())\n    }\n\n    fn erase_segment"),
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
     "            && outcome == Outcome::BrownedOut\n",
     "            && outcome == Outcome::BrownedOut\n            && in_flight.is_empty()\n"),
    ("dies-one-weak", "dies: the checker leaves only the last page weak after a brown-out", CUT,
     "let is_weak = |ppn| number.is_multiple_of(2) || scatter(ppn, number).is_multiple_of(2);",
     "let last = in_flight.iter().rev().find_map(|it| match it.operation {\n        Interruptible::Program(ppn) => Some(ppn),\n        Interruptible::Erase(_) => None,\n    });\n    let is_weak = |ppn| Some(ppn) == last;"),
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
    ("dies-flush-without-mark", "dies: a flush without trims leaves no mark", TRIMS,
     "let needs_mark = nand.geometry().dies() > 1 && nand.wait() != self.marked;",
     "let needs_mark = nand.geometry().dies() > 1 && nand.wait() < self.marked;"),
    ("dies-unmarked-elsewhere", "dies: unmarked pages in blocks of another part do not become void", MOUNT,
     "voids.push((ppn..pages_of(geometry, block).end, before));\n                    break;",
     "break;"),
    ("dies-mark-drops-itself", "dies: a mount drops the mark and what is right before it", MOUNT,
     "map(|copy| copy.spare.sequence).max().unwrap_or(0);\n        scan.ignore",
     "map(|copy| copy.spare.sequence).max().map_or(0, |mark| mark - 2);\n        scan.ignore"),
    ("dies-shelter-needs-mark", "dies: copies in the shelter behind the last mark are dropped", MOUNT,
     "copy.spare.sequence > mark && !shelter.contains(&geometry.block_of(copy.ppn))",
     "copy.spare.sequence > mark && (shelter.len() < 9 || !shelter.contains(&geometry.block_of(copy.ppn)))"),
    ("dies-dropped-page-restored", "dies: a copy in the shelter stands in for a page behind the mark", SHELTER,
     "if is_latest && is_destroyed && spare.sequence <= mark && is_there {",
     "if is_latest && is_destroyed && (spare.sequence <= mark || mark > 0) && is_there {"),
    ("dies-image-alone", "dies: the checker reorders nothing on images", FLASH,
     "self.of_ftl.dies() > 1 && self.keeps_pages()",
     "self.of_ftl.dies() > 1 && self.mode() == Mode::Stamps"),
    ("dies-recorder-forgets", "drive: a wait of the FTL does not reach the drive", RECORDED,
     "        if let Some(drive) = &mut self.drive {\n            drive.all_idle();\n        }\n",
     ""),
    ("dies-recorder-marks-read", "drive: the first operation after a wait is the one that waits, reads too", RECORDER,
     "let is_write = |it: &&mut Issued| matches!(it.op, Op::Program | Op::Erase);",
     "let is_write = |it: &&mut Issued| it.place < u32::MAX;"),
    ("dies-rows-open", "drive: rows stay open across a barrier", PLAN,
     "        if !self.profile.protected && self.barriers.raise() {\n            self.close_rows();\n        }",
     "        if !self.profile.protected {\n            self.barriers.raise();\n        }"),
    ("dies-copies-in-flight", "dies: an upper page does not wait for the copies of its lower pages", SHELTER,
     "            nand.wait();\n        }\n        Ok(())\n    }\n\n    fn barrier",
     "        }\n        Ok(())\n    }\n\n    fn barrier"),
]
