"""What there is to choose from: the lists of ``ftlab list``.

Each entry is a dict with ``name``, ``summary``, ``source`` and ``params``; a parameter has a
``name``, ``kind``, ``choices``, ``default`` (a text; ``None`` if there is none), ``unit`` and
``doc``.
"""

from __future__ import annotations

import json
from typing import Any

from ftlab import _native

Entries = list[dict[str, Any]]


def _entries(name: str) -> Entries:
    entries: Entries = json.loads(_native.list_json(name))
    return entries


def list_ftls() -> Entries:
    """Flash translation layers, for ``ftl=``."""
    return _entries("ftls")


def list_chips() -> Entries:
    """Flash chips, for ``chip=``; latencies of a chip are in nanoseconds."""
    return _entries("chips")


def list_workloads() -> Entries:
    """Workloads that can be generated, in place of a trace."""
    return _entries("workloads")


def list_formats() -> Entries:
    """Formats of trace files, for ``format=``."""
    return _entries("formats")


def list_layers() -> Entries:
    """Layers above an FTL, which have options of their own."""
    return _entries("layers")


def list_victims() -> Entries:
    """Victim policies of garbage collection, for ``victim=`` of several FTLs."""
    return _entries("victims")


def list_drives() -> Entries:
    """Drives with channels and dies, for ``drive=``."""
    return _entries("drives")


def list_wear() -> Entries:
    """Policies of wear levelling, for ``wear=``."""
    return _entries("wear")
