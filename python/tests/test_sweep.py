"""``ftlab.sweep``: the rows of the command, on this machine and on a cluster that loses workers."""

from __future__ import annotations

import json
import os
import pickle
import pkgutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ftlab
from ftlab._plan_text import plan_text

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")

from ftlab import _dask  # noqa: E402  it needs distributed
from sweep_plans import LONG, PLAN, Command, rows_of  # noqa: E402

# ---- on this machine -----------------------------------------------------------------------------


def test_rows_are_those_of_the_command(here: Path, command: Command) -> None:
    wanted = rows_of(command, PLAN)
    sweep = ftlab.sweep(PLAN)
    assert sweep.to_jsonl() == wanted
    assert len(sweep) == 12
    assert sweep[5]["sweep"]["varied"] == {"ftl": "fast", "extra": "15%", "seed": 2}
    assert [row["sweep"]["row"] for row in sweep.failed] == [2, 3, 6, 7, 10, 11]
    assert sweep.failed[0]["sweep"]["error"]["exit_code"] == 2
    assert {file.name for file in here.iterdir()} == {"alone.toml", "alone.jsonl"}
    words = ["--out", "alone.csv", "--report", "alone.html", "--latex", "alone.tex"]
    csv = command("sweep", "alone.toml", *words)
    assert sweep.to_latex() == Path("alone.tex").read_text()
    assert sweep.to_csv() == Path("alone.csv").read_text()
    ftlab.sweep("alone.toml", out="again.csv", report="again.html")
    assert Path("again.csv").read_bytes() == Path("alone.csv").read_bytes()
    assert Path("again.html").read_bytes() == Path("alone.html").read_bytes()
    assert csv.stdout == str(ftlab.sweep("alone.toml", out="alone.csv"))


def test_a_sweep_can_be_pickled(here: Path) -> None:
    sweep = ftlab.sweep(PLAN)
    again = pickle.loads(pickle.dumps(sweep))
    assert again.to_jsonl() == sweep.to_jsonl() and again.to_latex() == sweep.to_latex()
    assert str(again) == str(sweep) and again.claims == sweep.claims
    with pytest.raises(ftlab.UsageError, match="write them where it ran"):
        again.write_svg("figures")
    assert not Path("figures").exists()


def test_a_frame_has_the_columns_of_the_csv_form() -> None:
    pytest.importorskip("pandas")
    sweep = ftlab.sweep(PLAN)
    frame = sweep.frame()
    of_csv = sweep.to_csv().splitlines()[0].split(",")
    varied = ["sweep.varied.ftl", "sweep.varied.extra", "sweep.varied.seed"]
    assert list(frame.columns) == [*of_csv, *varied]
    assert list(frame["sweep.row"]) == list(range(12))
    assert frame["write_amplification"].isna().sum() == len(sweep.failed)


def test_a_frame_has_a_column_for_each_option_that_varies() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    base = {"trace": "uniform:writes=2K", "capacity": "4MiB"}
    plan = {
        "base": base,
        "list": [
            {"seed": 1, "extra": "15%", "trace.writes": 1500, "verify": True},
            {"seed": 2**64 - 1, "extra": "0blocks", "trace.writes": "2K"},
        ],
    }
    table = ftlab.sweep(plan).frame("pyarrow")
    found = {
        name.removeprefix("sweep.varied."): (str(table.schema.field(name).type), table[name].to_pylist())
        for name in table.column_names
        if name.startswith("sweep.varied.")
    }
    assert found == {
        "seed": ("uint64", [1, 2**64 - 1]),
        "extra": ("string", ["15%", "0blocks"]),
        "trace.writes": ("string", ["1500", "2K"]),
        "verify": ("bool", [True, None]),
    }
    assert pyarrow.types.is_string(table.schema.field("sweep.varied").type)
    columns = ftlab.run(**base).frame().columns  # type: ignore[arg-type]
    assert not any(name.startswith("sweep.varied.") for name in columns)


def test_sweeps_with_equal_rows_are_equal(here: Path) -> None:
    sweep = ftlab.sweep(PLAN, out="rows.csv")
    untitled = PLAN.partition("[[claim]]")[0].replace("twelve", "another title")
    for again in (ftlab.sweep(untitled), ftlab.Sweep.read("rows.csv"), pickle.loads(pickle.dumps(sweep))):
        assert again == sweep
    assert ftlab.sweep(untitled.replace("seed = [1, 2]", "seed = [1, 3]")) != sweep
    assert sweep != list(sweep) and sweep[0] == list(sweep)[0]


def test_claims_have_verdicts_and_cells() -> None:
    (claim,) = ftlab.sweep(PLAN).claims
    assert (claim["id"], claim["verdict"]) == ("c", "falls short")
    (cell,) = claim["cells"]
    assert (cell["row"], cell["at_least"], cell["at_most"]) == (1, 3000, 3000)
    assert cell["found"] > 3000 and cell["deviation"] > 0


def test_the_plans_of_the_papers_can_be_run() -> None:
    plans = ftlab.papers.plans()
    sweep = ftlab.sweep(plans["LSB-fig11"], scale="quick")
    assert len(sweep) > 1 and sweep.claims and not sweep.failed


