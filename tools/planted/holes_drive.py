"""Time in a drive: a buffer that is nearly full, shares of waiting, spare reads, page types and suspensions."""

PACKAGES = ["ftlab-drive --lib --test buffer --test suspension --test journal --test shares"]

ENGINE = "crates/drive/src/engine"
STATE = f"{ENGINE}/state"
OPERATIONS = f"{ENGINE}/operations.rs"
REQUESTS = f"{ENGINE}/requests.rs"
SUSPENSION = f"{ENGINE}/suspension.rs"
BUFFER = f"{STATE}/buffer.rs"
DURATIONS = f"{STATE}/durations.rs"
OPERATION = f"{STATE}/flash_operation.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-buffer-overfull", "buffer: a request enters although only some of its pages fit", BUFFER,
     "self.used + pages > self.room",
     "self.used >= self.room"),
    ("hole-buffer-stuck", "buffer: open rows are programmed only when they fill all of it", BUFFER,
     "waits && self.in_open_rows == self.used",
     "waits && self.in_open_rows == self.room"),
    ("hole-buffer-wait-as-queue", "shares: waiting for room in the buffer counts as waiting for dies", REQUESTS,
     "active.shares.buffer_ns += active.buffer_ns;",
     "active.shares.queue_ns += active.buffer_ns;"),
    ("hole-buffer-wait-of-awaited", "shares: a forced write waited in a queue, not for the buffer", OPERATIONS,
     "        shares.buffer_ns += request.buffer_ns;\n",
     "        shares.queue_ns += request.buffer_ns;\n"),
    ("hole-collection-wait-as-queue", "shares: waiting for a die that collects counts as queue", OPERATIONS,
     "(operation.collected_after_ns - operation.collected_before_ns).min(waited_ns)",
     "(operation.collected_after_ns - operation.collected_before_ns).min(waited_ns) * 0"),
    ("hole-collection-before-ready", "shares: collection counts from before an operation was ready", f"{STATE}/die.rs",
     "current.map_or(0, |_| now_ns - self.changed_ns)",
     "current.map_or(0, |_| 0 * now_ns)"),
    ("hole-collection-as-array", "shares: collection of a request itself counts as array", OPERATIONS,
     "return Shares { collection_ns: all_ns, ..Shares::NONE };",
     "return Shares { array_ns: all_ns, ..Shares::NONE };"),
    ("hole-link-as-firmware", "shares: data on the link to the drive counts as firmware", REQUESTS,
     "Shares { queue_ns, transfer_ns: link_ns, firmware_ns: own_ns, ..Shares::NONE }",
     "Shares { queue_ns, firmware_ns: own_ns + link_ns, ..Shares::NONE }"),
    ("hole-link-out-as-queue", "shares: data on the link to the host counts as waiting", REQUESTS,
     "        shares.transfer_ns += link_ns;\n        shares.queue_ns += end_ns - self.now_ns - link_ns;\n",
     "        shares.queue_ns += end_ns - self.now_ns;\n"),
    ("hole-trim-instant", "drive: a trim takes no time of its own", REQUESTS,
     "request.op == trace::Op::Trim {",
     "request.op == trace::Op::Trim && request.bytes == 0 {"),
    ("hole-memory-instant", "drive: time in memory above the flash is left out", REQUESTS,
     "self.profile.firmware_ns + trim_ns + request.memory_ns;",
     "self.profile.firmware_ns + trim_ns;"),
    ("hole-spare-read-joined", "drive: a spare read shares a command with the read of a page", OPERATION,
     "let is_same_kind = own.op == later.op && own.lane == later.lane;",
     "let is_same_kind = own.lane == later.lane;"),
    ("hole-spare-read-whole", "drive: a spare read brings the whole page", DURATIONS,
     "Op::SpareRead => geometry.spare_bytes(),",
     "Op::SpareRead => geometry.page_bytes(),"),
    ("hole-page-types-of-first", "drive: all pages take the time of the first type", DURATIONS,
     "profile.array_ns(op, index, chip)",
     "profile.array_ns(op, index * 0, chip)"),
    ("hole-suspensions-of-first", "drive: a second suspension of a command does not count", SUSPENSION,
     "        die.usage.suspensions += 1;\n",
     "        die.usage.suspensions += u64::from(command.progress_ns == now_ns - command.resumed_ns);\n"),
    ("hole-suspension-reads-kept", "drive: reads of an earlier suspension count in the next one", SUSPENSION,
     "        die.reads_between = 0;\n",
     ""),
    ("hole-erase-suspended-as-program", "drive: erases are suspended if programs may be", SUSPENSION,
     "self.profile.suspend.erases,",
     "self.profile.suspend.programs,"),
]
