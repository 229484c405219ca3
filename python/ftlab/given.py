"""What callers give: sentences about words that were misspelt, and values of another type."""

from __future__ import annotations

import difflib
import functools
import importlib
import inspect
import itertools
import operator
import re
import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
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
    words = list(known)
    near = difflib.get_close_matches(word, words, n=1, cutoff=0.7)
    if not near and len(word) > 2:
        near = sorted((one for one in words if one.startswith(word)), key=len)
    return f"; did you mean `{near[0]}`?" if near else ""


def spelt(function: Callable[P, R]) -> Callable[P, R]:
    """A function that says which option was probably meant if it gets an unknown one.

    A function that passes options on leaves those of runs to the extension, which knows more.
    """
    kinds = [one.kind for one in inspect.signature(function).parameters.values()]
    passes_on = inspect.Parameter.VAR_KEYWORD in kinds
    by_place = kinds.count(inspect.Parameter.POSITIONAL_OR_KEYWORD)

    @functools.wraps(function)
    def checked(*args: P.args, **options: P.kwargs) -> R:
        known = inspect.signature(checked).parameters
        if len(args) > by_place:
            first = [name for name in list(known)[:by_place] if name not in ("self", "cls")]
            raise TypeError(f"only {' and '.join(first)} can do without a name; name the others")
        for option in options:
            if option not in known and not (passes_on and option in _run_options()):
                near = hint(option, known) or f"; `help({_place(function)})` describes them all"
                raise TypeError(f"there is no option `{option}`{near}")
        return function(*args, **options)

    return checked


def _place(function: Callable[..., object]) -> str:
    """How users name a function or class of the package."""
    module = function.__module__ if function.__module__ == "ftlab.trace" else "ftlab"
    return f"{module}.{function.__qualname__.removesuffix('.__init__')}"


def plain(text: str) -> str:
    """A text without the bold letters and colours of a terminal."""
    return re.sub(r"\x1b\[[\d;]*m", "", text)


def in_python(message: str) -> str:
    """A message of the command in words of Python. What Python does not have stays.

    `--fit wrap` becomes `fit="wrap"`, `--verify` `verify=True`, and `ftlab trace info PATH --sort`
    `ftlab.trace.info(PATH, sort=True)`. What is piped into the command goes to a file, and an FTL
    that is a class is called by its name.
    """
    message = _CLASSES.sub(r"\1", message).replace(_PIPE, " > PLAIN`")
    message = _COMMANDS.sub(lambda span: span[1] + (_call(span[2]) or f"ftlab {span[2]}"), message)
    return _OPTIONS.sub(lambda span: _arguments(span[1]) or span[0], message)


_CLASSES = re.compile(rf"guest[: ]lib={CLASS}([^\s,;`'\"]+)")
"""A class, as the command would name it."""

_PIPE = " | ftlab trace info -`"
"""The end of a pipe of another program into the command."""

_COMMANDS = re.compile(r"(`|^    )ftlab ([^`\n]+)(?=`|$)", re.MULTILINE)
"""A command in a message, or on a line of its own."""

_OPTIONS = re.compile(r"`(--[a-z][^`]*)`")
"""Options of the command in a message, perhaps with values."""

_FUNCTIONS = ("run", "compare", "life", "advise", "sweep", "check", "trace info")
"""Commands that are functions of Python as well."""


def _call(command: str) -> str | None:
    """A command as a call of Python; ``None`` if Python does not have it with all its options."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    if len(words) == 2 and words[0] == "list":
        return f"ftlab.list_{words[1]}()"
    size = 2 if words[0] == "trace" else 1
    if " ".join(words[:size]) not in _FUNCTIONS:
        return None
    # All modules need this one, so it finds them only now.
    package = importlib.import_module("ftlab")
    name = ".".join(words[:size])
    parameters = inspect.signature(operator.attrgetter(name)(package)).parameters
    arguments = _given(words[size:], parameters)
    if arguments is None:
        return None
    return f"ftlab.{name}({', '.join(arguments)})" if arguments else f"ftlab.{name}"


def _given(words: list[str], known: Mapping[str, inspect.Parameter]) -> list[str] | None:
    """The words behind a command as arguments; ``None`` if a function does not take them all."""
    first = next(iter(known.values()))
    values = list(itertools.takewhile(lambda word: not word.startswith("--"), words))
    options = " ".join(words[len(values) :])
    arguments = [_value(value) for value in values]
    if options:
        given = [_argument(option) for option in options.removeprefix("--").split(" --")]
        if not all(name in known for name, _ in given):
            return None
        if not values and first.default is first.empty:
            arguments.append("…")
        arguments += [f"{name}={value}" for name, value in given]
    return arguments


def _argument(option: str) -> tuple[str, str]:
    """An option without its hyphens as the name and the value of an argument."""
    word, _, value = option.partition(" ")
    name = word.replace("-", "_")
    is_switch = _run_options().get(name, {}).get("is_switch", False)
    return name, "True" if is_switch and not value else _value(value)


def _value(text: str) -> str:
    """A value; a number, or a word for one such as NAME, stands without quotes."""
    is_bare = text.isdigit() or text.isupper() or text in ("", "True")
    return text if is_bare else f'"{text}"'


_OF_CALLS = ("depths", "jobs", "memory", "memory_limit", "out", "report", "scale", "target", "traces")
"""Arguments that are options of the command, too, but not of runs."""


def _arguments(options: str) -> str | None:
    """Options of the command as arguments; ``None`` if Python does not have them all."""
    given = [_argument(option) for option in options.removeprefix("--").split(" --")]
    if not all(name in _run_options() or name in _OF_CALLS for name, _ in given):
        return None
    return f"`{', '.join(f'{name}={value}' for name, value in given)}`"


@functools.cache
def _run_options() -> dict[str, dict[str, Any]]:
    return {option["name"]: option for option in _native.run_options()}


def there(place: int | str, count: int, what: str) -> int:
    """A place among this many, from the end if it is negative.

    Raises:
        IndexError: there is no such place.
        TypeError: it is a text, such as the name of a field.
    """
    if isinstance(place, str):
        of_all = f"[it[{place!r}] for it in …]"
        raise TypeError(f"a {what} is found by its place, not by {place!r}; a field of all: {of_all}")
    if not -count <= operator.index(place) < count:
        last = f"the last one is {count - 1}" if count else "there are none"
        raise IndexError(f"there is no {what} {place}; {last}")
    return place


def place_of(label: str, labels: Sequence[str], what: str, fields: Container[str]) -> int:
    """The place of what has this label.

    Raises:
        KeyError: nothing has it. It may be one of the fields that each of them has.
    """
    if label in labels:
        return labels.index(label)
    field = f"; each has a field {label!r}: [it[{label!r}] for it in …]" if label in fields else ""
    raise KeyError(f"no {what} is called {label!r}; there are {', '.join(labels)}{field}")
