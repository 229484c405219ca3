"""Runs of one trace: under one FTL, under several, until the flash is worn out, or for advice."""

from __future__ import annotations

import inspect
import os
import textwrap
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from ftlab import _native
from ftlab.advices import Advice
from ftlab.errors import UsageError
from ftlab.films import Film
from ftlab.given import kind, shown_ftl, spelt
from ftlab.lives import Lives
from ftlab.policy import refuse_served
from ftlab.progress import Progress, shown
from ftlab.requests import Requests
from ftlab.result import Comparison, Result, refuse_twice
from ftlab.trace import Trace
from ftlab.written import Files, files_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ftlab.options import AdviceOptions, LifeOptions, Options, SharedOptions
    from ftlab.policy import Policy

N = TypeVar("N", int, float)


@spelt
def run(
    trace: Any = None,
    *,
    policy: Policy | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    **options: Unpack[Options],
) -> Result:
    """Replay one trace on one device under one FTL, and count what it costs.

    Parameters
    ----------
    trace
        A file, a path into an archive such as ``set.tar/*.csv``, or a workload such as
        ``uniform:writes=4M``; by default the built-in OLTP workload. Or requests in memory: a
        DataFrame, an Arrow table, arrays, whatever :class:`ftlab.Requests` takes; give a
        ``Requests`` to pack them once for several runs.
    policy
        Places the pages of ``ftl="page"`` and may choose its victims: an object of
        :class:`ftlab.policy.Policy`. For a first idea, because it is slow; the result names it. An
        object that keeps what it learned serves one run.
    progress
        ``True`` for a bar, or a callable; see :data:`ftlab.progress.ProgressCallback`.
    memory_limit
        Memory that the run may take: bytes, a size such as ``"8GiB"``, or ``"unlimited"``; by
        default half of what is available. A run that would take more is refused.
    **options
        The options of ``ftlab run``, listed below. Numbers may be numbers or texts such as ``4M``.

    Raises
    ------
    UsageError
        Wrong options, or a device that cannot exist.
    RunError
        The trace cannot be read, or the FTL gave up.
    ViolationError
        With ``verify=True``: the FTL returned wrong data.
    Exception
        Whatever a method of the policy raised.
    KeyboardInterrupt
        Ctrl-C, which stops the run within a second.
    """
    _refuse_several(options.get("ftl"))
    with shown(progress, [shown_ftl(options.get("ftl") or "")]) as callback:
        origin = _origin(trace, options)
        given: dict[str, Any] = {"trace": origin.name, **options}
        native = _native.run(
            given,
            requests=origin.packed,
            policy=policy,
            progress=callback,
            memory_limit=memory_limit,
        )
        return Result(native, origin.files())


