#!/usr/bin/python3
"""Finds the crash bug of a tiny database, on a disk that loses its power on command.

    ftlab serve --memory --ftl page --buffer 1MiB,evict=run --capacity 64MiB --socket nbd.sock --control ctl.sock
    examples/crash_bug.py nbd.sock ctl.sock            finds the bug
    examples/crash_bug.py nbd.sock ctl.sock --fixed    finds nothing
"""

import argparse
import json
import random
import socket
import sys
import threading
import zlib

import nbd

RECORD_BYTES = 512


def sealed(number, text):
    """A record with its number and a checksum in front."""
    body = f"{number} {text}".encode().ljust(RECORD_BYTES - 4, b"\0")
    return zlib.crc32(body).to_bytes(4, "big") + body


class Ledger:
    """A database: numbered records behind a header that counts them."""

    def __init__(self, disk, account, is_fixed):
        self.disk, self.account, self.is_fixed = disk, account, is_fixed
        self.count = int.from_bytes(disk.pread(RECORD_BYTES, 0)[:8], "big")

    def clear(self):
        self.count = 0
        self.disk.pwrite(bytes(RECORD_BYTES), 0)
        self.disk.flush()

    def record(self, number):
        return sealed(number, f"payment to {self.account}")

    def append(self):
        """Appends a record. When this returns, it is durable."""
        self.disk.pwrite(self.record(self.count), RECORD_BYTES * (self.count + 1))
        if self.is_fixed:
            self.disk.flush()  # The header must not reach the flash before the record.
        self.count += 1
        self.disk.pwrite(self.count.to_bytes(8, "big").ljust(RECORD_BYTES, b"\0"), 0)
        self.disk.flush()

    def complaint(self, promised):
        """What is wrong after a crash, if anything is."""
        if self.count < promised:
            return f"{promised} records were acknowledged, but the header counts {self.count}"
        for number in range(self.count):
            record = bytes(self.disk.pread(RECORD_BYTES, RECORD_BYTES * (number + 1)))
            if record != self.record(number):
                return f"the header counts {self.count} records, but record {number} is not there"
        return None


def cut_power(control, operations):
    """Cuts the power after a number of programs and erases. Returns when the disk serves again."""
    with socket.socket(socket.AF_UNIX) as user:
        user.connect(control)
        user.sendall(json.dumps({"cut": {"after": operations}}).encode() + b"\n")
        answer = json.loads(user.makefile().readline())
    assert "ok" in answer, answer


def connected(path):
    disk = nbd.NBD()
    disk.connect_unix(path)
    return disk


def crash(arguments, account, operations):
    """Appends records until the power fails. Returns how many of them were acknowledged."""
    ledger = Ledger(connected(arguments.disk), account, arguments.fixed)
    ledger.clear()
    cut = threading.Thread(target=cut_power, args=(arguments.control, operations))
    cut.start()
    promised = 0
    try:
        while True:
            ledger.append()
            promised = ledger.count
    except nbd.Error:
        cut.join()
        return promised


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("disk", help="socket of the server")
    parser.add_argument("control", help="control socket of the server")
    parser.add_argument("--fixed", action="store_true", help="flush between record and header")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    for number in range(arguments.rounds):
        # Another account in each round: what an earlier round left must not look right.
        operations, account = chance.randrange(2, 60), chance.randbytes(8).hex()
        promised = crash(arguments, account, operations)
        ledger = Ledger(connected(arguments.disk), account, arguments.fixed)
        complaint = ledger.complaint(promised)
        if complaint:
            print(f"round {number}, power cut after {operations} operations: {complaint}")
            return 1
    print(f"{arguments.rounds} power cuts, nothing is missing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
