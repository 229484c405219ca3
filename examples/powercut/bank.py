#!/usr/bin/env python3
"""A bank in SQLite: money moves between accounts, and none may be lost or made by a power cut.

    ftlab-powercut --setup 'examples/powercut/bank.py open' --check 'examples/powercut/bank.py check' \\
        -- examples/powercut/bank.py work

`work` prints the number of each transfer that is committed. `work OFF` sets `PRAGMA synchronous=OFF`, which breaks the
promise.
"""

import os
import pathlib
import random
import sqlite3
import sys

PLACE = pathlib.Path(os.environ["FTLAB_PLACE"])
ACCOUNTS, MONEY = 50, 1000


def connected(synchronous: str = "EXTRA") -> sqlite3.Connection:
    base = sqlite3.connect(PLACE / "bank.db", isolation_level=None)
    base.execute(f"PRAGMA synchronous={synchronous}")
    return base


def open_bank() -> None:
    base = connected()
    base.execute("CREATE TABLE accounts (id INTEGER PRIMARY KEY, money INTEGER)")
    base.execute("CREATE TABLE transfers (id INTEGER PRIMARY KEY)")
    base.executemany("INSERT INTO accounts VALUES (?, ?)", [(account, MONEY) for account in range(ACCOUNTS)])


def work(synchronous: str) -> None:
    base, draws = connected(synchronous), random.Random(int(os.environ["FTLAB_ROUND"]))
    for number in range(1, 200):
        giver, taker = draws.sample(range(ACCOUNTS), 2)
        base.execute("BEGIN")
        base.execute("UPDATE accounts SET money = money - 10 WHERE id = ?", (giver,))
        base.execute("UPDATE accounts SET money = money + 10 WHERE id = ?", (taker,))
        base.execute("INSERT INTO transfers VALUES (?)", (number,))
        base.execute("COMMIT")
        print(number, flush=True)


def check() -> None:
    base = connected()
    promised = pathlib.Path(os.environ["FTLAB_OUTPUT"]).read_text().split()
    whole = base.execute("PRAGMA integrity_check").fetchone()[0]
    money, transfers = (base.execute(f"SELECT {what}").fetchone()[0] for what in (
        "sum(money) FROM accounts", "count(*) FROM transfers"))
    if whole != "ok" or money != ACCOUNTS * MONEY or transfers < len(promised):
        sys.exit(f"integrity {whole}, {money} of {ACCOUNTS * MONEY} left, {len(promised)} transfers were promised, "
                 f"{transfers} are there")


if __name__ == "__main__":
    {"open": open_bank, "work": lambda: work(*(sys.argv[2:] or ["EXTRA"])), "check": check}[sys.argv[1]]()
