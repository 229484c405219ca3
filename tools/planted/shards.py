"""Shards of sweeps, their journals, and the keys of runs."""

# No scheme is affected, so the tests of sweeps have to notice.
PACKAGES = ["ftlab-sim --lib sweep"]

DIGESTS = "crates/sim/src/sweep/trace_digests.rs"
JOURNAL = "crates/sim/src/sweep/journal.rs"
JOURNALS = "crates/sim/src/sweep/journals.rs"
KEY = "crates/sim/src/sweep/key.rs"
RUNNER = "crates/sim/src/sweep/runner.rs"
SHARD = "crates/sim/src/sweep/shard.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("shard-dealt-in-turn", "sweep: row r goes to shard r mod n, whatever its options are", SHARD,
     ".min_by_key(|&at| alike(&free[at]))",
     ".min_by_key(|&at| (at, alike(&free[at])))"),
    ("shard-row-twice", "sweep: the last shard also gets the rows of the first one", SHARD,
     "shard + 1 == self.number as usize",
     "shard + 1 == self.number as usize || (self.number == self.of && shard == 0)"),
    ("merge-unchecked", "sweep: a merge does not ask whether rows are missing", JOURNALS,
     "if !missing.is_empty() {",
     "if missing.len() > self.plan.rows.len() {"),
    ("gather-forgets-a-shard", "sweep: the journal of the first shard is deleted, but its rows are not copied", JOURNALS,
     "for (_, shard) in &shards {",
     "for (_, shard) in shards.iter().skip(1) {"),
    ("gather-overwrites", "sweep: rows that are there already are copied again from another journal", JOURNAL,
     "if self.state(row) < Some(span.state) {",
     "if span.state <= RowState::Done {"),
    ("journal-two-writers", "sweep: without locks, a second writer of a journal is not noticed", JOURNAL,
     "match found.len() == self.end && found.nlink() > 0 {",
     "match found.nlink() > 0 {"),
    ("digest-of-old-file", "sweep: a trace that has changed keeps its digest", DIGESTS,
     "i128::from(seconds) * 1_000_000_000 + i128::from(ns);",
     "i128::from(seconds.min(0)) + i128::from(ns.min(0));"),
    ("digest-each-time", "sweep: a trace is read anew for each row", DIGESTS,
     "        known.insert(states, digest.clone());\n",
     "        drop(states);\n"),
    ("key-without-traces", "sweep: the key of a run does not depend on its traces", KEY,
     "Ok((word.to_owned(), digests.of(word, progress)?))",
     "Ok((word.to_owned(), digests.of(word, progress)?.filter(|_| false)))"),
    ("runner-copy-named", "sweep, worker: results name the copy of a trace instead of the trace", RUNNER,
     "copies.iter().for_each(|copy| copy.restore_name(&mut outcome));",
     "copies.iter().skip(9).for_each(|copy| copy.restore_name(&mut outcome));"),
]
