"""Results and requests as tables of other libraries."""

from __future__ import annotations

import csv
import io
import math
from typing import Any

import duckdb
import ftlab
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from columns_data import OPTIONS, columns
from ftlab.rows import Rows

REQUESTS = ftlab.Requests(columns(500))


@pytest.fixture(scope="module")
def compared() -> ftlab.Comparison:
    return ftlab.compare(REQUESTS, ["page", "fast", "dftl"], **OPTIONS)


def field(result: ftlab.Result, name: str) -> Any:
    """The field of a column."""
    value: Any = result.to_dict()
    for part in name.split("."):
        value = value.get(part) if isinstance(value, dict) else None
    return value


def test_a_table_has_a_row_for_each_result(compared: ftlab.Comparison) -> None:
    table = pa.table(compared)
    assert table.num_rows == 3 and table.column_names[:2] == ["label", "sweep.row"]
    for name in ["ftl.name", "erases.gc", "write_amplification", "run.sort", "run.limit"]:
        assert table[name].to_pylist() == [field(result, name) for result in compared]
    assert table["merges.full"].to_pylist()[0] is None
    assert pa.table(compared[1]).equals(table.slice(1, 1).remove_column(0))
    assert pa.table(Rows([result.to_json() for result in compared])).equals(table.remove_column(0))


def test_types_do_not_depend_on_the_values(compared: ftlab.Comparison) -> None:
    schema = pa.table(compared).schema
    for name, kind in [
        ("sweep.row", pa.int64()),
        ("erases.gc", pa.int64()),
        ("run.seed", pa.int64()),
        ("run.limit", pa.int64()),
        ("run.sort", pa.bool_()),
        ("write_amplification", pa.float64()),
        ("response_us.read.mean", pa.float64()),
        ("ftl.name", pa.string()),
        ("run.trace_sha256", pa.string()),
        ("notes", pa.string()),
    ]:
        assert schema.field(name).type == kind, name
    assert pa.table(ftlab.run(limit=5)).schema == schema.remove(0)


def test_a_large_seed_keeps_its_value() -> None:
    result = ftlab.run("uniform:writes=10", capacity="1MiB", seed=2**64 - 1)
    assert pa.table(result)["run.seed"].to_pylist() == [2**64 - 1]
    assert result.frame()["run.seed"].tolist() == [2**64 - 1]


def test_columns_are_those_of_the_command(tmp_path: Any, command: Any) -> None:
    workload = "uniform:writes=2K"
    shown = command("run", workload, "--capacity", "1MiB", "--csv", "-")
    assert shown.returncode == 0, shown.stderr
    (cells,) = csv.DictReader(io.StringIO(shown.stdout))
    row = ftlab.run(workload, capacity="1MiB").frame("polars").row(0, named=True)
    assert list(row) == list(cells)
    for name, cell in cells.items():
        value = row[name]
        if value is None:
            assert cell == "", name
        elif isinstance(value, bool):
            assert cell == str(value).lower()
        elif isinstance(value, float):
            assert math.isclose(float(cell), value), name
        else:
            assert cell == str(value), name


def test_frames_of_all_libraries_agree(compared: ftlab.Comparison) -> None:
    frames = {library: compared.frame(library) for library in ("pandas", "polars", "pyarrow")}
    assert isinstance(frames["pandas"], pd.DataFrame)
    assert isinstance(frames["polars"], pl.DataFrame)
    assert isinstance(frames["pyarrow"], pa.Table)
    expected = frames["pyarrow"].to_pylist()
    assert frames["polars"].to_dicts() == expected
    assert frames["pandas"]["erases.gc"].tolist() == [row["erases.gc"] for row in expected]
    assert str(frames["pandas"]["run.limit"].dtype) == "Int64"
    assert frames["pandas"]["run.limit"].isna().all()
    assert frames["pandas"]["ftl.name"].tolist() == ["page", "fast", "dftl"]
    assert frames["pandas"].columns[0] == "label"
    assert [row["label"] for row in expected] == compared.labels
    with pytest.raises(ftlab.UsageError, match="not of 'spark'"):
        compared.frame("spark")


def test_duckdb_asks_requests_and_results(compared: ftlab.Comparison) -> None:
    connection = duckdb.connect()
    connection.register("results", pa.table(compared))
    connection.register("requests", pa.RecordBatchReader.from_stream(REQUESTS))
    asked = connection.sql('select "ftl.name" from results order by "erases.total" limit 1')
    fewest = min(compared, key=lambda result: result["erases"]["total"])
    assert asked.fetchall() == [(fewest.ftl,)]
    by_op = connection.sql("select op, count(*) from requests group by op").fetchall()
    codes = REQUESTS.to_numpy()["op"]
    names = ["read", "write", "trim", "flush"]
    assert {str(op): count for op, count in by_op} == {
        name: int(np.sum(codes == code)) for code, name in enumerate(names)
    }


def test_a_relation_of_duckdb_is_requests() -> None:
    connection = duckdb.connect()
    connection.register("requests", REQUESTS.frame("pyarrow"))
    relation = connection.sql("select time_ns, op, \"offset\", bytes, device, flags from requests")
    assert ftlab.Requests(relation).sha256 == REQUESTS.sha256
    texts = connection.sql("select op::varchar as op, \"offset\", bytes from requests")
    assert len(ftlab.Requests(texts)) == len(REQUESTS)


def test_polars_reads_requests() -> None:
    frame = pl.DataFrame(REQUESTS)
    assert frame.height == len(REQUESTS)
    assert frame["op"].cast(pl.String).value_counts().height == 4
    assert ftlab.Requests(frame).sha256 == REQUESTS.sha256


def test_a_stream_that_nobody_reads_is_dropped() -> None:
    for _ in range(100):
        REQUESTS.__arrow_c_stream__()
        pa.RecordBatchReader.from_stream(REQUESTS).read_next_batch()


def test_rows_that_are_no_results_are_refused() -> None:
    with pytest.raises(ftlab.UsageError, match="a row is no result"):
        pa.table(Rows(["{"]))
    empty = pa.table(Rows([]))
    assert empty.num_rows == 0 and "erases.gc" in empty.column_names
