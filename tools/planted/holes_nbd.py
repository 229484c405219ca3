"""The server: who hears of a failed sync, what is told before and after the encryption, paces and statistics."""

PACKAGES = ["ftlab-nbd --lib --test protocol", "ftlab-nbd --test server"]

NBD = "crates/nbd/src/"
LIVE = NBD + "device/live.rs"
GATE = NBD + "device/gate.rs"
INJURIES = NBD + "device/injuries.rs"
PACING = NBD + "device/pacing.rs"
EXPORT = NBD + "export.rs"
HANDSHAKE = NBD + "session/handshake.rs"
STATS = NBD + "control/stats.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-refused-group-first-only", "flush: of a group whose sync cannot begin, only the first one is told", LIVE,
     "        for waiter in self.syncs.take_waiting() {\n            self.answer(waiter, result.clone());",
     "        let mut result = result.clone();\n"
     "        for waiter in self.syncs.take_waiting() {\n"
     "            self.answer(waiter, std::mem::replace(&mut result, Ok(())));"),
    ("hole-failed-sync-first-only", "flush: of a group whose sync failed, only the first one is told", LIVE,
     "        for waiter in self.syncs.end() {\n            self.answer(waiter, done.clone());",
     "        let mut done = done;\n"
     "        for waiter in self.syncs.end() {\n"
     "            self.answer(waiter, std::mem::replace(&mut done, Ok(())));"),
    ("hole-failed-sync-ends-groups", "flush: who came while a sync ran that failed waits for ever", LIVE,
     "        self.begin_syncs();\n    }\n\n    // ---- Answers",
     "        if done.is_ok() {\n            self.begin_syncs();\n        }\n    }\n\n    // ---- Answers"),
    ("hole-forced-write-after-failure", "write: a forced one succeeds although the sync before its own failed", LIVE,
     "                Err(error) => self.answer_all_waiting(",
     "                Err(_) if need == Need::Sync => self.answer_all_waiting(&Ok(())),\n"
     "                Err(error) => self.answer_all_waiting("),
    ("hole-unknown-export-unencrypted", "handshake: which exports exist is told before the encryption", HANDSHAKE,
     "            return match kind {\n                Kind::ExportName =>",
     "            return match kind {\n"
     "                Kind::Go if wanted_facts(data).is_some_and(|it| export::find(exports, it.0).is_none()) => {\n"
     "                    replies.refuse(ReplyKind::UnknownExport, \"there is no such export\")\n"
     "                }\n"
     "                Kind::ExportName =>"),
    ("hole-encryption-twice", "handshake: an encrypted connection is encrypted again", HANDSHAKE,
     'Encryption::Done => replies.invalid("the connection is encrypted already"),\n'
     "        Encryption::Required => {",
     "Encryption::Done | Encryption::Required => {"),
    ("hole-list-first-only", "handshake: only the first export is listed", HANDSHAKE,
     "    for export in exports {\n",
     "    for export in &exports[..1] {\n"),
    ("hole-old-way-powerless", "handshake: in the old way, an export without power can be chosen", HANDSHAKE,
     "Some(found) if exports[found].is_on => {",
     "Some(found) if exports[found].bytes > 0 => {"),
    ("hole-read-only-untold", "handshake: clients are not told that an export can only be read", EXPORT,
     "true => always | flags::READ_ONLY,",
     "true => always,"),
    ("hole-export-prefix", "handshake: an export is found by the beginning of its name", EXPORT,
     "position(|export| export.name == name)",
     "position(|export| export.name.starts_with(name))"),
    ("hole-pace-median", "pace: the median is the 90th percentile", PACING,
     "p50: quantile(0.5),",
     "p50: quantile(0.9),"),
    ("hole-pace-floor-late", "pace: answers below the floor count only if they leave in time", PACING,
     "u64::from(response < self.floor)",
     "u64::from(response + late < self.floor)"),
    ("hole-pace-write-as-read", "pace: the drive takes writes for reads", LIVE,
     "            Command::Write => trace::Op::Write,\n            _ => trace::Op::Read,",
     "            Command::Write => trace::Op::Read,\n            _ => trace::Op::Read,"),
    ("hole-pace-lost-by-cut", "pace: after a cut, the first request takes the time of the mount too", LIVE,
     "        let done = self.store.disk.power_on();\n"
     "        self.gate.forget_operations(self.store.disk.nand_mut());\n",
     "        let done = self.store.disk.power_on();\n"),
    ("hole-held-bytes-kept", "cut: answers that it took count as waiting for ever", GATE,
     "        self.held.clear();\n        self.bytes = 0;\n",
     "        self.held.clear();\n"),
    ("hole-trims-as-zeroes", "statistics: trims count as zeroes", LIVE,
     "Command::Trim => self.counts.trims += 1,",
     "Command::Trim => self.counts.zeroes += 1,"),
    ("hole-late-failures-uncounted", "statistics: failures that are answered later do not count", LIVE,
     "                self.counts.failed += 1;\n                replies::failed(&mut reply,",
     "                replies::failed(&mut reply,"),
    ("hole-erases-as-programs", "statistics: erases are the number of programs", STATS,
     '"erases": tally.total(Op::Erase),',
     '"erases": tally.total(Op::Program),'),
    ("hole-amplification-of-all", "statistics: reads lower the write amplification", STATS,
     "json!(programmed / counts.written_bytes as f64)",
     "json!(programmed / (counts.written_bytes + counts.read_bytes) as f64)"),
    ("hole-flushes-done-of-requests", "statistics: every flush counts as one of the FTL", LIVE,
     "        self.counts.flushes_done += 1;\n",
     "        self.counts.flushes_done = self.counts.flushes;\n"),
    ("hole-injury-place", "failures on demand: the place of the error lies before the request", INJURIES,
     "Some(failure.offset.max(request.offset))",
     "Some(failure.offset)"),
    ("hole-preferred-below-least", "exports: the preferred size of requests may be below the least one", EXPORT,
     "self.preferred_bytes.max(self.least_bytes)",
     "self.preferred_bytes.max(1)"),
]
