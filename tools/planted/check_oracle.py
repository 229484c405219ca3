"""The checker: its oracle, and what it does after a cut."""

SCHEMES = "page,block"
PACKAGES = ["ftlab-check"]

ACTION = "crates/check/src/device/action.rs"
DEVICE = "crates/check/src/device/powered_device.rs"
LOSS = "crates/check/src/cut/power_loss.rs"
ORACLE = "crates/check/src/oracle.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("oracle-older-epoch", "oracle: values from before the last flush are allowed", ORACLE,
     "if version.epoch < self.epoch && !is_trimmed {",
     "if version.epoch + 1 < self.epoch && !is_trimmed {"),
    ("oracle-newest-only", "oracle: only the newest value may survive", ORACLE,
     "if version.epoch < self.epoch && !is_trimmed {",
     "if version.epoch <= self.epoch && !is_trimmed {"),
    ("oracle-flush-forgotten", "oracle: a flush makes nothing durable", ORACLE,
     "self.epoch += 1;",
     "self.epoch += 0;"),
    ("oracle-force-forgotten", "oracle: a forced write makes nothing durable", ORACLE,
     "            self.versions[newest].epoch = FLUSHED;\n            assert!(self.is_durable(sector as usize), \"a forced write leaves its sectors durable\");\n",
     "            let _ = newest;\n"),
    ("oracle-trim-forgotten", "oracle: a trim changes no value", ORACLE,
     "for_each(|sector| self.push(sector, 0));",
     "for_each(|sector| self.push(sector, self.newest(sector as usize)));"),
    ("oracle-keeps-choice", "oracle: what a mount has shown may change at the next mount", ORACLE,
     "        self.flush();\n        debug_assert!((0..found.len()).all(|sector| self.is_durable(sector)));\n",
     ""),
    ("oracle-any-sector", "oracle: the data of another sector are allowed", ORACLE,
     "let own = stamp == Stamp::default() || stamp.sector() as usize == sector;",
     "let own = stamp == Stamp::default() || stamp.sector() as usize != usize::MAX || sector == 0;"),
    ("oracle-lax-without-cut", "oracle: older values are allowed although the power was on", ORACLE,
     "Expect::Newest => stamp.write() == self.newest(sector),",
     "Expect::Newest => self.may_survive(sector, stamp.write()),"),
    ("oracle-first-sector-only", "oracle: only the first sector of a read is judged", ORACLE,
     "let wrong = (0..found.len()).find(",
     "let wrong = (0..found.len().min(1)).find("),
    ("check-flush-unanswered", "checker: the oracle is not told that a flush was answered", DEVICE,
     "HostOperation::Flush => self.oracle.flush(),",
     "HostOperation::Flush => {}"),
    ("check-answered-too-soon", "checker: a cut during a flush counts as a cut after it", DEVICE,
     "        self.keep_snapshots();\n        self.answered(operation);",
     "        self.answered(operation);\n        self.keep_snapshots();"),
    ("check-no-decay", "checker: weak pages never decay after a mount", ACTION,
     "        actions.push(Action::Decay);\n",
     ""),
    ("check-no-second-mount", "checker: there is no second mount after a cut", ACTION,
     "actions.extend([Action::Check, Action::Remount]);",
     "actions.extend([Action::Check]);"),
    ("check-no-audit", "checker: the audit is not run", DEVICE,
     "ftl.audit(&self.nand).map_err(|finding| Finding::new(Defect::MapBroken, finding.0))",
     "ftl.audit(&self.nand).or(Ok(()))"),
    ("check-mount-unbounded", "checker: a mount may take any number of operations", DEVICE,
     "if reads <= reads_max && writes <= writes_max {",
     "if reads <= reads_max || writes <= writes_max || pages > 0 {"),
    ("check-occupancy-forgotten", "checker: free blocks may be as many as the FTL says", DEVICE,
     "if free <= blocks && used as u64 <= room {",
     "if free <= blocks || used as u64 <= room {"),
    ("check-first-outcome-only", "checker: no cut is tried twice, with weak pages that decay during the mount", LOSS,
     "self.recover(PowerCut { decay, ..cut }, DecayTime::DuringMount, flash, oracle)?;",
     "let _ = (decay, flash);"),
]
