#!/usr/bin/env python3
"""Kill the scheduler of a Dask cluster in the middle of a sweep, again and again.

Each round begins a sweep on a new cluster (a scheduler and two workers, as from the shell), kills the scheduler after a
random number of rows, and expects ``ftlab.RunError`` within a minute. The same call on another cluster must then write
the rows of a sweep that nothing happened to. It needs the package and ``distributed``; 20 rounds take 20 to 30 minutes,
most of them waiting for the client to give its scheduler up.

    python tools/scheduler_kills.py --rounds 20
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PLAN = """
[base]
trace = "TRACE"
each_volume = true
fit = "compact"
warmup = 2
[[grid]]
ftl = ["page", "sepgc", "dac"]
"""

SWEEP = """
import sys
import ftlab
from distributed import Client
try:
    ftlab.sweep("plan.toml", Client(sys.argv[1]), out="rows.jsonl")
    print("done", flush=True)
except ftlab.RunError as error:
    assert "lost the scheduler" in str(error), error
    print("lost", flush=True)
"""

ERROR_WITHIN_S = 60.0


class Cluster:
    """A scheduler and two workers, as the shell starts them."""

    def __init__(self, folder: Path) -> None:
        listening = folder / "scheduler.json"
        listening.unlink(missing_ok=True)
        self.scheduler = self._start(
            "dask_scheduler", "--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--scheduler-file", str(listening)
        )
        while not listening.exists():
            assert self.scheduler.poll() is None, "the scheduler did not start"
            time.sleep(0.1)
        self.address: str = json.loads(listening.read_text())["address"]
        options = ["--no-dashboard", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)]
        self.workers = [self._start("dask_worker", self.address, *options) for _ in range(2)]

    @staticmethod
    def _start(module: str, *words: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", f"distributed.cli.{module}", *words]
        return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        """Kill all of it."""
        for process in (self.scheduler, *self.workers):
            process.kill()
            process.wait()


def write_trace(path: Path) -> None:
    """A trace in the format of Alibaba with 12 volumes."""
    lines = []
    for n in range(600_000):
        volume = n * 7 % 12
        lines.append(f"{volume},W,{n * 7919 % (1000 + 500 * volume) * 4096},4096,{1577808000000000 + 50 * n}")
    path.write_text("\n".join(lines) + "\n")


def kept(journal: Path) -> int:
    """The rows in a journal."""
    return max(0, journal.read_text().count("\n") - 1) if journal.exists() else 0


def one_round(folder: Path, wanted: str, after: int) -> tuple[int, float]:
    """Kill the scheduler after some rows. Returns the rows that were kept, and the seconds until the error."""
    journal = folder / "rows.jsonl.journal"
    words = [sys.executable, "-c", SWEEP]
    with Cluster(folder) as cluster:
        sweep = subprocess.Popen([*words, cluster.address], cwd=folder, stdout=subprocess.PIPE, text=True)
        while kept(journal) < after:
            assert sweep.poll() is None, "the sweep ended before the scheduler was killed"
            time.sleep(0.01)
        cluster.scheduler.send_signal(signal.SIGKILL)
        begun = time.monotonic()
        said, _ = sweep.communicate(timeout=2 * ERROR_WITHIN_S)
        took, rows = time.monotonic() - begun, kept(journal)
    assert said == "lost\n" and took < ERROR_WITHIN_S, (said, took)
    assert rows >= after, "a row that was kept is lost"
    with Cluster(folder) as cluster:
        done = subprocess.run([*words, cluster.address], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == "done\n", done.stdout
    assert (folder / "rows.jsonl").read_text() == wanted, "the rows differ"
    (folder / "rows.jsonl").unlink()
    return rows, took


def main() -> None:
    """Run the rounds."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=20)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    draw = random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="ftlab-kills-") as name:
        folder = Path(name)
        write_trace(folder / "t.csv")
        (folder / "plan.toml").write_text(PLAN.replace("TRACE", str(folder / "t.csv")))
        alone = "import ftlab; ftlab.sweep('plan.toml', out='wanted.jsonl')"
        subprocess.run([sys.executable, "-c", alone], cwd=folder, check=True)
        wanted = (folder / "wanted.jsonl").read_text()
        for number in range(given.rounds):
            rows, took = one_round(folder, wanted, draw.randrange(1, 30))
            said = f"{rows} of 36 rows were kept, error after {took:.0f} s, then equal rows"
            print(f"round {number + 1}: {said}", flush=True)


if __name__ == "__main__":
    main()
