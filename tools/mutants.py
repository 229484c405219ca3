#!/usr/bin/env python3
"""Plants bugs in the sources, one at a time, and demands that the tests catch each.

Tests that do not notice a planted bug cannot be trusted. `planted/` has a list of bugs for each part of the sources. A
list may name the packages, or the tests in them, that must catch its bugs. Each bug replaces one piece of source in a
copy of the workspace. Then tests of that copy must fail: those that the last verdict names or, if these pass, all tests
of the packages. The same tests run without a bug first; if these fail, the tool stops. Only a test that fails, or that
aborts its program, catches a bug. A build that fails, a test that never ends and a tool that crashes catch nothing.

    python3 tools/mutants.py [LIST or NAME ...]     all bugs, or those named; writes the verdicts to docs/mutants.md
    python3 tools/mutants.py --only-unknown ...     only bugs that no test has caught yet
    python3 tools/mutants.py --resume ...           without the bugs that an interrupted run has tried
    python3 tools/mutants.py --jobs N ...           N bugs side by side, each in a copy of its own
    python3 tools/mutants.py --check                only checks that each finds its place and that its verdict names existing tests

Copies and their compiled files stay in `target/mutants`, so the next run builds only what has changed.
"""

import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import queue
import re
import runpy
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from typing import ClassVar

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLANTED = ROOT / "tools/planted"
VERDICTS = ROOT / "docs/mutants.md"
COPIES = ROOT / "target/mutants"
TRIED = COPIES / "tried.txt"
LEFT_OUT = ("target", ".git")
# Tests with a bug may take this number of times as long as without, and at least this number of seconds.
PATIENCE, PATIENCE_MIN_S = 10, 120
HEAD = """# Planted bugs

*Would the tests notice a bug?* Each row is one bug, planted on purpose in a copy of the sources. The last column names up
to three tests that failed because of it. `tools/mutants.py` plants the bugs and writes this page. Terms:
[glossary](glossary.md).

| list | mutant | what it breaks | verdict |
|---|---|---|---|
"""


@dataclasses.dataclass(frozen=True)
class Bug:
    list_name: str
    name: str
    breaks: str
    file: str
    original: str
    replacement: str
    packages: tuple
    schemes: str


@dataclasses.dataclass(frozen=True)
class Step:
    """Tests that run together: arguments of `cargo test`, and the only tests of these, if not all."""

    arguments: tuple
    schemes: str
    only: tuple = ()

    def __str__(self) -> str:
        schemes = f"FTLAB_SCHEMES={self.schemes} " if self.schemes else ""
        only = " -- --exact " + " ".join(self.only) if self.only else ""
        return f"{schemes}cargo test {' '.join(self.arguments)}{only}"


# The lists, their places and their verdicts.


def bugs() -> list:
    found = []
    for path in sorted(PLANTED.glob("*.py")):
        planted = runpy.run_path(str(path))
        packages = tuple(planted.get("PACKAGES", ["ftlab-ftl", "ftlab-check"]))
        found += [Bug(path.stem, *mutant, packages, planted.get("SCHEMES", "")) for mutant in planted["MUTANTS"]]
    return found


def planted_source(bug: Bug) -> str:
    """The text of the file with the bug. The original must occur in it exactly once."""
    text = (ROOT / bug.file).read_text()
    if text.count(bug.original) != 1:
        raise SystemExit(f"{bug.name}: the original text occurs {text.count(bug.original)} times in {bug.file}")
    return text.replace(bug.original, bug.replacement)


def known_verdicts() -> dict:
    rows = [line.split(" | ") for line in VERDICTS.read_text().splitlines() if line.startswith("| ")]
    return {row[1].strip("`"): row[3].removesuffix(" |") for row in rows if len(row) == 4 and "`" in row[1]}


def write_verdicts(verdicts: dict) -> None:
    """Writes the verdicts of all bugs in the lists. A bug without a verdict is marked as not run."""
    rows = [f"| {b.list_name} | `{b.name}` | {b.breaks} | {verdicts.get(b.name, 'not run')} |\n" for b in bugs()]
    VERDICTS.write_text(HEAD + "".join(rows))


