#!/usr/bin/env python3
"""Long campaigns against every scheme and layer, with the optimised binary.

    python3 tools/campaign.py cuts FILE --minutes 60         power cuts with every fault, on every device model
    python3 tools/campaign.py images FILE --minutes 60       the same on images, and crashes of the machine below them
    python3 tools/campaign.py drawn FILE --minutes 60        cuts up to three deep on drawn chips, in memory and on images
    python3 tools/campaign.py operations FILE --minutes 30   random reads, writes, trims and flushes, every sector compared
    python3 tools/campaign.py table FILE                     what the campaigns in FILE have tried, as tables for the docs

FILE gets one line of JSON for each command that found nothing. A campaign continues where the last one in FILE ended. A
command that finds a violation is printed with what it found, and the campaign goes on; the exit code is then 1.
"""

import argparse
import collections
import functools
import itertools
import json
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
FTLAB = ROOT / "target/release/ftlab"
# The exit code of a command whose options contradict each other, such as a sector log too large for its buffer.
REFUSED = 2
SCHEMES_WITH_MAPS = ["dftl", "fast"]

# Device models with the share of second cuts that are tried: one in this number, of the defaults and of all forms.
MODELS = {
    "least": (32, 64),
    "tiny": (64, 512),
    "tiny-ascending": (128, 1024),
    "tiny-any": (64, 512),
    "tiny-mlc": (128, 1024),
    "sector": (128, 1024),
    "odd": (128, 1024),
    "odd-any": (128, 1024),
    "small": (512, 0),
    "small-tlc": (512, 0),
    "windows": (512, 0),
}
# Of the first and of the further cuts on drawn chips, one in this number. Dies that are reordered are tried by themselves
# too: few cuts of all come while several operations are in flight.
ON_DRAWN = {"memory": (8, 64), "reordered": (1, 32), "image": (40, 8192)}
DRAWN_SECONDS = 20
# What fails beside the power on drawn chips.
FAILURES = [
    [],
    ["unreadable"],
    ["program-fail", "erase-fail"],
    ["program-fail", "erase-fail", "unreadable", "bad-block"],
]
LAYERS = {
    "none": [],
    "buffer": ["--buffer", "3KiB"],
    "buffer with reads": ["--buffer", "6KiB,reads=true,evict=run"],
    "sector log": ["--sector-log", "8KiB"],
    "buffer and sector log": ["--buffer", "3KiB", "--sector-log", "4KiB"],
    "one DRAM budget": ["--dram", "4KiB", "--split", "adaptive:interval=3,max_step=20%"],
}
# On images, second cuts and crashes are tried this many times less often.
RARER_ON_IMAGES = 32
# What the first table of `check` counts, as its columns say.
KINDS = ["cases", "cuts", "second cuts", "deeper cuts", "crashes", "second crashes"]
# Layers on devices of many MiB.
LARGE_LAYERS = {
    "none": [],
    "buffer": ["--buffer", "1MiB"],
    "sector log": ["--sector-log", "1MiB"],
    "buffer and sector log": ["--buffer", "512KiB,reads=true,evict=run", "--sector-log", "2MiB"],
}
CHIPS = ["slc-lsb", "mlc-k9gag"]


def schemes() -> list:
    listed = subprocess.run([FTLAB, "list", "ftls", "--json"], capture_output=True, text=True, check=True)
    return [scheme["name"] for scheme in json.loads(listed.stdout) if scheme["name"] != "guest"]


def chosen(names: list) -> list:
    return [argument for name in names for argument in ("--ftl", name)]


# ---- Power cuts ---------------------------------------------------------------------------------------------------------


def cut_commands(first_seed: int, models: list, place: list):
    """All commands on these device models, without end: later rounds use other seeds."""
    times = RARER_ON_IMAGES if place else 1
    for seed in itertools.count(first_seed):
        for model in models:
            rare, rarer = [times * one_in for one_in in MODELS[model]]
            common = ["--geometry", model, "--seed", str(seed), "--short-programs", "0", *place]
            for layer, options in LAYERS.items():
                names = SCHEMES_WITH_MAPS if layer == "one DRAM budget" else schemes()
                yield layer, [*chosen(names), *options, "--second-cuts", str(rare), *common]
            if rarer:
                yield "none", ["--ftl", "all", "--second-cuts", str(rarer), *common]


