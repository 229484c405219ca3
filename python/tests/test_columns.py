"""Requests as columns: every way in, and what is refused."""

from __future__ import annotations

import copy
import hashlib
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from columns_data import OPS, OPTIONS, columns, figures, write_csv

DATA = columns()
NAMES = OPS[DATA["op"]]
TEXT = {**DATA, "op": NAMES}

ORDER = [("flags", "u1"), ("device", "<u2"), ("bytes", "<u4"), ("offset", "<u8"), ("op", "u1")]
PACKED = np.dtype([*ORDER, ("time_ns", "<u8")])


def structured(dtype: np.dtype[Any]) -> Any:
    table = np.zeros(len(DATA["op"]), dtype=dtype)
    for name, values in DATA.items():
        table[name] = values
    return table


def chunked() -> pa.Table:
    table = pa.table(TEXT)
    pieces = [table.slice(0, 1), table.slice(1, 0), table.slice(1, 1700), table.slice(1701)]
    return pa.concat_tables(pieces)


def sliced() -> pa.Table:
    """Rows in the middle of longer arrays, which have validity bitmaps and nulls outside."""
    before = {name: [None] * 3 for name in TEXT}
    schema = pa.table(TEXT).schema
    around = pa.table(before, schema=schema)
    whole = pa.concat_tables([around, pa.table(TEXT), around]).combine_chunks()
    return whole.slice(3, len(NAMES))


def dictionary(keys: pa.DataType) -> pa.Table:
    names = pa.array(["FLUSH", "unused", "R", "w", "Trim"])
    places = pa.array(np.array([2, 3, 4, 0])[DATA["op"]], keys)
    return pa.table({**DATA, "op": pa.DictionaryArray.from_arrays(places, names)})


def reader() -> pa.RecordBatchReader:
    return chunked().to_reader(max_chunksize=100)


def nullable() -> pd.DataFrame:
    frame = pd.DataFrame(TEXT).astype({"bytes": "UInt32", "offset": "Int64", "device": "UInt16"})
    return frame.astype({"op": "string"})


def two_chunks() -> pl.DataFrame:
    frame = pl.DataFrame(TEXT)
    return pl.concat([frame[:9], frame[9:]], rechunk=False)


WAYS: dict[str, Callable[[], Any]] = {
    "dict of arrays": lambda: DATA,
    "dict of lists": lambda: {name: values.tolist() for name, values in DATA.items()},
    "dict of series of pandas": lambda: {name: pd.Series(values) for name, values in TEXT.items()},
    "dict of series of polars": lambda: {name: pl.Series(values) for name, values in TEXT.items()},
    "dict of arrays of arrow": lambda: {name: pa.array(values) for name, values in TEXT.items()},
    "texts": lambda: TEXT,
    "first letters": lambda: {**DATA, "op": np.array(list("rWtF"))[DATA["op"]]},
    "bytes": lambda: {**DATA, "op": NAMES.astype("S5")},
    "objects": lambda: {**DATA, "op": NAMES.astype(object)},
    "signed": lambda: {name: values.astype(np.int64) for name, values in DATA.items()},
    "big endian": lambda: {name: v.astype(v.dtype.newbyteorder(">")) for name, v in DATA.items()},
    "strided": lambda: {name: np.repeat(values, 3)[1::3] for name, values in DATA.items()},
    "reversed": lambda: {name: values[::-1].copy()[::-1] for name, values in DATA.items()},
    "read-only": lambda: {name: np.frombuffer(v.tobytes(), v.dtype) for name, v in DATA.items()},
    "times": lambda: {**DATA, "time_ns": DATA["time_ns"].astype("datetime64[ns]")},
    "masked, nothing hidden": lambda: {**DATA, "bytes": np.ma.masked_array(DATA["bytes"])},
    "structured": lambda: structured(np.dtype(PACKED.descr, align=True)),
    "structured without alignment": lambda: structured(PACKED),
    "pandas": lambda: pd.DataFrame(TEXT),
    "pandas with codes": lambda: pd.DataFrame(DATA),
    "pandas, one block": lambda: pd.DataFrame({n: v.astype("i8") for n, v in DATA.items()}),
    "pandas with another index": lambda: pd.DataFrame(TEXT).set_index(DATA["time_ns"]),
    "pandas, times as index": lambda: pd.DataFrame(TEXT).set_index("time_ns"),
    "pandas, several levels": lambda: pd.DataFrame(TEXT).set_index(["device", "time_ns"]),
    "pandas, times with a zone": lambda: pd.DataFrame(
        {**TEXT, "time_ns": pd.to_datetime(DATA["time_ns"], utc=True).tz_convert("Asia/Tokyo")}
    ),
    "pandas, nullable": nullable,
    "pandas, categories": lambda: pd.DataFrame(TEXT).astype({"op": "category"}),
    "pandas, arrow": lambda: pa.table(TEXT).to_pandas(types_mapper=pd.ArrowDtype),
    "polars": lambda: pl.DataFrame(TEXT),
    "polars, categories": lambda: pl.DataFrame(TEXT).cast({"op": pl.Categorical}),
    "polars, chunks": two_chunks,
    "arrow": lambda: pa.table(TEXT),
    "arrow, codes": lambda: pa.table(DATA),
    "arrow, chunks": chunked,
    "arrow, sliced": sliced,
    "arrow, reader": reader,
    "arrow, one batch": lambda: pa.table(TEXT).to_batches()[0],
    "arrow, large texts": lambda: pa.table({**DATA, "op": pa.array(NAMES, pa.large_string())}),
    "arrow, views": lambda: pa.table({**DATA, "op": pa.array(NAMES, pa.string_view())}),
    "arrow, dictionary": lambda: dictionary(pa.int8()),
    "arrow, long dictionary": lambda: dictionary(pa.uint64()),
    "arrow, times": lambda: pa.table({**DATA, "time_ns": DATA["time_ns"].astype("M8[ns]")}),
}


