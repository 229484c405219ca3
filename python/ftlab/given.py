"""What callers give: sentences about words that were misspelt, and values of another type."""

from __future__ import annotations

import difflib
import functools
import inspect
import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from ftlab import _native

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")


def kind(value: object) -> str:
    """The type of a value, for a message."""
    return type(value).__name__


CLASS = "class:"
"""What the library of a guest begins with if it is a class."""


def shown_ftl(ftl: object) -> str:
    """An FTL that was given, for a reader: a class by its name."""
    return ftl.__name__ if isinstance(ftl, type) else str(ftl)


def hint(word: str, known: Iterable[str]) -> str:
    """The end of a message about an unknown word: which known one was probably meant."""
    near = difflib.get_close_matches(word, list(known), n=1, cutoff=0.7)
    return f"; did you mean `{near[0]}`?" if near else ""


def spelt(function: Callable[P, R]) -> Callable[P, R]:
    """A function that says which option was probably meant if it gets an unknown one.

    A function that passes options on leaves those of runs to the extension, which knows more.
    """
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    passes_on = inspect.Parameter.VAR_KEYWORD in kinds

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        known = inspect.signature(checked).parameters
        for option in options:
            if option not in known and not (passes_on and option in _run_options()):
                raise TypeError(f"there is no option `{option}`{hint(option, known)}")
        return function(*args, **options)

    return checked


def in_python(message: str) -> str:
    """A message whose options are those of the command, with the arguments of Python instead.

    `--fit wrap` becomes `fit="wrap"`, and `--verify` `verify=True`. What Python does not have stays.
    An FTL that is a class is called by its name.
    """
    message = _CLASSES.sub(r"\1", message)
    return _OPTIONS.sub(lambda span: _arguments(span[1]) or span[0], message)


_CLASSES = re.compile(rf"guest[: ]lib={CLASS}([^\s,;`'\"]+)")
"""A class, as the command would name it."""

_OPTIONS = re.compile(r"`(--[a-z][^`]*)`")
"""Options of the command in a message, perhaps with values."""

_OF_CALLS = ("depths", "jobs", "memory", "memory_limit", "out", "report", "scale", "target", "traces")
"""Arguments that are options of the command, too, but not of runs."""


def _arguments(options: str) -> str | None:
    """Options of the command as arguments; ``None`` if Python does not have them all."""
    arguments = []
    for option in options.removeprefix("--").split(" --"):
        word, _, value = option.partition(" ")
        name = word.replace("-", "_")
        known = _run_options().get(name)
        if known is None and name not in _OF_CALLS:
            return None
        if known is not None and known["is_switch"] and not value:
            value = "True"
        # A number, or a word for a value such as NAME, stands without quotes.
        is_bare = value.isdigit() or value.isupper() or value in ("", "True")
        arguments.append(f"{name}={value}" if is_bare else f'{name}="{value}"')
    return f"`{', '.join(arguments)}`"


@functools.cache
def _run_options() -> dict[str, dict[str, Any]]:
    return {option["name"]: option for option in _native.run_options()}
