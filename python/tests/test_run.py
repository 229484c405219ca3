"""Runs and comparisons give what the command gives, and fail as it fails."""

from __future__ import annotations

import json
import pickle
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import numpy as np
import pytest
from ftlab.given import in_python

Command = Callable[..., "subprocess.CompletedProcess[str]"]

TRACE = "uniform:writes=20K"


def small(**options: object) -> ftlab.Result:
    """A short run on a small device."""
    return ftlab.run(TRACE, **{"capacity": "16MiB", **options})  # type: ignore[arg-type]


def without_wall(text: str) -> str:
    """The text of a result up to the part that differs from run to run."""
    head, _, _ = text.partition('"wall": {')
    assert head != text
    return head


def test_a_run_gives_the_bytes_of_the_command(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "result.json"
    words = ["--ftl", "fast", "--capacity", "16MiB", "--extra", "10%", "--interval", "auto"]
    done = command("run", TRACE, *words, "--json", out)
    assert done.returncode == 0, done.stderr
    result = small(ftl="fast", extra="10%", interval="auto")
    assert without_wall(result.to_json()) == without_wall(out.read_text())
    assert without_wall(str(result).replace("wall  ", '"wall": {')) == without_wall(
        done.stdout.replace("wall  ", '"wall": {')
    )


def test_a_comparison_gives_the_bytes_of_the_command(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "results.json"
    words = ["--ftl", "page", "--ftl", "dftl:cmt=8KiB", "--capacity", "16MiB"]
    done = command("compare", TRACE, *words, "--json", out, "--report", tmp_path / "r.html")
    assert done.returncode == 0, done.stderr
    both = ftlab.compare(TRACE, ["page", "dftl:cmt=8KiB"], capacity="16MiB", interval="auto")
    assert str(both) == done.stdout
    assert both.labels == ["page", "dftl:cmt=8KiB"]
    assert both["page"] is both[0]
    assert without_wall(both.to_json()) == without_wall(out.read_text())
    assert done.stdout.startswith(both.headline.split(". ")[0])
    assert str(both[0]).startswith(both[0].headline.split(". ")[0])
    both.write_report(tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "r.html").read_bytes()
    done = command("compare", TRACE, *words, "--latex", "-")
    assert both.to_latex() == done.stdout


def test_lives_give_the_bytes_of_the_command(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "lives.json"
    words = ["--ftl", "page", "--ftl", "fast", "--capacity", "8MiB", "--extra", "20%"]
    words += ["--reserve", "10%", "--media", "real:endurance=40"]
    done = command("life", TRACE, *words, "--json", out, "--report", tmp_path / "r.html")
    assert done.returncode == 0, done.stderr
    lives = ftlab.life(
        TRACE,
        ["page", "fast"],
        capacity="8MiB",
        extra="20%",
        reserve="10%",
        media="real:endurance=40",
    )
    assert str(lives) == done.stdout
    assert lives.to_json() == out.read_text()
    assert lives.labels == ["page", "fast"] and lives["fast"] is lives[1]
    course = lives["page"]["course"]
    assert course[-1]["host_bytes"] == lives["page"]["host_bytes"]
    lives.write_report(tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "r.html").read_bytes()
    drawn = ftlab.figures.of(lives)
    assert drawn[0].spec["data"]["values"][0]["host_bytes"] == course[0]["host_bytes"]
    with pytest.raises(KeyError, match="no FTL is called 'dac'"):
        lives["dac"]
    with pytest.raises(KeyError, match="there are page, fast; each has a field 'drive_writes'"):
        lives["drive_writes"]
    load = ["uniform:writes=3K@stream=1", "sequential:writes=3K@stream=2"]
    device = {"capacity": "8MiB", "extra": "20%", "reserve": "10%", "media": "real:endurance=40"}
    tenants = ftlab.life(load=load, ftl="streams:streams=2", **device)[0]  # type: ignore[arg-type]
    traces = [one["trace"] for one in tenants["by_load"]]
    assert traces == ["uniform:writes=3K", "sequential:writes=3K"]
    assert [one["class"] for one in tenants["by_class"]] == [1, 2]
    with pytest.raises(TypeError, match="a life has no option `warmup`"):
        ftlab.life(TRACE, media="real:endurance=40", warmup=2)  # type: ignore[call-arg]
    with pytest.raises(ftlab.UsageError, match="lives for ever"):
        ftlab.life(TRACE, capacity="8MiB")


def test_advice_gives_the_bytes_of_the_command(command: Command, tmp_path: Path) -> None:
    out = tmp_path / "advice.json"
    words = ["--capacity", "32MiB", "--target", "3", "--depths", "1,4"]
    outputs = ["--json", out, "--report", tmp_path / "r.html"]
    done = command("advise", "oltp:requests=20K,reads=30%", *words, *outputs)
    assert done.returncode == 0, done.stderr
    given: dict[str, Any] = {"capacity": "32MiB", "target": 3, "depths": [4, 1]}
    advice = ftlab.advise("oltp:requests=20K,reads=30%", **given)
    assert str(advice) == in_python(done.stdout) and advice.to_json() == out.read_text()
    assert done.stdout.startswith(advice.headline.split(". ")[0])
    advice.write_report(tmp_path / "mine.html")
    assert (tmp_path / "mine.html").read_bytes() == (tmp_path / "r.html").read_bytes()
    spare = advice.found("spare")
    assert advice.answers and spare is not None
    assert f"{spare['write_amplification']:.3f}" in repr(advice)
    assert advice["confidence"]["found"]["steady"] is True
    assert advice.found("latency") is None, "the device has no dies"
    with pytest.raises(TypeError, match="an advice has no option `warmup`"):
        ftlab.advise(TRACE, warmup=2)  # type: ignore[call-arg]
    with pytest.raises(ftlab.UsageError, match="at least 1"):
        ftlab.advise(TRACE, target=0.5)
    requests = ftlab.trace.generate("oltp:requests=20K,reads=100%")
    of_one = ftlab.advise(requests, depths=4)
    assert not of_one.answers and of_one.to_json() == ftlab.advise(requests, depths=[4]).to_json()


def test_values_may_be_numbers_texts_and_lists() -> None:
    texts = small(capacity="16777216", seed="3", warmup="2", verify="true")
    assert small(capacity=16 << 20, seed=3, warmup=2, verify=True) == texts
    loads = ftlab.run(load=["uniform:writes=2K", "sequential:writes=50@closed:depth=2"])
    assert len(loads["tenants"]) == 2
    assert small(extra=None) == small()


def test_a_path_is_a_trace(traces: Path) -> None:
    found = sorted(path for path in traces.rglob("*.csv*") if path.is_file())
    result = ftlab.run(found[0], limit=1000, fit="compact")
    assert result["trace"]["requests"] <= 1000
    assert len(result["run"]["trace_sha256"]) == 64


def test_results_can_be_read_and_compared() -> None:
    result = small()
    assert result["erases"]["total"] == result.to_dict()["erases"]["total"] > 0
    assert result == small()
    assert result != small(seed=2)
    assert result.ftl == "page"
    assert result.write_amplification == pytest.approx(result["write_amplification"])
    assert "write amplification" in repr(result)
    assert "<b>" not in result._repr_html_()
    assert "<th>page</th>" in result._repr_html_()
    assert "<b>" in ftlab.compare(TRACE, ["page", "block"], capacity="16MiB")._repr_html_()


def test_results_travel_to_other_processes() -> None:
    result = small()
    other = pickle.loads(pickle.dumps(result))
    assert other == result
    assert other.to_json() == result.to_json()
    assert (str(other), other._repr_html_()) == (str(result), result._repr_html_())
    both = ftlab.compare(TRACE, ["page", "block"], capacity="16MiB")
    assert pickle.loads(pickle.dumps(list(both))) == list(both)


def test_comparisons_travel_to_other_processes() -> None:
    both = ftlab.compare(TRACE, ["page", "block"], capacity="16MiB")
    other = pickle.loads(pickle.dumps(pickle.loads(pickle.dumps(both))))
    assert other["block"] == both["block"] and other.labels == both.labels
    for text in [str, ftlab.Comparison.to_json, ftlab.Comparison.to_html, ftlab.Comparison.to_latex,
                 ftlab.Comparison._repr_html_, repr]:
        assert text(other) == text(both)


def test_results_of_other_processes_can_be_compared(tmp_path: Path) -> None:
    both = ftlab.compare(TRACE, ["page", "block"], capacity="16MiB")
    travelled = ftlab.Comparison(both.labels, pickle.loads(pickle.dumps(list(both))))
    read = ftlab.Comparison(both.labels, [ftlab.Result.from_json(one.to_json()) for one in both])
    for other in (travelled, read):
        assert other.to_json() == both.to_json() and other.headline == both.headline
        assert len(ftlab.figures.of(other)) == len(ftlab.figures.of(both))
        total = f"{both['block']['erases']['total']:,}"
        assert total in str(other) and f"<td>{total}</td>" in other._repr_html_()
        # Page and LaTeX are those of the comparison, but for the names of the fields.
        page, latex = other.to_html(), other.to_latex()
        assert page.count("<figure") == both.to_html().count("<figure") > 0
        assert other.headline.split(":")[0] in page and f"& {total} " in latex
        other.write_svg(tmp_path / "figures")
        assert (tmp_path / "figures" / "figures.tex").exists()
        assert str(pickle.loads(pickle.dumps(other))) == str(other)


def test_results_are_read_from_their_json() -> None:
    result = small(interval="auto")
    for text in (result.to_json(), result.to_json().encode()):
        read = ftlab.Result.from_json(text)
        assert read == result and read.to_json() == result.to_json()
        assert read.headline == result.headline and result.headline in str(read)
        assert f"{result['erases']['total']:,}" in read._repr_html_()
        assert len(ftlab.figures.of(read)) == len(ftlab.figures.of(result))
    for wrong, words in [("{", "not the JSON"), ("[]", "schema"), ('{"schema": "x/1"}', "x/1")]:
        with pytest.raises(ftlab.UsageError, match=words):
            ftlab.Result.from_json(wrong)


def test_results_are_mappings() -> None:
    result = small()
    assert "erases" in result and "eraser" not in result
    assert dict(result) == result.to_dict() and list(result) == list(result.to_dict())
    assert "erases" in result._ipython_key_completions_()
    info = ftlab.trace.info(TRACE)
    assert "writes" in info and dict(info) == info.to_dict()
    assert "writes" in info._ipython_key_completions_()
    both = ftlab.compare(TRACE, ["page", "block"], capacity="16MiB")
    assert both._ipython_key_completions_() == ["page", "block"]


def test_comparisons_are_equal_if_their_labels_and_results_are() -> None:
    result, other = small(), small(seed=2)
    both = ftlab.Comparison(["a", "b"], [result, other])
    assert both == ftlab.Comparison(["a", "b"], [small(), small(seed=2)])
    assert both != ftlab.Comparison(["a", "c"], [result, other])
    assert both != ftlab.Comparison(["a", "b"], [result, result]) and both != [result, other]
    device = {"capacity": "8MiB", "reserve": "10%"}
    lives = [ftlab.life("uniform:writes=2K", media=f"real:endurance={n}", **device) for n in (9, 9, 8)]
    assert lives[0] == lives[1] != lives[2]


def test_labels_that_are_given_twice_are_refused() -> None:
    result = small()
    for twice in (
        lambda: ftlab.compare(TRACE, ["page", "fast", "page"], capacity="16MiB"),
        lambda: ftlab.compare(TRACE, "page", trim=["honour", "honour"], capacity="16MiB"),
        lambda: ftlab.life(TRACE, ["page", "page"], capacity="16MiB"),
        lambda: ftlab.Comparison(["a", "a"], [result, result]),
        lambda: ftlab.figures.of([result, result]),
    ):
        with pytest.raises(ftlab.UsageError, match="two results are called `.*`; give (each|it once)"):
            twice()
    with pytest.raises(ftlab.UsageError, match="^the FTL `Ftl` is given twice; give it once$"):
        ftlab.compare(TRACE, ["page", ftlab.Ftl, ftlab.Ftl], capacity="16MiB")
    with pytest.raises(TypeError, match="FTLs have no labels"):
        ftlab.compare(TRACE, {"page": "dac"}, capacity="16MiB")  # type: ignore[arg-type]
    with pytest.raises(ftlab.UsageError, match="1 labels for 2 results"):
        ftlab.Comparison(["a"], [result, result])


def test_scalars_of_numpy_are_what_they_stand_for() -> None:
    plain = small(verify=True, seed=7, extra=0.07)
    array = np.array([1, 7])
    scalars: list[dict[str, Any]] = [
        {"verify": (array > 1).any(), "seed": array[1], "extra": np.float32(0.07)},
        {"verify": np.True_, "seed": np.uint8(7), "extra": np.float64(0.07)},
        {"verify": np.array(True), "seed": np.array(7), "extra": np.str_("0.07")},
    ]
    for options in scalars:
        assert small(**options) == plain


def test_a_list_of_records_leads_to_a_table() -> None:
    records = [{"op": "w", "offset": 0, "bytes": 4096}]
    with pytest.raises(TypeError, match=r"give pandas.DataFrame\(records\), or a dict with a list"):
        ftlab.run(records)  # type: ignore[call-overload]


def test_notebooks_show_tables() -> None:
    columns = {"op": ["w", "r"], "offset": [0, 0], "bytes": [1, 2], "device": [7, 9]}
    requests = ftlab.Requests(columns)
    assert "<td>2</td>" in requests._repr_html_() and "7, 9" in requests._repr_html_()
    info = ftlab.trace.info(TRACE)
    assert f"<td>{info['requests']:,}</td>" in info._repr_html_()
    swept = ftlab.sweep({
        "base": {"trace": TRACE, "capacity": "16MiB"},
        "grid": [{"seed": [1, 2], "extra": ["15%", "0blocks"]}],
        "claim": [{"id": "c<", "says": "few", "figure": "erases.total",
                   "rows": [{"seed": 1, "extra": "15%", "at_most": 0}]}],
    })
    html = swept._repr_html_()
    assert html.count("<tr>") == 5 and "at least 2 extra blocks" in html
    assert f"{swept[0]['write_amplification']:.4f}" in html and "c&lt;: few: falls short" in html


@pytest.mark.parametrize(
    ("options", "kind", "words"),
    [
        ({"ftl": "pgae"}, ftlab.UsageError, "page"),
        ({"ftl": "page:victim=fifi"}, ftlab.UsageError, "fifo"),
        ({"limit": 0}, ftlab.UsageError, "leaves nothing to run"),
        ({"limit": -1}, ftlab.UsageError, "-1"),
        ({"extra": 1e400}, ftlab.UsageError, "inf"),
        ({"extr": 1}, TypeError, "did you mean `extra`"),
        ({"seed": [1, 2]}, TypeError, "`seed` takes a text or a number"),
        ({"seed": object()}, TypeError, "a number, not a value of type object"),
        ({"seed": np.array([1, 2])}, TypeError, "a number, not a value of type ndarray"),
        ({"load": [1, object()]}, TypeError, "`load`"),
        ({"capacity": "1 lightyear"}, ftlab.UsageError, "not a size"),
        ({"capacity": "1TiB", "memory_limit": "1GiB"}, ftlab.UsageError, "memory"),
        ({"memory_limit": "much"}, ftlab.UsageError, "memory_limit"),
        ({"skip_bad": True}, ftlab.UsageError, "trace files"),
    ],
)
def test_wrong_options_are_refused(
    options: dict[str, object], kind: type[Exception], words: str
) -> None:
    with pytest.raises(kind, match=words.replace("`", ".")):
        small(**options)


def test_a_bad_trace_fails_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_text("0,0,4096,W,0.0\n0,x,4096,W,0.1\n")
    with pytest.raises(ftlab.RunError, match=r"bad\.csv.*2"):
        ftlab.run(path, format="spc")
    with pytest.raises(ftlab.RunError, match="no such file|cannot"):
        ftlab.run(tmp_path / "missing.csv")
    result = ftlab.run(path, format="spc", skip_bad=True)
    assert sum(result["trace"]["skipped"].values()) == 1


def test_failures_are_of_one_family() -> None:
    for kind in [ftlab.UsageError, ftlab.RunError, ftlab.ViolationError, ftlab.BugError]:
        assert issubclass(kind, ftlab.Error)
    codes = [kind.exit_code for kind in [ftlab.RunError, ftlab.UsageError, ftlab.ViolationError]]
    assert codes == [1, 2, 3]
    assert ftlab.ViolationError("lost", "ftlab run x").replay == "ftlab run x"


def test_comparisons_need_ftls() -> None:
    with pytest.raises(TypeError, match="FTLs to compare"):
        ftlab.compare(TRACE)
    with pytest.raises(ftlab.UsageError):
        ftlab.compare(TRACE, ["page", "nothing"])
    assert len(ftlab.compare(TRACE, "page", durability=["paper", "full"], capacity="16MiB")) == 2


def test_lists_name_what_the_command_names(command: Command) -> None:
    listed = {
        "ftls": ftlab.list_ftls,
        "chips": ftlab.list_chips,
        "workloads": ftlab.list_workloads,
        "formats": ftlab.list_formats,
        "layers": ftlab.list_layers,
        "victims": ftlab.list_victims,
        "drives": ftlab.list_drives,
        "wear": ftlab.list_wear,
    }
    assert json.loads(command("list", "--json").stdout) == {
        name: entries() for name, entries in listed.items()
    }
