#!/usr/bin/env python3
"""A program that keeps a list in a file, with a bug that only a power cut shows, and its check.

    ftlab-powercut --check 'examples/powercut/ledger.py check' -- examples/powercut/ledger.py write
    ftlab-powercut --check 'examples/powercut/ledger.py check' -- examples/powercut/ledger.py write --synced

It prints each number that it promises to keep. Without `--synced` it promises too early.
"""

import os
import pathlib
import sys

BOOK = pathlib.Path(os.environ["FTLAB_PLACE"]) / "book"


def write(is_synced: bool) -> None:
    with BOOK.open("a") as book:
        for number in range(500):
            book.write(f"{number}\n")
            book.flush()
            if is_synced:
                os.fsync(book.fileno())
            print(number, flush=True)


def check() -> None:
    promised = pathlib.Path(os.environ["FTLAB_OUTPUT"]).read_text().split()
    kept = BOOK.read_text().split() if BOOK.exists() else []
    if kept[: len(promised)] != promised:
        sys.exit(f"{len(promised)} numbers were promised, {len(kept)} are there")


if __name__ == "__main__":
    check() if "check" in sys.argv else write("--synced" in sys.argv)
