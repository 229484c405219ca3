"""A file system on the served disk: nbdfuse makes a file of it, the loop driver a block device of the file.

    served disk ──NBD──▶ nbdfuse: one file ──▶ /dev/loopN ──▶ ext4 or xfs
"""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import time

SECONDS_TO_ATTACH = 20
FORMAT = {"ext4": ["mkfs.ext4", "-F", "-q"], "xfs": ["mkfs.xfs", "-f", "-q"]}
CHECK = {"ext4": ["e2fsck", "-f", "-n"], "xfs": ["xfs_repair", "-n"]}


class Trouble(Exception):
    """Something that is needed is missing, or a command of the user cannot work; the message says what to do."""


class Damaged(Exception):
    """A file system or data base is not what it must be."""


def missing(*more: str) -> list[str]:
    """What a mount needs and is not here, with these programs."""
    os.environ["PATH"] += ":/usr/sbin:/sbin:/usr/lib/postgresql/15/bin"
    absent = [program for program in ["nbdfuse", "losetup", "mount", "umount", *more] if not shutil.which(program)]
    absent += [] if os.access("/dev/fuse", os.R_OK | os.W_OK) else ["/dev/fuse"]
    return absent + (["the rights of root"] if os.geteuid() else [])


def needed_by(kind: str) -> list[str]:
    """The programs of a file system."""
    return [FORMAT[kind][0], CHECK[kind][0]]


def ran(*words: object, check: bool = True, **options: object) -> subprocess.CompletedProcess[str]:
    """What a program says. One that fails is trouble, unless `check` is false."""
    command = [str(word) for word in words]
    done = subprocess.run(command, capture_output=True, text=True, **options)  # type: ignore[call-overload]
    if check and done.returncode:
        raise Trouble(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done  # type: ignore[no-any-return]


class Mount:
    """A file system below `folder`, or with no kind the disk as a file."""

    def __init__(self, folder: pathlib.Path, socket: str, kind: str | None) -> None:
        self.socket, self.kind = socket, kind
        self.fuse, self.root = folder / "fuse", folder / "root"
        self.fuse.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        self.disk = self.fuse / "disk.img"
        self.device: str | None = None
        self.process: subprocess.Popen[bytes] | None = None

    def attach(self) -> None:
        """Makes a file of the disk and, for a file system, a block device."""
        words = ["nbdfuse", str(self.disk), "--unix", self.socket]
        said = self.fuse.with_suffix(".log")
        with said.open("w") as log:
            self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stderr=log)
        end = time.monotonic() + SECONDS_TO_ATTACH
        while not self.disk.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                raise Trouble(f"nbdfuse shows no disk on {self.socket}: {said.read_text()}")
            time.sleep(0.01)
        if self.kind:
            self.device = ran("losetup", "-f", "--show", self.disk).stdout.strip()

    def format(self) -> None:
        """Makes the file system."""
        if self.kind:
            ran(*FORMAT[self.kind], self.device)

    def repair(self) -> None:
        """What the system does at boot: the journal is replayed. Any other damage is an error."""
        if self.kind == "ext4":
            self.expect_clean(ran("e2fsck", "-p", self.device, check=False), {0, 1})
            self.expect_clean(ran("e2fsck", "-f", "-n", self.device, check=False), {0})

    def expect_clean(self, done: subprocess.CompletedProcess[str], codes: set[int]) -> None:
        """Any other exit code means damage."""
        if done.returncode not in codes:
            raise Damaged(f"{' '.join(done.args)} ended with {done.returncode}: {done.stdout}{done.stderr}")

    def mount(self) -> None:
        """Mounts the file system."""
        if self.kind:
            self.expect_clean(ran("mount", self.device, self.root, check=False), {0})

    def detach(self) -> None:
        """Takes everything away, also if the disk beneath is gone."""
        if self.kind:
            ran("umount", "-l", self.root, check=False)
        if self.device:
            ran("losetup", "-d", self.device, check=False)
        ran("umount", "-l", self.fuse, check=False)
        if self.process:
            self.process.terminate()
            self.process.wait(SECONDS_TO_ATTACH)
        self.device, self.process = None, None

    def check_unmounted(self) -> None:
        """The file system must be whole after it was unmounted in order."""
        ran("umount", self.root)
        if self.kind:
            self.expect_clean(ran(*CHECK[self.kind], self.device, check=False), {0})
