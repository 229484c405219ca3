#!/usr/bin/env python3
"""Grades FTLs: simulates each on a trace, cuts its power, and compares both with limits.

    examples/guests/grade.py students/*.so --trace oltp:requests=20K --limit waf=3,ram=64KiB

The trace is a file or a workload. Each FTL gets the same device and the same cuts. It passes if its write
amplification and its RAM are within the limits, and if the check finds nothing. `--csv FILE` writes the table for a
spreadsheet. Needs `ftlab` on the PATH, or its path in FTLAB.
"""

import argparse
import csv
import json
import os
import pathlib
import re
import subprocess
import sys

FTLAB = os.environ.get("FTLAB", "ftlab")
# Chips with one bit per cell, with two, and with several dies: not every cut can happen on each.
CHECK = (
    "--geometry tiny --geometry tiny-mlc --geometry tiny-dies"
    " --workload random --workload hot --workload trim-flush --workload flush-each --second-cuts 64"
)
UNITS = {"": 1, "B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
COLUMNS = ["ftl", "write amplification", "ram bytes", "most erases", "cuts", "verdicts", "grade"]


def limits(text):
    """Limits such as waf=3,ram=64KiB."""
    known = {}
    for pair in filter(None, text.split(",")):
        key, _, value = pair.partition("=")
        number = re.fullmatch(r"([\d.]+)\s*([KMG]iB|B|)", value)
        if key not in ("waf", "ram") or number is None or (key == "waf" and number[2]):
            raise argparse.ArgumentTypeError(f"{pair}: a limit is waf=NUMBER or ram=SIZE, such as waf=3,ram=64KiB")
        known[key] = float(number[1]) * UNITS[number[2]]
    return known


def ftlab(*words):
    try:
        return subprocess.run([FTLAB, *map(str, words)], capture_output=True, text=True)
    except FileNotFoundError:
        sys.exit(f"there is no {FTLAB}: put ftlab on the PATH, or its path in FTLAB")


def simulated(spec, args):
    """The result of a run, or why there is none."""
    done = ftlab("run", args.trace, "--ftl", spec, *args.run.split(), "--json", "-", "--quiet")
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[0]
    return json.loads(done.stdout), ""


def checked(spec, args):
    """The number of cuts, and the verdicts: empty if nothing was found."""
    done = ftlab("check", "--ftl", spec, *args.check.split())
    row = next((line for line in done.stdout.splitlines() if line.startswith(spec)), None)
    if done.returncode not in (0, 3) or row is None:
        return 0, (done.stderr.strip() or "the check gave no result").splitlines()[0]
    first, second = row.split()[-3:-1]
    names = ["data lost", "service refused", "illegal command", "crash", "hang", "contract broken"]
    found = [name for name in names if re.search(rf"^{name} +\d", done.stdout, re.MULTILINE)]
    return int(first.replace(",", "")) + int(second.replace(",", "")), ", ".join(found)


def graded(path, args):
    """The row of an FTL."""
    spec = f"guest:lib={path}" if "/" in str(path) else f"guest:lib=./{path}"
    result, why = simulated(spec, args)
    if result is None:
        return [path.name, "", "", "", "", why, "fails"]
    cuts, verdicts = checked(spec, args)
    # A guest that does not say how much RAM it uses has none in its result.
    amplification, ram = result["write_amplification"], result["ram_bytes"]["total"] or None
    reasons = []
    if amplification > args.limit.get("waf", amplification):
        reasons.append("write amplification")
    if "ram" in args.limit and (ram is None or ram > args.limit["ram"]):
        reasons.append("RAM not known" if ram is None else "RAM")
    if verdicts or not cuts:
        reasons.append("power cuts")
    grade = f"fails: {', '.join(reasons)}" if reasons else "passes"
    return [path.name, amplification, ram or "not known", result["wear"]["max"], cuts, verdicts or "none", grade]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("guests", nargs="+", type=pathlib.Path)
    parser.add_argument("--trace", default="oltp:requests=20K")
    parser.add_argument("--limit", type=limits, default={}, metavar="waf=3,ram=64KiB")
    parser.add_argument("--run", default="--capacity 16MiB --extra 10%", help="more options of ftlab run")
    parser.add_argument("--check", default=CHECK, help="of ftlab check")
    parser.add_argument("--csv", type=argparse.FileType("w"))
    args = parser.parse_args()
    rows = []
    for path in args.guests:
        print(f"grading {path}", file=sys.stderr)
        rows.append(graded(path, args))
    if args.csv:
        csv.writer(args.csv).writerows([COLUMNS, *rows])
    texts = [COLUMNS, *[[f"{cell:.3f}" if isinstance(cell, float) else str(cell) for cell in row] for row in rows]]
    widths = [max(len(text[at]) for text in texts) for at in range(len(COLUMNS))]
    for text in texts:
        print("  ".join(cell.ljust(width) for cell, width in zip(text, widths)).rstrip())
    return 0 if all(row[-1] == "passes" for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
