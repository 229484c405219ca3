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
    ("journal-begun-anew-with-rows", "sweep: a journal of another plan is begun anew although it has rows", JOURNAL,
     "&& file.metadata()?.len() == line.len() as u64;",
     "&& file.metadata()?.len() >= line.len() as u64;"),
    ("journal-without-rows-refused", "sweep: a journal of another plan stands in the way although it has no rows", JOURNAL,
     "let is_useless = is_empty && is_locked &&",
     "let is_useless = is_empty && is_locked && line.is_empty() &&"),
    ("journal-build-for-plan", "sweep: a journal of another build is said to be of another plan", JOURNAL,
     "[build, _] if build != wanted[0] => OtherSweep::Build,",
     "[build, _] if build < wanted[0] => OtherSweep::Build,"),
    ("journal-plan-for-traces", "sweep: a journal of another plan is said to have other traces", JOURNAL,
     "found if found == wanted => OtherSweep::Traces,",
     "found if found[0] == wanted[0] => OtherSweep::Traces,"),
    ("journal-damage-for-plan", "sweep: a journal with a damaged first line is said to be of another plan", JOURNAL,
     "digest.len() == 64 && digest.bytes()",
     "!digest.is_empty() || digest.bytes()"),
    ("journal-head-without-build", "sweep: the key of a plan does not have the build", KEY,
     'format!("{} of ftlab {VERSION} {BUILD}",',
     'format!("{} of ftlab {VERSION}",'),
    ("trace-only-on-worker", "sweep: a trace that only a worker has is said to differ there", RUNNER,
     "(None, _) => (",
     "(None, None) => ("),
    ("sweep-of-missing-traces", "sweep: a plan of which no trace exists is run", "crates/sim/src/sweep/mod.rs",
     "Some([(name, why), ..]) => Err(Error::NoTraces",
     "Some([(name, why), ..]) if name.is_empty() => Err(Error::NoTraces"),
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