def tests_named(verdict: str) -> list:
    """The tests that a verdict names, without the remark that a test aborts."""
    if not verdict.startswith("caught by "):
        return []
    return [test.split(" (")[0] for test in verdict.removeprefix("caught by ").split(", ")]


def check() -> None:
    verdicts = known_verdicts()
    present = {name for file in (ROOT / "crates").rglob("*.rs") for name in re.findall(r"\bfn (\w+)\(", file.read_text())}
    for bug in bugs():
        planted_source(bug)
        if not tests_named(verdicts.get(bug.name, "")):
            raise SystemExit(f"{bug.name}: {verdicts.get(bug.name, 'never run')}")
        for test in tests_named(verdicts[bug.name]):
            if test.split("::")[-1] not in present:
                raise SystemExit(f"{bug.name}: no test has the name {test}")


# Which tests to run for a bug.


def target_of(file: pathlib.Path, folder: pathlib.Path) -> str:
    """The target of a package that a test's source belongs to."""
    place = file.relative_to(folder).parts
    return f"--test {pathlib.Path(place[1]).stem}" if place[0] == "tests" else "--lib"


def first_steps(bug: Bug, verdict: str) -> list:
    """The tests that the last verdict names, by target. Only targets that the list admits count."""
    steps = {}
    for package in bug.packages:
        name, *admitted = package.split()
        folder = ROOT / "crates" / {"ftlab": "cli"}.get(name, name.removeprefix("ftlab-"))
        for test in tests_named(verdict):
            declared = re.compile(rf"\bfn {test.split('::')[-1]}\(")
            files = [file for kind in ("src", "tests") for file in (folder / kind).rglob("*.rs")]
            for target in {target_of(file, folder) for file in files if declared.search(file.read_text())}:
                if not any(word in ("--lib", "--test") for word in admitted) or target in " ".join(admitted):
                    steps.setdefault(("-p", name, *target.split()), []).append(test)
    return [Step(arguments, bug.schemes, tuple(tests)) for arguments, tests in steps.items()]


def last_steps(bug: Bug) -> list:
    """All tests that the list admits, package by package."""
    return [Step(tuple(["-p", *package.split()]), bug.schemes) for package in bug.packages]


# Building and running them in a copy.


class Unusable(Exception):
    """The tests fail without any bug, so they say nothing about bugs."""


@dataclasses.dataclass
class Run:
    """How tests ended: the names of those that passed and failed, and what else went wrong, if anything."""

    passed: list
    failed: list
    trouble: str


