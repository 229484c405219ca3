#!/usr/bin/env python3
"""What watching costs a live disk: the processor time of its thread with and without a viewer, in turns.

    python3 tools/watch_cost.py [--ftlab target/release/ftlab] [--capacity 256MiB] [--rounds 9]

Each round writes every seventh page with `qemu-img bench`, once while somebody asks for one film after the other and once while
nobody does; which comes first changes. The thread of the disk does nothing but serve requests and take films, so its
processor time is what a client waits for. Prints the median of the ratios, the smallest and the largest, and the same for
the time that passes, which depends on whatever else the machine does.
"""

import argparse
import os
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUESTS = 200_000


def processor_seconds(process: int) -> float:
    """The time of the first thread of a process: the one that owns the disks."""
    fields = pathlib.Path(f"/proc/{process}/task/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def cost(uri: str, server: int) -> tuple[float, float]:
    """The processor time that the disk needs for the writes, and the time that passes."""
    bench = ["qemu-img", "bench", "-w", "-f", "raw", "-c", str(REQUESTS), "-d", "16", "-s", "4096", "-S", "28672", uri]
    before = processor_seconds(server)
    said = subprocess.run(bench, capture_output=True, text=True, check=True).stdout
    passed = float(re.search(r"completed in ([0-9.]+) seconds", said)[1])
    return processor_seconds(server) - before, passed


def watched(page: str, work) -> tuple:
    """What `work` returns while films are fetched, and their number."""
    ended, films = threading.Event(), 0

    def watch() -> None:
        nonlocal films
        while not ended.is_set():
            with urllib.request.urlopen(page + "1/film") as answer:
                films += len(answer.read()) > 0

    viewer = threading.Thread(target=watch)
    viewer.start()
    try:
        return work(), films
    finally:
        ended.set()
        viewer.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ftlab", default=ROOT / "target/release/ftlab", help="the command")
    parser.add_argument("--capacity", default="256MiB", help="of the disk")
    parser.add_argument("--rounds", type=int, default=9, help="how often each is measured")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        socket = f"{folder}/s"
        device = ["--memory", "--ftl", "page", "--chip", "slc-fast2010:page=4KiB", "--capacity", asked.capacity]
        serve = [asked.ftlab, "serve", *device, "--socket", socket, "--watch", "0"]
        with subprocess.Popen(serve, stdout=subprocess.PIPE, text=True) as server:
            uri = server.stdout.readline().split(" at ")[1].strip()
            page = server.stdout.readline().split(" at ")[1].strip()
            cost(uri, server.pid)
            rounds, films = [], 0
            for number in range(asked.rounds):
                plain = cost(uri, server.pid) if number % 2 == 0 else None
                slowed, seen = watched(page, lambda: cost(uri, server.pid))
                plain = plain or cost(uri, server.pid)
                rounds.append([with_viewer / without for with_viewer, without in zip(slowed, plain)])
                films += seen
            server.terminate()
    print(f"{asked.capacity}: {films} films in {asked.rounds} rounds of {REQUESTS:,} writes")
    for what, ratios in zip(("processor time", "time that passed"), zip(*rounds)):
        print(f"{what}: {statistics.median(ratios):.3f} of that without a viewer ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
