#!/usr/bin/env python3
"""Confirms the over-provisioning of `ftlab advise` on traces by a fine sweep.

    tools/fine_sweep.py target/release/ftlab TRACE…

Each number of extra blocks around the answer is run for 46 rounds. The falling curve that fits the means of the last 40
best (isotonic regression) meets the target at the sweep's answer. Prints a row of the table in docs/advise.md for each
trace, and ends with exit code 1 if an answer is more than a step off, or a range does not have the sweep's answer.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# Rounds of a run of the sweep, and those of them that are left out.
ROUNDS, LEAD_IN = 46, 6
# Steps of the advice on both sides of its range.
AROUND = 3


def advice(ftlab: str, trace: str, target: float) -> dict:
    """The advice on a trace."""
    words = [ftlab, "advise", trace, "--target", str(target), "--depths", "1", "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)["advices"][0]


def cost(ftlab: str, trace: str, found: dict, extra_blocks: int) -> float:
    """Write amplification of a run with this number of extra blocks, after many rounds."""
    device, look = found["device"], found["look"]
    pages = device["capacity_bytes"] // look["page_bytes"]
    millionths = device["round_passes"] * look["page_writes"] * 10**8 // pages
    whole_passes = f"{millionths // 10**6}.{millionths % 10**6:06d}%"
    # No window meets a rule as strict as this, so all rounds are run.
    until = f"steady:rounds={ROUNDS},round={whole_passes},range=0.000001%,slope=0.000001%"
    words = [ftlab, "run", trace, "--fit", device["fit"], "--chip", device["chip"], "--quiet"]
    words += ["--extra", f"{extra_blocks}blocks", "--warmup", "0", "--until", until, "--json", "-"]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    # A device whose rounds are all alike is steady at once.
    rounds = json.loads(done.stdout)["steady"]["write_amplification"]
    late = rounds[LEAD_IN:] or rounds[-1:]
    return sum(late) / len(late)


def falling(values: list[float]) -> list[float]:
    """The falling curve that fits best."""
    runs: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while runs and total / count > runs[-1][0] / runs[-1][1]:
            other, others = runs.pop()
            total, count = total + other, count + others
        runs.append((total, count))
    return [total / count for total, count in runs for _ in range(count)]


def confirm(ftlab: str, trace: str, target: float) -> bool:
    """Prints the row of a trace. Returns whether the sweep confirms its advice."""
    found = advice(ftlab, trace, target)
    spare = found["spare"].get("found")
    name = "/".join(Path(trace).parts[-2:]).removesuffix(".zst")
    if spare is None or spare["sizing"]["least"] is None:
        print(f"| `{name}` | no answer |", flush=True)
        return True
    sizing, step = spare["sizing"], spare["step_blocks"]
    least, blocks = sizing["least"]["extra_blocks"], sizing["logical_blocks"]
    low = sizing["range"]["from"]["extra_blocks"]
    high = sizing["range"]["to"]["extra_blocks"] if sizing["range"]["to"] else blocks
    tried = range(max(2, low - AROUND * step), high + AROUND * step + 1)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        costs = list(pool.map(lambda extra: cost(ftlab, trace, found, extra), tried))
    swept = tried[sum(fitted > target for fitted in falling(costs))]
    percent = [f"{100 * extra / blocks:.1f} %" for extra in (least, low, high, swept)]
    steps = abs(least - swept) / step
    print(
        f"| `{name}` | {percent[0]} | {percent[1]} to {percent[2]} | {percent[3]} | {steps:.1f} |",
        flush=True,
    )
    return steps <= 1 and low <= swept <= high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ftlab", help="the command")
    parser.add_argument("traces", nargs="+", help="the traces")
    parser.add_argument("--target", type=float, default=1.5, help="the write amplification")
    given = parser.parse_args()
    confirmed = [confirm(given.ftlab, trace, given.target) for trace in given.traces]
    sys.exit(0 if all(confirmed) else 1)


if __name__ == "__main__":
    main()