def test_a_plan_can_be_a_dict() -> None:
    numpy = pytest.importorskip("numpy")
    plan = {
        "title": 'of "dicts"\n\x7f',
        "base": {"trace": {"writes": "1K"}, "capacity": 4 << 20, "verify": True},
        "grid": [{"seed": numpy.arange(1, 3), "ftl": ("page", "block"), "extra": [0.2, "15%"]}],
        "claim": [{"id": "c", "says": "s", "figure": "erases.total", "rows": [{"seed": 1,
                   "ftl": "page", "extra": 0.2, "between": [0, 1e9]}]}],
    }
    sweep = ftlab.sweep(plan)
    assert (len(sweep), sweep.title) == (8, plan["title"])
    assert not sweep.failed and sweep.claims[0]["verdict"] == "holds"
    plan = {"base": {"trace": "oltp"}, "grid": [{"ftl": ["page", ftlab.Ftl]}]}
    with pytest.raises(TypeError, match=r"^grid\[0\]\.ftl\[1\] of the plan is the class Ftl; a plan is a"):
        ftlab.sweep(plan)
    for part, remedy in (("base", "in Python a dict"), ("grid", "in Python a list of dicts")):
        with pytest.raises(ftlab.UsageError, match=remedy):
            ftlab.sweep({"base": {"trace": "oltp"}, part: 3})
    with pytest.raises(TypeError, match=r"base\.limit of the plan is a value of type NoneType"):
        ftlab.sweep({"base": {"limit": None}})
    with pytest.raises(TypeError, match=r"grid\[0\]\.seed\[1\] of the plan is .* type bytes"):
        plan_text({"grid": [{"seed": [1, b"2"]}]})


@pytest.mark.parametrize(
    "plan, says",
    [
        ({"base": {"seed": 1}, "grid": [{"ftl": ["page"], "seed": [1, 2]}, {"extra": [7, 15]}]},
         r"grid\[1\]\.extra\[0\] of the plan: `7` is not a share"),
        ({"base": {"capacity": "4MiB", "trace": {"writs": "1K"}}}, r"base\.trace\S* of the plan: .*writs"),
        ({"title": 'a "b", [c', "base": {"sed": 3}}, r"base of the plan: .*`sed`"),
        ({"base": {"ftl": "pag"}}, r"base\.ftl of the plan: .*`pag`"),
        ({"base": {"trace": "oltp", "sed": 3}}, r"^base of the plan: an experiment has no key `sed`"),
        ({"grid": [{"ftl": ["page"], "sed": [3]}]}, r"^grid\[0\] of the plan: .*`sed`"),
        ({"bse": {"trace": "oltp"}}, r"^the plan: a plan has no key `bse`; did you mean `base`"),
        ({"base": {"trace": "oltp", "load": ["oltp"]}}, r"^base.load of the plan: give either TRACE or `load="),
    ],
)
def test_a_mistake_in_a_dict_has_its_place_in_the_dict(plan: dict[str, Any], says: str) -> None:
    with pytest.raises(ftlab.UsageError, match=says):
        ftlab.sweep(plan)


def test_a_table_in_a_plan_is_refused_with_what_to_do() -> None:
    requests = ftlab.Requests({"op": ["w"], "offset": [0], "bytes": [4096]})
    for table in [requests, requests.frame("pyarrow"), requests.frame("pandas"), requests.frame("polars")]:
        with pytest.raises(TypeError, match=r"base\.trace of the plan is a table .* names files: write"):
            ftlab.sweep({"base": {"trace": table}})


def test_bad_plans_give_the_sentences_of_the_command(here: Path, command: Command) -> None:
    for text in ["[base]\nsed = 3\n", "[base]\nftl = \"pag\"\n", "[grid]\nseed = [1]\n", "a = \n"]:
        Path("plan").write_text(text)
        said = command("sweep", "plan", "--out", "rows.csv").stderr.removeprefix("ftlab: ")
        for plan in (text, Path("plan"), "plan"):
            with pytest.raises(ftlab.UsageError) as refused:
                ftlab.sweep(plan, out="rows.csv")
            assert str(refused.value) == said.strip()
    with pytest.raises(ftlab.RunError, match="cannot read plan missing.toml"):
        ftlab.sweep("missing.toml")
    with pytest.raises(ftlab.UsageError, match="ends in .csv or .jsonl"):
        ftlab.sweep(PLAN, out="rows")
    with pytest.raises(ftlab.UsageError, match="`full` or `quick`"):
        ftlab.sweep(PLAN, scale="small")
    assert [file.name for file in here.iterdir()] == ["plan"]


def test_an_output_that_is_also_read_is_refused(here: Path) -> None:
    Path("t.csv").write_text("0,0,4096,W,0.5\n")
    with pytest.raises(ftlab.UsageError, match="the same file, which would be overwritten"):
        ftlab.sweep('[base]\ntrace = "t.csv"\n', out="t.csv")
    assert Path("t.csv").read_text() == "0,0,4096,W,0.5\n"


def test_the_progress_is_the_number_of_rows() -> None:
    seen: list[tuple[Any, ...]] = []
    ftlab.sweep(LONG, progress=lambda *args: seen.append(args))
    assert seen and {(run, stage, total) for run, stage, _, total in seen} == {(0, "measure", 12)}
    done = [done for _, _, done, _ in seen]
    assert done == sorted(done)


def test_a_sweep_of_failed_rows_alone_warns() -> None:
    plan = {"base": {"trace": "uniform:writes=9", "capacity": "4MiB"}, "grid": [{"extra": ["0%"]}]}
    with pytest.warns(UserWarning, match="the runs of all rows failed; the first: .* extra") as warning:
        assert len(ftlab.sweep(plan).failed) == 1
    assert warning[0].filename == __file__
    plan["grid"] = [{"extra": ["0%", "7%"]}]
    assert len(ftlab.sweep(plan).failed) == 1


# ---- interruption and continuation ---------------------------------------------------------------

ENDLESS = '[base]\ncapacity = "4MiB"\n[[grid]]\ntrace.writes = [100, "1000G", 101]\n'
ENDED = ENDLESS.replace("1000G", "102")

INTERRUPTED = """
import sys, ftlab
try:
    {client}
    ftlab.sweep("plan.toml", client, out="rows.jsonl", jobs={jobs})
except KeyboardInterrupt as stop:
    print("interrupted", stop, flush=True)
"""