def packed_digest(data: dict[str, Any]) -> str:
    """The digest as docs/results.md defines it."""
    layout = [("time_ns", "<u8"), ("offset", "<u8"), ("bytes", "<u4"), ("device", "<u2")]
    packed = np.zeros(len(data["op"]), dtype=[*layout, ("op", "u1"), ("flags", "u1")])
    for name, values in data.items():
        packed[name] = values
    _, first, number = np.unique(data["device"], return_index=True, return_inverse=True)
    packed["device"] = np.argsort(np.argsort(first))[number]
    return hashlib.sha256(packed.tobytes()).hexdigest()


DIGEST = packed_digest(DATA)


@pytest.mark.parametrize("way", WAYS)
def test_every_way_in_packs_the_same_requests(way: str) -> None:
    requests = ftlab.Requests(WAYS[way]())
    assert len(requests) == len(NAMES)
    assert requests.sha256 == DIGEST
    assert requests.nbytes == 24 * len(NAMES)
    assert requests.devices == [str(one) for one in dict.fromkeys(DATA["device"].tolist())]


@pytest.mark.parametrize("more", [{}, {"sort": True}, {"limit": 700}, {"replay": "open"}])
def test_a_run_of_columns_equals_that_of_a_file(tmp_path: Path, more: dict[str, Any]) -> None:
    path = write_csv(tmp_path / "requests.csv", DATA)
    file = ftlab.run(path, **OPTIONS, **more)
    in_memory = ftlab.run(DATA, **OPTIONS, **more)
    assert figures(in_memory) == figures(file)
    assert file["trace"]["skipped"]["zero-length"] > 0
    assert file["trace"]["backward_times"] > 0 or more.get("sort")
    assert (in_memory["trace"]["name"], in_memory["trace"]["format"]) == ("requests", "columns")
    assert in_memory["run"]["trace_sha256"] == DIGEST


def test_requests_are_packed_once_for_several_runs() -> None:
    requests = ftlab.Requests(pl.DataFrame(TEXT), name="tuesday")
    compared = ftlab.compare(requests, ["page", "fast"], **OPTIONS)
    alone = ftlab.run(requests, ftl="fast", **OPTIONS)
    assert figures(compared["fast"]) == figures(alone)
    assert alone["trace"]["name"] == "tuesday"
    assert compared["page"]["run"]["trace_sha256"] == requests.sha256


