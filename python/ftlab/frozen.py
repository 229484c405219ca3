"""Figures that cannot be changed: dicts and lists that are read only."""

from __future__ import annotations

import copy
import json
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn

from ftlab.given import hint, kind


def frozen(value: Any) -> Any:
    """The same value, whose dicts and lists, however deep, refuse changes."""
    if isinstance(value, dict):
        return FrozenDict({name: frozen(one) for name, one in value.items()})
    if isinstance(value, list):
        return FrozenList([frozen(one) for one in value])
    return value


def read(text: str) -> Any:
    """What a text of JSON says, so that it cannot be changed."""
    return frozen(json.loads(text))


def refuse_attribute(fields: Mapping[str, Any], name: str) -> NoReturn:
    """Say what was probably meant by an attribute that is none."""
    if name.startswith("_"):
        raise AttributeError(name)
    is_field = f"; {name!r} is a field: […][{name!r}]"
    how = is_field if name in fields else hint(name, (*dir(fields), *fields))
    raise AttributeError(f"{kind(fields)} has no attribute {name!r}{how}")


class Fields(Mapping[str, Any]):
    """Fields that are read by their names, as ``result["erases"]``."""

    @abstractmethod
    def _fields(self) -> dict[str, Any]:
        """All fields."""

    def __getitem__(self, field: str) -> Any:
        """A field at the top."""
        return self._fields()[field]

    def __iter__(self) -> Iterator[str]:
        return iter(self._fields())

    def __len__(self) -> int:
        return len(self._fields())

    def __getattr__(self, name: str) -> NoReturn:
        """A field is no attribute: say how it is read."""
        refuse_attribute(self, name)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self)


class FrozenDict(dict[str, Any]):
    """A dict of figures. A deep copy of it is an ordinary dict."""

    def __getattr__(self, name: str) -> NoReturn:
        """A field is no attribute: say how it is read."""
        refuse_attribute(self, name)

    def __missing__(self, name: object) -> NoReturn:
        """Say which field was probably meant."""
        raise KeyError(f"there is no field {name!r}{hint(str(name), self)}")

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenDict, (dict(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> dict[str, Any]:
        return copy.deepcopy(dict(self), memo)


class FrozenList(list[Any]):
    """A list of figures. A deep copy of it is an ordinary list."""

    def __reduce__(self) -> tuple[Any, ...]:
        return FrozenList, (list(self),)

    def __deepcopy__(self, memo: dict[int, Any]) -> list[Any]:
        return copy.deepcopy(list(self), memo)


def _refuse(*_: object, **__: object) -> NoReturn:
    """Refuse to change a dict or a list of figures."""
    raise TypeError(
        "results cannot be changed; copy.deepcopy(…) makes a copy of any part that can be"
    )


_OF_BOTH = ("__setitem__", "__delitem__", "clear", "pop")
_CHANGES = {
    FrozenDict: (*_OF_BOTH, "__ior__", "popitem", "setdefault", "update"),
    FrozenList: (
        *_OF_BOTH,
        *("__iadd__", "__imul__", "append", "extend", "insert", "remove", "reverse", "sort"),
    ),
}
for _kind, _names in _CHANGES.items():
    for _name in _names:
        setattr(_kind, _name, _refuse)
