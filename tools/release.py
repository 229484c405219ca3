#!/usr/bin/env python3
"""Makes a release: checks everything that a release needs, then tags the commit.

    python3 tools/release.py 0.2.0 --dry-run          checks everything; an hour, most of it builds and tests
    python3 tools/release.py 0.2.0 --dry-run --quick  only what needs no build, in seconds
    python3 tools/release.py 0.2.0                    checks everything, then makes the tag v0.2.0 here

It publishes nothing: who pushes the tag does. All checks run, also after one has failed, unless it is one of the slow
ones that needs the others.
"""

import argparse
import pathlib
import subprocess
import sys
import time

from release_checks import built, sources

ROOT = pathlib.Path(__file__).resolve().parent.parent
QUICK = [
    ("version", sources.versions),
    ("changelog", sources.changelog),
    ("clean sources, no such tag", sources.repository),
    ("licences", sources.licences),
    ("crates", sources.crates),
    ("pages", sources.pages),
    ("planted bugs", sources.planted_bugs),
]
SLOW = [
    ("packages build", built.packages),
    ("tests", built.tests),
    ("archive and its size", built.archive),
    ("wheel", built.wheel),
    ("bare roots", built.bare_roots),
    ("site", built.site),
    ("speed against the last release", built.speed),
]


def complaints(checks, version: str, is_stopped_by_failure: bool) -> list[str]:
    """Runs checks; says of each whether it holds."""
    wrong = []
    for name, check in checks:
        begin = time.monotonic()
        found = check(ROOT, version)
        print(f"{'failed' if found else 'ok':7}{name} ({time.monotonic() - begin:.0f} s)", flush=True)
        wrong += [f"{name}: {one}" for one in found]
        if wrong and is_stopped_by_failure:
            break
    return wrong


def tag(version: str) -> None:
    notes = sources.notes(ROOT, version)
    command = ["git", "tag", "--annotate", f"v{version}", "--cleanup=verbatim", "--file=-"]
    subprocess.run(command, cwd=ROOT, input=f"ftlab {version}\n\n{notes}", text=True, check=True)
    print(f"tagged v{version}; `git push origin v{version}` lets the forge build and publish it")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version", help="the version, such as 0.2.0")
    parser.add_argument("--dry-run", action="store_true", help="make no tag")
    parser.add_argument("--quick", action="store_true", help="only what needs no build; with --dry-run")
    asked = parser.parse_args()
    if not sources.VERSION.fullmatch(asked.version):
        parser.error(f"a version has three numbers, such as 0.2.0, not `{asked.version}`")
    if asked.quick and not asked.dry_run:
        parser.error("--quick leaves out what a release needs; add --dry-run")
    if not asked.quick:
        # The check of licences reads the sources of all crates, also of those that are built on other systems only.
        subprocess.run(["cargo", "fetch", "--locked"], cwd=ROOT, check=True)
    wrong = complaints(QUICK, asked.version, is_stopped_by_failure=False)
    if not wrong and not asked.quick:
        wrong = complaints(SLOW, asked.version, is_stopped_by_failure=True)
    if wrong:
        sys.exit("\n".join(wrong))
    if not asked.dry_run:
        tag(asked.version)


if __name__ == "__main__":
    main()
