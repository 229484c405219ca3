"""What callers give: misspelt options and values of another type get a sentence of ftlab's own."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from conftest import ROOT
from ftlab.given import in_python

WORKLOAD = "uniform:writes=2K"
DEVICE: dict[str, Any] = {"capacity": "16MiB"}
PLAN = {"base": {"trace": WORKLOAD, **DEVICE}, "grid": [{"ftl": ["page", "block"]}]}
TABLE = {"op": np.ones(9, int), "offset": np.zeros(9, int), "bytes": np.full(9, 4096)}


@pytest.fixture(scope="module")
def result() -> ftlab.Result:
    return ftlab.run(WORKLOAD, **DEVICE)


def refused(sentence: str, call: Callable[[], object], *kinds: type[Exception]) -> None:
    """A call raises one of these with a sentence."""
    with pytest.raises(kinds or (ftlab.UsageError,), match=sentence) as why:
        call()
    assert type(why.value) in (kinds or (ftlab.UsageError,)), why.value


def test_misspelt_options_are_named_with_the_right_one(tmp_path: Path) -> None:
    functions: list[tuple[Any, str, str]] = [
        (ftlab.run, "progres", "progress"),
        (ftlab.run, "capcity", "capacity"),
        (ftlab.compare, "job", "jobs"),
        (ftlab.life, "ftls", "ftl"),
        (ftlab.film, "memory_limits", "memory_limit"),
        (ftlab.advise, "depth", "depths"),
        (ftlab.sweep, "polices", "policies"),
        (ftlab.Sweep.read, "trace", "traces"),
        (ftlab.trace.open, "limt", "limit"),
        (ftlab.trace.generate, "capactiy", "capacity"),
        (ftlab.trace.info, "pages", "page"),
        (ftlab.check, "sed", "seed"),
        (ftlab.Requests, "nam", "name"),
    ]
    for function, option, meant in functions:
        sentence = f"there is no option `{option}`; did you mean `{meant}`"
        refused(sentence, lambda: function(WORKLOAD, **{option: 1}), TypeError)
    sweep: Any = ftlab.sweep
    described = r"there is no option `xyzzy`; `help\(ftlab.{}\)` describes them all$"
    refused(described.format("sweep"), lambda: sweep(PLAN, xyzzy=1), TypeError)
    run: Any = ftlab.run
    refused(described.format("run"), lambda: run(WORKLOAD, xyzzy=1), TypeError)
    info: Any = ftlab.trace.info
    refused(described.format("trace.info"), lambda: info(WORKLOAD, xyzzy=1), TypeError)
    requests: Any = ftlab.Requests
    refused(described.format("Requests"), lambda: requests({}, xyzzy=1), TypeError)


def test_a_wrong_value_is_named_with_its_option() -> None:
    wrong: dict[str, Any] = {"seed": "x", "capacity": "64 miB", "extra": "20 blocks", "limit": "k"}
    for option, value in wrong.items():
        refused(f"^`{option}`: ", lambda: ftlab.run(WORKLOAD, **{option: value}))


def test_several_ftls_are_compared() -> None:
    run: Any = ftlab.run
    sentence = r"^a run has one FTL; several are compared, as in ftlab\.compare\(trace, \['page'"
    for several in (["page", "fast"], ("page",), {"page": 1}):
        refused(sentence, lambda: run(WORKLOAD, ftl=several, **DEVICE), TypeError)
    refused(sentence, lambda: run(WORKLOAD, ftl="page,fast", **DEVICE))
    colon = r"^parameters of an FTL follow a colon: 'dftl:cmt=64KiB,batch=1'$"
    refused(colon, lambda: run(WORKLOAD, ftl="dftl,cmt=64KiB,batch=1", **DEVICE))
    assert ftlab.run(WORKLOAD, ftl="page:victim=greedy", limit=9, **DEVICE).ftl == "page"


def test_numbers_of_an_advice_may_be_texts(tmp_path: Path) -> None:
    load: dict[str, Any] = {"trace": "uniform:writes=2K", "capacity": "16MiB"}
    as_texts = ftlab.advise(**load, target="2", depths=np.int64(8))
    assert as_texts.to_json() == ftlab.advise(**load, target=2, depths=8).to_json()
    assert ftlab.advise(**load, target=2.0, depths=["8"]).to_json() == as_texts.to_json()
    for options, sentence in [
        ({"target": "2x"}, "`target` takes a number, such as 1.5, and not '2x'"),
        ({"target": None}, "`target` takes a number"),
        ({"depths": "1,8"}, "`depths` takes a whole number, such as 32, and not '1,8'"),
        ({"depths": float("inf")}, "`depths` takes a whole number, such as 32, and not inf"),
        ({"depths": [1, 8.5]}, "`depths` takes a whole number, such as 32, and not 8.5"),
    ]:
        call: Any = ftlab.advise
        refused(sentence, lambda: call(**load, **options))


def test_what_is_given_twice_or_by_its_place_is_named() -> None:
    for call in (ftlab.compare, ftlab.life):
        twice: Any = call
        refused("two results are called `page`; give it once", lambda: twice(WORKLOAD, ["page"] * 2))
    run: Any = ftlab.run
    refused("only trace can do without a name; name the others", lambda: run(WORKLOAD, "page"), TypeError)
    with pytest.raises(TypeError, match="only trace and ftl can do without a name; name"):
        ftlab.compare(WORKLOAD, ["page"], "full")  # type: ignore[misc]


def test_options_of_sweeps_are_named_as_such(tmp_path: Path) -> None:
    path = written(tmp_path)
    functions: list[Any] = [ftlab.run, ftlab.film, ftlab.advise]
    for function in functions:
        refused("in commands and in plans of sweeps", lambda: function(path, each_volume=True))


def test_each_volume_of_a_table_is_refused_with_the_way_to_it(here: Path) -> None:
    table = {**TABLE, "device": np.arange(9) % 2}
    functions: list[Any] = [ftlab.run, ftlab.film, ftlab.advise]
    for function in functions:
        for trace in (table, pd.DataFrame(table), ftlab.Requests(table)):
            refused(
                r"makes a row of each volume in a plan.*Requests\(table\)\.write.*volume='0'",
                lambda: function(trace, each_volume=True),
            )
    # What the message says.
    ftlab.Requests(table).write("trace.csv")
    rows = ftlab.sweep({"base": {"trace": "trace.csv", "each_volume": True, **DEVICE}})
    one = ftlab.run(table, volume="0", **DEVICE)
    assert len(rows) == 2 and rows[0]["programs"] == one["programs"]


def test_an_empty_plan_is_named_as_such() -> None:
    for nothing in ("", " ", "\n"):
        refused("^the plan is an empty text; give the path of a TOML", lambda: ftlab.sweep(nothing))
        refused("^the plan is an empty text", lambda: ftlab.Sweep.read("rows.csv", nothing))
    refused("^the plan is an empty dict; give at least a base", lambda: ftlab.sweep({}))


def test_an_empty_list_of_loads_is_not_the_default_workload() -> None:
    for function in (ftlab.run, ftlab.film, ftlab.life, ftlab.compare):
        for nothing in ([], ()):
            call: Any = function
            ftls = {"ftl": "page"} if function is ftlab.compare else {}
            refused("`load` is an empty list", lambda: call(load=nothing, **ftls))


def test_results_are_read_from_their_text_alone(result: ftlab.Result, tmp_path: Path) -> None:
    read: Any = ftlab.Result.from_json
    path = tmp_path / "result.json"
    path.write_text(result.to_json())
    assert read(path.read_bytes()) == read(path.read_text()) == result
    for other in (path, None, 5, result.to_dict()):
        refused("from the text of its JSON", lambda: read(other), TypeError)
    refused(r"is a path: give its text, .*read_text\(\)", lambda: read(str(path)))
    for text in ("", "{}", "[]", "null", b"\xff", '{"schema": "ftlab.run/1"}'):
        refused("not the JSON of a result", lambda: read(text))


def test_damaged_figures_are_named(result: ftlab.Result, tmp_path: Path) -> None:
    row = ftlab.sweep({"base": PLAN["base"]})[0]
    path = tmp_path / "rows.jsonl"
    for part, field, value, sentence in [
        ("erases", "gc", -5, r"`erases\.gc` is -5, and not a whole number from 0 on"),
        ("programs", "host", "many", r"`programs\.host` is \"many\", and not a whole number"),
        ("time_us", "total", "long", r"`time_us\.total` is \"long\", and not a number"),
        ("time_us", "total", -1.5, r"`time_us\.total` is -1\.5, and not a number from 0 on"),
        ("wear", "gini", 5, r"`wear\.gini` is 5, and not a number from 0 to 1"),
        ("trace", "name", 5, r"`trace\.name` is 5, and not a text"),
        ("copies", "gc", None, r"it has no value of `copies\.gc`"),
    ]:
        fields = result.to_dict()
        fields[part][field] = value
        text = json.dumps(fields)
        refused(f"not the JSON of a result: {sentence}", lambda: ftlab.Result.from_json(text))
        path.write_text(json.dumps({**row, part: {**row[part], field: value}}) + "\n")
        refused(rf"rows\.jsonl:1: row 0 is damaged: {sentence}", lambda: ftlab.Sweep.read(path))
    for name, value in [("write_amplification", -3), ("write_amplification", None),
                        ("write_amplification_bytes", 1.5)]:
        text = json.dumps({**result.to_dict(), name: value})
        refused(rf"`{name}` is \S+, and not ", lambda: ftlab.Result.from_json(text))
        path.write_text(json.dumps({**row, name: value}) + "\n")
        refused(rf":1: row 0 is damaged: `{name}`", lambda: ftlab.Sweep.read(path))
    for name in ("erases", "trace", "notes", "write_amplification"):
        fields = result.to_dict()
        del fields[name]
        text = json.dumps(fields)
        refused(f"it has no .*`{name}|`{name}` is null", lambda: ftlab.Result.from_json(text))
    path.write_text(json.dumps(row) + "\n")
    assert len(ftlab.Sweep.read(path)) == 1


def test_impossible_cells_and_rows_are_named_with_their_line(here: Path) -> None:
    sweep = ftlab.sweep(PLAN, out="rows.csv")
    table = pd.read_csv("rows.csv", dtype=str, keep_default_na=False)
    for column, cell, why in [
        ("sweep.row", "-1", "`sweep.row` is -1, and not a whole number from 0 on"),
        ("sweep.row", "", "`sweep.row` is null, and not a whole number from 0 on"),
        ("sweep.row", "0", "is there twice: `sweep.row` is 0"),
        ("write_amplification", "", "`write_amplification` is null, and not 64"),
        ("wear.gini", "5", "`wear.gini` is 5, and not a number from 0 to 1"),
    ]:
        damaged = table.copy()
        damaged.loc[1, column] = cell
        damaged.to_csv("damaged.csv", index=False)
        sentence = rf"^damaged\.csv:3: row 1 .*{re.escape(why)}"
        refused(sentence, lambda: ftlab.Sweep.read("damaged.csv"))
    assert ftlab.Sweep.read("rows.csv") == sweep
    # A file may have some of the rows; how many there are, only the plan says.
    some = damaged.assign(**{"sweep.row": ["0", "17"], "wear.gini": "0"})
    some.to_csv("some.csv", index=False)
    assert len(ftlab.Sweep.read("some.csv")) == 2
    sentence = "csv:3: row 1 is not one of this plan: the plan has 2"
    refused(sentence, lambda: ftlab.Sweep.read("some.csv", PLAN))


def test_wrong_names_of_files_and_libraries_are_wrong_options(
    result: ftlab.Result, here: Path
) -> None:
    path = written(here)
    both = ftlab.compare(path, ["page", "block"], **DEVICE)
    figure = ftlab.figures.of(result)[0]
    film = ftlab.film(WORKLOAD, capacity="2MiB", extra="12blocks")
    refused(r"^a film cannot be pickled; write\(\)", lambda: pickle.dumps(film), TypeError)
    trace = ftlab.trace.open(path)
    for call, why in [
        (lambda: both.frame("polar"), "not of 'polar'; did you mean `polars`"),
        (lambda: ftlab.Requests(TABLE).frame("spark"), "not of 'spark'"),
        (lambda: ftlab.trace.generate("nine.csv"), "is a file, not a workload"),
        (lambda: figure.save("f.jpeg"), "f.jpeg ends in none of"),
        (lambda: figure.to_png(0), "scale of a picture is a number above 0"),
        (lambda: both.write_svg(path), "belongs to the trace"),
        (lambda: both.write_svg(path / "figures"), "figures is no folder"),
        (lambda: both.write_svg(here / "f.txt"), "f.txt is no folder"),
        (lambda: both.write_svg(""), "the name of the folder is empty"),
    ]:
        Path("f.txt").write_text("x")
        refused(re.escape(why), call)
    for write in (both.write_report, film.write, figure.save, trace.write):
        refused("the name of the file is empty", lambda: write(""))
        refused("is a folder: name a file in it", lambda: write(here))
    refused("ends in .gz, .*: call it r.html$", lambda: both.write_report("r.html.gz"))


def test_arguments_of_a_check_are_named() -> None:
    check: Any = ftlab.check
    for options, why, kind in [
        ({"seed": "x"}, "^seed: `x` is not a count", ftlab.UsageError),
        ({"seed": -1}, "^seed: `-1` is not a count", ftlab.UsageError),
        ({"depth": 1 << 80}, "^depth: ", ftlab.UsageError),
        ({"first_cuts": 1 << 40}, "^first_cuts: `1099511627776` is too large", ftlab.UsageError),
        ({"geometry": 3}, "^`geometry` takes texts, not a value of type int", TypeError),
        ({"workload": [3]}, "^`workload` takes texts, not a value of type int", TypeError),
        ({"faults": None}, "^`faults` takes texts, not a value of type NoneType", TypeError),
        ({"cuts": 3}, "^`cuts` takes texts, not a value of type int", TypeError),
    ]:
        refused(why, lambda: check("page", **options), kind)


def test_numbers_of_jobs_and_sizes_are_checked(tmp_path: Path) -> None:
    calls: list[Callable[..., object]] = [
        lambda **options: ftlab.compare(WORKLOAD, ["page"], **DEVICE, **options),
        lambda **options: ftlab.life(WORKLOAD, **DEVICE, media="real:endurance=20", **options),
        lambda **options: ftlab.sweep(PLAN, **options),
    ]
    for call in calls:
        for jobs in (0, -1, 1.5, "two"):
            refused("jobs: `", lambda: call(jobs=jobs))
        for memory in (-1, "much", 0.5):
            refused("memory: `", lambda: call(memory=memory))
        call(jobs=2, memory="1GiB")
        call(jobs=np.int64(1), memory=1 << 20)
    refused("jobs: `0` is too few", lambda: ftlab.advise(WORKLOAD, jobs=0))
    trace = ftlab.trace.open(written(tmp_path))
    for rows in (0, -1, 2.5, "many"):
        refused("rows: `", lambda: trace.batches(rows))  # type: ignore[arg-type]
    assert [len(piece) for piece in trace.batches("4")] == [4, 4, 1]


def written(folder: Path) -> Path:
    """A file with nine requests."""
    path = folder / "nine.csv"
    path.write_text("time_ns,device,rwbs,offset,bytes\n" + "0,0,W,0,4096\n" * 9)
    return path


def test_what_is_no_result_is_refused(result: ftlab.Result) -> None:
    comparison: Any = ftlab.Comparison
    refused("there are no results", lambda: comparison([], []))
    for labels in ([None, 1], ["a", 2]):
        refused("the label of a result is a", lambda: comparison(labels, [result] * 2), TypeError)
    refused("not values of type dict", lambda: comparison(["a"], [result.to_dict()]), TypeError)
    of: Any = ftlab.figures.of
    for nothing in ({}, [], ()):
        refused("there are no results", lambda: of(nothing))
    for other in (None, 5):
        refused("figures are of results", lambda: of(other), TypeError)
    sweep = ftlab.sweep(PLAN)
    refused(r"figures of a sweep are `sweep\.figures`", lambda: of(sweep[0]), TypeError)
    refused("not values of type str", lambda: of({"page": "result"}), TypeError)
    assert of(sweep) == sweep.figures
    refused("at least 1 pixel", lambda: of(sweep)[0].chart(0))
    refused("at least 1 pixel", lambda: of(sweep)[0].chart("wide"))


def test_questions_of_an_advice_are_named() -> None:
    advice = ftlab.advise("oltp:requests=2K,reads=30%", capacity="32MiB")
    refused(r"^an advice cannot be pickled; to_json\(\)", lambda: pickle.dumps(advice), TypeError)
    for question in ("spare", "endurance", "latency"):
        advice.found(question)
    for question, sentence in [("spar", "; did you mean `spare`"), ("notes", "")]:
        sentence = f"no question is called '{question}'{sentence}"
        refused(sentence, lambda: advice.found(question), KeyError)


def test_no_ftl_is_the_default_one() -> None:
    lives = ftlab.life(WORKLOAD, None, media="real:endurance=20", **DEVICE)
    assert lives.labels == ["page"]
    refused(r"^lives cannot be pickled; to_json\(\)", lambda: pickle.dumps(lives), TypeError)
    assert ftlab.film("uniform:writes=99", None, capacity="1MiB").labels == ["page"]
    compare: Any = ftlab.compare
    for nothing in (None, [], ()):
        refused("compare needs the FTLs", lambda: compare(WORKLOAD, nothing), TypeError)
    for labelled in (ftlab.life, ftlab.film, ftlab.compare):
        refused("FTLs have no labels", lambda: labelled(WORKLOAD, {"a": "page"}), TypeError)


def test_plans_and_clients_of_another_type_are_refused() -> None:
    sweep: Any = ftlab.sweep
    for plan in (None, 5, [PLAN]):
        refused("a plan is a dict, or the path or the text", lambda: sweep(plan), TypeError)
    pytest.importorskip("distributed")
    for client in ("tcp://scheduler:8786", object()):
        refused(r"is a distributed\.Client, such as", lambda: sweep(PLAN, client), TypeError)


def test_progress_is_a_callable() -> None:
    calls: list[Callable[..., object]] = [
        lambda progress: ftlab.run(WORKLOAD, progress=progress, **DEVICE),
        lambda progress: ftlab.sweep(PLAN, progress=progress),
    ]
    for call in calls:
        for progress in (5, 1, "yes"):
            refused("progress is True, False or a callable", lambda: call(progress), TypeError)


@pytest.mark.parametrize(
    "column", [pd.Series([1, 2]), pl.Series([1, 2]), pa.chunked_array([[1, 2]])], ids=type
)
def test_a_column_is_no_trace(column: Any) -> None:
    refused("which is one column", lambda: ftlab.run(column), TypeError)


def test_unknown_columns_are_named_with_a_remedy() -> None:
    for name, sentence in [
        ("pid", r"no column `pid`\. Select those of"),
        ("offsets", r"no column `offsets`; did you mean `offset`\? Select"),
        ("time_us", r"; did you mean `time_ns`, in nanoseconds\? Select"),
        ("timestamp", r"; did you mean `time_ns`, in nanoseconds\? Select"),
    ]:
        for table in ({**TABLE, name: np.zeros(9, int)}, pa.table({**TABLE, name: [0] * 9})):
            refused(sentence, lambda: ftlab.Requests(table))


WITHOUT = """
import sys
sys.modules["numpy"] = None
import ftlab
try:
    {call}