def begun(journal: Path, rows: int, process: subprocess.Popen[str]) -> None:
    """Wait until a journal has this number of rows."""
    while not journal.exists() or journal.read_text().count("\n") < rows + 1:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def test_ctrl_c_keeps_what_is_done_and_the_command_continues(here: Path, command: Command) -> None:
    Path("plan.toml").write_text(ENDLESS)
    script = INTERRUPTED.format(client="client = None", jobs=2)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    begun(here / "rows.jsonl.journal", 2, process)
    process.send_signal(signal.SIGINT)
    said = "the rows that are done are in rows.jsonl.journal; the same call goes on there"
    assert process.communicate(timeout=20)[0] == f"interrupted {said}\n"
    # The command sees the same journal: the row that never ends is all that is missing.
    missing = command("sweep", "plan.toml", "--out", "rows.jsonl", "--merge")
    assert "1 of 3 rows are missing" in missing.stderr and "rows 1." in missing.stderr


def test_a_sweep_goes_back_and_forth_between_command_and_python(
    here: Path, command: Command, client: Any
) -> None:
    wanted = rows_of(command, PLAN)
    Path("plan.toml").write_text(PLAN)
    assert command("sweep", "plan.toml", "--out", "rows.jsonl", "--shard", "1/3").returncode == 0
    native = ftlab._native.NativePlan.read("plan.toml")
    begun_here = ftlab._native.NativeSweep(native, "rows.jsonl")
    left = begun_here.missing()
    assert len(left) == 8, "the shard was taken over"
    outcome = ftlab._native.run_order(native.orders(left)[0][1], cache_bytes=0, worker="w")
    begun_here.keep(left[0], outcome)
    with pytest.raises(ftlab.RunError, match="another sweep is writing"):
        ftlab.sweep("plan.toml", out="rows.jsonl")
    begun_here.close()
    begun_again = ftlab._native.NativeSweep(native, "rows.jsonl")
    assert begun_again.missing() == left[1:]
    begun_again.close()
    ftlab.sweep("plan.toml", client, out="rows.jsonl")
    assert Path("rows.jsonl").read_text() == wanted
    assert not Path("rows.jsonl.journal").exists()


FLEET = """
[base]
each_volume = true
fit = "compact"
[[grid]]
trace = ["one.csv", "two.csv"]
ftl = ["sepgc", "sepbit"]
"""


def test_rows_of_a_fleet_that_are_read_again_are_the_same_fleet(here: Path, client: Any) -> None:
    for name, seed in [("one.csv", 1), ("two.csv", 2)]:
        requests = ftlab.trace.generate("uniform:writes=4K", capacity="2MiB", seed=seed)
        columns = requests.to_pandas().assign(device=lambda it: it.index % 2)
        with open(name, "w", encoding="ascii") as file:
            # The form of Alibaba: device, operation, offset, length, time in µs.
            for row in columns.itertuples():
                file.write(f"{row.device},W,{row.offset},{row.bytes},{row.Index + 10**15}\n")
    for out in ("rows.csv", "rows.jsonl"):
        fleet = ftlab.sweep(FLEET, out=out)
        assert len(fleet) == 8 and [row["sweep"]["row"] for row in fleet.failed] == [1, 3, 5, 7]
        again = ftlab.Sweep.read(out)
        assert str(again) == str(fleet)
        assert [one.spec for one in again.figures] == [one.spec for one in fleet.figures]
    on_cluster = ftlab.sweep(FLEET, client, traces=here)
    assert on_cluster.to_jsonl() == ftlab.sweep(FLEET, traces=here).to_jsonl()
    failed = fleet.failed[1]
    assert (failed["run"], failed["trace"]) == ({"volume": "1"}, {"name": "one.csv"})
    frame = fleet.frame()
    assert list(frame["run.volume"]) == ["0", "0", "1", "1"] * 2
    assert list(frame["trace.name"]) == ["one.csv"] * 4 + ["two.csv"] * 4


def test_a_sweep_without_a_file_names_none() -> None:
    plan = '[base]\ntrace.writes = "1K"\ncapacity = "4MiB"\n[[grid]]\nseed = [1, 2]\n'
    assert "sweep: 2 rows\n" in str(ftlab.sweep(plan))
    assert "ftlab-sweep-" not in str(ftlab.sweep(plan))


def test_rows_of_an_unfinished_sweep_say_how_many_there_are(here: Path) -> None:
    rows = ftlab.sweep(PLAN, out="rows.jsonl")
    lines = rows.to_jsonl().splitlines(keepends=True)
    Path("some.jsonl").write_text("".join(lines[1:5]))
    some = ftlab.Sweep.read("some.jsonl", PLAN)
    assert "twelve: 4 of 12 rows in some.jsonl, of which 2 failed\n" in str(some)
    assert str(pickle.loads(pickle.dumps(some))) == str(some)
    assert "sweep: 4 rows in some.jsonl" in str(ftlab.Sweep.read("some.jsonl"))
    assert str(ftlab.Sweep.read("rows.jsonl", PLAN)) == str(rows)


