"""Figures are those of reports, and can be drawn in notebooks and in print."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import pytest

altair = pytest.importorskip("altair")
vl_convert = pytest.importorskip("vl_convert")

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def comparison() -> ftlab.Comparison:
    """Two runs with series along the trace."""
    return ftlab.compare("uniform:writes=20K", ["page", "fast"], capacity="16MiB", interval="auto")


def test_specs_are_those_of_the_report(comparison: ftlab.Comparison) -> None:
    page = comparison.to_html()
    figures = ftlab.figures.of(comparison)
    assert len(figures) >= 5
    assert repr(figures[0]) == f"<ftlab.figures.Figure: {figures[0].id}, {figures[0].title}>"
    for figure in figures:
        assert figure.spec_json.replace("<", "\\u003c") in page, figure.id


def test_earlier_results_can_be_drawn_with_labels(comparison: ftlab.Comparison) -> None:
    [first, *_] = ftlab.figures.of({"a <b>": comparison[0], "c": comparison[1]})
    assert "a <b>" in json.dumps(first.spec)
    assert first.table is not None
    assert first.table["head"]
    assert [one.id for one in ftlab.figures.of(list(comparison))] == [
        one.id for one in ftlab.figures.of(comparison)
    ]
    assert len(ftlab.figures.of(comparison["page"])) > 1
    assert "page" in comparison and comparison["page"] in comparison and "nobody" not in comparison


def test_figures_are_charts_of_altair(comparison: ftlab.Comparison) -> None:
    for figure in ftlab.figures.of(comparison):
        chart = figure.chart().to_dict()
        of_page = {"autosize", "$schema", "width"}
        assert chart == {**{k: v for k, v in figure.spec.items() if k not in of_page}, **chart}
        assert chart.get("width") in (None, ftlab.figures.CHART_WIDTH)


def test_figures_compose(comparison: ftlab.Comparison) -> None:
    charts = [figure.chart(300) for figure in ftlab.figures.of(comparison)]
    along = {figure.id: figure for figure in ftlab.figures.of(comparison)}
    layered = along["write-amplification-along-the-trace"].chart()
    for composed in (charts[0] | charts[1], altair.vconcat(*charts), layered + layered):
        assert vl_convert.vegalite_to_svg(composed.to_dict()).startswith("<svg")
    assert layered.facet("run:N").to_dict()["facet"]
    assert charts[0].to_dict()["width"] == 300


def test_every_figure_can_be_made_interactive(comparison: ftlab.Comparison) -> None:
    for figure in ftlab.figures.of(comparison):
        chart: Any = figure.chart()
        assert chart.interactive().to_dict()["params"], figure.id


def test_figures_need_no_network(comparison: ftlab.Comparison) -> None:
    for figure in ftlab.figures.of(comparison):
        shown = figure._repr_mimebundle_()
        assert shown["image/svg+xml"].startswith("<svg")
        assert not any("https://cdn" in text for text in shown.values())


def test_figures_are_printed(comparison: ftlab.Comparison, tmp_path: Path) -> None:
    figure = ftlab.figures.of(comparison)[0]
    for kind, head in {".svg": b"<svg", ".pdf": b"%PDF", ".png": b"\x89PNG", ".json": b"{"}.items():
        path = tmp_path / f"figure{kind}"
        figure.save(path)
        assert path.read_bytes().startswith(head), kind
    widths = re.findall(r'width="([\d.]+)pt"', figure.to_svg())
    assert float(widths[0]) == pytest.approx(252, abs=2), "a column has 3.5 inches"
    with pytest.raises(ftlab.UsageError, match="ends in none of"):
        figure.save(tmp_path / "figure.gif")


def test_figures_for_a_paper_are_those_of_the_command(
    command: Command, comparison: ftlab.Comparison, tmp_path: Path
) -> None:
    words = ["--ftl", "page", "--ftl", "fast", "--capacity", "16MiB", "--quiet"]
    done = command("compare", "uniform:writes=20K", *words, "--svg", tmp_path / "command")
    assert done.returncode == 0, done.stderr
    comparison.write_svg(tmp_path / "python")
    names = sorted(path.name for path in (tmp_path / "command").iterdir())
    assert "figures.tex" in names
    assert names == sorted(path.name for path in (tmp_path / "python").iterdir())
    for name in names:
        mine = (tmp_path / "python" / name).read_bytes()
        assert mine == (tmp_path / "command" / name).read_bytes(), name
    for figure in ftlab.figures.of(comparison):
        assert figure.to_svg() == (tmp_path / "python" / f"{figure.id}.svg").read_text(), figure.id


def test_only_results_can_be_drawn() -> None:
    with pytest.raises(ftlab.UsageError, match="schema is missing"):
        ftlab._native.figures_json(["x"], ["{}"])
    with pytest.raises(ftlab.UsageError, match="not the JSON"):
        ftlab._native.figures_json(["x"], ["{"])
    with pytest.raises(ftlab.UsageError, match="2 labels for 1 results"):
        ftlab._native.figures_json(["x", "y"], ["{}"])


def test_the_plans_of_the_papers_are_there() -> None:
    plans = ftlab.papers.plans()
    assert len(plans) > 20
    assert all("[" in text for text in plans.values())
