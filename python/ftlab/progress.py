"""Progress of runs: a callable of the user, or bars in the terminal or notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Union

from ftlab.given import kind

ProgressCallback = Callable[[int, str, int, "int | None"], object]
"""Called at most ten times a second and run: with the index of the run, the name of its stage, and
what is done of what there is to do (``None`` if that is not known). The unit is that of the trace:
bytes of a file, requests of a workload."""

Progress = Union[bool, ProgressCallback, None]
"""``True`` shows bars (package ``tqdm``), a callable is called, ``None`` or ``False`` is silent."""


class Bars:
    """A bar for each run that is under way."""

    def __init__(self, labels: list[str]) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError as missing:
            hint = "progress=True needs tqdm: pip install 'ftlab[progress]'"
            raise ImportError(hint) from missing
        self._tqdm = tqdm
        self._labels = labels
        self._bars: dict[int, Any] = {}
        self._stages: dict[int, str] = {}

    def __call__(self, run: int, stage: str, done: int, total: int | None) -> None:
        """Move the bar of a run; a new stage begins a new pass of the bar."""
        if run not in self._bars:
            self._bars[run] = self._tqdm(unit="", unit_scale=True, leave=False)
        bar = self._bars[run]
        if self._stages.get(run) != stage:
            self._stages[run] = stage
            bar.reset(total=total)
            bar.set_description(f"{self._labels[run]} {stage}".strip())
        bar.update(done - bar.n)

    def close(self) -> None:
        """Remove all bars."""
        for bar in self._bars.values():
            bar.close()


@contextmanager
def shown(progress: Progress, labels: list[str]) -> Iterator[ProgressCallback | None]:
    """The callback for runs with these labels, for the time that they take."""
    if progress is None or progress is False:
        yield None
    elif progress is True:
        bars = Bars(labels)
        try:
            yield bars
        finally:
            bars.close()
    elif callable(progress):
        yield progress
    else:
        raise TypeError(f"progress is True, False or a callable, and not of type {kind(progress)}")
