"""Trace files and workloads: opened, described, generated, converted.

>>> import ftlab
>>> trace = ftlab.trace.open("disk.blktrace", limit=1_000_000)
>>> requests = trace.requests()
>>> ftlab.run(requests, ftl="fast")
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, overload

from ftlab import _native, frozen
from ftlab.errors import UsageError
from ftlab.given import in_python, kind, spelt
from ftlab.requests import Requests
from ftlab.tables import fields_html, fields_text
from ftlab.written import Files, files_of, write_trace

Path = Union[str, "os.PathLike[str]"]


class Trace:
    """A trace file or a workload. It can be read any number of times, and has no position."""

    def __init__(self, native: _native.NativeTrace) -> None:
        self._native = native

    @property
    def name(self) -> str:
        """The path of a file, or the spec of a workload."""
        return self._native.name

    @property
    def format(self) -> str:
        """The name of the format, ``workload``, or ``columns`` for requests in memory."""
        return self._native.format

    def requests(self) -> Requests:
        """All requests, in memory: 24 bytes each.

        Times count from the first record, in nanoseconds, and never decrease.

        Raises
        ------
        RunError
            The trace cannot be read; the message has the file, the line and a remedy.
        """
        return Requests._of(self._native.requests(), self._files())

    def batches(self, rows: int | str = 1 << 20) -> Iterator[Requests]:
        """The requests in pieces of ``rows`` each (the last may be shorter), one at a time."""
        files = self._files()
        return (Requests._of(piece, files) for piece in self._native.batches(rows))

    def _files(self) -> Files:
        """The files that it is read from."""
        return () if self.format in ("workload", "columns") else files_of(self.name)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The requests as a stream of Arrow, read from the file while the stream is read.

        A stream holds 65536 requests at a time, so a trace may be larger than memory.
        """
        return self._native.stream()

    def info(self, *, page: int | str | None = None, brief: bool = False) -> TraceInfo:
        """The statistics of the trace; see :func:`info`."""
        return TraceInfo(self._native.info(None if page is None else str(page), brief))

    def write(self, path: Path, format: str | None = None) -> None:
        """Write the trace as ``csv`` (complete), ``fio`` or ``blkparse``.

        Without a format it follows from the ending of the name: ``.csv``, ``.fio`` or
        ``.blkparse``. The file is not compressed, and appears when it is complete. Volumes keep their
        names as far as the format can express them. A warning tells which it cannot, and how many
        requests lose FUA or preflush in an fio iolog.

        Raises
        ------
        UsageError
            There is no such format, the name tells none, or is that of a compressed file, or the
            file is one that the trace is read from.
        RunError
            The trace cannot be read or written, or the format cannot express a request.
        FileNotFoundError
            There is no such folder.
        """
        write_trace(self._native, path, format, self._files())

    def __repr__(self) -> str:
        return f"<ftlab.trace.Trace: {self.name} ({self.format})>"