@spelt
def compare(
    trace: Any = None,
    ftl: str | Iterable[str] = (),
    *,
    durability: str | Iterable[str] | None = None,
    trim: str | Iterable[str] | None = None,
    policy: Policy | Iterable[Policy] | Mapping[str, Policy] | None = None,
    jobs: int | None = None,
    memory: int | str | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    **options: Unpack[SharedOptions],
) -> Comparison:
    """Replay the same trace on the same device under several FTLs, side by side.

    Parameters
    ----------
    trace
        As for :func:`run`. A file is read once for all runs, columns are packed once.
    ftl
        The FTLs, each with its parameters, such as ``["page", "dftl:cmt=64KiB"]``.
    durability
        ``paper``, ``full``, or both: every FTL is run with each.
    trim
        ``honour``, ``ignore``, or both, which shows the effect of discards.
    policy
        Policies of page mapping, each of which is one more column: an object of
        :class:`ftlab.policy.Policy`, several, or a dict of them by label. Without a dict the label
        is the name of the class. They run one after the other, after the FTLs.
    jobs
        Number of runs at a time; by default the number of cores.
    memory
        Memory for the requests that the runs share, 24 bytes each: bytes, or a size such as
        ``"2GiB"``; by default 1 GiB.
    progress, memory_limit, **options
        As for :func:`run`; ``interval="auto"`` adds the series that reports draw.

    Raises
    ------
    As :func:`run`, for the first run that fails.
    """
    ftls, policies = _ftls(ftl, ()), _labelled(policy)
    if not ftls and not policies:
        raise TypeError("compare needs the FTLs to compare, such as ftl=['page', 'fast']")
    durabilities, trims = (
        [one] if one is None or isinstance(one, str) else list(one) for one in (durability, trim)
    )
    for one in policies.values():
        refuse_served(one)
    origin = _origin(trace, options)
    for values in ([*ftls, *policies], durabilities, trims):
        refuse_twice(values, "give it once")
    if policies and len(durabilities) * len(trims) > 1:
        raise TypeError("policies are compared with one durability and one treatment of trims")
    each = [
        {"trace": origin.name, **options, "ftl": one, "durability": of, "trim": with_trims}
        for one in ftls
        for of in durabilities
        for with_trims in trims
    ]
    with shown(progress, [shown_ftl(one["ftl"]) for one in each]) as callback:
        # Without FTLs there are only policies.
        compared = [] if not each else _native.compare(
            each,
            requests=origin.packed,
            jobs=jobs,
            memory=memory,
            progress=callback,
            memory_limit=memory_limit,
        )
    common = {**options, "durability": durabilities[0], "trim": trims[0], "ftl": "page"}
    for label, one in policies.items():
        with shown(progress, [label]) as callback:
            native = _native.run(
                {"trace": origin.name, **common},
                requests=origin.packed,
                policy=one,
                progress=callback,
                memory_limit=memory_limit,
            )
        compared.append((label, native))
    files = origin.files()
    return Comparison(
        [label for label, _ in compared], [Result(native, files) for _, native in compared]
    )


@spelt
def film(
    trace: Any = None,
    ftl: str | Iterable[str] | None = "page",
    *,
    durability: str | None = None,
    trim: str | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    **options: Unpack[SharedOptions],
) -> Film:
    """Replay a trace under one FTL and film what it does, or under two of them, side by side.

    Small devices and a few thousand requests make the clearest films.

    Parameters
    ----------
    trace
        As for :func:`run`.
    ftl
        The FTL with its parameters, such as ``"fast"``, or two, such as ``["bast", "fast"]``.
    durability, trim, progress, memory_limit, **options
        As for :func:`run`.

    Raises
    ------
    As :func:`run`. A device of more than 4,194,304 pages is a ``UsageError``.
    """
    ftls = _ftls(ftl, ("page",))
    if not 1 <= len(ftls) <= 2:
        raise TypeError(f"a film shows one FTL or two side by side, and these are {len(ftls)}")
    refuse_twice(ftls, "give it once")
    origin = _origin(trace, options)
    common = {"trace": origin.name, **options, "durability": durability, "trim": trim}
    each = [{**common, "ftl": one} for one in ftls]
    with shown(progress, [shown_ftl(one) for one in ftls]) as callback:
        native = _native.films(
            each, requests=origin.packed, progress=callback, memory_limit=memory_limit
        )
    return Film(native, origin.files())


def _refuse_several(ftl: object) -> None:
    """Refuse several FTLs in place of one."""
    how = "a run has one FTL; several are compared, as in ftlab.compare(trace, ['page', 'fast'])"
    if isinstance(ftl, str):
        name, _, parameters = ftl.partition(",")
        if ":" not in name and "=" in parameters:
            raise UsageError(f"parameters of an FTL follow a colon: {f'{name}:{parameters}'!r}")
        if "," in ftl.partition(":")[0]:
            raise UsageError(how)
    elif isinstance(ftl, Iterable):
        raise TypeError(how)


def _number(name: str, value: Any, kind: type[N]) -> N:
    """A number that may be given as a text."""
    try:
        number = kind(value)
    except (OverflowError, TypeError, ValueError):
        number = None
    if number is None or (not isinstance(value, str) and number != value):
        whole = "a whole number, such as 32" if kind is int else "a number, such as 1.5"
        raise UsageError(f"`{name}` takes {whole}, and not {value!r}")
    return number