def drawn_commands(first_seed: int):
    """A scheme under a layer on drawn chips, without end. A case has a chip of its own. One command in sixteen is on images,
    and six cut only while several dies are busy. In half of them programs and erases fail as well.

    The number of cuts of a case grows with the cube of its length, so each command has a time.
    """
    names = schemes()
    for number in itertools.count():
        seed = first_seed + 1000 * number
        drawn = random.Random(seed)
        kind = drawn.choice(["image"] + ["memory"] * 9 + ["reordered"] * 6)
        place, classes = ("memory", kind) if kind == "reordered" else (kind, "all")
        faults = ",".join([classes, *drawn.choice(FAILURES)])
        first, further = [str(one_in) for one_in in ON_DRAWN[kind]]
        rare = ["--first-cuts", first, "--second-cuts", further, "--depth", "3", "--budget", f"{DRAWN_SECONDS}s"]
        common = ["--geometry", "drawn", "--seed", str(seed), "--on", place, "--faults", faults, *rare]
        layer = drawn.choice(list(LAYERS))
        name = drawn.choice(SCHEMES_WITH_MAPS if layer == "one DRAM budget" else names)
        suffix = " on images" if place == "image" else ""
        yield layer + suffix, [*chosen([name]), *LAYERS[layer], *common]


def count_cuts(text: str) -> dict:
    """The counts in the tables of `check`, whose first lines name their columns."""
    schemes, outcomes, losses = {}, collections.Counter(), collections.Counter()
    names = []
    for line in text.splitlines():
        first, *cells = re.split(r"\s{2,}", line.strip())
        if not cells:
            names = []
        elif not names:
            names = [first, *cells]
        elif first != "total":
            numbers = {name: int(cell.replace(",", "")) for name, cell in zip(names[1:], cells) if cell[0].isdigit()}
            if names[0] == "ftl":
                counts = schemes.setdefault(re.split(r"[: ]", first)[0], collections.Counter())
                counts.update({kind: numbers.get(kind, 0) for kind in KINDS})
            elif names[0] == "outcome":
                outcomes[first] += numbers["cuts"]
                outcomes["decays later"] += numbers["during the mount"] + numbers["after the mount"]
            elif names[0] == "loss":
                losses[first] += numbers["crashes"]
    return {"schemes": schemes, "outcomes": outcomes, "losses": losses}


def performed(*arguments) -> str | None:
    """The output of a command, empty if it was refused; none if it failed."""
    done = subprocess.run([FTLAB, *arguments], capture_output=True, text=True)
    if done.returncode == 0:
        return done.stdout
    if done.returncode == REFUSED:
        return ""
    print("ftlab", *arguments)
    print(done.stdout, done.stderr, flush=True)
    return None


def attack(layer: str, options: list) -> dict | None:
    text = performed("check", *options)
    return None if text is None else {"layer": layer, **count_cuts(text)}


# ---- Random operations --------------------------------------------------------------------------------------------------


def operation_commands(first_seed: int):
    for seed in itertools.count(first_seed):
        for chip, (layer, options), name in itertools.product(CHIPS, LARGE_LAYERS.items(), schemes()):
            common = ["--ftl", name, "--chip", chip, "--capacity", "16MiB", "--extra", "15%", "--durability", "full"]
            yield layer, [*common, *options, "--verify", "--seed", str(seed), "--json", "-"]


@functools.cache
def trace(folder: str, seed: int, requests: int = 400_000) -> pathlib.Path:
    """Requests of 1 to 64 KiB on 16 MiB, some of them parts of pages, with trims and flushes."""
    draws, sectors = random.Random(seed), 16 * 2048
    path = pathlib.Path(folder) / f"random{seed}.csv"
    with path.open("w") as out:
        out.write("time_ns,device,rwbs,offset,bytes\n")
        for at in range(requests):
            kind = draws.choices("WRDF", [60, 25, 12, 3])[0]
            length = draws.choice([2, 4, 8, 8, 16, 32, 64, 128])
            start = int((sectors - length) * draws.random() ** draws.choice([1, 3]))
            start -= start % draws.choice([1, 4, 8])
            out.write(f"{at * 1000},0,{kind},{start * 512},{length * 512}\n")
    return path


