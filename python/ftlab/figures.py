"""The figures of reports in notebooks and in print.

A figure is a Vega-Lite spec that ftlab makes once: report, notebook and print draw the same spec.

>>> for figure in ftlab.figures.of(ftlab.compare("oltp", ["page", "fast"], interval="auto")):
...     figure.save(f"{figure.id}.svg")
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union

from ftlab import _native, frozen
from ftlab.errors import UsageError
from ftlab.given import kind
from ftlab.lives import Lives
from ftlab.result import Comparison, Result, refuse_others, refuse_twice
from ftlab.written import Files, refuse_no_file, write_file

if TYPE_CHECKING:
    import altair

    from ftlab.sweeps import Sweep

Runs = Union[Result, Comparison, Mapping[str, Result], Iterable[Result]]

CHART_WIDTH = 640
"""The width of a chart in pixels, unless the figure has its own."""


@dataclass(frozen=True, repr=False)
class Figure:
    """A figure of a report."""

    id: str
    """A name that can be used as the name of a file."""
    section: str
    """The part of a report in which it stands."""
    title: str
    """What it shows, in a few words."""
    caption: str
    """What it shows, in sentences."""
    spec_json: str
    """The Vega-Lite spec as the report has it, with its data under ``data.values``."""
    table: dict[str, Any] | None
    """The most important numbers as texts: ``head``, ``rows``."""
    _read: Files = field(default=(), repr=False, compare=False)

    def __repr__(self) -> str:
        return f"<ftlab.figures.Figure: {self.id}, {self.title}>"

    @property
    def spec(self) -> dict[str, Any]:
        """The Vega-Lite spec, as a dict of its own."""
        spec: dict[str, Any] = json.loads(self.spec_json)
        return spec

    def chart(self, width: int = CHART_WIDTH) -> altair.TopLevelMixin:
        """The figure as a chart of Altair (package ``altair``).

        It can stand beside, above or on other charts (``|``, ``&``, ``+``) and be faceted. So it
        has a width of its own, and not that of the page.
        """
        if not isinstance(width, (int, float)) or not width >= 1:
            raise UsageError(f"the width of a chart is at least 1 pixel, and not {width!r}")
        try:
            import altair
        except ImportError as missing:
            hint = "charts need Altair: pip install 'ftlab[plot]'"
            raise ImportError(hint) from missing
        spec = self.spec
        if spec.get("width") == "container":
            spec["width"] = width
        # Only the outermost chart may have these; Altair adds its own.
        for name in ("$schema", "autosize"):
            spec.pop(name, None)
        # Composed charts may not have two tables of the same name.
        spec["data"].pop("name", None)
        chart: altair.TopLevelMixin = _built(spec, altair)
        return chart

    def to_svg(self) -> str:
        """The figure as SVG for a paper, as ``--svg`` of the command writes it."""
        return _native.figure_svg(self.spec_json, self.title, self.caption)

    def to_pdf(self) -> bytes:
        """The SVG as a PDF of one page (package ``vl-convert-python``)."""
        pdf: bytes = _convert().svg_to_pdf(self.to_svg())
        return pdf

    def to_png(self, scale: float = 3.0) -> bytes:
        """The SVG as PNG, ``scale`` times as large (package ``vl-convert-python``)."""
        if not isinstance(scale, (int, float)) or not scale > 0:
            raise UsageError(f"the scale of a picture is a number above 0, and not {scale!r}")
        png: bytes = _convert().svg_to_png(self.to_svg(), scale=scale)
        return png

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to a file: ``.svg``, ``.pdf``, ``.png``, or ``.json`` for its spec.

        Raises
        ------
        UsageError
            The name ends otherwise, or the trace would be overwritten.
        FileNotFoundError
            There is no such folder.
        """
        refuse_no_file(path)
        path = Path(path)
        makers: dict[str, Callable[[], bytes]] = {
            ".svg": lambda: self.to_svg().encode(),
            ".pdf": self.to_pdf,
            ".png": self.to_png,
            ".json": lambda: self.spec_json.encode(),
        }
        if path.suffix not in makers:
            raise UsageError(f"{path} ends in none of {', '.join(makers)}")
        write_file(path, makers[path.suffix](), self._read)

    def _repr_mimebundle_(self, **arguments: Any) -> Any:
        """A picture, because charts of Altair load their program from the network."""
        try:
            return {"image/svg+xml": self.to_svg(), "text/plain": f"{self.title}: {self.caption}"}
        except ImportError:
            return self.chart()._repr_mimebundle_(**arguments)


def _built(spec: dict[str, Any], altair: Any) -> Any:
    """A chart whose parts are charts, too, so that each can be made interactive."""
    # A whole chart must have data; its parts need not.
    chart = altair.Chart.from_dict({"data": {"values": []}, **spec})
    if "data" not in spec:
        chart.data = altair.Undefined
    for parts in ("layer", "hconcat", "vconcat"):
        if parts in spec:
            chart[parts] = [_built(part, altair) for part in spec[parts]]
    if "spec" in spec:
        chart.spec = _built(spec["spec"], altair)
    return chart


def of(runs: Runs | Lives | Sweep) -> list[Figure]:
    """All figures for which results have data, in the order of a report.

    ``runs`` is a result, a comparison, a dict of results by label, or results, which are then
    labelled by their FTL; or lives, or a sweep. Figures along the trace need ``interval="auto"``.

    Raises
    ------
    UsageError
        Two results have the same label, or there are none.
    TypeError
        There is something that is no result, such as a row of a sweep.
    """
    from ftlab.sweeps import Sweep

    if isinstance(runs, Sweep):
        return runs.figures
    if isinstance(runs, Lives):
        return drawn(runs._native.figures(), runs._read)
    labels, results = _labelled(runs)
    figures = _native.figures_json(labels, [result.to_json() for result in results])
    return drawn(figures, [file for result in results for file in result._read])


def drawn(figures: str, read: Iterable[str]) -> list[Figure]:
    """Figures that are given as JSON, of traces in the files ``read``."""
    return [Figure(**fields, _read=tuple(read)) for fields in frozen.read(figures)]


def _labelled(runs: Runs) -> tuple[list[str], list[Result]]:
    if isinstance(runs, Result):
        return [runs.ftl], [runs]
    if isinstance(runs, Comparison):
        return runs.labels, list(runs)
    if isinstance(runs, Mapping):
        refuse_others(list(runs), list(runs.values()))
        return list(runs), list(runs.values())
    if not isinstance(runs, Iterable):
        raise TypeError(f"figures are of results, and not of a value of type {kind(runs)}")
    results = list(runs)
    refuse_others((), results)
    labels = [result.ftl for result in results]
    refuse_twice(labels)
    return labels, results


def _convert() -> Any:
    try:
        import vl_convert
    except ImportError as missing:
        hint = "PDF and PNG need vl-convert: pip install 'ftlab[plot]'"
        raise ImportError(hint) from missing
    return vl_convert