def _ftls(ftl: str | Iterable[str] | None, default: Iterable[str]) -> list[str]:
    """FTLs, of which there may be one, several, or none: then those by default."""
    if isinstance(ftl, Mapping):
        raise TypeError("FTLs have no labels: give a list, such as ftl=['page', 'fast']")
    if isinstance(ftl, str) or not (ftl is None or isinstance(ftl, Iterable)):
        return [ftl]
    return list(default if ftl is None else ftl)


def _labelled(policy: Policy | Iterable[Policy] | Mapping[str, Policy] | None) -> dict[str, Policy]:
    """Policies by label: the names of their classes, unless they have others."""
    if policy is None or isinstance(policy, Mapping):
        labelled = dict(policy or {})
    else:
        policies = list(policy) if isinstance(policy, Iterable) else [policy]
        labels = [type(one).__name__ for one in policies]
        refuse_twice(labels)
        labelled = dict(zip(labels, policies))
    if len({id(one) for one in labelled.values()}) < len(labelled):
        raise UsageError(
            "one policy has two labels, and the runs would share what it has learned: make an "
            "object for each"
        )
    return labelled


@spelt
def life(
    trace: Any = None,
    ftl: str | Iterable[str] | None = "page",
    *,
    jobs: int | None = None,
    memory: int | str | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    **options: Unpack[LifeOptions],
) -> Lives:
    """Repeat a trace on flash that wears out, until the device can only be read.

    Parameters
    ----------
    trace
        As for :func:`run`. A file is read once for all lives, columns are packed once.
    ftl
        One or more FTLs, each with its parameters, such as ``["page", "dftl:cmt=64KiB"]``.
    jobs, memory
        As for :func:`compare`.
    progress, memory_limit
        As for :func:`run`.
    **options
        The options of ``ftlab life``, listed below. ``media`` is needed, such as
        ``media="real:endurance=100"``.

    Raises
    ------
    As :func:`run`, for the first life that fails.
    """
    ftls = _ftls(ftl, ("page",))
    if not ftls:
        raise TypeError("life needs an FTL, such as ftl='page'")
    refuse_twice(ftls, "give it once")
    origin = _origin(trace, options)
    each = [{"trace": origin.name, **options, "ftl": one} for one in ftls]
    with shown(progress, [shown_ftl(one) for one in ftls]) as callback:
        native = _native.lives(
            each,
            requests=origin.packed,
            jobs=jobs,
            memory=memory,
            progress=callback,
            memory_limit=memory_limit,
        )
    return Lives(native, origin.files())


@spelt
def advise(
    trace: Any = None,
    *,
    target: float | str = 1.5,
    depths: int | str | Sequence[int | str] = (1, 8, 32, 128),
    jobs: int | None = None,
    progress: Progress = None,
    memory_limit: int | str | None = None,
    **options: Unpack[AdviceOptions],
) -> Advice:
    """Say which drive a load needs: over-provisioning, endurance, latency, and what helps.

    Parameters
    ----------
    trace
        As for :func:`run`.
    target
        The write amplification for which over-provisioning is sought.
    depths
        The queue depth, or several, at which the trace is replayed.
    jobs
        As for :func:`compare`.
    progress, memory_limit
        As for :func:`run`.
    **options
        The options of ``ftlab advise``, listed below. Chip, addresses, extra blocks and drive are
        those of today unless they are given; ``docs/advise.md`` says which.

    Raises
    ------
    As :func:`run`. A trace that does not answer raises nothing: the advice says why.
    """
    each: list[Any] = [depths]
    if isinstance(depths, Iterable) and not isinstance(depths, str):
        each = list(depths)
    question = (_number("target", target, float), [_number("depths", one, int) for one in each])
    origin = _origin(trace, options)
    with shown(progress, ["advice"]) as callback:
        native = _native.advise(
            {"trace": origin.name, **options},
            question=question,
            requests=origin.packed,
            jobs=jobs,
            progress=callback,
            memory_limit=memory_limit,
        )
    return Advice(native, origin.files())


