#!/usr/bin/env python3
"""Write python/ftlab/options.py: the options of a run as types, from the table of the extension.

A test compares the file with the table; run this after an option was added.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

TARGET = Path(__file__).parent.parent / "python" / "ftlab" / "options.py"

HEAD = '''"""The options of a run as types, for editors and type checkers.

Made by tools/python_options.py from the options that the command has; not to be edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypedDict, Union

Value = Union[str, int, float, None]
"""A number, or a text in the notation of the command. ``None`` stands for the default."""


class SharedOptions(TypedDict, total=False):
    """The options that all runs of a comparison share; the documentation describes them."""

'''

OPTIONS = '''

class Options(SharedOptions, total=False):
    """The options of :func:`ftlab.run`, apart from the trace."""

'''

LIFE = '''

class LifeOptions(TypedDict, total=False):
    """The options of :func:`ftlab.life`, apart from trace and FTLs."""

'''

ADVICE = '''

class AdviceOptions(TypedDict, total=False):
    """The options of :func:`ftlab.advise`, apart from the trace."""

'''

# The options in which the runs of a comparison differ.
COMPARED = ["ftl", "durability", "trim"]


def type_of(option: dict[str, Any]) -> str:
    """The type of the values of an option."""
    if option["is_list"]:
        return "Sequence[str] | str | None"
    return "bool | None" if option["is_switch"] else "Value"


def text(options: list[dict[str, Any]]) -> str:
    """The file for these options."""
    fields = {one["name"]: f"    {one['name']}: {type_of(one)}\n" for one in options}
    shared = [fields[name] for name in fields if name not in ["trace", *COMPARED]]
    compared = [fields[name] for name in COMPARED]
    of_life = [one["name"] for one in options if one["is_of_life"]]
    lived = [fields[name] for name in of_life if name not in ["trace", "ftl"]]
    of_advice = [one["name"] for one in options if one["is_of_advice"]]
    advised = [fields[name] for name in of_advice if name != "trace"]
    return "".join([HEAD, *shared, OPTIONS, *compared, LIFE, *lived, ADVICE, *advised])


if __name__ == "__main__":
    from ftlab import _native

    TARGET.write_text(text(_native.run_options()), encoding="utf-8")
