"""Sweeps: the runs of a plan, on the cores of this machine or on a Dask cluster."""

from __future__ import annotations

import json
import os
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn, overload

from ftlab import _native, frozen
from ftlab._plan_text import placed, plan_text
from ftlab.errors import RunError, UsageError
from ftlab.figures import Figure, drawn
from ftlab.given import in_python, kind, spelt, there
from ftlab.progress import Progress, shown
from ftlab.rows import ArrowRows
from ftlab.tables import rows_html
from ftlab.written import Files, files_of_plan, write_files, write_page

if TYPE_CHECKING:
    import distributed

    from ftlab.policy import Policy

LOST = (
    "the worker that ran this row died each time it was tried, perhaps because the row needs more "
    "memory than a worker has; the same sweep with the same `out` runs only such rows again"
)
"""Why a row failed that the workers of a cluster did not survive."""

SHOWN_ROWS = 100
"""Rows that a notebook shows at most."""


@spelt
def sweep(
    plan: str | os.PathLike[str] | Mapping[str, Any],
    client: distributed.Client | None = None,
    *,
    out: str | os.PathLike[str] | None = None,
    scale: str = "full",
    traces: str | os.PathLike[str] | None = None,
    report: str | os.PathLike[str] | None = None,
    send_traces: bool = False,
    jobs: int | None = None,
    memory: int | str | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    policies: Mapping[str, Callable[[], Policy]] | None = None,
) -> Sweep:
    """Run all rows of a plan; rows, order and bytes are those of ``ftlab sweep``.

    Parameters
    ----------
    plan
        The path of a TOML file, the text of one (it has a line break), or the same as a dict:
        ``{"base": {"capacity": "1GiB"}, "grid": [{"ftl": ["page", "fast"]}]}``.
    client
        ``None`` runs the rows on the cores of this machine. A ``distributed.Client`` makes each row
        a task of its cluster, and keeps its result as soon as it is done.
    out
        File for the rows, ending in ``.csv`` or ``.jsonl``. Until all rows are done, a journal
        beside it keeps the finished ones; the same call, or the same ``ftlab sweep``, continues
        from there. Without ``out`` nothing is left of a sweep that is interrupted.
    scale
        ``"full"``, or ``"quick"`` for the reduced sizes of the plan.
    traces
        Folder of the trace files; by default the current one.
    report
        File for a page of HTML with the figures of the plan.
    send_traces
        Send the trace files to the workers, for clusters without a file system that they share.
        The scheduler keeps the files in memory.
    jobs, memory
        Only without a client: the number of runs at a time (default: cores), and memory for
        requests of traces that they share, in bytes or as ``"2GiB"`` (default 1 GiB).
    progress
        ``True`` for a bar, or a callable as for :func:`ftlab.run`: it gets ``0``, ``"measure"``, the
        number of rows that are done, and the number of all.
    memory_limit
        Memory that all runs of a process may take together: bytes, a size such as ``"8GiB"``, or
        ``"unlimited"``. By default half of what is available; a worker of Dask with a limit takes
        at most half of that limit.
    policies
        Policies that the plan names as ``policy``: for each name a class derived from
        :class:`ftlab.policy.Policy`, or a function that makes one, because each row gets its own.
        Only without a client.

    Raises
    ------
    UsageError
        A mistake in the plan, with its line and column; a journal of another plan; a worker with
        another version of ftlab or other traces; a client that is asynchronous or closed; ``jobs``
        or ``memory`` beside a client; a policy that is missing.
    TypeError
        The plan, the client or the policies have another type.
    RunError
        The plan cannot be read or the rows cannot be written; no row has a trace that exists
        here; another sweep writes the same rows; the scheduler of the cluster is gone, or it or a worker cannot import ftlab.
    KeyboardInterrupt
        Ctrl-C. Rows that are done are kept in the journal, which the message names.

    A row whose run fails does not raise: see :attr:`Sweep.failed`; a ``UserWarning`` says so if the
    runs of all rows failed. If rows were refused for lack of memory, the journal stays beside the
    rows, and the same call runs only these rows again. A ``UserWarning`` names damaged lines of a
    journal, whose rows are run again. A cluster without workers is waited for, and a
    ``UserWarning`` says so.
    """
    if not isinstance(policies, (Mapping, type(None))):
        raise TypeError(
            "policies are given by the names that the plan gives them, such as "
            f"policies={{'mine': MyPolicy}}, and not as a value of type {kind(policies)}"
        )
    if client is not None:
        from ftlab import _dask

        _dask.refuse_unusable(client)
        if policies:
            raise UsageError("policies run on the cores of this machine: leave the client out")
        for name, value in {"jobs": jobs, "memory": memory}.items():
            if value is not None:
                raise UsageError(
                    f"`{name}` is for runs on this machine, and means nothing for a cluster: leave "
                    "it out, or the client"
                )
    lost: list[int] = []
    native = _read(
        plan,
        scale=scale,
        traces=traces,
        runs_here=client is None,
        memory=memory,
        memory_limit=memory_limit,
    )
    native.refuse_missing_traces()
    with shown(progress, ["rows"]) as callback, _rows_file(out) as file:
        page = None if report is None else os.fspath(report)
        journal = f"{file}.journal"
        there = f"in {journal}; the same call goes on there"
        running = _native.NativeSweep(
            native,
            file,
            page,
            is_temporary=out is None,
            jobs=jobs,
            policies=dict(policies or {}),
        )
        for warning in running.warnings:
            warnings.warn(warning, stacklevel=3)
        try:
            if client is None:
                running.run(progress=callback, memory_limit=memory_limit)
            else:
                kept = None if out is None else journal
                lost = _dask.run(client, native, running, send_traces, memory_limit, callback, kept)
            for row in lost:
                running.keep_refused(row, LOST)
            done = Sweep(native.title, running.finish(), files_of_plan(native))
        except KeyboardInterrupt:
            if out is None:
                raise
            raise KeyboardInterrupt(f"the rows that are done are {there}") from None
        except (RunError, UsageError) as error:
            # One that names the journal says what is to be done about it.
            if out is not None and os.path.exists(journal) and journal not in str(error):
                error.args = (f"{error}; rows that are done, if any, are {there}",)
            raise
        finally:
            running.close()
    if done._failed and len(done._failed) == len(done):
        first = done[0]["sweep"]["error"]["message"]
        warnings.warn(f"the runs of all rows failed; the first: {first}", stacklevel=3)
    return done


