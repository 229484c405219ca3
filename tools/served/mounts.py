"""A file system on the served disk: nbdfuse makes a file of it, the loop driver a block device of the file.

    served disk ──NBD──▶ nbdfuse: one file ──▶ /dev/loopN ──▶ ext4 or xfs
"""

import os
import pathlib
import shutil
import subprocess
import time

PROGRAMS = ["nbdfuse", "losetup", "mount", "umount"]


def missing(*more: str) -> list[str]:
    """What is needed for a mount and is not here."""
    os.environ["PATH"] += ":/usr/sbin:/sbin:/usr/lib/postgresql/15/bin"
    absent = [program for program in [*PROGRAMS, *more] if not shutil.which(program)]
    absent += ["/dev/fuse"] if not os.access("/dev/fuse", os.R_OK | os.W_OK) else []
    return absent + (["the rights of root"] if os.geteuid() else [])


def ran(*words, check: bool = True, **options) -> subprocess.CompletedProcess:
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **options)
    if check and done.returncode:
        raise SystemExit(f"{' '.join(map(str, words))} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done


class Mount:
    """A file system below `folder`."""

    def __init__(self, folder: pathlib.Path, socket: str, kind: str):
        self.socket, self.kind = socket, kind
        self.fuse, self.root = folder / "fuse", folder / "root"
        self.fuse.mkdir(exist_ok=True)
        self.root.mkdir(exist_ok=True)
        self.device, self.process = None, None

    def attach(self) -> None:
        disk = self.fuse / "disk.img"
        self.process = subprocess.Popen(
            ["nbdfuse", str(disk), "--unix", self.socket], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        end = time.monotonic() + 20
        while not disk.exists():
            if time.monotonic() > end or self.process.poll() is not None:
                raise SystemExit(f"nbdfuse shows no disk on {self.socket}")
            time.sleep(0.01)
        self.device = ran("losetup", "-f", "--show", disk).stdout.strip()

    def format(self) -> None:
        forced = {"ext4": "-F", "xfs": "-f"}[self.kind]
        ran(f"mkfs.{self.kind}", forced, "-q", self.device)

    def repair(self) -> None:
        """What the system does at boot: the journal is replayed. Any other damage is an error."""
        if self.kind == "ext4":
            self.expect_clean(ran("e2fsck", "-p", self.device, check=False), {0, 1})
            self.expect_clean(ran("e2fsck", "-f", "-n", self.device, check=False), {0})

    def expect_clean(self, done: subprocess.CompletedProcess, codes: set[int]) -> None:
        if done.returncode not in codes:
            raise Damaged(f"{' '.join(done.args)} ended with {done.returncode}: {done.stdout}{done.stderr}")

    def mount(self) -> None:
        done = ran("mount", self.device, self.root, check=False)
        self.expect_clean(done, {0})

    def detach(self) -> None:
        """Takes everything away, also if the disk beneath is gone."""
        ran("umount", "-l", self.root, check=False)
        if self.device:
            ran("losetup", "-d", self.device, check=False)
        ran("umount", "-l", self.fuse, check=False)
        self.process.terminate()
        self.process.wait(20)
        self.device = None

    def check_unmounted(self) -> None:
        """The file system must be whole after it was unmounted in order."""
        ran("umount", self.root)
        checker = {"ext4": ["e2fsck", "-f", "-n"], "xfs": ["xfs_repair", "-n"]}[self.kind]
        self.expect_clean(ran(*checker, self.device, check=False), {0})


class Damaged(Exception):
    """A file system or data base is not what it must be."""
