#!/usr/bin/env python3
"""Rules that tune themselves, on points that nobody chose.

    python3 tools/drawn_points.py run balanced FILE --points 500 --seed 7     a rule beside its fixed rivals
    python3 tools/drawn_points.py table FILE [--worst 10]                     the distribution of what the rule loses

A point is a trace or a workload, a number of requests, a chip, extra blocks, warm-up, flushes, and what the rule needs.
It is drawn from the seed. The rules:

    balanced    `--split adaptive:rule=balanced` beside nine fixed shares, above dftl and fast
    neighbour   no rule, but a share of 51 % beside the half: how much a promise against a fixed share is worth
    threshold   `last:threshold=auto` beside eight fixed thresholds
    oracle      each scheme that places pages beside the oracle with as many open blocks

FILE gets one line of JSON for each point. A run goes on where the last one ended. A point that a command refuses is
drawn anew. A rule that follows rivals reports what they cost. A rival costs exactly what a run with its setting costs,
so only settings without a rival are run. Real traces lie in the folder that FTLAB_TRACES names; without it there are
workloads only. The tool needs `make build`.
"""

import argparse
import concurrent.futures
import functools
import json
import math
import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FTLAB = pathlib.Path(os.environ.get("FTLAB", ROOT / "target/release/ftlab"))
TRACES = os.environ.get("FTLAB_TRACES")
# The exit code of a command that cannot be: a device too small for its FTL, a budget beyond the map.
REFUSED = 2
# What is said of a trace that must be read by hand.
AMBIGUOUS = "fits several readings"

WORKLOADS = ["oltp", "uniform", "zipf", "skew", "mixed", "jesd219"]
# Workloads with a space of their own size.
SPACED = ["tpcc", "financial", "desktop", "sysmark"]
CHIPS = ["slc-fast2010", "slc-lsb", "slc-k9wag", "mlc-k9gag", "slc-last"]
SHARES = [f"{share}%" for share in range(10, 100, 10)]
# The shares of the rivals of `rule=balanced`, as in balance.rs.
RIVAL_SHARES = ["3%", *SHARES, "97%"]
THRESHOLDS = ["512", "1KiB", "2KiB", "4KiB", "8KiB", "16KiB", "32KiB", "64KiB"]
# Schemes that place pages, with the number of blocks that they have open.
OPEN_BLOCKS = {"page": 1, "sepgc": 2, "dac": 3, "streams": 4, "sepbit": 6, "warcip": 6}


# ---- Points -------------------------------------------------------------------------------------------------------------


@functools.cache
def traces() -> list:
    return sorted(str(path) for path in pathlib.Path(TRACES).rglob("*.zst")) if TRACES else []


def between(draws: random.Random, low: float, high: float) -> float:
    """A number whose logarithm is uniform."""
    return math.exp(draws.uniform(math.log(low), math.log(high)))


def drawn_load(draws: random.Random) -> list:
    """A trace packed into the pages that it touches, or a workload on a device of its own."""
    requests = round(between(draws, 20_000, 300_000))
    if traces() and draws.random() < 0.6:
        return [draws.choice(traces()), "--limit", str(requests), "--fit", "compact", "--skip-bad"]
    capacity = 2 ** draws.randint(4, 8)
    workload = draws.choice(WORKLOADS + SPACED)
    space = f",space={capacity}MiB" if workload in SPACED else ""
    return [f"{workload}:requests={requests}{space}", "--capacity", f"{capacity}MiB"]


def drawn_device(draws: random.Random) -> list:
    device = [
        *("--chip", draws.choice(CHIPS)),
        *("--extra", f"{between(draws, 3, 30):.1f}%"),
        *("--warmup", str(draws.choice([0, 1, 1, 2, 4]))),
        *("--flush", draws.choice(["honour", "ignore"])),
        *("--seed", str(draws.randint(1, 1000))),
    ]
    return device


def balanced(draws: random.Random) -> tuple:
    """The options of a point, and the rules to compare: the first one is judged."""
    ftl = draws.choice(["dftl", "fast"])
    dram = 2 ** round(between(draws, 6, 14))
    options = [*drawn_load(draws), *drawn_device(draws), "--ftl", ftl, "--dram", f"{dram}KiB"]
    shares = {share: ["--split", share] for share in SHARES}
    return options, {"rule": ["--split", "adaptive:rule=balanced"], **shares}


def neighbour(draws: random.Random) -> tuple:
    options, _ = balanced(draws)
    return options, {"rule": ["--split", "51%"], "50%": ["--split", "50%"]}


def threshold(draws: random.Random) -> tuple:
    options = [*drawn_load(draws), *drawn_device(draws)]
    fixed = {at: ["--ftl", f"last:threshold={at}"] for at in THRESHOLDS}
    return options, {"rule": ["--ftl", "last:threshold=auto"], **fixed}


def oracle(draws: random.Random) -> tuple:
    scheme, blocks = draws.choice(list(OPEN_BLOCKS.items()))
    options = [*drawn_load(draws), *drawn_device(draws), "--streams", "size"]
    return options, {"rule": ["--ftl", f"oracle:open={blocks}"], scheme: ["--ftl", scheme]}


