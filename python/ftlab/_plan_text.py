"""Plans given as a dict, as TOML: the only notation that the checks of plans read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Union


def plan_text(plan: Mapping[str, Any]) -> str:
    """The TOML of a plan in the form of a dict: ``{"base": {...}, "grid": [{...}], ...}``.

    Arrays of NumPy, ranges and tuples are lists.

    Raises
    ------
    TypeError
        A value has no form in TOML; the message names its place.
    """
    return "".join(f"{_key(key)} = {_value(value, str(key))}\n" for key, value in plan.items())


def placed(message: str, text: str) -> str:
    """A message about the TOML of a plan, with the place in the dict in place of line and column."""
    found = re.match(r"plan:(\d+):(\d+): ", message)
    if found is None:
        return message
    line = text.splitlines()[int(found[1]) - 1]
    place = _place(line[: int(found[2]) - 1])
    of_plan = f"{place} of the plan" if place else "the plan"
    return f"{of_plan}: {message[found.end() :]}"


def _place(head: str) -> str:
    """The place of the value that follows a part of a line, such as ``grid[1].extra[0]``."""
    path: list[Union[str, int, None]] = [None]
    for token in re.finditer(r'("(?:[^"\\]|\\.)*")( = )?|[\[\]{},]', head):
        text, top = token[0], path[-1]
        if token[2]:
            path[-1] = str(json.loads(token[1]))
        elif text == "{":
            path.append(None)
        elif text == "[":
            path.append(0)
        elif text in "]}":
            path.pop()
        elif text == ",":
            path[-1] = top + 1 if isinstance(top, int) else None
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in path if step is not None)
    return "".join(steps).removeprefix(".")


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a plan is a text, not {key!r}")
    return _text(key)


def _text(text: str) -> str:
    # TOML takes the escapes of JSON, and wants DEL escaped as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object, place: str) -> str:
    if hasattr(value, "__arrow_c_stream__") and (
        hasattr(value, "columns") or not isinstance(value, Iterable)
    ):
        raise TypeError(
            f"{place} of the plan is a table of type {type(value).__name__}, but a plan names files: "
            "write requests first, such as ftlab.Requests(table).write('trace.csv')"
        )
    if hasattr(value, "tolist"):
        value = value.tolist()  # of NumPy
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return repr(value)
    if isinstance(value, str):
        return _text(value)
    if hasattr(value, "__fspath__"):
        return _text(str(value))
    if isinstance(value, Mapping):
        pairs = (f"{_key(key)} = {_value(one, f'{place}.{key}')}" for key, one in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, Iterable) and not isinstance(value, bytes):
        items = (_value(one, f"{place}[{index}]") for index, one in enumerate(value))
        return "[" + ", ".join(items) + "]"
    if isinstance(value, type):
        raise TypeError(
            f"{place} of the plan is the class {value.__name__}; a plan is a text that other processes "
            "read, so it cannot have a class: ftlab.run and ftlab.compare take one"
        )
    kind = type(value).__name__
    raise TypeError(f"{place} of the plan is a value of type {kind}, which a plan cannot have")
