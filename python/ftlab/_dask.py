"""A sweep on a Dask cluster: each run is a task, and the client keeps its result at once.

A scheduler that loses a worker also forgets the results that only this worker had. So the client
fetches each result as soon as it is there, and writes it to its journal. A lost worker then costs
only the runs that it was working on.

A client that has lost its scheduler says nothing: its futures stay pending. So the connection is
watched while the sweep waits, and the journal keeps what was done.
"""

# mypy: disable-error-code="no-untyped-call"
from __future__ import annotations

import hashlib
import os
import pkgutil
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

try:
    import distributed
    from distributed.worker import thread_state  # type: ignore[attr-defined]
except ImportError as missing:
    raise ImportError("a sweep on a cluster needs Dask: pip install 'ftlab[dask]'") from missing

from ftlab import _native
from ftlab.errors import Error, RunError, UsageError
from ftlab.given import kind
from ftlab.progress import ProgressCallback

SENT_BYTES_MAX = 2 << 30
"""Bytes of trace files that are sent at most; the scheduler keeps them in memory."""

PATIENCE_S = 60.0
"""Seconds for which a task waits for traces that are on their way to its worker."""

SHOWN_EVERY_S = 0.1

LOST_S = 45.0
"""Seconds without a scheduler after which a sweep ends; by default, clients try for 30."""

IDLE_S = 10.0
"""Seconds without a result after which the workers of a cluster are counted."""

WAIT_S = 0.02

TRIES_MAX = 3
"""How often a run is submitted at most."""

ASKED = (pkgutil.resolve_name, "ftlab:__version__")
"""A call that a process without ftlab can unpickle; there it is an ``ImportError``."""

NAMED_MAX = 3
"""Workers that a message names at most."""

AGAIN = "-again"
"""The end of the name of a task that gets a second chance."""

Limits = tuple["int | str | None", int]
"""The limit of memory as it was given, and the bytes for cached requests of all traces."""

Copy = tuple[str, str, str]
"""A trace that was sent: its folder, the folder of the copy below that of the worker, the rest."""


def refuse_unusable(client: distributed.Client) -> None:
    """Refuse a client that cannot run a sweep.

    Raises
    ------
    TypeError
        It is no client.
    UsageError
        It is asynchronous, so that its calls return at once; or it is closed.
    """
    if not isinstance(client, distributed.Client):
        raise TypeError(
            "the client of a sweep is a distributed.Client, such as "
            f"Client('tcp://scheduler:8786'), and not a value of type {kind(client)}"
        )
    if client.asynchronous:
        raise UsageError(
            "the client is asynchronous, and a sweep waits for its rows; in a coroutine use "
            "await asyncio.to_thread(ftlab.sweep, plan, Client(address), …), with a client that "
            "is not asynchronous"
        )
    if client.status in ("closing", "closed"):
        raise UsageError("the client is closed; a sweep on a cluster needs one that is connected")


def run(
    client: distributed.Client,
    plan: _native.NativePlan,
    sweep: _native.NativeSweep,
    send_traces: bool,
    memory_limit: int | str | None,
    progress: ProgressCallback | None,
    journal: str | None,
) -> list[int]:
    """Run the rows that the journal does not have, and keep them in it.

    ``journal`` is its name for messages; without a name it ends with the sweep.

    Returns the rows that the cluster lost again and again, which the journal does not have.
    """
    rows = plan.largest_first(sweep.missing())
    if not rows:
        return []
    connection = _Connection(client, journal)
    with connection.watched():
        _refuse_without_ftlab(client, connection)
    orders, cache_bytes = plan.orders(rows), plan.cache_bytes
    plugin = SentTraces(plan.trace_files(rows)) if send_traces else None
    tasks = _Tasks(client, orders, rows, plugin, (memory_limit, cache_bytes))
    try:
        with connection.watched():
            if plugin is not None:
                client.register_plugin(plugin)
            _keep_as_completed(tasks, connection, sweep, len(plan), progress)
    finally:
        # Without a scheduler there is nobody to tell; nothing of this may hide what was raised.
        if client.status == "running":
            tasks.cancel()
            if plugin is not None:
                client.unregister_worker_plugin(plugin.name)
    return sorted(tasks.lost)