RULES = {rule.__name__: rule for rule in (balanced, neighbour, threshold, oracle)}


# ---- Runs ---------------------------------------------------------------------------------------------------------------


def ran(options: list) -> dict | None:
    """The result of a run, or None if it is refused."""
    done = subprocess.run([FTLAB, "run", *options, "--json", "-"], capture_output=True, text=True)
    if done.returncode == REFUSED or AMBIGUOUS in done.stderr:
        return None
    if done.returncode != 0:
        raise SystemExit(f"ftlab run {' '.join(options)}\n{done.stderr}")
    return json.loads(done.stdout)


def cost(rule: str, result: dict) -> float:
    """What a run costs: its time, or its programs for a rule that promises these."""
    return result["write_amplification"] if rule == "oracle" else result["time_us"]["total"]


def rival_costs(rule: str, result: dict) -> dict:
    """The costs of the settings that have a rival in this run of the rule."""
    match rule:
        case "threshold":
            settings, times = THRESHOLDS, result["scheme"]["rival_ns"]
        case "balanced":
            times = result["layers"]["split"]["rival_ns"]
            # If shares are left out, the last rival has a map of all pages, which is no share.
            settings = RIVAL_SHARES[: len(times) - 1]
        case _:
            return {}
    return {setting: ns / 1000 for setting, ns in zip(settings, times, strict=False)}


def point(rule: str, seed: int, number: int) -> dict | None:
    """The costs of all rivals at one point. None if some run is refused or costs nothing."""
    options, rivals = RULES[rule](random.Random(f"{rule} {seed} {number}"))
    costs = {}
    for name, more in rivals.items():
        if name not in costs:
            result = ran([*options, *more])
            if not result or not cost(rule, result):
                return None
            costs |= {name: cost(rule, result)}
            if name == "rule":
                costs |= {name: ns for name, ns in rival_costs(rule, result).items() if name in rivals}
    return {"rule": rule, "seed": seed, "number": number, "options": options, "costs": costs}


def run(rule: str, path: pathlib.Path, points: int, seed: int, jobs: int) -> None:
    known = read(path)
    missing = points - sum(it["costs"] is not None for it in known)
    tried = {it["number"] for it in known if it["seed"] == seed}
    numbers = (number for number in range(sys.maxsize) if number not in tried)
    with path.open("a") as out, concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        while missing > 0:
            batch = [next(numbers) for _ in range(min(missing, 4 * jobs))]
            for number, found in zip(batch, pool.map(functools.partial(point, rule, seed), batch), strict=True):
                missing -= found is not None
                line = found or {"rule": rule, "seed": seed, "number": number, "costs": None}
                out.write(json.dumps(line) + "\n")
                out.flush()


# ---- Distributions ------------------------------------------------------------------------------------------------------


def read(path: pathlib.Path) -> list:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def losses(points: list, rivals) -> list:
    """By how much the rule costs more than the best of its rivals, the worst point first."""
    found = [(it["costs"]["rule"] / min(it["costs"][name] for name in rivals(it["costs"])) - 1, it) for it in points]
    return sorted(found, key=lambda pair: -pair[0])


def fixed(costs: dict) -> list:
    return [name for name in costs if name != "rule"]


def table(path: pathlib.Path, worst: int) -> None:
    points = [it for it in read(path) if it["costs"] is not None]
    if not points:
        raise SystemExit(f"{path} has no points")
    against = {"the best fixed one": fixed}
    if points[0]["rule"] == "balanced":
        against["the half"] = lambda _: ["50%"]
    print(f"{len(points)} points. The rule costs more, in %:\n")
    print("| than | least | 5 % | median | 90 % | 95 % | 99 % | most | points above 1 % | above 5 % |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for name, rivals in against.items():
        ordered = [loss for loss, _ in losses(points, rivals)][::-1]
        quantiles = [ordered[min(int(share * len(ordered)), len(ordered) - 1)] for share in (0, 0.05, 0.5, 0.9, 0.95, 0.99, 1)]
        above = [sum(loss > limit for loss in ordered) for limit in (0.01, 0.05)]
        print(f"| {name} | " + " | ".join(f"{100 * it:+.1f}" for it in quantiles) + f" | {above[0]} | {above[1]} |")
    print(f"\nThe {worst} worst points against the best fixed one:\n")
    for loss, it in losses(points, fixed)[:worst]:
        best = min(fixed(it["costs"]), key=it["costs"].get)
        print(f"{100 * loss:+.1f} % against {best}: ftlab run {' '.join(it['options'])}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("rule", choices=RULES)
    runs.add_argument("file", type=pathlib.Path)
    runs.add_argument("--points", type=int, default=100)
    runs.add_argument("--seed", type=int, default=1)
    runs.add_argument("--jobs", type=int, default=os.cpu_count())
    tables = commands.add_parser("table")
    tables.add_argument("file", type=pathlib.Path)
    tables.add_argument("--worst", type=int, default=10)
    arguments = parser.parse_args()
    match arguments.command:
        case "run":
            run(arguments.rule, arguments.file, arguments.points, arguments.seed, arguments.jobs)
        case "table":
            table(arguments.file, arguments.worst)


if __name__ == "__main__":
    main()
