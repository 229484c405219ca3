#!/usr/bin/env python3
"""What watching costs a live disk: its speed with and without a viewer, in turns.

    python3 tools/watch_cost.py [--ftlab target/release/ftlab] [--capacity 256MiB] [--rounds 9]

Each round writes random pages with `qemu-img bench`, once while somebody asks for one film after the other and once while
nobody does; which comes first changes. Prints the median of the ratios, and the smallest and the largest.
"""

import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile
import threading
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
REQUESTS = 60_000


def seconds(uri: str) -> float:
    """How long the writes take."""
    bench = ["qemu-img", "bench", "-w", "-f", "raw", "-c", str(REQUESTS), "-d", "16", "-s", "4096", "-S", "28672", uri]
    said = subprocess.run(bench, capture_output=True, text=True, check=True).stdout
    return float(re.search(r"completed in ([0-9.]+) seconds", said)[1])


def watched(page: str, work) -> tuple[float, int]:
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
            seconds(uri)
            ratios, films = [], 0
            for round_number in range(asked.rounds):
                plain = seconds(uri) if round_number % 2 == 0 else None
                slowed, seen = watched(page, lambda: seconds(uri))
                ratios.append(slowed / (plain or seconds(uri)))
                films += seen
            server.terminate()
    low, high = min(ratios), max(ratios)
    print(f"{asked.capacity}: {statistics.median(ratios):.3f} of the time without a viewer ({low:.3f} to {high:.3f}), "
          f"{films} films in {asked.rounds} rounds of {REQUESTS:,} writes")


if __name__ == "__main__":
    main()