def _refuse_without_ftlab(client: distributed.Client, connection: _Connection) -> None:
    """Refuse a cluster that cannot import ftlab.

    A worker that cannot ends at its first task and says so only in its log, while the client waits.
    So the scheduler and all workers are asked before anything of ftlab is sent. Where there are no
    workers yet, a task asks the first one, because some clusters start workers for tasks only.
    """
    try:
        client.run_on_scheduler(*ASKED)
    except ImportError as missing:
        raise _without_ftlab("the scheduler", missing) from missing
    except ValueError:
        pass  # Some schedulers are set up to run no functions.
    if not client.nthreads():
        first = client.submit(*ASKED, pure=False)
        while not first.done():
            connection.check()
            time.sleep(WAIT_S)
    answers = client.run(*ASKED, on_error="return")
    lacking = {name: it for name, it in answers.items() if isinstance(it, ImportError)}
    if lacking:
        names = ", ".join(list(lacking)[:NAMED_MAX])
        more = f" and {len(lacking) - NAMED_MAX} more" if len(lacking) > NAMED_MAX else ""
        workers = "the worker" if len(lacking) == 1 else "the workers"
        raise _without_ftlab(f"{workers} {names}{more}", next(iter(lacking.values())))


def _without_ftlab(where: str, why: ImportError) -> RunError:
    return RunError(
        f"{where} of the cluster cannot import ftlab ({why}); install ftlab {_native.__version__} "
        "there, as on the client"
    )


