"""Policies of page mapping in Python: where pages go, and which block is collected.

For a first idea. Every page that is written or copied calls Python, so a run takes about ten times
as long as one of ``page``, and more with a long method. An idea that proves itself becomes a scheme
in Rust; the file ``docs/python-policy.md`` shows the way.

>>> class HotCold(Policy):
...     classes = 2
...     def place(self, lpn, write):
...         return int(write.lifespan is not None and write.lifespan < 5_000)
>>> ftlab.run("zipf:writes=100K", capacity="64MiB", policy=HotCold())
"""

from __future__ import annotations

import difflib
import weakref
from functools import cached_property
from typing import Any

from ftlab._native import Copy, Device, Erased, Write
from ftlab.errors import UsageError

try:
    import numpy
except ImportError:
    numpy = None  # type: ignore[assignment]

Column = Any
"""An array of NumPy, or a ``memoryview``."""

__all__ = ["Blocks", "Copy", "Device", "Erased", "Policy", "Write"]


METHODS = ("classes", "start", "place", "place_copy", "victim", "erased")
"""What a policy may define."""


class Policy:
    """A policy; subclasses write those methods that they need, and the others cost nothing.

    Each class has one open block, so pages of one class share blocks. A policy with n classes needs
    at least 2 n extra blocks. All times are counts of pages that the host has written.

    What a method raises ends the run and is raised by :func:`ftlab.run`. A class that does not
    exist, or a victim that is none of the candidates, ends it with :class:`ftlab.RunError`.
    A subclass may have methods of its own; one whose name is nearly that of a method here is
    refused with :class:`TypeError`, because it would never be called.
    """

    def __init_subclass__(cls, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        for name in vars(cls):
            near = () if name.startswith("__") or name in METHODS else _near(name)
            if near:
                raise TypeError(f"{cls.__name__}: no policy has `{name}`; did you mean `{near[0]}`?")

    classes: int = 1
    """Number of classes, from 1 to 255."""

    def start(self, device: Device) -> None:
        """Begin with an empty device.

        An object for several runs has to forget the last one here. One that has attributes but not
        this method is refused in a second run.
        """

    def place(self, lpn: int, write: Write) -> int:
        """Return the class of a page that the host writes: from 0 to ``classes`` - 1.

        By default class 0.
        """
        return 0

    def place_copy(self, lpn: int, copy: Copy) -> int:
        """Return the class of a valid page of a victim, which garbage collection copies.

        By default the class of the victim.
        """
        return copy.old_class

    def victim(self, blocks: Blocks) -> int:
        """Return the place of the next victim in the lists of ``blocks``.

        By default the FTL chooses, as ``ftl="page:victim=…"`` says.
        """
        raise NotImplementedError("the FTL chooses victims itself")

    def erased(self, block: Erased) -> None:
        """Learn what became of a block that was collected and erased."""


_served: weakref.WeakValueDictionary[int, Policy] = weakref.WeakValueDictionary()
"""The policies that have begun a run, by their identity: they need no hash."""


def begin(policy: Policy, device: Device) -> None:
    """Begin a run under a policy; the extension calls this before the first page.

    Raises
    ------
    UsageError
        The policy would begin with what an earlier run taught it.
    """
    refuse_served(policy)
    _served[id(policy)] = policy
    policy.start(device)


def refuse_served(policy: object) -> None:
    """Refuse a policy that has begun a run before, unless it has nothing to forget, or forgets it.

    Raises
    ------
    UsageError
        It has attributes, and no method ``start``.
    """
    known = _served.get(id(policy))
    if known is None or known is not policy or not vars(known):
        return
    if getattr(known.start, "__func__", None) is Policy.start:
        name = type(known).__name__
        raise UsageError(
            f"this object of {name} has served a run before, and keeps what it learned there: make "
            f"a new one for each run, or give {name} a method `start` that forgets it"
        )


class Blocks:
    """The candidates for garbage collection: the full blocks with at least one dead page.

    Each list has one entry for each candidate, in the order of their numbers: an array of NumPy, or
    a ``memoryview`` without it. So ``int(blocks.valid.argmin())`` is greedy, and the lowest block
    wins a tie, as in ``page``. The lists are read-only, and new for each choice.
    """

    def __init__(
        self, lists: tuple[bytes, bytes, bytes, bytes, bytes], pages_per_block: int, now: int
    ) -> None:
        self._lists = lists
        self.pages_per_block = pages_per_block
        """Pages of a block."""
        self.now = now
        """Host pages written so far."""

    def __len__(self) -> int:
        return len(self._lists[3])

    @cached_property
    def number(self) -> Column:
        """Their numbers on the chip (uint32)."""
        return _column(self._lists[0], "I")

    @cached_property
    def valid(self) -> Column:
        """Valid pages of each (uint32): what a collection must copy."""
        return _column(self._lists[1], "I")

    @cached_property
    def age(self) -> Column:
        """Host pages written since each was full (uint64)."""
        return _column(self._lists[2], "Q")

    @cached_property
    def old_class(self) -> Column:
        """The class of each (uint8)."""
        return _column(self._lists[3], "B")

    @cached_property
    def erases(self) -> Column:
        """Erases that each has taken (uint32).

        On media that can fail, those of the block of the chip behind the number.
        """
        return _column(self._lists[4], "I")


def _column(entries: bytes, code: str) -> Column:
    """Entries in the byte order of the machine, without a copy."""
    if numpy is None:
        return memoryview(entries).cast(code)
    return numpy.frombuffer(entries, dtype=code)


def _near(name: str) -> list[str]:
    """The names of a policy that one is nearly equal to."""
    return difflib.get_close_matches(name.strip("_").lower(), METHODS, n=1, cutoff=0.8)