def operate(folder: str, layer: str, options: list) -> dict | None:
    seed = int(options[options.index("--seed") + 1])
    text = performed("run", trace(folder, seed), *options)
    if text is None:
        return None
    pages = json.loads(text)["host_pages"]
    scheme = options[options.index("--ftl") + 1]
    return {"layer": layer, "operations": {scheme: [pages["read"], pages["written"], pages["trimmed"]]}}


# ---- Campaigns ----------------------------------------------------------------------------------------------------------


def campaign(commands, perform, path: pathlib.Path, minutes: float) -> int:
    """Returns how many commands have found a violation."""
    known = {tuple(run["options"]) for run in runs(path)}
    end, failed = time.time() + 60 * minutes, 0
    with path.open("a") as out:
        for layer, options in commands:
            if tuple(options) in known:
                continue
            if time.time() > end:
                break
            result = perform(layer, options)
            if result is None:
                failed += 1
                continue
            out.write(json.dumps({"options": options, **result}) + "\n")
            out.flush()
    return failed


def runs(path: pathlib.Path) -> list:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def row(*cells) -> str:
    return "| " + " | ".join(f"{cell:,}" if isinstance(cell, int) else cell for cell in cells) + " |"


def print_table(title: list, sums: dict) -> None:
    print(row(*title), row(*["---"] * len(title)).replace(" ", ""), sep="\n")
    for name, numbers in sums.items():
        print(row(name, *numbers))
    print(row("all", *[sum(column) for column in zip(*sums.values())]), end="\n\n")


def added(sums: dict, name: str, numbers: list) -> None:
    sums[name] = [a + b for a, b in zip(sums.get(name, [0] * len(numbers)), numbers)]


def table(path: pathlib.Path) -> None:
    cuts, layers, outcomes, losses, operations = {}, {}, {}, {}, {}
    for run in runs(path):
        for scheme, numbers in run.get("schemes", {}).items():
            numbers = [numbers[kind] for kind in KINDS]
            added(cuts, scheme, numbers)
            added(layers, run["layer"], numbers)
        for outcome, number in run.get("outcomes", {}).items():
            added(outcomes, outcome, [number])
        for loss, number in run.get("losses", {}).items():
            added(losses, loss, [number])
        for scheme, numbers in run.get("operations", {}).items():
            added(operations, scheme, numbers)
    later = outcomes.pop("decays later", [0])[0]
    if cuts:
        print_table(["scheme", *KINDS], cuts)
        print_table(["layers", *KINDS], layers)
        print_table(["outcome", "cuts"], outcomes)
        if losses:
            print_table(["loss", "crashes"], losses)
        print(f"In {later:,} of them weak pages decayed during or after the mount.\n")
    if operations:
        print_table(["scheme", "pages read", "pages written", "pages trimmed"], operations)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["cuts", "images", "drawn", "operations", "table"])
    parser.add_argument("file", type=pathlib.Path)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    parser.add_argument("--model", action="append", choices=MODELS, help="only these device models, for cuts")
    arguments = parser.parse_args()
    match arguments.what:
        case "cuts" | "images":
            place = ["--on", "image"] if arguments.what == "images" else []
            commands = cut_commands(arguments.first_seed, arguments.model or list(MODELS), place)
            return campaign(commands, attack, arguments.file, arguments.minutes)
        case "drawn":
            return campaign(drawn_commands(arguments.first_seed), attack, arguments.file, arguments.minutes)
        case "operations":
            with tempfile.TemporaryDirectory() as folder:
                perform = functools.partial(operate, folder)
                return campaign(operation_commands(arguments.first_seed), perform, arguments.file, arguments.minutes)
        case "table":
            table(arguments.file)
    return 0


if __name__ == "__main__":
    sys.exit(min(main(), 1))
