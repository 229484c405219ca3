"""Fleets, lives of several loads, sweeps within a limit of memory, and policies in plans."""

PACKAGES = ["ftlab-sim --lib"]

PLAN = "crates/sim/src/plan/mod.rs"
ASSIGNMENT = "crates/sim/src/plan/assignment.rs"
DRAWING = "crates/sim/src/plan/drawing.rs"
SWEEP = "crates/sim/src/sweep/mod.rs"
FLEET = "crates/sim/src/sweep/fleet.rs"
ROW = "crates/sim/src/sweep/row.rs"
ROWS = "crates/sim/src/plan/rows.rs"
RUNNER = "crates/sim/src/sweep/runner.rs"
SELECTION = "crates/sim/src/plan/row_selection.rs"
NOTES = "crates/sim/src/result/notes/shared.rs"
SPLIT = "crates/sim/src/input/split_trace.rs"
MEMORY = "crates/sim/src/memory/mod.rs"
CACHE = "crates/sim/src/input/request_cache.rs"
INPUTS = "crates/sim/src/sweep/shared_inputs.rs"
LIFE = "crates/sim/src/run/life.rs"

# Name, description, file, original text, replacement.
MUTANTS = [
    ("fleet-choice-ignored", "fleets: conditions choose no volumes", SPLIT,
     "(Some(choice), Some(figures)) => choice.holds(figures),",
     "(Some(choice), Some(figures)) => choice.holds(figures) || true,"),
    ("fleet-policy-missing", "sweeps: a policy that a plan names may be missing", SWEEP,
     "        refuse_missing_policies(self.plan, self.policies)?;\n", ""),
    ("fleet-small-first", "fleets: volumes with the fewest requests are begun first", SWEEP,
     "rows.sort_by_cached_key(|&row| Reverse(inputs.requests(&plan.rows[row].experiment)));",
     "rows.sort_by_cached_key(|&row| inputs.requests(&plan.rows[row].experiment));"),
    ("fleet-volumes-mixed", "fleets: the rows of an FTL follow each other, not those of a volume", FLEET,
     "chosen.iter().flat_map(|volume| alike.iter().map(|row| of_volume(row, &volume.name)));",
     "alike.iter().flat_map(|row| chosen.iter().map(|volume| of_volume(row, &volume.name)));"),
    ("fleet-choice-of-another", "fleets: two choices of one file are one", FLEET,
     "(file_key(it, \"\"), it.trace.clone(), it.volumes.clone())", "(file_key(it, \"\"), it.trace.clone())"),
    ("fleet-claims-accepted", "fleets: claims select rows before the volumes are known", PLAN,
     "let first = claims.iter().chain(drawings)", "let first = drawings.iter()"),
    ("fleet-choice-untold", "fleets: a plan does not say which volumes conditions chose", FLEET,
     "                choices.extend(split.choice(&alike[0].experiment)?);\n",
     "                choices.extend(split.choice(&alike[0].experiment)?.filter(|_| false));\n"),
    ("rows-by-value-alone", "plans: rows are not found by the options that name them", ASSIGNMENT,
     "|| has.is_some() && has == with_keys(option, written, row)", "|| false && has == with_keys(option, written, row)"),
    ("drawing-of-nothing", "plans: rows that have nothing of what is drawn are accepted", DRAWING,
     "        (!has).then_some(what)", "        (!has && what.is_empty()).then_some(what)"),
    ("drawing-selection-unnamed", "plans: the caption of a drawing of one selection does not name it", DRAWING,
     "[only] => mem::take(&mut only.label),", "[_] => String::new(),"),
    ("default-key-not-found", "plans: rows are not found by a key that its option leaves out", ASSIGNMENT,
     "|| changes_nothing()", "|| false && changes_nothing()"),
    ("worker-trace-of-another-run", "clusters: a run can get the trace of one beside it", RUNNER,
     "let mut recent = self.recent();\n        recent.take_if(|(of, _)| of != key);",
     "self.recent().take_if(|(of, _)| of != key);\n        let recent = self.recent();"),
    ("over-without-keys", "plans: `over` never keeps the keys that grids set", SELECTION,
     ".or_else(with_keys)", ".or_else(|| with_keys().filter(|_| false))"),
    ("fault-at-the-last-option", "plans: options that exclude each other are reported at the last of the row", ROWS,
     ".find(is_cause)", ".find(|at| is_cause(at) || true)"),
    ("notes-alike-are-equal", "sweeps: notes that differ in their words become one", NOTES,
     "places.entry(without_figures(note))", "places.entry(without_figures(&note[..2]))"),
    ("fleet-empty-volumes", "fleets: volumes of which all lines were skipped have rows", SPLIT,
     "volumes.filter(|volume| volume.requests > 0)", "volumes.filter(|_| true)"),
    ("fleet-failed-rows-nameless", "fleets: a row that failed does not name its volume and its trace", ROW,
     "    if !error.is_null()\n", "    if false\n"),
    ("life-first-load-writes-all", "life: all writes count for the first load", LIFE,
     "            self.by_load[load] += bytes;\n", "            self.by_load[load.min(0)] += bytes;\n"),
    ("sweep-half-for-requests", "sweeps: requests get half of the limit, however few they are", INPUTS,
     "memory_bytes.min(needed_cache_bytes(plan))", "memory_bytes"),
    ("sweep-trace-counted-each-row", "sweeps: a trace that several rows read counts for each", INPUTS,
     "files.filter(|(key, _)| seen.insert(key.clone()))", "files.filter(|(key, _)| seen.insert(key.clone()) || true)"),
    ("sweep-limit-without-requests", "sweeps: the limit that a message proposes leaves nothing to requests", MEMORY,
     "needs_bytes.saturating_add(self.wanted_cache_bytes.min(needs_bytes))", "needs_bytes"),
    ("sweep-compressed-is-plain", "sweeps: a compressed trace needs as much memory as a plain one", CACHE,
     "if is_compressed { BYTES_PER_COMPRESSED } else { BYTES_PER_STORED }",
     "if is_compressed { BYTES_PER_STORED } else { BYTES_PER_STORED }"),
]
