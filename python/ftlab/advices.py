"""Advice on a load: which drive it needs, from its log."""

from __future__ import annotations

from typing import Any, NoReturn

from ftlab import _native, frozen
from ftlab.given import hint, in_python
from ftlab.reports import Reported
from ftlab.written import Files


class Advice(frozen.Fields, Reported):
    """The advice on a load; ``docs/advise.md`` describes all fields.

    ``str(advice)`` is the page of ``ftlab advise``. An answer such as ``advice["spare"]`` has
    either ``"found"`` or ``"refused"``; :meth:`found` gives what was found, or ``None``.
    """

    def __init__(self, native: _native.NativeAdvice, read: Files) -> None:
        self._native = native
        self._read = read
        self._advice: dict[str, Any] = frozen.read(native.to_json())["advices"][0]

    def __reduce__(self) -> NoReturn:
        raise TypeError("an advice cannot be pickled; to_json() has all of it")

    def _fields(self) -> dict[str, Any]:
        return self._advice

    def found(self, question: str) -> dict[str, Any] | None:
        """The answer to a question such as ``"spare"``; ``None`` if it is refused.

        Raises
        ------
        KeyError
            There is no such question.
        """
        answers = {name: it for name, it in self._advice.items() if isinstance(it, dict)}
        questions = [name for name, it in answers.items() if "found" in it or "refused" in it]
        if question not in questions:
            raise KeyError(f"no question is called {question!r}{hint(str(question), questions)}")
        found: dict[str, Any] | None = answers[question].get("found")
        return found

    @property
    def answers(self) -> bool:
        """Whether any question is answered."""
        return self._native.answers

    def to_json(self) -> str:
        """The JSON that ``ftlab advise --json`` writes, byte for byte."""
        return self._native.to_json()

    @property
    def headline(self) -> str:
        """What came out, in a sentence or two; report and page of text open with it."""
        return self._native.headline()

    def to_html(self) -> str:
        """The report that ``ftlab advise --report`` writes: a page that needs no network."""
        return self._native.page()

    def __str__(self) -> str:
        """The page of ``ftlab advise``; it names functions and arguments of Python."""
        return in_python(self._native.text())

    def __repr__(self) -> str:
        spare = self.found("spare")
        if spare is None:
            return "<ftlab.Advice, which says nothing about writing>"
        return f"<ftlab.Advice, write amplification {spare['write_amplification']:.3f}>"
