"""The command ``ftlab-powercut``."""

from __future__ import annotations

import argparse
import shlex
import sys

from ftlab_powercut.campaign import Campaign
from ftlab_powercut.mounts import FORMAT, Trouble

# As of the command ftlab.
USAGE, VIOLATION = 2, 3


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(
        prog="ftlab-powercut",
        description="Runs a command on a disk of ftlab, cuts the power N times, and checks what is left. Commands find "
        "the folder of the file system in FTLAB_PLACE (or, with --filesystem none, the disk as a file), and what the "
        "command printed, such as what it promised, in the file FTLAB_OUTPUT.",
        epilog="Exit codes: 0 nothing was lost; 2 something is missing or the command does not work; 3 a check failed.",
    )
    made.add_argument("--cuts", type=positive, default=Campaign.cuts, metavar="N", help="rounds (default %(default)s)")
    made.add_argument("--seed", type=int, default=Campaign.seed, metavar="S", help="decides all cuts (default 1)")
    made.add_argument("--only", type=int, action="append", metavar="ROUND", help="repeat only this round")
    made.add_argument("--within", type=positive, default=Campaign.within, metavar="N",
                      help="the most programs and erases of the flash before a cut (default %(default)s)")
    made.add_argument("--filesystem", choices=[*FORMAT, "none"], default="ext4", help="default ext4")
    made.add_argument("--serve", default=shlex.join(Campaign.serve), metavar="OPTIONS",
                      help="options of `ftlab serve` (default `%(default)s`)")
    made.add_argument("--timeout", type=float, default=Campaign.timeout_s, metavar="SECONDS",
                      help="for each of the commands (default %(default)s)")
    made.add_argument("--setup", type=shlex.split, metavar="COMMAND", help="prepares each disk; its power never fails")
    made.add_argument("--check", type=shlex.split, metavar="COMMAND", required=True,
                      help="runs after each cut; exit code 0 means that nothing is lost")
    made.add_argument("command", nargs=argparse.REMAINDER, metavar="-- COMMAND", help="runs until the power fails")
    return made


def positive(text: str) -> int:
    """A number of at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("it must be at least 1")
    return number


def main() -> int:
    """Runs the campaign of the command line; returns the exit code."""
    made = parser()
    asked = made.parse_args()
    command = asked.command[1:] if asked.command[:1] == ["--"] else asked.command
    if not command:
        made.error("give the command whose power is cut, behind `--`")
    campaign = Campaign(
        command, asked.check, asked.setup, asked.cuts, asked.seed, asked.within,
        None if asked.filesystem == "none" else asked.filesystem, shlex.split(asked.serve), asked.timeout,
    )
    try:
        return reported(campaign, asked.only)
    except Trouble as trouble:
        print(f"ftlab-powercut: {trouble}", file=sys.stderr)
        return USAGE


def reported(campaign: Campaign, only: list[int] | None) -> int:
    """Runs the rounds and says of each finding how to repeat it."""
    done = failed = 0
    for _, finding in campaign.rounds(only):
        done += 1
        if finding:
            failed += 1
            print(f"{finding}\nreplay:  {replay(finding.cut.round)}\n", flush=True)
    what = "nothing is lost" if not failed else f"{failed} of them lost something"
    print(f"{done} power cuts, seed {campaign.seed}: {what}")
    return VIOLATION if failed else 0


def replay(number: int) -> str:
    """The command line of this process, for one round."""
    return shlex.join(["ftlab-powercut", "--only", str(number), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
