"""Rounds of power cuts under a program: each begins with an empty disk, and can be repeated alone.

    disk ─▶ file system ─▶ setup ─▶ command … power fails ─▶ everything above the disk is killed
                                                                      │
    finding, if the check fails ◀── check ◀── file system mounted ◀── power is back
"""

from __future__ import annotations

import dataclasses
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence

from ftlab_powercut.disk import Disk
from ftlab_powercut.mounts import Damaged, Mount, Trouble, missing, needed_by

# What the interrupted operation leaves on flash; docs/reliability.md describes each.
OUTCOMES = ["untouched", "complete", "torn", "looks-erased", "unstable", "flipped", "stale", "misdirected"]
OUTCOMES += ["paired", "half", "intact", "mixed"]

# The command gets process numbers of its own, so that all its processes end with it, also those that became daemons.
OWN_PROCESSES = ["unshare", "--pid", "--fork", "--kill-child"]

Words = Sequence[str]
"""A command with its arguments."""
Check = Callable[[pathlib.Path, str], None]
"""Gets the folder of the file system and what the command printed; raises AssertionError if something is wrong."""


@dataclasses.dataclass(frozen=True)
class Cut:
    """The power cut of a round, drawn from the seed and the number of the round."""

    round: int
    after: int
    """Programs and erases of the flash that succeed after the command began."""
    outcome: str

    @staticmethod
    def drawn(seed: int, number: int, within: int) -> Cut:
        """Small numbers are as likely as large ones: a program that wrote little has just begun."""
        draws = random.Random(f"{seed}/{number}")
        return Cut(number, int(within ** draws.random()), draws.choice(OUTCOMES))


@dataclasses.dataclass(frozen=True)
class Finding:
    """A check that failed."""

    cut: Cut
    said: str

    def __str__(self) -> str:
        when = f"power cut after {self.cut.after} programs and erases, outcome {self.cut.outcome}"
        return f"round {self.cut.round}, {when}:\n{self.said}"


@dataclasses.dataclass(frozen=True)
class Campaign:
    """What is run, on which disk, and how often its power fails."""

    command: Words
    check: Words | Check
    setup: Words | None = None
    cuts: int = 10
    seed: int = 1
    within: int = 2000
    """The largest number of programs and erases before a cut."""
    filesystem: str | None = "ext4"
    """`ext4`, `xfs`, or none: the commands then get the disk as a file."""
    serve: Words = ("--ftl", "page", "--buffer", "1MiB", "--capacity", "64MiB")
    timeout_s: float = 60.0

    def absent(self) -> list[str]:
        """What is missing on this machine."""
        return missing("unshare", *(needed_by(self.filesystem) if self.filesystem else []))

    def rounds(self, numbers: Sequence[int] | None = None) -> Iterator[tuple[Cut, Finding | None]]:
        """Runs all rounds, or those with these numbers."""
        if absent := self.absent():
            raise Trouble(f"power cuts under a program need {', '.join(absent)}, which is missing here")
        for number in numbers or range(self.cuts):
            cut = Cut.drawn(self.seed, number, self.within)
            folder = pathlib.Path(tempfile.mkdtemp(prefix="ftlab-powercut-"))
            try:
                yield cut, _Round(self, cut, folder).finding()
            finally:
                shutil.rmtree(folder, ignore_errors=True)


class _Round:
    """One power cut, on a disk of its own."""

    def __init__(self, campaign: Campaign, cut: Cut, folder: pathlib.Path) -> None:
        folder.chmod(0o755)
        self.campaign, self.cut = campaign, cut
        self.output, self.errors = folder / "output", folder / "errors"
        self.disk = Disk(folder, list(campaign.serve))
        self.mount = Mount(folder, self.disk.socket, campaign.filesystem)

    @property
    def place(self) -> pathlib.Path:
        return self.mount.root if self.campaign.filesystem else self.mount.disk

    def finding(self) -> Finding | None:
        try:
            self._prepare()
            self._cut_under_command()
            self._check()
        except (Damaged, AssertionError) as wrong:
            return Finding(self.cut, str(wrong) or "the check raised AssertionError without a message")
        finally:
            self.mount.detach()
            self.disk.end()
        return None

    def _prepare(self) -> None:
        self.mount.attach()
        self.mount.format()
        self.mount.mount()
        if self.campaign.setup:
            done = self._run(self.campaign.setup)
            if done.returncode:
                raise Trouble(f"the setup ended with {done.returncode}: {done.stdout}{done.stderr}")
        os.sync()

    def _run(self, words: Words) -> subprocess.CompletedProcess[str]:
        try:
            return subprocess.run(
                list(words), env=self._environment(), capture_output=True, text=True, timeout=self.campaign.timeout_s
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Trouble(f"`{shlex.join(words)}`: {error}") from error

    def _environment(self) -> dict[str, str]:
        own = {"FTLAB_PLACE": self.place, "FTLAB_OUTPUT": self.output, "FTLAB_ROUND": self.cut.round,
               "FTLAB_SEED": self.campaign.seed}
        return os.environ | {name: str(value) for name, value in own.items()}

    def _cut_under_command(self) -> None:
        """Starts the command and cuts the power. If it ends before the cut, the power fails then."""
        words = [*OWN_PROCESSES, *self.campaign.command]
        with self.output.open("w") as output, self.errors.open("w") as errors:
            command = subprocess.Popen(words, env=self._environment(), stdin=subprocess.DEVNULL, stdout=output,
                                       stderr=errors)
        try:
            with self.disk.order({"cut": {"after": self.cut.after}, "outcome": self.cut.outcome, "stay_down": True}):
                self._wait_for_cut(command)
        finally:
            command.kill()
            command.wait()

    def _wait_for_cut(self, command: subprocess.Popen[bytes]) -> None:
        end = time.monotonic() + self.campaign.timeout_s
        while self.disk.is_up() and command.poll() is None and time.monotonic() < end:
            time.sleep(0.005)
        code = command.poll()
        if self.disk.is_up():
            if code:
                raise Trouble(f"the command ended with {code} before the power failed: {self.errors.read_text()}")
            self.disk.cancel_cut()
        if self.disk.is_up():
            self.disk.ask({"cut": "now", "stay_down": True})

    def _check(self) -> None:
        self.mount.detach()
        self.disk.ask({"power": "on"})
        self.mount.attach()
        self.mount.repair()
        self.mount.mount()
        check = self.campaign.check
        if callable(check):
            check(self.place, self.output.read_text())
            return
        done = self._run(check)
        if done.returncode:
            raise Damaged(f"the check ended with {done.returncode}: {done.stdout}{done.stderr}".rstrip())


def campaign(command: Words, check: Words | Check, **options: object) -> list[Finding]:
    """Runs a campaign and returns what it found. `options` are the fields of `Campaign`."""
    made = Campaign(command, check, **options)  # type: ignore[arg-type]
    return [finding for _, finding in made.rounds() if finding]
