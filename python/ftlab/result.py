"""Results of runs, alone and side by side."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Sequence
from html import escape
from typing import Any, NoReturn, overload

from ftlab import _native
from ftlab.reports import Reported, write_files
from ftlab.rows import ArrowRows

Groups = list[tuple[str, list[list[str]]]]


class Result(ArrowRows):
    """The result of one run: exact counts of flash operations, times in µs, ratios.

    ``result["erases"]["gc"]`` reads a field; ``docs/results.md`` describes all of them. Two runs
    with the same inputs and seed have equal results, apart from ``wall``.
    """

    def __init__(self, native: _native.NativeResult) -> None:
        self._native: _native.NativeResult | None = native
        self._json = native.to_json()
        self._dict: dict[str, Any] | None = None

    def to_json(self) -> str:
        """The JSON that ``ftlab run --json`` writes, byte for byte."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """All fields, as a dict of its own."""
        fields: dict[str, Any] = json.loads(self._json)
        return fields

    def __getitem__(self, field: str) -> Any:
        """A field at the top of the result."""
        if self._dict is None:
            self._dict = self.to_dict()
        return self._dict[field]

    @property
    def ftl(self) -> str:
        """The name of the FTL."""
        return str(self["ftl"]["name"])

    @property
    def write_amplification(self) -> float | None:
        """Pages programmed for each page that the host wrote; ``None`` if it wrote none."""
        amplification: float | None = self["write_amplification"]
        return amplification

    @property
    def headline(self) -> str:
        """What came out, in a sentence or two; the table of ``ftlab run`` opens with it."""
        return _native.headline_text([self.ftl], [self._json])

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader of the figures should know."""
        return list(self["notes"])

    def _given_rows(self) -> list[str]:
        return [self._json]

    def _text(self) -> str:
        if self._native is None:
            return self._kept_text
        return self._native.text()

    def _groups(self) -> Groups:
        if self._native is None:
            return self._kept_groups
        return _native.result_groups([self._native])

    def __getstate__(self) -> dict[str, Any]:
        return {"json": self._json, "text": self._text(), "groups": self._groups()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = None
        self._json, self._dict = state["json"], None
        self._kept_text: str = state["text"]
        self._kept_groups: Groups = state["groups"]

    def __eq__(self, other: object) -> bool:
        """Whether everything but ``wall`` is equal."""
        if not isinstance(other, Result):
            return NotImplemented
        return _without_wall(self) == _without_wall(other)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """The table of ``ftlab run``."""
        return self._text()

    def __repr__(self) -> str:
        amplification = self.write_amplification
        shown = "none" if amplification is None else f"{amplification:.4f}"
        policy = self["ftl"]["params"].get("policy")
        ftl = self.ftl if policy is None else f"{self.ftl} under {policy}"
        return f"<ftlab.Result: {ftl} on {self['trace']['name']}, write amplification {shown}>"

    def _repr_html_(self) -> str:
        return _html([self.ftl], self._groups(), self.notes)


class Comparison(Sequence[Result], ArrowRows, Reported):
    """Results of the same trace on the same device, in the order in which they were asked for.

    ``comparison[0]`` and ``comparison["fast"]`` are results; ``labels`` are their names.
    """

    def __init__(self, labels: list[str], results: list[Result]) -> None:
        self.labels = labels
        self._results = results

    @overload
    def __getitem__(self, index: int | str) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | str | slice) -> Result | list[Result]:
        """A result by its place or by its label."""
        if isinstance(index, str):
            if index not in self.labels:
                raise KeyError(f"no run is called {index!r}; there are {', '.join(self.labels)}")
            return self._results[self.labels.index(index)]
        return self._results[index]

    def __len__(self) -> int:
        return len(self._results)

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def __reduce__(self) -> NoReturn:
        raise TypeError("a comparison cannot be pickled; pickle its results: list(comparison)")

    def _natives(self) -> list[_native.NativeResult]:
        natives = [result._native for result in self._results]
        return [native for native in natives if native is not None]

    def to_json(self) -> str:
        """The JSON that ``ftlab compare --json`` writes, byte for byte: an array."""
        return _native.results_json(self._natives())

    def _given_rows(self) -> list[str]:
        return [result.to_json() for result in self._results]

    @property
    def headline(self) -> str:
        """What came out, in a sentence or two; report and table open with it."""
        return _native.headline_text(self.labels, [result.to_json() for result in self._results])

    def to_html(self) -> str:
        """The report that ``ftlab compare --report`` writes: a page that needs no network.

        Figures along the trace need ``interval="auto"``.
        """
        return _native.results_page(self.labels, self._natives())

    def to_latex(self) -> str:
        """The table that ``ftlab compare --latex`` writes: LaTeX with booktabs, for a paper."""
        return _native.results_latex(self.labels, self._natives())

    def write_svg(self, folder: str | os.PathLike[str]) -> None:
        """Write the figures of the report to a folder, as ``ftlab compare --svg`` does.

        They have the widths and letters of a two-column page; ``figures.tex`` places them with
        their captions. Figures along the trace need ``interval="auto"``.
        """
        write_files(folder, _native.results_svg(self.labels, self._natives()))

    def __str__(self) -> str:
        """The table of ``ftlab compare``."""
        return _native.results_text(self.labels, self._natives())

    def __repr__(self) -> str:
        return f"<ftlab.Comparison: {', '.join(self.labels)}>"

    def _repr_html_(self) -> str:
        notes = {note: None for result in self._results for note in result.notes}
        return _html(self.labels, _native.result_groups(self._natives()), list(notes))


def _without_wall(result: Result) -> dict[str, Any]:
    return {name: value for name, value in result.to_dict().items() if name != "wall"}


def _html(labels: list[str], groups: Groups, notes: list[str]) -> str:
    """A table with a column for each result; best values are bold."""
    head = "".join(f"<th>{escape(label)}</th>" for label in labels)
    rows = [f"<tr><th></th>{head}</tr>"]
    for title, quantities in groups:
        span = len(labels) + 1
        rows.append(f'<tr><th colspan="{span}" style="text-align:left">{escape(title)}</th></tr>')
        rows.extend(_html_row(quantity) for quantity in quantities)
    lines = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return f"<table>{''.join(rows)}</table>{lines}"


def _html_row(quantity: list[str]) -> str:
    name, *cells = quantity
    marked = (_html_cell(cell) for cell in cells)
    return f'<tr><td style="text-align:left">{escape(name)}</td>{"".join(marked)}</tr>'


def _html_cell(cell: str) -> str:
    text = escape(cell.removeprefix("*"))
    return f"<td><b>{text}</b></td>" if cell.startswith("*") else f"<td>{text}</td>"
