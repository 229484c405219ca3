"""The command ``ftlab``, which this package brings along."""

from __future__ import annotations

import signal
import sys

from ftlab import _native


def main() -> None:
    """Run the command with the arguments of the process, and exit with its code."""
    # The command handles the interrupt itself; Python would only notice it at the end.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    sys.exit(_native.command(["ftlab", *sys.argv[1:]]))


if __name__ == "__main__":
    main()
