#!/usr/bin/env python3
"""A file system that has one program and the libraries that it loads, and nothing else.

    python3 tools/bare_root.py COMMAND FOLDER           lays it out: what the container is made of
    python3 tools/bare_root.py COMMAND FOLDER --try     also runs the demo's comparison in it, small
    python3 tools/bare_root.py --wheel WHEEL FOLDER --try    Python with this wheel instead of the command

What runs there needs no compiler, no package and no file of this machine.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import sysconfig
import zipfile

# The demo's comparison, in a second.
DEMO = ["compare", "oltp:writes=20k"] + [
    word for ftl in ("page", "dac", "dftl", "fast", "faster", "last", "bast") for word in ("--ftl", ftl)
]
SITE = "usr/lib/ftlab"


def add_program(root: pathlib.Path, program: pathlib.Path, place: str) -> None:
    """Copies a program to its place, and its libraries to theirs."""
    target = root / place
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(program, target)
    add_libraries(root, program)


def add_libraries(root: pathlib.Path, program: pathlib.Path) -> None:
    listed = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
    for library in re.findall(r"(/\S+) \(0x", listed):
        target = root / library.lstrip("/")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(library, target)


def add_python(root: pathlib.Path, wheel: pathlib.Path) -> None:
    """Lays out this Python with its standard library, and the wheel as pip would unpack it."""
    base = pathlib.Path(sys.base_prefix)
    interpreter = (base / "bin" / f"python{sysconfig.get_python_version()}").resolve()
    add_program(root, interpreter, str(interpreter).lstrip("/"))
    library = pathlib.Path(sysconfig.get_path("stdlib", vars={"installed_base": str(base)}))
    left_out = shutil.ignore_patterns("test", "site-packages", "dist-packages", "__pycache__", "*.a")
    shutil.copytree(library, root / str(library).lstrip("/"), ignore=left_out, symlinks=True)
    for extension in (library / "lib-dynload").glob("*.so"):
        add_libraries(root, extension)
    with zipfile.ZipFile(wheel) as packed:
        packed.extractall(root / SITE)
    for extension in (root / SITE).glob("ftlab/*.so"):
        add_libraries(root, extension)
    (root / "usr/bin").mkdir(parents=True, exist_ok=True)
    (root / "usr/bin/python3").symlink_to(interpreter)


def run(root: pathlib.Path, *command: str) -> str:
    """What a command prints that sees only this root. Ends the program if it fails."""
    enter = ["unshare", "--map-root-user", f"--root={root}", "--wd=/data"]
    done = subprocess.run([*enter, *command], capture_output=True, text=True,
                          env={"PATH": "/usr/bin", "PYTHONPATH": f"/{SITE}", "LANG": "C.UTF-8"})
    if done.returncode:
        sys.exit(f"in the bare root {root}, `{' '.join(command)}` failed:\n{done.stderr}")
    return done.stdout


def lay_out(root: pathlib.Path, command: pathlib.Path | None, wheel: pathlib.Path | None) -> list[str]:
    """Makes the root; returns how ftlab is called in it."""
    shutil.rmtree(root, ignore_errors=True)
    for folder in ("data", "tmp"):
        (root / folder).mkdir(parents=True)
    if wheel:
        add_python(root, wheel)
        return ["/usr/bin/python3", "-m", "ftlab"]
    add_program(root, command, "usr/bin/ftlab")
    return ["/usr/bin/ftlab"]


def demo(root: pathlib.Path, ftlab: list[str]) -> str:
    """Runs the demo's comparison in the root; returns its headline."""
    text = run(root, *ftlab, *DEMO)
    if "write amplification" not in text:
        sys.exit(f"in the bare root {root}, the comparison printed no write amplification:\n{text}")
    return text.splitlines()[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", nargs="?", type=pathlib.Path, help="the command ftlab")
    parser.add_argument("--wheel", type=pathlib.Path, help="a wheel in place of the command")
    parser.add_argument("folder", type=pathlib.Path, help="the folder that becomes the root")
    parser.add_argument("--try", action="store_true", dest="is_tried", help="run the demo's comparison there")
    asked = parser.parse_args()
    if (asked.command is None) == (asked.wheel is None):
        parser.error("give either the command or --wheel")
    ftlab = lay_out(asked.folder.absolute(), asked.command, asked.wheel)
    if asked.is_tried:
        print(demo(asked.folder.absolute(), ftlab))


if __name__ == "__main__":
    main()
