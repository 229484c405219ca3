#!/usr/bin/env python3
"""Checks that two versions of ftlab give the same results.

    python3 tools/same_results.py OLD NEW [--traces DIR] [--quick] [--only TEXT]

OLD and NEW are git revisions or paths of `ftlab` binaries. A revision is built in a temporary worktree, with the dev
profile; the binary is kept in target/same_results/. The schemes, parameters, chips, layers and workloads come from
`ftlab list --json` of both binaries; what only one of them lists is named and left out.

Each case is one command, run with both binaries:
- every scheme on every chip under every layer, on a small trace with trims and flushes, with both durabilities;
- every scheme with each value of its parameters, with each measuring option, and on each generated workload;
- operation logs, a comparison, a sweep and a short power-cut check;
- the real traces below DIR (default: the environment variable FTLAB_TRACES), their first 20,000 requests.

The JSON must be the same byte for byte, apart from the object `wall`; so must the numbers in the tables of `check`, and the
exit code of a refusal. Fields that only NEW has are named at the end and do not count as differences. Its message may
be reworded: such pairs are printed as "wording" and do not count as differences.
A difference prints both commands and the first lines that differ; the exit code is then 1.
"""

import argparse
import difflib
import itertools
import json
import os
import pathlib
import random
import re
import shlex
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KEPT = ROOT / "target/same_results"
BLOCKS, PAGES_PER_BLOCK = 48, 32  # of the small devices
TIMEOUT_SECONDS = 600


def binary(version: str) -> pathlib.Path:
    """The path itself, or the binary of a revision, which is built unless it was built before."""
    if os.access(version, os.X_OK) and pathlib.Path(version).is_file():
        return pathlib.Path(version).resolve()
    commit = git("rev-parse", "--verify", version + "^{commit}")
    built = KEPT / f"ftlab-{commit[:12]}"
    if not built.exists():
        with tempfile.TemporaryDirectory() as folder:
            git("worktree", "add", "--detach", folder, commit)
            build = ["cargo", "build", "--quiet", "--bin", "ftlab", "--target-dir", str(KEPT / "build")]
            try:
                subprocess.run(build, cwd=folder, check=True)
            finally:
                git("worktree", "remove", "--force", folder)
            (KEPT / "build/debug/ftlab").rename(built)
    return built


def git(*arguments: str) -> str:
    return subprocess.check_output(["git", "-C", str(ROOT), *arguments], text=True).strip()


def listed(binaries: list, what: str) -> list:
    """The entries that both binaries list, as the first one describes them."""
    lists = [json.loads(subprocess.check_output([path, "list", what, "--json"])) for path in binaries]
    names = [{entry["name"] for entry in entries} for entries in lists]
    for name in sorted(names[0] ^ names[1]):
        print(f"left out: {what} `{name}` is only in {'OLD' if name in names[0] else 'NEW'}")
    # A guest is no FTL without its shared object.
    return [entry for entry in lists[0] if entry["name"] in names[1] - {"guest"}]


def settings(param: dict) -> list:
    """Values of a parameter: all its choices, or a few numbers."""
    numbers = {"count": [1, 2, 5], "size": ["2KiB", "8KiB"], "share": ["1%", "40%"]}
    values = param["choices"] or numbers.get(param["kind"], [])
    return [f"{param['name']}={value}" for value in values]


