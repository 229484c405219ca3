"""Plans that tests of sweeps share, and the rows that the command writes for a plan."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

PLAN = """
title = "twelve"
[base]
trace = "skew:writes=4K,reads=20%"
capacity = "4MiB"
[[grid]]
ftl = ["page", "fast", "dac"]
extra = ["15%", "0blocks"]
seed = [1, 2]
[[claim]]
id = "c"
says = "written pages"
figure = "host_pages.written"
rows = [{ ftl = "page", extra = "15%", seed = 2, expected = 3000 }]
"""

# Rows long enough that a worker can be killed while they run.
LONG = """
[base]
capacity = "16MiB"
trace.writes = "400K"
[[grid]]
seed = [1, 2, 3, 4]
ftl = ["page", "fast", "dac"]
"""

Command = Callable[..., "subprocess.CompletedProcess[str]"]


def rows_of(command: Command, plan: str, *options: str) -> str:
    """The rows that the command writes."""
    Path("alone.toml").write_text(plan)
    done = command("sweep", "alone.toml", "--out", "alone.jsonl", "--quiet", *options)
    assert done.returncode == 0, done.stderr
    return Path("alone.jsonl").read_text()
