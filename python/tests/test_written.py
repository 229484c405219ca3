"""Files that are written: never over the trace that a result was made from."""

from __future__ import annotations

import os
import pickle
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

ROWS = "time_ns,device,rwbs,offset,bytes\n" + "".join(
    f"{row},0,W,{row % 99 * 4096},4096\n" for row in range(300)
)
DEVICE: dict[str, Any] = {"capacity": "8MiB", "fit": "wrap"}
MEDIA = {"media": "real:endurance=9", "reserve": "10%"}
PLAN = {"base": {"trace": "t.svg", **DEVICE}, "grid": [{"ftl": ["page", "fast"]}]}


@pytest.fixture
def trace(here: Path) -> Path:
    """A trace whose name could be that of a figure."""
    path = here / "t.svg"
    path.write_text(ROWS)
    return path


def compared(*given: Any, **options: Any) -> ftlab.Comparison:
    return ftlab.compare(*given, ftl=["page", "fast"], **DEVICE, **options)


def of_requests() -> ftlab.Comparison:
    return compared(ftlab.trace.open("t.svg").requests())


def of_pieces() -> ftlab.Comparison:
    (piece,) = ftlab.trace.open("t.svg").batches()
    return compared(piece)


def of_loads() -> ftlab.Comparison:
    return compared(load=["t.svg@stream=1", "uniform:writes=99"])


def of_a_policy() -> ftlab.Comparison:
    return ftlab.compare("t.svg", policy=ftlab.policy.Policy(), **DEVICE)


def pickled() -> ftlab.Comparison:
    return pickle.loads(pickle.dumps(compared("t.svg")))  # type: ignore[no-any-return]


PAGES: dict[str, Callable[[], Callable[[Any], None]]] = {
    "comparison": lambda: compared("t.svg").write_report,
    "of a Trace": lambda: compared(ftlab.trace.open("t.svg")).write_report,
    "of its requests": lambda: of_requests().write_report,
    "of a piece": lambda: of_pieces().write_report,
    "of loads": lambda: of_loads().write_report,
    "of a policy": lambda: of_a_policy().write_report,
    "pickled": lambda: pickled().write_report,
    "lives": lambda: ftlab.life("t.svg", **DEVICE, **MEDIA).write_report,
    "advice": lambda: ftlab.advise("t.svg", depths=[1], **DEVICE).write_report,
    "film": lambda: ftlab.film("t.svg", **DEVICE).write,
    "sweep": lambda: ftlab.sweep(PLAN).write_report,
}

WRITERS: dict[str, Callable[[], Callable[[Any], None]]] = {
    **PAGES,
    "figure": lambda: ftlab.figures.of(compared("t.svg"))[0].save,
    "figure of a result": lambda: ftlab.figures.of(ftlab.run("t.svg", **DEVICE))[0].save,
    "figure of lives": lambda: ftlab.figures.of(ftlab.life("t.svg", **DEVICE, **MEDIA))[0].save,
    "figure of a sweep": lambda: ftlab.sweep(PLAN).figures[0].save,
    "trace": lambda: lambda path: ftlab.trace.open("t.svg").write(path, "csv"),
}


@pytest.mark.parametrize("name", WRITERS)
def test_no_method_overwrites_the_trace(trace: Path, name: str) -> None:
    (trace.parent / "link.svg").symlink_to(trace)
    os.link(trace, "hard.svg")
    Path("other.svg").write_text("old")
    write = WRITERS[name]()
    for path in ("t.svg", trace, "./t.svg", "link.svg", "hard.svg"):
        with pytest.raises(ftlab.UsageError, match="belongs to the trace, which would be overw"):
            write(path)
    assert trace.read_text() == ROWS
    ending = "html" if name in PAGES else "svg"
    Path("other.html").write_text("old")
    for path in (f"new.{ending}", f"other.{ending}"):
        write(path)
        assert len(Path(path).read_text()) > 100


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_no_name_of_another_format(trace: Path, name: str) -> None:
    write = PAGES[name]()
    for path, meant in [("r.pdf", "r.html"), ("x.MP4", "x.html"), ("t.svg.json", "t.svg.html")]:
        with pytest.raises(ftlab.UsageError, match=f"but this is a page of HTML: call it {meant}$"):
            write(path)
        assert not Path(path).exists()
    for path in ("r.html", Path("r.HTM"), "report"):
        write(path)
        assert Path(path).read_text().startswith("<!")


