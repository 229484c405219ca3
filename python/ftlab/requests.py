"""Requests in memory: columns of NumPy, pandas, polars, Arrow and others, packed once."""

from __future__ import annotations

import os
import sys
import warnings
from array import array
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ftlab import _native
from ftlab.columns import build
from ftlab.errors import UsageError
from ftlab.given import in_python, kind, spelt
from ftlab.rows import frame, needed
from ftlab.tables import fields_html
from ftlab.written import Files, write_trace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


NAMES = ("time_ns", "op", "offset", "bytes", "device", "flags")
"""The columns in the order in which they come out."""


class Requests:
    """An immutable table of requests, 24 bytes each; runs take it without a copy.

    Parameters
    ----------
    columns
        A table with the columns below: anything with ``__arrow_c_stream__`` (pyarrow, polars,
        duckdb …), a DataFrame of pandas, a structured array of NumPy with one dimension, or a dict
        of columns. Columns are of one length and have no missing values.

        A level of the index of a DataFrame counts as a column if it has the name of one.

        ``op``
            ``read``, ``write``, ``trim``, ``flush`` or their first letters, capital or small, as
            text or categories; or the codes 0 read, 1 write, 2 trim, 3 flush.
        ``offset``, ``bytes``
            The first byte and the length, in bytes. A request of 0 bytes is skipped and counted; a
            flush must have 0.
        ``time_ns``
            The time in nanoseconds from any origin, or times and durations with that unit.
            Without it all times are 0: the order of the rows is that of the requests, and a
            replay with ``replay="open"`` issues all of them at once.
        ``device``
            Any whole number for each device, at most 65536 devices; by default there is one.
        ``flags``
            The sum of 1 FUA, 2 preflush, 4 sync, 8 metadata, 16 readahead; by default 0.
    name
        What results show as the name of the trace.

    Raises
    ------
    UsageError
        A column is missing, unknown or of another type, or a row is no request. The message names
        the column and the row, counted from 0.
    TypeError
        The columns are none of the above.
    """

    @spelt
    def __init__(self, columns: Any, *, name: str = "requests") -> None:
        self._native = _packed(columns, name)
        self._is_of_columns = True
        self._read: Files = ()

    @classmethod
    def _of(
        cls, native: _native.NativeRequests, read: Files = (), is_of_columns: bool = False
    ) -> Requests:
        requests = cls.__new__(cls)
        requests._native = native
        requests._is_of_columns = is_of_columns
        requests._read = read
        return requests

    @classmethod
    def _some(cls, table: Any) -> Requests:
        """Requests, or what makes them."""
        return table if isinstance(table, Requests) else cls(table)

    def __copy__(self) -> Requests:
        """Requests cannot be changed, so a copy is the same."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Requests:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickles requests of columns. Those of a file or workload are refused: they know more."""
        if not self._is_of_columns:
            raise TypeError(
                f"requests of a file or workload ({self.name}) cannot be pickled without what is "
                "known about it; pickle its path or spec, and read or generate them where they "
                "are needed"
            )
        columns = [self._native.column(name) for name in NAMES]
        return _unpickled, (self.name, columns, [int(device) for device in self.devices])

    @property
    def name(self) -> str:
        """What results show as the name of the trace."""
        return self._native.name

    @property
    def nbytes(self) -> int:
        """The memory that the requests take, in bytes."""
        return self._native.nbytes

    @property
    def sha256(self) -> str:
        """The digest that results show as ``trace_sha256``; ``docs/results.md`` defines it."""
        return self._native.sha256

    @property
    def devices(self) -> list[str]:
        """The names of the devices, for ``volume=``, in the order of their numbers."""
        return self._native.devices

    @property
    def skipped(self) -> dict[str, int]:
        """What was skipped when the requests were read from a file: counts by reason."""
        return self._native.skipped

    @property
    def notes(self) -> list[str]:
        """Sentences about the file from which the requests were read."""
        return [in_python(note) for note in self._native.notes]

    def __len__(self) -> int:
        return len(self._native)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The requests as a stream of Arrow with all six columns; ``op`` is a dictionary.

        The column ``device`` counts the devices from 0, in the order of their first requests.
        """
        self._warn_of_numbers(3)
        return self._native.stream()

    def to_numpy(self) -> dict[str, NDArray[np.uint64]]:
        """All six columns as arrays of 8 bytes a number, ``op`` as codes; shape ``(len,)``."""
        self._warn_of_numbers(3)
        np = needed("numpy", "pandas")
        return {name: np.frombuffer(self._native.column(name), dtype=np.uint64) for name in NAMES}

    def to_pandas(self) -> Any:
        """All six columns as a DataFrame of pandas; ``op`` is categorical. Needs pyarrow."""
        self._warn_of_numbers(3)
        return frame(_Columns(self._native), "pandas")

    def frame(self, library: str = "pandas") -> Any:
        """All six columns as a table of ``pandas``, ``polars`` or ``pyarrow``."""
        self._warn_of_numbers(3)
        return frame(_Columns(self._native), library)

    def write(self, path: str | os.PathLike[str], format: str | None = None) -> None:
        """Write the requests as a trace file, which plans can name; see :meth:`Trace.write`."""
        write_trace(_native.NativeTrace.of_requests(self._native), path, format, self._read)

    def _warn_of_numbers(self, level: int) -> None:
        """Warn if the number of a device, which goes out, is the name of another one.

        A run of the table would take the number for the name and replay the other one in silence.
        """
        names = self.devices
        numbers = (str(number) for number in range(len(names)))
        taken = set(names)
        for number, name in zip(numbers, names):
            if number != name and number in taken:
                warnings.warn(
                    f"the column `device` counts the volumes from 0: {number} is not the volume "
                    f"called `{number}`, but `{name}`; `requests.devices` has the names in the "
                    "order of these numbers",
                    stacklevel=level,
                )
                return

    @cached_property
    def _are_all_at_once(self) -> bool:
        """Whether there are several requests, all with the same time."""
        times = self._native.column("time_ns")
        return len(self) > 1 and times == times[:8] * len(self)

    def _repr_html_(self) -> str:
        fields = {
            "requests": len(self),
            "devices": ", ".join(self.devices[:8]) + (" …" if len(self.devices) > 8 else ""),
            "bytes of memory": self.nbytes,
        }
        skipped = {"skipped": self.skipped} if self.skipped else {}
        return fields_html(self.name, {**fields, **skipped}, self.notes)

    def __repr__(self) -> str:
        return f"<ftlab.Requests: {self.name}, {len(self)} requests>"


class _Columns:
    """Nothing but the stream of requests."""

    def __init__(self, native: _native.NativeRequests) -> None:
        self._native = native

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._native.stream()


def _unpickled(name: str, columns: list[bytes], devices: list[int]) -> Requests:
    """Requests of columns with 8 bytes a number; a device is its place in ``devices``."""
    if devices != list(range(len(devices))):
        at = NAMES.index("device")
        numbers = array("Q", map(devices.__getitem__, array("Q", columns[at])))
        columns = [*columns[:at], numbers.tobytes(), *columns[at + 1 :]]
    builder = _native.RequestsBuilder(name, NAMES)
    builder.extend(columns)
    return Requests._of(builder.finish(), is_of_columns=True)


def _packed(columns: Any, name: str) -> _native.NativeRequests:
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(columns, pandas.DataFrame):
        return build(name, _columns_of(columns))
    if isinstance(columns, Mapping):
        if pandas is not None and "time_ns" not in columns:
            series = (one for one in columns.values() if isinstance(one, pandas.Series))
            for one in series:
                _refuse_times(one.index, 'add its index to the dict: "time_ns": series.index')
        columns = _one_table(columns)
    if kind(columns) in _NO_TABLES:
        raise _other(columns)
    if hasattr(columns, "__arrow_c_stream__"):
        return _native.NativeRequests.from_arrow(columns, name)
    if isinstance(columns, Mapping):
        return build(name, list(columns.items()))
    fields = getattr(getattr(columns, "dtype", None), "names", None)
    if fields:
        return build(name, [(field, columns[field]) for field in fields])
    raise _other(columns)


def _other(columns: Any) -> TypeError:
    """The error for something that is no table."""
    return TypeError(
        f"requests are a dict of columns, a structured array, a DataFrame or an Arrow table, not a "
        f"value of type {kind(columns)}{_NO_TABLES.get(kind(columns), '')}"
    )


# The first two are streams of Arrow as well.
_NO_TABLES = {
    "Series": ", which is one column",
    "ChunkedArray": ", which is one column",
    "LazyFrame": ": collect() makes a DataFrame of it",
}


def _columns_of(table: Any) -> list[tuple[str, Any]]:
    """The columns of a DataFrame of pandas, and those that ``set_index`` has made its index."""
    columns = list(table.items())
    names = {str(name) for name, _ in columns}
    for place, name in enumerate(table.index.names):
        if name in NAMES and name not in names:
            columns.append((name, table.index.get_level_values(place).to_series()))
            names.add(name)
    if "time_ns" not in names:
        _refuse_times(table.index, f"rename it: {_renamed(table.index)}")
    return columns


def _renamed(index: Any) -> str:
    """How the index of a frame becomes the times of requests."""
    of_index = {
        "DatetimeIndex": 'frame.index.as_unit("ns")',
        "TimedeltaIndex": 'frame.index.as_unit("ns")',
        "PeriodIndex": 'frame.index.to_timestamp().as_unit("ns")',
    }
    times = of_index.get(kind(index))
    if times is None:
        return 'frame.rename_axis("time_ns"), with nanoseconds as values'
    return f'frame.set_axis({times}.rename("time_ns"))'


_TIMES = ("datetime64", "datetime", "date", "time", "timedelta64", "timedelta", "period")
"""What pandas calls values that are times."""


def _refuse_times(index: Any, remedy: str) -> None:
    """Refuse an index of times, which would be lost: without ``time_ns`` all times are 0."""
    for place, name in enumerate(index.names):
        has_times = sys.modules["pandas"].api.types.infer_dtype(index.get_level_values(place))
        if has_times in _TIMES or str(name).lower().startswith(("time", "datetime")):
            called = "the index" if name is None else f"the index `{name}`"
            raise UsageError(
                f"{called} has times, but the times of requests are a column `time_ns`; {remedy}"
            )


def _one_table(columns: Mapping[str, Any]) -> Any:
    """A table of the library whose columns these are, if they are of polars or pyarrow."""
    libraries = {type(column).__module__.partition(".")[0] for column in columns.values()}
    if "polars" in libraries:
        return sys.modules["polars"].DataFrame(dict(columns))
    if "pyarrow" in libraries:
        return sys.modules["pyarrow"].table(dict(columns))
    return columns
