"""Films are those of the command, and a notebook shows them."""

from __future__ import annotations

import html
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ftlab
import pytest

Command = Callable[..., "subprocess.CompletedProcess[str]"]

TRACE = "skew:writes=2K,pages=700"
CHIP = "slc-fast2010:pages_per_block=16"
DEVICE: dict[str, Any] = {"capacity": "2MiB", "chip": CHIP, "extra": "12blocks"}
WORDS = [word for name, value in DEVICE.items() for word in (f"--{name}", value)]


def test_a_film_has_the_bytes_of_the_command(command: Command, tmp_path: Path) -> None:
    data, page, mine = (tmp_path / name for name in ("f.film", "f.html", "mine.html"))
    done = command("run", TRACE, "--ftl", "fast", *WORDS, "--film", page, "--film-data", data)
    assert done.returncode == 0, done.stderr
    film = ftlab.film(TRACE, "fast", **DEVICE)
    assert film.data == data.read_bytes()
    film.write(mine)
    assert mine.read_bytes() == page.read_bytes()
    assert film.left_out == "" and film.labels == ["fast"]
    assert film.results["fast"] == ftlab.run(TRACE, ftl="fast", **DEVICE)


def test_two_films_are_side_by_side(command: Command, tmp_path: Path) -> None:
    words = ["--ftl", "bast", "--ftl", "fast", *WORDS, "--film", tmp_path / "f.html"]
    done = command("compare", TRACE, *words)
    assert done.returncode == 0, done.stderr
    film = ftlab.film(TRACE, ["bast", "fast"], **DEVICE)
    assert film.to_html() == (tmp_path / "f.html").read_text(encoding="utf-8")
    assert repr(film) == "<ftlab.Film: bast beside fast>"
    with pytest.raises(ftlab.UsageError, match="of two FTLs"):
        _ = film.data


def test_a_notebook_shows_the_page_and_lets_it_see_nothing_else() -> None:
    film = ftlab.film(TRACE, **DEVICE)
    shown = film._repr_html_()
    before, page = shown.split(' srcdoc="')
    page, after = page.split('"', 1)
    assert before == "<iframe"
    assert html.unescape(page) == film.to_html()
    assert 'sandbox="allow-scripts allow-downloads"' in after


def test_what_cannot_be_filmed_is_refused() -> None:
    with pytest.raises(TypeError, match="two side by side, and these are 3"):
        ftlab.film(TRACE, ["page", "fast", "bast"])
    with pytest.raises(ftlab.UsageError, match="called `page`"):
        ftlab.film(TRACE, ["page", "page"])
    with pytest.raises(ftlab.UsageError, match="a film shows each page, at most 4194304"):
        ftlab.film(TRACE, capacity="64GiB")
