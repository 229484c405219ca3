"""Guests: the chip that they are lent, their processes, and what a check demands of them."""

PACKAGES = ["ftlab --test guests", "ftlab --test serve", "ftlab-ftl --lib", "ftlab-check --lib", "ftlab-guest --lib"]

LENT = "crates/ftl/src/scheme/guest/lent_chip.rs"
KEPT = "crates/ftl/src/scheme/guest/kept_pages.rs"
HOSTED = "crates/ftl/src/scheme/guest/mod.rs"
LIBRARY = "crates/guest/src/library.rs"
SLOT = "crates/guest/src/chip_slot.rs"
SUPERVISOR = "crates/guest/src/supervisor.rs"
FAULTS = "crates/check/src/cut/faults.rs"
DEVICE = "crates/check/src/device/powered_device.rs"
ORACLE = "crates/check/src/oracle.rs"
DISK = "crates/disk/src/disk/mod.rs"
CASE = "crates/check/src/case.rs"
ON_MEDIA = "crates/nand/src/nand/on_media.rs"
FTL_DEVICE = "crates/ftl/src/device.rs"
LOST_PAGES = "crates/check/src/device/powered_device/lost_pages.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("guests-debugged-elsewhere", "command: under a debugger the guest runs in another process", "crates/cli/src/guests.rs",
     "is_watched || supervisor::is_debugged()", "is_watched"),
    ("guests-any-cause", "chip: a cause that does not exist counts as unnamed", "crates/guest/src/trampolines.rs",
     "match NAMED.get(number as usize) {", "match NAMED.get(number as usize).or(NAMED.first()) {"),
    ("guests-figures-after-cuts", "check: what a guest reports after cuts is lost", "crates/check/src/cut/isolated.rs",
     "    counts.figures = figures;\n", "    _ = figures;\n"),
    ("guests-uncut-are-clean", "check: a guest that was never cut is clean", "crates/cli/src/commands/check/mod.rs",
     "        every_guest_was_cut(report)?;\n", ""),
    ("guests-any-order", "chip: a guest may program any page", LENT,
     "match self.nand.array().may_program(ppn) {",
     "match self.nand.array().may_program(ppn) || ppn.0 > 0 {"),
    ("guests-illegal-forgotten", "chip: an illegal command is refused and forgotten", LENT,
     "self.side.trouble.fault.get_or_insert((GuestFaultKind::Illegal, sentence));",
     "let _ = sentence;"),
    ("guests-endless", "chip: a call may make any number of operations", LENT,
     "self.side.operations_left = left;",
     "let _ = left;"),
    ("guests-rmw-is-host", "chip: the read for a partial write counts as one of the host", LENT,
     "(Cause::Host, Some(other)) => other,",
     "(Cause::Host, Some(_)) => Cause::Host,"),
    ("guests-erased-reads-zero", "chip: an erased page reads as zero", LENT,
     "data.fill(0xFF);",
     "data.fill(0);"),
    ("guests-copy-without-spare", "counting: a copy has no spare area", KEPT,
     "self.spares.copy_within(start..start + self.spare_bytes, place);",
     "let _ = (start, place);"),
    ("guests-data-outlive-erase", "counting: data outlive the erase of their block", KEPT,
     "kept.iter().for_each(|page| drop(self.data.remove(page)));",
     "let _ = kept;"),
    ("guests-status-ignored", "guest: a request that the guest refuses counts as done", HOSTED,
     "Ok(Status::Ok) if side.is_calm() => Ok(()),",
     "Ok(_) if side.is_calm() => Ok(()),"),
    ("guests-capacity-believed", "guest: a capacity that is too small is accepted", HOSTED,
     "if capacity < count {",
     "if capacity > count && capacity < count {"),
    ("guests-partial-last-page", "guest: the last page of a write is not read if it is partial", HOSTED,
     "if !ends && count > 1 {",
     "if !ends && count > 9 {"),
    ("guests-globals-shared", "library: two mounts share the globals", LIBRARY,
     "slots.iter_mut().find(|slot| slot.object == object && !slot.in_use)",
     "slots.iter_mut().find(|slot| slot.object == object)"),
    ("guests-unique-shared", "library: symbols that g++ makes unique are shared by all mounts", LIBRARY,
     "has_changed.then_some(object)", "has_changed.then_some(object).filter(|_| false)"),
    ("guests-host-data-changed", "guest: a write may change the data of the host", HOSTED,
     "match self.buffer.starts_with(&self.handed) {", "match self.buffer.len() >= self.handed.len() {"),
    ("guests-time-over-unsaid", "check: a time that is over within the first seed is not told",
     "crates/cli/src/commands/check/summary.rs", "(report.unfinished > 0).then(|| {", "(report.unfinished > report.given).then(|| {"),
    ("guests-any-thread", "chip: any thread may use it", SLOT,
     "self.thread.load(Ordering::Relaxed) != this_thread()",
     "self.thread.load(Ordering::Relaxed) == 0"),
    ("guests-exit-is-success", "supervisor: a guest may end the command with its exit code", SUPERVISOR,
     "(Some(code), _) if self.board.is_done() => return End::Done(code as u8),",
     "(Some(code), _) => return End::Done(code as u8),"),
    ("guests-all-cuts", "check: a guest is cut with what it does not declare", FAULTS,
     "guest.cuts & bit(cut.outcome) == bit(cut.outcome)",
     "guest.cuts & bit(cut.outcome) == bit(cut.outcome) || cut.outcome == Outcome::Paired || cut.after > 3"),
    ("guests-writes-need-flush", "check: answered writes of a durable guest may be lost", DEVICE,
     "guest.promise == Promise::Write);",
     "guest.promise == Promise::Snapshot);"),
    ("guests-unreadable-write-is-loss", "check: a write that fails over an old page is no refusal", DEVICE,
     "&& fault.kind == GuestFaultKind::Unreadable",
     "&& fault.kind == GuestFaultKind::Died"),
    ("guests-any-snapshot", "oracle: a device may mix the states of two flushes", ORACLE,
     "if self.restores_flushes && expect == Expect::Survivor {",
     "if self.restores_flushes && expect == Expect::Newest {"),
    ("guests-death-is-failure", "disk: after the death of its guest it can only be read", DISK,
     "Err(error) if error.is_death() => {",
     "Err(error) if error.is_death() && error.is_of_request() => {"),
    ("guests-least-device", "check: a guest gets no more extra blocks than ours", CASE,
     "!is_refusal(&error) || taken >= EXTRA_BLOCKS_MAX",
     "!is_refusal(&error) || taken <= EXTRA_BLOCKS_MAX"),
    ("guests-roomy-device", "check: a guest gets twice the extra blocks that it refused", CASE,
     "filter(|&most| most + 1 < taken)",
     "filter(|&most| most + EXTRA_BLOCKS_MAX < taken)"),
    ("guests-failure-hidden", "raw chip: a program that fails is answered as one that succeeds", LENT,
     "nand::Error::Failed(_) => Status::Failed,",
     "nand::Error::Failed(_) => Status::Ok,"),
    ("guests-bad-block-usable", "raw chip: a bad block may be programmed and erased", LENT,
     "if self.nand.is_bad(block) {\n            return Err",
     "if false {\n            return Err"),
    ("guests-failed-block-usable", "raw chip: a block may be used after a program in it has failed", LENT,
     "if has_failed { Err(Status::Failed) } else { Ok(()) }",
     "let _ = has_failed;\n        Ok(())"),
    ("guests-marks-forgotten", "raw chip: marks of bad blocks do not outlive a power cycle of an image", ON_MEDIA,
     "array.find_bad_marks()?;\n",
     ""),
    ("guests-no-reserve", "raw chip: the guest does not get the blocks in reserve", FTL_DEVICE,
     "return Ok(Device { media, geometry: all, blocks, ..self });",
     "let _: Vec<BlockId> = blocks;\n            return Ok(Device { media, ..self });"),
    ("guests-may-surrender", "check: a guest may end at its first failure", LOST_PAGES,
     "bad >= self.case.model.media.reserve as usize",
     "bad > 0"),
]
