"""Results of runs, alone and side by side."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, overload

from ftlab import _native, frozen
from ftlab.errors import UsageError
from ftlab.given import CLASS, in_python, kind, place_of, plain, there
from ftlab.reports import Reported
from ftlab.rows import ArrowRows
from ftlab.tables import Groups, column_groups, groups_html, groups_text
from ftlab.written import Files, write_files


class Result(frozen.Fields, ArrowRows):
    """The result of one run: exact counts of flash operations, times in µs, ratios.

    ``result["erases"]["gc"]`` reads a field; ``docs/results.md`` describes all of them. A result is
    a mapping: ``"drive" in result`` and ``dict(result)`` are those of its fields, which cannot be
    changed; :meth:`to_dict` copies them. Two runs with the same inputs and seed have equal results,
    apart from ``wall``.
    """

    def __init__(self, native: _native.NativeResult, read: Files) -> None:
        self._native: _native.NativeResult | None = native
        self._read: Files = read
        self._json = native.to_json()
        self._dict: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, text: str | bytes) -> Result:
        """The result that :meth:`to_json` or ``ftlab run --json`` wrote.

        It has all fields, rows and figures. Its table lists the fields by their names, because the
        one of ``ftlab run`` is made by the run itself.

        Raises
        ------
        UsageError
            The text is not the JSON of a result: a field is missing, or has a value that no run
            gives it, such as a negative count; the message names the field.
        TypeError
            It is no text; a path is none.
        """
        text = _json_text(text)
        _native.headline_text(["result"], [text])
        missing = [name for name in _NEEDED if name not in json.loads(text)]
        if missing:
            raise UsageError(f"not the JSON of a result: it has no `{missing[0]}`")
        result = cls.__new__(cls)
        groups = column_groups([text])
        result.__setstate__({"json": text, "text": "", "groups": groups, "read": ()})
        result._kept_text = f"{result.headline}\n\n{groups_text([result.ftl], groups)}"
        return result

    def to_json(self) -> str:
        """The JSON that ``ftlab run --json`` writes, byte for byte."""
        return self._json

    def to_dict(self) -> dict[str, Any]:
        """All fields, as a dict of its own."""
        fields: dict[str, Any] = json.loads(self._json)
        return fields

    def _fields(self) -> dict[str, Any]:
        if self._dict is None:
            self._dict = frozen.read(self._json)
        return self._dict

    @property
    def ftl(self) -> str:
        """The name of the FTL; that of the class, if it is one."""
        library = str(self["ftl"]["params"].get("lib", ""))
        return library.removeprefix(CLASS) if library.startswith(CLASS) else str(self["ftl"]["name"])

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
        """Sentences that a reader of the figures should know; they name arguments of Python."""
        return [in_python(note) for note in self["notes"]]

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
        texts = {"json": self._json, "text": plain(self._text()), "groups": self._groups()}
        return {**texts, "read": self._read}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._native = None
        self._read = state["read"]
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
        """The table of ``ftlab run``; its notes name arguments of Python."""
        return in_python(self._text())

    def __repr__(self) -> str:
        amplification = self.write_amplification
        shown = "none" if amplification is None else f"{amplification:.4f}"
        policy = self["ftl"]["params"].get("policy")
        ftl = self.ftl if policy is None else f"{self.ftl} under {policy}"
        return f"<ftlab.Result: {ftl} on {self['trace']['name']}, write amplification {shown}>"

    def _repr_html_(self) -> str:
        return groups_html([self.ftl], self._groups(), self.notes)


class Comparison(Sequence[Result], ArrowRows, Reported):
    """Results of the same trace on the same device, in the order in which they were asked for.

    ``comparison[0]`` and ``comparison["fast"]`` are results; ``labels`` are their names. A
    comparison can be pickled, with its table and its page.

    Parameters
    ----------
    labels, results
        Names and results, as many as each other; no name is given twice. Results may come from
        other processes, by pickle or :meth:`Result.from_json`. The tables of such a comparison, of
        its page and in LaTeX list fields by name.

    Raises
    ------
    UsageError
        A label is given twice, their number is not that of the results, or there are none.
    TypeError
        A label is no text, or a result is none.
    """

    def __init__(self, labels: Sequence[str], results: Sequence[Result]) -> None:
        self.labels: list[str] = frozen.frozen(list(labels))
        self._results = list(results)
        self._kept: dict[str, Any] | None = None
        if len(self.labels) != len(self._results):
            raise UsageError(f"{len(self.labels)} labels for {len(self._results)} results")
        refuse_others(self.labels, self._results)
        refuse_twice(self.labels)

    @overload
    def __getitem__(self, index: int | str) -> Result: ...
    @overload
    def __getitem__(self, index: slice) -> list[Result]: ...
    def __getitem__(self, index: int | str | slice) -> Result | list[Result]:
        """A result by its place or by its label."""
        if isinstance(index, str):
            fields = self._results[0] if self._results else ()
            index = place_of(index, self.labels, "run", fields)
        if isinstance(index, slice):
            return self._results[index]
        return self._results[there(index, len(self), "run")]

    def __len__(self) -> int:
        return len(self._results)

    def __eq__(self, other: object) -> bool:
        """Whether labels and results are equal, in their order."""
        if not isinstance(other, Comparison):
            return NotImplemented
        return self.labels == other.labels and self._results == other._results

    __hash__ = None  # type: ignore[assignment]

    def __contains__(self, run: object) -> bool:
        """Whether it has this result, or a result with this label."""
        return run in self.labels or run in self._results

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results)

    def _labels(self) -> Sequence[str]:
        return self.labels

    def _ipython_key_completions_(self) -> list[str]:
        return self.labels

    @property
    def _read(self) -> Files:  # type: ignore[override]
        return tuple({file for result in self._results for file in result._read})

    def _is_from_here(self) -> bool:
        """Whether all results were made in this process, which alone can set them side by side."""
        return all(result._native is not None for result in self._results)

    def _side_by_side(self) -> _native.NativeComparison:
        """What makes the texts of the command."""
        return _native.NativeComparison(self.labels, self._given_rows(), self._groups())

    def __getstate__(self) -> dict[str, Any]:
        kept = self._kept
        if kept is None and self._is_from_here():
            page = zlib.compress(self.to_html().encode())
            kept = {"text": plain(str(self)), "groups": self._groups(), "page": page}
            kept["latex"] = self.to_latex()
        return {"labels": self.labels, "results": self._results, "kept": kept}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.labels, self._results = state["labels"], state["results"]
        self._kept = state["kept"]

    def to_json(self) -> str:
        """The JSON that ``ftlab compare --json`` writes, byte for byte: an array."""
        results = ",\n".join(_indented(result.to_json()) for result in self._results)
        return f"[\n{results}\n]\n" if results else "[]\n"

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
        if self._kept is not None:
            return zlib.decompress(self._kept["page"]).decode()
        return self._side_by_side().page()

    def to_latex(self) -> str:
        """The table that ``ftlab compare --latex`` writes: LaTeX with booktabs, for a paper."""
        if self._kept is not None:
            return str(self._kept["latex"])
        return self._side_by_side().latex()

    def write_svg(self, folder: str | os.PathLike[str]) -> None:
        """Write the figures of the report to a folder, as ``ftlab compare --svg`` does.

        They have the widths and letters of a two-column page; ``figures.tex`` places them with
        their captions. Figures along the trace need ``interval="auto"``. A file of the trace is
        not replaced, but refused with ``UsageError``.
        """
        write_files(folder, self._side_by_side().svg(), self._read)

    def __str__(self) -> str:
        """The table of ``ftlab compare``; its notes name arguments of Python."""
        if self._kept is not None:
            return str(self._kept["text"])
        if self._is_from_here():
            return in_python(self._side_by_side().text())
        return f"{self.headline}\n\n{groups_text(self.labels, self._groups())}"

    def _groups(self) -> Groups:
        if self._kept is not None:
            kept: Groups = self._kept["groups"]
            return kept
        natives = [result._native for result in self._results if result._native is not None]
        if len(natives) == len(self._results):
            return _native.result_groups(natives)
        return column_groups(self._given_rows())

    def __repr__(self) -> str:
        return f"<ftlab.Comparison: {', '.join(self.labels)}>"

    def _repr_html_(self) -> str:
        notes = {note: None for result in self._results for note in result.notes}
        return groups_html(self.labels, self._groups(), list(notes))


def refuse_others(labels: Sequence[object], results: Sequence[object]) -> None:
    """Refuse labels that are no texts, and what is no result; there must be some.

    Raises
    ------
    UsageError
        There are none.
    TypeError
        One is of another type.
    """
    for label in labels:
        if not isinstance(label, str):
            raise TypeError(f"the label of a result is a text, not a value of type {kind(label)}")
    for result in results:
        if not isinstance(result, Result):
            raise TypeError(
                f"this takes results (ftlab.Result), not values of type {kind(result)}; the "
                "figures of a sweep are `sweep.figures`, and Result.from_json reads a result"
            )
    if not results:
        raise UsageError("there are no results: give at least one")


def refuse_twice(
    labels: Sequence[object], remedy: str = "give each a label of its own"
) -> None:
    """Refuse labels of which two are the same: each names one result.

    Raises
    ------
    UsageError
        Two are the same.
    """
    for place, label in enumerate(labels):
        if label in labels[:place]:
            if isinstance(label, type):
                raise UsageError(f"the FTL `{label.__name__}` is given twice; give it once")
            raise UsageError(f"two results are called `{label}`; {remedy}")


_NEEDED = ("run", "ftl", "device", "trace", "programs", "write_amplification", "time_us", "notes")
"""Fields that every result has."""


def _json_text(text: object) -> str:
    """A text that may be the JSON of a result."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "replace")
    if not isinstance(text, str):
        how = "json.dumps(fields)" if isinstance(text, Mapping) else "path.read_text()"
        raise TypeError(
            f"a result is read from the text of its JSON, such as {how}, and not from a value of "
            f"type {kind(text)}"
        )
    if text.endswith(".json"):
        raise UsageError(f"{text} is a path: give its text, pathlib.Path({text!r}).read_text()")
    return text


def _without_wall(result: Result) -> dict[str, Any]:
    return {name: value for name, value in result.to_dict().items() if name != "wall"}


def _indented(json_text: str) -> str:
    """The lines of a result as an element of a list."""
    return "\n".join(f"  {line}" for line in json_text.rstrip("\n").split("\n"))
