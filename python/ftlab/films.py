"""Films: what FTLs do with their flash, to watch."""

from __future__ import annotations

import html
import os
from typing import NoReturn

from ftlab import _native
from ftlab.errors import UsageError
from ftlab.frozen import frozen
from ftlab.result import Comparison, Result
from ftlab.written import Files, write_page

FRAME_PIXELS = 960
"""Height of a film in a notebook."""


class Film:
    """An FTL at work, operation by operation, or two of them side by side on the same requests.

    A notebook shows the film itself; ``docs/film.md`` says what is to be seen.
    """

    def __init__(self, native: _native.NativeFilms, read: Files) -> None:
        self._native = native
        self.labels: list[str] = frozen(native.labels)
        """The names of the FTLs."""
        self.results = Comparison(self.labels, [Result(one, read) for one in native.results()])
        """The results of the runs that were filmed."""

    @property
    def left_out(self) -> str:
        """What the film leaves out of a long run, in a sentence; empty if it shows everything."""
        return self._native.left_out()[0]

    @property
    def data(self) -> bytes:
        """What ``ftlab run --film-data`` writes, byte for byte; ``docs/film.md`` has the format.

        Raises
        ------
        UsageError
            The film is of two FTLs.
        """
        films = self._native.data()
        if len(films) > 1:
            raise UsageError("these are the films of two FTLs; film one of them for its data")
        return films[0]

    def to_html(self) -> str:
        """The page that ``--film`` writes: it needs no network."""
        return self._native.page()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, which is replaced if it exists.

        Raises
        ------
        UsageError
            The trace would be overwritten, or the name is that of another format than HTML.
        FileNotFoundError
            There is no such folder.
        """
        write_page(path, self.to_html(), self.results._read)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a film cannot be pickled; write() makes a page of it")

    def __repr__(self) -> str:
        return f"<ftlab.Film: {' beside '.join(self.labels)}>"

    def _repr_html_(self) -> str:
        # What a film does stays in its frame: it sees neither the notebook nor the network.
        return (
            f'<iframe srcdoc="{html.escape(self.to_html())}" title="{html.escape(repr(self))}" '
            f'sandbox="allow-scripts allow-downloads" width="100%" height="{FRAME_PIXELS}" '
            'style="border: 0"></iframe>'
        )
