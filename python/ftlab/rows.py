"""Tables of other libraries: results as rows, requests as columns, by the Arrow C stream."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from ftlab import _native
from ftlab.errors import UsageError
from ftlab.given import hint

LIBRARIES = ("pandas", "polars", "pyarrow")


class ArrowRows(ABC):
    """Something with one row for each result, with the columns of the rows of a sweep."""

    @abstractmethod
    def _given_rows(self) -> Sequence[str]:
        """Each result as JSON."""

    def _labels(self) -> Sequence[str] | None:
        """The names of the rows, which are the first column; ``None``: there are none."""
        return None

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The rows as a stream of Arrow.

        Names of nested fields are joined by points. Types follow from the fields, not from the
        values: counts are whole numbers, times and ratios decimal numbers; parts without fixed
        names are JSON text. ``docs/results.md`` describes the fields.
        """
        return _native.rows_stream(self._given_rows(), self._labels())

    def frame(self, library: str = "pandas") -> Any:
        """The rows as a table of ``pandas`` (needs pyarrow, too), ``polars`` or ``pyarrow``.

        The columns are those of the csv that ``ftlab sweep`` writes, whatever the results; a column
        of something that a run does not have is null. A sweep also has a column for each option
        that varies, such as ``sweep.varied.ftl``, and a comparison ``label``, the first.
        """
        return frame(self, library)


class Rows(ArrowRows):
    """Rows of a sweep, each given as JSON."""

    def __init__(self, rows: Sequence[str]) -> None:
        self._given = rows

    def _given_rows(self) -> Sequence[str]:
        return self._given


class _Stream:
    """Nothing but a stream: polars takes a comparison for a sequence of objects."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._source.__arrow_c_stream__(requested_schema)


def frame(stream: Any, library: str) -> Any:
    """Anything with ``__arrow_c_stream__`` as a table of one of the :data:`LIBRARIES`.

    Raises
    ------
    UsageError
        There is no such library.
    ImportError
        It is not installed.
    """
    if library == "polars":
        return needed("polars").DataFrame(_Stream(stream))
    if library not in LIBRARIES:
        near = hint(str(library), LIBRARIES)
        raise UsageError(f"frames are of {', '.join(LIBRARIES)}, not of {library!r}{near}")
    if library == "pandas":
        needed("pandas")
    table = needed("pyarrow", "pandas").table(stream)
    return table if library == "pyarrow" else _pandas(table)


def needed(name: str, extra: str | None = None) -> Any:
    """A library, or an error that says how it gets here."""
    try:
        return importlib.import_module(name)
    except ImportError as missing:
        raise ImportError(
            f"this table needs {name}: pip install 'ftlab[{extra or name}]'"
        ) from missing


def _pandas(table: Any) -> Any:
    """A DataFrame. Columns that may have nulls get types that can hold them."""
    pandas = needed("pandas")
    nullable = {
        "int64": pandas.Int64Dtype(),
        "uint64": pandas.UInt64Dtype(),
        "bool": pandas.BooleanDtype(),
    }
    may = {str(field.type) for field in table.schema if field.nullable}
    return table.to_pandas(types_mapper=lambda kind: nullable.get(str(kind)) if may else None)