def test_what_cannot_begin_leaves_no_journal(here: Path, command: Command) -> None:
    Path("plan.toml").write_text('[base]\npolicy = "mine"\ncapacity = "4MiB"\n')
    for options, sentence in [
        ({}, "no policy is called `mine`"),
        ({"policies": {"other": ftlab.policy.Policy}}, "no policy is called `mine`; `policies` has other"),
        ({"policies": {"mine": 5}}, "each row gets its own"),
        ({"policies": [ftlab.policy.Policy]}, "policies={'mine': MyPolicy}"),
        ({"policies": {"mine": ftlab.policy.Policy}, "jobs": 0}, "jobs: `0` is too few"),
    ]:
        with pytest.raises((ftlab.UsageError, TypeError), match=sentence):
            ftlab.sweep("plan.toml", out="rows.csv", **options)  # type: ignore[arg-type]
    refused = command("sweep", "plan.toml", "--out", "rows.csv")
    assert refused.returncode == 2 and "no policy is called `mine`" in refused.stderr
    assert "rows.csv.journal" not in refused.stderr
    assert [file.name for file in here.iterdir()] == ["plan.toml"]


def test_a_merge_that_is_repeated_says_that_nothing_is_left(here: Path, command: Command) -> None:
    Path("plan.toml").write_text(PLAN)
    merge = ("sweep", "plan.toml", "--out", "rows.csv", "--merge")
    early = command(*merge)
    assert early.returncode == 1 and "run the shards of the plan first" in early.stderr
    assert command("sweep", "plan.toml", "--out", "rows.csv", "--shard", "1/1").returncode == 0
    assert command(*merge).returncode == 0
    rows = Path("rows.csv").read_bytes()
    again = command(*merge)
    assert again.returncode == 1 and "rows are missing" not in again.stderr
    assert "so there is nothing to merge" in again.stderr and "stays as it is" in again.stderr
    assert Path("rows.csv").read_bytes() == rows


REFUSED_PLAN = '[base]\ncapacity = "16GiB"\nprecondition = "none"\ntrace.writes = "1K"\n[[grid]]\n' \
    'chip = ["slc-fast2010:page=4KiB", "slc-fast2010:page=16KiB"]\n'
"""The first row needs more memory than the other one."""


def limit_between() -> int:
    """A limit that is enough for the second row of the plan alone."""
    needs = []
    for row in ftlab.sweep(REFUSED_PLAN, memory_limit="8MiB").failed:
        words = row["sweep"]["error"]["message"].partition('`memory_limit="')[2]
        needs.append(int(words.partition("MiB")[0]))
    assert needs[0] > needs[1] + 1
    return (needs[1] << 20) + (needs[0] - needs[1] << 19)


@pytest.mark.filterwarnings("ignore:the runs of all rows failed")
@pytest.mark.parametrize("place", ["here", "command", "cluster"])
def test_a_row_that_was_refused_for_lack_of_memory_is_run_again(
    here: Path, command: Command, client: Any, place: str
) -> None:
    wanted = ftlab.sweep(REFUSED_PLAN)
    limit = limit_between()
    clients = (client,) if place == "cluster" else ()
    if place == "command":
        Path("plan.toml").write_text(REFUSED_PLAN)
        ran = command("sweep", "plan.toml", "--out", "rows.csv", "--memory-limit", str(limit))
        refused = "rows refused for lack of memory, or lost with their workers: 1; "
        assert ran.returncode == 0 and refused in ran.stdout
        (failed,) = ftlab.Sweep.read("rows.csv").failed
    else:
        sweep = ftlab.sweep(REFUSED_PLAN, *clients, out="rows.csv", memory_limit=limit)
        (failed,) = sweep.failed
        assert "rows.csv.journal stays, and the same sweep runs only these again" in str(sweep)
    message = failed["sweep"]["error"]["message"]
    assert failed["sweep"]["row"] == 0 and "; the limit is " in message
    assert ("on worker tcp://127.0.0.1:" in message) == (place == "cluster")
    # The refused row alone is run again, with enough memory.
    native = ftlab._native.NativePlan.parse(REFUSED_PLAN)
    kept = ftlab._native.NativeSweep(native, "rows.csv")
    assert kept.missing() == [0]
    kept.close()
    if place == "command":
        assert command("sweep", "plan.toml", "--out", "rows.csv").returncode == 0
    else:
        assert not ftlab.sweep(REFUSED_PLAN, *clients, out="rows.csv").failed
    assert Path("rows.csv").read_text() == wanted.to_csv()
    assert not Path("rows.csv.journal").exists()


def full_journal(plan: str) -> Path:
    """The journal of a sweep that has all its rows, but has not ended."""
    running = ftlab._native.NativeSweep(ftlab._native.NativePlan.parse(plan), "rows.jsonl")
    running.run()
    running.close()
    return Path("rows.jsonl.journal")


def test_a_damaged_line_of_a_journal_costs_its_row_and_is_named(here: Path) -> None:
    wanted = ftlab.sweep(PLAN).to_jsonl()
    journal = full_journal(PLAN)
    lines = journal.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace("schema", "sch\0ma")
    journal.write_text("".join(lines))
    warned = r"rows\.jsonl\.journal:3: this line is damaged and does not count"
    with pytest.warns(UserWarning, match=warned):
        assert len(ftlab.Sweep.read(journal)) == len(lines) - 2
    with pytest.warns(UserWarning, match=warned) as warning:
        native = ftlab._native.NativeSweep(ftlab._native.NativePlan.parse(PLAN), "rows.jsonl")
        assert native.missing() == [int(lines[2].split()[1])]
        native.close()
        assert ftlab.sweep(PLAN, out="rows.jsonl").to_jsonl() == wanted
    assert warning[0].filename == __file__


def test_a_journal_that_was_never_begun_is_begun_anew(here: Path) -> None:
    wanted = ftlab.sweep(PLAN).to_jsonl()
    journal = full_journal(PLAN)
    head = journal.read_bytes().splitlines(keepends=True)[0]
    for length in (0, 10, len(head) - 1):
        journal.write_bytes(head[:length])
        assert ftlab.sweep(PLAN, out="rows.jsonl").to_jsonl() == wanted and not journal.exists()
    journal.write_text("something else")
    with pytest.raises(ftlab.UsageError, match="or its first line is damaged"):
        ftlab.sweep(PLAN, out="rows.jsonl")