def _read(plan: str | os.PathLike[str] | Mapping[str, Any], **options: Any) -> _native.NativePlan:
    if isinstance(plan, str) and not plan.strip():
        raise UsageError("the plan is an empty text; give the path of a TOML file, its text, or a dict")
    if isinstance(plan, Mapping):
        if not plan:
            raise UsageError(
                "the plan is an empty dict; give at least a base, such as {'base': {'trace': 'oltp'}}"
            )
        text = plan_text(plan)
        try:
            return _native.NativePlan.parse(text, **options)
        except UsageError as error:
            raise UsageError(placed(str(error), text)) from None
    if isinstance(plan, str) and "\n" in plan:
        return _native.NativePlan.parse(plan, **options)
    if not isinstance(plan, (str, os.PathLike)):
        raise TypeError(
            "a plan is a dict, or the path or the text of a TOML file, and not a value of type "
            f"{kind(plan)}"
        )
    return _native.NativePlan.read(plan, **options)


@contextmanager
def _rows_file(out: str | os.PathLike[str] | None) -> Iterator[str]:
    if out is not None:
        yield os.fspath(out)
        return
    with tempfile.TemporaryDirectory(prefix="ftlab-sweep-") as folder:
        yield os.path.join(folder, "rows.jsonl")


class Sweep(ArrowRows, Sequence["dict[str, Any]"]):
    """The rows of a finished sweep, in the order of the plan.

    ``sweep[3]["write_amplification"]`` reads a field of row 3; ``docs/results.md`` describes all.
    ``row["sweep"]`` has the varied options and, if the run failed, why. Sweeps are equal if their
    rows are in the csv form, whatever their titles and claims.
    """

    def __init__(self, title: str, native: _native.NativeRows, read: Files) -> None:
        self.title = title
        self._read = read
        self._native: _native.NativeRows | None = native
        self._latex = native.latex
        self._rows = native.rows
        self._failed = native.failed
        self._claims = native.claims
        self._figures = native.figures
        self._summary = native.summary

    @classmethod
    @spelt
    def read(
        cls,
        rows: str | os.PathLike[str],
        plan: str | os.PathLike[str] | Mapping[str, Any] | None = None,
        *,
        scale: str = "full",
        traces: str | os.PathLike[str] | None = None,
    ) -> Sweep:
        """The rows in a file that a sweep wrote, ``.csv`` or ``.jsonl``.

        ``rows`` may also be the journal beside it (``rows.csv.journal``): then these are the rows
        that are done so far, while the sweep runs here or elsewhere, or after it was interrupted.
        Claims, and the options that the captions of tables and pages name, need the plan, with its
        ``scale`` and ``traces``; everything else follows from the rows.

        Raises:
            UsageError: the file has no rows of a sweep, those of another plan, or a row with a
                field that is missing or of another kind.
            RunError: the file cannot be read.
        """
        options = {"scale": scale, "traces": traces, "runs_here": False}
        native = None if plan is None else _read(plan, **options)
        found = _native.NativeRows.read(rows, native)
        if found.warning is not None:
            warnings.warn(found.warning, stacklevel=3)
        if native is None:
            return cls("", found, ())
        sweep = cls(native.title, found, files_of_plan(native))
        sweep._say_how_many(len(native))
        return sweep

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...
    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...
    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        """A row by its number, from 0; it is read from its JSON each time.

        The message of a row that failed names arguments of Python.
        """
        if isinstance(index, slice):
            return [_read_row(row) for row in self._rows[index]]
        return _read_row(self._rows[there(index, len(self), "row")])

    def __len__(self) -> int:
        return len(self._rows)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """The rows whose run failed; ``row["sweep"]["error"]`` says why: exit code and message."""
        return [self[row] for row in self._failed]

    @property
    def claims(self) -> list[dict[str, Any]]:
        """The claims of the plan: ``id``, ``says``, ``verdict`` and the ``cells`` behind it.

        A verdict is ``"holds"``, ``"falls short"`` or ``"undecided"``.
        """
        claims: list[dict[str, Any]] = frozen.read(self._claims)
        return claims

    @property
    def figures(self) -> list[Figure]:
        """The figures of the page of ``ftlab sweep --report``, apart from those of its traces."""
        return drawn(self._figures, self._read)

    def _say_how_many(self, planned: int) -> None:
        """Say how many rows of a plan are there, if some are missing; the summary counts all."""
        if len(self) < planned:
            rows = "row" if planned == 1 else "rows"
            all_rows = f"{planned:,} {rows} in "
            there = f"{len(self):,} of {all_rows}"
            self._summary = self._summary.replace(f": {all_rows}", f": {there}", 1)

    def _given_rows(self) -> Sequence[str]:
        return self._rows

    def to_jsonl(self) -> str:
        """The rows as ``ftlab sweep --out rows.jsonl`` writes them, byte for byte."""
        return _native.rows_text(self._rows, "jsonl")

    def to_csv(self) -> str:
        """The rows as ``ftlab sweep --out rows.csv`` writes them, byte for byte."""
        return _native.rows_text(self._rows, "csv")

    def to_latex(self) -> str:
        """The table that ``ftlab sweep --latex`` writes: LaTeX with booktabs, for a paper."""
        return self._latex

    def write_svg(self, folder: str | os.PathLike[str]) -> None:
        """Write the figures to a folder, as ``ftlab sweep --svg`` does, apart from those of traces.

        They have the widths and letters of a two-column page; ``figures.tex`` places them with
        their captions.

        Raises:
            UsageError: the sweep came by pickle, without what its figures are drawn from; or a
                trace would be overwritten.
        """
        if self._native is None:
            raise UsageError(
                "a sweep that came by pickle writes no figures for a paper: write them where it "
                "ran, or save those of `figures` one by one"
            )
        write_files(folder, self._native.svg(), self._read)

    def write_report(self, path: str | os.PathLike[str]) -> None:
        """Write the page of ``ftlab sweep --report``, apart from what it says of the traces.

        Raises:
            UsageError: the sweep came by pickle, without what its page is made from; a trace
                would be overwritten; or the name is that of another format than HTML.
        """
        if self._native is None:
            raise UsageError("a sweep that came by pickle has no page: write it where it ran")
        write_page(path, self._native.page(), self._read)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_native": None}

    def __eq__(self, other: object) -> bool:
        """Whether all rows are equal in their csv form; titles and claims are not compared."""
        if not isinstance(other, Sweep):
            return NotImplemented
        return self.to_csv() == other.to_csv()

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        """What ``ftlab sweep`` prints: failed rows, notes, and the verdicts of the claims.

        Messages and notes name arguments of Python.
        """
        return in_python(self._summary)

    def _repr_html_(self) -> str:
        shown = self[:SHOWN_ROWS]
        varied = list(dict.fromkeys(name for row in shown for name in row["sweep"]["varied"]))
        head = ["row", *varied, "write amplification", ""]
        rows = [
            [
                row["sweep"]["row"],
                *(row["sweep"]["varied"].get(name, "") for name in varied),
                _decimals(row.get("write_amplification")),
                (row["sweep"].get("error") or {}).get("message", ""),
            ]
            for row in shown
        ]
        after = [f"{claim['id']}: {claim['says']}: {claim['verdict']}" for claim in self.claims]
        if len(self) > len(shown):
            after.insert(0, f"{len(self)} rows, of which {len(shown)} are shown")
        return rows_html(head, rows, after)

    def __repr__(self) -> str:
        failed = f", {len(self._failed)} failed" if self._failed else ""
        return f"<ftlab.Sweep: {self.title or 'sweep'}, {len(self)} rows{failed}>"


class _FailedRow(frozen.FrozenDict):
    """A row of a run that failed, which has no results."""

    def __missing__(self, name: object) -> NoReturn:
        raise KeyError(
            f"there is no field {name!r}; the run of this row failed, and row['sweep']['error'] "
            "says why"
        )


def _read_row(text: str) -> dict[str, Any]:
    row: dict[str, Any] = json.loads(text)
    error = row["sweep"].get("error")
    if error:
        error["message"] = in_python(error["message"])
    frozen_row: frozen.FrozenDict = frozen.frozen(row)
    return _FailedRow(frozen_row) if error else frozen_row


def _decimals(number: float | None) -> str:
    return "–" if number is None else f"{number:.4f}"
