"""Requests as columns, for several tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ftlab
import numpy as np

OPS = np.array(["read", "write", "trim", "flush"])
CAPACITY = 16 << 20
OPTIONS: dict[str, Any] = {"capacity": CAPACITY, "warmup": 0}


def columns(rows: int = 3000, seed: int = 7) -> dict[str, Any]:
    """Requests on three devices, with flushes, empty requests and times that go backwards."""
    random = np.random.default_rng(seed)
    op = random.choice(4, rows, p=[0.3, 0.5, 0.1, 0.1]).astype(np.uint8)
    flushes = op == 3
    length = np.where(flushes, 0, 512 * random.integers(0, 40, rows)).astype(np.uint32)
    flags = np.where(flushes, 2, np.where(op == 1, random.integers(0, 2, rows), 0))
    return {
        "time_ns": (10**15 + 1000 * np.arange(rows) + random.integers(0, 1500, rows)).astype("u8"),
        "op": op,
        "offset": np.where(flushes, 0, 512 * random.integers(0, 8000, rows)).astype(np.uint64),
        "bytes": length,
        "device": (5 + random.integers(0, 3, rows)).astype(np.uint16),
        "flags": flags.astype(np.uint8),
    }


def write_csv(path: Path, data: dict[str, Any]) -> Path:
    """The same requests as a file."""
    lines = ["time_ns,device,rwbs,offset,bytes"]
    letters = ["R", "W", "D", "FW"]
    for time_ns, op, offset, length, device, flags in zip(*data.values(), strict=True):
        word = letters[op] + ("F" if flags & 1 else "")
        lines.append(f"{time_ns},{device},{word},{offset},{length}")
    path.write_text("\n".join(lines) + "\n")
    return path


def figures(result: ftlab.Result) -> dict[str, Any]:
    """All of a result except how long it took and what its trace is called."""
    fields = result.to_dict()
    del fields["wall"], fields["trace"]["name"], fields["trace"]["format"], fields["notes"]
    del fields["run"]["trace_sha256"]
    return fields
