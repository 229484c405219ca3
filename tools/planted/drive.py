"""Time in a drive with channels and dies."""

PACKAGES = ["ftlab-drive", "ftlab-sim --test drive"]

ENGINE = "crates/drive/src/engine.rs"
PLAN = "crates/drive/src/plan.rs"
DIE = "crates/drive/src/die.rs"
OPERATION = "crates/drive/src/flash_operation.rs"
USAGE = "crates/drive/src/usage.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("drive-stale-collection", "drive: collection begins when its die was last free, not when it can", ENGINE,
     "        command.resumed_ns = loaded_ns;\n",
     "        command.resumed_ns = if command.collects { loaded_ns.saturating_sub(command.array_ns) } else { loaded_ns };\n"),
    ("drive-die-released-early", "drive: a die is free before the page that it read has left it", ENGINE,
     "        if !self.profile.hold {\n            self.vacate(number);\n        }\n        for own in pages {",
     "        if !self.profile.hold || self.profile.transfer.is_some() {\n            self.vacate(number);\n            self.profile.hold = false;\n        }\n        for own in pages {"),
    ("drive-program-before-read", "drive: the program of a copy does not wait for its read", PLAN,
     "        self.depend(Some(source), target);\n",
     ""),
    ("drive-suspended-time-lost", "drive: what was done before a suspension is forgotten", ENGINE,
     "        command.progress_ns += now_ns - command.resumed_ns;\n",
     "        let _ = &mut command;\n"),
    ("drive-seconds-truncated", "drive: time is cut to whole seconds before it divides", USAGE,
     "(self.until_ns - self.since_ns) as f64 / 1e9",
     "((self.until_ns - self.since_ns) / 1_000_000_000) as f64"),
    ("drive-channel-busy-twice", "drive: a channel is busy for twice the time that a transfer takes", ENGINE,
     "        self.free_ns = self.free_ns.max(from_ns) + duration_ns;\n",
     "        self.free_ns = self.free_ns.max(from_ns) + 2 * duration_ns;\n"),
    ("drive-order-lost", "drive: a program overtakes an earlier one of its block", OPERATION,
     "                (false, false) => true,",
     "                (false, false) => later.op == Op::Erase,"),
    ("drive-suspension-unpaid", "drive: a suspension takes no time", ENGINE,
     "self.dies[number as usize].usage.suspending_ns += array_ns;",
     "self.dies[number as usize].usage.suspending_ns += 0 * array_ns;"),
]
