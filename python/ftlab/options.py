"""The options of a run as types, for editors and type checkers.

Made by tools/python_options.py from the options that the command has; not to be edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Union

Value = Union[str, int, float, None]
"""A number, or a text in the notation of the command. ``None`` stands for the default."""


class SharedOptions(TypedDict, total=False):
    """The options that all runs of a comparison share; the documentation describes them."""

    load: Sequence[str] | str | None
    shared: bool | None
    format: Value
    skip_bad: bool | None
    sort: bool | None
    limit: Value
    volume: Value
    each_volume: bool | None
    volumes: Value
    fit: Value
    replay: Value
    flush: Value
    streams: Value
    chip: Value
    capacity: Value
    extra: Value
    media: Value
    reserve: Value
    wear: Value
    precondition: Value
    warmup: Value
    measure_after: Value
    until: Value
    timing: Value
    drive: Value
    interval: Value
    verify: bool | None
    seed: Value
    dram_access: Value
    buffer: Value
    sector_log: Value
    dram: Value
    split: Value


class Options(SharedOptions, total=False):
    """The options of :func:`ftlab.run`, apart from the trace."""

    ftl: Value
    durability: Value
    trim: Value


class LifeOptions(TypedDict, total=False):
    """The options of :func:`ftlab.life`, apart from trace and FTLs."""

    load: Sequence[str] | str | None
    shared: bool | None
    format: Value
    skip_bad: bool | None
    sort: bool | None
    limit: Value
    volume: Value
    fit: Value
    flush: Value
    trim: Value
    streams: Value
    chip: Value
    capacity: Value
    extra: Value
    media: Value
    reserve: Value
    wear: Value
    durability: Value
    precondition: Value
    seed: Value
    dram_access: Value
    buffer: Value
    sector_log: Value
    dram: Value
    split: Value


class AdviceOptions(TypedDict, total=False):
    """The options of :func:`ftlab.advise`, apart from the trace."""

    format: Value
    skip_bad: bool | None
    sort: bool | None
    limit: Value
    volume: Value
    each_volume: bool | None
    volumes: Value
    fit: Value
    ftl: Value
    chip: Value
    capacity: Value
    extra: Value
    drive: Value
    seed: Value