@dataclass(frozen=True)
class _Origin:
    """Where the requests of a run come from."""

    name: Any
    """The name of a file or workload; ``None`` if there is another origin."""
    loads: Sequence[str] | str | None
    requests: Requests | None

    @property
    def packed(self) -> _native.NativeRequests | None:
        """The requests in memory."""
        return None if self.requests is None else self.requests._native

    def files(self) -> Files:
        """The files that were read. Asked after the run, which says what is wrong with a name."""
        if self.requests is not None:
            return self.requests._read
        return files_of(self.name, self.loads)


def _origin(trace: Any, options: Mapping[str, Any]) -> _Origin:
    """The trace of a run, or its loads. Warns if a replay misses times."""
    loads = options.get("load")
    if isinstance(loads, (list, tuple)) and not loads:
        raise UsageError("`load` is an empty list; give at least one load, or leave it out")
    if trace is None or isinstance(trace, (str, os.PathLike)):
        return _Origin(trace, loads, None)
    if isinstance(trace, (list, tuple)):
        if any(isinstance(one, Mapping) for one in trace):
            raise TypeError(
                "a list of records is a table by rows, and this takes columns: give "
                "pandas.DataFrame(records), or a dict with a list for each column"
            )
        raise TypeError(
            f"this takes one trace, and not a {kind(trace)} of {len(trace)}: call it for each; run, "
            "compare, film and life also send several traces to one device, with "
            "load=['a.csv', 'b.csv']"
        )
    if isinstance(trace, Trace):
        trace = trace.requests()
    requests = Requests._some(trace)
    if options.get("each_volume"):
        raise UsageError(
            "`each_volume` makes a row of each volume in a plan of a sweep, which names a file: write "
            "the requests, as in ftlab.Requests(table).write('trace.csv'), and let the plan name it; "
            "here, select one volume of the column `device`, such as volume='0'"
        )
    replay = str(options.get("replay")).partition(":")[0]
    if replay == "open" and requests._are_all_at_once:
        warnings.warn(
            f"all {len(requests)} requests have the same time (0 without a column `time_ns`), so an "
            "open replay issues them at once; give them their times in this column, or leave out "
            "replay='open'",
            stacklevel=4,
        )
    return _Origin(None, loads, requests)


def _describe(function: Callable[..., Any], takes: Callable[[dict[str, Any]], bool]) -> None:
    """List the options that a function takes in its signature and in its documentation."""
    signature = inspect.signature(function)
    own = [one for one in signature.parameters.values() if one.kind is not one.VAR_KEYWORD]
    names = {one.name for one in own}
    every = filter(takes, _native.run_options())
    options = [option for option in every if option["name"] not in names]
    added = [
        inspect.Parameter(option["name"], inspect.Parameter.KEYWORD_ONLY, default=None)
        for option in options
    ]
    changed = signature.replace(parameters=[*own, *added])
    function.__signature__ = changed  # type: ignore[attr-defined]
    function.__doc__ = inspect.cleandoc(function.__doc__ or "") + "\n\n" + _listed(options)


def _listed(options: list[dict[str, Any]]) -> str:
    lines = ["Options", "-------"]
    for option in options:
        default = option["default"]
        lines.append(option["name"] if default is None else f"{option['name']} = {default}")
        lines += textwrap.wrap(
            f"{option['help']}.", 96, initial_indent="    ", subsequent_indent="    "
        )
    return "\n".join(lines)


def _is_of_runs(option: dict[str, Any]) -> bool:
    """Whether it is an option here; those about each volume are of the command and of sweeps."""
    return option["name"] not in ("each_volume", "volumes")


_describe(run, _is_of_runs)
_describe(compare, _is_of_runs)
_describe(film, _is_of_runs)
_describe(life, lambda option: bool(option["is_of_life"]))
_describe(advise, lambda option: bool(option["is_of_advice"]) and _is_of_runs(option))
