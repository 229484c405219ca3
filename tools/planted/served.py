"""The server: what loses data of clients, lets them wait for ever, or tells them wrong things."""

PACKAGES = ["ftlab-nbd --test protocol", "ftlab-nbd --test server"]

NBD = "crates/nbd/src/"
FAILURES = NBD + "device/failures.rs"
CONTROL = NBD + "control/command.rs"
LIVE = NBD + "device/live.rs"
GATE = NBD + "device/gate.rs"
GROUPED_SYNC = NBD + "device/grouped_sync.rs"
LONG_WORK = NBD + "device/long_work.rs"
RECORDER = NBD + "device/recorder.rs"
STORE = NBD + "device/store.rs"
ENGINE = NBD + "server/engine.rs"
PEER = NBD + "server/peer.rs"
UNIT = NBD + "server/unit.rs"
SESSION = NBD + "session/mod.rs"
HANDSHAKE = NBD + "session/handshake.rs"
REPLIES = NBD + "wire/replies.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("served-flush-answered-early", "flush: it is answered when its sync begins", LIVE,
     "                Ok(Some(job)) => {\n                    self.syncs.begin();",
     "                Ok(Some(job)) => {\n                    self.answer_all_waiting(&Ok(()));\n"
     "                    self.syncs.begin();"),
    ("served-next-group-answered", "flush: the end of a sync answers those who came while it ran", GROUPED_SYNC,
     "        self.running.take().unwrap_or_default()",
     "        let next = self.take_waiting();\n"
     "        self.running.take().unwrap_or_default().into_iter().chain(next).collect()"),
    ("served-group-need-of-all", "flush: in a group with a forced write, only the file is synced", GROUPED_SYNC,
     "self.waiting.iter().any(|(_, need)|",
     "self.waiting.iter().all(|(_, need)|"),
    ("served-sync-error-ignored", "flush: it succeeds although the sync of the file failed", LIVE,
     "            self.answer(waiter, done.clone());",
     "            self.answer(waiter, done.clone().or(Ok(())));"),
    ("served-fua-unforced", "write: a forced one is written as any other", LIVE,
     "self.store.write(request.offset, payload, force)",
     "self.store.write(request.offset, payload, force && payload.is_empty())"),
    ("served-fua-zeroes-unflushed", "zeroes and trims: forced ones are answered without a flush", LIVE,
     "            Ok(()) if work.force => self.wait(work.waiter, Need::Flush),\n",
     ""),
    ("served-zero-edge-kept", "zeroes: bytes after the last whole page are not written", LONG_WORK,
     "                (Action::Write, pages.end..range.end),\n",
     "                (Action::Write, pages.end..pages.end),\n"),
    ("served-trim-outward", "trim: pages that the range only touches are forgotten", LONG_WORK,
     "    pub fn trim(waiter: W, force: bool, range: Range<u64>, page_bytes: u64) -> LongWork<W> {\n"
     "        let pages = bytes::inward(range.start, range.end - range.start, page_bytes);",
     "    pub fn trim(waiter: W, force: bool, range: Range<u64>, page_bytes: u64) -> LongWork<W> {\n"
     "        let pages = bytes::inward(range.start, range.end - range.start + page_bytes - 1, page_bytes);"),
    ("served-wrong-edge", "write: the rest of the last sector is taken from the first one", STORE,
     "self.read_sectors(sectors.end - bytes::SECTOR, &mut around[last..])?;",
     "self.read_sectors(sectors.start, &mut around[last..])?;"),
    ("served-payload-head-uncounted", "write: it is performed before the end of its payload has come", SESSION,
     "        let length = requests::HEAD_BYTES + payload as usize;\n",
     "        let length = payload as usize;\n"),
    ("served-early-bytes-encrypted", "handshake: what came before the encryption is taken as if encrypted", SESSION,
     "Next::StartTls if self.input.bytes().is_empty() => Step::StartTls,",
     "Next::StartTls if self.input.bytes().len() < 1 << 30 => Step::StartTls,"),
    ("served-options-unencrypted", "handshake: exports are listed before the encryption", HANDSHAKE,
     "!matches!(kind, Kind::StartTls | Kind::Abort)",
     "!matches!(kind, Kind::StartTls | Kind::Abort | Kind::List)"),
    ("served-skip-short", "write: the end of a payload that is too long is taken for a request", SESSION,
     "self.skipped = Some((request, payload.into()));",
     "self.skipped = Some((request, PAYLOAD_BYTES_MAX.into()));"),
    ("served-error-place", "read: the place of an error is counted from the beginning of the request", LIVE,
     "            return Some(at);",
     "            return Some(at - request.offset);"),
    ("served-failed-read-has-data", "read: the head of the data stays before an error", REPLIES,
     "        out.truncate(before);",
     "        out.truncate(before + 16);"),
    ("served-contexts-kept", "handshake: contexts that were chosen for another export count", HANDSHAKE,
     "        if self.contexts_of != Some(export) {",
     "        if self.contexts_of.is_none() {"),
    ("served-unanswered-kept", "server: answers that come later are never counted as given", ENGINE,
     "                peer.unanswered -= 1;\n",
     ""),
    ("served-budget-kept", "server: a client that leaves keeps its share of the memory", ENGINE,
     "                Verdict::Closed => self.budget.leave(id, peer.reserved),",
     "                Verdict::Closed => self.budget.leave(id, 0),"),
    ("served-budget-lost-in-cut", "server: clients dropped by a cut keep their share of the memory", ENGINE,
     "                budget.leave(*id, peer.reserved);",
     "                budget.leave(*id, 0);"),
    ("served-backlog-huge", "server: megabytes of answers wait for a client that takes none", ENGINE,
     "use crate::wire::buffer::SMALL;\n",
     "const SMALL: usize = 64 << 20;\n"),
    ("served-shutdown-missing", "server: it still performs requests when it is about to end", ENGINE,
     "        let style = peer.session.style();\n        if self.stops_at.is_some() {",
     "        let style = peer.session.style();\n        if self.stops_at.is_some_and(|at| at < Instant::now()) {"),
    ("served-stop-within-sync", "server: it ends while a flush waits for its sync", LIVE,
     "self.long.is_empty() && !self.is_syncing() &&",
     "self.long.is_empty() &&"),
    ("served-frozen-answers", "freeze: answers leave all the same", GATE,
     "        if self.is_frozen {\n            return;\n        }\n        while",
     "        while"),
    ("served-cut-keeps-work", "cut: zeroes and trims from before it are done after it", LIVE,
     "        self.long.clear();\n",
     ""),
    ("served-cut-after-flush", "cut: at a flush it comes after the first operation", LIVE,
     "self.store.disk.cut_after(Cut { after: 0, outcome });",
     "self.store.disk.cut_after(Cut { after: 1, outcome });"),
    ("served-cut-sync-unawaited", "cut: the disk is mounted again while a sync runs", UNIT,
     "(None, Some(syncer)) => syncer.wait(),",
     "(None, Some(_)) => Ok(()),"),
    ("served-log-fua-early", "log: a forced write is logged before its sync has ended", RECORDER,
     "return log.forced.push((number, offset / SECTOR, bytes.to_vec()));",
     "return log.order.completed_forced_write(number, offset / SECTOR, bytes.to_vec());"),
    ("served-log-flush-early", "log: what a flush covers is logged before its sync has ended", RECORDER,
     "            log.flush = Some(log.order.flush_issued());",
     "            let flush = log.order.flush_issued();\n            log.order.flush_completed(flush);"),
    ("served-log-keeps-lost", "log: what a cut took is logged with the next flush", RECORDER,
     "        self.order = LogOrder::new();\n",
     ""),
    ("served-record-fua-lost", "record: forced writes are recorded as any others", RECORDER,
     "if force { Flags::FUA } else { Flags::empty() }",
     "if force { Flags::empty() } else { Flags::empty() }"),
    ("served-answers-overtake", "movers: later answers are sent beside those that a mover sends", PEER,
     "        if self.sending.is_some() {\n            return true;\n        }\n",
     ""),
    ("served-end-unseen", "movers: a client that has hung up gets a mover again and again", PEER,
     "            0 => self.is_stalled = true,\n",
     "            0 => {}\n"),
    ("served-aside-rest-lost", "server: what has come behind a large request is lost", SESSION,
     "        self.aside.came(came);\n",
     ""),
    ("disk-end-is-io", "end: clients are told of a failure of the disk", FAILURES,
     "ftl::Error::ReadOnly | ftl::Error::Chip(nand::Error::WornOut { .. })",
     "ftl::Error::ReadOnly"),
    ("disk-program-for-erase", "command: an erase that was to fail is a program", CONTROL,
     '"fail_erase" => Ok(FlashFailure::Erase { after: value }),',
     '"fail_erase" => Ok(FlashFailure::Program { after: value }),'),
]