class Copy:
    """A copy of the workspace in which one bug at a time is planted."""

    running: ClassVar[set] = set()
    # Set when everything ends: what is killed then has no verdict.
    stopping: ClassVar[bool] = False

    def __init__(self, number: int):
        self.folder, self.target = COPIES / str(number) / "ftlab", COPIES / str(number) / "target"
        self.planted = None
        self.update()

    def update(self) -> None:
        """Copies files that differ. Others keep their times, so cargo does not compile them again."""
        known = set()
        for folder, folders, files in os.walk(ROOT):
            folders[:] = [name for name in folders if name not in LEFT_OUT]
            self.link(pathlib.Path(folder, name) for name in folders)
            for name in files:
                file = (pathlib.Path(folder) / name).relative_to(ROOT)
                known.add(file)
                copy = self.folder / file
                if not copy.exists() or copy.read_bytes() != (ROOT / file).read_bytes():
                    copy.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copyfile(ROOT / file, copy)
        for file in [file for file in self.folder.rglob("*") if file.is_file()]:
            if file.relative_to(self.folder) not in known:
                file.unlink()

    def link(self, folders: Iterable) -> None:
        """Repeats those of these folders that are links. They lead to another folder of the workspace."""
        for folder in folders:
            copy = self.folder / folder.relative_to(ROOT)
            if folder.is_symlink() and not copy.is_symlink():
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.symlink_to(folder.readlink())

    def plant(self, bug: Bug | None) -> None:
        """Takes out the last bug and plants this one, if any."""
        if bug == self.planted:
            return
        if self.planted:
            shutil.copyfile(ROOT / self.planted.file, self.folder / self.planted.file)
        if bug:
            (self.folder / bug.file).write_text(planted_source(bug))
        self.planted = bug

    def cargo(self, step: Step, *more: str, limit_s: float | None = None) -> tuple:
        """The exit code (None if the time is over) and the output of `cargo test`."""
        command = ["cargo", "test", "--profile", "mutants", "--target-dir", str(self.target), *step.arguments, *more]
        environment = {**os.environ, "CARGO_INCREMENTAL": "1", "CARGO_TERM_COLOR": "never"}
        environment.pop("FTLAB_SCHEMES", None)
        if step.schemes:
            environment["FTLAB_SCHEMES"] = step.schemes
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, text=True, start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, errors="replace",
        )  # fmt: skip
        Copy.running.add(process)
        try:
            output, _ = process.communicate(timeout=limit_s)
            return process.returncode, output
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return None, process.communicate()[0]
        finally:
            Copy.running.discard(process)

    def build(self, step: Step) -> str:
        """Builds the tests. Returns what failed, or an empty text."""
        code, output = self.cargo(step, "--no-run")
        errors = [line for line in output.splitlines() if line.startswith("error")]
        return "" if code == 0 else f"does not compile: {(errors or [f'cargo ended with {code}'])[0]}"

    def run(self, step: Step, limit_s: float | None) -> Run:
        """Runs tests that are built."""
        code, output = self.cargo(step, "--", *(["--exact", *step.only] if step.only else []), limit_s=limit_s)
        ended = re.findall(r"^test (.+?)(?: - should panic)? \.\.\. (ok|FAILED)$", output, re.MULTILINE)
        passed, failed = ([name for name, how in ended if how == word] for word in ("ok", "FAILED"))
        if code is None:
            return Run(passed, failed, f"no end within {limit_s:.0f} s")
        killed = re.search(r"\(signal: \d+, (SIG\w+)", output)
        if killed and killed[1] in ("SIGABRT", "SIGSEGV", "SIGBUS", "SIGILL"):
            return Run(passed, failed + self.aborting(step, limit_s, killed[1]), f"{killed[1]} outside of every test")
        return Run(passed, failed, "" if code == 0 else f"cargo test ended with {code}")

    def aborting(self, step: Step, limit_s: float | None, how: str) -> list:
        """The test that ends its whole program: the one that runs last if one after the other runs."""
        only = ["--exact", *step.only] if step.only else []
        _, output = self.cargo(step, "--", *only, "--test-threads=1", limit_s=limit_s)
        begun = re.search(r"^test (\S+) \.\.\. (?!ok$|ignored|FAILED$)", output, re.MULTILINE)
        return [f"{begun[1]} ({how})"] if begun else []


class Judge:
    """Knows which tests pass without any bug, and how long they take."""

    def __init__(self, chosen: list, verdicts: dict):
        self.chosen, self.verdicts = chosen, dict(verdicts)
        self.proved, self.lock = {}, threading.Lock()

    def prove(self, copy: Copy, step: Step) -> None:
        """Runs tests without a bug, unless that was done. Raises `Unusable` if they are red."""
        if step in self.proved:
            return
        copy.plant(None)
        start = time.monotonic()
        failure = copy.build(step)
        run = Run([], [], failure) if failure else copy.run(step, None)
        if run.failed or run.trouble or not (run.passed or step.only):
            why = ", ".join(run.failed) or run.trouble or "no test ran"
            raise Unusable(f"without any bug, `{step}` is red: {why}")
        self.proved[step] = (set(run.passed), time.monotonic() - start)

    def prove_named(self, copy: Copy, bug: Bug) -> dict:
        """The tests that the verdicts of the bug's list name and that pass without a bug, by arguments."""
        named = {}
        for other in self.chosen:
            if other.list_name == bug.list_name:
                for step in first_steps(other, self.verdicts.get(other.name, "")):
                    named.setdefault(step.arguments, set()).update(step.only)
        steps = [Step(arguments, bug.schemes, tuple(sorted(tests))) for arguments, tests in named.items()]
        for step in steps:
            self.prove(copy, step)
        return {step.arguments: self.proved[step] for step in steps}

    def verdict(self, copy: Copy, bug: Bug) -> str:
        """The tests that caught the bug, or why there is no verdict, or that it survived."""
        with self.lock:
            named = self.prove_named(copy, bug)
        trouble = ""
        for step in first_steps(bug, self.verdicts.get(bug.name, "")):
            passed, clean_s = named[step.arguments]
            known = tuple(test for test in step.only if test in passed)
            if known:
                found, trouble = self.tried(copy, dataclasses.replace(step, only=known), bug, clean_s)
                if found:
                    return found
        for step in last_steps(bug):
            with self.lock:
                self.prove(copy, step)
            found, trouble_here = self.tried(copy, step, bug, self.proved[step][1])
            if found:
                return found
            trouble = trouble or trouble_here
        return f"no verdict: {trouble}" if trouble else "SURVIVED"

    def tried(self, copy: Copy, step: Step, bug: Bug, clean_s: float) -> tuple:
        """The verdict of these tests, if they have one, and what went wrong, if anything."""
        copy.plant(bug)
        failure = copy.build(step)
        if failure:
            return failure, ""
        run = copy.run(step, max(PATIENCE_MIN_S, PATIENCE * clean_s))
        run.failed.sort(key=lambda test: step.only.index(test) if test in step.only else 0)
        return run.failed and "caught by " + ", ".join(run.failed[:3]), run.trouble