def limits_and_errors(plan: str, *client: Any) -> tuple[list[int | None], str]:
    """Exit codes of a plan of one row under small limits, and the last message."""
    codes, message = [], ""
    for limit in ("9MiB", "10MiB", "40MiB"):
        (row,) = ftlab.sweep(plan, *client, memory_limit=limit)
        error = row["sweep"]["error"]
        codes.append(None if error is None else error["exit_code"])
        message = message if error is None else error["message"]
    return codes, message


@pytest.mark.filterwarnings("ignore:the runs of all rows failed")
def test_requests_get_only_the_memory_that_they_need(here: Path, client: Any) -> None:
    workload = '[base]\ntrace.writes = "1K"\ncapacity = "4MiB"\n'
    Path("t.csv").write_text("time_ns,device,rwbs,offset,bytes\n" + "0,0,W,0,4096\n" * 20_000)
    small = f'[base]\ntrace = "{here}/t.csv"\n'
    for clients in ((), (client,)):
        assert limits_and_errors(workload, *clients)[0] == [None] * 3
        assert limits_and_errors(small, *clients)[0] == [None] * 3
    # Requests of a larger trace want more than half of such a limit, and the remedy helps.
    with open("t.csv", "a", encoding="ascii") as file:
        file.write("0,0,W,0,4096\n" * 300_000)
    codes, message = limits_and_errors(small)
    assert codes == [2, 2, None]
    assert "the limit is 10.00 MiB, of which 5.00 MiB are for cached requests" in message
    remedy = message.partition('`memory_limit="')[2].partition('"')[0]
    assert "Allow more" in message and not ftlab.sweep(small, memory_limit=remedy).failed
    assert limits_and_errors(small, client)[0] == codes


def test_a_cluster_without_workers_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_dask, "IDLE_S", 0.2)
    options = {"threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=0, host="127.0.0.1", **options) as cluster:
        with distributed.Client(cluster, set_as_default=False) as alone:
            later = threading.Timer(1.0, cluster.scale, [1])
            later.start()
            with pytest.warns(UserWarning, match="has no workers, so the sweep waits") as said:
                rows = ftlab.sweep(PLAN, alone)
            later.join()
    assert len(said) == 1 and said[0].filename == __file__
    assert rows.to_jsonl() == ftlab.sweep(PLAN).to_jsonl()


def test_a_cluster_with_paused_workers_alone_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_dask, "IDLE_S", 0.2)

    def become(status: str, dask_worker: Any) -> None:
        dask_worker.status = distributed.Status[status]

    # Without a limit no worker looks at its memory and goes on by itself.
    options = {"threads_per_worker": 1, "processes": True, "memory_limit": 0, "dashboard_address": ":0"}
    with distributed.LocalCluster(n_workers=1, host="127.0.0.1", **options) as cluster:
        with distributed.Client(cluster, set_as_default=False) as alone:
            alone.run(become, "paused")
            later = threading.Timer(2.0, alone.run, [become, "running"])
            later.start()
            with pytest.warns(UserWarning, match="has only workers that are paused") as said:
                rows = ftlab.sweep(PLAN, alone)
            later.join()
    assert len(said) == 1 and "larger --memory-limit" in str(said[0].message)
    assert rows.to_jsonl() == ftlab.sweep(PLAN).to_jsonl()


def test_the_journal_of_another_plan_is_refused(here: Path) -> None:
    native = ftlab._native.NativePlan.parse(PLAN)
    running = ftlab._native.NativeSweep(native, "rows.csv")
    running.keep_refused(0, "lost")
    running.close()
    with pytest.raises(ftlab.UsageError, match="was begun with other rows: by another plan"):
        ftlab.sweep(LONG, out="rows.csv")
    with pytest.raises(ftlab.RunError, match="there is no trace `absent.csv`.* relative to `traces=`"):
        ftlab.sweep({"base": {"trace": "absent.csv"}}, out="rows.csv")