class Device:
    """A small device on a chip of the list, and the layers that fit it."""

    def __init__(self, chip: dict, layers: list):
        default = next(param["default"] for param in chip["params"] if param["name"] == "page")
        self.page_bytes = int(default.removesuffix("KiB")) * 1024
        self.chip, self.entries = chip["name"], layers
        self.bytes = BLOCKS * PAGES_PER_BLOCK * self.page_bytes

    def options(self, chip_keys: str = f":pages_per_block={PAGES_PER_BLOCK}", blocks: int = 20) -> list:
        return ["--chip", self.chip + chip_keys, "--capacity", str(self.bytes), "--extra", f"{blocks}blocks"]

    def layers(self) -> list:
        """Options that put layers above the FTL: none, each one with each of its settings, and some together."""
        block, forms = PAGES_PER_BLOCK * self.page_bytes, [[]]
        for entry in self.entries:
            if entry["params"][0]["name"] == "size":
                keys = [""] + ["," + setting for param in entry["params"][1:] for setting in settings(param)]
                forms += [["--" + entry["name"], f"{2 * block}{key}"] for key in keys]
            elif entry["name"] == "split":
                dram = ["--dram", str(2 * block)]
                forms += [dram, dram + ["--split", "30%"], dram + ["--sector-log", str(2 * block)]]
                tuning = [param for param in entry["params"] if param["name"] not in ("dram", "share")]
                forms += [dram + ["--split", f"adaptive:{s}"] for param in tuning for s in settings(param)]
        together = ["--buffer", str(block // 4) + ",evict=run", "--sector-log", str(2 * block)]
        return forms + [together, together + ["--dram-access", "20ns"]]


def write_trace(path: pathlib.Path, device: Device, requests: int = 3000) -> pathlib.Path:
    """A csv trace of skewed requests of all sizes, with trims, flushes and bursts."""
    draws, now, sectors = random.Random(7), 0, device.bytes // 512
    lines = ["time_ns,device,rwbs,offset,bytes\n"]
    for _ in range(requests):
        now += draws.choice([0, 1_000, 300_000, 5_000_000])
        kind = draws.choices("WRDF", [60, 25, 8, 3])[0]
        start = int(sectors * draws.random() ** 3)
        if draws.random() < 0.6:
            start -= start % (device.page_bytes // 512)
        length = min(draws.choice([1, 2, 4, 8, 8, 32, 64, 200]), sectors - start)
        lines.append(f"{now},0,{kind},{start * 512},{length * 512}\n")
    path.write_text("".join(lines))
    return path


def run(trace, ftl: str, *options) -> list:
    return ["run", str(trace), "--ftl", ftl, *options, "--json", "-"]


def small_cases(binaries: list, folder: pathlib.Path) -> list:
    """Every scheme, chip, layer, parameter, option and workload, on devices of a few MiB."""
    schemes, layers = listed(binaries, "ftls"), listed(binaries, "layers")
    devices = [Device(chip, layers) for chip in listed(binaries, "chips")]
    names, cases, turns = [scheme["name"] for scheme in schemes], [], itertools.cycle(devices)
    for device in devices:
        trace = write_trace(folder / f"{device.chip}.csv", device)
        for name, layer, kept in itertools.product(names, device.layers(), ["paper", "full"]):
            cases.append(run(trace, name, *device.options(), *layer, "--durability", kept))
        cases += [run(trace, name, *device.options(chip_keys="", blocks=10)) for name in names]  # the chip's own blocks
    for spec in [f"{scheme['name']}:{s}" for scheme in schemes for param in scheme["params"] for s in settings(param)]:
        device = next(turns)
        cases.append(run(folder / f"{device.chip}.csv", spec, *device.options()))
        cases.append(run("oltp:writes=6K,reads=10%", spec, *next(turns).options()))
    measuring = ["--replay open", "--interval 100", "--interval auto", "--measure-after 1000 --warmup 0", "--verify",
                 "--warmup 2", "--precondition none", "--flush ignore", "--fit compact", "--limit 1500", "--volume 0", "--sort",
                 "--seed 2", "--replay open --interval 200 --verify --durability full", "--verify --precondition none"]
    for name, options in itertools.product(names, measuring):
        device = next(turns)
        for layer in ([], device.layers()[len(cases) % len(device.layers())]):
            cases.append(run(folder / f"{device.chip}.csv", name, *device.options(), *layer, *options.split()))
    for workload, name in itertools.product(listed(binaries, "workloads"), names):
        space = any(param["name"] == "space" for param in workload["params"])
        device = ["--extra", "20blocks"] if space else next(turns).options()
        cases.append(run(f"{workload['name']}:writes=2K,reads=20%{',space=32MiB' * space}", name, *device))
    others = [command for name in names for command in other_commands(name, devices[0], folder)]
    return cases + others + [sweep(names, devices[0], folder)]


def other_commands(name: str, device: Device, folder: pathlib.Path) -> list:
    """An operation log, a comparison and a power-cut check of one scheme."""
    trace = folder / f"{device.chip}.csv"
    log = run(trace, name, *device.options(), "--buffer", "64KiB", "--log-ops", "OUT.log")
    both = ["compare", str(trace), "--ftl", "page", "--ftl", name, *device.options(), "--json", "-"]
    check = ["check", "--ftl", name, "--geometry", "tiny", "--short-programs", "1", "--second-cuts", "64"]
    return [log, both, check, check + ["--sector-log", "4KiB"], check + ["--buffer", "4KiB"]]


def sweep(names: list, device: Device, folder: pathlib.Path) -> list:
    """A plan of all schemes, with and without layers."""
    plan = folder / "plan.toml"
    _, chip, _, capacity, _, extra = device.options()
    base = f'trace = "{folder / device.chip}.csv"\nchip = "{chip}"\ncapacity = "{capacity}"\nextra = "{extra}"\n'
    grid = f'ftl = {json.dumps(names)}\nbuffer = ["none", "64KiB"]\nsector_log = ["none", "64KiB"]\n'
    plan.write_text(f'title = "all schemes"\n[base]\n{base}[[grid]]\n{grid}')
    return ["sweep", str(plan), "--out", "OUT.csv", "--quiet", "--jobs", "1"]


def real_cases(old: pathlib.Path, new: pathlib.Path, folder: pathlib.Path) -> list:
    """The statistics of each real trace, and three schemes on it in turn, one with layers."""
    formats, names = listed([old, new], "formats"), [scheme["name"] for scheme in listed([old, new], "ftls")]
    hints = [["--format", example["spec"]] for entry in formats for example in entry.get("examples", [])]
    layers = ["", "--buffer 1MiB", "--sector-log 8MiB", "--buffer 1MiB,evict=run --sector-log 1MiB,from=extra"]
    cases, read = [], 0
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".md"):
        attempt = ["trace", "info", str(path), "--brief", "--limit", "100"]
        hint = next((hint for hint in [[], *hints] if outcome(old, attempt + hint)[0] == 0), None)
        if hint is None:
            cases.append(attempt)
            continue
        read, limit = read + 1, ["--limit", "20000", *hint]
        cases.append(["trace", "info", str(path), "--json", *limit])
        for step, more in enumerate(["", "--verify --durability full", "--replay open"]):
            scheme, layer = names[(read + 4 * step) % len(names)], layers[(read + step) % len(layers)]
            cases.append(run(path, scheme, *limit, "--fit", "compact", *layer.split(), *more.split()))
    print(f"{read} real traces")
    return cases


def outcome(path: pathlib.Path, case: list) -> tuple:
    """The exit code, the results without `wall`, and the messages."""
    with tempfile.TemporaryDirectory() as folder:
        out = [word.replace("OUT", f"{folder}/out") if word.startswith("OUT") else word for word in case]
        try:
            done = subprocess.run([path, *out], capture_output=True, text=True, timeout=TIMEOUT_SECONDS)
        except subprocess.TimeoutExpired:
            return "timeout", "", ""
        files = [file.read_text() for file in sorted(pathlib.Path(folder).iterdir())]
    results = re.sub(r'"wall": \{[^{}]*\}', '"wall": {}', done.stdout)
    if case[0] == "check":  # the table's last line is a time
        results = "\n".join(" ".join(re.findall(r"\d[\d,]*", line)) for line in done.stdout.splitlines()[:-1])
    return done.returncode, "\n".join([results, *files]), done.stderr.replace(folder, "")


def without_new_fields(old, new, added: set, path: str = ""):
    """NEW's JSON without the fields that OLD's lacks, whose names are put into `added`."""
    if isinstance(old, dict) and isinstance(new, dict):
        added.update(f"{path}{name}" for name in new.keys() - old.keys())
        return {name: without_new_fields(old[name], new[name], added, f"{path}{name}.") for name in new if name in old}
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [without_new_fields(*pair, added, path) for pair in zip(old, new)]
    return new


def are_same(old: str, new: str, added: set) -> bool:
    """Whether two outputs are the same, apart from fields that only the second one has."""
    if old == new:
        return True
    try:  # numbers stay text, so that they are compared digit by digit
        old_json, new_json = (json.loads(text, parse_float=str, parse_int=str) for text in (old, new))
    except ValueError:
        return False
    found = set()
    same = json.dumps(old_json) == json.dumps(without_new_fields(old_json, new_json, found))
    added.update(found if same else set())
    return same


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--traces", type=pathlib.Path, default=os.environ.get("FTLAB_TRACES"), metavar="DIR")
    parser.add_argument("--quick", action="store_true", help="run a tenth of the cases, the same tenth every time")
    parser.add_argument("--only", default="", metavar="TEXT", help="run the cases whose command contains TEXT")
    arguments = parser.parse_args()
    old, new = binary(arguments.old), binary(arguments.new)
    inputs = KEPT / "inputs"  # kept, so that the commands printed can be run again
    inputs.mkdir(parents=True, exist_ok=True)
    cases = small_cases([old, new], inputs)
    cases += real_cases(old, new, pathlib.Path(arguments.traces)) if arguments.traces else []
    cases = [case for case in cases if arguments.only in shlex.join(case)]
    if arguments.quick:
        cases = random.Random(1).sample(cases, -(-len(cases) // 10))
    return compare(old, new, cases)


def compare(old: pathlib.Path, new: pathlib.Path, cases: list) -> int:
    different, refused, wording, added = 0, 0, set(), set()
    for case in cases:
        code, results, message = outcome(old, case)
        new_code, new_results, new_message = outcome(new, case)
        refused += code != 0
        if code != new_code or not are_same(results, new_results, added):
            different += 1
            commands = [shlex.join([str(path), *case]) for path in (old, new)]
            lines = difflib.unified_diff(results.splitlines(), new_results.splitlines(), "OLD", "NEW", n=1, lineterm="")
            print(f"\nDIFFERENT (exit codes {code}, {new_code}):", *commands, sep="\n  ")
            print(*itertools.islice(lines, 12), message.strip(), new_message.strip(), sep="\n", flush=True)
        elif message != new_message:
            wording.add((message.strip()[:160], new_message.strip()[:160]))
    print(*(f"only in NEW: the field {name}" for name in sorted(added)), sep="\n")
    print(*(f"wording: {old_text}\n      -> {new_text}" for old_text, new_text in sorted(wording)[:20]), sep="\n")
    print(f"{len(cases)} cases: {different} differ, {refused} are refused by OLD, {len(wording)} messages are worded differently")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())
