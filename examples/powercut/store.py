#!/usr/bin/env python3
"""An embedded store, LMDB (`pip install lmdb`): each key that was committed is there after a power cut.

    ftlab-powercut --check 'examples/powercut/store.py check' -- examples/powercut/store.py work
    ftlab-powercut --check 'examples/powercut/store.py check' -- examples/powercut/store.py work unsynced    loses keys
"""

import os
import pathlib
import sys

import lmdb

PLACE = os.environ["FTLAB_PLACE"]


def opened(is_synced: bool = True) -> lmdb.Environment:
    return lmdb.open(f"{PLACE}/store", map_size=16 << 20, sync=is_synced)


def work(is_synced: bool) -> None:
    with opened(is_synced) as store:
        for number in range(200):
            with store.begin(write=True) as transaction:
                transaction.put(b"%06d" % number, b"value" * (1 + number % 300))
            print(number, flush=True)


def check() -> None:
    promised = pathlib.Path(os.environ["FTLAB_OUTPUT"]).read_text().split()
    with opened() as store, store.begin() as transaction:
        found = dict(transaction.cursor())
    lost = [number for number in promised if found.get(b"%06d" % int(number)) != b"value" * (1 + int(number) % 300)]
    if lost:
        sys.exit(f"{len(promised)} keys were committed, {len(lost)} are lost, such as {lost[0]}")


if __name__ == "__main__":
    check() if sys.argv[1] == "check" else work("unsynced" not in sys.argv)
