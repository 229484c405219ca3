#!/usr/bin/env python3
"""Campaigns against `ftlab serve` with real clients and real failures.

    python3 tools/live.py kill --rounds 200        kill -9 of the server under load
    python3 tools/live.py cuts --rounds 200        commanded power cuts of the device under load
    python3 tools/live.py sqlite --rounds 200      power cuts under SQLite on ext4
    python3 tools/live.py postgres --rounds 20     power cuts under PostgreSQL on ext4 or xfs
    python3 tools/live.py speed                    fio on ftlab and on nbdkit, in turns
    python3 tools/live.py clients                  clients that hang up anywhere, say nothing or do not read
"""

import argparse
import pathlib
import secrets
import sys

# The mounts of databases are those of ftlab-powercut, which needs no extension module.
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "python"))

from ftlab_powercut.mounts import Trouble  # noqa: E402
from served import attack, databases, rude, speed  # noqa: E402


def add_attacks(commands) -> None:
    for name in ["kill", "cuts"]:
        command = commands.add_parser(name)
        command.add_argument("--rounds", type=int, default=100)
        command.add_argument("--device", action="append", choices=attack.DEVICES)
        command.add_argument("--server", choices=["ftlab", "file", "memory"], default="ftlab")
        command.set_defaults(run=attack.attack)


def add_databases(commands) -> None:
    for name, run in [("sqlite", databases.sqlite), ("postgres", databases.postgres)]:
        command = commands.add_parser(name)
        command.add_argument("--rounds", type=int, default=20)
        command.add_argument("--ftl", default="--ftl page", help="the device, as `ftlab serve` takes it")
        command.add_argument("--watch", action="store_true", help="also compare every sector after each cut")
        command.add_argument("--filesystem", choices=["ext4", "xfs"], default="ext4")
        command.add_argument("--server", choices=["ftlab", "file"], default="ftlab")
        command.set_defaults(run=run)


def add_speed(commands) -> None:
    command = commands.add_parser("speed")
    command.add_argument("--rounds", type=int, default=7)
    command.add_argument("--seconds", type=float, default=3)
    command.add_argument("--ftl", default="--ftl page")
    command.set_defaults(run=speed.speed)


def add_clients(commands) -> None:
    command = commands.add_parser("clients")
    command.add_argument("--step", type=int, default=1, help="bytes between two hang-ups within a payload")
    command.add_argument("--ftl", default="--ftl page")
    command.add_argument("--server", choices=["ftlab", "memory"], default="ftlab")
    command.set_defaults(run=rude.clients)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1 << 32), help="of all random choices")
    parser.add_argument("--folder", type=pathlib.Path, help="where files are kept; those of a failure stay")
    commands = parser.add_subparsers(dest="what", required=True)
    for add in (add_attacks, add_databases, add_speed, add_clients):
        add(commands)
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    try:
        return min(arguments.run(arguments), 1)
    except Trouble as trouble:
        sys.exit(str(trouble))


if __name__ == "__main__":
    sys.exit(main())
