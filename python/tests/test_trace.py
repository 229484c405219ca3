"""Traces: opened, described, generated, converted, in memory and piece by piece."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from columns_data import OPTIONS, columns, figures, write_csv

DATA = columns()
Command = Callable[..., "subprocess.CompletedProcess[str]"]

FILES = {
    "spc": "".join(
        f"{n % 2},{n * 8},{512 * (n % 9)},{'rW'[n % 2]},{n / 8}\n" for n in range(2000)
    ),
    "msr": "".join(
        f"{128166372003061629 + n * 7},usr,{n % 2},{'Read' if n % 3 else 'Write'},{n * 4096},"
        f"{1 + n % 5 * 512},{n}\n"
        for n in range(2000)
    ),
    "fio": "fio version 3 iolog\n0 a add\n0 a open\n"
    + "".join(f"{n * 3} a {['write', 'trim'][n % 2]} {n * 512} {512 + n}\n" for n in range(1000)),
    "blkparse": "".join(
        f"8,0 0 {n + 1} {n // 1000}.{n % 1000:09} 0 D {['FWFS', 'R', 'WM'][n % 3]} {n * 8} 8\n"
        for n in range(1000)
    ),
}


VOLUMES = {".spc": "1", ".msr": "usr,1", ".fio": "a", ".blkparse": "8,0"}


@pytest.fixture(params=FILES)
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    path = tmp_path / f"disk.{request.param}"
    path.write_text(FILES[request.param])
    return path


def test_a_file_that_becomes_columns_has_the_same_result(path: Path) -> None:
    trace = ftlab.trace.open(path)
    assert path.suffix == f".{trace.format}"
    file = ftlab.run(path, **OPTIONS)
    requests = trace.requests()
    for same in [requests, trace, trace.batches(10**6).__next__(), requests.to_pandas()]:
        result = ftlab.run(same, **OPTIONS)
        without_skipped = figures(result)
        if len(requests) == file["trace"]["requests"] or same is requests or same is trace:
            assert without_skipped == figures(file)
        assert result["erases"] == file["erases"] and result["time_us"] == file["time_us"]
    assert file["trace"]["requests"] == len(requests) + sum(requests.skipped.values())


def test_a_sorted_file_has_its_volumes_in_the_order_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "two.csv"
    times = {"a": 1000, "b": 5, "c": 9000}
    lines = [f"{d},{n * 7919 % 4000 * 4096},4096,W,{times[d] + n}\n" for d in times for n in range(2000)]
    path.write_text("".join(lines))
    read: dict[str, Any] = {"format": "csv:columns=dev+off.bytes+len.bytes+op+time.us", "sort": True}
    for limit, devices in [(None, ["b", "a", "c"]), (900, ["b"])]:
        trace = ftlab.trace.open(path, limit=limit, **read)
        requests = trace.requests()
        assert requests.devices == devices
        first = requests.to_pandas()["device"].drop_duplicates().tolist()
        assert first == list(range(len(devices)))
        options: dict[str, Any] = {"chip": "slc-lsb", "ftl": "superblock"}
        file = ftlab.run(path, limit=limit, **read, **options)
        trace.write(tmp_path / "sorted.csv")
        for same in (requests, requests.to_pandas(), tmp_path / "sorted.csv"):
            result = ftlab.run(same, **options)
            assert result["programs"] == file["programs"] and result["time_us"] == file["time_us"]
        infos = ftlab.trace.info(path, limit=limit, each_volume=True, **read)
        assert [info["volume"] for info in infos] == devices


def test_batches_and_streams_are_the_whole_trace(path: Path) -> None:
    trace = ftlab.trace.open(path)
    whole = trace.requests()
    pieces = [piece.frame("pyarrow") for piece in trace.batches(300)]
    assert [len(piece) for piece in pieces[:-1]] == [300] * (len(pieces) - 1)
    assert pa.concat_tables(pieces).combine_chunks().equals(whole.frame("pyarrow").combine_chunks())
    assert pa.table(trace).equals(whole.frame("pyarrow"))
    with pytest.raises(ftlab.UsageError, match="rows: `0` is too few"):
        trace.batches(0)


def test_info_is_that_of_the_command(path: Path, command: Command) -> None:
    for options, words in [
        ({}, []),
        ({"limit": 100, "page": "16KiB"}, ["--limit", "100", "--page", "16KiB"]),
        ({"brief": True}, ["--brief"]),
        ({"volume": VOLUMES[path.suffix]}, ["--volume", VOLUMES[path.suffix]]),
    ]:
        shown = command("trace", "info", path, "--json", "-", *words)
        assert shown.returncode == 0, shown.stderr
        info = ftlab.trace.info(path, **options)  # type: ignore[arg-type]
        assert info.to_json() == shown.stdout
        assert info.to_dict()["requests"] == info["requests"] > 0


def test_each_volume_of_a_file_has_the_figures_of_the_command(
    tmp_path: Path, command: Command
) -> None:
    path = write_csv(tmp_path / "requests.csv", DATA)
    for options, words in [
        ({}, []),
        ({"volumes": "writes>=400", "limit": 2000}, ["--volumes", "writes>=400", "--limit", "2000"]),
    ]:
        shown = command("trace", "info", path, "--each-volume", "--json", "-", *words)
        assert shown.returncode == 0, shown.stderr
        volumes = ftlab.trace.info(path, each_volume=True, **options)  # type: ignore[call-overload]
        assert volumes == json.loads(shown.stdout)
    everything = ftlab.trace.info(path, each_volume=True)
    assert sum(one["requests"] for one in everything) == ftlab.trace.info(path)["requests"]
    assert list(pd.DataFrame(everything)["volume"]) == [one["volume"] for one in everything]
    for trace, options, sentence in [
        (path, {"each_volume": None, "volumes": "writes>=2"}, "chooses among the rows of"),
        (path, {"each_volume": True, "volume": "0"}, "give either `volume=` or `each_volume=True`"),
        (path, {"each_volume": True, "volumes": "wrtes>=2"}, "wrtes"),
        ("oltp", {"each_volume": True}, "needs a trace file"),
    ]:
        with pytest.raises(ftlab.UsageError, match=sentence):
            ftlab.trace.info(trace, **options)


def test_an_unknown_field_is_named_with_the_right_one() -> None:
    info = ftlab.trace.info("uniform:writes=2K", capacity="16MiB")
    with pytest.raises(KeyError, match="there is no field 'write'; did you mean `writes`"):
        info["write"]
    assert "trace" not in info and info.get("trace") is None
    result = ftlab.run("uniform:writes=2K", capacity="16MiB")
    with pytest.raises(KeyError, match="there is no field 'erase'; did you mean `erases`"):
        result["erase"]


def test_a_workload_is_not_opened_but_generated(here: Path) -> None:
    for name in ("uniform:writes=20", "oltp"):
        sentence = f"^{name} is no file, but a workload; ftlab.trace.generate makes its requests$"
        with pytest.raises(ftlab.UsageError, match=sentence):
            ftlab.trace.open(name)
        assert len(ftlab.trace.generate(name, limit=9)) == 9
    # A file of that name is a file.
    ftlab.trace.generate("oltp", limit=9).write("oltp", format="csv")
    assert len(ftlab.trace.open("oltp").requests()) == 9


def test_info_is_printed_as_a_table() -> None:
    info = ftlab.trace.info("uniform:writes=2K", capacity="16MiB")
    lines = str(info).splitlines()
    assert lines[0] == "uniform:writes=2K" and max(map(len, lines)) < 100
    rows = [line.split() for line in lines]
    for row in (["requests", "2,000"], ["writes"], ["bytes", "4,096,000"], ["page_writes", "2,000"]):
        assert row in rows, row
    assert repr(info) == "<ftlab.trace.TraceInfo: uniform:writes=2K, 2000 requests>"


def test_info_of_workloads_and_columns(command: Command) -> None:
    workload = "uniform:writes=5K"
    shown = command("trace", "info", workload, "--json", "-", "--page", "8KiB")
    assert ftlab.trace.info(workload, page=8192).to_json() == shown.stdout
    described = ftlab.trace.info(DATA).to_dict()
    assert described["sha256"] == ftlab.Requests(DATA).sha256
    assert described["format"] == "columns"
    assert described["writes"]["requests"] == np.sum((DATA["op"] == 1) & (DATA["bytes"] > 0))
    assert ftlab.trace.info()["name"] == "oltp"
    with pytest.raises(TypeError, match="`limit` means nothing for the statistics of a table"):
        ftlab.trace.info(DATA, limit=5)


def test_generated_requests_are_those_of_a_run(tmp_path: Path, command: Command) -> None:
    options: dict[str, Any] = {"capacity": "8MiB", "seed": 5}
    requests = ftlab.trace.generate("zipf:writes=3K,reads=20%", **options)
    run = ftlab.run("zipf:writes=3K,reads=20%", **options)
    assert figures(ftlab.run(requests, **options)) == figures(run)
    assert len(ftlab.trace.generate("oltp", limit=10)) == 10
    with pytest.raises(ftlab.UsageError, match="is a file, not a workload"):
        ftlab.trace.generate(str(write_csv(tmp_path / "x.csv", DATA)))
    with pytest.raises(ftlab.UsageError, match="did you mean `uniform`"):
        ftlab.trace.generate("unifrom:writes=4")


@pytest.mark.filterwarnings("ignore:.* have another name", "ignore:An fio iolog has no flags")
@pytest.mark.parametrize("format", ["csv", "fio", "blkparse"])
def test_written_traces_are_those_of_the_command(
    tmp_path: Path, command: Command, format: str
) -> None:
    path = write_csv(tmp_path / "requests.csv", DATA)
    ftlab.trace.open(path).write(tmp_path / "ours", format)
    made = command("trace", "convert", path, "--to", format, "--out", tmp_path / "theirs")
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "ours").read_bytes() == (tmp_path / "theirs").read_bytes()


@pytest.mark.filterwarnings("ignore:.* have another name", "ignore:An fio iolog has no flags")
def test_the_format_to_write_follows_from_the_name(tmp_path: Path) -> None:
    trace = ftlab.trace.open(write_csv(tmp_path / "requests.csv", DATA))
    for format in ("csv", "fio", "blkparse"):
        trace.write(tmp_path / f"by_name.{format}")
        trace.write(tmp_path / "given", format)
        assert (tmp_path / f"by_name.{format}").read_bytes() == (tmp_path / "given").read_bytes()
    left = {one.name for one in tmp_path.iterdir()}
    for name, format, sentence in [
        ("disk.log", None, "its ending tells no format; give one"),
        ("disk", None, "its ending tells no format; give one"),
        ("disk.csv.zst", None, "not compressed"),
        ("disk.csv.gz", "csv", "not compressed"),
    ]:
        with pytest.raises(ftlab.UsageError, match=sentence):
            trace.write(tmp_path / name, format)
    assert {one.name for one in tmp_path.iterdir()} == left


def test_statistics_refuse_options_that_mean_nothing(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "requests.csv", DATA)
    for trace, options, sentence in [
        (path, {"each_volume": True, "page": 512}, "`page` means nothing for the statistics of each v"),
        ({"op": ["write"]}, {"each_volume": True}, "of a file, and not of a value of type dict"),
        (path, {"limt": 3}, "there is no option `limt`; did you mean `limit`"),
        (path, {"capacity": "1MiB"}, "`capacity` means nothing for the statistics of a path"),
        ("oltp", {"sort": True}, "`sort` means nothing for the statistics of a workload"),
        (ftlab.trace.open(path), {"limit": 3}, "of a table or an opened trace"),
    ]:
        with pytest.raises(TypeError, match=sentence):
            ftlab.trace.info(trace, **options)


def test_what_cannot_be_written_leaves_no_file(tmp_path: Path) -> None:
    path = tmp_path / "odd.csv"
    path.write_text("time_ns,device,rwbs,offset,bytes\n0,a,W,7,9\n")
    trace = ftlab.trace.open(path)
    assert len(trace.requests()) == 1
    with pytest.raises(ftlab.RunError, match="cannot be written as blkparse"):
        trace.write(tmp_path / "out", "blkparse")
    with pytest.raises(ftlab.UsageError, match="not as `html`"):
        trace.write(tmp_path / "out", "html")
    assert [one.name for one in tmp_path.iterdir()] == ["odd.csv"]


def test_a_trace_is_not_written_over_itself(tmp_path: Path) -> None:
    (tmp_path / "week").mkdir()
    path = write_csv(tmp_path / "week" / "monday.csv", DATA)
    before = path.read_bytes()
    (tmp_path / "link.csv").symlink_to(path)
    for name in (path, tmp_path / "week", tmp_path / "week" / "*.csv", tmp_path / "link.csv"):
        for target in (path, tmp_path / "link.csv"):
            with pytest.raises(ftlab.UsageError, match="would be overwritten"):
                ftlab.trace.open(name, limit=10).write(target)
    assert path.read_bytes() == before
    ftlab.trace.open(path, limit=10).write(tmp_path / "week" / "new.csv")
    assert len(ftlab.trace.open(tmp_path / "week" / "new.csv").requests()) == 10


def test_errors_say_where_and_what(tmp_path: Path) -> None:
    path = tmp_path / "disk.spc"
    path.write_text("0,0,512,W,0.0\n0,1,nonsense,W,0.5\n0,2,512,R,1.0\n")
    trace = ftlab.trace.open(path, format="spc")
    for read in [trace.requests, lambda: list(trace.batches(1)), lambda: ftlab.trace.info(path)]:
        with pytest.raises(ftlab.RunError) as failed:
            read()
        assert f"{path}:2: " in str(failed.value) and "nonsense" in str(failed.value)
    with pytest.raises(Exception, match="disk.spc:2: .*nonsense"):
        pa.table(trace)
    tolerant = ftlab.trace.open(path, format="spc", skip_bad=True).requests()
    assert (len(tolerant), tolerant.skipped) == (2, {"malformed": 1})
    with pytest.raises(ftlab.RunError, match="cannot open trace"):
        ftlab.trace.open(tmp_path / "missing")
    with pytest.raises(ftlab.UsageError, match="limit"):
        ftlab.trace.open(path, limit=0)


def test_sorting_and_limits(tmp_path: Path) -> None:
    path = write_csv(tmp_path / "requests.csv", DATA)
    ordered = ftlab.trace.open(path, sort=True).requests()
    assert np.all(np.diff(ordered.to_numpy()["time_ns"].astype(np.int64)) >= 0)
    assert "The requests are sorted by time." in ordered.notes
    assert len(ftlab.trace.open(path, limit=12).requests()) == 12
    raised = ftlab.trace.open(path).requests()
    with pytest.raises(ftlab.UsageError, match="cannot be sorted any more"):
        ftlab.run(raised, sort=True, **OPTIONS)


@pytest.mark.parametrize("kept", [0, 100])
def test_a_file_that_became_shorter_is_an_error(tmp_path: Path, kept: int) -> None:
    path = tmp_path / "t.spc"
    path.write_text(FILES["spc"] * 100)
    trace = ftlab.trace.open(path)
    batches = iter(trace.batches(100))
    next(batches)
    path.write_text(FILES["spc"][:kept])
    for use in (trace.requests, lambda: list(batches), lambda: ftlab.run(trace, fit="compact")):
        with pytest.raises(ftlab.RunError, match="has become shorter since it was opened"):
            use()


@pytest.mark.parametrize("ending", ["csv", "fio"])
def test_written_volumes_have_their_names(tmp_path: Path, ending: str) -> None:
    source = tmp_path / "volumes.csv"
    source.write_text("time_ns,device,rwbs,offset,bytes\n0,b1058,W,0,4096\n1000,b1,W,4096,4096\n2000,b1,W,0,512\n")
    copies = [tmp_path / f"a.{ending}", tmp_path / f"b.{ending}"]
    ftlab.trace.open(source).write(copies[0])
    ftlab.trace.open(source).requests().write(copies[1])
    for copy in copies:
        assert ftlab.trace.open(copy).requests().devices == ["b1058", "b1"]
        assert ftlab.trace.info(copy, volume="b1")["requests"] == 2


def test_a_name_that_a_format_cannot_express_is_warned_of(tmp_path: Path) -> None:
    trace = ftlab.Requests({"op": ["w"] * 2, "offset": [0, 0], "bytes": [512] * 2, "device": [7, 4]})
    with pytest.warns(UserWarning, match="2 of 2 volumes have another name .* `7` is `254,0`, `4` is `254,1`"):
        trace.write(tmp_path / "x.blkparse")
    assert ftlab.trace.open(tmp_path / "x.blkparse").requests().devices == ["254,0", "254,1"]


def test_flags_and_times_that_fio_cannot_express_are_warned_of(tmp_path: Path) -> None:
    trace = ftlab.Requests({"op": ["w"] * 2, "offset": [0, 0], "bytes": [512] * 2, "time_ns": [0, 1999]})
    with pytest.warns(UserWarning, match="Requests with times between microseconds: 1"):
        trace.write(tmp_path / "x.fio")
    assert ftlab.trace.open(tmp_path / "x.fio").requests().to_numpy()["time_ns"].tolist() == [0, 1000]
    trace = ftlab.Requests({"op": ["w"] * 2, "offset": [0, 0], "bytes": [512] * 2, "flags": [4, 1]})
    with pytest.warns(UserWarning, match=r"with flags: 2; .* \(FUA, preflush\): 1"):
        trace.write(tmp_path / "x.fio")


def test_requests_that_were_written_are_the_same(tmp_path: Path) -> None:
    kinds = {"op": ["w", "r", "t", "f"], "offset": [0, 4096, 8192, 0], "bytes": [512, 4096, 700, 0]}
    requests = ftlab.Requests({**kinds, "time_ns": [0, 5, 5, 9], "flags": [1, 0, 0, 0]})
    requests.write(tmp_path / "x.csv")
    again = ftlab.trace.open(tmp_path / "x.csv").requests()
    assert again.to_pandas().equals(requests.to_pandas())


def test_notes_of_requests_name_arguments(tmp_path: Path) -> None:
    path = tmp_path / "back.csv"
    path.write_text("time_ns,device,rwbs,offset,bytes\n5000,0,W,0,4096\n1000,0,W,4096,4096\n")
    notes = " ".join(ftlab.trace.open(path).requests().notes)
    assert "sort=True" in notes and "--sort" not in notes