class _Connection:
    """The connection of a client to its scheduler."""

    def __init__(self, client: distributed.Client, journal: str | None) -> None:
        self._client = client
        self._kept, self._rest = "without `out` no row is kept", "all rows"
        if journal is not None:
            self._kept, self._rest = f"the rows that are done are in {journal}", "the rest"
        # A client that has closed itself does not know it any more.
        self._address = getattr(client.scheduler, "address", "unknown address")
        self._lost_since: float | None = None
        self._idle_since = time.monotonic()
        self._said = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Whatever is raised here by Dask without a scheduler is the error about that."""
        try:
            yield
        except Error:
            raise
        except Exception as error:
            if self._client.status != "running":
                raise self.gone() from error
            raise

    def has_result(self) -> None:
        """Note that a worker has just given a result."""
        self._idle_since = time.monotonic()

    def check(self) -> None:
        """Raise if the scheduler has been away for too long; say once that there are no workers."""
        if self._client.status == "running":
            self._lost_since = None
            if not self._said and time.monotonic() - self._idle_since > IDLE_S:
                self._look_for_workers()
            return
        now = time.monotonic()
        since = now if self._lost_since is None else self._lost_since
        self._lost_since = since
        if self._client.status in ("closing", "closed") or now - since > LOST_S:
            raise self.gone()

    def _look_for_workers(self) -> None:
        self._idle_since = time.monotonic()
        try:
            workers = self._client.scheduler_info()["workers"].values()
        except OSError:
            return  # The scheduler has just gone, which is noticed elsewhere.
        if any(worker["status"] == "running" for worker in workers):
            return
        self._said = True
        has = "has no workers"
        why = "a worker that cannot import ftlab ends at its first task"
        if workers:
            has = "has only workers that are paused or about to end"
            why = (
                "Dask pauses a worker whose memory is nearly used up, and a worker takes about 80 MiB "
                "before its first row, so start workers with a larger --memory-limit"
            )
        warnings.warn(
            f"the cluster at {self._address} {has}, so the sweep waits for some; {why}; Ctrl-C ends "
            f"the sweep, and {self._kept}",
            stacklevel=7,
        )

    def gone(self) -> RunError:
        """The error for a sweep without a scheduler."""
        return RunError(
            f"the client lost the scheduler of the cluster ({self._address}); {self._kept}, and the "
            f"same call with a new client runs {self._rest}"
        )


def _keep_as_completed(
    tasks: _Tasks,
    connection: _Connection,
    sweep: _native.NativeSweep,
    rows: int,
    progress: ProgressCallback | None,
) -> None:
    shown = 0.0
    completed = distributed.as_completed(tasks.submit(), loop=tasks.client.loop)
    while True:
        if completed.is_empty():
            alone = tasks.next_suspect()
            if alone is None:
                return
            completed.add(alone)
        if not completed.has_ready():
            connection.check()
            time.sleep(WAIT_S)
            continue
        future = next(completed)
        connection.has_result()
        again = tasks.keep(future, sweep)
        if again is not None:
            completed.add(again)
        done = rows - tasks.row_count()
        if progress is not None and (done == rows or time.monotonic() - shown > SHOWN_EVERY_S):
            progress(0, "measure", done, rows)
            shown = time.monotonic()


class _Tasks:
    """The tasks of a sweep. Rows with the same options are the same run, and one task."""

    def __init__(
        self,
        client: distributed.Client,
        orders: list[tuple[str, str]],
        rows: list[int],
        plugin: SentTraces | None,
        limits: Limits,
    ) -> None:
        self.client = client
        self.lost: list[int] = []
        self._same_for_all: dict[str, Any] = {
            "copies": [] if plugin is None else plugin.copies,
            "plugin": None if plugin is None else plugin.name,
            "limits": limits,
        }
        self._orders = dict(orders)
        self._rows: dict[str, list[int]] = {key: [] for key in self._orders}
        for (key, _), row in zip(orders, rows):
            self._rows[key].append(row)
        self._futures: dict[str, distributed.Future[str]] = {}
        self._suspects: list[str] = []
        self._tries = dict.fromkeys(self._orders, 1)

    def row_count(self) -> int:
        """The number of rows that are still to be run."""
        return sum(map(len, self._rows.values()))

    def submit(self) -> list[distributed.Future[str]]:
        """Submit all tasks, named by the keys of their runs."""
        futures = self.client.map(
            run_on_worker,
            list(self._orders.values()),
            key=[f"ftlab-{key}" for key in self._orders],
            **self._same_for_all,
        )
        self._futures = dict(zip(self._orders, futures))
        return list(futures)

    def next_suspect(self) -> distributed.Future[str] | None:
        """Submit the next task that was suspected of the death of a worker, if there is one."""
        if not self._suspects:
            return None
        key = self._suspects.pop(0)
        return self._submit(key, f"ftlab-{key}{AGAIN}")

    def _submit(self, key: str, name: str) -> distributed.Future[str]:
        if self.client.status in ("closing", "closed"):
            # It has given its scheduler up, and cancels all tasks. No run is to blame.
            raise ConnectionError("the client has no scheduler any more")
        self._tries[key] += 1
        if self._tries[key] > TRIES_MAX:
            raise RunError(f"the cluster lost a run {TRIES_MAX} times; what is done is kept")
        order = self._orders[key]
        future = self.client.submit(run_on_worker, order, key=name, **self._same_for_all)
        self._futures[key] = future
        return future

    def keep(
        self, future: distributed.Future[str], sweep: _native.NativeSweep
    ) -> distributed.Future[str] | None:
        """Keep what a task gave. Returns the task that tries it again, if there is one."""
        key = _key(future)
        try:
            outcome = future.result()
        except distributed.KilledWorker:
            self._suspect_or_lose(key, future)
            return None
        except distributed.CancelledError:
            # The scheduler lost the task, for example because it was restarted.
            return self._submit(key, str(future.key))
        except Error:
            raise
        except OSError:
            if future.status == "error":
                raise
            # The connection broke while the result was on its way.
            return self._submit(key, str(future.key))
        except ModuleNotFoundError as missing:
            raise RunError(f"the workers cannot import ftlab: {missing}") from missing
        for row in self._rows.pop(key):
            sweep.keep(row, outcome)
        # The scheduler and the worker can forget the result.
        del self._futures[key]
        future.release()
        return None

    def _suspect_or_lose(self, key: str, future: distributed.Future[str]) -> None:
        # As long as the scheduler knows of the failure, it does not run a task of this name.
        future.release()
        del self._futures[key]
        # A task that only waited on a worker which another task killed is suspected, too. So each
        # gets a second chance: after all others and alone, so that no other can kill its worker.
        if str(future.key).endswith(AGAIN):
            self.lost += self._rows.pop(key)
        else:
            self._suspects.append(key)

    def cancel(self) -> None:
        """Cancel what is left; workers stop these runs within a second."""
        if self._futures:
            self.client.cancel(list(self._futures.values()))


def _key(future: distributed.Future[str]) -> str:
    return str(future.key).removeprefix("ftlab-").removesuffix(AGAIN)


# ---- on the workers ------------------------------------------------------------------------------


def run_on_worker(order: str, copies: list[Copy], plugin: str | None, limits: Limits) -> str:
    """Run an order in a thread of a worker; returns its outcome as JSON."""
    worker = distributed.get_worker()
    here: list[Copy] = []
    if plugin is not None:
        folder = _folder_of(worker, plugin)
        here = [(there, str(folder / copy) + os.sep, rest) for there, copy, rest in copies]
    look = _stop_if_cancelled(worker, thread_state.key)
    limit, cache_bytes = limits
    limit = _limit_of(worker) if limit is None else limit
    return _native.run_order(
        order,
        copies=here,
        look=look,
        memory_limit=limit,
        cache_bytes=cache_bytes,
        worker=worker.address,
    )


def _limit_of(worker: distributed.Worker) -> int | None:
    """Half of the memory that Dask gives the worker; Dask ends a worker that takes all of it."""
    limit = worker.memory_manager.memory_limit
    return None if not limit else int(limit) // 2


def _stop_if_cancelled(worker: distributed.Worker, key: str) -> Callable[..., None]:
    def look(*_: object) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise Cancelled(f"{key} was cancelled")

    return look


class Cancelled(Exception):
    """The client does not want this run any more."""


def _folder_of(worker: distributed.Worker, plugin: str) -> Path:
    """The folder with the traces that were sent, as soon as they are there."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        folder = getattr(worker.plugins.get(plugin), "folder", None)
        if folder is not None:
            return Path(folder)
        time.sleep(0.05)
    raise RunError(f"the traces of the sweep did not arrive within {PATIENCE_S:.0f} s")


