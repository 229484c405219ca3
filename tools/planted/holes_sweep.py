"""Journals of sweeps: rows that are not synced, run again, or lost."""

PACKAGES = ["ftlab-sim --lib sweep"]

JOURNAL = "crates/sim/src/sweep/journal.rs"
JOURNALS = "crates/sim/src/sweep/journals.rs"
SWEEP = "crates/sim/src/sweep/mod.rs"
ROW = "crates/sim/src/sweep/row.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("hole-refused-is-done", "sweep: a row that was refused for lack of memory is not run again", JOURNAL,
     "self.state(row) == Some(RowState::Done)",
     "self.state(row).is_some()"),
    ("hole-damage-ends-journal", "sweep: the rows behind a damaged line are forgotten", JOURNAL,
     "None => found.damaged.push(number),",
     "None => break,"),
    ("hole-row-unsynced", "sweep: a row counts as done before it is on the disk", JOURNAL,
     "        self.append(row, json, state)?;\n        self.sync()\n",
     "        self.append(row, json, state)\n"),
    ("hole-gathered-unsynced", "sweep: journals are deleted before their rows are on the disk elsewhere", JOURNAL,
     "        self.warnings.extend_from_slice(&other.warnings);\n        self.sync()\n",
     "        self.warnings.extend_from_slice(&other.warnings);\n        Ok(())\n"),
    ("hole-rows-run-again", "sweep: a sweep that is continued runs all rows again", SWEEP,
     "        left.retain(|&row| !journal.is_done(row));\n",
     "        left.retain(|_| true);\n"),
    ("hole-kept-too-early", "sweep: a row is reported as kept before it is in the journal", SWEEP,
     "                journal.keep(row, &json, state).inspect_err(|_| work.stop())?;\n                progress.kept(row);\n",
     "                progress.kept(row);\n                journal.keep(row, &json, state).inspect_err(|_| work.stop())?;\n"),
    ("hole-row-misplaced", "sweep: rows that are left are numbered from zero", SWEEP,
     "if done.send((index, row::json(index, row, &ran), RowState::of(&ran))).is_err() {",
     "if done.send((index, row::json(next, row, &ran), RowState::of(&ran))).is_err() {"),
    ("hole-whole-journal-ignored", "sweep: rows of a plain sweep count as missing", JOURNALS,
     "all().any(|journal| journal.has(*row))",
     "shards.iter().any(|(_, journal)| journal.has(*row))"),
    ("hole-shard-beside-whole", "sweep: a shard begins although a sweep over all rows is running", JOURNALS,
     "            Journal::refuse_if_in_use(&self.path(Shard::WHOLE))?;\n",
     ""),
    ("hole-shard-beside-other-plan", "sweep: a shard begins beside journals of another plan", JOURNALS,
     "            self.refuse_other_plans()?;\n",
     ""),
]