def test_requests_of_columns_can_be_pickled(tmp_path: Path) -> None:
    requests = ftlab.Requests(pl.DataFrame(TEXT), name="tuesday")
    other = pickle.loads(pickle.dumps(requests))
    assert (other.sha256, other.devices, other.name) == (DIGEST, requests.devices, "tuesday")
    assert ftlab.run(other, **OPTIONS) == ftlab.run(requests, **OPTIONS)
    assert pickle.loads(pickle.dumps(other)).sha256 == DIGEST
    path = write_csv(tmp_path / "requests.csv", DATA)
    of_file = ftlab.trace.open(path).requests()
    with pytest.raises(TypeError, match="pickle its path"):
        pickle.dumps(of_file)
    assert copy.copy(of_file) is of_file and copy.deepcopy([of_file])[0] is of_file


def test_optional_columns_have_defaults() -> None:
    three = {name: TEXT[name] for name in ("op", "offset", "bytes")}
    zero = np.zeros(len(NAMES), dtype=np.uint8)
    assert ftlab.Requests(three).sha256 == packed_digest(
        {**DATA, "time_ns": zero, "device": zero, "flags": zero}
    )


def test_columns_come_out_as_they_went_in() -> None:
    requests = ftlab.Requests(TEXT)
    numbers = requests.to_numpy()
    assert list(numbers) == list(DATA)
    for name in ("time_ns", "op", "offset", "bytes", "flags"):
        assert np.array_equal(numbers[name], DATA[name])
    frame = requests.to_pandas()
    assert frame["op"].tolist() == NAMES.tolist()
    assert ftlab.Requests(frame).sha256 == ftlab.Requests(requests).sha256 == DIGEST


def with_devices(numbers: list[int]) -> dict[str, Any]:
    """The requests on devices with these numbers, in the order of their first requests."""
    device = DATA["device"].tolist()
    places = dict(zip(dict.fromkeys(device), numbers, strict=True))
    return {**DATA, "device": np.array([places[one] for one in device])}


@pytest.mark.parametrize(
    "out",
    [
        ftlab.Requests.to_pandas,
        ftlab.Requests.to_numpy,
        lambda requests: requests.frame("polars"),
        lambda requests: pl.DataFrame(requests),
        lambda requests: pa.table(requests),
        lambda requests: ftlab.Requests(requests),
    ],
)
def test_numbers_of_devices_that_are_names_of_others_are_told(
    tmp_path: Path, out: Callable[[ftlab.Requests], Any]
) -> None:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for names in ([0, 1, 2], [5, 6, 7], [0, 5, 7]):
            out(ftlab.Requests(with_devices(names)))
    assert not said, "each number is that of its device, or that of none"
    path = write_csv(tmp_path / "cloud.csv", with_devices([2, 0, 5]))
    requests = ftlab.trace.open(path).requests()
    with pytest.warns(UserWarning, match="0 is not the volume called `0`, but `2`") as told:
        out(requests)
    assert len(told) == 1 and "requests.devices" in str(told[0].message)


def test_names_of_devices_are_brought_back_as_the_warning_says(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "cloud.csv", with_devices([0, 2, 1]))
    requests = ftlab.trace.open(path).requests()
    with pytest.warns(UserWarning, match="counts the volumes from 0") as told:
        frame = requests.to_pandas()
    assert told[0].filename == __file__
    named = frame.assign(device=frame["device"].map(dict(enumerate(map(int, requests.devices)))))
    wanted, same, other, brought_back = (
        ftlab.run(trace, volume="1", **OPTIONS)["host_pages"]
        for trace in (path, requests, frame, named)
    )
    assert wanted == same == brought_back != other


def test_requests_of_4_gib_and_more() -> None:
    long = {"op": ["trim", "write"], "offset": [0, 0], "bytes": [1 << 33, 2**32 - 1]}
    requests = ftlab.Requests(long)
    assert requests.to_numpy()["bytes"].tolist() == long["bytes"]
    rows = [(0, 0, 2**32 - 1, 0, 2, 0), (0, 0, 2**32 - 1, 0, 1, 0)]
    layout = "<u8,<u8,<u4,<u2,u1,u1"
    tail = np.array([0, 1 << 33, 1, 2**32 - 1], dtype="<u8")
    expected = hashlib.sha256(np.array(rows, dtype=layout).tobytes() + tail.tobytes())
    assert requests.sha256 == expected.hexdigest()


