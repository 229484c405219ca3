"""The experiments of the five papers, as plans for :func:`ftlab.sweep`.

>>> ftlab.sweep(ftlab.papers.plans()["LSB-fig11"], scale="quick")
"""

from __future__ import annotations

from ftlab import _native


def plans() -> dict[str, str]:
    """The TOML text of the plan of each experiment, by its name, in the order of ``ftlab papers``.

    A plan names its traces; claims in it say what the paper published.
    """
    return dict(_native.paper_plans())
