"""What a release needs of what is built from its sources. Each check returns what is wrong."""

import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time

from .sources import complaint_of, ran

PACKAGE_BYTES_MAX = 1_000_000
# The command may take this much longer for the demo than that of the last release.
SLOWER_MAX = 1.10
ROUNDS = 7


def target(root: pathlib.Path) -> pathlib.Path:
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))


def packages(root: pathlib.Path, version: str) -> list[str]:
    """Every crate builds from its package, and no package is large."""
    members = json.loads(ran(root, "cargo", "metadata", "--no-deps", "--format-version", "1").stdout)["packages"]
    unpublished = [word for one in members if one["publish"] == [] for word in ("--exclude", one["name"])]
    # For cargo a package of a name and version never changes: it would build what an earlier check has unpacked.
    here = target(root) / "packages"
    home = pathlib.Path(os.environ.get("CARGO_HOME", pathlib.Path.home() / ".cargo"))
    unpacked = [old for one in members for old in home.glob(f"registry/src/*/{one['name']}-{version}")]
    for old in [here, *unpacked]:
        shutil.rmtree(old, ignore_errors=True)
    wrong = complaint_of(root, "cargo", "package", "--workspace", *unpublished, "--target-dir", str(here))
    made = (here / "package").glob(f"*-{version}.crate")
    return wrong + too_large(sorted(made), PACKAGE_BYTES_MAX)


def too_large(files: list[pathlib.Path], bytes_max: int) -> list[str]:
    sizes = [(path.name, path.stat().st_size) for path in files]
    return [f"{name} has {size:,} bytes, the most is {bytes_max:,}" for name, size in sizes if size > bytes_max]


def tests(root: pathlib.Path, _version: str) -> list[str]:
    return complaint_of(root, "make", "test")


def archive(root: pathlib.Path, _version: str) -> list[str]:
    """The archive of the command; the recipe refuses a command that is too large."""
    return complaint_of(root, "make", "dist")


def wheel(root: pathlib.Path, _version: str) -> list[str]:
    """The wheel for this machine and the sdist. The forge builds those for other machines."""
    return complaint_of(root, "make", "wheel", "sdist")


def bare_roots(root: pathlib.Path, version: str) -> list[str]:
    """Command, container and wheel compare FTLs where no compiler and no package is."""
    command = "target/dist/root/usr/bin/ftlab"
    wrong = complaint_of(root, sys.executable, "tools/bare_root.py", command, "target/bare/command", "--try")
    wrong += complaint_of(root, "make", "container")
    # Wheels for other machines, which `make manylinux` leaves there, do not run here.
    wheels = sorted((root / "target/wheels").glob(f"ftlab-{version}-*_{platform.machine()}.whl"))
    for built in wheels:
        line = [sys.executable, "tools/bare_root.py", "--wheel", str(built), "target/bare/wheel", "--try"]
        wrong += complaint_of(root, *line)
    if not wheels:
        wrong.append(f"there is no wheel of {version} for {platform.machine()} in target/wheels")
    return wrong


def site(root: pathlib.Path, _version: str) -> list[str]:
    return complaint_of(root, "make", "site")


def speed(root: pathlib.Path, _version: str) -> list[str]:
    """The demo's comparison takes no longer than with the last release, both run in turns."""
    last = ran(root, "git", "describe", "--tags", "--abbrev=0", "--match", "v*").stdout.strip()
    if not last:
        return []
    before = root / "target/last-release"
    if not before.exists():
        ran(root, "git", "worktree", "add", "--detach", str(before), last)
    wrong = complaint_of(before, "cargo", "build", "--release", "--bin", "ftlab", "--target-dir", str(before / "target"))
    commands = [[str(folder / "release/ftlab"), "compare"] for folder in (before / "target", target(root))]
    return wrong or slower(*commands)


def slower(before: list[str], now: list[str]) -> list[str]:
    """What is wrong if the second command takes longer, by the shortest of several rounds in turns."""
    shortest = [float("inf")] * 2
    for _ in range(ROUNDS):
        for at, command in enumerate((before, now)):
            begin = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            shortest[at] = min(shortest[at], time.perf_counter() - begin)
    ratio = shortest[1] / shortest[0]
    said = f"`{' '.join(now)}` takes {shortest[1]:.2f} s, {ratio:.2f} times as long as with the last release"
    return [said] if ratio > SLOWER_MAX else []