def wanted_bugs(options: argparse.Namespace, verdicts: dict) -> list:
    names, tried = set(options.names), set()
    unknown = names - {name for bug in bugs() for name in (bug.name, bug.list_name)}
    if unknown:
        raise SystemExit(f"no list or bug is called {', '.join(sorted(unknown))}")
    if options.resume and TRIED.exists():
        tried = set(TRIED.read_text().split())
    chosen = [bug for bug in bugs() if bug.name not in tried and (not names or names & {bug.name, bug.list_name})]
    return [bug for bug in chosen if not (options.only_unknown and tests_named(verdicts.get(bug.name, "")))]


def try_all(options: argparse.Namespace) -> int:
    verdicts = known_verdicts()
    chosen, writing = wanted_bugs(options, verdicts), threading.Lock()
    judge, copies = Judge(chosen, verdicts), queue.Queue()
    COPIES.mkdir(parents=True, exist_ok=True)
    if not options.resume:
        TRIED.write_text("")
    for number in range(options.jobs):
        copies.put(Copy(number))
    caught, start = [], time.monotonic()

    def judge_one(bug: Bug) -> None:
        copy, begun = copies.get(), time.monotonic()
        try:
            found = judge.verdict(copy, bug)
        finally:
            copies.put(copy)
        if Copy.stopping:
            return
        with writing:
            verdicts[bug.name] = found
            caught.append(bool(tests_named(found)))
            took = f"{time.monotonic() - begun:.1f} s"
            print(f"{len(caught)}/{len(chosen)}", bug.list_name, bug.name, bug.breaks, found, took, sep=" | ", flush=True)
            write_verdicts(verdicts)
            with TRIED.open("a") as file:
                file.write(bug.name + "\n")

    side_by_side(judge_one, chosen, options.jobs)
    seconds = time.monotonic() - start
    print(f"{sum(caught)} of {len(caught)} bugs caught in {seconds:.0f} s, {seconds / max(1, len(caught)):.1f} s a bug")
    return int(not all(caught))


def side_by_side(work: Callable, items: list, jobs: int) -> None:
    """Calls `work` with each item. The first failure, or Ctrl-C, ends everything that still runs."""
    pool = concurrent.futures.ThreadPoolExecutor(jobs)
    try:
        for one in concurrent.futures.as_completed([pool.submit(work, item) for item in items]):
            one.result()
    except BaseException as error:
        Copy.stopping = True
        pool.shutdown(wait=False, cancel_futures=True)
        for process in list(Copy.running):
            os.killpg(process.pid, signal.SIGKILL)
        raise SystemExit(f"mutants.py stops: {str(error) or type(error).__name__}") from None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="LIST or NAME", help="lists or single bugs; default: all")
    parser.add_argument("--only-unknown", action="store_true", help="only bugs that no test has caught yet")
    parser.add_argument("--resume", action="store_true", help="leave out what an interrupted run has tried")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="bugs side by side, each in its own copy")
    parser.add_argument("--check", action="store_true", help="only check places and verdicts; run nothing")
    options = parser.parse_args()
    if options.check:
        check()
        return 0
    return try_all(options)


if __name__ == "__main__":
    sys.exit(main())