GOOD: dict[str, Any] = {"op": ["W"] * 4, "offset": [0] * 4, "bytes": [512] * 4}


def with_row(name: str, bad: object) -> dict[str, Any]:
    values = [0, 0, 0, 0] if name not in GOOD else list(GOOD[name])
    return {**GOOD, name: [*values[:2], bad, values[3]]}


ROWS = [
    ("op", "X", "column `op`, row 2 (counted from 0): `X` is no operation; it takes `read`"),
    ("op", None, "column `op`, row 2 (counted from 0): "),
    ("offset", -1, "column `offset`, row 2 (counted from 0): -1 is negative"),
    ("offset", 2**63 - 1, ""),
    ("bytes", -512, "column `bytes`, row 2 (counted from 0): -512 is negative"),
    ("time_ns", -5, "column `time_ns`, row 2 (counted from 0): -5 is negative; times before 1970"),
    ("device", -1, "column `device`, row 2 (counted from 0): -1 is negative"),
    ("flags", 32, "column `flags`, row 2 (counted from 0): 32 has bits without a meaning"),
    ("flags", 300, "column `flags`, row 2 (counted from 0): 300 has bits without a meaning"),
]


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
@pytest.mark.parametrize(("name", "bad", "sentence"), ROWS)
def test_a_bad_row_is_refused_with_its_place(
    make: Callable[[Any], Any], name: str, bad: object, sentence: str
) -> None:
    table = make(with_row(name, bad))
    if not sentence:
        assert len(ftlab.Requests(table)) == 4
        return
    with pytest.raises(ftlab.UsageError) as refused:
        ftlab.Requests(table)
    assert sentence in str(refused.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_texts_and_truth_values_come_with_the_call_that_converts_them(
    make: Callable[[Any], Any],
) -> None:
    for name, bad, call in [
        ("bytes", ["512"] * 4, '.astype("int64")'),
        ("op", [True, False, True, True], 'numpy.where(is_write, "write", "read")'),
    ]:
        with pytest.raises(ftlab.UsageError, match=f"column `{name}`") as refused:
            ftlab.Requests(make({**GOOD, name: bad}))
        assert call in str(refused.value)


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_codes_ranges_and_nulls_are_checked(make: Callable[[Any], Any]) -> None:
    for op, offset, length, sentence in [
        ([0, 1, 4], [0, 0, 0], [512] * 3, "column `op`, row 2 (counted from 0): 4 is no operation"),
        ([0, 1, 3], [0, 0, 0], [512] * 3, "row 2 (counted from 0): a flush has no range, so it"),
        ([0, 1, 1], [0, 0, 2**64 - 1], [0, 0, 1], "column `offset`, row 2 (counted from 0): the"),
    ]:
        numbers = {
            "op": np.array(op),
            "offset": np.array(offset, dtype=np.uint64),
            "bytes": np.array(length),
        }
        with pytest.raises(ftlab.UsageError) as refused:
            ftlab.Requests(make(numbers))
        assert sentence in str(refused.value)


def test_nulls_are_refused_with_their_row() -> None:
    whole = pd.DataFrame(GOOD)
    nulls: list[Any] = [
        whole.astype({"bytes": "Int64"}).assign(bytes=lambda t: t["bytes"].where(t.index != 3)),
        pl.DataFrame({**GOOD, "bytes": [1, 2, 3, None]}),
        pa.table({**GOOD, "bytes": pa.array([1, 2, 3, None], pa.uint32())}),
        {**GOOD, "bytes": np.ma.masked_array([1, 2, 3, 4], mask=[0, 0, 0, 1])},
    ]
    for table in nulls:
        with pytest.raises(ftlab.UsageError, match=r"column `bytes`, row 3 .*no value \(null\)"):
            ftlab.Requests(table)
    names = pa.array(["R", None])
    hidden = pa.DictionaryArray.from_arrays(pa.array([0, 0, 0, 1], pa.int8()), names)
    missing: list[Any] = [
        pa.table({**GOOD, "op": hidden}),
        pd.DataFrame({**GOOD, "op": pd.Categorical(["R", "R", "R", None])}),
        pd.DataFrame({**GOOD, "op": pd.array(["R", "R", "R", None], dtype="string")}),
        {**GOOD, "time_ns": np.array([1, 2, 3, "NaT"], dtype="M8[ns]"), "op": ["R"] * 4},
    ]
    for table in missing:
        with pytest.raises(ftlab.UsageError, match=r"row 3 .*no value \(null\)"):
            ftlab.Requests(table)


def test_the_value_that_is_missing_is_named_wherever_it_is() -> None:
    rows = 1 << 17
    frame = pd.DataFrame({"op": ["w"] * rows, "offset": np.arange(rows) * 4096, "bytes": 4096})
    frame["device"] = pd.Series([0] * (rows - 1))
    with pytest.raises(ftlab.UsageError, match=rf"`device`, row {rows - 1} .*no value \(null\)"):
        ftlab.Requests(frame)
    frame["device"] = frame["device"].astype("Float64")
    with pytest.raises(ftlab.UsageError, match=rf"`device`, row {rows - 1} .*no value \(null\)"):
        ftlab.Requests(frame)


TYPES: list[tuple[str, Any, str]] = [
    ("bytes", np.ones(4), "column `bytes`: its type is float64; it takes whole numbers"),
    ("bytes", np.array([1, 2, np.nan, 4]), "column `bytes`, row 2 (counted from 0): there is no"),
    ("offset", pd.Series([1, 2, 3, None]), "column `offset`, row 3 (counted from 0): there is no"),
    ("bytes", np.ones(4, dtype=bool), "column `bytes`: its type is bool"),
    ("bytes", np.ones((4, 2), dtype=int), "column `bytes`: it has 2 dimensions, not 1"),
    ("bytes", np.array(5), "column `bytes`: it has 0 dimensions, not 1"),
    ("bytes", np.array([1, "2", None, object()], dtype=object), "column `bytes`: its type is obj"),
    ("bytes", ["1", "2", "3", "4"], "column `bytes`: its type is <U1"),
    ("bytes", [[1], [2, 3], [], [4]], "column `bytes`"),
    ("offset", pd.Series([1.0, 2, 3, 4]), "column `offset`: its type is float64"),
    ("offset", pd.Series([1, 2, 3, 4], dtype="Float64"), "column `offset`: its type is Float64"),
    ("offset", pd.Series([1, 2, 3, 4], dtype="category"), "column `offset`: its type is category"),
    ("op", np.ones(4), "column `op`: its type is float64; it takes `read`, `write`"),
    ("op", pl.Series([1.0, 2, 3, 4]), "column `op`: its type is Float64"),
    ("op", pa.array([b"R"] * 4), "column `op`: its type is Binary"),
    ("op", pa.array([1, 2, 1, 2]).dictionary_encode(), "column `op`: its categories are Int64"),
    ("time_ns", np.zeros(4, dtype="M8[us]"), "column `time_ns`: its type is datetime64[us]"),
    ("time_ns", pa.array([0, 1, 2, 3], pa.timestamp("ms")), "column `time_ns`: its type is Timest"),
    ("time_ns", pa.nulls(4), "column `time_ns`, row 0 (counted from 0): there is no value"),
    ("flags", pl.Series([1, 2, 3, 4]).cast(pl.Decimal(10, 2)), "column `flags`: its type is Deci"),
]


@pytest.mark.parametrize(("name", "values", "sentence"), TYPES)
def test_other_types_are_refused(name: str, values: Any, sentence: str) -> None:
    with pytest.raises(ftlab.UsageError) as refused:
        ftlab.Requests({**GOOD, name: values})
    assert sentence in str(refused.value)


DATES = ["2024-01-01 00:00:01", "2024-01-01 00:00:02", "2024-01-02 00:00:00", "2024-01-03 00:00:00"]

REMEDIES: list[tuple[str, Any, str]] = [
    ("time_ns", np.zeros(4, dtype="M8[us]"), '.astype("datetime64[ns]")'),
    ("time_ns", np.zeros(4, dtype="m8[ms]"), '.astype("timedelta64[ns]")'),
    (
        "time_ns",
        pd.Series(pd.to_datetime([0, 1, 2, 3], utc=True)).dt.as_unit("us"),
        '.dt.as_unit("ns")',
    ),
    ("time_ns", pa.array([0, 1, 2, 3], pa.timestamp("ms")), '.cast(pyarrow.timestamp("ns"))'),
    ("time_ns", pa.array([0, 1, 2, 3], pa.timestamp("us")), "::TIMESTAMP_NS"),
    ("time_ns", pl.Series([0, 1, 2, 3]).cast(pl.Datetime("us")), '.cast(polars.Datetime("ns"))'),
    ("time_ns", pl.Series([0, 1, 2, 3]).cast(pl.Duration("us")), '.cast(polars.Duration("ns"))'),
    ("time_ns", np.ones(4), '.astype("int64")'),
    ("time_ns", np.array([0.0, 0.1, 0.2, 0.3]), "multiply them by 1e9"),
    (
        "time_ns",
        pd.Series(pd.to_datetime([0, 1, 2, 3]).to_period("s")),
        '.dt.to_timestamp().astype("datetime64[ns]")',
    ),
    ("bytes", pd.Series([1, 2, 3, 4], dtype="Float64"), '.astype("int64")'),
    ("bytes", pl.Series([1.0, 2, 3, 4]), ".cast(polars.Int64)"),
    ("offset", pa.array([1, 2, 3, 4]).cast(pa.decimal128(38, 0)), "::BIGINT"),
    ("offset", np.array([1, 2, 3, 4], dtype=object), '.astype("int64")'),
    ("bytes", ["1", "2", "3", "4"], '.astype("int64")'),
    ("bytes", pd.Series([1, 2, 3, 4], dtype="category"), '.astype("int64")'),
    ("device", pd.Series(["sda", "sdb", "sda", "sda"]), "pandas.factorize(…)[0]"),
    ("device", pd.Series(["sda"] * 4, dtype="category"), "pandas.factorize(…)[0]"),
    ("device", pl.Series(["sda", "sdb", "sda", "sda"]), '.rank("dense")'),
    ("time_ns", DATES, 'pandas.to_datetime(…).astype("datetime64[ns]")'),
    ("time_ns", pd.Series(pd.to_datetime(DATES)).astype(object), "pandas.to_datetime(…)"),
    ("time_ns", pl.Series(DATES), '.str.to_datetime(time_unit="ns")'),
    ("time_ns", pa.array([pa.MonthDayNano([0, 0, 1])] * 4), "epoch_ns(…)"),
]

CONVERTED: list[tuple[str, Any]] = [
    ("offset", np.array([1, 2, 3, 4], dtype=object).astype("int64")),
    ("bytes", pd.Series([1, 2, 3, 4], dtype="category").astype("int64")),
    ("device", pd.factorize(pd.Series(["sda", "sdb", "sda", "sda"]))[0]),
    ("device", pl.Series(["sda", "sdb", "sda", "sda"]).rank("dense")),
    ("time_ns", pd.to_datetime(DATES).astype("datetime64[ns]")),
    ("time_ns", pd.to_datetime(pd.Series(DATES)).astype("datetime64[ns]")),
    ("time_ns", pl.Series(DATES).str.to_datetime(time_unit="ns")),
]


@pytest.mark.parametrize(("name", "values", "remedy"), REMEDIES)
def test_a_column_that_can_be_converted_is_refused_with_a_remedy(
    name: str, values: Any, remedy: str
) -> None:
    with pytest.raises(ftlab.UsageError) as refused:
        ftlab.Requests({**GOOD, name: values})
    assert remedy in str(refused.value)


@pytest.mark.parametrize(("name", "values"), CONVERTED)
def test_a_column_that_was_converted_is_taken(name: str, values: Any) -> None:
    assert len(ftlab.Requests({**GOOD, name: values})) == 4


def test_times_in_an_index_are_not_lost() -> None:
    times = pd.to_datetime([0, 1, 2, 3])
    named = pd.DataFrame(GOOD, index=times).rename_axis("when")
    seconds = pd.DataFrame(GOOD, index=[0.0, 0.1, 0.2, 0.3]).rename_axis("timestamp")
    for frame, called in [
        (pd.DataFrame(GOOD, index=times), "the index has times"),
        (named, "the index `when` has times"),
        (seconds, "the index `timestamp` has times"),
    ]:
        with pytest.raises(ftlab.UsageError, match=r"rename_axis|set_axis") as refused:
            ftlab.Requests(frame)
        assert str(refused.value).startswith(called)
    with pytest.raises(ftlab.UsageError, match="series.index"):
        ftlab.Requests({**GOOD, "bytes": named["bytes"]})
    later = pd.date_range("1970-01-01", periods=4, freq="s").as_unit("us")
    for index in (
        later,
        later.tz_localize("UTC"),
        later - later[0],
        pd.period_range("1970-01-01", periods=4, freq="s"),
    ):
        frame = pd.DataFrame(GOOD, index=index)
        with pytest.raises(ftlab.UsageError, match="the index has times") as refused:
            ftlab.Requests(frame)
        renamed = eval(str(refused.value).partition("rename it: ")[2], {"frame": frame})
        assert ftlab.Requests(renamed).to_numpy()["time_ns"].tolist()[:2] == [0, 10**9]
    objects = pd.DataFrame(GOOD, index=times.astype(object))
    with pytest.raises(ftlab.UsageError, match="the index has times"):
        ftlab.Requests(objects)
    own = {**GOOD, "time_ns": [1, 2, 3, 4]}
    for table in (pd.DataFrame(own, index=times), {**own, "bytes": named["bytes"]}):
        assert ftlab.Requests(table).to_numpy()["time_ns"].tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("replay", ["open", "open:speed=2"])
def test_an_open_replay_without_times_says_so(replay: str) -> None:
    times = {**GOOD, "time_ns": [1, 2, 3, 4]}
    with pytest.warns(UserWarning, match="all 4 requests have the same time") as said:
        ftlab.run(GOOD, replay=replay, **OPTIONS)
    assert said[0].filename == __file__
    with pytest.warns(UserWarning, match="give them their times in this column"):
        ftlab.compare(GOOD, ["page"], replay=replay, **OPTIONS)
    ftlab.run(times, replay=replay, **OPTIONS)
    ftlab.run(GOOD, **OPTIONS)


@pytest.mark.parametrize(
    ("library", "missing", "extra"),
    [
        ("pandas", "pandas", "pandas"),
        ("pandas", "pyarrow", "pandas"),
        ("pyarrow", "pyarrow", "pandas"),
        ("polars", "polars", "polars"),
    ],
)
def test_missing_libraries_are_named_with_their_extra(
    library: str, missing: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests = ftlab.Requests(GOOD)
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ImportError) as refused:
        requests.frame(library)
    assert f"needs {missing}: pip install 'ftlab[{extra}]'" in str(refused.value)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_names_of_columns_are_checked(make: Callable[[Any], Any]) -> None:
    without = {name: values for name, values in GOOD.items() if name != "bytes"}
    for table, sentence in [
        ({**GOOD, "time": [1, 2, 3, 4]}, "no column `time`; did you mean `time_ns`, in nano"),
        ({**GOOD, "pid": [1, 2, 3, 4]}, "requests have no column `pid`"),
        (without, "there is no column `bytes`; requests need `op`, `offset` and `bytes`"),
    ]:
        with pytest.raises(ftlab.UsageError) as refused:
            ftlab.Requests(make(table))
        assert sentence in str(refused.value)


def test_columns_have_one_length_and_one_name() -> None:
    with pytest.raises(ftlab.UsageError, match="`op` has 4 rows and column `bytes` has 3"):
        ftlab.Requests({**GOOD, "bytes": np.array([1, 2, 3])})
    twice = pd.DataFrame(GOOD).assign(copy=1).rename(columns={"copy": "op"})
    with pytest.raises(ftlab.UsageError, match="two columns `op`"):
        ftlab.Requests(twice)
    arrow = pa.Table.from_arrays([pa.array([1])] * 4, ["op", "offset", "bytes", "bytes"])
    with pytest.raises(ftlab.UsageError, match="two columns `bytes`"):
        ftlab.Requests(arrow)


def test_too_many_devices_are_refused() -> None:
    rows = 65537
    many = {"op": np.zeros(rows, int), "offset": np.zeros(rows, int), "bytes": np.ones(rows, int)}
    with pytest.raises(ftlab.UsageError, match=r"`device`, row 65536 .*more than 65536 devices"):
        ftlab.Requests({**many, "device": np.arange(rows)})


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, pa.table])
def test_empty_tables_are_tables(make: Callable[[Any], Any]) -> None:
    names = ("op", "offset", "bytes")
    empty = ftlab.Requests(make({name: np.zeros(0, dtype=np.uint8) for name in names}))
    assert len(empty) == 0 and empty.to_pandas().shape == (0, 6)


