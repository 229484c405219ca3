"""FTLs in Python: forty lines for a first idea or a lecture, simulated and cut like all others.

A subclass of :class:`Ftl` is an FTL. Pass the class, not an object, because each mount makes a new
object: a reset leaves nothing in memory. Keep nothing in globals.

>>> class Mine(ftlab.Ftl):
...     def mount(self, chip, device): ...
>>> ftlab.run("uniform:writes=10K", capacity="16MiB", ftl=Mine)
>>> ftlab.check(Mine)

The notebook ``write-an-ftl.ipynb`` writes one, breaks it and repairs it. The same interface for C is
``include/ftlab.h``, and ``docs/guests.md`` describes what is counted and checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from ftlab import _native
from ftlab._native import Chip
from ftlab.frozen import frozen
from ftlab.given import spelt
from ftlab.progress import Progress, shown

__all__ = [
    "Check",
    "Chip",
    "Device",
    "Finding",
    "Ftl",
    "IllegalCommand",
    "Invalid",
    "OperationFailed",
    "PowerLost",
    "ReadOnly",
    "Unreadable",
    "check",
]


class PowerLost(BaseException):
    """The chip has lost its power. Let it pass: the object is not used again."""


class Unreadable(Exception):
    """Error correction failed. Raised by the chip, and by ``read`` for data that are lost."""


class OperationFailed(Exception):
    """A program or an erase has failed: the block should be retired. Only an FTL that
    ``handles_failures`` sees it, on media that can fail."""


class IllegalCommand(Exception):
    """A command breaks a rule of flash. It changed nothing, and the check reports it."""


class ReadOnly(Exception):
    """Raised by an FTL that can make no room: the device takes no more writes."""


class Invalid(ValueError):
    """Raised by ``mount`` for a device or a parameter that the FTL cannot work with."""


class Device(NamedTuple):
    """The device that an FTL has to be."""

    is_new: bool
    """Whether the chip comes from the factory, erased everywhere."""
    logical_pages: int
    """Number of pages that the host sees."""
    host_page_bytes: int
    """Bytes of such a page."""
    seed: int
    """For everything that the FTL draws at random."""
    parameters: list[tuple[str, str]]
    """Keys and values that follow the FTL; none for a class."""


class Ftl:
    """An FTL. Subclasses write at least ``mount``, ``read`` and ``write``.

    What a method raises ends the request. A run raises it again; a check reports it.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in vars(cls):
            for known in () if hasattr(Ftl, name) else _PUBLIC:
                if _is_slip(name, known):
                    raise TypeError(f"{cls.__name__}: no FTL has `{name}`; did you mean `{known}`?")

    durability: str = "write"
    """What survives a power cut: ``write`` everything that was answered, ``flush`` what was answered
    before the last flush, ``snapshot`` the device as it was at a flush."""
    cuts: Iterable[str] = ("torn",)
    """What an interrupted operation may leave that the FTL means to survive, apart from nothing and
    everything: ``torn``, ``looks-erased``, ``unstable``, ``half-erased``, ``erase``, ``lasting``,
    ``misdirected``, ``paired``, ``reordered``, ``brown-out``."""
    host_page_bytes: int = 0
    """Bytes of a page of the host; 0 for a page of the chip."""
    spare_bytes: int = 0
    """Bytes of each spare area that it uses; 0 for as many as there are."""
    handles_failures: bool = False
    """Whether it handles blocks and operations that fail. Else others take their place below it."""

    def mount(self, chip: Chip, device: Device) -> None:
        """Recover from any state of the flash; format a chip that is new."""
        raise NotImplementedError("an FTL needs `mount`")

    def read(self, first: int, pages: int) -> bytes:
        """Return the data of pages; zeroes for pages that were never written."""
        raise NotImplementedError("an FTL needs `read`")

    def write(self, first: int, pages: int, data: bytes) -> None:
        """Write pages: one request of the host, or a part of one."""
        raise NotImplementedError("an FTL needs `write`")

    def trim(self, first: int, pages: int) -> None:
        """Forget pages, which read as zero from now on. Without this method nothing is trimmed."""

    def flush(self) -> None:
        """Make everything that was answered durable."""

    def capacity(self) -> int | None:
        """Return the number of pages that the host can have; ``None`` for as many as it needs."""

    def ram(self) -> int | None:
        """Return the bytes of RAM that a controller would need."""

    def figures(self) -> dict[str, float] | None:
        """Return figures of the FTL's own, by name."""

    def audit(self) -> str | None:
        """Return a sentence if the data structures contradict each other."""


_PUBLIC = [name for name in vars(Ftl) if not name.startswith("_")]


def _is_slip(name: str, meant: str) -> bool:
    """Whether a name is another one with a letter left out, or with two in each other's place."""
    places = range(len(meant))
    swapped = (f"{meant[:at]}{meant[at + 1 : at + 2]}{meant[at]}{meant[at + 2 :]}" for at in places)
    return name in swapped or name in (meant[:at] + meant[at + 1 :] for at in places)