except ImportError as missing:
    print(missing)
"""


def test_a_missing_numpy_is_named_with_its_remedy() -> None:
    for call in (
        'ftlab.run({"op": ["w"], "offset": [0], "bytes": [4096]})',
        'ftlab.trace.generate("uniform:writes=9").to_numpy()',
    ):
        ran = subprocess.run(
            [sys.executable, "-c", WITHOUT.format(call=call)], capture_output=True, text=True
        )
        assert ran.stdout == "this table needs numpy: pip install 'ftlab[pandas]'\n", ran.stderr


def test_a_list_of_traces_is_refused_with_a_remedy(tmp_path: Path) -> None:
    path = str(written(tmp_path))
    functions: list[Any] = [ftlab.run, ftlab.compare, ftlab.film, ftlab.life, ftlab.advise]
    for function in functions:
        for traces in ([path, path], (path,), [ftlab.Requests(TABLE)] * 2):
            options = {"ftl": ["page"]} if function is ftlab.compare else {}
            sentence = f"takes one trace, and not a {type(traces).__name__} of {len(traces)}: call it"
            refused(sentence, lambda: function(traces, **options), TypeError)
    assert ftlab.run(load=[path, WORKLOAD], **DEVICE).write_amplification


# ---- options in messages -------------------------------------------------------------------------

OF_THE_COMMAND = {
    *("csv", "film-data", "json", "log-ops", "log-writes", "merge", "sparse", "svg"),
    *("timeline", "timeline-operations", "x"),
}
"""Options in messages that no function of Python has."""


def test_messages_name_arguments_and_not_options_of_the_command(tmp_path: Path) -> None:
    for options, arguments in {
        "`--volume`": "`volume=`",
        "`--volume NAME`": "`volume=NAME`",
        "`--fit compact`": '`fit="compact"`',
        "`--warmup 5`": "`warmup=5`",
        "`--skip-bad`": "`skip_bad=True`",
        "`--memory-limit 3GiB`": '`memory_limit="3GiB"`',
        "`--replay open:speed=X`": '`replay="open:speed=X"`',
        "`--buffer 8MiB --flush ignore`": '`buffer="8MiB", flush="ignore"`',
        "`--merge`": "`--merge`",
        "`ftlab run --skip-bad`": "`ftlab.run(skip_bad=True)`",
        "`ftlab trace info`": "`ftlab.trace.info`",
        "`ftlab trace info 'my disk' --format spc`": '`ftlab.trace.info("my disk", format="spc")`',
        "`ftlab trace info PATH --limit 5`": "`ftlab.trace.info(PATH, limit=5)`",
        "`ftlab trace info --each-volume`": "`ftlab.trace.info(each_volume=True)`",
        "`ftlab check --faults unreadable`": '`ftlab.check(…, faults="unreadable")`',
        "`ftlab list formats`": "`ftlab.list_formats()`",
        "`ftlab advise load`": '`ftlab.advise("load")`',
        "`ftlab image check`": "`ftlab image check`",
        "one of\n    ftlab trace info 'x y'\n    ftlab image check x\nor": (
            'one of\n    ftlab.trace.info("x y")\n    ftlab image check x\nor'
        ),
        "guest:lib=class:Mine and `guest:lib=class:Other`": "Mine and `Other`",
    }.items():
        assert str(ftlab.UsageError(f"give {options} or not")) == f"give {arguments} or not"
        assert str(pickle.loads(pickle.dumps(ftlab.RunError(options)))) == arguments
    with pytest.raises(ftlab.UsageError, match="^`volume=` selects a volume of a trace"):
        ftlab.run(WORKLOAD, volume="1", **DEVICE)
    short = ftlab.run(WORKLOAD, limit=20, **DEVICE)
    assert "read up to `limit=20`;" in " ".join(short.notes)
    assert "read up to `--limit 20`;" in " ".join(short["notes"])
    assert "read up to `limit=20`;" in str(short) and "`--limit" not in str(short)
    both = ftlab.compare(WORKLOAD, ["page", "fast"], limit=20, **DEVICE)
    for shown in (str(both), str(pickle.loads(pickle.dumps(both))), both._repr_html_()):
        assert "read up to `limit=20`;" in shown and "`--limit" not in shown
    found = ftlab.ViolationError("see `--seed`", "ftlab run --seed 1")
    assert str(found) == "see `seed=`\nReplay:  ftlab run --seed 1"


def test_rows_that_failed_name_arguments(tmp_path: Path) -> None:
    path = tmp_path / "unknown.txt"
    path.write_text("what is this\n" * 9)
    plan = {"base": DEVICE, "list": [{"trace": [str(written(tmp_path)), str(path)]}]}
    sweep = ftlab.sweep(plan)
    (failed,) = sweep.failed
    message = failed["sweep"]["error"]["message"]
    assert f'`ftlab.trace.info("{path}", format="spc")`' in message
    assert f'\n    ftlab.trace.info("{path}", format="csv:sep=blank,columns=' in message
    assert "ftlab trace" not in message and "`ftlab list" not in message
    # Rows as text are those of the command.
    assert "`ftlab trace info" in sweep.to_jsonl() and "`ftlab trace info" not in str(sweep)
    with pytest.raises(ftlab.RunError) as why:
        ftlab.run(path)
    assert f'`ftlab.trace.info("{path}", format="spc")`' in str(why.value)
    path.write_bytes(b"BZh91AY&SY")
    with pytest.raises(ftlab.RunError, match=re.escape(f"first: `bzip2 -dc {path} > PLAIN`")):
        ftlab.run(path)


def test_every_option_that_messages_name_is_an_argument() -> None:
    """In the sources of all crates but the command's own, which Python does not run."""
    texts: list[str] = []
    for source in (ROOT / "crates").glob("*/src/**/*.rs"):
        if not source.is_relative_to(ROOT / "crates" / "cli" / "src" / "commands"):
            lines = source.read_text().splitlines()
            text = "\n".join(line for line in lines if not line.lstrip().startswith("//"))
            # Texts go on in the next line after a backslash, and have values in braces.
            text = re.sub(r"\{[^}\n]*\}", "5", re.sub(r"\\\n\s*", "", text))
            texts += re.findall(r"`--[a-z][^`]*`", text)
    assert len(texts) > 80
    left = {word for text in texts for word in re.findall("--([a-z-]+)", in_python(text))}
    assert left == OF_THE_COMMAND
