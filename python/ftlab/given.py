"""What callers give: sentences about words that were misspelt, and values of another type."""

from __future__ import annotations

import difflib
import functools
import inspect
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from ftlab import _native

if TYPE_CHECKING:
    from typing_extensions import ParamSpec

    P = ParamSpec("P")
R = TypeVar("R")


def kind(value: object) -> str:
    """The type of a value, for a message."""
    return type(value).__name__


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


@functools.cache
def _run_options() -> set[str]:
    return {str(option["name"]) for option in _native.run_options()}
