#!/usr/bin/env python3
"""The tables of docs/drives.md: a real drive beside its profile, as Markdown.

    python3 tools/drive_table.py [--drive zoned-nvme:suspend_reads=all] [--requests 1000000]

The figures of the real drive are in docs/data/. Each row is a run of its own with the optimised binary; together they
take half a minute. --drive tries other figures of the profile.
"""

import argparse
import csv
import json
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent
FTLAB = ROOT / "target/release/ftlab"
MEASURED = ROOT / "docs/data/zoned-nvme-reads.csv"
# Appends of 4 KiB a second that the real drive manages at most. Writes of 8 KiB move the same bytes at half the rate.
APPENDS = 298_890
# Metrics, their columns in MEASURED, and the places of printed figures.
METRICS = {
    "IOPS": ("read_iops", 0),
    "mean": ("read_mean_us", 1),
    "p99": ("read_p99_us", 0),
    "p99.9": ("read_p99.9_us", 0),
}


def model(drive: str, requests: int, depth: str, share: int) -> dict:
    """The metrics of one run."""
    # Blocks of 192 MiB lie on 32 dies with 2 planes, so that erases are as rare as on large blocks.
    command = [FTLAB, "run", "--chip", "tlc-3d:page=8KiB,pages_per_block=24576", "--capacity", "4GiB", "--warmup", "0"]
    command += ["--timing", "drive", "--drive", drive, "--json", "-"]
    command += ["--load", f"uniform:requests={requests},reads=100%@closed:depth={depth}"]
    if share:
        between_ns = round(1e9 / (APPENDS / 2 * share / 100))
        command += ["--load", f"sequential:writes=10M,interarrival={between_ns}ns@open"]
    result = json.loads(subprocess.check_output(command))
    reads = result["response_us"]["read"]
    rate = reads["count"] / result["drive"]["seconds"]
    return {"IOPS": rate, "mean": reads["mean"], "p99": reads["p99"], "p99.9": reads["p999"]}


def row(measured: dict, modelled: dict) -> str:
    cells = [measured["queue_depth"]]
    for metric, (column, places) in METRICS.items():
        real, ours = float(measured[column]), modelled[metric]
        deviation = f"{100 * (ours / real - 1):+.1f} %".replace("-", "−")
        cells += [f"{real:,.{places}f}", f"{ours:,.{places}f}", deviation]
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--drive", default="zoned-nvme", metavar="SPEC")
    parser.add_argument("--requests", type=int, default=1_000_000, metavar="N", help="reads in each run")
    arguments = parser.parse_args()
    lines = [line for line in MEASURED.read_text().splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(lines))
    for share in sorted({int(measured["append_share_percent"]) for measured in rows}):
        print(f"\n**Reads beside {share} % of the appends.**\n" if share else "**Reads alone.**\n")
        print("| depth |" + "".join(f" {metric}, drive | model | |" for metric in METRICS))
        print("|" + "---|" * (1 + 3 * len(METRICS)))
        for measured in rows:
            if int(measured["append_share_percent"]) == share:
                modelled = model(arguments.drive, arguments.requests, measured["queue_depth"], share)
                print(row(measured, modelled), flush=True)


if __name__ == "__main__":
    main()
