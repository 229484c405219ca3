"""Flash translation layers (FTLs) of five papers, simulated on block traces.

``run`` replays a trace on one device under one FTL and returns exact counts of flash operations and
serial times. ``compare`` does it for several FTLs, ``sweep`` for the rows of a plan, ``life`` until
the flash is worn out; ``advise`` says which drive a load needs. Options have the names, notations and defaults of the command ``ftlab``;
``help(ftlab.run)`` lists them.

>>> import ftlab
>>> result = ftlab.run("uniform:writes=100K", ftl="page:victim=fifo", capacity="64MiB")
>>> result.write_amplification
"""

from __future__ import annotations

from ftlab import errors, figures, guest, papers, policy, trace
from ftlab._native import __version__
from ftlab.advices import Advice
from ftlab.errors import BugError, Error, RunError, UsageError, ViolationError
from ftlab.films import Film
from ftlab.guest import Ftl, check
from ftlab.lists import (
    list_chips,
    list_drives,
    list_formats,
    list_ftls,
    list_layers,
    list_victims,
    list_wear,
    list_workloads,
)
from ftlab.lives import Lives
from ftlab.requests import Requests
from ftlab.result import Comparison, Result
from ftlab.runs import advise, compare, film, life, run
from ftlab.sweeps import Sweep, sweep

__all__ = [
    "Advice",
    "BugError",
    "Comparison",
    "Error",
    "Film",
    "Ftl",
    "Lives",
    "Requests",
    "Result",
    "RunError",
    "Sweep",
    "UsageError",
    "ViolationError",
    "__version__",
    "advise",
    "check",
    "compare",
    "errors",
    "figures",
    "film",
    "guest",
    "life",
    "list_chips",
    "list_drives",
    "list_formats",
    "list_ftls",
    "list_layers",
    "list_victims",
    "list_wear",
    "list_workloads",
    "papers",
    "policy",
    "run",
    "sweep",
    "trace",
]