def test_an_empty_table_is_run_as_an_empty_file_is(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("time_ns,device,rwbs,offset,bytes\n")
    empty = {name: np.zeros(0, dtype=np.uint8) for name in ("op", "offset", "bytes")}
    for function, options in [
        (ftlab.run, {}),
        (ftlab.run, {"capacity": "16MiB"}),
        (ftlab.compare, {"ftl": ["page"], "capacity": "16MiB"}),
        (ftlab.compare, {"ftl": ["page"]}),
        (ftlab.film, {"capacity": "2MiB", "extra": "12blocks"}),
        (ftlab.life, {"capacity": "16MiB", "media": "real:endurance=20"}),
        (ftlab.advise, {}),
        (ftlab.trace.info, {}),
    ]:
        of_file, of_table = (outcome(function, trace, options) for trace in (path, empty))
        assert of_file[0] == of_table[0], (function, of_file, of_table)
    result = ftlab.run(empty, capacity="16MiB")
    assert result["trace"]["requests"] == 0 and result.write_amplification is None


def outcome(function: Any, trace: Any, options: dict[str, Any]) -> tuple[str, object]:
    """The name of what was raised, or nothing, and what it says or gives."""
    try:
        return "", function(trace, **options)
    except ftlab.Error as error:
        return type(error).__name__, error


@pytest.mark.parametrize("other", [42, [1, 2], np.arange(3), object(), {}, b"abc"])
def test_other_objects_are_refused(other: object) -> None:
    with pytest.raises((TypeError, ftlab.UsageError)):
        ftlab.run(other)


class Wrong:
    """Claims to be a stream of Arrow."""

    def __init__(self, capsule: object) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.capsule


def test_wrong_streams_are_refused() -> None:
    with pytest.raises(TypeError):
        ftlab.Requests(Wrong(42))
    with pytest.raises(ValueError):
        ftlab.Requests(Wrong(pa.schema([]).__arrow_c_schema__()))
    used = pa.table(TEXT).__arrow_c_stream__()
    assert len(ftlab.Requests(Wrong(used))) == len(NAMES)
    with pytest.raises(ftlab.UsageError, match="already released"):
        ftlab.Requests(Wrong(used))
    with pytest.raises(ftlab.UsageError):
        ftlab.Requests(Wrong(pa.chunked_array([[1, 2]]).__arrow_c_stream__()))


def test_a_stream_that_fails_says_why() -> None:
    def batches() -> Any:
        yield pa.table(TEXT).to_batches()[0]
        raise RuntimeError("the disk is on fire")

    failing = pa.RecordBatchReader.from_batches(pa.table(TEXT).schema, batches())
    with pytest.raises(ftlab.UsageError, match="the disk is on fire"):
        ftlab.Requests(failing)


def test_arrays_that_change_meanwhile_do_no_harm() -> None:
    data = {name: np.tile(values, 100) for name, values in DATA.items()}
    done = threading.Event()

    def spoil() -> None:
        while not done.is_set():
            data["flags"][:] = 255
            data["flags"][:] = 0

    thread = threading.Thread(target=spoil)
    thread.start()
    try:
        for _ in range(3):
            try:
                requests = ftlab.Requests(data)
            except ftlab.UsageError as refused:
                assert "column `flags`" in str(refused)
            else:
                assert len(requests) == 100 * len(NAMES)
    finally:
        done.set()
        thread.join()


def test_requests_go_with_no_other_trace() -> None:
    with pytest.raises(ftlab.UsageError, match="either requests in memory, or a trace or `load=`"):
        ftlab.run(GOOD, load=["oltp"])
    with pytest.raises(ftlab.UsageError, match="are for trace files only"):
        ftlab.run(GOOD, skip_bad=True)
