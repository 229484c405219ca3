"""Columns of NumPy and pandas as blocks of whole numbers, which the extension packs.

A block has 65536 rows at most, so columns are converted without a second copy of any of them.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from ftlab import _native
from ftlab.errors import UsageError
from ftlab.rows import needed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.uint64]

_BLOCK = 1 << 16

# A name that is cut off here is longer than that of any operation.
_NAME = "U16"


class Column(Protocol):
    """A column whose rows can be converted in parts."""

    def __len__(self) -> int: ...

    def numbers(self, builder: _native.RequestsBuilder, start: int, stop: int) -> Numbers:
        """The rows from ``start`` to ``stop`` as whole numbers, operations as their codes."""
        ...


def build(name: str, columns: Sequence[tuple[str, Any]]) -> _native.NativeRequests:
    """Requests with this name from pairs of a column's name and its values.

    Raises
    ------
    UsageError
        A column has no meaning, another type, another length or a value that no request can have;
        the message names the column and the row.
    """
    needed("numpy", "pandas")
    builder = _native.RequestsBuilder(name, [str(column) for column, _ in columns])
    opened = [_opened(builder, column, values) for column, values in columns]
    rows = _rows(columns, opened)
    for start in range(0, rows, _BLOCK):
        stop = min(start + _BLOCK, rows)
        block = [column.numbers(builder, start, stop).tobytes() for column in opened]
        builder.extend(block)
    return builder.finish()


def _rows(columns: Sequence[tuple[str, Any]], opened: Sequence[Column]) -> int:
    """The number of rows that all columns have."""
    lengths = [len(column) for column in opened]
    for (name, _), length in zip(columns, lengths, strict=True):
        if length != lengths[0]:
            first = f"column `{columns[0][0]}` has {lengths[0]} rows"
            raise UsageError(f"{first} and column `{name}` has {length}")
    return lengths[0]


def _opened(builder: _native.RequestsBuilder, name: str, values: Any) -> Column:
    """A column of NumPy, pandas, or of anything that NumPy makes an array of."""
    import numpy as np

    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, pandas.api.extensions.ExtensionArray):
        values = pandas.Series(values, copy=False)
    if pandas is not None and isinstance(values, pandas.Series):
        if isinstance(values.dtype, pandas.CategoricalDtype):
            if name != "op":
                builder.wrong_type(name, "its type is category")
            return _Categories(values.cat.codes.to_numpy(), list(values.cat.categories))
        if not isinstance(values.dtype, np.dtype):
            return _Nullable(name, values)
        values = values.to_numpy()
    try:
        array = np.asanyarray(values)
    except (TypeError, ValueError) as error:
        raise UsageError(f"column `{name}` is no array: {error}") from error
    if array.ndim != 1:
        builder.wrong_type(name, f"it has {array.ndim} dimensions, not 1")
    return _Array(name, array)


class _Array:
    """A column in an array with one dimension."""

    def __init__(self, name: str, array: NDArray[Any]) -> None:
        self._name = name
        self._array = array

    def __len__(self) -> int:
        return len(self._array)

    def numbers(self, builder: _native.RequestsBuilder, start: int, stop: int) -> Numbers:
        import numpy as np

        block = self._array[start:stop]
        if block.dtype.kind == "f":
            # Refused, but a value that is missing anywhere is the reason that helps.
            block = self._array
        if isinstance(block, np.ma.MaskedArray):
            _refuse_nulls(builder, self._name, np.ma.getmaskarray(block))
        block = np.asarray(block)
        if self._name == "op" and block.dtype.kind in "SUOT":
            return _codes(builder, block)
        return _whole(builder, self._name, block)


class _Nullable:
    """A column of pandas with a type of its own, which may have nulls."""

    def __init__(self, name: str, series: Any) -> None:
        self._name = name
        self._series = series

    def __len__(self) -> int:
        return len(self._series)

    def numbers(self, builder: _native.RequestsBuilder, start: int, stop: int) -> Numbers:
        block = self._series.iloc[start:stop]
        _refuse_nulls(builder, self._name, block.isna().to_numpy())
        kind = getattr(block.dtype, "kind", "O")
        if kind == "M" and getattr(block.dtype, "tz", None) is not None:
            # Times with a time zone are counted from the same origin as those of UTC.
            return _whole(builder, self._name, block.dt.tz_convert(None).to_numpy())
        if kind in "iu":
            whole = block.to_numpy(dtype="int64" if kind == "i" else "uint64")
            return _whole(builder, self._name, whole)
        if self._name == "op" and kind in "OU":
            return _codes(builder, block.to_numpy(dtype=object))
        _refuse_nulls(builder, self._name, self._series.isna().to_numpy())
        builder.wrong_type(self._name, f"its type is {block.dtype}")


class _Categories:
    """A categorical column of operations."""

    def __init__(self, places: NDArray[Any], categories: list[Any]) -> None:
        import numpy as np

        self._places = places
        self._categories = categories
        codes = [_native.op_code(str(category)) for category in categories]
        self._codes = np.array([-1 if code is None else code for code in codes], dtype=np.int64)

    def __len__(self) -> int:
        return len(self._places)

    def numbers(self, builder: _native.RequestsBuilder, start: int, stop: int) -> Numbers:
        import numpy as np

        places = self._places[start:stop]
        _refuse_nulls(builder, "op", places < 0)
        codes: NDArray[np.int64] = self._codes[places]
        unknown = np.flatnonzero(codes < 0)
        if unknown.size:
            row = int(unknown[0])
            builder.unknown_op(row, str(self._categories[places[row]]))
        return codes.view(np.uint64)


def _refuse_nulls(builder: _native.RequestsBuilder, name: str, nulls: NDArray[Any]) -> None:
    if nulls.any():
        builder.null(name, int(nulls.argmax()))


def _whole(builder: _native.RequestsBuilder, name: str, block: NDArray[Any]) -> Numbers:
    """Whole numbers as they are; times and durations of ``time_ns`` in nanoseconds."""
    import numpy as np

    if block.dtype.kind == "u":
        return block.astype(np.uint64)
    is_time = name == "time_ns" and block.dtype.kind in "mM"
    if is_time and np.datetime_data(block.dtype) == ("ns", 1):
        _refuse_nulls(builder, name, np.isnat(block))
    elif block.dtype.kind != "i":
        if block.dtype.kind == "f":
            # pandas makes whole numbers decimal where one is missing.
            _refuse_nulls(builder, name, np.isnan(block))
        builder.wrong_type(name, f"its type is {block.dtype}")
    whole = block.astype(np.int64)
    negative = np.flatnonzero(whole < 0)
    if negative.size:
        row = int(negative[0])
        builder.negative(name, row, int(whole[row]))
    return whole.view(np.uint64)


def _codes(builder: _native.RequestsBuilder, block: NDArray[Any]) -> Numbers:
    """The codes of operations that are given by name."""
    import numpy as np

    names = np.char.decode(block, "latin-1") if block.dtype.kind == "S" else block
    names = names.astype(_NAME)
    codes = np.zeros(len(names), dtype=np.uint64)
    left = np.ones(len(names), dtype=bool)
    # Each turn finds all rows with one name; few names are operations.
    while left.any():
        row = int(left.argmax())
        name = str(names[row])
        code = _native.op_code(name)
        if code is None:
            builder.unknown_op(row, name)
        same = names == names[row]
        codes[same] = code
        left &= ~same
    return codes
