#!/usr/bin/env python3
"""Time of a run from Python beside the same run by the command, in interleaved rounds.

    python benches/python/overhead.py --command target/release/ftlab

Both must be built with the same profile. The times include what a user waits for: the start of the
command, and in Python the call and the reading of the result. It prints the median of the ratios.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import time

import ftlab

# Rounds of several seconds: the map of dftl costs about two microseconds a request.
OPTIONS = {"ftl": "dftl:cmt=256KiB", "capacity": "256MiB", "extra": "20%", "warmup": 0}


def from_python(trace: str) -> tuple[float, dict[str, object]]:
    """Seconds of a run from Python, and its counts of programs."""
    began = time.perf_counter()
    result = ftlab.run(trace, **OPTIONS)  # type: ignore[arg-type]
    programs = result["programs"]
    return time.perf_counter() - began, programs


def from_command(command: str, trace: str) -> tuple[float, dict[str, object]]:
    """Seconds of a run by the command, and its counts of programs."""
    options = [word for name, value in OPTIONS.items() for word in (f"--{name}", str(value))]
    began = time.perf_counter()
    words = [command, "run", trace, *options, "--json"]
    done = subprocess.run(words, capture_output=True, check=True)
    took = time.perf_counter() - began
    return took, json.loads(done.stdout)["programs"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--command", default="target/release/ftlab")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--trace", default="uniform:writes=5M")
    arguments = parser.parse_args()
    ratios, seconds = [], []
    for number in range(arguments.rounds):
        sides = [
            lambda: from_python(arguments.trace),
            lambda: from_command(arguments.command, arguments.trace),
        ]
        # Which side is first changes from round to round, because the first may find colder caches.
        order = [0, 1] if number % 2 == 0 else [1, 0]
        found = {side: sides[side]() for side in order}
        assert found[0][1] == found[1][1], "both must do the same work"
        ratios.append(found[0][0] / found[1][0])
        seconds.append(found[1][0])
    median, least, most = statistics.median(ratios), min(ratios), max(ratios)
    print(f"Python / command: {median:.4f} ({least:.4f} to {most:.4f}),")
    print(f"median of {len(ratios)} rounds of {statistics.median(seconds):.1f} s")


if __name__ == "__main__":
    main()