class TraceInfo(frozen.Fields):
    """The statistics of a trace: ``info["writes"]["requests"]`` reads a field.

    A mapping: ``"locality" in info`` and ``dict(info)`` are those of its fields, which cannot be
    changed; :meth:`to_dict` copies them.
    """

    def __init__(self, text: str) -> None:
        self._text = text
        self._info: dict[str, Any] = frozen.read(text)

    def __reduce__(self) -> tuple[Any, ...]:
        return TraceInfo, (self._text,)

    def to_json(self) -> str:
        """The JSON that ``ftlab trace info --json`` writes, byte for byte."""
        return self._text

    def to_dict(self) -> dict[str, Any]:
        """All fields, as a dict of its own."""
        fields: dict[str, Any] = json.loads(self._text)
        return fields

    def _fields(self) -> dict[str, Any]:
        return self._info

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader of the figures should know; they name arguments of Python."""
        return [in_python(note) for note in self["notes"]]

    def __str__(self) -> str:
        """The counts as a table, without distributions and lists of volumes."""
        return fields_text(self["name"], self._info, self.notes)

    def _repr_html_(self) -> str:
        return fields_html(self["name"], self._info, self.notes)

    def __repr__(self) -> str:
        return f"<ftlab.trace.TraceInfo: {self['name']}, {self['requests']} requests>"


@spelt
def open(
    path: Path,
    *,
    format: str | None = None,
    skip_bad: bool | None = None,
    sort: bool | None = None,
    limit: int | str | None = None,
) -> Trace:
    """Open a trace file.

    Parameters
    ----------
    path
        A file, or a path into an archive such as ``set.tar/*.csv``; it may be compressed.
    format
        Its format as ``NAME[:key=value…]``; by default detected from its content.
        :func:`ftlab.list_formats` describes all formats.
    skip_bad
        Count malformed lines instead of failing at the first one.
    sort
        Sort the requests by their times.
    limit
        Read at most this many requests.

    Raises
    ------
    UsageError
        Wrong options, or the name of a workload, which :func:`generate` takes.
    RunError
        The file cannot be opened, or is in no known format.
    """
    options = {"format": format, "skip_bad": skip_bad, "sort": sort, "limit": limit}
    return Trace(_native.NativeTrace.file(os.fspath(path), options))


@overload
def info(
    trace: Any = None,
    *,
    page: int | str | None = None,
    brief: bool = False,
    format: str | None = None,
    skip_bad: bool | None = None,
    sort: bool | None = None,
    limit: int | str | None = None,
    volume: int | str | None = None,
    capacity: int | str | None = None,
    chip: str | None = None,
    seed: int | str | None = None,
    each_volume: Literal[False] | None = None,
) -> TraceInfo: ...
@overload
def info(
    trace: Path,
    *,
    format: str | None = None,
    skip_bad: bool | None = None,
    sort: bool | None = None,
    limit: int | str | None = None,
    each_volume: Literal[True],
    volumes: str | None = None,
) -> list[dict[str, Any]]: ...
@spelt
def info(
    trace: Any = None,
    *,
    page: int | str | None = None,
    brief: bool = False,
    format: str | None = None,
    skip_bad: bool | None = None,
    sort: bool | None = None,
    limit: int | str | None = None,
    volume: int | str | None = None,
    capacity: int | str | None = None,
    chip: str | None = None,
    seed: int | str | None = None,
    each_volume: bool | None = None,
    volumes: str | None = None,
) -> TraceInfo | list[dict[str, Any]]:
    """The statistics of a trace: sizes, pages, alignment, locality.

    Parameters
    ----------
    trace
        A path, a workload, a :class:`Trace`, or requests as columns; by default the built-in OLTP
        workload.
    page
        The page size of the statistics, such as ``4096`` or ``"16KiB"``; a workload is generated
        for it, too. By default 4 KiB, and for a workload the page of the chip.
    brief
        Leave out the locality of writes, which needs a second pass over the trace.
    format, skip_bad, sort, limit
        For a path, as for :func:`open`.
    volume
        For a path, the name of a volume; all of them together without it.
    capacity, chip, seed, limit
        For a workload, as for :func:`ftlab.run`.
    each_volume
        For a path: a list with the figures of each volume, such as ``written_bytes`` and
        ``working_set_bytes``, in place of the statistics of all together.
    volumes
        With ``each_volume``, only those that meet all conditions, such as ``"written>=2x"``.

    Raises
    ------
    UsageError
        Wrong options.
    RunError
        The trace cannot be read.
    TypeError
        An option of something else than this trace.
    """
    of_file = {"format": format, "skip_bad": skip_bad, "sort": sort, "volume": volume}
    of_workload = {"capacity": capacity, "chip": chip, "seed": seed}
    if each_volume or volumes is not None:
        _refuse_given({**of_workload, "page": page, "brief": brief or None}, "each volume")
        chosen = {"each_volume": each_volume, "volumes": volumes}
        return _each_volume(trace, {**of_file, "limit": limit, **chosen})
    if trace is None or isinstance(trace, (str, os.PathLike)):
        named = _named(trace, {**of_file, **of_workload, "limit": limit}, page)
        if named._native.is_workload:
            _refuse_given(of_file, "a workload")
        else:
            _refuse_given(of_workload, "a path")
        return named.info(page=page, brief=brief)
    _refuse_given({**of_file, **of_workload, "limit": limit}, "a table or an opened trace")
    if not isinstance(trace, Trace):
        trace = Trace(_native.NativeTrace.of_requests(Requests._some(trace)._native))
    opened: Trace = trace
    return opened.info(page=page, brief=brief)


@spelt
def generate(
    workload: str,
    *,
    capacity: int | str | None = None,
    seed: int | str | None = None,
    limit: int | str | None = None,
    chip: str | None = None,
    page: int | str | None = None,
) -> Requests:
    """The requests of a workload, the same as in a run with these options.

    Parameters
    ----------
    workload
        A workload such as ``skew:writes=4M,hot=70/30``; :func:`ftlab.list_workloads` describes all.
    capacity
        The size of the device; by default what the workload needs.
    seed
        The seed of all random choices, by default 1.
    limit
        Generate at most this many requests.
    chip, page
        The page of the chip, or the page size itself, is the unit of the workload.

    Raises
    ------
    UsageError
        There is no such workload, or it is impossible on such a device.
    """
    options = {"capacity": capacity, "seed": seed, "limit": limit, "chip": chip}
    trace = _named(workload, options, page)
    if not trace._native.is_workload:
        raise UsageError(f"{workload!r} is a file, not a workload; ftlab.trace.open reads it")
    return trace.requests()


def _each_volume(trace: object, options: dict[str, Any]) -> list[dict[str, Any]]:
    if not isinstance(trace, (str, os.PathLike)):
        raise TypeError(
            f"`each_volume` lists the volumes of a file, and not of a value of type {kind(trace)}: "
            "give its path; Requests.write makes a file of a table"
        )
    figures: list[dict[str, Any]] = json.loads(_native.volumes_json(os.fspath(trace), options))
    return figures


def _refuse_given(options: Mapping[str, object], of: str) -> None:
    """Refuse options that are given, although they mean nothing for this kind of trace."""
    for name, value in options.items():
        if value is not None:
            raise TypeError(f"`{name}` means nothing for the statistics of {of}: leave it out")


def _named(name: Path | None, options: dict[str, Any], page: int | str | None) -> Trace:
    given = None if page is None else str(page)
    word = None if name is None else os.fspath(name)
    return Trace(_native.NativeTrace.named(word, options, given))