def _inside(folder: str) -> str:
    """The beginning of the names of all files in a folder."""
    return folder + os.sep if folder and not folder.endswith(os.sep) else folder


class SentTraces(distributed.WorkerPlugin):
    """Trace files on their way to each worker, also to one that joins later."""

    def __init__(self, traces: list[tuple[str, list[Path]]]) -> None:
        self.folder: str | None = None
        self.copies: list[Copy] = []
        self._files: list[tuple[str, str, bytes]] = []
        for number, (name, files) in enumerate(traces):
            self._add(str(number), name, [os.fspath(file) for file in files])
        digests = [hashlib.sha256(content).hexdigest() for _, _, content in self._files]
        self._digests = digests
        self.name = "ftlab-traces-" + hashlib.sha256("".join(digests).encode()).hexdigest()[:16]

    def _add(self, copy: str, name: str, files: list[str]) -> None:
        """Read the files of a trace, which go to a folder of its own."""
        if not files:
            return  # It is missing, and its rows will say so.
        there = _inside(os.path.dirname(name))
        while not all(file.startswith(there) for file in files):
            there = _inside(os.path.dirname(there.rstrip(os.sep)))
        self.copies.append((there, copy, name.removeprefix(there)))
        for file in files:
            self._files.append((copy, file.removeprefix(there), self._content(file)))

    def _content(self, file: str) -> bytes:
        sent = sum(len(content) for _, _, content in self._files)
        if sent + os.path.getsize(file) > SENT_BYTES_MAX:
            raise RunError(
                f"the traces have more than {SENT_BYTES_MAX} bytes, too many to send; give them "
                "paths that all machines share"
            )
        return Path(file).read_bytes()

    def setup(self, worker: distributed.Worker) -> None:
        """Write the files on a worker, and check that they are whole."""
        folder = tempfile.mkdtemp(prefix="ftlab-traces-", dir=worker.local_directory)
        for (copy, name, content), digest in zip(self._files, self._digests):
            if hashlib.sha256(content).hexdigest() != digest:
                raise RunError(f"trace file {name} was damaged on its way to the worker")
            place = Path(folder, copy, name)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        self._files = []
        self.folder = folder

    def teardown(self, worker: distributed.Worker) -> None:
        """Delete the files."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)
