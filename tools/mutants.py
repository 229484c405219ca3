#!/usr/bin/env python3
"""Plants bugs in the sources, one at a time, and demands that the tests catch each.

A tier of tests that lets a planted bug pass is not to be trusted. Each mutant replaces one piece of
source in a copy of the workspace; then the checks of that copy must fail. Usage:

    python3 tools/mutants.py [NAME ...]     all mutants, or those named; writes docs/mutants.md
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = "crates/ftl/src/scheme/page.rs"
BLOCK = "crates/ftl/src/scheme/block.rs"
PAGE_MAP = "crates/ftl/src/part/page_map.rs"
LOG_MAP = "crates/ftl/src/part/log_map.rs"
LOG_MOUNT = "crates/ftl/src/part/log_mount.rs"
MERGE = "crates/ftl/src/part/merge.rs"
ASSOCIATIVE = "crates/ftl/src/part/block_associative.rs"
RECOVERY = "crates/ftl/src/part/recovery.rs"
TRIMS = "crates/ftl/src/part/trim_log.rs"
RMW = "crates/ftl/src/part/rmw.rs"
POOL = "crates/ftl/src/part/block_pool.rs"
STORE = "crates/nand/src/store.rs"
CHIP = "crates/nand/src/chip.rs"

# name, what it breaks, file, original, replacement
MUTANTS = [
    ("version-not-kept", "spares: a copy gets a new version", STORE,
     "Spare { sequence, kind: kind.unwrap_or(old.kind), ..old }",
     "Spare { sequence, version: sequence, kind: kind.unwrap_or(old.kind), ..old }"),
    ("older-version-wins", "spares: the oldest copy of a page wins", RECOVERY,
     "copy.spare.rank() > best.spare.rank()", "copy.spare.rank() < best.spare.rank()"),
    ("sequence-restarts", "spares: a mount starts the order of programs anew", CHIP,
     "self.sequence = Some(next_sequence.max(self.sequence.unwrap_or(1)));",
     "self.sequence = Some(self.sequence.unwrap_or(next_sequence.min(1)));"),
    ("suspect-trusted", "mount: the last page programmed is left where it may decay", PAGE,
     "if let Some(block) = recovered.endangered {",
     "if let Some(block) = recovered.endangered.filter(|_| false) {"),
    ("half-erase-trusted", "mount: a block that looks erased is not erased again", POOL,
     "self.free.push_back((block, true));", "self.free.push_back((block, false));"),
    ("fallback-reused", "mount: the fallback of the suspect page is erased first", PAGE_MAP,
     "free.sort_by_key(|&block| Some(block) == plan.fallback);",
     "free.sort_by_key(|&block| Some(block) != plan.fallback);"),
    ("given-up-kept", "mount: a block without a free one beside it is not given up", RECOVERY,
     "match without(geometry, given_up, copies, *last, &newest, tombstones) {",
     "match Err::<Vec<Option<Copy>>, Copy>(*last) {"),
    ("base-forgotten", "write: the other sectors of a partial page are lost", RMW,
     "let content = Content::Host { data, mask, base };",
     "let content = Content::Host { data, mask, base: base.filter(|_| false) };"),
    ("erase-before-copy", "erase order: the victim goes before its last copy", PAGE_MAP,
     "done += self.copy_some(", "if done == 0 { self.moving.pop(); }\n            done += self.copy_some("),
    ("flush-forgotten", "tombstones: flush does nothing", PAGE_MAP,
     "self.trims.as_mut().map_or(Ok(()), |trims| trims.flush(nand))",
     "self.trims.as_mut().map_or(Ok(()), |_| { let _ = nand.geometry(); Ok(()) })"),
    ("erase-before-tombstone", "tombstones: an erase does not wait for them", PAGE_MAP,
     "        if let Some(trims) = &mut self.trims {\n            trims.flush(nand)?;\n        }\n        nand.erase(victim",
     "        nand.erase(victim"),
    ("tombstone-beats-newer", "tombstones: they kill what was written after them", TRIMS,
     "*tombstone = copy.spare.version.max(*tombstone);", "*tombstone = copy.spare.version.max(u64::MAX);"),
    ("records-forgotten", "tombstones: a mount reads checkpoints only", TRIMS,
     "for copy in &found[self.active] {", "for copy in found[self.active].iter().take(1) {"),
    ("fallback-segment-erased", "tombstones: the log changes over onto its fallback", TRIMS,
     "others.min_by_key(|&segment| self.born[segment])", "others.max_by_key(|&segment| self.born[segment])"),
    ("suspect-record-trusted", "tombstones: a last record that may decay is left alone", TRIMS,
     "true => self.change_over(nand),", "true if nand.geometry().blocks() == 0 => self.change_over(nand),\n            true => Ok(()),"),
    ("rewritten-still-trimmed", "tombstones: a checkpoint repeats trims of rewritten pages", TRIMS,
     "        self.trimmed.remove(lpn.0);", "        let _ = lpn;"),
    ("newer-block-kept", "block, mount: of two blocks the unfinished one is kept", BLOCK,
     "born[other.0 as usize] < born[block.0 as usize]", "born[other.0 as usize] > born[block.0 as usize]"),
    ("unfinished-block-left", "block, mount: the unfinished block is not erased at once", BLOCK,
     "        for block in unfinished {\n            nand.erase(block, Cause::Meta)?;\n        }\n",
     "        let _ = unfinished;\n"),
    ("seal-forgotten", "block, mount: erased pages of an open block are trusted", BLOCK,
     "            self.used.insert_all(lbn * per_block..(lbn + 1) * per_block);\n", ""),
    ("block-suspect-trusted", "block, mount: the last page programmed is left where it may decay", BLOCK,
     "self.rewrite(nand, lbn, nand.geometry().block_of(last.ppn), None)", "{ let _ = lbn; Ok(()) }"),
    ("block-erase-first", "block, erase order: the old block goes before the tail is copied", BLOCK,
     "            self.copy_live(nand, lbn, old, new, end..per_block, cause)?;\n        }",
     "            nand.erase(old, cause)?;\n            self.copy_live(nand, lbn, old, new, end..per_block, cause)?;\n        }"),
    ("block-base-forgotten", "block, write: the other sectors of a partial page are lost", BLOCK,
     "let base = old.filter(|_| self.live.contains(lpn.0));", "let base = old.filter(|_| false);"),
    ("block-flush-forgotten", "block, tombstones: flush does nothing", BLOCK,
     "self.trims.as_mut().map_or(Ok(()), |trims| trims.flush(nand))",
     "self.trims.as_mut().map_or(Ok(()), |_| { let _ = nand.geometry(); Ok(()) })"),
    ("log-unfinished-kept", "bast, fmax, mount: an unfinished merge is believed", LOG_MOUNT,
     "held.all(has_twin).then_some(block)", "held.all(has_twin).then_some(block).filter(|_| false)"),
    ("log-suspect-trusted", "bast, fmax, mount: the last page programmed is left where it may decay", LOG_MOUNT,
     "if let (Some(block), Some(last)) = (plan.endangered, last) {",
     "if let (Some(block), Some(last)) = (plan.endangered.filter(|_| false), last) {"),
    ("log-seal-forgotten", "bast, fmax, mount: erased pages of a data block are trusted", LOG_MOUNT,
     "map.set_closed_data_block(log.lbns[0], log.block);", "map.set_data_block(log.lbns[0], log.block, 0);"),
    ("log-half-erase-trusted", "bast, fmax, mount: blocks without valid pages are not erased again", LOG_MOUNT,
     "map.pool.give_doubtful(block)", "map.pool.give(block)"),
    ("merge-order-careless", "bast, fmax, merge: one page in its place makes a log block in order", MERGE,
     "match slots.all(|(newest, slot)| newest.0 == slot) {", "match slots.any(|(newest, slot)| newest.0 == slot) {"),
    ("merge-dead-is-full", "bast, fmax, merge: a dead log block is merged fully", MERGE,
     "return Plan::Dead;", "return Plan::Full;"),
    ("merge-before-tombstones", "bast, fmax, merge: the erases of a full merge do not wait for tombstones", MERGE,
     "map.flush(nand)?;\n    for &lbn in associated {", "for &lbn in associated {"),
    ("merge-source-first", "bast, fmax, merge: the old data block goes before the last copy", MERGE,
     "let filled = map.gather(nand, lbn, 0..nand.geometry().pages_per_block(), clean, MERGE)?;",
     "if let Some(old) = map.data_block(lbn) { nand.erase(old, MERGE)?; }\n        let filled = map.gather(nand, lbn, 0..nand.geometry().pages_per_block(), clean, MERGE)?;"),
    ("log-written-is-allocated", "bast, fmax, victims: each has the other's", ASSOCIATIVE,
     "if self.victim == Victim::LeastRecentlyWritten {", "if self.victim != Victim::LeastRecentlyWritten {"),
    ("log-early-merge", "bast, fmax: a merge while a log block is still left", ASSOCIATIVE,
     "if self.queue.len() == self.log_blocks {\n            let victim", "if self.queue.len() + 1 == self.log_blocks.max(2) {\n            let victim"),
    ("log-home-after-log", "bast, fmax: the last erased page of a data block is not written in place", LOG_MAP,
     "_ if offset >= filled => Place::Home(most),", "_ if offset > filled => Place::Home(most),"),
    ("log-trim-forgotten", "bast, fmax, tombstones: a trim is not written down", LOG_MAP,
     "                trims.trim(nand, start as u32..at as u32)?;", "                let _ = (&trims, start, &nand);"),
]


def plant(copy: pathlib.Path, mutant) -> None:
    name, _, file, original, replacement = mutant
    text = (ROOT / file).read_text()
    if text.count(original) != 1:
        raise SystemExit(f"{name}: the original stands {text.count(original)} times in {file}")
    (copy / file).write_text(text.replace(original, replacement))


def verdict(copy: pathlib.Path, target: pathlib.Path) -> str:
    """What caught the mutant: a test's name, the compiler, or nobody."""
    base = ["cargo", "test", "-p", "ftlab-ftl", "-p", "ftlab-check", "--target-dir", str(target)]
    built = subprocess.run([*base, "--no-run"], cwd=copy, capture_output=True, text=True)
    if built.returncode != 0:
        return "does not compile: " + built.stderr.strip().splitlines()[-1]
    run = subprocess.run(base, cwd=copy, capture_output=True, text=True)
    failed = [line.split()[1] for line in run.stdout.splitlines() if line.endswith("... FAILED")]
    return "caught by " + ", ".join(failed[:3]) if failed else "SURVIVED"


def main() -> int:
    wanted = set(sys.argv[1:])
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "ftlab"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("target", ".git"))
        target = pathlib.Path(folder) / "target"
        for mutant in MUTANTS:
            name, breaks, file = mutant[:3]
            if wanted and name not in wanted:
                continue
            plant(copy, mutant)
            rows.append((name, breaks, verdict(copy, target)))
            (copy / file).write_text((ROOT / file).read_text())
            print(*rows[-1], sep=" | ", flush=True)
    if not wanted:
        table = "\n".join(f"| `{name}` | {breaks} | {found} |" for name, breaks, found in rows)
        head = "# Planted bugs\n\nWritten by `tools/mutants.py`: each bug alone, in a copy of the sources.\n\n"
        (ROOT / "docs/mutants.md").write_text(f"{head}| mutant | what it breaks | verdict |\n|---|---|---|\n{table}\n")
    return int(any(not found.startswith("caught") for _, _, found in rows))


if __name__ == "__main__":
    sys.exit(main())
