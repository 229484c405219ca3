"""Time in a drive with channels and dies."""

PACKAGES = ["ftlab-drive", "ftlab-sim --test drive"]

ENGINE = "crates/drive/src/engine"
DIES = f"{ENGINE}/dies.rs"
DIE = "crates/drive/src/engine/state/die.rs"
LINE = "crates/drive/src/engine/state/line.rs"
USAGE = "crates/drive/src/usage.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("drive-stale-collection", "drive: collection begins when its die was last free, not when it can", DIE,
     "        command.resumed_ns = loaded_ns;\n",
     "        command.resumed_ns = if is_collection(command.cause) { loaded_ns.saturating_sub(command.array_ns) } else { loaded_ns };\n"),
    ("drive-die-released-early", "drive: a die is free before the page that it read has left it", DIES,
     "        let holds = self.profile.hold;\n",
     "        let holds = self.profile.hold && self.profile.transfer.is_none();\n        self.profile.hold = holds;\n"),
    ("drive-program-before-read", "drive: the program of a copy does not wait for its read", f"{ENGINE}/plan.rs",
     "        to.copy = Copy::Target { was_read: false, departure };\n        to.waits_for += 1;\n",
     "        to.copy = Copy::Target { was_read: false, departure };\n"),
    ("drive-suspended-time-lost", "drive: what was done before a suspension is forgotten", f"{ENGINE}/suspension.rs",
     "        command.progress_ns += now_ns - command.resumed_ns;\n",
     "        let _ = &mut command;\n"),
    ("drive-seconds-truncated", "drive: time is cut to whole seconds before it divides", USAGE,
     "(self.until_ns - self.since_ns) as f64 / 1e9",
     "((self.until_ns - self.since_ns) / 1_000_000_000) as f64"),
    ("drive-channel-busy-twice", "drive: a channel is busy for twice the time that a transfer takes", LINE,
     "        self.free_ns = start_ns + duration_ns;\n",
     "        self.free_ns = start_ns + 2 * duration_ns;\n"),
    ("drive-order-lost", "drive: a program overtakes an earlier one of its block", f"{ENGINE}/order.rs",
     "                held_by += u32::from(!before.has_begun);\n",
     "                held_by += u32::from(!before.has_begun && op == Op::Erase);\n"),
    ("drive-suspension-unpaid", "drive: a suspension takes no time", DIES,
     "            Work::Suspension => die.usage.suspending_ns += array_ns,",
     "            Work::Suspension => die.usage.suspending_ns += 0 * array_ns,"),
    ("drive-erase-before-reads", "drive: an erase does not wait for reads of its block", f"{ENGINE}/order.rs",
     "            held_by += core::mem::take(&mut lane.reads);\n",
     "            lane.reads = 0;\n"),
    ("drive-erase-before-copies", "drive: an erase does not wait for copies out of its block", f"{ENGINE}/plan.rs",
     "        let departure = core::mem::replace(self.lanes.departure(lanes), NONE);\n",
     "        let departure = { *self.lanes.departure(lanes) = NONE; NONE };\n"),
    ("drive-read-before-program", "drive: a read does not wait for the program of its page", f"{ENGINE}/order.rs",
     "            self.depend(write, Dependent::Held(own));\n            self.operations[own].held_by += 1;\n",
     "            let _ = write;\n"),
    ("drive-plane-read-twice", "drive: one command reads two pages of one plane", "crates/drive/src/engine/state/flash_operation.rs",
     " && self.at.plane != later.at.plane\n",
     "\n"),
]
