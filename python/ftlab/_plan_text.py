"""Plans given as a dict, as TOML: the only notation that the checks of plans read."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any


def plan_text(plan: Mapping[str, Any]) -> str:
    """The TOML of a plan in the form of a dict: ``{"base": {...}, "grid": [{...}], ...}``.

    Arrays of NumPy, ranges and tuples are lists.

    Raises
    ------
    TypeError
        A value has no form in TOML; the message names its place.
    """
    return "".join(f"{_key(key)} = {_value(value, str(key))}\n" for key, value in plan.items())


def _key(key: object) -> str:
    if not isinstance(key, str):
        raise TypeError(f"a key of a plan is a text, not {key!r}")
    return _text(key)


def _text(text: str) -> str:
    # TOML takes the escapes of JSON, and wants DEL escaped as well.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object, place: str) -> str:
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
    kind = type(value).__name__
    raise TypeError(f"{place} of the plan is a value of type {kind}, which a plan cannot have")
