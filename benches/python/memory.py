#!/usr/bin/env python3
"""Measure the memory that replaying columns takes above that of the device.

    python benches/python/memory.py [--rows 5000000] [--library pandas|numpy|polars|pyarrow]

Two runs replay writes to the same few pages of the same device: one of a generated workload, which
takes no memory for requests, and one of columns with as many requests. Each runs in a process of
its own. The figure is how much more the peak (VmHWM) of the second grew over what the process had
before the run; the columns themselves are there before. It is at most 1.2 times their size.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from typing import Any

DEVICE = {"capacity": "64MiB", "warmup": 0, "precondition": "none"}
BYTES_A_ROW = 8 + 1 + 8 + 4 + 2 + 1
ALLOWED = 1.2


def status(field: str) -> int:
    """A field of the memory of this process, in bytes."""
    with open("/proc/self/status", encoding="ascii") as lines:
        line = next(line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def forget_peak() -> None:
    """Let the peak count from now on."""
    with open("/proc/self/clear_refs", "w", encoding="ascii") as control:
        control.write("5")


def columns(rows: int) -> dict[str, Any]:
    """Writes to all pages of the device, one after the other."""
    import numpy as np

    offset = np.arange(rows, dtype=np.uint64)
    offset %= 16384
    offset *= np.uint64(4096)
    return {
        "time_ns": np.arange(rows, dtype=np.uint64),
        "op": np.full(rows, 1, dtype=np.uint8),
        "offset": offset,
        "bytes": np.full(rows, 4096, dtype=np.uint32),
        "device": np.zeros(rows, dtype=np.uint16),
        "flags": np.zeros(rows, dtype=np.uint8),
    }


def table(rows: int, library: str) -> Any:
    """The columns as a table of a library."""
    data = columns(rows)
    if library == "numpy":
        return data
    if library == "pandas":
        import pandas

        return pandas.DataFrame(data, copy=False)
    if library == "polars":
        import polars

        return polars.DataFrame(data)
    import pyarrow

    return pyarrow.table(data)


def measured(trace: Any) -> dict[str, float]:
    """The growth of this process while it replays a trace, and the time that it takes."""
    import ftlab

    # What is loaded and allocated once is no part of a run.
    ftlab.run("uniform:writes=10", **DEVICE)
    if not isinstance(trace, str):
        ftlab.run({name: [1] for name in ("op", "offset", "bytes")}, **DEVICE)
    forget_peak()
    before, started = status("VmRSS"), time.perf_counter()
    ftlab.run(trace, **DEVICE)
    return {"bytes": status("VmHWM") - before, "seconds": time.perf_counter() - started}


def in_process(rows: int, library: str) -> dict[str, float]:
    """The same in a process of its own."""
    words = [sys.executable, __file__, "--rows", str(rows), "--library", library, "--measure"]
    run = subprocess.run(words, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(run.stdout)
    return found


def main() -> int:
    """Print the figures; fail if the columns take too much."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--library", default="pandas")
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        workload = f"sequential:writes={chosen.rows}"
        trace = workload if chosen.library == "none" else table(chosen.rows, chosen.library)
        print(json.dumps(measured(trace)))
        return 0
    device = in_process(chosen.rows, "none")
    replayed = in_process(chosen.rows, chosen.library)
    taken, size = replayed["bytes"] - device["bytes"], BYTES_A_ROW * chosen.rows
    print(f"columns of {chosen.library}: {chosen.rows} rows, {size / 1e6:.1f} MB")
    print(f"run of a workload: {device['bytes'] / 1e6:.1f} MB, {device['seconds']:.2f} s")
    print(f"run of the columns: {replayed['bytes'] / 1e6:.1f} MB, {replayed['seconds']:.2f} s")
    print(f"above the device: {taken / 1e6:.1f} MB = {taken / size:.3f} of the columns")
    return int(taken > ALLOWED * size)


if __name__ == "__main__":
    sys.exit(main())