def test_keys_are_the_same_in_every_process() -> None:
    code = "import ftlab; print(ftlab._native.NativePlan.parse({plan!r}).orders([0, 5]))"
    orders = ftlab._native.NativePlan.parse(PLAN).orders([0, 5])
    ran = subprocess.run(
        [sys.executable, "-c", code.format(plan=PLAN)], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == str(orders)
    (key, _), (other, _) = orders
    assert len(key) == 64 and key != other


# ---- on a cluster --------------------------------------------------------------------------------


def test_rows_of_a_cluster_are_those_of_one_process(
    here: Path, command: Command, client: Any
) -> None:
    wanted = rows_of(command, PLAN)
    sweep = ftlab.sweep(PLAN, client)
    assert sweep.to_jsonl() == wanted
    assert len(sweep.failed) == 6


def test_a_killed_worker_costs_only_its_running_rows(
    here: Path, command: Command, client: Any
) -> None:
    wanted = rows_of(command, LONG)
    Path("plan.toml").write_text(LONG)
    journal = here / "rows.jsonl.journal"
    killed: list[int] = []

    def kill() -> None:
        while not journal.exists() or journal.read_text().count("\n") < 3:
            time.sleep(0.01)
        busy = [worker for worker, keys in client.processing().items() if keys]
        pids = client.run(os.getpid, workers=busy[:1])
        killed.extend(pids.values())
        os.kill(killed[0], signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    sweep = ftlab.sweep("plan.toml", client, out="rows.jsonl")
    killer.join()
    assert len(killed) == 1
    assert Path("rows.jsonl").read_text() == wanted == sweep.to_jsonl()
    assert not sweep.failed and not journal.exists()


def test_rows_with_the_same_options_are_one_task(client: Any) -> None:
    plan = '[base]\ntrace.writes = "1K"\ncapacity = "4MiB"\n[[grid]]\nseed = [1, 2, 1, 1]\n'
    sweep = ftlab.sweep(plan, client)
    assert sweep.to_jsonl() == ftlab.sweep(plan).to_jsonl()
    assert [row["sweep"]["row"] for row in sweep] == [0, 1, 2, 3]


def test_ctrl_c_cancels_the_tasks_and_keeps_what_is_done(here: Path, client: Any) -> None:
    Path("plan.toml").write_text(ENDLESS)
    address = client.scheduler.address
    connect = f"import distributed; client = distributed.Client({address!r})"
    script = INTERRUPTED.format(client=connect, jobs=None)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    begun(here / "rows.jsonl.journal", 2, process)
    process.send_signal(signal.SIGINT)
    assert "interrupted" in process.communicate(timeout=30)[0]
    native = ftlab._native.NativePlan.read("plan.toml")
    kept = ftlab._native.NativeSweep(native, "rows.jsonl")
    assert kept.missing() == [1]
    kept.close()
    # The run that never ends has left its worker, too.
    end = time.monotonic() + 20
    while any(client.run(executing).values()):
        assert time.monotonic() < end, "a cancelled run still goes on"
        time.sleep(0.1)


def executing(dask_worker: Any) -> int:
    """The number of runs that a worker is working on."""
    return len([key for key in dask_worker.active_threads.values() if "ftlab" in str(key)])


def test_rows_that_kill_their_workers_fail_and_only_they_run_again(
    here: Path, client: Any
) -> None:
    """A row that waits beside one of them when it is tried for the second time is not lost."""
    seeds = list(range(1, 13))
    plan = f'[base]\ntrace.writes = "1K"\ncapacity = "4MiB"\n[[grid]]\nseed = {seeds}\n'
    bad, good = [2, 5, 6], [0, 1, 3, 4, 7, 8, 9, 10, 11]
    wanted = ftlab.sweep(plan).to_jsonl().splitlines()
    orders = ftlab._native.NativePlan.parse(plan).orders(bad)
    client.register_plugin(Deadly([order for _, order in orders]))
    client.run_on_scheduler(allow_failures, 0)
    try:
        sweep = ftlab.sweep(plan, client, out="rows.jsonl")
    finally:
        client.run_on_scheduler(allow_failures, 3)
        client.unregister_worker_plugin("deadly")
        # Workers without the plugin; the scheduler still knows all tasks.
        client.restart_workers(list(client.scheduler_info()["workers"]))
    rows = sweep.to_jsonl().splitlines()
    assert [rows[row] for row in good] == [wanted[row] for row in good]
    assert [row["sweep"]["row"] for row in sweep.failed] == bad
    for failed in sweep.failed:
        assert "the worker that ran this row died each time" in failed["sweep"]["error"]["message"]
    assert Path("rows.jsonl").read_text() == sweep.to_jsonl()
    assert {file.name for file in here.iterdir()} == {"rows.jsonl", "rows.jsonl.journal"}
    kept = ftlab._native.NativeSweep(ftlab._native.NativePlan.parse(plan), "rows.jsonl")
    assert kept.missing() == bad
    kept.close()
    assert ftlab.sweep(plan, client, out="rows.jsonl").to_jsonl().splitlines() == wanted
    assert {file.name for file in here.iterdir()} == {"rows.jsonl"}


def allow_failures(number: int, dask_scheduler: Any) -> None:
    """How often workers may die of a task before the scheduler gives it up."""
    dask_scheduler.allowed_failures = number


class Deadly(distributed.WorkerPlugin):
    """Makes workers die of some orders, as of a lack of memory."""

    name = "deadly"

    def __init__(self, deadly: list[str]) -> None:
        self.deadly = deadly

    def setup(self, worker: Any) -> None:
        import ftlab._dask

        real, deadly = ftlab._native.run_order, self.deadly

        class Native:
            @staticmethod
            def run_order(order: str, **options: Any) -> str:
                if order in deadly:
                    os._exit(1)
                return real(order, **options)

        ftlab._dask._native = Native  # type: ignore[assignment]


WITHOUT_SCHEDULER = """
import sys, distributed, ftlab
from ftlab import _dask
_dask.LOST_S = float(sys.argv[2])
client = distributed.Client(sys.argv[1])
try:
    ftlab.sweep("plan.toml", client, out="rows.jsonl")
except ftlab.RunError as error:
    print(error, flush=True)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


QUIET: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}


@contextmanager
def begun_scheduler(here: Path, **options: Any) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address and the process of a scheduler, which is killed in the end."""
    listening = here / "scheduler.json"
    words = [sys.executable, "-m", "distributed.cli.dask_scheduler", "--host", "127.0.0.1"]
    words += ["--port", "0", "--no-dashboard", "--scheduler-file", str(listening)]
    process = subprocess.Popen(words, **QUIET, **options)
    try:
        while not listening.exists():
            assert process.poll() is None
            time.sleep(0.1)
        yield json.loads(listening.read_text())["address"], process
    finally:
        process.kill()
        process.wait()


@contextmanager
def begun_worker(address: str, **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The process of a worker, which is killed in the end."""
    words = [sys.executable, "-m", "distributed.cli.dask_worker", address, "--no-dashboard"]
    process = subprocess.Popen([*words, "--nthreads", "2", "--no-nanny"], **QUIET, **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def scheduler(here: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """The address and the process of a scheduler with a worker."""
    with begun_scheduler(here) as (address, process), begun_worker(address):
        yield address, process


@pytest.fixture
def without_ftlab(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """How to begin a process that cannot import ftlab."""
    folder = tmp_path_factory.mktemp("without")
    (folder / "ftlab.py").write_text("raise ModuleNotFoundError(\"No module named 'ftlab'\")\n")
    return {"env": {**os.environ, "PYTHONPATH": str(folder)}}


@pytest.mark.parametrize("send_traces", [False, True])
def test_workers_without_ftlab_are_named(
    here: Path, without_ftlab: dict[str, Any], send_traces: bool
) -> None:
    Path("t.csv").write_text("time_ns,device,rwbs,offset,bytes\n0,0,W,0,4096\n")
    plan = f'[base]\ntrace = "{here}/t.csv"\nfit = "compact"\n'
    with (
        begun_scheduler(here) as (address, _),
        begun_worker(address),
        begun_worker(address, **without_ftlab),
        distributed.Client(address, set_as_default=False) as alone,
    ):
        alone.wait_for_workers(2)
        able = alone.run(pkgutil.resolve_name, "ftlab:__version__", on_error="ignore")
        (unable,) = alone.nthreads().keys() - able.keys()
        with pytest.raises(ftlab.RunError) as refused:
            ftlab.sweep(plan, alone, send_traces=send_traces)
        assert str(refused.value) == (
            f"the worker {unable} of the cluster cannot import ftlab (No module named 'ftlab'); "
            f"install ftlab {ftlab.__version__} there, as on the client"
        )
        assert len(alone.nthreads()) == 2, "nothing of ftlab was sent"


@pytest.mark.filterwarnings("ignore:the cluster at .* has no workers")
def test_the_first_worker_of_a_cluster_is_asked_before_it_gets_a_run(
    here: Path, without_ftlab: dict[str, Any]
) -> None:
    refused: list[str] = []

    def swept(client: Any) -> None:
        try:
            ftlab.sweep(PLAN, client)
        except ftlab.RunError as error:
            refused.append(str(error))

    with (
        begun_scheduler(here) as (address, _),
        distributed.Client(address, set_as_default=False) as alone,
    ):
        sweep = threading.Thread(target=swept, args=[alone], daemon=True)
        sweep.start()
        with begun_worker(address, **without_ftlab):
            sweep.join(timeout=45)
            assert not sweep.is_alive() and "cannot import ftlab" in refused[0]


def test_a_scheduler_without_ftlab_is_named(here: Path, without_ftlab: dict[str, Any]) -> None:
    with (
        begun_scheduler(here, **without_ftlab) as (address, _),
        distributed.Client(address, set_as_default=False) as alone,
        pytest.raises(ftlab.RunError, match="the scheduler of the cluster cannot import ftlab"),
    ):
        ftlab.sweep(PLAN, alone)


def test_options_of_runs_on_this_machine_are_refused_beside_a_client(client: Any) -> None:
    for options in ({"jobs": 2}, {"memory": "1GiB"}):
        (name,) = options
        with pytest.raises(ftlab.UsageError, match=f"`{name}` is for runs on this machine"):
            ftlab.sweep(PLAN, client, **options)  # type: ignore[arg-type]


@pytest.mark.parametrize("interrupt", [False, True])
def test_a_scheduler_that_dies_ends_the_sweep_and_keeps_what_is_done(
    here: Path, client: Any, scheduler: tuple[str, subprocess.Popen[bytes]], interrupt: bool
) -> None:
    Path("plan.toml").write_text(ENDLESS)
    address, process = scheduler
    words = [sys.executable, "-c", WITHOUT_SCHEDULER, address, "1000" if interrupt else "2"]
    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    sweep = subprocess.Popen(words, **pipes)
    begun(here / "rows.jsonl.journal", 2, sweep)
    process.kill()
    process.wait()
    if interrupt:
        time.sleep(2)
        sweep.send_signal(signal.SIGINT)
    said, errors = sweep.communicate(timeout=60)
    assert sweep.returncode == 0, errors
    wanted = f"the client lost the scheduler of the cluster ({address})"
    assert said.startswith("interrupted" if interrupt else wanted), errors
    kept = ftlab._native.NativeSweep(ftlab._native.NativePlan.read("plan.toml"), "rows.jsonl")
    assert kept.missing() == [1]
    kept.close()


@pytest.mark.parametrize("status", ["closing", "closed"])
def test_a_client_that_gave_its_scheduler_up_blames_no_run(status: str) -> None:
    class GaveUp:
        pass

    client: Any = GaveUp()
    client.status = status
    tasks = _dask._Tasks(client, [("key", "order")], [0], None, (None, 0))
    for _ in range(_dask.TRIES_MAX):
        with pytest.raises(ConnectionError, match="no scheduler any more"):
            tasks._submit("key", "ftlab-key")


def test_a_client_that_cannot_wait_is_refused(here: Path, client: Any) -> None:
    import asyncio

    async def swept() -> None:
        address = client.scheduler.address
        async with distributed.Client(address, asynchronous=True) as waiting:
            ftlab.sweep(PLAN, waiting, out="rows.csv")

    with pytest.raises(ftlab.UsageError, match="asyncio.to_thread"):
        asyncio.run(swept())
    closed = distributed.Client(client.scheduler.address, set_as_default=False)
    closed.close()
    with pytest.raises(ftlab.UsageError, match="the client is closed"):
        ftlab.sweep(PLAN, closed, out="rows.csv")
    assert not list(here.iterdir())


def test_each_sweep_has_its_own_limit_of_memory() -> None:
    ((_, order),) = ftlab._native.NativePlan.parse('[base]\ncapacity = "1GiB"\n').orders([0])
    for limit, fails in [("1GiB", False), ("4MiB", True), (4 << 20, True), ("1GiB", False)]:
        outcome = json.loads(ftlab._native.run_order(order, cache_bytes=0, worker="w", memory_limit=limit))
        error = outcome.get("sweep", {}).get("error")
        assert (error is not None) == fails
        assert error is None or "the limit is 4.00 MiB" in error["message"]


def test_another_version_on_a_worker_is_refused(client: Any) -> None:
    ((_, order),) = ftlab._native.NativePlan.parse(PLAN).orders([0])
    parts = json.loads(order)
    parts[0] = "9.9"
    with pytest.raises(ftlab.UsageError, match="client has ftlab 9.9 and the worker has ftlab"):
        client.submit(ftlab._native.run_order, json.dumps(parts), cache_bytes=0, worker="w").result()


def test_another_build_of_the_same_version_on_a_worker_is_refused(client: Any) -> None:
    ((_, order),) = ftlab._native.NativePlan.parse(PLAN).orders([0])
    parts = json.loads(order)
    parts[1] = "0123456789abcdef"
    with pytest.raises(ftlab.UsageError, match="different builds of ftlab .*install the same wheel"):
        client.submit(ftlab._native.run_order, json.dumps(parts), cache_bytes=0, worker="w").result()


TRACE_PLAN = """
[base]
warmup = 0
capacity = "4MiB"
[[grid]]
trace = ["{a}", "{b}", "{bad}", "{missing}"]
ftl = ["page", "block"]
"""


def trace_plan(folder: Path) -> str:
    """A plan over trace files in a folder; one has a bad line, one does not exist."""
    (folder / "a.spc").write_text("0,0,4096,W,0.0\n0,16,4096,W,0.5\n")
    (folder / "b.spc").write_text("0,8,4096,W,0.0\n0,32,4096,R,0.5\n")
    (folder / "bad.spc").write_text("0,8,4096,W,0.0\nnonsense\n")
    names = {name: str(folder / f"{name}.spc") for name in ("a", "b", "bad", "missing")}
    return TRACE_PLAN.format(**names)


def test_traces_are_read_from_shared_paths(here: Path, command: Command, client: Any) -> None:
    plan = trace_plan(here)
    assert ftlab.sweep(plan, client).to_jsonl() == rows_of(command, plan)


def test_traces_can_be_sent(
    here: Path, command: Command, client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = here / "only here"
    folder.mkdir()
    plan = trace_plan(folder)
    wanted = rows_of(command, plan)

    class Moved(_dask.SentTraces):
        """Takes the files away as soon as they are read, so that no worker finds them."""

        def __init__(self, traces: Any) -> None:
            super().__init__(traces)
            folder.rename(here / "elsewhere")

    monkeypatch.setattr(_dask, "SentTraces", Moved)
    assert ftlab.sweep(plan, client, send_traces=True).to_jsonl() == wanted
    left = client.run(traces_left)
    assert not any(left.values()), left


def traces_left(dask_worker: Any) -> list[str]:
    """The folders of traces that a worker has not deleted."""
    return [name for name in os.listdir(dask_worker.local_directory) if "ftlab-traces" in name]


def test_a_trace_that_differs_on_a_worker_is_refused(here: Path, client: Any) -> None:
    Path("t.spc").write_text("0,0,4096,W,0.0\n")
    plan = f'[base]\nwarmup = 0\ntrace = "{here}/t.spc"\n'
    native = ftlab._native.NativePlan.parse(plan)
    ((_, order),) = native.orders([0])
    Path("t.spc").write_text("0,8,4096,W,0.0\n")
    with pytest.raises(ftlab.UsageError, match="has other contents on worker w; give it a path"):
        client.submit(ftlab._native.run_order, order, cache_bytes=0, worker="w", pure=False).result()
    Path("t.spc").unlink()
    with pytest.raises(ftlab.UsageError, match="t.spc is missing on worker w; "):
        client.submit(ftlab._native.run_order, order, cache_bytes=0, worker="w", pure=False).result()


def test_a_sweep_that_ends_early_says_where_its_rows_are(here: Path, client: Any) -> None:
    # A worker has a folder of its own, so it does not find a relative name.
    Path("t.spc").write_text("0,0,4096,W,0.0\n")
    plan = {"base": {"warmup": 0, "trace": "t.spc"}}
    kept = "t.spc is missing on worker .*; rows that are done, if any, are in rows.csv.journal; the same"
    with pytest.raises(ftlab.UsageError, match=kept):
        ftlab.sweep(plan, client, out="rows.csv")
    with pytest.raises(ftlab.UsageError, match="t.spc is missing") as without:
        ftlab.sweep(plan, client)
    assert "journal" not in str(without.value)


def test_rows_stay_if_no_trace_exists_where_the_cluster_is_asked(here: Path, client: Any) -> None:
    Path("rows.csv").write_text("rows of before\n")
    with pytest.raises(ftlab.RunError, match="there is no trace `away/t.spc`"):
        ftlab.sweep({"base": {"trace": "t.spc"}}, client, traces="away", out="rows.csv")
    assert os.listdir() == ["rows.csv"] and Path("rows.csv").read_text() == "rows of before\n"


def test_a_sweep_has_frames_and_figures(here: Path) -> None:
    pandas = pytest.importorskip("pandas")
    report = here / "page.html"
    swept = ftlab.sweep(PLAN, report=report)
    frame = swept.frame()
    assert list(frame["sweep.row"]) == list(range(12))
    (here / "rows.csv").write_text(swept.to_csv())
    assert set(pandas.read_csv(here / "rows.csv").columns) < set(frame.columns)
    assert frame["write_amplification"].isna().sum() == len(swept.failed) > 0
    assert swept.frame("pyarrow").num_rows == 12
    page = report.read_text()
    assert len(swept.figures) >= 2
    for figure in swept.figures:
        assert figure.spec_json.replace("<", "\\u003c") in page, figure.id
