#!/usr/bin/env python3
"""Plants bugs in the sources, one at a time, and demands that the tests catch each.

Tests that do not notice a planted bug cannot be trusted. `planted/` has a list of bugs for each part of the sources. A
list may name the packages, or the tests in them, that must catch its bugs. Each bug replaces one piece of source in a
copy of the workspace. Then tests of that copy must fail: either the quick ones or, after these, the checker's attacks on
the schemes that the list names.

    python3 tools/mutants.py [LIST or NAME ...]     all bugs, or those named; writes the verdicts to docs/mutants.md
    python3 tools/mutants.py --check                only checks that each finds its place and that its verdict names existing tests
"""

import os
import pathlib
import re
import runpy
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
PLANTED = ROOT / "tools/planted"
VERDICTS = ROOT / "docs/mutants.md"
HEAD = """# Planted bugs

*Would the tests notice a bug?* Each row is one bug, planted on purpose in a copy of the sources. The last column names up
to three tests that failed because of it. `tools/mutants.py` plants the bugs and writes this page. Terms:
[glossary](glossary.md).

| list | mutant | what it breaks | verdict |
|---|---|---|---|
"""


def lists() -> dict:
    return {path.stem: runpy.run_path(str(path)) for path in sorted(PLANTED.glob("*.py"))}


def source(name: str, file: str, original: str) -> str:
    """The text of the file, in which the original must occur exactly once."""
    text = (ROOT / file).read_text()
    if text.count(original) != 1:
        raise SystemExit(f"{name}: the original text occurs {text.count(original)} times in {file}")
    return text


def plant(copy: pathlib.Path, name: str, file: str, original: str, replacement: str) -> None:
    (copy / file).write_text(source(name, file, original).replace(original, replacement))


def functions() -> set:
    """The names of all functions in the sources and tests."""
    files = (ROOT / "crates").rglob("*.rs")
    return {name for file in files for name in re.findall(r"\bfn (\w+)\(", file.read_text())}


def check() -> None:
    known, present = known_verdicts(), functions()
    for planted in lists().values():
        for name, _, file, original, _ in planted["MUTANTS"]:
            source(name, file, original)
            if not known.get(name, "").startswith("caught"):
                raise SystemExit(f"{name}: {known.get(name, 'never run')}")
            for test in known[name].removeprefix("caught by ").split(", "):
                if test.split("::")[-1] not in present:
                    raise SystemExit(f"{name}: no test has the name {test}")


def verdict(copy: pathlib.Path, target: pathlib.Path, packages: list, schemes: str) -> str:
    """The tests that caught the bug, or that it does not compile, or that it survived."""
    environment = {**os.environ, **({"FTLAB_SCHEMES": schemes} if schemes else {})}

    def cargo(*arguments: str) -> subprocess.CompletedProcess:
        command = ["cargo", "test", *arguments, "--target-dir", str(target)]
        return subprocess.run(command, cwd=copy, capture_output=True, text=True, env=environment)

    for package in packages:
        package, *only = package.split()
        built = cargo("-p", package, *only, "--no-run")
        if built.returncode != 0:
            return "does not compile: " + built.stderr.strip().splitlines()[-1]
        tests = cargo("-p", package, *only)
        failed = [line.split()[1] for line in tests.stdout.splitlines() if line.endswith("... FAILED")]
        if failed:
            return "caught by " + ", ".join(failed[:3])
        if tests.returncode != 0:
            return "caught: " + tests.stderr.strip().splitlines()[-1]
    return "SURVIVED"


def known_verdicts() -> dict:
    rows = [line.split(" | ") for line in VERDICTS.read_text().splitlines() if line.startswith("| ")]
    return {row[1].strip("`"): row[3].removesuffix(" |") for row in rows if len(row) == 4 and "`" in row[1]}


def write_verdicts(verdicts: dict) -> None:
    """Writes the verdicts of all bugs in the lists. A bug without a verdict is marked as not run."""
    rows = [
        f"| {name} | `{mutant[0]}` | {mutant[1]} | {verdicts.get(mutant[0], 'not run')} |\n"
        for name, planted in lists().items()
        for mutant in planted["MUTANTS"]
    ]
    VERDICTS.write_text(HEAD + "".join(rows))


def main() -> int:
    wanted = set(sys.argv[1:])
    if wanted == {"--check"}:
        check()
        return 0
    verdicts, survived = known_verdicts(), 0
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "ftlab"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns("target", ".git"))
        target = pathlib.Path(folder) / "target"
        for list_name, planted in lists().items():
            packages = planted.get("PACKAGES", ["ftlab-ftl", "ftlab-check"])
            for name, breaks, file, original, replacement in planted["MUTANTS"]:
                if wanted and not wanted & {name, list_name}:
                    continue
                plant(copy, name, file, original, replacement)
                verdicts[name] = verdict(copy, target, packages, planted.get("SCHEMES", ""))
                (copy / file).write_text((ROOT / file).read_text())
                survived += not verdicts[name].startswith("caught")
                print(list_name, name, breaks, verdicts[name], sep=" | ", flush=True)
                write_verdicts(verdicts)
    return int(survived > 0)


if __name__ == "__main__":
    sys.exit(main())
