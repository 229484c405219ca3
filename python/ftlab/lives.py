"""Lives of devices: a load until the flash is worn out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn, overload

from ftlab import _native, frozen
from ftlab.given import in_python, place_of, there
from ftlab.reports import Reported
from ftlab.written import Files

Life = dict[str, Any]
"""A life; ``docs/lifetime.md`` describes all fields. ``course`` has its points, in their order."""


class Lives(Sequence[Life], Reported):
    """The lives of devices under one load, in the order in which they were asked for.

    ``lives[0]`` and ``lives["fast"]`` are dicts of fields; ``labels`` are the names of the FTLs.
    """

    def __init__(self, native: _native.NativeLives, read: Files) -> None:
        self._native = native
        self._read = read
        self._lives: list[Life] = frozen.read(native.to_json())["lives"]
        self.labels: list[str] = frozen.frozen([str(life["ftl"]) for life in self._lives])

    def __reduce__(self) -> NoReturn:
        raise TypeError("lives cannot be pickled; to_json() has all of them")

    @overload
    def __getitem__(self, index: int | str) -> Life: ...
    @overload
    def __getitem__(self, index: slice) -> list[Life]: ...
    def __getitem__(self, index: int | str | slice) -> Life | list[Life]:
        """A life by its place or by its FTL."""
        if isinstance(index, str):
            index = place_of(index, self.labels, "FTL", self._lives[0])
        if isinstance(index, slice):
            return self._lives[index]
        return self._lives[there(index, len(self), "life")]

    def __len__(self) -> int:
        return len(self._lives)

    def __eq__(self, other: object) -> bool:
        """Whether all lives are equal, in their order."""
        if not isinstance(other, Lives):
            return NotImplemented
        return self._lives == other._lives

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, life: object) -> bool:
        """Whether it has this life, or the life of this FTL."""
        return life in self.labels or life in self._lives

    def __iter__(self) -> Iterator[Life]:
        return iter(self._lives)

    def _ipython_key_completions_(self) -> list[str]:
        return self.labels

    def to_json(self) -> str:
        """The JSON that ``ftlab life --json`` writes, byte for byte."""
        return self._native.to_json()

    @property
    def headline(self) -> str:
        """What came out, in a sentence or two; report and table open with it."""
        return self._native.headline()

    def to_html(self) -> str:
        """The report that ``ftlab life --report`` writes: a page that needs no network."""
        return self._native.page()

    def __str__(self) -> str:
        """The table of ``ftlab life``; its notes name arguments of Python."""
        return in_python(self._native.text())

    def __repr__(self) -> str:
        shown = (f"{life['ftl']} {life['drive_writes']:.1f}" for life in self._lives)
        return f"<ftlab.Lives, in drive writes: {', '.join(shown)}>"