@dataclass(frozen=True)
class Finding:
    """Something that a check found."""

    verdict: str
    """What it means: data lost, service refused, illegal command, crash, hang, contract broken."""
    defect: str
    """The kind of defect."""
    sentence: str
    """What was found, where, and what was expected."""
    replay: str
    """What makes it happen again: a call of :func:`check` for a class, else a command."""
    geometry: str
    """The chip, as :func:`check` takes it."""
    workload: str
    """The workload, as :func:`check` takes it."""
    seed: int
    """The seed."""
    cuts: list[str]
    """The power cuts, as :func:`check` takes them."""
    note: str = ""
    """A sentence if a second run of the case did not find it: then the FTL does not do the same twice.
    The first ten findings of a check are tried again."""

    def _told(self) -> str:
        lines = [f"  {self.sentence}", self.replay, self.note]
        return "\n    ".join(line for line in lines if line)


@dataclass(frozen=True)
class Check:
    """What a check tried and found. It is true if nothing was found."""

    cases: int
    """Number of workloads on devices."""
    cuts: int
    """Number of first power cuts."""
    second_cuts: int
    """Number of cuts that followed others."""
    refused: int
    """Number of cases whose device the FTL refused."""
    verdicts: dict[str, int]
    """Number of cases and of first cuts that led to each verdict, without those that led to none."""
    findings: list[Finding]
    """Some findings of each verdict and case."""
    smallest: list[Finding]
    """With ``shrink``, a finding of each verdict with the smallest workload that was found."""
    steps: list[str]
    """What happened in a replay, step by step; empty for other checks. With ``operations`` each flash
    operation is a line below its step."""

    def __bool__(self) -> bool:
        return not self.verdicts

    def __str__(self) -> str:
        counts = f"{self.cases} cases, {self.cuts} cuts, {self.second_cuts} further cuts"
        lines = list(self.steps) or [counts]
        lines += [f"{verdict}: {number}" for verdict, number in self.verdicts.items()]
        lines += [it._told() for it in self.findings[:5]]
        lines += [f"smallest workload for {it.verdict}\n    {it.replay}" for it in self.smallest]
        if not self.verdicts:
            lines.append("nothing found")
        return "\n".join(lines)


@spelt
def check(
    ftl: Any,
    *,
    geometry: str | Sequence[str] = "tiny",
    workload: str | Sequence[str] = (),
    seed: int = 1,
    faults: str = "all",
    first_cuts: int = 1,
    second_cuts: int = 64,
    depth: int = 2,
    short_programs: int = 0,
    cuts: str | Sequence[str] | None = None,
    operations: bool = False,
    shrink: bool = False,
    progress: Progress = None,
) -> Check:
    """Cut the power of an FTL at every program and erase, and see what is left after a mount.

    Parameters
    ----------
    ftl
        A class of :class:`Ftl`, or a text as for :func:`ftlab.run`.
    geometry
        Tiny chips, such as ``tiny`` or ``tiny:cell_bits=2``; ``ftlab check --help`` lists them.
    workload
        Names of workloads; by default all.
    seed
        Seed of the workloads and of the requests after a cut.
    faults
        Classes of faults, such as ``basic,lasting``; an FTL is cut only with what it declares.
    first_cuts, second_cuts
        Try one in this number of cuts of the workload, and of cuts during recovery; 0 second cuts
        for none.
    depth
        Cuts of one case, at most.
    short_programs
        Try all workloads of up to this number of steps, too.
    cuts
        Replay one case, with these cuts such as ``["17:torn", "4:half"]`` and no others: the power
        fails after 17 programs and erases, and after 4 further ones. An empty list cuts nothing.
        Needs one geometry and one workload; ``steps`` of the result then tells what happened.
    operations
        A replay tells every flash operation below its step, too: the number at which a cut would
        interrupt it, operation, cause, page or block, owner.
    shrink
        Look for the smallest workload with each verdict, too, for up to half a minute each.
    progress
        As for :func:`ftlab.run`.

    Raises
    ------
    UsageError
        A name is unknown, a number is none, or the FTL refuses every device.
    KeyboardInterrupt
        Ctrl-C; a method that never returns is not stopped by it.
    """
    choice = {
        "geometry": geometry,
        "workload": workload,
        "seed": seed,
        "faults": faults,
        "first_cuts": first_cuts,
        "second_cuts": second_cuts,
        "depth": depth,
        "short_programs": short_programs,
        "cuts": cuts,
        "operations": operations,
        "shrink": shrink,
    }

    def told(it: _native.NativeFinding) -> Finding:
        replay = it.replay
        if isinstance(ftl, type):
            replay = (
                f"ftlab.check({ftl.__name__}, geometry={it.geometry!r}, workload={it.workload!r}, "
                f"seed={it.seed}, cuts={it.cuts})"
            )
        case = (it.geometry, it.workload, it.seed, frozen(it.cuts))
        return Finding(it.verdict, it.defect, it.sentence, replay, *case, it.note)

    with shown(progress, [getattr(ftl, "__name__", str(ftl))]) as callback:
        native = _native.power_cuts(ftl, choice, callback)
    return Check(
        cases=native.cases,
        cuts=native.cuts[0],
        second_cuts=native.cuts[1] + native.cuts[2],
        refused=native.refused,
        verdicts=frozen({name: one + more for name, one, more in native.verdicts if one + more}),
        findings=frozen([told(it) for it in native.findings]),
        smallest=frozen([told(it) for it in native.smallest]),
        steps=frozen(native.steps),
    )