def test_the_command_and_sweeps_say_the_same_of_names(here: Path, command: Command) -> None:
    sentence = "r.pdf ends in .pdf, but this is a page of HTML: call it r.html"
    with pytest.raises(ftlab.UsageError) as why:
        ftlab.sweep({"base": DEVICE}, report="r.pdf")
    assert str(why.value) == sentence
    for words in (["run", "--report", "r.pdf"], ["run", "--film", "r.pdf"]):
        done = command(words[0], "uniform:writes=99", "--capacity", "8MiB", *words[1:])
        assert (done.returncode, done.stderr) == (2, f"ftlab: {sentence}\n")
    assert list(here.iterdir()) == []


def test_figures_of_a_folder_do_not_overwrite_the_trace(trace: Path) -> None:
    folder = trace.parent / "figures"
    folder.mkdir()
    trace = trace.rename(folder / "figures.tex")
    plan = {**PLAN, "base": {"trace": "figures/figures.tex", **DEVICE}}
    for drawn in (compared("figures/figures.tex"), ftlab.sweep(plan)):
        with pytest.raises(ftlab.UsageError, match="belongs to the trace"):
            drawn.write_svg(folder)
        assert trace.read_text() == ROWS
        drawn.write_svg("elsewhere")


def test_a_trace_stays_the_same_file_in_another_folder(trace: Path) -> None:
    both = compared("t.svg")
    Path("out").mkdir()
    os.chdir("out")
    figure = ftlab.figures.of(both)[0]
    figure.save("t.svg")
    with pytest.raises(ftlab.UsageError, match="belongs to the trace"):
        figure.save("../t.svg")
    assert trace.read_text() == ROWS


def test_a_report_may_have_the_name_of_the_trace_and_an_ending(trace: Path) -> None:
    both = compared("t.svg")
    for _ in range(2):
        both.write_report("t.svg.html")
        ftlab.trace.open("t.svg").write("t.svg.csv")


def test_a_missing_folder_is_named_with_its_remedy(here: Path) -> None:
    result = ftlab.compare("uniform:writes=2K", ["page", "fast"], **DEVICE)
    figure = ftlab.figures.of(result)[0]
    film = ftlab.film("uniform:writes=99", **DEVICE)
    requests = ftlab.trace.generate("uniform:writes=99", capacity="8MiB")
    trace = ftlab.trace.Trace(ftlab._native.NativeTrace.of_requests(requests._native))
    writers: list[tuple[str, Callable[[Path], object]]] = [
        ("x.html", result.write_report),
        ("x.svg", figure.save),
        ("x.html", film.write),
        ("x.csv", trace.write),
    ]
    for name, write in writers:
        path = here / "no" / "such" / name
        with pytest.raises(FileNotFoundError) as why:
            write(path)
        assert str(why.value) == (
            f"cannot write {path}: there is no folder {path.parent}; make it first, with "
            f"os.makedirs({str(path.parent)!r})"
        )
        os.makedirs(path.parent)
        write(path)
        shutil.rmtree(here / "no")
    for option in ("out", "report"):
        with pytest.raises(ftlab.RunError, match="there is no folder no; make it first"):
            ftlab.sweep({"base": DEVICE}, **{option: "no/rows.csv"})  # type: ignore[arg-type]
    result.write_svg("made/by/itself")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_names_the_file(here: Path) -> None:
    figure = ftlab.figures.of(ftlab.run("uniform:writes=99", **DEVICE))[0]
    (here / "x.svg").symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device: 'x.svg'"):
        figure.save("x.svg")
